// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Near numbers lose n times three parts of pi/2 of 33 bits each, products with which are exact for n below 2^20, and a
// fourth of 53 (W. J. Cody and W. Waite, 1980): the rest is off by 2^-136 and its own last digit. No f64 is nearer to a
// multiple of pi/2 than 2^-61.
//
// Distant ones are m 2^e with m < 2^53, taken modulo 2 pi as m (2^e 2/pi) modulo 4 (M. Payne and R. Hanek, 1983). Of
// 2/pi, bits of a weight of 4 or more in 2^e 2/pi make whole turns and do not matter; the 192 bits behind them give the
// product 137 bits behind the quadrant, of which at least 76 are left for the rest.

#include "backends/cpu/emit/MathReduction.h"

#include <limits>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// 64 bits of 0 and the first of 2/pi.
static constexpr uint64_t kTwoOverPi[] = {0,
                                          0xA2F9836E4E441529,
                                          0xFC2757D1F534DDC0,
                                          0xDB6295993C439041,
                                          0xFE5163ABDEBBC561,
                                          0xB7246E3A424DD2E0,
                                          0x06492EEA09D1921C,
                                          0xFE1DEB1CB129A73E,
                                          0xE88235F52EBB4484,
                                          0xE99C7026B45F7E41,
                                          0x3991D639835339F4,
                                          0x9C845F8BBDF9283B,
                                          0x1FF897FFDE05980F,
                                          0xEF2F118B5A0A6D1F,
                                          0x6D367ECF27CB09B7,
                                          0x4F463F669E5FEA2D,
                                          0x7527BAC7EBE5F17B,
                                          0x3D0739F78A5292EA,
                                          0x6BFB5FB11F8D5D08,
                                          0x56033046FC7B6BAB};

/// `count` words from number `index` on, which is below 2^`digits`: a choice for each of its bits.
static SmallVector<Value> buildWordsFrom(MathLanes &m, Value index, int digits, size_t count) {
  SmallVector<Value> words;
  for (uint64_t word : ArrayRef(kTwoOverPi).take_front(count + (1 << digits) - 1))
    words.push_back(m.integer(static_cast<int64_t>(word)));
  for (int digit = digits - 1; digit >= 0; --digit) {
    size_t step = size_t(1) << digit, left = std::min(words.size(), count + step - 1);
    Value isSet = m.hasBit(index, digit);
    for (size_t i = 0; i < left && i + step < words.size(); ++i)
      words[i] = m.select(isSet, words[i + step], words[i]);
    words.resize(left);
  }
  return words;
}

namespace {
/// x in scalars, for |x| of at least 2^20, or numbers that give any result.
struct Distant {
  MathLanes &m;
  Value bits, mantissa;
  SmallVector<Value> window; // words of 2^e 2/pi, the first bit of which has weight 2

  Distant(MathLanes &m, Value x, bool isNarrow) : m(m), bits(m.toBits(x)) {
    mantissa = m.addBits(m.andBits(bits, (int64_t(1) << 52) - 1), m.integer(int64_t(1) << 52));
    Value exponent = m.andBits(m.shiftRightUnsigned(bits, 52), 0x7ff);
    // x = m 2^(exponent - 1075), and bit k of the table has weight 2^(63 - k).
    Value first = m.subBits(exponent, m.integer(1013)), by = m.andBits(first, 63);
    Value index = m.shiftRightUnsigned(first, 6), rest = m.subBits(m.integer(63), by);
    SmallVector<Value> words = isNarrow ? buildWordsFrom(m, index, 2, 3) : buildWordsFrom(m, index, 5, 4);
    for (size_t i = 0; i + 1 < words.size(); ++i)
      window.push_back(
          m.orBits(m.shiftLeft(words[i], by), m.shiftRightUnsigned(m.shiftRightUnsigned(words[i + 1], 1), rest)));
  }

  /// The quadrant of `turn`, which has two bits before its point, and the rest in its place.
  Value takeQuadrant(Value &turn) {
    Value quadrant = m.shiftRightUnsigned(m.addBits(turn, m.integer(int64_t(1) << 61)), 62);
    turn = m.subBits(turn, m.shiftLeft(quadrant, 62));
    return m.select(isNegative(), m.subBits(m.integer(0), quadrant), quadrant);
  }
  Value isNegative() { return m.hasBit(bits, 63); }
  Value part(Value integer, double scale) { return m.mul(m.toNumber(integer), m.number(scale)); }
  Value upperHalf(Value word) { return m.shiftRightUnsigned(word, 32); }
  Value lowerHalf(Value word) { return m.andBits(word, 0xffffffff); }

