// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integer arithmetic; names that floating point shares go to Floats.cpp.
#include "Families.h"

#include <limits>
#include <type_traits>

namespace sinter::ptx {

template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <class T> using Unsigned = std::make_unsigned_t<T>;

// In unsigned 64 bits nothing overflows, and the low bits are the same.
template <class T> static T wrap(uint64_t value) { return T(Unsigned<T>(value)); }

namespace {
struct Add {
  template <class T> static T run(T a, T b) { return wrap<T>(uint64_t(a) + uint64_t(b)); }
};
struct Sub {
  template <class T> static T run(T a, T b) { return wrap<T>(uint64_t(a) - uint64_t(b)); }
};
struct MulLo {
  template <class T> static T run(T a, T b) { return wrap<T>(uint64_t(a) * uint64_t(b)); }
};
struct MulHi {
  template <class T> static T run(T a, T b) { return T((Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8)); }
};
// Division by zero gives all ones on the machines we know, the remainder the dividend; the ISA leaves both open, so
// they are told.
struct Div {
  template <class T> static T run(T a, T b) {
    return b == T(-1) && std::is_signed_v<T> ? wrap<T>(-uint64_t(a)) : a / b;
  }
};
struct Rem {
  template <class T> static T run(T a, T b) { return b == T(-1) && std::is_signed_v<T> ? T(0) : a % b; }
};
struct Min {
  template <class T> static T run(T a, T b) { return a < b ? a : b; }
};
struct Max {
  template <class T> static T run(T a, T b) { return a < b ? b : a; }
};
struct AddSat {
  template <class T> static T run(T a, T b) {
    int64_t sum = int64_t(a) + int64_t(b);
    return T(std::clamp<int64_t>(sum, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};
struct SubSat {
  template <class T> static T run(T a, T b) {
    int64_t sum = int64_t(a) - int64_t(b);
    return T(std::clamp<int64_t>(sum, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
};
struct Abs {
  template <class T> static T run(T a) { return a < 0 ? wrap<T>(-uint64_t(a)) : a; }
};
struct Neg {
  template <class T> static T run(T a) { return wrap<T>(-uint64_t(a)); }
};
} // namespace

template <class T, class Op> static void unary(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  forLanes(m, [=](unsigned l) { d[l] = Op::run(a[l]); });
}
template <class T, class Op> static void binary(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  forLanes(m, [=](unsigned l) { d[l] = Op::run(a[l], b[l]); });
}
template <class T, class Op> static void packed(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  forLanes(m, [=](unsigned l) {
    d[2 * l] = Op::run(a[2 * l], b[2 * l]);
    d[2 * l + 1] = Op::run(a[2 * l + 1], b[2 * l + 1]);
  });
}
template <class T, class Op> static void divide(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    if (!b[l])
      w.fault(FaultKind::Invalid, i, l, "integer division by zero");
    d[l] = Op::run(a[l], b[l]);
  }
}
template <class T> static void mulWide(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<Wide<T>>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  forLanes(m, [=](unsigned l) { d[l] = Wide<T>(a[l]) * Wide<T>(b[l]); });
}
template <class T> static void madWide(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<Wide<T>>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  const auto *c = w.in<Wide<T>>(i, 2);
  forLanes(m, [=](unsigned l) { d[l] = wrap<Wide<T>>(uint64_t(Wide<T>(a[l]) * Wide<T>(b[l])) + uint64_t(c[l])); });
}
template <class T, class Mul> static void mad(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1), *c = w.in<T>(i, 2);
  forLanes(m, [=](unsigned l) { d[l] = Add::run(Mul::run(a[l], b[l]), c[l]); });
}
template <class T> static void madSaturated(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1), *c = w.in<T>(i, 2);
  forLanes(m, [=](unsigned l) { d[l] = AddSat::run(MulHi::run(a[l], b[l]), c[l]); });
}
template <class T> static void sad(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1), *c = w.in<T>(i, 2);
  forLanes(m, [=](unsigned l) { d[l] = Add::run(c[l], a[l] < b[l] ? Sub::run(b[l], a[l]) : Sub::run(a[l], b[l])); });
}
template <class T, bool High> static void mul24(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  const bool add = i.ins == 3;
  const T *c = add ? w.in<T>(i, 2) : a;
  forLanes(m, [=](unsigned l) {
    int64_t x = T(uint32_t(a[l]) << 8) >> 8, y = T(uint32_t(b[l]) << 8) >> 8;
    T product = T(High ? (x * y) >> 16 : x * y);
    d[l] = add ? Add::run(product, c[l]) : product;
  });
}
template <class A, class B> static void dp4a(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const A *a = w.in<A>(i, 0);
  const B *b = w.in<B>(i, 1);
  const auto *c = w.in<uint32_t>(i, 2);
  forLanes(m, [=](unsigned l) {
    uint32_t sum = c[l];
    for (unsigned k = 0; k < 4; ++k)
      sum += uint32_t(int32_t(a[4 * l + k]) * int32_t(b[4 * l + k]));
    d[l] = sum;
  });
}

// The carry flag of each lane.
template <class T, bool Subtract, bool Use> static void carry(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    unsigned __int128 x = a[l], y = Subtract ? T(~b[l]) : b[l];
    unsigned in = Use ? w.carry >> l & 1 : Subtract;
    unsigned __int128 sum = x + y + in;
    d[l] = T(sum);
    if (i.aux & 1)
      w.carry = (w.carry & ~(1u << l)) | Mask(sum >> (sizeof(T) * 8)) << l;
  }
}
template <class T, bool High, bool Use> static void madCarry(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1), *c = w.in<T>(i, 2);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    T product = High ? MulHi::run(a[l], b[l]) : MulLo::run(a[l], b[l]);
    unsigned __int128 sum =
        (unsigned __int128)(Unsigned<T>(product)) + Unsigned<T>(c[l]) + (Use ? w.carry >> l & 1 : 0);
    d[l] = T(sum);
    if (i.aux & 1)
      w.carry = (w.carry & ~(1u << l)) | Mask(sum >> (sizeof(T) * 8) & 1) << l;
  }
}

