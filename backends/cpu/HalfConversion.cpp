// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 to f16, to the nearest, ties to even, and back, where no instruction does it: code generation would call a
// function for each element. Both are a shift of the bits, with the exponent's bias changed; where a number is too
// small for that, an addition of floats rounds it:
//
//   |x| >= 2^16              infinity, or a quiet NaN
//   |x| in [2^-14, 2^16)     the bits, less 112 of the exponent, rounded by 13: what carries into the exponent is right
//   |x| < 2^-14              x + 0.5, whose last bit is worth 2^-24 as that of such an f16; less the bits of 0.5
//
// What is rounded and widened at once, as operands of products are, stays f32: the 13 bits go, and nothing is shifted.

#include "backends/cpu/HalfConversion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace sinter;

namespace {
/// Builds arithmetic of 32-bit words, scalars or vectors as `like` is.
struct Words {
  ImplicitLocOpBuilder b;
  Type like;

  Words(Location loc, OpBuilder &builder, Type like) : b(loc, builder), like(like) {}

  Type of(Type element) const {
    auto shaped = dyn_cast<ShapedType>(like);
    return shaped ? shaped.clone(element) : element;
  }
  Value constant(int64_t value) {
    auto attribute = b.getI32IntegerAttr(static_cast<int32_t>(value));
    auto shaped = dyn_cast<ShapedType>(of(b.getI32Type()));
    return arith::ConstantOp::create(b, shaped ? DenseElementsAttr::get(shaped, attribute) : TypedAttr(attribute));
  }
  Value bitsOf(Value number) { return arith::BitcastOp::create(b, of(b.getI32Type()), number); }
  Value numberOf(Value bits) { return arith::BitcastOp::create(b, of(b.getF32Type()), bits); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value both(Value x, int64_t mask) { return arith::AndIOp::create(b, x, constant(mask)); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value left(Value x, int64_t by) { return arith::ShLIOp::create(b, x, constant(by)); }
  Value right(Value x, int64_t by) { return arith::ShRUIOp::create(b, x, constant(by)); }
  Value is(arith::CmpIPredicate predicate, Value x, int64_t y) {
    return arith::CmpIOp::create(b, predicate, x, constant(y));
  }
  Value choose(Value condition, Value x, Value y) { return arith::SelectOp::create(b, condition, x, y); }
};

constexpr int64_t kBias = 112 << 23;            // what the exponents' biases differ by
constexpr int64_t kLeastNormal = 113 << 23;     // 2^-14
constexpr int64_t kBeyond = 143 << 23;          // 2^16
constexpr int64_t kInfinity = 255 << 23;        // of f32
constexpr int64_t kHalfExponent = 0x7c00 << 13; // of f16, where f32 has its own mantissa's end

/// The f32 that `op` widens again without a change of its shape, or null.
Value roundedBefore(arith::ExtFOp op) {
  auto round = op.getIn().getDefiningOp<arith::TruncFOp>();
  bool isBoth = round && getElementTypeOrSelf(op.getIn().getType()).isF16() &&
                round.getIn().getType() == op.getType() && getElementTypeOrSelf(op.getType()).isF32();
  return isBoth ? round.getIn() : Value();
}

struct RoundToHalf : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF32() || !getElementTypeOrSelf(op.getType()).isF16())
      return failure();
    // They read it no more, and perhaps nobody else does.
    if (llvm::any_of(op->getUsers(), [](Operation *user) {
          auto widen = dyn_cast<arith::ExtFOp>(user);
          return widen && roundedBefore(widen);
        }))
      return failure();
    Words w(op.getLoc(), rewriter, op.getType());
    using Predicate = arith::CmpIPredicate;
    Value bits = w.bitsOf(op.getIn()), magnitude = w.both(bits, 0x7fffffff), shifted = w.right(magnitude, 13);
    Value isOdd = w.both(shifted, 1);
    Value normal = w.right(w.add(w.add(magnitude, w.constant(0xfff - kBias)), isOdd), 13);
    Value half = w.numberOf(w.constant(126 << 23));
    Value sum = w.bitsOf(arith::AddFOp::create(w.b, w.numberOf(magnitude), half));
    Value small = w.add(sum, w.constant(-(int64_t(126) << 23)));
    Value nan = w.either(w.both(shifted, 0x3ff), w.constant(0x7e00));
    Value huge = w.choose(w.is(Predicate::sgt, magnitude, kInfinity), nan, w.constant(0x7c00));
    Value finite = w.choose(w.is(Predicate::slt, magnitude, kLeastNormal), small, normal);
    Value chosen = w.choose(w.is(Predicate::sge, magnitude, kBeyond), huge, finite);
    Value sign = w.both(w.right(bits, 16), 0x8000);
    Value narrow = arith::TruncIOp::create(w.b, w.of(w.b.getI16Type()), w.either(chosen, sign));
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), narrow);
    return success();
  }
};

