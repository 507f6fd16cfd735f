// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/DigitRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Elements that are made digits of at once.
constexpr int64_t kGroup = 16;
/// Fields of f32's exponent: the least that a block's greatest magnitude counts as, so that all powers are normal, and
/// that of infinities and NaN.
constexpr int32_t kLeastField = 13, kSpecialField = 255;
constexpr int32_t kBias = 127, kFractionBits = 23;
/// The greatest magnitude of an only digit, and the exponent of the least magnitude that it may stand for.
constexpr float kMostByte = 127;
constexpr int32_t kLeastBytes = 8;
/// log2 of the base of four digits; the base of three, for which no digit is 128.
constexpr int32_t kBaseBits = 7, kPairBase = 254;
/// What makes a greatest magnitude of 127.5 / 128 of a power of two count as the power: a first digit would be 128.
constexpr int32_t kNearPower = 1 << 16;
/// Adding 1.5 * 2^23 rounds to an integer, which then stands in the lowest bits.
constexpr float kRounding = 12582912.0f;

DigitRows::DigitRows(KernelFunction &fn, int64_t k, int64_t block, int64_t digits, Value workspace, Value base)
    : fn(fn), b(fn.b), k(k), block(block), digits(digits), blockWords(wordsOf(block, block, digits)), bytes(workspace),
      base(base), firstLimit(digits == 3 ? 7 : 6), unit(digits == 3 ? kPairBase : 1 << kBaseBits) {
  assert(block % kGroup == 0 && "blocks are whole groups");
  auto view = [&](Type element) {
    return memref::ViewOp::create(b, MemRefType::get({kHuge}, element), workspace, fn.index(0), ValueRange{});
  };
  ints = view(b.getI32Type());
  floats = view(b.getF32Type());
  // Codes have bytes of either sign.
  form.step = ProductForm::Step::byte_dots;
  form.a = form.row = Number::i8;
  form.b = form.column = fn.spec.target().byteDots == ByteDots::equal ? Number::i8 : Number::u8;
  form.sum = Number::i32;
  form.kPack = form.kStep = 4;
}

int64_t DigitRows::wordsOf(int64_t k, int64_t block, int64_t digits) {
  return llvm::divideCeil(k, block) * (digits * block / 4 + 2 * digits);
}

static Value add(ImplicitLocOpBuilder &b, Value x, Value y) { return arith::AddIOp::create(b, x, y); }

Value DigitRows::blockBase(Value row, Value at) {
  int64_t rowWords = llvm::divideCeil(k, block) * blockWords;
  Value inRow = arith::MulIOp::create(b, at, fn.index(blockWords));
  return add(b, add(b, base, arith::MulIOp::create(b, row, fn.index(rowWords))), inRow);
}

//===- to digits -----------------------------------------------------------------------------===//

Value DigitRows::write(Value row, Value buffer, Value from, Value before) {
  int64_t whole = k / block;
  Value isSpecial = fn.loop(fn.index(0), fn.index(whole), 1, before, [&](Value at, ValueRange carried) {
    Value here = writeBlock(row, at, buffer, from, block);
    return SmallVector<Value>{arith::OrIOp::create(b, carried[0], here)};
  })[0];
  if (int64_t rest = k % block)
    isSpecial = arith::OrIOp::create(b, isSpecial, writeBlock(row, fn.index(whole), buffer, from, rest));
  return isSpecial;
}

std::pair<Value, Value> DigitRows::scalesOf(Value most) {
  auto number = [&](int32_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
  auto real = [&](float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)).getResult(); };
  if (digits == 1) {
    Value greatest = arith::BitcastOp::create(b, b.getF32Type(), most);
    Value isLess = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, most, number(kLeastBytes << kFractionBits));
    Value isSpecial = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, most, number(kSpecialField << kFractionBits));
    Value up = arith::DivFOp::create(b, real(kMostByte), greatest);
    Value factor = arith::DivFOp::create(b, greatest, real(kMostByte));
    factor = arith::SelectOp::create(b, isSpecial, real(std::numeric_limits<float>::quiet_NaN()), factor);
    return {arith::SelectOp::create(b, isLess, real(0), up), arith::SelectOp::create(b, isLess, real(0), factor)};
  }
  if (digits == 3)
    most = add(b, most, number(kNearPower));
  Value field = arith::ShRUIOp::create(b, most, number(kFractionBits));
  field = arith::MaxSIOp::create(b, field, number(kLeastField));
  auto power = [&](Value exponent) {
    Value bits = arith::ShLIOp::create(b, exponent, number(kFractionBits));
    return arith::BitcastOp::create(b, b.getF32Type(), bits).getResult();
  };
  // The greatest magnitude is below 2^(field - 126).
  Value up = power(arith::SubIOp::create(b, number(2 * kBias - 1 + firstLimit), field));
  return {up, power(arith::SubIOp::create(b, field, number(firstLimit - 1 + (digits == 3 ? 0 : kBaseBits))))};
}

