// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 rounded to bf16 by the instruction for it, two at once where they lie side by side: eleven operations on bits
// otherwise. As an intrinsic, so that LLVM does not compute in bf16 what the loops compute in f32.

#include "backends/cuda/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;

namespace {
struct RoundByInstruction : OpRewritePattern<arith::TruncFOp> {
  explicit RoundByInstruction(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &b) const override {
    auto vector = dyn_cast<VectorType>(op.getType());
    if (!getElementTypeOrSelf(op.getIn()).isF32() || !getElementTypeOrSelf(op.getType()).isBF16() ||
        (vector && vector.getRank() != 1))
      return b.notifyMatchFailure(op, "rounds no f32 to bf16");
    auto made = [&](StringRef name, Type type, ValueRange operands) {
      return LLVM::CallIntrinsicOp::create(b, op.getLoc(), type, b.getStringAttr(name), operands).getResult(0);
    };
    auto round = [&](Value x) { return made("llvm.nvvm.f2bf16.rn", b.getBF16Type(), x); };
    if (!vector) {
      b.replaceOp(op, round(op.getIn()));
      return success();
    }
    auto element = [&](Value from, int64_t i) -> Value { return vector::ExtractOp::create(b, op.getLoc(), from, i); };
    auto pair = [&](int64_t i) { // the upper half comes first
      return made("llvm.nvvm.ff2bf16x2.rn", VectorType::get({2}, b.getBF16Type()),
                  {element(op.getIn(), i + 1), element(op.getIn(), i)});
    };
    if (vector.getNumElements() == 2) {
      b.replaceOp(op, pair(0));
      return success();
    }
    SmallVector<Value> rounded;
    for (int64_t i = 0; i < vector.getNumElements(); i += 2) {
      if (i + 1 == vector.getNumElements()) {
        rounded.push_back(round(element(op.getIn(), i)));
        break;
      }
      Value both = pair(i);
      rounded.append({element(both, 0), element(both, 1)});
    }
    b.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, rounded);
    return success();
  }
};
} // namespace

void cuda::populateBFloat16Rounding(RewritePatternSet &patterns) {
  patterns.add<RoundByInstruction>(patterns.getContext());
}
