// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cvt, cvta, mov.
#include "Families.h"
#include "Numbers.h"

#include <cstring>

namespace sinter::ptx {

namespace {
struct Conversion {
  Type to, from;
  Round round = Round::Near;
  bool integral = false; // rni and so on: to an integer, or to an integral float
  bool ftz = false, saturate = false, relu = false, finite = false;
  Format small{}; // of a pair or of tf32
  unsigned toBytes, fromBytes;
};
} // namespace

static double toFloat(const Conversion &c, uint64_t bits) {
  const Type &t = c.from;
  if (t.bits == 64)
    return std::bit_cast<double>(bits);
  if (t.bits == 32) {
    float value = std::bit_cast<float>(uint32_t(bits));
    return c.ftz ? flush(value) : value;
  }
  return t.kind == Kind::BFloat ? bhalfToFloat(uint16_t(bits)) : halfToFloat(uint16_t(bits));
}

static double integral(double value, Round round) {
  switch (round) {
  case Round::Near:
    return std::nearbyint(value);
  case Round::NearAway:
    return std::round(value);
  case Round::Zero:
    return std::trunc(value);
  case Round::Down:
    return std::floor(value);
  case Round::Up:
    return std::ceil(value);
  }
  return value;
}

static uint64_t fromFloat(const Conversion &c, double value) {
  const Type &t = c.to;
  if (c.saturate)
    value = !(value > 0) ? 0 : std::min(value, 1.0);
  if (t.bits == 64)
    return std::bit_cast<uint64_t>(value);
  const Format format = t.bits == 32 ? kF32 : t.kind == Kind::BFloat ? kBF16 : kF16;
  uint32_t bits = encode(value, format, c.round, c.finite);
  if (c.ftz && t.bits == 32)
    bits = std::bit_cast<uint32_t>(flush(std::bit_cast<float>(bits)));
  if (c.relu && value < 0)
    bits = 0;
  return bits;
}

static uint64_t toInteger(const Conversion &c, double value) {
  const unsigned bits = c.to.bits;
  const bool isSigned = c.to.kind == Kind::Signed;
  if (value != value) // zero, but the lowest number where 64 bits take part
    return c.from.bits == 64 || bits == 64 ? uint64_t(1) << (bits - 1) : 0;
  value = integral(value, c.round);
  const double low = isSigned ? -std::ldexp(1.0, int(bits) - 1) : 0,
               high = std::ldexp(1.0, int(bits) - (isSigned ? 1 : 0));
  if (value < low)
    return isSigned ? uint64_t(1) << (bits - 1) : 0;
  if (value >= high)
    return isSigned ? (uint64_t(1) << (bits - 1)) - 1 : bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return isSigned ? uint64_t(int64_t(value)) : uint64_t(value);
}

static uint64_t fromInteger(const Conversion &c, uint64_t bits) {
  const bool isSigned = c.from.kind == Kind::Signed;
  const __int128 value = isSigned ? __int128(int64_t(bits)) : __int128(bits);
  // To f64 by sticky bits: below 53 bits nothing is lost, above the last one says whether something was.
  unsigned __int128 magnitude = value < 0 ? -value : value;
  uint64_t m = uint64_t(magnitude);
  int shift = 0;
  while (m >> 55) {
    m = (m >> 1) | (m & 1);
    ++shift;
  }
  if (c.to.bits == 64) {
    // 55 bits with a sticky one: round by hand.
    bool negative = value < 0;
    uint64_t kept = m;
    int drop = 0;
    while (kept >> 53) {
      kept >>= 1;
      ++drop;
    }
    uint64_t rest = m & ((uint64_t(1) << drop) - 1), half = drop ? uint64_t(1) << (drop - 1) : 0;
    bool up = c.round == Round::Near   ? drop && (rest > half || (rest == half && (kept & 1)))
              : c.round == Round::Up   ? rest && !negative
              : c.round == Round::Down ? rest && negative
                                       : false;
    double result = std::ldexp(double(kept + up), drop + shift);
    return std::bit_cast<uint64_t>(negative ? -result : result);
  }
  uint64_t odd = m; // 53 bits, the last sticky: enough for any narrower format
  while (odd >> 53) {
    odd = (odd >> 1) | (odd & 1);
    ++shift;
  }
  double exact = std::ldexp(double(odd), shift);
  return fromFloat(c, value < 0 ? -exact : exact);
}

static uint64_t integerToInteger(const Conversion &c, uint64_t bits) {
  if (!c.saturate)
    return bits;
  const __int128 value = c.from.kind == Kind::Signed ? __int128(int64_t(bits)) : __int128(bits);
  const bool isSigned = c.to.kind == Kind::Signed;
  const __int128 low = isSigned ? -(__int128(1) << (c.to.bits - 1)) : 0;
  const __int128 high = (__int128(1) << (c.to.bits - (isSigned ? 1 : 0))) - 1;
  return uint64_t(value < low ? low : value > high ? high : value);
}

static void convert(Warp &w, const Inst &i, Mask m) {
  const Conversion &c = *static_cast<const Conversion *>(i.extra);
  const uint8_t *in = w.in<uint8_t>(i, 0);
  uint8_t *out = w.out<uint8_t>(i, 0);
  const bool fromFloats = c.from.isFloat(), toFloats = c.to.isFloat();
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint64_t bits = 0;
    std::memcpy(&bits, in + l * c.fromBytes, c.fromBytes);
    if (c.from.bits < 64) { // a wider register: its low bits
      bits &= (uint64_t(1) << c.from.bits) - 1;
      if (c.from.kind == Kind::Signed)
        bits = uint64_t(int64_t(bits << (64 - c.from.bits)) >> (64 - c.from.bits));
    }
    uint64_t result;
    if (fromFloats) {
      double value = toFloat(c, bits);
      if (!toFloats)
        result = toInteger(c, value);
      else if (c.integral)
        result = fromFloat(c, integral(value, c.round));
      else
        result = fromFloat(c, value);
    } else
      result = toFloats ? fromInteger(c, bits) : integerToInteger(c, bits);
    if (c.to.bits < 64) { // into a wider register: extended
      result &= (uint64_t(1) << c.to.bits) - 1;
      if (c.to.kind == Kind::Signed)
        result = uint64_t(int64_t(result << (64 - c.to.bits)) >> (64 - c.to.bits));
    }
    std::memcpy(out + l * c.toBytes, &result, c.toBytes);
  }
}

