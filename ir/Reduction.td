// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many elements to one, and orders. Sums of f16 and bf16 accumulate in f32. The order of additions is
// a function of the shape only.

include "ir/Dialect.td"

def ReduceOp : Sinter_Op<"reduce", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "combines all elements along the given axes, which disappear";
  let description = [{
    Combiners add, mul, max, min (numbers), and, or (booleans and integers). An empty reduction gives the
    identity: 0, 1, the least, the greatest value (infinities for floats), all ones, zero.
  }];
  let arguments = (ins Sinter_ComputedTensor:$operand, DenseI64ArrayAttr:$axes, Sinter_CombinerAttr:$combiner);
  let results = (outs Sinter_ComputedTensor:$result);
  let assemblyFormat = "$combiner $operand `axes` `=` $axes attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def ArgReduceOp : Sinter_Op<"arg_reduce", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "position (i64) of the greatest or least element along an axis, which disappears";
  let description = [{ Ties: the first, or the last with `last`. NaN counts as greatest (least for min). Combiner: max or min. }];
  let arguments = (ins Sinter_ComputedTensor:$operand, I64Attr:$axis, Sinter_CombinerAttr:$combiner, DefaultValuedAttr<BoolAttr, "false">:$last);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "$combiner $operand attr-dict `:` functional-type(operands, results)";
}

def CumulativeOp : Sinter_Op<"cumulative", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "running combination along an axis";
  let description = [{ `exclusive` leaves the element itself out (the first is the identity); `reverse` runs from the end. }];
  let arguments = (ins Sinter_NumberTensor:$operand, I64Attr:$axis, Sinter_CombinerAttr:$combiner,
                       DefaultValuedAttr<BoolAttr, "false">:$exclusive, DefaultValuedAttr<BoolAttr, "false">:$reverse);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$combiner $operand attr-dict `:` functional-type(operands, results)";
}

def ReduceWindowOp : Sinter_Op<"reduce_window", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "combines the elements under a sliding window (pooling without the division)";
  let description = [{
    One entry per axis in each array. Padded places hold the combiner's identity. The size of result axis k
    is floor((size + low + high - dilation * (window - 1) - 1) / stride) + 1.
  }];
  let arguments = (ins Sinter_NumberTensor:$operand, Sinter_CombinerAttr:$combiner, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations);
  let results = (outs Sinter_NumberTensor:$result);
  let assemblyFormat = "$combiner $operand attr-dict `:` functional-type(operands, results)";
}

def ArgReduceWindowOp : Sinter_Op<"arg_reduce_window", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "row-major position (i64), in the whole operand, of the greatest element under a window; first wins";
  let arguments = (ins Sinter_NumberTensor:$operand, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$dilations);
  let results = (outs RankedTensorOf<[I64]>:$result);
}

def SortOp : Sinter_Op<"sort", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "stable order of an axis: the sorted elements and their former positions (i64)";
  let description = [{ NaN is last in both directions. }];
  let arguments = (ins Sinter_ComputedTensor:$operand, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$descending);
  let results = (outs Sinter_ComputedTensor:$values, RankedTensorOf<[I64]>:$positions);
}

def TopKOp : Sinter_Op<"top_k", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "the k greatest (or least) elements of an axis in order, and their positions (i64); ties by position";
  let description = [{ `k` (rank 0) is clamped to the axis's size. }];
  let arguments = (ins Sinter_ComputedTensor:$operand, Sinter_IndexScalar:$k, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$largest);
  let results = (outs Sinter_ComputedTensor:$values, RankedTensorOf<[I64]>:$positions);
}
