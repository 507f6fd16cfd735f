// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// atom and red.
#include "Families.h"
#include "Numbers.h"

#include <cstring>

namespace sinter::ptx {

namespace {
enum class Do : uint8_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
struct Atom {
  Space space = Space::Generic;
  Do what;
  Type type;
  bool result, acquire = false, release = false, frameLocal = false;
  Scope scope = Scope::Device;
};
} // namespace

template <class T> static T applyInteger(Do what, T old, T b, T c) {
  using U = std::make_unsigned_t<T>;
  switch (what) {
  case Do::Add:
    return T(U(old) + U(b));
  case Do::Min:
    return std::min(old, b);
  case Do::Max:
    return std::max(old, b);
  case Do::And:
    return old & b;
  case Do::Or:
    return old | b;
  case Do::Xor:
    return old ^ b;
  case Do::Exch:
    return b;
  case Do::Cas:
    return old == b ? c : old;
  case Do::Inc:
    return U(old) >= U(b) ? 0 : old + 1;
  case Do::Dec:
    return old == 0 || U(old) > U(b) ? b : old - 1;
  }
  return old;
}

static uint16_t addHalf(uint16_t a, uint16_t b, bool brain) {
  auto value = [&](uint16_t h) { return double(brain ? bhalfToFloat(h) : halfToFloat(h)); };
  return uint16_t(encode(addOdd(value(a), value(b)), brain ? kBF16 : kF16));
}

static uint64_t apply(const Atom &a, uint64_t old, uint64_t b, uint64_t c) {
  if (a.type.isFloat() && a.what == Do::Add) {
    if (a.type.bits == 64)
      return std::bit_cast<uint64_t>(std::bit_cast<double>(old) + std::bit_cast<double>(b));
    if (a.type.bits == 32 && a.type.packed == 1)
      return std::bit_cast<uint32_t>(
          canonical(std::bit_cast<float>(uint32_t(old)) + std::bit_cast<float>(uint32_t(b))));
    const bool brain = a.type.kind == Kind::BFloat;
    uint64_t low = addHalf(uint16_t(old), uint16_t(b), brain);
    return a.type.packed == 1 ? low : low | uint64_t(addHalf(uint16_t(old >> 16), uint16_t(b >> 16), brain)) << 16;
  }
  const bool isSigned = a.type.kind == Kind::Signed;
  switch (a.type.bits) {
  case 16:
    return uint16_t(applyInteger<uint16_t>(a.what, uint16_t(old), uint16_t(b), uint16_t(c)));
  case 32:
    return isSigned ? uint32_t(applyInteger<int32_t>(a.what, int32_t(old), int32_t(b), int32_t(c)))
                    : applyInteger<uint32_t>(a.what, uint32_t(old), uint32_t(b), uint32_t(c));
  default:
    return isSigned ? uint64_t(applyInteger<int64_t>(a.what, int64_t(old), int64_t(b), int64_t(c)))
                    : applyInteger<uint64_t>(a.what, old, b, c);
  }
}

static void atom(Warp &w, const Inst &i, Mask m) {
  const Atom &a = *static_cast<const Atom *>(i.extra);
  const unsigned bytes = a.type.bytes();
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint64_t address = i.aux & 0x80000000 ? w.in<uint64_t>(i, 0)[l] : w.in<uint32_t>(i, 0)[l];
    address += i.imm + (a.frameLocal ? w.frame->localBase : 0);
    w.acquireAt(a.space, address, a.acquire);
    w.releaseAt(a.space, address, a.release, a.scope);
    uint8_t *at = w.update(i, l, a.space, address, bytes);
    uint64_t old = 0, b = 0, c = 0;
    std::memcpy(&old, at, bytes);
    std::memcpy(&b, w.in<uint8_t>(i, 1) + l * bytes, bytes);
    if (i.ins > 2)
      std::memcpy(&c, w.in<uint8_t>(i, 2) + l * bytes, bytes);
    uint64_t now = apply(a, old, b, c);
    std::memcpy(at, &now, bytes);
    if (a.result)
      std::memcpy(w.out<uint8_t>(i, 0) + l * bytes, &old, bytes);
  }
}

static void decodeAtom(Decoder &d) {
  Atom a;
  a.result = d.name() == "atom";
  int space = d.oneOf({"global", "shared", "shared::cta", "shared::cluster"});
  static const Space spaces[] = {Space::Global, Space::Shared, Space::Shared, Space::SharedCluster};
  a.space = space < 0 ? Space::Generic : spaces[space];
  int order = d.oneOf({"relaxed", "acquire", "release", "acq_rel"});
  a.acquire = order == 1 || order == 3;
  a.release = order >= 2;
  a.scope = scopeOf(d.oneOf({"cta", "cluster", "gpu", "sys"}));
  int what = d.oneOf({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  if (what < 0)
    d.fail("an operation is required");
  a.what = Do(what);
  bool noftz = d.flag("noftz");
  a.type = d.type();
  if (a.type.isFloat() && a.what != Do::Add)
    d.unsupported();
  if (a.type.isFloat() && a.type.bits / a.type.packed == 16 && !noftz)
    d.fail(".noftz is required");
  if (a.type.bits < 32 && a.what != Do::Cas && a.what != Do::Exch && !a.type.isFloat())
    d.unsupported();
  if (a.type.bits > 64)
    d.unsupported();
  const unsigned ins = a.what == Do::Cas ? 2 : 1, first = a.result;
  d.expectCount(first + 1 + ins, first + 1 + ins);
  if (a.result)
    d.out(d.operand(0), a.type);
  d.address(d.operand(first), a.space, a.frameLocal);
  for (unsigned n = 0; n < ins; ++n)
    d.in(d.operand(first + 1 + n), a.type);
  d.inst.extra = d.keep(a);
  d.emit(&atom);
}

std::vector<Instruction> atomicInstructions() {
  return {{"atom", decodeAtom,
           "all operations; 32, 64 bits, b16 cas and exch, f16, bf16 (x2), f32, f64 add; orders and scopes"},
          {"red", decodeAtom, "as atom"}};
}

} // namespace sinter::ptx