// The common cases.
template <class To, class From> static void convertFast(Warp &w, const Inst &i, Mask m) {
  To *d = w.out<To>(i, 0);
  const From *a = w.in<From>(i, 0);
  forLanes(m, [=](unsigned l) { d[l] = To(a[l]); });
}

// d = {a high, b low}, each rounded to a narrow format.
static void convertPair(Warp &w, const Inst &i, Mask m) {
  const Conversion &c = *static_cast<const Conversion *>(i.extra);
  const float *a = w.in<float>(i, 0), *b = w.in<float>(i, 1);
  const unsigned bits = unsigned(c.small.bits());
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint32_t high = encode(a[l], c.small, c.round, c.finite), low = encode(b[l], c.small, c.round, c.finite);
    if (c.relu)
      high = a[l] < 0 ? 0 : high, low = b[l] < 0 ? 0 : low;
    if (bits == 16)
      w.out<uint32_t>(i, 0)[l] = high << 16 | low;
    else
      w.out<uint16_t>(i, 0)[l] = uint16_t(high << 8 | low);
  }
}
// Two of eight bits to two f16, and two f16 to two of eight bits.
static void convertPacked(Warp &w, const Inst &i, Mask m) {
  const Conversion &c = *static_cast<const Conversion *>(i.extra);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    if (c.toBytes == 4) {
      uint16_t in = w.in<uint16_t>(i, 0)[l];
      uint32_t low = encode(decode(in & 255, c.small), kF16), high = encode(decode(in >> 8, c.small), kF16);
      if (c.relu)
        low = low >> 15 && low != 0xffff ? 0 : low, high = high >> 15 && high != 0xffff ? 0 : high;
      w.out<uint32_t>(i, 0)[l] = high << 16 | low;
    } else {
      uint32_t in = w.in<uint32_t>(i, 0)[l];
      uint32_t low = encode(halfToFloat(uint16_t(in)), c.small, c.round, true);
      uint32_t high = encode(halfToFloat(uint16_t(in >> 16)), c.small, c.round, true);
      w.out<uint16_t>(i, 0)[l] = uint16_t(high << 8 | low);
    }
  }
}
static void convertTf32(Warp &w, const Inst &i, Mask m) {
  const Conversion &c = *static_cast<const Conversion *>(i.extra);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    float a = w.in<float>(i, 0)[l];
    uint32_t bits = encode(a, kTF32, c.round, c.finite) << 13;
    w.out<uint32_t>(i, 0)[l] = c.relu && a < 0 ? 0 : bits;
  }
}

