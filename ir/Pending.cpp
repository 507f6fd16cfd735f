// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that are not written yet, each refusing with a reason. This file goes away with the last of them.

#include "ir/Ops.h"

using namespace mlir;
using namespace sinter;

FailureOr<SmallVector<Value>> SoftmaxOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> LayerNormOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> BatchNormOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> GroupNormOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> LstmOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> GruOp::decompose(OpBuilder &) { return failure(); }
FailureOr<SmallVector<Value>> RnnOp::decompose(OpBuilder &) { return failure(); }
void CondOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void SwitchOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
void WhileOp::getCanonicalizationPatterns(RewritePatternSet &, MLIRContext *) {}
