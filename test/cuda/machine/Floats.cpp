// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Floating-point arithmetic. f32 and f64 rounded to nearest are the host's own; everything else goes through f64
// rounded to odd (Numbers.h). What the ISA leaves approximate is computed as exactly as can be: within its bounds.
#include "Families.h"
#include "Numbers.h"

#include <cfenv>

namespace sinter::ptx {

namespace {
enum class Op : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Fma,
  Min,
  Max,
  Abs,
  Neg,
  Sqrt,
  Rcp,
  Rsqrt,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Copysign
};
struct Mode {
  Op op;
  Type type;
  Round round;
  bool ftz, saturate, relu, nan, approximate, xorsign;
};
} // namespace

// The quick forms: f32 and f64, to nearest.
template <class T, Op op> static T quick(T a, T b, T c) {
  switch (op) {
  case Op::Add:
    return a + b;
  case Op::Sub:
    return a - b;
  case Op::Mul:
    return a * b;
  case Op::Div:
    return a / b;
  default:
    return std::fma(a, b, c);
  }
}
template <class T, Op op, bool Ftz> static void fast(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1), *c = op == Op::Fma ? w.in<T>(i, 2) : b;
  forLanes(m, [=](unsigned l) {
    if constexpr (sizeof(T) == 4) {
      float x = Ftz ? flush(a[l]) : a[l], y = Ftz ? flush(b[l]) : b[l], z = Ftz ? flush(c[l]) : c[l];
      float r = quick<T, op>(x, y, z);
      d[l] = canonical(Ftz ? flush(r) : r);
    } else
      d[l] = quick<T, op>(a[l], b[l], c[l]);
  });
}
#ifdef __x86_64__
template <class T, bool Ftz> __attribute__((target("avx2,fma"))) static void fastFma(Warp &w, const Inst &i, Mask m) {
  T *d = w.out<T>(i, 0);
  const T *a = w.in<T>(i, 0), *b = w.in<T>(i, 1), *c = w.in<T>(i, 2);
  T r[32];
#pragma clang loop vectorize(enable)
  for (unsigned l = 0; l < 32; ++l)
    if constexpr (sizeof(T) == 4) {
      float x = Ftz ? flush(a[l]) : a[l], y = Ftz ? flush(b[l]) : b[l], z = Ftz ? flush(c[l]) : c[l];
      float s = __builtin_fmaf(x, y, z);
      r[l] = canonical(Ftz ? flush(s) : s);
    } else
      r[l] = __builtin_fma(a[l], b[l], c[l]);
  for (unsigned l = 0; l < 32; ++l)
    d[l] = m >> l & 1 ? r[l] : d[l];
}
template <class T, bool Ftz> static Handler fmaHandler() {
  return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") ? &fastFma<T, Ftz> : &fast<T, Op::Fma, Ftz>;
}
#else
template <class T, bool Ftz> static Handler fmaHandler() { return &fast<T, Op::Fma, Ftz>; }
#endif

// Rounded to odd, or exact where that says nothing.
static double exact(Op op, double a, double b, double c, bool nan) {
  switch (op) {
  case Op::Add:
    return addOdd(a, b);
  case Op::Sub:
    return addOdd(a, -b);
  case Op::Mul:
    return mulOdd(a, b);
  case Op::Div:
    return divOdd(a, b);
  case Op::Fma:
    return addOdd(mulOdd(a, b), c);
  case Op::Sqrt:
    return sqrtOdd(a);
  case Op::Rcp:
    return divOdd(1, a);
  case Op::Rsqrt:
    return 1 / std::sqrt(a);
  case Op::Ex2:
    return std::exp2(a);
  case Op::Lg2:
    return std::log2(a);
  case Op::Sin:
    return std::sin(a);
  case Op::Cos:
    return std::cos(a);
  case Op::Tanh:
    return std::tanh(a);
  case Op::Abs:
    return std::fabs(a);
  case Op::Neg:
    return -a;
  case Op::Copysign:
    return std::copysign(b, a);
  case Op::Min:
  case Op::Max: {
    if (a != a || b != b)
      return nan ? NAN : a != a ? b : a;
    bool first = op == Op::Min ? a < b || (a == b && std::signbit(a)) : a > b || (a == b && !std::signbit(a));
    return first ? a : b;
  }
  }
  return 0;
}

static float inRound(Round round, double value) { return std::bit_cast<float>(encode(value, kF32, round)); }

static float single(const Mode &mode, float a, float b, float c) {
  if (mode.op == Op::Abs)
    return mode.ftz ? flush(std::fabs(a)) : std::fabs(a);
  if (mode.op == Op::Neg)
    return mode.ftz ? flush(-a) : -a;
  if (mode.op == Op::Copysign)
    return std::copysign(b, a);
  if (mode.ftz)
    a = flush(a), b = flush(b), c = flush(c);
  double value = exact(mode.op, a, b, c, mode.nan);
  float result = value != value ? std::bit_cast<float>(0x7fffffffu) : inRound(mode.round, value);
  if (mode.ftz)
    result = flush(result);
  if (mode.saturate)
    result = !(result > 0) ? 0 : std::min(result, 1.0f);
  return result;
}

