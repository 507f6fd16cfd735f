// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of elementwise ops: one driver per number of operands, given a function on f64 and one on i64, which
// Elementwise.td has; here are those that take statements.
// Integers arrive sign- or zero-extended to 64 bits (ui64 bit for bit) and wrap when they are stored.

#include "ir/Elementwise.h"
#include "ir/Storage.h"

#include <array>
#include <cmath>
#include <numbers>
#include <tuple>

using namespace mlir;
using namespace sinter;

using Tensors = FailureOr<SmallVector<HostTensor>>;

static Tensors one(HostTensor tensor) { return SmallVector<HostTensor>{std::move(tensor)}; }

static Type resultElement(Operation *op) { return getElementTypeOrSelf(op->getResult(0).getType()); }

/// Makes `result` of `operands` as `T`, some elements at a time: `compute` replaces those of the first operand.
template <typename T, size_t N, typename Compute>
static void forElements(HostTensor &result, const std::array<const HostTensor *, N> &operands, Compute compute) {
  constexpr int64_t most = 1024;
  std::array<std::array<T, most>, N> values;
  for (int64_t first = 0, end = result.numElements(); first < end; first += most) {
    size_t size = static_cast<size_t>(std::min(most, end - first));
    for (size_t n = 0; n < N; ++n)
      operands[n]->read(first, MutableArrayRef<T>(values[n].data(), size));
    for (size_t i = 0; i < size; ++i)
      values[0][i] = std::apply([&](const auto &...operand) { return compute(operand[i]...); }, values);
    result.assign(first, ArrayRef<T>(values[0].data(), size));
  }
}

/// Applies `onFloats` where operand 0 is a float tensor, else `onInts`; each takes the operand values at one index.
template <typename Floats, typename Ints>
static Tensors evaluateUnary(Operation *op, ArrayRef<HostTensor> operands, Floats onFloats, Ints onInts) {
  const HostTensor &x = operands[0];
  HostTensor result(resultElement(op), x.shape());
  if (x.isFloat())
    forElements<double, 1>(result, {&x}, onFloats);
  else
    forElements<int64_t, 1>(result, {&x}, onInts);
  return one(result);
}

/// The shapes of operands are known to agree when the types do, unless they are `?`.
static LogicalResult checkShapes(Operation *op, ArrayRef<HostTensor> operands) {
  for (const HostTensor &operand : operands.drop_front())
    if (operand.shape() != operands.front().shape())
      return op->emitOpError("requires operands of one shape, got ")
             << printShape(operands.front().shape()) << " and " << printShape(operand.shape());
  return success();
}

template <typename Floats, typename Ints>
static Tensors evaluateBinary(Operation *op, ArrayRef<HostTensor> operands, Floats onFloats, Ints onInts) {
  if (failed(checkShapes(op, operands)))
    return failure();
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  HostTensor result(resultElement(op), lhs.shape());
  if (lhs.isFloat())
    forElements<double, 2>(result, {&lhs, &rhs}, onFloats);
  else
    forElements<int64_t, 2>(result, {&lhs, &rhs}, onInts);
  return one(result);
}

static double noFloat(double) { llvm_unreachable("the op takes no floats"); }
static double noFloats(double, double) { llvm_unreachable("the op takes no floats"); }
static int64_t noInt(int64_t) { llvm_unreachable("the op takes no integers"); }
static int64_t noInts(int64_t, int64_t) { llvm_unreachable("the op takes no integers"); }

//===- one operand -------------------------------------------------------------------------------------------===//

/// Wraps instead of being undefined on the least number.
static int64_t negate(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }

/// As native code computes it: 1 / (1 + e^-x) would be 0 where e^-x overflows.
static double logistic(double x) {
  double z = std::exp(-std::fabs(x));
  return (x < 0 ? z : 1) / (1 + z);
}

/// By Newton's method on the logarithm of erfc, or on erf where x is small.
static double erfinv(double x) {
  double size = std::fabs(x), rest = 1 - size;
  if (!(size < 1))
    return size == 1 ? std::copysign(std::numeric_limits<double>::infinity(), x)
                     : std::numeric_limits<double>::quiet_NaN();
  double logarithm = std::log((1 - size) * (1 + size)), half = 4.33 + logarithm / 2;
  double least = size * (std::sqrt(std::numbers::pi) / 2); // the slope grows from there
  double y = std::max(least, std::sqrt(std::sqrt(half * half - logarithm / 0.147) - half)); // S. Winitzki
  for (int step = 0; step < 4; ++step) {
    double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-y * y);
    y += size < 0.5 ? (size - std::erf(y)) / slope : std::erfc(y) / slope * std::log(std::erfc(y) / rest);
  }
  return std::copysign(size < 1e-8 ? least : y, x);
}

static double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

//===- two operands ------------------------------------------------------------------------------------------===//

static uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }

/// On values of `type`; no case is undefined.
static int64_t divide(Type type, int64_t a, int64_t b) {
  if (b == 0)
    return -1;
  if (isUnsigned(type))
    return static_cast<int64_t>(bits(a) / bits(b));
  return b == -1 ? negate(a) : a / b;
}

static int64_t remainder(Type type, int64_t a, int64_t b) {
  if (b == 0)
    return a;
  if (isUnsigned(type))
    return static_cast<int64_t>(bits(a) % bits(b));
  return b == -1 ? 0 : a % b;
}

