// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing at positions given by tensors. A negative position counts from the end; one that
// is still outside is clamped to the axis by reads and skipped by writes, so that no program reads or
// writes outside of its buffers.

include "ir/Dialect.td"

def GatherOp : Sinter_Op<"gather", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>,
                                    DeclareOpInterfaceMethods<SymbolicContents>]> {
  let summary = "slices of an axis, by position (NumPy take)";
  let description = [{ result[a..., i..., b...] = operand[a..., positions[i...], b...] with `axis` = rank of a. }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_PositionTensor:$positions, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
}

def GatherElementsOp : Sinter_Op<"gather_elements", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "one element per position (NumPy take_along_axis)";
  let description = [{ result[i] = operand[i with i[axis] := positions[i]]; the result has positions' shape. }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_PositionTensor:$positions, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
}

def GatherNdOp : Sinter_Op<"gather_nd", [DeclareOpInterfaceMethods<Elemental>, DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "slices by tuples of positions";
  let description = [{
    The last axis of `positions` (static size q) is a tuple that indexes the q axes of `operand` after the
    first `batch_axes`, which both share.
  }];
  let arguments = (ins Sinter_Tensor:$operand, Sinter_PositionTensor:$positions, DefaultValuedAttr<I64Attr, "0">:$batch_axes);
  let results = (outs Sinter_Tensor:$result);
}

def ScatterElementsOp : Sinter_Op<"scatter_elements", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "operand with updates[i] combined into element i with i[axis] := positions[i], in index order";
  let arguments = (ins Sinter_ComputedTensor:$operand, Sinter_PositionTensor:$positions, Sinter_ComputedTensor:$updates, I64Attr:$axis,
                       DefaultValuedAttr<Sinter_CombinerAttr, "Combiner::set">:$combiner);
  let results = (outs Sinter_ComputedTensor:$result);
}

def ScatterNdOp : Sinter_Op<"scatter_nd", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "operand with slices combined at tuples of positions, in index order";
  let arguments = (ins Sinter_ComputedTensor:$operand, Sinter_PositionTensor:$positions, Sinter_ComputedTensor:$updates,
                       DefaultValuedAttr<Sinter_CombinerAttr, "Combiner::set">:$combiner);
  let results = (outs Sinter_ComputedTensor:$result);
}

def NonzeroOp : Sinter_Op<"nonzero"> {
  let summary = "positions of the elements that are not zero, [rank, count], in row-major order";
  let arguments = (ins Sinter_ComputedTensor:$operand);
  let results = (outs RankedTensorOf<[I64]>:$result);
}

def CompressOp : Sinter_Op<"compress"> {
  let summary = "slices of an axis where mask is true (mask may be shorter than the axis)";
  let arguments = (ins Sinter_Tensor:$operand, Sinter_BoolTensor:$mask, I64Attr:$axis);
  let results = (outs Sinter_Tensor:$result);
}

def UniqueOp : Sinter_Op<"unique"> {
  let summary = "distinct slices of an axis (ONNX Unique)";
  let description = [{
    values: the distinct slices, sorted ascending or in order of first occurrence; first: position of each
    value's first occurrence; inverse: for each slice of the operand its place in values; counts.
  }];
  let arguments = (ins Sinter_ComputedTensor:$operand, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs Sinter_ComputedTensor:$values, 1DTensorOf<[I64]>:$first, 1DTensorOf<[I64]>:$inverse, 1DTensorOf<[I64]>:$counts);
}

def NonMaxSuppressionOp : Sinter_Op<"non_max_suppression"> {
  let summary = "boxes kept by greedy suppression (ONNX NonMaxSuppression)";
  let description = [{
    `boxes` [batch, count, 4], `scores` [batch, classes, count]; the thresholds and `max_per_class` (per batch
    and class; 0 keeps none) are rank 0. Result [kept, 3]: batch, class, box. `center_point_box` reads
    boxes as [x_center, y_center, width, height], else as two opposite corners [y1, x1, y2, x2].
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$boxes, RankedTensorOf<[F32]>:$scores, Sinter_IndexScalar:$max_per_class,
                       0DTensorOf<[F32]>:$iou_threshold, 0DTensorOf<[F32]>:$score_threshold,
                       DefaultValuedAttr<BoolAttr, "false">:$center_point_box);
  let results = (outs RankedTensorOf<[I64]>:$result);
}
