// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph to graph, independent of any target, grouped by phase.

include "mlir/Pass/PassBase.td"

class Sinter_FunctionPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::sinter::SinterDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

//===- graph ---------------------------------------------------------------------------------===//

def RefineShapes : Sinter_FunctionPass<"sinter-refine-shapes"> {
  let summary = "write every size that is known into the types";
  let description = [{
    Ensures: a size that ShapeAnalysis knows is in the type, also across regions and in the function's results; a small integer tensor
    whose elements are known is a constant; a reshape or broadcast has no operand for sizes that follow without it, and a
    broadcast takes sizes from a value that has them rather than from computed ones.
    (* example test/passes/refine-shapes.mlir *)
  }];
}

def FoldConstants : Sinter_FunctionPass<"sinter-fold-constants"> {
  let summary = "evaluate ops whose operands are constants";
  let description = [{
    Ensures: no pure op outside of control flow bodies' own ops has only constant operands, within the budgets: a result of at most
    `max-bytes`; at most `growth-bytes` more than the operands for ops that only repeat or move elements; `max-steps` for the
    whole function, which are counted, so that the result does not depend on the machine or its load. What is over a budget stays as it is.
    (* example test/passes/fold-constants.mlir *)
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "int64_t(1) << 30", "largest result, in bytes">,
    Option<"growthBytes", "growth-bytes", "int64_t", "65536", "most bytes by which a moved or repeated result exceeds its operands">,
    Option<"maxSteps", "max-steps", "int64_t", "int64_t(1) << 29", "steps for one function, about as many as elements that are read or written">];
}

def SimplifyAlgebra : Sinter_FunctionPass<"sinter-simplify-algebra"> {
  let summary = "rewrites across several ops that folders cannot see";
  let description = [{
    Ensures: a product reads no transposed operand whose axes it could name itself, and no vector after a matrix of which it sums rows; no product is transposed only to exchange rows and
    columns, unless it reads better so; a sum of parts at different places of an axis is a concatenation; what is picked by comparing positions is not summed with zeros; a chain of conversions is
    one where it gives the same; a float is divided by no power of two and clamped by no infinity; broadcasts of broadcasts and of added unit axes are one broadcast.
    Under `fast-math` chains of products or sums with numbers are one op, and no float is divided by a number (REWRITES.md).
    (* example test/passes/simplify-algebra.mlir *)
  }];
  let options = [Option<"fastMath", "fast-math", "bool", "false", "rewrites that change rounding, infinities and NaN">];
}

def TrimFilters : Sinter_FunctionPass<"sinter-trim-filters"> {
  let summary = "convolutions without the taps that only meet padding";
  let description = [{
    Requires: static spatial sizes, where it is to find anything.  Ensures: the first and the last taps of a filter along each axis meet an element of the input. What
    such a tap would have been multiplied with is a zero that no one wrote, so nothing else changes.
    (* example test/passes/trim-filters.mlir *)
  }];
}

def FlattenDepth : Sinter_FunctionPass<"sinter-flatten-depth"> {
  let summary = "convolutions over three axes as such over two";
  let description = [{
    Requires: static sizes, where it is to find anything.  Ensures: no float convolution without groups has three axes,
    but for those that the filter of createFlattenDepth(CompositeFilter) keeps, over which a back end slides:
    positions along the first are rows of the batch, its taps are channels.
    (* example test/passes/flatten-depth.mlir *)
  }];
}

def SplitPhases : Sinter_FunctionPass<"sinter-split-phases"> {
  let summary = "transposed convolutions as convolutions of their phases";
  let description = [{
    Requires: static sizes, where it is to find anything.  Ensures: no float convolution without groups has a filter that is a multiple of how far its
    input's elements are apart: it is one over the elements as they are, by the taps that a result meets, the filters of all phases side by side, and its
    results are put in their places.
    (* example test/passes/split-phases.mlir *)
  }];
}

def SeparatePhases : Sinter_FunctionPass<"sinter-separate-phases"> {
  let summary = "transposed convolutions as convolutions whose results alternate";
  let description = [{
    Requires: static sizes, where it is to find anything; what becomes one convolution has become it (split-phases).  Ensures: no float
    convolution has zeros between the elements of its input, unless it leaves results out, or has more phases than are worth a kernel each.
    (* example test/passes/separate-phases.mlir *)
  }];
}

def SplitResizes : Sinter_FunctionPass<"sinter-split-resizes"> {
  let summary = "images that grow along several axes, one axis at a time";
  let description = [{
    Open sizes count as those that images often have.  Ensures: no linear or cubic resize of f32 or f64 that makes twice as many elements along other
    axes resizes the last one, too, and no resize that makes twice as many elements is transposed by the only op that reads it. Not where a module has devices.
    (* example test/passes/split-resizes.mlir *)
  }];
}

def SplitProducts : Sinter_FunctionPass<"sinter-split-products"> {
  let summary = "products of few results and long sums, some rows at a time";
  let description = [{
    Requires: static sizes, where it is to find anything; matrices lie as they stay.  Ensures: no product of f32 or f64 without batch axes sums along the
    first axes of both operands to results that are few beside these, as gradients of weights over all pixels are, in one sum: it is the sum of as many
    products as make enough chunks, each of rows that follow each other. Not where a module has devices.
    (* example test/passes/split-products.mlir *)
  }];
}

def SinkResizes : Sinter_FunctionPass<"sinter-sink-resizes"> {
  let summary = "convolutions of one tap before what makes their input larger";
  let description = [{
    Requires: constant filters, where it is to find anything. Open sizes count as those that images often have.  Ensures: no float convolution of one tap reads channels that a resize
    has made more than twice as many elements of: sums over these are resized instead. Not where a module has devices.
    (* example test/passes/sink-resizes.mlir *)
  }];
}

def SinkMoves : Sinter_FunctionPass<"sinter-sink-moves"> {
  let summary = "convolutions of one tap before their pixels are put in other places";
  let description = [{
    Requires: static sizes, where it is to find anything.  Ensures: no convolution of one tap without groups, to no more channels, reads pixels that were moved
    for it alone, by a transpose that keeps channels last and a reshape: it multiplies them before, and what follows element by element comes with it.
    (* example test/passes/sink-moves.mlir *)
  }];
}

def SinkConstants : Sinter_FunctionPass<"sinter-sink-constants"> {
  let summary = "constants into the regions that capture them";
  let description = [{
    Ensures: no region uses a captured constant: it has its own copy, which folds and packs. Captures that become unused are dropped by
    canonicalization.
    (* example test/passes/sink-constants.mlir *)
  }];
}

def RecognizeComposites : Sinter_FunctionPass<"sinter-recognize-composites"> {
  let summary = "softmax and norms that were written in primitives";
  let description = [{
    Requires: broadcasts are merged (simplify-algebra).  Ensures: exp(x - max) / sum over one axis is a softmax;
    (x - mean) / sqrt(variance + epsilon) over trailing axes, with its scale and bias, is a layer_norm.
    (* example test/passes/recognize-composites.mlir *)
  }];
}

def RecognizeAttention : Sinter_FunctionPass<"sinter-recognize-attention"> {
  let summary = "attention that was written as two products and a softmax";
  let description = [{
    Requires: softmax is a composite (recognize-composites).  Ensures: a product whose left operand is the softmax of a
    scaled product, with masks and biases, is an attention, where the filter of
    createRecognizeAttention(options, CompositeFilter) keeps that (without a filter: everywhere). Masks that are bands
    become its attributes, keys that are repeated for groups of heads are not.
    (* example test/passes/recognize-attention.mlir *)
  }];
  let options = [Option<"areConstantsKnown", "constants-known", "bool", "true",
                        "what depends on no input is evaluated; otherwise a bias that does not is left for later">,
                 Option<"straightens", "straighten", "bool", "true",
                        "what is cut out of one tensor becomes positions of an axis of it; not before gradients are formed">];
}

def HoistInvariants : Sinter_FunctionPass<"sinter-hoist-invariants"> {
  let summary = "what every trip of a loop computes alike, before the loop";
  let description = [{
    Ensures: no op of a loop's region depends on captures and constants alone, but for ops that are cheaper to do again than to
    store (constants, broadcasts, sizes), control flow, and ops that may fail.
    (* example test/passes/hoist-invariants.mlir *)
  }];
}

def MergeEqualOps : Pass<"sinter-merge-equal-ops", "::mlir::ModuleOp"> {
  let summary = "one op for several that compute the same, also of many kernels";
  let description = [{
    Ensures: what upstream's cse ensures, in time that grows with the number of ops even where thousands of them differ
    in their regions alone.
    (* example test/passes/merge-equal-ops.mlir *)
  }];
}

def UnrollLoops : Sinter_FunctionPass<"sinter-unroll-loops"> {
  let summary = "copies of the body instead of a short counted loop";
  let description = [{
    Ensures: no `for` or `scan` of 1 to `max-trips` trips whose carries keep their types has a body of which all copies together
    are at most `max-ops` ops. A limit of 0 leaves all loops as they are, and those with a stated memory policy stay.
    (* example test/passes/unroll-loops.mlir *)
  }];
  let options = [Option<"maxTrips", "max-trips", "int64_t", "8", "trips that a loop has at most">,
                 Option<"maxOps", "max-ops", "int64_t", "64", "ops that all copies have at most">];
}

def MultiplyIntegers : Sinter_FunctionPass<"sinter-multiply-integers"> {
  let summary = "products of bytes with scales and zero points in integers";
  let description = [{
    Requires: constants are not folded yet, so that weights are bytes still.
    Ensures: no f32 product or convolution has two operands of bytes with constant scales, the first with one scale, whose sums fit i32: it is one of bytes with sums of i32,
    less what zero points add, times the scales. Padding of such a convolution is elements of its input.
    Of other f32 products with a matrix of constant bytes, one scale a column, the bytes are an operand that is only converted (without devices).
    With devices, operands of products of bytes have the axes that are summed last, and products of 8-bit floats, times one number each or one for each row or column, read bytes whose last axis is summed. What was bytes, moved and rounded to the same bytes again is moved only.
    (* example test/passes/multiply-integers.mlir *)
  }];
}

def FoldBatchNorm : Sinter_FunctionPass<"sinter-fold-batch-norm"> {
  let summary = "batch norm with constant statistics into the filter and bias before it";
  let description = [{
    Ensures: no batch_norm has constant statistics whose factors and sums are finite: it is part of the convolution or product before it when that has constant weights
    and no other user, and the scaled weights are as normal as they were; else a product and a sum per channel, unless the mean is far larger than the deviation.
    Under `fast-math` however large the mean is.
    (* example test/passes/fold-batch-norm.mlir *)
  }];
  let options = [Option<"fastMath", "fast-math", "bool", "false", "rewrites that change rounding, infinities and NaN">];
}

def DropDenormals : Sinter_FunctionPass<"sinter-drop-denormals"> {
  let summary = "constants that are added to products without denormals";
  let description = [{
    Ensures: no f32 or f64 constant that is repeated and added to a convolution or product has a denormal beside a number of at least 2^-64: zeros are there.
    (* example test/passes/drop-denormals.mlir *)
  }];
}

def AssignLayout : Sinter_FunctionPass<"sinter-assign-layout"> {
  let summary = "channels last for convolutions and pools";
  let description = [{
    Ensures: every convolution and pool has channels last; transposes between them have met and vanished where only pointwise ops,
    broadcasts, reductions, concatenations, pads, slices, resizes, squeezes or normalizations of images lie between. Filters are
    transposed constants once constants are folded.
    (* example test/passes/assign-layout.mlir *)
  }];
  let options = [Option<"normalizeColumns", "normalize-columns", "bool", "true",
                        "layer_norm of images by channels, or groups of them, in primitives that have channels last">,
                 Option<"sampleLast", "sample-last", "bool", "true",
                        "grid_sample of eight channels or more, which read one place, has channels last">];
}

def Decompose : Sinter_FunctionPass<"sinter-decompose"> {
  let summary = "write composites in primitives";
  let description = [{
    Ensures: no op that is Decomposable, but for those that `keep` names (without `sinter.`) or that the filter of
    createDecompose(CompositeFilter) keeps: what a back end has a better form for.
    (* example test/passes/decompose.mlir *)
  }];
  let options = [ListOption<"keep", "keep", "std::string", "names of composites that stay">];
}

def ProjectRecurrent : Sinter_FunctionPass<"sinter-project-recurrent"> {
  let summary = "take the product with the input weights out of recurrent cells";
  let description = [{
    Ensures: no lstm, gru or rnn has input weights or an input bias: its sequence holds x w^T + bias, one matrix product over
    all steps, which runs on all threads while the steps themselves depend on each other.
    (* example test/passes/project-recurrent.mlir *)
  }];
}

//===- gradient ------------------------------------------------------------------------------===//

def BuildGradient : Pass<"sinter-build-gradient", "::mlir::ModuleOp"> {
  let summary = "add the gradient of a function to its module";
  let description = [{
    Ensures: a function FUNCTION_MODE (or `name`) computes the gradient of `function` with respect to its arguments `wrt`, as
    passes/gradient/BuildGradient.h says; it has plain ops of the dialect only.
    (* example test/passes/build-gradient.mlir *)
  }];
  let dependentDialects = ["::sinter::SinterDialect"];
  let options = [
    Option<"function", "function", "std::string", "\"main\"", "name of the function">,
    ListOption<"wrt", "wrt", "unsigned", "numbers of the arguments">,
    Option<"mode", "mode", "std::string", "\"vjp\"", "grad, value_and_grad, vjp, jvp or hvp">,
    Option<"result", "result", "unsigned", "0", "number of the result that is the loss">,
    Option<"name", "name", "std::string", "", "name of the new function">,
    Option<"memory", "memory", "std::string", "", "memory policy of whiles that state none">];
}

def ExpandCheckpoints : Sinter_FunctionPass<"sinter-expand-checkpoints"> {
  let summary = "give loops with snapshots their backward loops";
  let description = [{
    Requires: no function is differentiated any more.
    Ensures: no `sinter.memory`: a loop of policy period, binomial or online keeps snapshots of its carries in place of stacks for its
    backward pass, which runs trips again. A loop whose stacks are read by more than that keeps them, with a warning.
    (* example test/passes/expand-checkpoints.mlir *)
  }];
}

def ChunkRowUpdates : Sinter_FunctionPass<"sinter-chunk-row-updates"> {
  let summary = "rows of tables moved some thousands at a time";
  let description = [{
    Requires: group_rows whole.  Ensures: tables of which the rows of one group_rows are replaced by pointwise functions of those rows and
    of their sums of bags are carries of a loop, where these rows take more than `chunk-bytes` in the largest table; a trip moves
    rows of so many bytes. Nothing of the size of all rows is made, and what a trip makes stays in a cache. Results are the same bits.
    (* example test/passes/chunk-row-updates.mlir *)
  }];
  let options = [Option<"chunkBytes", "chunk-bytes", "int64_t", "1 << 20", "bytes of rows that move together">];
}

def HoistProducts : Sinter_FunctionPass<"sinter-hoist-products"> {
  let summary = "products of all trips at once";
  let description = [{
    Ensures: no scan multiplies rows of a walked sequence with a matrix that all trips share, and no loop stacks only such a product
    of its own values, unless the stack of these were much larger: one product over all trips, before or after the loop, does it.
    (* example test/passes/hoist-products.mlir *)
  }];
}

//===- fused ---------------------------------------------------------------------------------===//

def WidenProducts : Sinter_FunctionPass<"sinter-widen-products"> {
  let summary = "products of 16-bit floats in f32 where the target multiplies these no faster";
  let description = [{
    Ensures: where the module's target lacks instructions that multiply its type (`bfloat_dots` or `bfloat_tiles` for bf16), an operand of a product
    or convolution of two 16-bit floats is converted to f32 once, outside of loops and where it is made. As they are stay constants that
    `dot_general` reads, and operands that are read fewer than 16 times an element, unless the target cannot convert the type in registers
    (f16 without `half_conversion`). Results have the same bits but for the order of sums. Does nothing without a target, and where
    devices are asked.
    (* example test/passes/widen-products.mlir *)
  }];
}

def RecomputeValues : Sinter_FunctionPass<"sinter-recompute-values"> {
  let summary = "compute cheap values again where they are read late";
  let description = [{
    A value that is read long after it was made stays in memory until then, as what a backward part reads of the forward part.
    Ensures: such values that pointwise ops and moves compute from others that stay are computed again before their late readers: the
    least bytes stay, by a minimum cut (gradient/SavedValues.h). Results have the same bits. Functions of which less than
    `min-bytes` and a sixteenth of what stays would go are left as they are.
    Requires: no pass after it merges equal ops, before kernels are formed.
    (* example test/passes/recompute-values.mlir *)
  }];
  let options = [Option<"minBytes", "min-bytes", "int64_t", "65536", "least bytes to save">];
}

def NarrowActivations : Sinter_FunctionPass<"sinter-narrow-activations"> {
  let summary = "what steps keep for long in 16 bits, where the module's policy says so";
  let description = [{
    Ensures: in a function that replaces states, under a policy with `activation = bf16` (or f16), a value of f32 that is read again
    long after its other readers, as by a backward part, is rounded where it is computed and kept so: late readers read the
    rounded one, all others the exact one. As they are stay values of less than `min-bytes` (as f32), results of the function, and
    values that a late reader would need as a whole in f32 again (products, loops, moves that end on other axes).
    In other functions, a value of f32 that is rounded so for products and else read by sums alone is read by these as products read it.
    Requires: no pass after it merges equal ops, before kernels are formed.
    (* example test/passes/narrow-activations.mlir *)
  }];
  let options = [Option<"minBytes", "min-bytes", "int64_t", "32768", "smallest value that is rounded">];
}

def AlignMatrices : Sinter_FunctionPass<"sinter-align-matrices"> {
  let summary = "matrices that loops multiply with vectors, copied before the loop into rows that fill cache lines";
  let description = [{
    Ensures: a matrix of floats that a loop captures and multiplies with a vector is read by rows along the axis that is not
    summed, each row a multiple of the target's cache line (64 bytes without a target). As they are stay matrices of more than `max-bytes`,
    results of less than a line, and matrices that are summed along long rows of whole lines.
    (* example test/passes/align-matrices.mlir *)
  }];
  let options = [Option<"maxBytes", "max-bytes", "int64_t", "524288", "largest matrix that is copied">];
}

def FormKernels : Sinter_FunctionPass<"sinter-form-kernels"> {
  let summary = "group ops into sinter.kernel regions";
  let description = [{
    Requires: composites that no back end knows are decomposed.
    Ensures: functions and control-flow bodies hold only kernels, views (reshape), constants, dim, shape, control flow
    and terminators. Each kernel has at most one root, all its results have one shape (but for those of a lone root).
    Which ops go together is decided by planFusion (FusionPlan.h); `max-ops` = 1 gives each op its own kernel.
    createFormKernels(options, KernelFilter) takes: a kernel that the back end has no form for becomes one kernel an op.
    (* example test/passes/form-kernels.mlir *)
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "64", "most ops in one kernel">];
}

def PackInvariants : Sinter_FunctionPass<"sinter-pack-invariants"> {
  let summary = "matrices that all trips of a loop multiply with, in panels";
  let description = [{
    Requires: kernels.  Ensures: a product in a loop whose second factor is a captured matrix of static shape reads it in panels of
    the target's size of a row (128 bytes without a target), made once before the outermost loop that leaves the matrix as it is; but for products of few rows, small matrices, and columns that
    fill no whole panels. In or outside loops, so does a product whose second factor is small beside the first.
    (* example test/passes/pack-invariants.mlir *)
  }];
}

def AllowWinograd : Sinter_FunctionPass<"sinter-allow-winograd"> {
  let summary = "convolutions that Winograd's method may compute";
  let description = [{
    Ensures: each 3x3 convolution of f32 with stride 1, without dilation and groups, whose filter is a finite constant, has the attribute
    `sinter.winograd`: a back end may compute it from transformed tiles, with larger errors (REWRITES.md), and decides for itself.
    (* example test/passes/allow-winograd.mlir *)
  }];
}

//===- printing, for tests -------------------------------------------------------------------===//

def PrintDims : Sinter_FunctionPass<"sinter-print-dims"> {
  let summary = "write symbolic sizes and contents beside each op";
  let description = [{
    Each op with a `?` in a result's type gets `sinter.sizes`, each with a small integer result that is not a constant
    `sinter.contents`: one list of expressions per result.
    (* example test/passes/print-dims.mlir *)
  }];
}

def PrintFusionPlan : Sinter_FunctionPass<"sinter-print-fusion-plan"> {
  let summary = "print which ops would share a kernel, without forming it";
  let description = [{ (* example test/passes/print-fusion-plan.mlir *) }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "64", "most ops in one kernel">];
}
