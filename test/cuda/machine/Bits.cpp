// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Logic, shifts, and bit fields.
#include "Families.h"

#include <bit>

namespace sinter::ptx {

namespace {
struct And {
  template <class T> static T run(T a, T b) { return a & b; }
};
struct Or {
  template <class T> static T run(T a, T b) { return a | b; }
};
struct Xor {
  template <class T> static T run(T a, T b) { return a ^ b; }
};
struct Not {
  template <class T> static T run(T a) { return T(~a); }
};
struct Cnot {
  template <class T> static T run(T a) { return a == 0; }
};
} // namespace

template <class T, class Op> static void binary(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  forLanes(m, [=](unsigned l) { d[l] = Op::run(a[l], b[l]); });
}
template <class T, class Op> static void unary(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  forLanes(m, [=](unsigned l) { d[l] = Op::run(a[l]); });
}
template <class Op> static void onPredicates(Warp &w, const Inst &i, Mask m) {
  setPredicate(w, i, 0, m, Op::run(predicate(w, i, 0), predicate(w, i, 1)));
}
static void notPredicate(Warp &w, const Inst &i, Mask m) { setPredicate(w, i, 0, m, ~predicate(w, i, 0)); }

template <class Op> static void decodeLogic(Decoder &d) {
  Type type = d.type();
  d.expectCount(3, 3);
  if (type.kind == Kind::Pred) {
    d.outPredicate(d.operand(0));
    d.inPredicate(d.operand(1));
    d.inPredicate(d.operand(2));
    return d.emit(&onPredicates<Op>);
  }
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), type);
  d.emit(forUnsigned(type, [](auto t) -> Handler { return &binary<decltype(t), Op>; }));
}

static void decodeNot(Decoder &d) {
  Type type = d.type();
  d.expectCount(2, 2);
  if (type.kind == Kind::Pred) {
    d.outPredicate(d.operand(0));
    d.inPredicate(d.operand(1));
    return d.emit(&notPredicate);
  }
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  const bool cnot = d.name() == "cnot";
  d.emit(forUnsigned(type,
                     [&](auto t) -> Handler { return cnot ? &unary<decltype(t), Cnot> : &unary<decltype(t), Not>; }));
}

// Amounts beyond the width give what the last bit shifted gives.
template <class T> static void shl(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  const auto *b = w.in<uint32_t>(i, 1);
  forLanes(m, [=](unsigned l) { d[l] = b[l] >= sizeof(T) * 8 ? 0 : T(uint64_t(a[l]) << b[l]); });
}
template <class T> static void shr(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  const auto *b = w.in<uint32_t>(i, 1);
  forLanes(m, [=](unsigned l) {
    uint32_t n = b[l], last = sizeof(T) * 8 - 1;
    d[l] = n > last ? T(T(a[l] >> last) >> (std::is_signed_v<T> ? 0 : 1)) : T(a[l] >> n);
    if (n > last && !std::is_signed_v<T>)
      d[l] = 0;
  });
}

static void decodeShift(Decoder &d) {
  Type type = d.type();
  d.expectCount(3, 3);
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), {Kind::Unsigned, 32});
  if (d.name() == "shl")
    return d.emit(forUnsigned(type, [](auto t) -> Handler { return &shl<decltype(t)>; }));
  d.emit(forInteger(type, [](auto t) -> Handler { return &shr<decltype(t)>; }));
}

template <bool Left, bool Wrap> static void funnel(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const auto *a = w.in<uint32_t>(i, 0), *b = w.in<uint32_t>(i, 1), *c = w.in<uint32_t>(i, 2);
  forLanes(m, [=](unsigned l) {
    uint32_t n = Wrap ? c[l] & 31 : std::min(c[l], 32u);
    uint64_t both = uint64_t(b[l]) << 32 | a[l];
    d[l] = Left ? uint32_t(both << n >> 32) : uint32_t(both >> n);
  });
}

static void decodeFunnel(Decoder &d) {
  int side = d.oneOf({"l", "r"}), mode = d.oneOf({"wrap", "clamp"});
  d.type();
  d.expectCount(4, 4);
  if (side < 0 || mode < 0)
    d.fail(".l or .r and .wrap or .clamp are required");
  Type type{Kind::Bits, 32};
  d.out(d.operand(0), type);
  for (unsigned n = 1; n < 4; ++n)
    d.in(d.operand(n), type);
  d.emit(side ? (mode ? &funnel<false, false> : &funnel<false, true>)
              : (mode ? &funnel<true, false> : &funnel<true, true>));
}

