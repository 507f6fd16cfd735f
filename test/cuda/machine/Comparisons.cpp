// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// setp, set, selp, slct.
#include "Families.h"
#include "Numbers.h"

namespace sinter::ptx {

namespace {
enum Relation : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };
struct Use {
  Relation relation;
  int boolean = -1; // and, or, xor with a third operand
  bool ftz = false;
  Type type;
  Type result; // of set
};
} // namespace

template <class T> static bool holds(Relation relation, T a, T b) {
  const bool unordered = a != a || b != b;
  switch (relation) {
  case Eq:
    return a == b;
  case Ne:
    return a != b && !unordered;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Equ:
    return a == b || unordered;
  case Neu:
    return a != b;
  case Ltu:
    return a < b || unordered;
  case Leu:
    return a <= b || unordered;
  case Gtu:
    return a > b || unordered;
  case Geu:
    return a >= b || unordered;
  case Num:
    return !unordered;
  case Nan:
    return unordered;
  }
  return false;
}

template <class T, Relation relation> static Mask compareLanes(const T *a, const T *b, bool ftz) {
  uint8_t bits[32];
  for (unsigned l = 0; l < 32; ++l) {
    T x = a[l], y = b[l];
    if constexpr (std::is_same_v<T, float>)
      if (ftz)
        x = flush(x), y = flush(y);
    bits[l] = holds(relation, x, y);
  }
  Mask result = 0;
  for (unsigned l = 0; l < 32; ++l)
    result |= Mask(bits[l]) << l;
  return result;
}

template <class T> static Mask compare(const Use &use, const T *a, const T *b) {
  switch (use.relation) {
  case Eq:
    return compareLanes<T, Eq>(a, b, use.ftz);
  case Ne:
    return compareLanes<T, Ne>(a, b, use.ftz);
  case Lt:
    return compareLanes<T, Lt>(a, b, use.ftz);
  case Le:
    return compareLanes<T, Le>(a, b, use.ftz);
  case Gt:
    return compareLanes<T, Gt>(a, b, use.ftz);
  case Ge:
    return compareLanes<T, Ge>(a, b, use.ftz);
  default:
    break;
  }
  if constexpr (std::is_floating_point_v<T>)
    switch (use.relation) {
    case Equ:
      return compareLanes<T, Equ>(a, b, use.ftz);
    case Neu:
      return compareLanes<T, Neu>(a, b, use.ftz);
    case Ltu:
      return compareLanes<T, Ltu>(a, b, use.ftz);
    case Leu:
      return compareLanes<T, Leu>(a, b, use.ftz);
    case Gtu:
      return compareLanes<T, Gtu>(a, b, use.ftz);
    case Geu:
      return compareLanes<T, Geu>(a, b, use.ftz);
    case Num:
      return compareLanes<T, Num>(a, b, use.ftz);
    case Nan:
      return compareLanes<T, Nan>(a, b, use.ftz);
    default:
      break;
    }
  return 0;
}

static Mask compareOperands(Warp &w, const Inst &i, const Use &use) {
  const Type &t = use.type;
  if (t.kind == Kind::Float || t.kind == Kind::BFloat) {
    if (t.bits == 64)
      return compare(use, w.in<double>(i, 0), w.in<double>(i, 1));
    if (t.bits == 32)
      return compare(use, w.in<float>(i, 0), w.in<float>(i, 1));
    float a[32], b[32];
    for (unsigned l = 0; l < 32; ++l) {
      uint16_t x = w.in<uint16_t>(i, 0)[l], y = w.in<uint16_t>(i, 1)[l];
      a[l] = t.kind == Kind::Float ? halfToFloat(x) : bhalfToFloat(x);
      b[l] = t.kind == Kind::Float ? halfToFloat(y) : bhalfToFloat(y);
    }
    return compare(use, a, b);
  }
  const bool isSigned = t.kind == Kind::Signed;
  switch (t.bits) {
  case 16:
    return isSigned ? compare(use, w.in<int16_t>(i, 0), w.in<int16_t>(i, 1))
                    : compare(use, w.in<uint16_t>(i, 0), w.in<uint16_t>(i, 1));
  case 32:
    return isSigned ? compare(use, w.in<int32_t>(i, 0), w.in<int32_t>(i, 1))
                    : compare(use, w.in<uint32_t>(i, 0), w.in<uint32_t>(i, 1));
  default:
    return isSigned ? compare(use, w.in<int64_t>(i, 0), w.in<int64_t>(i, 1))
                    : compare(use, w.in<uint64_t>(i, 0), w.in<uint64_t>(i, 1));
  }
}

static Mask combine(int boolean, Mask a, Mask b) { return boolean == 0 ? a & b : boolean == 1 ? a | b : a ^ b; }