static void decodeCvt(Decoder &d) {
  Conversion c;
  c.ftz = d.flag("ftz");
  c.saturate = d.flag("sat");
  c.finite = d.flag("satfinite");
  c.relu = d.flag("relu");
  static const Round rounds[] = {Round::Near, Round::Zero, Round::Down, Round::Up};
  int integral = d.oneOf({"rni", "rzi", "rmi", "rpi"}), round = d.oneOf({"rn", "rz", "rm", "rp", "rna"});
  if (integral >= 0) {
    c.integral = true;
    c.round = rounds[integral];
  } else if (round >= 0)
    c.round = round == 4 ? Round::NearAway : rounds[round];
  int small = d.oneOf({"e4m3x2", "e5m2x2", "tf32"});
  if (small >= 0) {
    c.small = small == 0 ? kE4M3 : small == 1 ? kE5M2 : kTF32;
    Type other = d.type();
    d.inst.extra = nullptr;
    if (small == 2) {
      d.expectCount(2, 2);
      d.out(d.operand(0), {Kind::Bits, 32});
      d.in(d.operand(1), other);
      d.inst.extra = d.keep(c);
      return d.emit(&convertTf32);
    }
    const bool from8 = d.statement.words.back() != toString(other);
    if (from8) { // cvt.rn.f16x2.e4m3x2
      d.expectCount(2, 2);
      if (other.packed != 2 || other.kind != Kind::Float)
        d.unsupported();
      c.toBytes = 4;
      d.out(d.operand(0), {Kind::Bits, 32});
      d.in(d.operand(1), {Kind::Bits, 16});
      d.inst.extra = d.keep(c);
      return d.emit(&convertPacked);
    }
    c.toBytes = 2;
    if (other.packed == 2) {
      d.expectCount(2, 2);
      d.out(d.operand(0), {Kind::Bits, 16});
      d.in(d.operand(1), {Kind::Bits, 32});
      d.inst.extra = d.keep(c);
      return d.emit(&convertPacked);
    }
    c.finite = true;
    d.expectCount(3, 3);
    d.out(d.operand(0), {Kind::Bits, 16});
    d.in(d.operand(1), other);
    d.in(d.operand(2), other);
    d.inst.extra = d.keep(c);
    return d.emit(&convertPair);
  }
  c.to = d.type();
  c.from = d.type();
  d.expectCount(2, 3);
  if (c.to.packed == 2) {
    c.small = c.to.kind == Kind::Float ? kF16 : kBF16;
    d.expectCount(3, 3);
    d.out(d.operand(0), c.to);
    d.in(d.operand(1), c.from);
    d.in(d.operand(2), c.from);
    if (c.from != Type{Kind::Float, 32} || !c.to.isFloat())
      d.unsupported();
    d.inst.extra = d.keep(c);
    return d.emit(&convertPair);
  }
  d.expectCount(2, 2);
  if (c.to.kind == Kind::Bits || c.from.kind == Kind::Bits || c.from.packed == 2)
    d.unsupported();
  if (c.from.isFloat() && !c.to.isFloat() && integral < 0)
    d.fail("a rounding to an integer is required");
  if (!c.from.isFloat() && c.to.isFloat() && round < 0)
    d.fail("a rounding is required");
  if (c.from.isFloat() && c.to.isFloat() && c.to.bits < c.from.bits && round < 0)
    d.fail("a rounding is required");
  c.toBytes = d.outAny(d.operand(0));
  c.fromBytes = d.inAny(d.operand(1), c.from);
  if (c.toBytes * 8 < c.to.bits || c.fromBytes * 8 < c.from.bits)
    d.fail("a register is narrower than its type");
  d.inst.extra = d.keep(c);
  d.emit(&convert);
  const bool exactWidths = c.toBytes == c.to.bytes() && c.fromBytes == c.from.bytes();
  auto is = [&](Kind to, unsigned toBits, Kind from, unsigned fromBits) {
    return exactWidths && c.to == Type{to, uint8_t(toBits)} && c.from == Type{from, uint8_t(fromBits)} && !c.saturate &&
           !c.ftz && c.round == Round::Near && !c.relu;
  };
  if (is(Kind::Signed, 64, Kind::Signed, 32))
    d.emit(&convertFast<int64_t, int32_t>);
  else if (is(Kind::Unsigned, 64, Kind::Unsigned, 32))
    d.emit(&convertFast<uint64_t, uint32_t>);
  else if (is(Kind::Unsigned, 32, Kind::Unsigned, 64))
    d.emit(&convertFast<uint32_t, uint64_t>);
  else if (is(Kind::Float, 32, Kind::Signed, 32))
    d.emit(&convertFast<float, int32_t>);
  else if (is(Kind::Float, 32, Kind::Unsigned, 32))
    d.emit(&convertFast<float, uint32_t>);
  else if (is(Kind::Float, 64, Kind::Float, 32))
    d.emit(&convertFast<double, float>);
  else if (is(Kind::Float, 32, Kind::Float, 16)) {
    d.emit([](Warp &w, const Inst &i, Mask m) {
      float *to = w.out<float>(i, 0);
      const auto *a = w.in<uint16_t>(i, 0);
      forLanes(m, [=](unsigned l) { to[l] = canonical(halfToFloat(a[l])); });
    });
  }
}

