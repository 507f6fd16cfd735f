// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic, math and activations.

#include "compiler/onnx/Families.h"
#include "compiler/onnx/Float8.h"
#include "compiler/onnx/OpImport.h"
#include "ir/Storage.h"

using namespace mlir;

namespace sinter::onnx {

template <typename OpT> static LogicalResult importUnary(OpImport &n) { return n.out(n.make<OpT>(n.in(0))); }

//===--- binary operators, with the broadcasting of the operator set --------------------------------------------===//

/// Before opset 7 the second operand broadcasts only where `broadcast` says so, and from `axis` on.
static LogicalResult alignLegacy(OpImport &n, Value &lhs, Value &rhs) {
  lhs = n.in(0);
  rhs = n.in(1);
  if (n.version >= 7 || !n.intAttr("broadcast", 0) || !n.attribute("axis"))
    return success();
  int64_t axis = n.axisAttr("axis", 0, n.rank(lhs));
  if (axis < 0)
    return failure();
  int64_t trailing = n.rank(lhs) - axis - n.rank(rhs);
  if (trailing < 0)
    return n.error("requires a second operand that fits at axis " + Twine(axis) + ", found rank " + Twine(n.rank(rhs)));
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(n.rank(rhs), n.rank(rhs) + trailing));
  rhs = n.unsqueeze(rhs, axes);
  return success();
}

template <typename OpT> static LogicalResult importBinary(OpImport &n) {
  Value lhs, rhs;
  if (failed(alignLegacy(n, lhs, rhs)))
    return failure();
  return n.out(n.binary<OpT>(lhs, rhs));
}

template <CompareKind kind> static LogicalResult importCompare(OpImport &n) {
  Value lhs, rhs;
  if (failed(alignLegacy(n, lhs, rhs)))
    return failure();
  return n.out(n.compare(kind, lhs, rhs));
}

static LogicalResult importPow(OpImport &n) {
  Value base, exponent;
  if (failed(alignLegacy(n, base, exponent)))
    return failure();
  Type type = n.elem(base);
  if (n.elem(exponent) == type)
    return n.out(n.binary<PowOp>(base, exponent));
  if (n.isFloat(base)) // the result has the base's type
    return n.out(n.binary<PowOp>(base, n.convert(exponent, type)));
  Type wide = n.isFloat(exponent) ? n.b.getF64Type() : Type(n.b.getI64Type());
  return n.out(n.convert(n.binary<PowOp>(n.convert(base, wide), n.convert(exponent, wide)), type));
}

static LogicalResult importMod(OpImport &n) {
  Value lhs = n.in(0), rhs = n.in(1);
  bool likeC = n.intAttr("fmod", 0) != 0;
  if (n.isFloat(lhs) && !likeC && n.version < 28)
    return n.error("requires fmod = 1 for floats, found 0");
  SmallVector<Value, 2> values = {lhs, rhs};
  if (!n.broadcastTogether(values))
    return failure();
  Value remainder = n.make<RemOp>(values[0], values[1]);
  if (likeC || n.elem(lhs).isUnsignedInteger())
    return n.out(remainder);
  // the sign of the divisor, as in Python: r + b where r is not 0 and has the other sign
  Value differs = n.make<XorOp>(n.compare(CompareKind::lt, remainder, 0), n.compare(CompareKind::lt, values[1], 0));
  Value adjust = n.make<AndOp>(n.compare(CompareKind::ne, remainder, 0), differs);
  return n.out(n.select(adjust, n.add(remainder, values[1]), remainder));
}

template <typename OpT> static LogicalResult importVariadic(OpImport &n) {
  SmallVector<Value> values(n.ins());
  if (!n.broadcastTogether(values))
    return failure();
  Value result = values.front();
  for (Value value : llvm::drop_begin(values))
    result = n.make<OpT>(result, value);
  return n.out(result);
}