/// `count` elements, and zeros up to the block's end. True (i1) where one is a NaN or an infinity.
Value DigitRows::writeBlock(Value row, Value at, Value buffer, Value from, int64_t count) {
  auto type = VectorType::get({kGroup}, b.getF32Type()), bitsType = VectorType::get({kGroup}, b.getI32Type());
  auto number = [&](int32_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); };
  auto splat = [&](int32_t value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(bitsType, value)).getResult();
  };
  SmallVector<Value> elements;
  Value first = add(b, from, arith::MulIOp::create(b, at, fn.index(block))), greatest = splat(0);
  for (int64_t i = 0; i < block; i += kGroup) {
    Value place = add(b, first, fn.index(i)), zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    if (i + kGroup <= count) {
      elements.push_back(vector::LoadOp::create(b, type, buffer, ValueRange{place}));
    } else if (i < count) {
      auto maskType = VectorType::get({kGroup}, b.getI1Type());
      Value mask = vector::CreateMaskOp::create(b, maskType, ValueRange{fn.index(count - i)});
      elements.push_back(vector::MaskedLoadOp::create(b, type, buffer, ValueRange{place}, mask, zero));
    } else {
      elements.push_back(zero);
    }
    // Bits of magnitudes are in their order, and those of NaN above all.
    Value bits = arith::AndIOp::create(b, vector::BitCastOp::create(b, bitsType, elements.back()), splat(0x7fffffff));
    greatest = arith::MaxSIOp::create(b, greatest, bits);
  }
  Value most = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, greatest);
  Value isSpecial = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, most, number(kSpecialField << kFractionBits));
  auto [up, factor] = scalesOf(most);
  for (Value &element : elements)
    element = arith::MulFOp::create(b, element, vector::BroadcastOp::create(b, type, up));
  Value words = blockBase(row, at);
  writeDigits(elements, words);
  memref::StoreOp::create(b, factor, floats, ValueRange{add(b, words, fn.index(digits * block / 4 + digits))});
  return isSpecial;
}

/// The digits of scaled elements, which this uses up, and their sums.
void DigitRows::writeDigits(MutableArrayRef<Value> elements, Value words) {
  auto type = VectorType::get({kGroup}, b.getF32Type()), bitsType = VectorType::get({kGroup}, b.getI32Type());
  auto splat = [&](float value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value)).getResult();
  };
  Value place = arith::MulIOp::create(b, words, fn.index(4)),
        zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  for (int64_t digit = 0; digit < digits; ++digit) {
    Value sum = splat(0);
    for (auto [i, element] : llvm::enumerate(elements)) {
      Value raised = arith::AddFOp::create(b, element, splat(kRounding));
      Value rounded = arith::SubFOp::create(b, raised, splat(kRounding));
      Value low = arith::TruncIOp::create(b, VectorType::get({kGroup}, b.getI8Type()),
                                          vector::BitCastOp::create(b, bitsType, raised));
      Value to = add(b, place, fn.index(digit * block + static_cast<int64_t>(i) * kGroup));
      vector::StoreOp::create(b, low, bytes, ValueRange{to});
      sum = arith::AddFOp::create(b, sum, rounded);
      element = arith::MulFOp::create(b, arith::SubFOp::create(b, element, rounded), splat(static_cast<float>(unit)));
    }
    Value total = vector::ReductionOp::create(b, vector::CombiningKind::ADD, arith::FPToSIOp::create(b, bitsType, sum));
    Value negated = arith::SubIOp::create(b, zero, total);
    memref::StoreOp::create(b, negated, ints, ValueRange{add(b, words, fn.index(digits * block / 4 + digit))});
  }
}