template <class T> static void copy(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  forLanes(m, [=](unsigned l) { d[l] = a[l]; });
}
static void copyPredicate(Warp &w, const Inst &i, Mask m) { setPredicate(w, i, 0, m, predicate(w, i, 0)); }
static void localAddress(Warp &w, const Inst &i, Mask m) {
  forLanes(m, [&](unsigned l) {
    uint64_t address = w.frame->localBase + i.imm;
    if (i.aux == 8)
      w.out<uint64_t>(i, 0)[l] = address;
    else
      w.out<uint32_t>(i, 0)[l] = uint32_t(address);
  });
}
static void clockValue(Warp &w, const Inst &i, Mask m) {
  forLanes(m, [&](unsigned l) {
    if (i.aux == 8)
      w.out<uint64_t>(i, 0)[l] = w.launch.threadInstructions;
    else
      w.out<uint32_t>(i, 0)[l] = uint32_t(w.launch.threadInstructions);
  });
}
// Vectors: the parts one behind the other.
static void unpack(Warp &w, const Inst &i, Mask m) {
  const unsigned part = i.aux, whole = part * i.outs;
  const uint8_t *a = w.in<uint8_t>(i, 0);
  for (unsigned n = 0; n < i.outs; ++n)
    for (Mask at = m; at; at &= at - 1) {
      unsigned l = __builtin_ctz(at);
      std::memcpy(w.out<uint8_t>(i, n) + l * part, a + l * whole + n * part, part);
    }
}
static void pack(Warp &w, const Inst &i, Mask m) {
  const unsigned part = i.aux, whole = part * i.ins;
  uint8_t *d = w.out<uint8_t>(i, 0);
  for (unsigned n = 0; n < i.ins; ++n)
    for (Mask at = m; at; at &= at - 1) {
      unsigned l = __builtin_ctz(at);
      std::memcpy(d + l * whole + n * part, w.in<uint8_t>(i, n) + l * part, part);
    }
}

