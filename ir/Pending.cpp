// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that are not written yet, each refusing with a reason. This file goes away with the last of them.

#include "ir/Ops.h"

using namespace mlir;
using namespace sinter;

FailureOr<SmallVector<HostTensor>> ReduceOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> ArgReduceOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> CumulativeOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> ReduceWindowOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> ArgReduceWindowOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> SortOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> TopKOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> DotGeneralOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> ConvolutionOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> DetOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> SoftmaxOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> LayerNormOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> BatchNormOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> GroupNormOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> GroupNormOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> AttentionOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> LstmOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> LstmOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> GruOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> GruOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> RnnOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<Value>> RnnOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<HostTensor>> CondOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> SwitchOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> WhileOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> ForOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
FailureOr<SmallVector<HostTensor>> ScanOp::evaluate(ArrayRef<HostTensor>, Evaluator &) {
  return emitOpError("has no reference evaluation yet");
}
void CondOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void SwitchOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void WhileOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
OpFoldResult ReduceOp::fold(FoldAdaptor) { return {}; }