static int64_t power(Type type, int64_t base, int64_t exponent) {
  if (!isUnsigned(type) && exponent < 0) {
    if (base == 0)
      return -1; // 1 / 0
    if (base == 1)
      return 1;
    return base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1, square = bits(base);
  for (uint64_t left = bits(exponent); left; left >>= 1, square *= square)
    if (left & 1)
      result *= square;
  return static_cast<int64_t>(result);
}

static bool less(Type type, int64_t a, int64_t b) { return isUnsigned(type) ? bits(a) < bits(b) : a < b; }

static double greater(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return std::fmax(a, b);
}

static double lesser(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return std::fmin(a, b);
}

static int64_t shiftLeft(Type type, int64_t a, int64_t by) {
  return bits(by) < type.getIntOrFloatBitWidth() ? static_cast<int64_t>(bits(a) << by) : 0;
}

static int64_t shiftRight(Type type, int64_t a, int64_t by) {
  bool past = bits(by) >= type.getIntOrFloatBitWidth();
  if (isUnsigned(type))
    return past ? 0 : static_cast<int64_t>(bits(a) >> by);
  return a >> (past ? 63 : by);
}

#define GET_POINTWISE_REFERENCES
#include "ir/Pointwise.inc"

template <typename T> static bool holds(CompareKind kind, T a, T b) {
  switch (kind) {
  case CompareKind::eq:
    return a == b;
  case CompareKind::ne:
    return a != b;
  case CompareKind::lt:
    return a < b;
  case CompareKind::le:
    return a <= b;
  case CompareKind::gt:
    return a > b;
  case CompareKind::ge:
    return a >= b;
  }
  llvm_unreachable("all kinds handled");
}

Tensors CompareOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  if (failed(checkShapes(*this, operands)))
    return failure();
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  HostTensor result(resultElement(*this), lhs.shape());
  char *target = result.data();
  if (lhs.isFloat()) {
    std::vector<double> a = lhs.toFloats(), b = rhs.toFloats();
    for (size_t i = 0; i < a.size(); ++i)
      target[i] = holds(getKind(), a[i], b[i]);
    return one(result);
  }
  std::vector<int64_t> a = lhs.toInts(), b = rhs.toInts();
  bool asUnsigned = isUnsigned(lhs.elementType());
  for (size_t i = 0; i < a.size(); ++i)
    target[i] = asUnsigned ? holds(getKind(), bits(a[i]), bits(b[i])) : holds(getKind(), a[i], b[i]);
  return one(result);
}

//===- three operands and changes of type --------------------------------------------------------------------===//

Tensors SelectOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  if (failed(checkShapes(*this, operands)))
    return failure();
  const HostTensor &pred = operands[0], &onTrue = operands[1], &onFalse = operands[2];
  HostTensor result(onTrue.elementType(), onTrue.shape());
  int64_t width = byteWidth(onTrue.elementType());
  char *target = result.data();
  for (int64_t i = 0; i < pred.numElements(); ++i)
    std::memcpy(target + i * width, (pred.data()[i] ? onTrue : onFalse).data() + i * width, width);
  return one(result);
}

Tensors ClampOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  if (failed(checkShapes(*this, operands)))
    return failure();
  const HostTensor &low = operands[0], &x = operands[1], &high = operands[2];
  Type type = x.elementType();
  HostTensor result(type, x.shape());
  if (x.isFloat()) {
    std::vector<double> lows = low.toFloats(), values = x.toFloats(), highs = high.toFloats();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = lesser(greater(values[i], lows[i]), highs[i]);
    result.assignFloats(values);
    return one(result);
  }
  std::vector<int64_t> lows = low.toInts(), values = x.toInts(), highs = high.toInts();
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t value = less(type, values[i], lows[i]) ? lows[i] : values[i];
    values[i] = less(type, highs[i], value) ? highs[i] : value;
  }
  result.assignInts(values);
  return one(result);
}

/// A 64-bit integer as a float, rounded once (by way of f64 it would be rounded twice).
static double roundOnce(int64_t value, bool asUnsigned, const llvm::fltSemantics &semantics) {
  llvm::APFloat rounded(semantics);
  rounded.convertFromAPInt(APInt(64, bits(value)), !asUnsigned, llvm::APFloat::rmNearestTiesToEven);
  bool lost;
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return rounded.convertToDouble();
}

/// The numbers of `x` in an 8-bit float type: what is greater than any of them becomes the greatest. f64 holds all
/// 64-bit integers that do not become that.
static HostTensor toFloat8(const HostTensor &x, FloatType to) {
  HostTensor result(to, x.shape());
  std::vector<double> values = x.toFloats();
  double greatest = llvm::APFloat::getLargest(to.getFloatSemantics()).convertToDouble();
  for (double &value : values)
    if (!std::isnan(value))
      value = std::clamp(value, -greatest, greatest);
  result.assignFloats(values);
  return result;
}

Tensors ConvertOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &x = operands[0];
  Type from = x.elementType(), to = resultElement(*this);
  auto floatType = dyn_cast<FloatType>(to);
  if (isFloat8(to))
    return one(toFloat8(x, floatType));
  HostTensor result(to, x.shape());
  if (x.isFloat() || (floatType && from.getIntOrFloatBitWidth() < 64)) {
    forElements<double, 1>(result, {&x}, [](double value) { return value; });
  } else if (!floatType) {
    forElements<int64_t, 1>(result, {&x}, [](int64_t value) { return value; });
  } else {
    std::vector<double> values;
    for (int64_t value : x.toInts())
      values.push_back(roundOnce(value, isUnsigned(from), floatType.getFloatSemantics()));
    result.assignFloats(values);
  }
  return one(result);
}

Tensors DecodeFloat8Op::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &x = operands[0];
  HostTensor result(resultElement(*this), x.shape());
  result.assignFloats(HostTensor(getFormat(), x.shape(), ArrayRef<char>(x.data(), x.numBytes())).toFloats());
  return one(result);
}

Tensors BitcastOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &x = operands[0];
  return one(HostTensor(resultElement(*this), x.shape(), ArrayRef<char>(x.data(), x.numBytes())));
}
