// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/Float8Numbers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// The numbers of a pair of bytes that are the upper ones of 16 bits each.
static Value numbersOfPair(TileBuilder &t, Value spread, Type format, Type type) {
  ImplicitLocOpBuilder &b = t.b;
  auto word = [&](uint32_t bits) -> Value { return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(bits))); };
  auto with = [&](Value value, uint32_t mask) -> Value { return arith::AndIOp::create(b, value, word(mask)); };
  auto right = [&](Value value, uint32_t by) -> Value { return arith::ShRUIOp::create(b, value, word(by)); };
  auto pair = VectorType::get({2}, type);
  auto asNumbers = [&](Value bits) -> Value { return LLVM::BitcastOp::create(b, pair, bits); };
  const bool isFine = isa<Float8E4M3FNType>(format);
  if (!isFine && type.isF16())
    return asNumbers(spread);
  // Places of the exponent to the right, and what its bias differs by.
  const uint32_t shift = type.isF16() ? 1 : isFine ? 4 : 3;
  const int bias = (type.isF16() ? 15 : 127) - (isFine ? 7 : 15);
  Value magnitude = with(spread, 0x7f007f00);
  // The highest bit of each 16 where the number is NaN (or infinite), of which the bits below become all but the last.
  Value next = arith::AddIOp::create(b, magnitude, word(isFine ? 0x01000100 : 0x04000400));
  Value marks = with(next, 0x80008000);
  Value special = arith::SubIOp::create(b, marks, right(marks, 7));
  Value bits = arith::OrIOp::create(b, right(magnitude, shift), special);
  bits = arith::OrIOp::create(b, bits, with(spread, 0x80008000));
  Value factor = arith::ConstantOp::create(
      b, DenseElementsAttr::get(pair, FloatAttr::get(type, std::ldexp(1.0, bias)).getValue()));
  return arith::MulFOp::create(b, asNumbers(bits), factor);
}

std::array<Value, 2> cuda::numbersOfWord(TileBuilder &t, Value word, Type format, Type type, bool hasConversion) {
  ImplicitLocOpBuilder &b = t.b;
  if (hasConversion && type.isF16() && isa<Float8E4M3FNType>(format)) {
    Value pairs = LLVM::BitcastOp::create(b, VectorType::get({2}, b.getI16Type()), word);
    auto converted = [&](int64_t pair) {
      return t.intrinsic("llvm.nvvm.e4m3x2.to.f16x2.rn", VectorType::get({2}, type),
                         vector::ExtractOp::create(b, pairs, pair).getResult());
    };
    return {converted(0), converted(1)};
  }
  auto spread = [&](int32_t places) -> Value {
    Value zero = arith::ConstantIntOp::create(b, b.getI32Type(), 0),
          chosen = arith::ConstantIntOp::create(b, b.getI32Type(), places);
    return t.intrinsic("llvm.nvvm.prmt", b.getI32Type(), {word, zero, chosen});
  };
  // Bytes of the result from the lowest one on: 4 is a byte of zeros.
  return {numbersOfPair(t, spread(0x1404), format, type), numbersOfPair(t, spread(0x3424), format, type)};
}