static void decodeMov(Decoder &d) {
  Type type = d.type();
  d.expectCount(2, 2);
  const Operand &to = d.operand(0), &from = d.operand(1);
  if (type.kind == Kind::Pred) {
    d.outPredicate(to);
    d.inPredicate(from);
    return d.emit(&copyPredicate);
  }
  if (to.form == Operand::Vector || from.form == Operand::Vector) {
    const bool unpacks = to.form == Operand::Vector;
    const auto &parts = unpacks ? to.parts : from.parts;
    if (parts.empty() || type.bits % (8 * parts.size()))
      d.fail("a vector of " + std::to_string(parts.size()) + " parts of " + toString(type));
    Type part{Kind::Bits, uint8_t(type.bits / parts.size())};
    d.inst.aux = part.bytes();
    if (unpacks) {
      for (const Operand &p : parts)
        d.out(p, part);
      d.in(from, type);
      return d.emit(&unpack);
    }
    d.out(to, type);
    for (const Operand &p : parts)
      d.in(p, part);
    return d.emit(&pack);
  }
  d.out(to, type);
  if (from.form == Operand::Special &&
      (from.name == "%clock" || from.name == "%clock64" || from.name == "%globaltimer" || from.name == "%clock_hi")) {
    d.inst.aux = type.bytes();
    return d.emit(&clockValue);
  }
  if (from.form == Operand::Symbol && from.variable && from.variable->space == Space::Local) {
    d.inst.imm = from.variable->offset + from.bits;
    d.inst.aux = type.bytes();
    return d.emit(&localAddress);
  }
  if (from.form == Operand::Symbol && !from.variable)
    d.fail("the address of a function is not supported");
  d.in(from, type);
  if (type.bits == 128)
    return d.emit(&copy<unsigned __int128>);
  d.emit(type.bits == 8 ? &copy<uint8_t> : forUnsigned(type, [](auto t) -> Handler { return &copy<decltype(t)>; }));
}

static uint64_t windowOf(int space) {
  return space == 1 ? kSharedWindow : space == 2 ? kLocalWindow : space == 4 ? kParamWindow : 0;
}

static void cvta(Warp &w, const Inst &i, Mask m) {
  const uint64_t window = i.imm;
  const bool to = i.aux2 & 1;
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint64_t a = w.in<uint64_t>(i, 0)[l];
    if (to && window && (a - window) >= uint64_t(1) << 32)
      w.fault(FaultKind::Invalid, i, l, "a generic address that does not lie in that space");
    w.out<uint64_t>(i, 0)[l] = to ? a - window : a + window;
  }
}

static void decodeCvta(Decoder &d) {
  bool to = d.flag("to");
  int space = d.oneOf({"global", "shared", "local", "const", "param", "shared::cta", "shared::cluster"});
  if (space < 0)
    d.fail("a space is required");
  if (space >= 5)
    space = 1;
  Type type = d.type();
  d.expectCount(2, 2);
  d.inst.imm = windowOf(space);
  d.inst.aux2 = to;
  d.out(d.operand(0), type);
  const Operand &from = d.operand(1);
  if (from.form == Operand::Symbol && from.variable && from.variable->space == Space::Local)
    d.fail("cvta of a local variable requires a register");
  d.in(from, type);
  if (type.bits == 64)
    d.emit(&cvta);
}

static void isspacep(Warp &w, const Inst &i, Mask m) {
  Mask result = 0;
  for (Mask at = m; at; at &= at - 1) {
    unsigned l = __builtin_ctz(at);
    uint64_t a = w.in<uint64_t>(i, 0)[l];
    bool special = a - kSharedWindow < uint64_t(3) << 40;
    bool is = i.imm ? a - i.imm < uint64_t(1) << 32 : !special;
    const uint64_t number = a >> 24 & 255; // one more than the rank, of another block's memory
    if (i.aux2 && number && number != w.block.rank + 1)
      is = false;
    result |= Mask(is) << l;
  }
  setPredicate(w, i, 0, m, result);
}
static void decodeIsspacep(Decoder &d) {
  int space = d.oneOf({"global", "shared", "local", "const", "param", "shared::cta", "shared::cluster"});
  if (space < 0 || space == 3)
    d.unsupported();
  d.inst.imm = windowOf(space >= 5 ? 1 : space);
  d.inst.aux2 = space == 1 || space == 5;
  d.expectCount(2, 2);
  d.outPredicate(d.operand(0));
  d.in(d.operand(1), {Kind::Bits, 64});
  d.emit(&isspacep);
}

std::vector<Instruction> conversionInstructions() {
  return {
      {"cvt", decodeCvt,
       "integers, f16, bf16, f32, f64; f16x2, bf16x2, e4m3x2, e5m2x2, tf32; all roundings, .sat .ftz .relu .satfinite"},
      {"mov", decodeMov, "all types, vectors, addresses, special registers"},
      {"cvta", decodeCvta, "all spaces, .to"},
      {"isspacep", decodeIsspacep, "global, shared, local, param"}};
}

} // namespace sinter::ptx