static int hostRound(Round round) {
  return round == Round::Zero   ? FE_TOWARDZERO
         : round == Round::Down ? FE_DOWNWARD
         : round == Round::Up   ? FE_UPWARD
                                : FE_TONEAREST;
}
static double wide(const Mode &mode, double a, double b, double c) {
  switch (mode.op) {
  case Op::Abs:
  case Op::Neg:
  case Op::Copysign:
  case Op::Min:
  case Op::Max:
    return exact(mode.op, a, b, c, mode.nan);
  default:
    break;
  }
  const int before = std::fegetround();
  std::fesetround(hostRound(mode.round));
  volatile double x = a, y = b, z = c, r = 0;
  switch (mode.op) {
  case Op::Add:
    r = x + y;
    break;
  case Op::Sub:
    r = x - y;
    break;
  case Op::Mul:
    r = x * y;
    break;
  case Op::Div:
    r = x / y;
    break;
  case Op::Fma:
    r = std::fma(x, y, z);
    break;
  case Op::Sqrt:
    r = std::sqrt(x);
    break;
  case Op::Rcp:
    r = 1.0 / x;
    break;
  case Op::Rsqrt:
    r = 1.0 / std::sqrt(x);
    break;
  default:
    break;
  }
  std::fesetround(before);
  return r;
}

static uint16_t half(const Mode &mode, uint16_t a, uint16_t b, uint16_t c) {
  const bool brain = mode.type.kind == Kind::BFloat;
  if (mode.op == Op::Abs)
    return a & 0x7fff;
  if (mode.op == Op::Neg)
    return a ^ 0x8000;
  const Format format = brain ? kBF16 : kF16;
  auto value = [&](uint16_t h) {
    if (mode.ftz && !(h & (brain ? 0x7f80 : 0x7c00)))
      h &= 0x8000;
    return double(brain ? bhalfToFloat(h) : halfToFloat(h));
  };
  uint16_t result = uint16_t(encode(exact(mode.op, value(a), value(b), value(c), mode.nan), format));
  if (mode.ftz && !(result & (brain ? 0x7f80 : 0x7c00)))
    result &= 0x8000;
  const bool isNan = (result & 0x7fff) > (brain ? 0x7f80 : 0x7c00);
  if (mode.saturate) // NaN becomes 0
    result = isNan || result >> 15 ? 0 : std::min<uint16_t>(result, brain ? 0x3f80 : 0x3c00);
  if (mode.relu && !isNan && result >> 15)
    result = 0;
  return result;
}

static void general(Warp &w, const Inst &i, Mask m) {
  const Mode &mode = *static_cast<const Mode *>(i.extra);
  const unsigned second = i.ins > 1, third = i.ins > 2 ? 2 : 0;
  auto lanes = [&]<class T>(T, auto f, unsigned each) {
    T *d = w.out<T>(i, 0);
    const T *a = w.in<T>(i, 0), *b = w.in<T>(i, second), *c = w.in<T>(i, third);
    for (; m; m &= m - 1)
      for (unsigned l = __builtin_ctz(m) * each, end = l + each; l < end; ++l)
        d[l] = f(mode, a[l], b[l], c[l]);
  };
  if (mode.type.bits == 64)
    lanes(double{}, wide, 1);
  else if (mode.type.bits == 32 && mode.type.packed == 1)
    lanes(float{}, single, 1);
  else
    lanes(uint16_t{}, half, mode.type.packed);
}