static void operands(Decoder &d, Type type, unsigned ins) {
  d.expectCount(ins + 1, ins + 1);
  d.out(d.operand(0), type);
  for (unsigned n = 0; n < ins; ++n)
    d.in(d.operand(n + 1), type);
}

template <class Op> static Handler pick(Type type) {
  if (type.packed == 2)
    return type.kind == Kind::Signed ? &packed<int16_t, Op> : &packed<uint16_t, Op>;
  return forInteger(type, [](auto t) -> Handler { return &binary<decltype(t), Op>; });
}

static void decodeAddSub(Decoder &d) {
  Type type = d.type();
  if (type.isFloat())
    return decodeFloatArithmetic(d, type);
  const bool sub = d.name()[0] == 's';
  operands(d, type, 2);
  if (d.flag("cc")) {
    d.inst.aux |= 1;
    return d.emit(forUnsigned(type, [&](auto t) -> Handler {
      return sub ? &carry<decltype(t), true, false> : &carry<decltype(t), false, false>;
    }));
  }
  if (d.flag("sat")) {
    if (type.kind != Kind::Signed || type.bits != 32)
      d.fail(".sat requires s32");
    return d.emit(sub ? &binary<int32_t, SubSat> : &binary<int32_t, AddSat>);
  }
  d.emit(sub ? pick<Sub>(type) : pick<Add>(type));
}

static void decodeCarry(Decoder &d) {
  Type type = d.type();
  operands(d, type, 2);
  d.inst.aux |= d.flag("cc");
  const bool sub = d.name() == "subc";
  d.emit(forUnsigned(type, [&](auto t) -> Handler {
    return sub ? &carry<decltype(t), true, true> : &carry<decltype(t), false, true>;
  }));
}

static void decodeMul(Decoder &d) {
  Type type = d.type();
  if (type.isFloat())
    return decodeFloatArithmetic(d, type);
  int part = d.oneOf({"lo", "hi", "wide"});
  if (part == 2) {
    if (type.bits == 64)
      d.fail(".wide requires 16 or 32 bits");
    d.expectCount(3, 3);
    Type wide = type;
    wide.bits *= 2;
    d.out(d.operand(0), wide);
    d.in(d.operand(1), type);
    d.in(d.operand(2), type);
    if (type.bits == 16)
      return d.emit(type.kind == Kind::Signed ? &mulWide<int16_t> : &mulWide<uint16_t>);
    return d.emit(type.kind == Kind::Signed ? &mulWide<int32_t> : &mulWide<uint32_t>);
  }
  operands(d, type, 2);
  if (part < 0)
    d.fail(".lo, .hi or .wide is required");
  d.emit(part ? pick<MulHi>(type) : pick<MulLo>(type));
}