static void setp(Warp &w, const Inst &i, Mask m) {
  const Use &use = *static_cast<const Use *>(i.extra);
  Mask result = compareOperands(w, i, use), other = ~result;
  if (use.boolean >= 0) {
    Mask third = predicate(w, i, 2);
    result = combine(use.boolean, result, third);
    other = combine(use.boolean, other, third);
  }
  setPredicate(w, i, 0, m, result);
  if (i.outs > 1)
    setPredicate(w, i, 1, m, other);
}

static void set(Warp &w, const Inst &i, Mask m) {
  const Use &use = *static_cast<const Use *>(i.extra);
  Mask result = compareOperands(w, i, use);
  if (use.boolean >= 0)
    result = combine(use.boolean, result, predicate(w, i, 2));
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    bool is = result >> l & 1;
    if (use.result.bits == 16)
      w.out<uint16_t>(i, 0)[l] = !is                               ? 0
                                 : use.result.kind == Kind::Float  ? 0x3c00
                                 : use.result.kind == Kind::BFloat ? 0x3f80
                                                                   : 0xffff;
    else
      w.out<uint32_t>(i, 0)[l] = !is ? 0 : use.result.kind == Kind::Float ? 0x3f800000 : ~0u;
  }
}

static Use relation(Decoder &d) {
  Use use;
  use.ftz = d.flag("ftz");
  int r = d.oneOf({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "lo",
                   "ls", "hi", "hs"});
  if (r < 0)
    d.fail("a relation is required");
  bool unsignedOnly = r >= 14;
  use.relation = unsignedOnly ? Relation(std::array{Lt, Le, Gt, Ge}[r - 14]) : Relation(r);
  use.boolean = d.oneOf({"and", "or", "xor"});
  return use;
}

static void checkRelation(Decoder &d, const Use &use) {
  if (use.type.packed != 1)
    d.unsupported();
  if (use.relation > Ge && !use.type.isFloat())
    d.fail("an unordered relation requires a floating-point type");
  if (use.type.kind == Kind::Bits && use.relation > Ne)
    d.fail("untyped bits can only be equal or not");
  if (use.type.bits < 16)
    d.fail("at least 16 bits are required");
}

static void decodeSetp(Decoder &d) {
  Use use = relation(d);
  use.type = d.type();
  checkRelation(d, use);
  d.expectCount(use.boolean >= 0 ? 4 : 3, use.boolean >= 0 ? 4 : 3);
  const Operand &to = d.operand(0);
  if (to.form == Operand::Pair) {
    d.outPredicate(to.parts[0]);
    d.outPredicate(to.parts[1]);
  } else
    d.outPredicate(to);
  d.in(d.operand(1), use.type);
  d.in(d.operand(2), use.type);
  if (use.boolean >= 0)
    d.inPredicate(d.operand(3));
  d.inst.extra = d.keep(use);
  d.emit(&setp);
}

static void decodeSet(Decoder &d) {
  Use use = relation(d);
  use.result = d.type();
  use.type = d.type();
  checkRelation(d, use);
  if (use.result.packed != 1 || use.result.bits > 32)
    d.unsupported();
  d.expectCount(use.boolean >= 0 ? 4 : 3, use.boolean >= 0 ? 4 : 3);
  d.out(d.operand(0), use.result);
  d.in(d.operand(1), use.type);
  d.in(d.operand(2), use.type);
  if (use.boolean >= 0)
    d.inPredicate(d.operand(3));
  d.inst.extra = d.keep(use);
  d.emit(&set);
}

template <class T> static void selp(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  Mask p = predicate(w, i, 2);
  forLanes(m, [=](unsigned l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
}

static void decodeSelp(Decoder &d) {
  Type type = d.type();
  d.expectCount(4, 4);
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), type);
  d.inPredicate(d.operand(3));
  d.emit(forUnsigned(type, [](auto t) -> Handler { return &selp<decltype(t)>; }));
}

template <class T, class C> static void slct(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1);
  const C *c = w.in<C>(i, 2);
  forLanes(m, [=](unsigned l) { d[l] = c[l] >= 0 ? a[l] : b[l]; });
}

static void decodeSlct(Decoder &d) {
  d.flag("ftz");
  Type type = d.type(), by = d.type();
  d.expectCount(4, 4);
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), type);
  d.in(d.operand(3), by);
  d.emit(forUnsigned(
      type, [&](auto t) -> Handler { return by.isFloat() ? &slct<decltype(t), float> : &slct<decltype(t), int32_t>; }));
}

std::vector<Instruction> comparisonInstructions() {
  return {{"setp", decodeSetp, "all relations, .and .or .xor; integers, f16, bf16, f32, f64"},
          {"set", decodeSet, "as setp"},
          {"selp", decodeSelp, "16 to 64 bits"},
          {"slct", decodeSlct, "16 to 64 bits by s32, f32"}};
}

} // namespace sinter::ptx