struct RoundAsHalf : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Value number = roundedBefore(op);
    if (!number)
      return failure();
    Words w(op.getLoc(), rewriter, op.getType());
    using Predicate = arith::CmpIPredicate;
    Value bits = w.bitsOf(number), magnitude = w.both(bits, 0x7fffffff), isOdd = w.both(w.right(bits, 13), 1);
    Value normal = w.both(w.add(w.add(magnitude, w.constant(0xfff)), isOdd), ~int64_t(0x1fff));
    Value half = w.numberOf(w.constant(126 << 23));
    Value sum = arith::AddFOp::create(w.b, w.numberOf(magnitude), half);
    Value small = w.bitsOf(arith::SubFOp::create(w.b, sum, half));
    Value nan = w.either(w.both(magnitude, ~int64_t(0x1fff)), w.constant(1 << 22));
    Value huge = w.choose(w.is(Predicate::sgt, magnitude, kInfinity), nan, w.constant(kInfinity));
    Value finite = w.choose(w.is(Predicate::slt, magnitude, kLeastNormal), small, normal);
    // From here on what is nearest is 2^16.
    Value chosen = w.choose(w.is(Predicate::sge, magnitude, kBeyond - 0x1000), huge, finite);
    rewriter.replaceOp(op, w.numberOf(w.either(chosen, w.both(bits, INT32_MIN))));
    return success();
  }
};

struct ExtendHalf : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF16() || !getElementTypeOrSelf(op.getType()).isF32() ||
        roundedBefore(op))
      return failure();
    Words w(op.getLoc(), rewriter, op.getType());
    using Predicate = arith::CmpIPredicate;
    Value narrow = arith::BitcastOp::create(w.b, w.of(w.b.getI16Type()), op.getIn());
    Value bits = arith::ExtUIOp::create(w.b, w.of(w.b.getI32Type()), narrow);
    Value shifted = w.left(w.both(bits, 0x7fff), 13), exponent = w.both(shifted, kHalfExponent);
    Value normal = w.add(shifted, w.constant(kBias));
    Value least = w.numberOf(w.constant(kLeastNormal)), raised = w.numberOf(w.add(shifted, w.constant(kLeastNormal)));
    Value small = w.bitsOf(arith::SubFOp::create(w.b, raised, least));
    Value infinite = w.add(normal, w.constant(kBias));
    Value quiet = w.either(infinite, w.constant(1 << 22));
    Value huge = w.choose(w.is(Predicate::sgt, shifted, kHalfExponent), quiet, infinite);
    Value finite = w.choose(w.is(Predicate::eq, exponent, 0), small, normal);
    Value chosen = w.choose(w.is(Predicate::eq, exponent, kHalfExponent), huge, finite);
    Value sign = w.left(w.both(bits, 0x8000), 16);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), w.either(chosen, sign));
    return success();
  }
};
} // namespace

void sinter::cpu::populateHalfConversion(RewritePatternSet &patterns) {
  patterns.add<RoundToHalf, RoundAsHalf, ExtendHalf>(patterns.getContext(), /*benefit=*/2);
}