static LogicalResult importMean(OpImport &n) {
  SmallVector<Value> values(n.ins());
  if (!n.broadcastTogether(values))
    return failure();
  if (values.size() == 1)
    return n.out(values.front());
  return n.out(n.inWiderFloats(values.front(), [&](Value sum) {
    for (Value value : llvm::drop_begin(values))
      sum = n.add(sum, n.convert(value, n.elem(sum)));
    return n.div(sum, double(values.size()));
  }));
}

//===--- activations --------------------------------------------------------------------------------------------===//

// Activations with two branches take the left one's slope at 0. torch does so, too. What cuts off is a clamp, to which
// that belongs (max shares a tie), also where a bound is missing: an infinite one says so.
// Those of several steps take them in f32 (inWiderFloats): 1 + erf(x / sqrt(2)) leaves nothing of gelu(-4) in f16.

/// min(max(x, low), high) with bounds of rank 0, of which either may be missing. Of integers there is no slope.
static Value clamp(OpImport &n, Value x, Value low, Value high) {
  if (n.failed() || (!low && !high))
    return x;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!n.isFloat(x) && !(low && high))
    return low ? n.max(x, low) : n.min(x, high);
  low = low ? low : n.scalar(n.elem(x), -infinity);
  high = high ? high : n.scalar(n.elem(x), infinity);
  return n.make<ClampOp>(n.broadcastLike(low, x), x, n.broadcastLike(high, x));
}

static Value clampToUnit(OpImport &n, Value x) { return clamp(n, x, n.scalar(n.elem(x), 0), n.scalar(n.elem(x), 1)); }

static LogicalResult importRelu(OpImport &n) { return n.out(clamp(n, n.in(0), n.scalar(n.elem(n.in(0)), 0), Value())); }

static LogicalResult importLeakyRelu(OpImport &n) {
  Value x = n.in(0);
  return n.out(n.select(n.compare(CompareKind::le, x, 0), n.mul(x, n.floatAttr("alpha", 0.01f)), x));
}

static LogicalResult importPRelu(OpImport &n) {
  Value x = n.in(0), slope = n.in(1);
  if (n.version < 7 && n.rank(slope) == 1 && n.rank(x) > 1) // one slope a channel
    slope = n.unsqueeze(slope, llvm::to_vector(llvm::seq<int64_t>(1, n.rank(x) - 1)));
  return n.out(n.select(n.compare(CompareKind::le, x, 0), n.mul(x, slope), x));
}

/// x above 0, else alpha (exp(x / width) - 1), whose slope is alpha / width at 0 (min would have none there).
static Value expBelowZero(OpImport &n, Value x, double alpha, double width) {
  return n.inWiderFloats(x, [&](Value wide) -> Value {
    Value isLow = n.compare(CompareKind::le, wide, 0), low = n.select(isLow, wide, 0);
    return n.select(isLow, n.mul(n.make<Expm1Op>(width == 1 ? low : n.div(low, width)), alpha), wide);
  });
}

static LogicalResult importElu(OpImport &n) {
  Value x = n.in(0);
  return n.out(expBelowZero(n, x, n.floatAttr("alpha", 1), 1));
}

static LogicalResult importSelu(OpImport &n) {
  Value x = n.in(0);
  double alpha = n.floatAttr("alpha", 1.67326319217681884765625);
  double gamma = n.floatAttr("gamma", 1.05070102214813232421875);
  if (n.version < 6) {
    alpha = n.floatAttr("alpha", 1.6732f);
    gamma = n.floatAttr("gamma", 1.0507f);
  }
  return n.out(n.inWiderFloats(x, [&](Value wide) { return n.mul(expBelowZero(n, wide, alpha, 1), gamma); }));
}

static LogicalResult importCelu(OpImport &n) {
  Value x = n.in(0);
  double alpha = n.floatAttr("alpha", 1);
  return n.out(expBelowZero(n, x, alpha, alpha));
}