template <class T> static void popc(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const T *a = w.in<T>(i, 0);
  forLanes(m, [=](unsigned l) { d[l] = std::popcount(a[l]); });
}
template <class T> static void clz(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const T *a = w.in<T>(i, 0);
  forLanes(m, [=](unsigned l) { d[l] = std::countl_zero(a[l]); });
}
// The place of the highest bit that differs from the sign; all ones if there is none.
template <class T> static void bfind(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const T *a = w.in<T>(i, 0);
  const bool amount = i.aux & 1;
  forLanes(m, [=](unsigned l) {
    auto bits = std::make_unsigned_t<T>(a[l] < 0 ? ~a[l] : a[l]);
    uint32_t zeros = std::countl_zero(bits);
    d[l] = !bits ? ~0u : amount ? zeros : uint32_t(sizeof(T) * 8 - 1 - zeros);
  });
}
template <class T> static void brev(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  forLanes(m, [=](unsigned l) {
    T in = a[l], reversed = 0;
    for (unsigned n = 0; n < sizeof(T) * 8; ++n)
      reversed |= T(in >> n & 1) << (sizeof(T) * 8 - 1 - n);
    d[l] = reversed;
  });
}

static void decodeCount(Decoder &d) {
  Type type = d.type();
  d.expectCount(2, 2);
  const std::string &name = d.name();
  Type u32{Kind::Unsigned, 32};
  if (type.bits == 16)
    d.fail("32 or 64 bits are required");
  d.out(d.operand(0), name == "brev" ? type : u32);
  d.in(d.operand(1), type);
  if (name == "bfind") {
    d.inst.aux |= d.flag("shiftamt");
    return d.emit(forInteger(type, [](auto t) -> Handler { return &bfind<decltype(t)>; }));
  }
  d.emit(forUnsigned(type, [&](auto t) -> Handler {
    using T = decltype(t);
    return name == "popc" ? &popc<T> : name == "clz" ? &clz<T> : &brev<T>;
  }));
}

template <class T> static void bfe(Warp &w, const Inst &i, Mask m) {
  using U = std::make_unsigned_t<T>;
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0);
  const auto *b = w.in<uint32_t>(i, 1), *c = w.in<uint32_t>(i, 2);
  forLanes(m, [=](unsigned l) {
    const unsigned top = sizeof(T) * 8 - 1, pos = b[l] & 255, length = c[l] & 255;
    // Bits beyond the field or the top are its sign.
    U bits = U(a[l]), sign = std::is_signed_v<T> && length ? bits >> std::min(pos + length - 1, top) & 1 : 0;
    U value = pos > top ? 0 : bits >> pos;
    const unsigned have = pos > top ? 0 : std::min(length, top + 1 - pos);
    const U mask = have > top ? ~U(0) : U((U(1) << have) - 1);
    value = sign ? value | ~mask : value & mask;
    d[l] = T(value);
  });
}
template <class T> static void bfi(Warp &w, const Inst &i, Mask m) {
  T *f = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  const auto *c = w.in<uint32_t>(i, 2), *d = w.in<uint32_t>(i, 3);
  forLanes(m, [=](unsigned l) {
    const unsigned width = sizeof(T) * 8, pos = c[l] & 255, length = d[l] & 255;
    T mask = length >= width ? ~T(0) : T((T(1) << length) - 1);
    T place = pos >= width ? 0 : T(mask << pos);
    f[l] = T((b[l] & ~place) | ((pos >= width ? 0 : T(a[l] << pos)) & place));
  });
}

static void decodeField(Decoder &d) {
  Type type = d.type(), u32{Kind::Unsigned, 32};
  if (type.bits == 16)
    d.fail("32 or 64 bits are required");
  if (d.name() == "bfe") {
    d.expectCount(4, 4);
    d.out(d.operand(0), type);
    d.in(d.operand(1), type);
    d.in(d.operand(2), u32);
    d.in(d.operand(3), u32);
    return d.emit(forInteger(type, [](auto t) -> Handler { return &bfe<decltype(t)>; }));
  }
  d.expectCount(5, 5);
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), type);
  d.in(d.operand(3), u32);
  d.in(d.operand(4), u32);
  d.emit(forUnsigned(type, [](auto t) -> Handler { return &bfi<decltype(t)>; }));
}

static void lop3(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const auto *a = w.in<uint32_t>(i, 0), *b = w.in<uint32_t>(i, 1), *c = w.in<uint32_t>(i, 2);
  const uint32_t table = i.aux2;
  forLanes(m, [=](unsigned l) {
    uint32_t x = a[l], y = b[l], z = c[l], r = 0;
    for (unsigned n = 0; n < 8; ++n)
      r |= (table >> n & 1 ? ~0u : 0) & (n & 4 ? x : ~x) & (n & 2 ? y : ~y) & (n & 1 ? z : ~z);
    d[l] = r;
  });
}