  Reduced build() {
    MathPairs pairs(m);
    WideProduct low = m.mulBits(mantissa, window[2]), middle = m.mulBits(mantissa, window[1]);
    Value second = m.addBits(middle.low, low.high), carry = m.bitOf(m.lessUnsigned(second, low.high));
    Value turn = m.addBits(m.addBits(m.mulBits(mantissa, window[0]).low, middle.high), carry);
    Value quadrant = takeQuadrant(turn);
    Pair sum = pairs.sum(part(m.shiftRight(turn, 32), 0x1p-30), part(lowerHalf(turn), 0x1p-62));
    Value left = sum.low;
    for (Value next : {part(upperHalf(second), 0x1p-94), part(lowerHalf(second), 0x1p-126)}) {
      sum = pairs.sum(sum.high, next);
      left = m.add(left, sum.low);
    }
    left = m.add(left, part(upperHalf(low.low), 0x1p-158));
    Pair halfPi = pairs.constant(0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54);
    Pair angle = pairs.normalized(pairs.product(pairs.orderedSum(sum.high, left), halfPi));
    return {quadrant, pairs.select(isNegative(), pairs.negated(angle), angle)};
  }

  /// Where x was f32, at most 30 of 73 bits behind the quadrant are lost.
  Reduced buildNarrow() {
    WideProduct middle = m.mulBits(mantissa, window[1]);
    Value turn = m.addBits(m.mulBits(mantissa, window[0]).low, middle.high), quadrant = takeQuadrant(turn);
    Value sum = m.add(part(m.shiftRight(turn, 32), 0x1p-30), part(lowerHalf(turn), 0x1p-62));
    sum = m.mul(m.add(sum, part(upperHalf(middle.low), 0x1p-94)), m.number(0x1.921fb54442d18p+0));
    return {quadrant, {m.select(isNegative(), m.neg(sum), sum), m.number(0)}};
  }
};
} // namespace

static Reduced buildDistant(MathLanes &m, Value x, bool isNarrow) {
  Distant distant(m, x, isNarrow);
  Reduced result = isNarrow ? distant.buildNarrow() : distant.build();
  Value isNumber = m.less(m.abs(x), m.number(std::numeric_limits<double>::infinity()));
  result.rest.high = m.select(isNumber, result.rest.high, m.number(std::numeric_limits<double>::quiet_NaN()));
  return result;
}

/// Whether pi/2 in two parts leaves an f32 all of its digits.
static bool isShort(const MathLanes &m, bool isNarrow) { return isNarrow && m.has.fuses; }

static Reduced buildNear(MathLanes &m, Value x, bool isNarrow) {
  MathPairs pairs(m);
  Value magic = m.number(0x1.8p52), shifted = m.fma(x, m.number(0x1.45f306dc9c883p-1), magic);
  Value n = m.sub(shifted, magic);
  if (isShort(m, isNarrow)) {
    Value rest = m.fma(n, m.number(-0x1.921fb54442d18p+0), x);
    return {m.toBits(shifted), {m.fma(n, m.number(-0x1.1a62633145c07p-54), rest), {}}};
  }
  // Each difference is exact, or the greater side comes first.
  Pair rest{m.fma(n, m.number(-0x1.921fb54400000p+0), x), m.number(0)};
  Value lost;
  for (double part : {-0x1.0b4611a600000p-34, -0x1.3198a2e000000p-69}) {
    Pair next = pairs.orderedSum(rest.high, m.mul(n, m.number(part)));
    lost = lost ? m.add(lost, next.low) : next.low;
    rest.high = next.high;
  }
  return {m.toBits(shifted), pairs.normalized({rest.high, m.fma(n, m.number(-0x1.b839a252049c1p-104), lost)})};
}

Reduced cpu::buildReduced(MathLanes &m, Value x, bool isNarrow) {
  Reduced near = buildNear(m, x, isNarrow);
  Value isDistant = m.less(m.number(isShort(m, isNarrow) ? 0x1p28 : 0x1p20), m.abs(x));
  SmallVector<Value> usual{near.quadrant, near.rest.high};
  if (near.rest.low)
    usual.push_back(near.rest.low);
  SmallVector<Value> all =
      buildRareLanes(m, isNarrow ? "sinter_distant_f32" : "sinter_distant_f64", isDistant, x, usual, [&](Value lane) {
        MathLanes one(m.b, m.b.getF64Type(), m.has);
        Reduced reduced = buildDistant(one, lane, isNarrow);
        SmallVector<Value> results{reduced.quadrant, reduced.rest.high};
        if (near.rest.low)
          results.push_back(reduced.rest.low);
        return results;
      });
  return {all[0], {all[1], near.rest.low ? all[2] : Value()}};
}