static LogicalResult importThresholdedRelu(OpImport &n) {
  Value x = n.in(0);
  return n.out(n.select(n.compare(CompareKind::gt, x, n.floatAttr("alpha", 1)), x, 0));
}

static LogicalResult importHardSigmoid(OpImport &n) {
  return n.out(n.inWiderFloats(n.in(0), [&](Value x) {
    return clampToUnit(n, n.add(n.mul(x, n.floatAttr("alpha", 0.2f)), n.floatAttr("beta", 0.5)));
  }));
}

static LogicalResult importHardSwish(OpImport &n) {
  return n.out(
      n.inWiderFloats(n.in(0), [&](Value x) { return n.mul(x, clampToUnit(n, n.add(n.mul(x, 1.0 / 6), 0.5))); }));
}

/// log(1 + e^x), without overflow
static Value softplus(OpImport &n, Value x) {
  Value tail = n.make<Log1pOp>(n.make<ExpOp>(n.make<NegOp>(n.make<AbsOp>(x))));
  return n.add(n.max(x, 0), tail);
}

static LogicalResult importSoftplus(OpImport &n) {
  return n.out(n.inWiderFloats(n.in(0), [&](Value x) { return softplus(n, x); }));
}

static LogicalResult importSoftsign(OpImport &n) {
  return n.out(n.inWiderFloats(n.in(0), [&](Value x) { return n.div(x, n.add(n.make<AbsOp>(x), 1)); }));
}

static LogicalResult importMish(OpImport &n) {
  return n.out(n.inWiderFloats(n.in(0), [&](Value x) { return n.mul(x, n.make<TanhOp>(softplus(n, x))); }));
}

/// x / (1 + e^(-alpha x)).
static Value swish(OpImport &n, Value x, double alpha) {
  return n.mul(x, n.make<LogisticOp>(alpha == 1 ? x : n.mul(x, alpha)));
}

static LogicalResult importSwish(OpImport &n) {
  return n.out(n.inWiderFloats(n.in(0), [&](Value x) { return swish(n, x, n.floatAttr("alpha", 1)); }));
}

static LogicalResult importSwiGlu(OpImport &n) {
  return n.out(n.inWiderFloats(n.in(0), [&](Value gate) {
    return n.mul(swish(n, gate, n.floatAttr("alpha", 1)), n.convert(n.in(1), n.elem(gate)));
  }));
}

Value gelu(OpImport &n, Value narrow, bool byTanh) {
  return n.inWiderFloats(narrow, [&](Value x) {
    Value inner;
    if (byTanh) {
      Value cubic = n.mul(n.mul(n.mul(x, x), x), 0.044715);
      inner = n.make<TanhOp>(n.mul(n.add(x, cubic), 0.7978845608028654));
    } else {
      inner = n.make<ErfOp>(n.mul(x, 0.7071067811865476));
    }
    return n.mul(n.mul(x, 0.5), n.add(inner, 1));
  });
}

static LogicalResult importGelu(OpImport &n) {
  return n.out(gelu(n, n.in(0), n.stringAttr("approximate", "none") == "tanh"));
}

static LogicalResult importShrink(OpImport &n) {
  Value x = n.in(0);
  double bias = n.floatAttr("bias", 0), lambda = n.floatAttr("lambd", 0.5);
  Value high = n.select(n.compare(CompareKind::gt, x, lambda), n.sub(x, bias), 0);
  return n.out(n.select(n.compare(CompareKind::lt, x, -lambda), n.add(x, bias), high));
}

static LogicalResult importReciprocal(OpImport &n) { return n.out(n.div(1, n.in(0))); }

static LogicalResult importSign(OpImport &n) {
  Value x = n.in(0);
  if (!n.elem(x).isUnsignedInteger())
    return n.out(n.make<SignOp>(x));
  return n.out(n.min(x, 1));
}

