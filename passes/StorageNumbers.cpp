// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/StorageNumbers.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

namespace {
/// Ops with a number on their right side.
class Numbers {
public:
  explicit Numbers(Composer &c) : c(c) {}
  Type unsignedOf(unsigned width) { return c.getIntegerType(width, /*isSigned=*/false); }
  template <typename Op> Value with(Value value, double number) { return c.make<Op>(value, c.fill(number, value)); }
  Value bitcast(Value value, Type to) { return c.make<BitcastOp>(value, to); }
  Value compare(Value value, CompareKind kind, double number) {
    return c.make<CompareOp>(value, c.fill(number, value), kind);
  }
  Value select(Value condition, double number, Value otherwise) {
    return c.make<SelectOp>(condition, c.fill(number, otherwise), otherwise);
  }

  Composer &c;
};

/// Where the parts of an 8-bit float are: `bits` of fraction, and the exponent of the least normal number.
struct Format {
  int fraction, leastExponent;
  double greatest; // number
  int nan;         // byte
};
} // namespace

static Format formatOf(Type type) {
  if (isa<Float8E5M2Type>(type))
    return {2, -14, 57344, 0x7e};
  return {3, -6, 448, 0x7f};
}

/// As f32 where that holds each number up to 2^20, which is beyond all of f8; f64 stays.
static Value asWideFloat(Composer &c, Value numbers) {
  Numbers n(c);
  Type element = elementTypeOf(numbers);
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && integer.getWidth() >= 32) {
    numbers = n.with<MinOp>(numbers, 1 << 20);
    if (!isUnsigned(element))
      numbers = n.with<MaxOp>(numbers, -(1 << 20));
  }
  return element.isF64() ? numbers : c.convert(numbers, c.getF32Type());
}

Value sinter::encodeFloat8(Composer &c, Value numbers, Type to) {
  Numbers n(c);
  const Format format = formatOf(to);
  numbers = asWideFloat(c, numbers);
  Type wide = elementTypeOf(numbers);
  const int width = wide.isF64() ? 64 : 32, fraction = wide.isF64() ? 52 : 23, bias = wide.isF64() ? 1023 : 127;
  const int dropped = fraction - format.fraction;
  Type word = n.unsignedOf(width);
  Value bits = n.bitcast(numbers, word), magnitude = c.make<AbsOp>(numbers);
  Value isNan = n.compare(n.bitcast(magnitude, word), CompareKind::gt,
                          std::ldexp(static_cast<double>(2 * bias + 1), fraction)); // above infinity
  magnitude = n.with<MinOp>(magnitude, format.greatest);
  Value raw = n.bitcast(magnitude, word);

  // Normal numbers: half a unit less one is added, and one more to an odd number; then the bias is exchanged.
  Value odd = n.with<AndOp>(n.with<ShiftRightOp>(raw, dropped), 1);
  Value rounded = c.make<AddOp>(n.with<AddOp>(raw, std::ldexp(1.0, dropped - 1) - 1), odd);
  rounded = n.with<ShiftRightOp>(rounded, dropped);
  rounded = n.with<SubOp>(rounded, std::ldexp(static_cast<double>(bias + format.leastExponent - 1), format.fraction));
  // Smaller ones: counted in units of the least number by adding one whose last place is that unit.
  double unit = std::ldexp(1.0, format.leastExponent - format.fraction), large = std::ldexp(unit, fraction);
  Value base = n.bitcast(c.fill(large, magnitude), word);
  Value small = c.make<SubOp>(n.bitcast(n.with<AddOp>(magnitude, large), word), base);
  Value isSmall = n.compare(magnitude, CompareKind::lt, std::ldexp(1.0, format.leastExponent));
  Value result = c.make<SelectOp>(isSmall, small, rounded);

  result = n.select(isNan, format.nan, result);
  Value sign = n.with<AndOp>(n.with<ShiftRightOp>(bits, width - 8), 0x80);
  return c.convert(c.make<OrOp>(result, sign), n.unsignedOf(8));
}

