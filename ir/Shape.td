// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants, sizes, and ops that move elements without computing on them.

include "ir/Dialect.td"

class Sinter_MoveOp<string mnemonic, list<Trait> traits = []> : Sinter_Op<mnemonic, !listconcat([
    DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>], traits)>;

def ConstantOp : Sinter_Op<"constant", [ConstantLike]> {
  let summary = "a tensor known at compile time";
  let description = [{
    Values of more than 1 KiB are `dense_resource` attributes, so that weights are never part of the
    uniqued attribute storage and may be mapped from the model's file.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "attr-dict $value";
}

def IotaOp : Sinter_Op<"iota", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>,
                                DeclareOpInterfaceMethods<SymbolicContents>]> {
  let summary = "result[i] = i[axis]";
  let description = [{ Without `shape` the type is static; with it, `shape[k]` is the size of axis k. }];
  let arguments = (ins Optional<Sinter_SizesTensor>:$shape, I64Attr:$axis, TypeAttrOf<Sinter_Tensor>:$type);
  let results = (outs Sinter_NumberTensor:$result);
  let hasCanonicalizer = 1;
}

def DimOp : Sinter_Op<"dim", [DeclareOpInterfaceMethods<SymbolicShape>, DeclareOpInterfaceMethods<SymbolicContents>]> {
  let summary = "size of one axis, as a rank-0 i64";
  let arguments = (ins Sinter_Tensor:$operand, I64Attr:$axis);
  let results = (outs Sinter_IndexScalar:$result);
  let hasFolder = 1;
}

def ShapeOp : Sinter_Op<"shape", [DeclareOpInterfaceMethods<SymbolicShape>, DeclareOpInterfaceMethods<SymbolicContents>]> {
  let summary = "sizes of all axes, as a rank-1 i64";
  let arguments = (ins Sinter_Tensor:$operand);
  let results = (outs Sinter_SizesTensor:$result);
  let hasFolder = 1;
}

def BroadcastOp : Sinter_MoveOp<"broadcast", [AttrSizedOperandSegments]> {
  let summary = "repeats axes of size 1 and adds axes";
  let description = [{
    `axes[k]` is the result axis of operand axis k, strictly increasing. An operand axis has size 1 or
    the result's size (at run time too: a `?` that turns out 1 repeats). The result's sizes are those
    of `type`; its `?` come from, in this order: `shape`, else the sizes of `like`, which has the
    result's rank, else the operand's own. Where both `shape[k]` and the operand's size are not 1
    they must be equal.
  }];
  let arguments = (ins Sinter_Tensor:$operand, Optional<Sinter_SizesTensor>:$shape, Variadic<Sinter_Tensor>:$like,
                       DenseI64ArrayAttr:$axes, TypeAttrOf<Sinter_Tensor>:$type);
  let results = (outs Sinter_Tensor:$result);
  let assemblyFormat = [{
    $operand (`shape` `(` $shape^ `)`)? (`like` `(` $like^ `)`)? `axes` `=` $axes attr-dict `:` functional-type(operands, results)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def ReshapeOp : Sinter_MoveOp<"reshape"> {
  let summary = "same elements in row-major order under another shape";
  let description = [{
    With at most one `?` in `type`, that size follows from the number of elements. With more, `shape` gives all sizes (no -1, no
    0-means-copy: importers resolve these); without `shape`, every `?` but the last is the operand's size of the same axis, and
    so is the last beside a size of 0 in `type` (0 if there is no such axis).
  }];
  let arguments = (ins Sinter_Tensor:$operand, Optional<Sinter_SizesTensor>:$shape, TypeAttrOf<Sinter_Tensor>:$type);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def TransposeOp : Sinter_MoveOp<"transpose"> {
  let summary = "result axis k is operand axis permutation[k]";
  let arguments = (ins Sinter_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def SliceOp : Sinter_MoveOp<"slice", [DeclareOpInterfaceMethods<SymbolicContents>]> {
  let summary = "elements start, start + step, ... below limit (static)";
  let description = [{
    One entry per axis; `steps[k]` >= 1; 0 <= start <= limit. A limit of -1 means the axis's size (for `?`
    axes); on static axes limit <= size.
  }];
  let arguments = (ins Sinter_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$limits, DenseI64ArrayAttr:$steps);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def RangeSliceOp : Sinter_MoveOp<"range_slice"> {
  let summary = "slice with bounds known at run time, by NumPy's rules";
  let description = [{
    One entry per axis. Negative starts and limits count from the end, all are clamped; steps are not 0
    and may be negative (then start and limit clamp to [-1, size-1]). A step of 0 reads nothing.
  }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_SizesTensor:$starts, Sinter_SizesTensor:$limits, Sinter_SizesTensor:$steps);
  let results = (outs Sinter_Tensor:$result);
  let hasCanonicalizer = 1;
}

def DynamicSliceOp : Sinter_MoveOp<"dynamic_slice"> {
  let summary = "a window of static sizes at a start known at run time";
  let description = [{ `starts` has one entry per axis; each is clamped to [0, size - sizes[k]]. }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_SizesTensor:$starts, DenseI64ArrayAttr:$sizes);
  let results = (outs Sinter_Tensor:$result);
  let hasCanonicalizer = 1;
}

def DynamicUpdateSliceOp : Sinter_MoveOp<"dynamic_update_slice"> {
  let summary = "operand with a window replaced";
  let description = [{ `starts` has one entry per axis; each is clamped so that `update` fits. }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_Tensor:$update, Sinter_SizesTensor:$starts);
  let results = (outs Sinter_Tensor:$result);
  let hasCanonicalizer = 1;
}

def PadOp : Sinter_MoveOp<"pad"> {
  let summary = "adds (or, if negative, removes) elements at the ends and between";
  let description = [{
    `low`, `high`, `interior`: one entry per axis; interior >= 0. `value` (rank 0) fills under mode
    constant. The other modes need interior = 0. They first remove what is negative, then add elements of
    the rest, which has at least one, and for reflect more than are added at either end.
  }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_Tensor:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior, DefaultValuedAttr<Sinter_PadModeAttr, "PadMode::constant">:$mode);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
}

def DynamicPadOp : Sinter_MoveOp<"dynamic_pad"> {
  let summary = "pad with amounts known at run time";
  let arguments = (ins Sinter_Tensor:$operand, Sinter_Tensor:$value, Sinter_SizesTensor:$low, Sinter_SizesTensor:$high,
                       DefaultValuedAttr<Sinter_PadModeAttr, "PadMode::constant">:$mode);
  let results = (outs Sinter_Tensor:$result);
  let hasCanonicalizer = 1;
}

def ConcatenateOp : Sinter_MoveOp<"concatenate", [DeclareOpInterfaceMethods<SymbolicContents>]> {
  let summary = "operands one after the other along an axis";
  let arguments = (ins Variadic<Sinter_Tensor>:$operands, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def ReverseOp : Sinter_MoveOp<"reverse"> {
  let summary = "reversed order along the given axes";
  let arguments = (ins Sinter_Tensor:$operand, DenseI64ArrayAttr:$axes);
  let results = (outs Sinter_Tensor:$result);
}

def TileOp : Sinter_MoveOp<"tile"> {
  let summary = "operand repeated repeats[k] times along axis k";
  let description = [{ `repeats` has one entry per axis, >= 0. }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_SizesTensor:$repeats);
  let results = (outs Sinter_Tensor:$result);
  let hasCanonicalizer = 1;
}