/// ONNX rounds and floors integers too, which changes nothing.
template <typename OpT> static LogicalResult importFloatUnary(OpImport &n) {
  return n.out(n.isFloat(n.in(0)) ? n.make<OpT>(n.in(0)) : n.in(0));
}

static LogicalResult importClip(OpImport &n) {
  Value x = n.in(0), low = n.in(1), high = n.in(2);
  if (n.version < 11) {
    if (n.attribute("min"))
      low = n.scalar(n.elem(x), n.floatAttr("min", 0));
    if (n.attribute("max"))
      high = n.scalar(n.elem(x), n.floatAttr("max", 0));
  }
  for (Value bound : {low, high})
    if (bound && n.rank(bound) > 0 && n.size(bound, 0) != 1)
      return n.error("requires bounds of rank 0, found " + printShape(n.dims(bound)));
  // min after max, so that the upper bound wins when the two cross
  return n.out(clamp(n, x, low ? n.reshape(low, {}) : low, high ? n.reshape(high, {}) : high));
}

//===--- types --------------------------------------------------------------------------------------------------===//

static int64_t legacyTypeNumber(StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("FLOAT", onnxfile::FLOAT)
      .Case("UINT8", onnxfile::UINT8)
      .Case("INT8", onnxfile::INT8)
      .Case("UINT16", onnxfile::UINT16)
      .Case("INT16", onnxfile::INT16)
      .Case("INT32", onnxfile::INT32)
      .Case("INT64", onnxfile::INT64)
      .Case("BOOL", onnxfile::BOOL)
      .Case("FLOAT16", onnxfile::FLOAT16)
      .Case("DOUBLE", onnxfile::DOUBLE)
      .Case("UINT32", onnxfile::UINT32)
      .Case("UINT64", onnxfile::UINT64)
      .Default(onnxfile::UNDEFINED);
}

/// `value` as Cast gives it. ONNX's data sets wrap what is too large for 4 bits, where Sinter's floats saturate.
static Value castTo(OpImport &n, Value value, Type type) {
  if (n.failed())
    return {};
  bool isFloat = isa<FloatType>(n.elem(value));
  if (isPacked(type) && isFloat)
    value = n.convert(value, n.b.getI32Type());
  return convertAsStated(n, value, type);
}

static LogicalResult importCast(OpImport &n) {
  Type type = n.elementType(n.version < 6 ? legacyTypeNumber(n.stringAttr("to", "")) : n.intAttr("to", 0));
  return type ? n.out(castTo(n, n.in(0), type)) : failure();
}

static LogicalResult importCastLike(OpImport &n) { return n.out(castTo(n, n.in(0), n.elem(n.in(1)))); }

static LogicalResult importBitCast(OpImport &n) {
  Type type = n.elementType(n.intAttr("to", 0));
  if (!type)
    return failure();
  if (n.elem(n.in(0)).isInteger(1)) // stored as bytes of 0 and 1
    return n.out(n.convert(n.in(0), type));
  return n.out(n.make<BitcastOp>(n.in(0), type));
}

static LogicalResult importIdentity(OpImport &n) { return n.out(n.in(0)); }

//===--- booleans and bits --------------------------------------------------------------------------------------===//

static LogicalResult importIsInf(OpImport &n) {
  Value x = n.in(0);
  bool negative = n.intAttr("detect_negative", 1) != 0, positive = n.intAttr("detect_positive", 1) != 0;
  if (negative && positive)
    return n.out(n.make<IsInfOp>(x));
  if (!negative && !positive)
    return n.out(n.broadcastLike(n.scalar(n.b.getI1Type(), 0), x));
  double infinity = std::numeric_limits<double>::infinity();
  return n.out(n.compare(CompareKind::eq, x, negative ? -infinity : infinity));
}

static LogicalResult importBitShift(OpImport &n) {
  StringRef direction = n.stringAttr("direction", "");
  if (direction == "LEFT")
    return n.out(n.binary<ShiftLeftOp>(n.in(0), n.in(1)));
  if (direction == "RIGHT")
    return n.out(n.binary<ShiftRightOp>(n.in(0), n.in(1)));
  return n.error("requires direction LEFT or RIGHT, found '" + direction + "'");
}