Value sinter::wrapTo4Bits(Composer &c, Value numbers, Type to) {
  Numbers n(c);
  Type byte = c.getIntegerType(8);
  if (isUnsigned(to))
    byte = n.unsignedOf(8);
  bool saturates = isa<FloatType>(elementTypeOf(numbers));
  Value values = c.convert(numbers, byte);
  if (saturates) {
    values = n.with<MinOp>(values, isUnsigned(to) ? 15 : 7);
    return isUnsigned(to) ? values : n.with<MaxOp>(values, -8);
  }
  if (isUnsigned(to))
    return n.with<AndOp>(values, 15);
  return n.with<ShiftRightOp>(n.with<ShiftLeftOp>(values, 4), 4);
}

/// The number of elements of `value` as a list of one.
static Value countOf(Composer &c, Value value) {
  Value total = c.size(value, 0);
  for (int64_t axis = 1; axis < tensorTypeOf(value).getRank(); ++axis)
    total = c.make<MulOp>(total, c.size(value, axis));
  return c.make<ReshapeOp>(total, Value(), RankedTensorType::get({1}, c.getI64Type()));
}

static SmallVector<Value> sizesOf(Composer &c, Value value) {
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < tensorTypeOf(value).getRank(); ++axis)
    sizes.push_back(c.size(value, axis));
  return sizes;
}

Value sinter::packHalves(Composer &c, Value values) {
  Numbers n(c);
  Type byte = n.unsignedOf(8);
  std::optional<int64_t> count = countElements(tensorTypeOf(values).getShape());
  Value flat = n.bitcast(values, byte);
  flat = c.reshape(flat, RankedTensorType::get({count.value_or(ShapedType::kDynamic)}, byte));
  Value zero = c.scalar(byte, 0);
  Value longer =
      c.make<PadOp>(flat, zero, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0}, PadMode::constant);
  auto every = [&](Value list, int64_t start) {
    int64_t size = tensorTypeOf(list).getDimSize(0);
    return c.make<SliceOp>(list, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{ShapedType::isDynamic(size) ? -1 : size},
                           ArrayRef<int64_t>{2});
  };
  Value low = n.with<AndOp>(every(flat, 0), 15), high = every(longer, 1);
  return c.make<OrOp>(low, n.with<ShiftLeftOp>(high, 4));
}

Value sinter::unpackHalves(Composer &c, Value bytes, RankedTensorType type, Value like) {
  Numbers n(c);
  std::optional<int64_t> count = countElements(type.getShape());
  int64_t stored = tensorTypeOf(bytes).getDimSize(0), twice = ShapedType::isDynamic(stored) ? stored : 2 * stored;
  Type byte = n.unsignedOf(8), wanted = isUnsigned(type.getElementType()) ? byte : c.getIntegerType(8);
  // Each byte beside itself, one moved up so that its low half is the upper one.
  Value rows = c.make<ReshapeOp>(bytes, Value(), RankedTensorType::get({stored, 1}, byte));
  Value low = n.with<ShiftLeftOp>(rows, 4);
  Value halves = n.bitcast(c.make<ConcatenateOp>(ValueRange{low, rows}, 1), wanted);
  Value flat = c.make<ReshapeOp>(halves, Value(), RankedTensorType::get({twice}, wanted));
  flat = n.with<ShiftRightOp>(flat, 4); // brings the sign along where there is one
  if (!count) {
    Value zero = c.make<ConstantOp>(HostTensor::ofInts(c.getI64Type(), {0}).toAttr());
    Value one = c.make<ConstantOp>(HostTensor::ofInts(c.getI64Type(), {1}).toAttr());
    flat = c.make<RangeSliceOp>(flat, zero, countOf(c, like), one);
  } else if (*count != twice) {
    flat = c.slice(flat, 0, 0, *count);
  }
  return c.reshape(flat, type.clone(wanted), like ? sizesOf(c, like) : SmallVector<Value>());
}