static void decodeLop3(Decoder &d) {
  Type type = d.type();
  d.expectCount(5, 5);
  d.out(d.operand(0), type);
  for (unsigned n = 1; n < 4; ++n)
    d.in(d.operand(n), type);
  if (type.bits != 32 || d.operand(4).form != Operand::Integer || d.operand(4).bits > 255)
    d.fail("b32 and a table of 8 bits are required");
  d.inst.aux2 = uint32_t(d.operand(4).bits);
  d.emit(&lop3);
}

// Bytes of {b, a}; a selector's bit 3 asks for the sign of the byte.
static uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned n = 0; n < 4; ++n) {
    uint32_t selector = selectors >> (4 * n) & 15, byte = bytes >> (8 * (selector & 7)) & 255;
    if (selector & 8)
      byte = byte & 0x80 ? 255 : 0;
    result |= byte << (8 * n);
  }
  return result;
}
static uint32_t selectors(int mode, uint32_t c) {
  static const uint16_t tables[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  return mode < 0 ? c : tables[mode][c & 3];
}
static void prmt(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const auto *a = w.in<uint32_t>(i, 0), *b = w.in<uint32_t>(i, 1), *c = w.in<uint32_t>(i, 2);
  forLanes(m, [=, mode = int(i.aux) - 1](unsigned l) { d[l] = permute(a[l], b[l], selectors(mode, c[l])); });
}

static void decodePrmt(Decoder &d) {
  Type type = d.type();
  d.inst.aux = uint32_t(d.oneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1);
  d.expectCount(4, 4);
  d.out(d.operand(0), type);
  for (unsigned n = 1; n < 4; ++n)
    d.in(d.operand(n), type);
  if (type.bits == 32)
    d.emit(&prmt);
}

// The n-th set bit from a base, up or down.
static void fns(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const auto *mask = w.in<uint32_t>(i, 0), *base = w.in<uint32_t>(i, 1);
  const auto *offset = w.in<int32_t>(i, 2);
  forLanes(m, [=](unsigned l) {
    int pos = int(base[l]), count = offset[l] == 0 ? 1 : std::abs(offset[l]) - 1, step = offset[l] >= 0 ? 1 : -1;
    d[l] = ~0u;
    if (offset[l] == 0) {
      if (pos < 32 && mask[l] >> pos & 1)
        d[l] = uint32_t(pos);
      return;
    }
    for (; pos >= 0 && pos < 32; pos += step)
      if (mask[l] >> pos & 1) {
        if (count-- == 0) {
          d[l] = uint32_t(pos);
          break;
        }
      }
  });
}

static void decodeFns(Decoder &d) {
  d.type();
  d.expectCount(4, 4);
  Type type{Kind::Bits, 32};
  d.out(d.operand(0), type);
  for (unsigned n = 1; n < 4; ++n)
    d.in(d.operand(n), type);
  d.emit(&fns);
}

template <class T> static void bmsk(Warp &w, const Inst &i, Mask m) {
  auto *d = w.out<uint32_t>(i, 0);
  const auto *a = w.in<uint32_t>(i, 0), *b = w.in<uint32_t>(i, 1);
  forLanes(m, [=, wrap = i.aux & 1](unsigned l) {
    uint32_t pos = wrap ? a[l] & 31 : a[l], width = wrap ? b[l] & 31 : b[l];
    uint64_t ones = width >= 32 ? 0xffffffffu : (uint64_t(1) << width) - 1;
    d[l] = pos >= 32 ? 0 : uint32_t(ones << pos);
  });
}

static void decodeBmsk(Decoder &d) {
  int mode = d.oneOf({"wrap", "clamp"});
  Type type = d.type();
  d.expectCount(3, 3);
  d.inst.aux = mode == 0;
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), type);
  d.emit(&bmsk<uint32_t>);
}

std::vector<Instruction> bitInstructions() {
  return {{"and", decodeLogic<And>, "pred, 16 to 64 bits"},
          {"or", decodeLogic<Or>, "as and"},
          {"xor", decodeLogic<Xor>, "as and"},
          {"not", decodeNot, "as and"},
          {"cnot", decodeNot, "16 to 64 bits"},
          {"shl", decodeShift, "16 to 64 bits"},
          {"shr", decodeShift, "16 to 64 bits"},
          {"shf", decodeFunnel, ".l .r, .wrap .clamp"},
          {"popc", decodeCount, "32, 64 bits"},
          {"clz", decodeCount, "32, 64 bits"},
          {"bfind", decodeCount, "32, 64 bits, .shiftamt"},
          {"brev", decodeCount, "32, 64 bits"},
          {"bfe", decodeField, "32, 64 bits"},
          {"bfi", decodeField, "32, 64 bits"},
          {"lop3", decodeLop3, "b32"},
          {"prmt", decodePrmt, "b32, all modes"},
          {"fns", decodeFns, "b32"},
          {"bmsk", decodeBmsk, "b32"}};
}

} // namespace sinter::ptx