//===- products ------------------------------------------------------------------------------===//

SmallVector<Value> DigitRows::startOf(Value row, Value at, Value zeros, int64_t lanes) {
  SmallVector<Value> starts;
  Value words = blockBase(row, at);
  auto type = VectorType::get({lanes}, b.getI32Type());
  for (int64_t digit = 0; digit < sumCount(); ++digit) {
    auto sumAt = [&](int64_t which) {
      Value place = add(b, words, fn.index(digits * block / 4 + which));
      return memref::LoadOp::create(b, ints, ValueRange{place}).getResult();
    };
    Value sum = sumAt(digit);
    if (digits == 3 && digit == 1) {
      Value base = arith::ConstantOp::create(b, b.getI32IntegerAttr(unit));
      sum = add(b, arith::MulIOp::create(b, sum, base), sumAt(2));
    }
    if (isa<VectorType>(zeros.getType()))
      starts.push_back(arith::MulIOp::create(b, zeros, vector::BroadcastOp::create(b, type, sum)));
    else
      starts.push_back(vector::BroadcastOp::create(b, type, arith::MulIOp::create(b, zeros, sum)));
  }
  return starts;
}

Value DigitRows::digitsAt(Value row, Value at, Value element, int64_t digit, int64_t lanes) {
  Value place = arith::MulIOp::create(b, blockBase(row, at), fn.index(4));
  place = add(b, add(b, place, fn.index(digit * block)), element);
  return spreadOf(b, form, bytes, place, 0, lanes);
}

Value DigitRows::addCodes(Value row, Value at, Value element, int64_t digit, Value codes, Value sum) {
  int64_t lanes = cast<VectorType>(sum.getType()).getNumElements();
  return multiplyAdd(b, form, digitsAt(row, at, element, digit, lanes), codes, sum);
}

Value DigitRows::pairsOf(Value row, Value at, Value element, int64_t digit, Value codes) {
  int64_t count = cast<VectorType>(codes.getType()).getNumElements();
  return pairsOfBytes(b, codes, digitsAt(row, at, element, digit, count / 4));
}

SmallVector<Value> DigitRows::addPairs(ArrayRef<Value> pairs, ArrayRef<Value> sums) {
  SmallVector<Value> next(sums);
  auto type = cast<VectorType>(pairs[0].getType());
  for (auto [digit, pair] : llvm::enumerate(pairs)) {
    Value units =
        arith::ConstantOp::create(b, DenseElementsAttr::get(type, static_cast<int16_t>(digit == 1 ? unit : 1)));
    Value &sum = next[digit ? 1 : 0];
    sum = addPairsOfShorts(b, pair, units, sum);
  }
  return next;
}

Value DigitRows::join(ArrayRef<Value> sums) {
  auto type = cast<VectorType>(sums[0].getType()), floatType = VectorType::get(type.getShape(), b.getF32Type());
  if (digits == 1)
    return arith::SIToFPOp::create(b, floatType, sums[0]);
  Value part = arith::ConstantOp::create(b, DenseElementsAttr::get(floatType, 1 / static_cast<float>(unit * unit)));
  if (digits == 3)
    return vector::FMAOp::create(b, arith::SIToFPOp::create(b, floatType, sums[1]), part,
                                 arith::SIToFPOp::create(b, floatType, sums[0]));
  Value shift = arith::ConstantOp::create(b, DenseElementsAttr::get(type, kBaseBits));
  auto pair = [&](Value high, Value low) {
    Value both = add(b, arith::ShLIOp::create(b, high, shift), low);
    return arith::SIToFPOp::create(b, floatType, both).getResult();
  };
  return vector::FMAOp::create(b, pair(sums[2], sums[3]), part, pair(sums[0], sums[1]));
}

Value DigitRows::factorOf(Value row, Value at, int64_t lanes) {
  Value place = add(b, blockBase(row, at), fn.index(digits * block / 4 + digits));
  Value factor = memref::LoadOp::create(b, floats, ValueRange{place});
  return vector::BroadcastOp::create(b, VectorType::get({lanes}, b.getF32Type()), factor);
}