static void decodeFloat(Decoder &d, Type type, Op op, unsigned ins) {
  if (!type.isFloat())
    d.fail("a floating-point type is required");
  const bool small = type.bits == 16 || type.packed == 2;
  Mode mode{};
  mode.op = op;
  mode.type = type;
  int round = d.oneOf({"rn", "rz", "rm", "rp"});
  static const Round rounds[] = {Round::Near, Round::Zero, Round::Down, Round::Up};
  if (round > 0) {
    mode.round = rounds[round];
    if (small)
      d.fail("f16 and bf16 round to nearest only");
  }
  mode.ftz = d.flag("ftz");
  mode.saturate = d.flag("sat");
  mode.relu = d.flag("relu");
  mode.nan = d.flag("NaN");
  mode.approximate = d.flag("approx") || d.flag("full");
  const bool transcendental = op >= Op::Rsqrt && op <= Op::Tanh;
  if ((op == Op::Div || op == Op::Sqrt || op == Op::Rcp) && round < 0 && !mode.approximate)
    d.fail("a rounding or .approx is required");
  if (transcendental && !mode.approximate)
    d.fail(".approx is required");
  if (type.bits == 64 && (mode.ftz && op != Op::Rcp && op != Op::Rsqrt))
    d.fail("f64 has no .ftz");
  if (mode.saturate && type.bits == 64)
    d.fail("f64 has no .sat");
  d.expectCount(ins + 1, ins + 1);
  d.out(d.operand(0), type);
  for (unsigned n = 0; n < ins; ++n)
    d.in(d.operand(n + 1), type);
  const bool plain = mode.round == Round::Near && !mode.saturate && !mode.relu && !mode.nan && !small;
  if (plain && op <= Op::Fma && op != Op::Div) {
    if (type.bits == 64)
      return d.emit(op == Op::Add   ? &fast<double, Op::Add, false>
                    : op == Op::Sub ? &fast<double, Op::Sub, false>
                    : op == Op::Mul ? &fast<double, Op::Mul, false>
                                    : fmaHandler<double, false>());
    if (mode.ftz)
      return d.emit(op == Op::Add   ? &fast<float, Op::Add, true>
                    : op == Op::Sub ? &fast<float, Op::Sub, true>
                    : op == Op::Mul ? &fast<float, Op::Mul, true>
                                    : fmaHandler<float, true>());
    return d.emit(op == Op::Add   ? &fast<float, Op::Add, false>
                  : op == Op::Sub ? &fast<float, Op::Sub, false>
                  : op == Op::Mul ? &fast<float, Op::Mul, false>
                                  : fmaHandler<float, false>());
  }
  d.inst.extra = d.keep(mode);
  d.emit(&general);
}

void decodeFloatArithmetic(Decoder &d, Type type) {
  static const std::map<std::string_view, std::pair<Op, unsigned>> ops = {
      {"add", {Op::Add, 2}}, {"sub", {Op::Sub, 2}}, {"mul", {Op::Mul, 2}}, {"div", {Op::Div, 2}}, {"mad", {Op::Fma, 3}},
      {"min", {Op::Min, 2}}, {"max", {Op::Max, 2}}, {"abs", {Op::Abs, 1}}, {"neg", {Op::Neg, 1}}};
  auto [op, ins] = ops.at(d.name());
  if ((op == Op::Min || op == Op::Max) && d.count() == 4)
    d.fail("three-input forms are not supported");
  decodeFloat(d, type, op, ins);
}

template <Op op, unsigned ins> static void decodeOp(Decoder &d) { decodeFloat(d, d.type(), op, ins); }

// The classes of testp.
static void testp(Warp &w, const Inst &i, Mask m) {
  Mask result = 0;
  for (Mask at = m; at; at &= at - 1) {
    unsigned l = __builtin_ctz(at);
    int kind;
    if (i.aux2 & 256)
      kind = std::fpclassify(w.in<double>(i, 0)[l]);
    else
      kind = std::fpclassify(w.in<float>(i, 0)[l]);
    bool is = false;
    switch (i.aux2 & 255) {
    case 0:
      is = kind != FP_INFINITE && kind != FP_NAN;
      break;
    case 1:
      is = kind == FP_INFINITE;
      break;
    case 2:
      is = kind != FP_NAN;
      break;
    case 3:
      is = kind == FP_NAN;
      break;
    case 4:
      is = kind == FP_NORMAL;
      break;
    case 5:
      is = kind == FP_SUBNORMAL || kind == FP_ZERO;
      break; // zero counts as subnormal
    }
    result |= Mask(is) << l;
  }
  setPredicate(w, i, 0, m, result);
}

static void decodeTestp(Decoder &d) {
  int which = d.oneOf({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = d.type();
  d.expectCount(2, 2);
  d.outPredicate(d.operand(0));
  d.in(d.operand(1), type);
  if (which < 0 || !type.isFloat() || type.bits < 32)
    d.unsupported();
  d.inst.aux2 = uint32_t(which) | (type.bits == 64 ? 256 : 0);
  d.emit(&testp);
}

std::vector<Instruction> floatInstructions() {
  return {{"fma", decodeOp<Op::Fma, 3>, "f16, bf16 (x2) .relu .sat, f32, f64; .rn .rz .rm .rp .ftz"},
          {"sqrt", decodeOp<Op::Sqrt, 1>, "f32 .approx, f32, f64 .rn .rz .rm .rp"},
          {"rcp", decodeOp<Op::Rcp, 1>, "as sqrt, .approx.ftz.f64"},
          {"rsqrt", decodeOp<Op::Rsqrt, 1>, ".approx f32, f64"},
          {"ex2", decodeOp<Op::Ex2, 1>, ".approx f16, bf16 (x2), f32"},
          {"lg2", decodeOp<Op::Lg2, 1>, ".approx f32"},
          {"sin", decodeOp<Op::Sin, 1>, ".approx f32"},
          {"cos", decodeOp<Op::Cos, 1>, ".approx f32"},
          {"tanh", decodeOp<Op::Tanh, 1>, ".approx f16, bf16 (x2), f32"},
          {"copysign", decodeOp<Op::Copysign, 2>, "f32, f64"},
          {"testp", decodeTestp, "f32, f64"}};
}

} // namespace sinter::ptx
