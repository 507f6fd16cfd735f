// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounding f32 to bf16: to the nearest, ties to even; NaN stays NaN, quiet. The choice between the two is made on
// 32-bit integers. MLIR's own expansion chooses between bf16 vectors, which code generation for targets without
// instructions of that type takes apart into scalars: .6 ns an element instead of .1 (Zen 4, AVX-512 without bf16).
// vcvtneps2bf16 takes denormals for 0, so it is used only where what is rounded comes from units that do.

#include "backends/cpu/BFloatRounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sinter;

static bool isOfUnits(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return function && function->hasAttr(cpu::kUnitRounding);
}

namespace {
struct RoundToBFloat : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF32() || !getElementTypeOrSelf(op.getType()).isBF16())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (auto vector = dyn_cast<VectorType>(op.getType()); vector && isOfUnits(op)) {
      int64_t bits = vector.getNumElements() * 32;
      if (bits == 512 || bits == 256) {
        auto name = b.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16." + Twine(bits));
        rewriter.replaceOp(op, LLVM::CallIntrinsicOp::create(b, vector, name, ValueRange{op.getIn()}).getResult(0));
        return success();
      }
    }
    auto withElements = [&](Type element) -> Type {
      auto shaped = dyn_cast<ShapedType>(op.getType());
      return shaped ? shaped.clone(element) : element;
    };
    Type words = withElements(b.getI32Type()), halves = withElements(b.getI16Type());
    auto constant = [&](int32_t value) -> Value {
      auto attribute = b.getI32IntegerAttr(value);
      auto shaped = dyn_cast<ShapedType>(words);
      return arith::ConstantOp::create(b, shaped ? DenseElementsAttr::get(shaped, attribute) : TypedAttr(attribute));
    };
    Value bits = arith::BitcastOp::create(b, words, op.getIn());
    Value high = arith::ShRUIOp::create(b, bits, constant(16)), isOdd = arith::AndIOp::create(b, high, constant(1));
    Value carried = arith::AddIOp::create(b, arith::AddIOp::create(b, bits, constant(0x7fff)), isOdd);
    Value rounded = arith::ShRUIOp::create(b, carried, constant(16));
    Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, op.getIn(), op.getIn());
    // No constant: choices of one are moved behind the cast to bf16.
    Value chosen = arith::SelectOp::create(b, isNan, arith::OrIOp::create(b, high, constant(0x40)), rounded);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), arith::TruncIOp::create(b, halves, chosen));
    return success();
  }
};
} // namespace

void sinter::cpu::populateBFloatRounding(RewritePatternSet &patterns) {
  patterns.add<RoundToBFloat>(patterns.getContext(), /*benefit=*/2);
}
