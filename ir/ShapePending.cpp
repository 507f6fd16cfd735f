// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of ops that follow; each refuses with a diagnostic where it can.

#include "ir/Indexing.h"
#include "ir/Shape.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter;

FailureOr<SmallVector<HostTensor>> ConstantOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> IotaOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> DimOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> ShapeOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> BroadcastOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> ReshapeOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> TransposeOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> SliceOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> RangeSliceOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> DynamicSliceOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> DynamicUpdateSliceOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> PadOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> DynamicPadOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> ConcatenateOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> ReverseOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> TileOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> GatherOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> GatherElementsOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> GatherNdOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> ScatterElementsOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> ScatterNdOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> NonzeroOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> CompressOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> UniqueOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
FailureOr<SmallVector<HostTensor>> NonMaxSuppressionOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation"), failure();
}
OpFoldResult DimOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ShapeOp::fold(FoldAdaptor) { return {}; }
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ReshapeOp::fold(FoldAdaptor) { return {}; }
OpFoldResult TransposeOp::fold(FoldAdaptor) { return {}; }
OpFoldResult SliceOp::fold(FoldAdaptor) { return {}; }
OpFoldResult PadOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ConcatenateOp::fold(FoldAdaptor) { return {}; }
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void RangeSliceOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void DynamicPadOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
