// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fused level: a function is a schedule of kernels and control flow.

include "ir/Dialect.td"
include "ir/Schedules.td"

def KernelOp : Op<Sinter_Dialect, "kernel", [
    Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "ops that become one loop nest";
  let description = [{
    The region's arguments are the inputs; it yields the results. What lies between inputs and results is
    never stored. `kernel_template` says which loop nest it becomes, `schedule` how (Schedules.td); at most one op is neither pointwise, elemental nor a constant,
    and shapes the loop nest: everything before it is a producer, everything after it an epilogue.
    `zeros` lists inputs that may hold blocks of zeros.

    `strides` says how inputs and results lie that are parts of larger buffers: a list for each input, then for each
    result, with elements from one index of an axis to the next, or -1 where that is the next axis's times its size.
    An empty list is row-major.

    A kernel that is `in_place` has no code: it is a slice of its input, or the concatenation of its inputs, each of
    which is computed where the result has it.

        %y = sinter.kernel map(%a, %b) {in_place} : (tensor<9x4xf32>, tensor<9x2xf32>) -> tensor<9x6xf32> { ... }   // a: strides = [..., [6, 1]]

    * (C1) one region argument per input, (C2) one yield per result. * (C3) at most one such op. * (C4) a map has none.
    * (C5) what `zeros` and the schedule's lists name are inputs. * (C6) `strides` has a list for each input and result,
    which is empty or has a number of -1 or more for each axis, 1 or -1 for the last. * (C7) What is `in_place` is a
    slice of steps of 1, or joins what kernels of its block compute, each once, in its order; it has no schedule.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, Sinter_KernelTemplateAttr:$kernel_template,
                       OptionalAttr<Sinter_ScheduleAttr>:$schedule, OptionalAttr<DenseI64ArrayAttr>:$zeros,
                       OptionalAttr<TypedArrayAttrBase<DenseI64ArrayAttr, "lists of strides">>:$strides, UnitAttr:$in_place);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kernel_template `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body }];
  let extraClassDeclaration = [{
    /// The op that shapes the loop nest: the only one that is neither pointwise, elemental nor a constant. Null
    /// for a map.
    ::mlir::Operation *getRoot();
    /// The strides of input `value`, or of result `value - getInputs().size()`; empty where it is row-major.
    ::llvm::ArrayRef<int64_t> stridesOf(unsigned value);
    void setStridesOf(unsigned value, ::llvm::ArrayRef<int64_t> strides);
  }];
  let hasVerifier = 1;
}