static LogicalResult importWhere(OpImport &n) { return n.out(n.select(n.in(0), n.in(1), n.in(2))); }

void registerElementwise(Registry &r) {
#define GET_POINTWISE_READERS
#include "ir/Pointwise.inc"
  r.add("Abs", 1, 1, [](OpImport &n) {
    return n.elem(n.in(0)).isUnsignedInteger() ? n.out(n.in(0)) : n.out(n.make<AbsOp>(n.in(0)));
  });
  r.add("Neg", 1, 1, importUnary<NegOp>);
  r.add("Sign", 9, 1, importSign);
  r.add("Ceil", 1, 1, importFloatUnary<CeilOp>);
  r.add("Floor", 1, 1, importFloatUnary<FloorOp>);
  r.add("Round", 11, 1, importFloatUnary<RoundOp>);
  r.add("Reciprocal", 1, 1, importReciprocal);
  r.add("Pow", 1, 2, importPow);
  r.add("Mod", 10, 2, importMod);
  r.add("Max", 1, 1, importVariadic<MaxOp>);
  r.add("Min", 1, 1, importVariadic<MinOp>);
  r.add("Sum", 1, 1, importVariadic<AddOp>);
  r.add("Mean", 1, 1, importMean);
  r.add("Relu", 1, 1, importRelu);
  r.add("LeakyRelu", 1, 1, importLeakyRelu);
  r.add("PRelu", 1, 2, importPRelu);
  r.add("Elu", 1, 1, importElu);
  r.add("Selu", 1, 1, importSelu);
  r.add("Celu", 12, 1, importCelu);
  r.add("ThresholdedRelu", 10, 1, importThresholdedRelu);
  r.add("HardSigmoid", 1, 1, importHardSigmoid);
  r.add("HardSwish", 14, 1, importHardSwish);
  r.add("Softplus", 1, 1, importSoftplus);
  r.add("Softsign", 1, 1, importSoftsign);
  r.add("Mish", 18, 1, importMish);
  r.add("Swish", 24, 1, importSwish);
  r.add("SwiGLU", 28, 2, importSwiGlu);
  r.add("Gelu", 20, 1, importGelu);
  r.add("Shrink", 9, 1, importShrink);
  r.add("Clip", 1, 1, importClip);
  r.add("Cast", 1, 1, importCast);
  r.add("CastLike", 15, 2, importCastLike);
  r.add("BitCast", 26, 1, importBitCast);
  r.add("Identity", 1, 1, importIdentity);
}

void registerLogic(Registry &r) {
  r.add("And", 1, 2, importBinary<AndOp>);
  r.add("Or", 1, 2, importBinary<OrOp>);
  r.add("Xor", 1, 2, importBinary<XorOp>);
  r.add("Not", 1, 1, importUnary<NotOp>);
  r.add("Equal", 1, 2, importCompare<CompareKind::eq>);
  r.add("Less", 1, 2, importCompare<CompareKind::lt>);
  r.add("LessOrEqual", 12, 2, importCompare<CompareKind::le>);
  r.add("Greater", 1, 2, importCompare<CompareKind::gt>);
  r.add("GreaterOrEqual", 12, 2, importCompare<CompareKind::ge>);
  r.add("IsInf", 10, 1, importIsInf);
  r.add("BitShift", 11, 2, importBitShift);
  r.add("BitwiseAnd", 18, 2, importBinary<AndOp>);
  r.add("BitwiseOr", 18, 2, importBinary<OrOp>);
  r.add("BitwiseXor", 18, 2, importBinary<XorOp>);
  r.add("BitwiseNot", 18, 1, importUnary<NotOp>);
  r.add("Where", 9, 3, importWhere);
}

} // namespace sinter::onnx