static void decodeMad(Decoder &d) {
  Type type = d.type();
  if (type.isFloat())
    return decodeFloatArithmetic(d, type);
  int part = d.oneOf({"lo", "hi", "wide"});
  if (part < 0)
    d.fail(".lo, .hi or .wide is required");
  const bool use = d.name() == "madc";
  bool set = d.flag("cc");
  if (part == 2) {
    if (type.bits == 64 || use || set)
      d.unsupported();
    d.expectCount(4, 4);
    Type wide = type;
    wide.bits *= 2;
    d.out(d.operand(0), wide);
    d.in(d.operand(1), type);
    d.in(d.operand(2), type);
    d.in(d.operand(3), wide);
    if (type.bits == 16)
      return d.emit(type.kind == Kind::Signed ? &madWide<int16_t> : &madWide<uint16_t>);
    return d.emit(type.kind == Kind::Signed ? &madWide<int32_t> : &madWide<uint32_t>);
  }
  operands(d, type, 3);
  if (use || set) {
    d.inst.aux |= set;
    return d.emit(forInteger(type, [&](auto t) -> Handler {
      using T = decltype(t);
      return part ? (use ? &madCarry<T, true, true> : &madCarry<T, true, false>)
                  : (use ? &madCarry<T, false, true> : &madCarry<T, false, false>);
    }));
  }
  if (d.flag("sat")) {
    if (type.kind != Kind::Signed || type.bits != 32 || !part)
      d.fail(".sat requires mad.hi.sat.s32");
    return d.emit(&madSaturated<int32_t>);
  }
  d.emit(
      forInteger(type, [&](auto t) -> Handler { return part ? &mad<decltype(t), MulHi> : &mad<decltype(t), MulLo>; }));
}

static void decodeDiv(Decoder &d) {
  Type type = d.type();
  if (type.isFloat())
    return decodeFloatArithmetic(d, type);
  operands(d, type, 2);
  const bool rem = d.name() == "rem";
  d.emit(
      forInteger(type, [&](auto t) -> Handler { return rem ? &divide<decltype(t), Rem> : &divide<decltype(t), Div>; }));
}

static void decodeMinMax(Decoder &d) {
  Type type = d.type();
  if (type.isFloat())
    return decodeFloatArithmetic(d, type);
  bool relu = d.flag("relu");
  if (relu)
    d.unsupported();
  operands(d, type, 2);
  d.emit(d.name() == "min" ? pick<Min>(type) : pick<Max>(type));
}

static void decodeAbsNeg(Decoder &d) {
  Type type = d.type();
  if (type.isFloat())
    return decodeFloatArithmetic(d, type);
  if (type.kind != Kind::Signed)
    d.fail("a signed type is required");
  operands(d, type, 1);
  const bool neg = d.name() == "neg";
  d.emit(forInteger(type, [&](auto t) -> Handler {
    using T = decltype(t);
    if constexpr (std::is_signed_v<T>)
      return neg ? &unary<T, Neg> : &unary<T, Abs>;
    return nullptr;
  }));
}

static void decodeSad(Decoder &d) {
  Type type = d.type();
  operands(d, type, 3);
  d.emit(forInteger(type, [](auto t) -> Handler { return &sad<decltype(t)>; }));
}

static void decodeMul24(Decoder &d) {
  Type type = d.type();
  if (type.bits != 32)
    d.fail("32 bits are required");
  int part = d.oneOf({"lo", "hi"});
  operands(d, type, d.name() == "mad24" ? 3 : 2);
  if (type.kind == Kind::Signed)
    d.emit(part == 1 ? &mul24<int32_t, true> : &mul24<int32_t, false>);
  else
    d.emit(part == 1 ? &mul24<uint32_t, true> : &mul24<uint32_t, false>);
}

static void decodeDp4a(Decoder &d) {
  Type a = d.type(), b = d.type();
  operands(d, {Kind::Bits, 32}, 3);
  bool sa = a.kind == Kind::Signed, sb = b.kind == Kind::Signed;
  d.emit(sa   ? (sb ? &dp4a<int8_t, int8_t> : &dp4a<int8_t, uint8_t>)
         : sb ? &dp4a<uint8_t, int8_t>
              : &dp4a<uint8_t, uint8_t>);
}

std::vector<Instruction> integerInstructions() {
  return {{"add", decodeAddSub, "16 to 64 bits, u16x2, s16x2, .sat.s32, .cc; f16, bf16 (x2), f32, f64"},
          {"sub", decodeAddSub, "as add"},
          {"addc", decodeCarry, "32, 64 bits, .cc"},
          {"subc", decodeCarry, "32, 64 bits, .cc"},
          {"mul", decodeMul, ".lo .hi .wide; f16, bf16 (x2), f32, f64"},
          {"mad", decodeMad, ".lo .hi .wide, .hi.sat.s32, .cc; f32, f64"},
          {"madc", decodeMad, ".lo .hi, .cc"},
          {"div", decodeDiv, "integers; f32 .rn .rz .rm .rp .approx .full, f64"},
          {"rem", decodeDiv, "integers"},
          {"min", decodeMinMax, "integers, u16x2, s16x2; f16, bf16 (x2), f32, f64, .NaN, .ftz"},
          {"max", decodeMinMax, "as min"},
          {"abs", decodeAbsNeg, "signed integers; f16, bf16 (x2), f32, f64"},
          {"neg", decodeAbsNeg, "as abs"},
          {"sad", decodeSad, "integers"},
          {"mul24", decodeMul24, ".lo .hi"},
          {"mad24", decodeMul24, ".lo .hi"},
          {"dp4a", decodeDp4a, "u32, s32"}};
}

} // namespace sinter::ptx
