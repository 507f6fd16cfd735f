// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of ops that follow; each refuses with a diagnostic where it can.

#include "ir/Indexing.h"
#include "ir/Shape.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter;

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
