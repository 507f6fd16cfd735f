// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers with a scale and a zero point. Products of integers accumulate in i32.

#include "compiler/onnx/Float8.h"
#include "compiler/onnx/OpExport.h"
#include "compiler/onnx/Quantized.h"
#include "compiler/onnx/TensorData.h"
#include "compiler/onnx/Windows.h"
#include "ir/Constants.h"
#include "ir/Storage.h"
#include "passes/Quantized.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace sinter::onnx {

/// A scale or zero point: rank 0, one element, or one for each place along `axis`, in the shape of `x`.
static Value alongAxis(OpImport &n, Value parameter, Value x, int64_t axis) {
  if (n.failed())
    return {};
  if (n.rank(parameter) == 0 || (n.rank(parameter) == 1 && n.size(parameter, 0) == 1))
    return n.broadcastLike(n.reshape(parameter, {}), x);
  if (n.rank(parameter) != 1) {
    (void)n.unsupported("a scale of rank " + Twine(n.rank(parameter)));
    return {};
  }
  return n.broadcastLike(parameter, x, {axis});
}

Value alongBlocks(OpImport &n, Value parameter, Value x, int64_t axis, int64_t blockSize) {
  if (n.failed())
    return {};
  int64_t size = n.size(x, axis), blocks = n.rank(parameter) == n.rank(x) ? n.size(parameter, axis) : 0;
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(blocks)) {
    (void)n.unsupported("blocked quantization along an axis whose size is not fixed");
    return {};
  }
  if (blockSize < 0 || n.rank(parameter) != n.rank(x) || blocks != int64_t(llvm::divideCeil(size, blockSize))) {
    (void)n.error("requires a scale of the input's rank with one place for each block of " + Twine(blockSize) +
                  " along axis " + Twine(axis) + ", found rank " + Twine(n.rank(parameter)) + " and " + Twine(blocks) +
                  " for " + Twine(size) + " elements");
    return {};
  }
  SmallVector<int64_t> positions;
  for (int64_t i = 0; i < size; ++i)
    positions.push_back(i / blockSize);
  return n.gather(parameter, n.ints(positions), axis);
}

/// A scale or zero point in the shape of `x`: blocked, or as `alongAxis` has it.
static Value inShapeOf(OpImport &n, Value parameter, Value x, int64_t axis) {
  int64_t blockSize = n.intAttr("block_size", 0);
  return blockSize ? alongBlocks(n, parameter, x, axis, blockSize) : alongAxis(n, parameter, x, axis);
}

/// The axis that scales run along; negative when the attribute is wrong.
static int64_t scaleAxis(OpImport &n, Value x, Value scale) {
  if (n.failed() || n.rank(x) == 0)
    return 0;
  bool isUsed = n.intAttr("block_size", 0) != 0 || (n.rank(scale) == 1 && n.size(scale, 0) != 1);
  return isUsed ? n.axisAttr("axis", 1, n.rank(x)) : 0;
}

Value convertAsStated(OpImport &n, Value value, Type type) {
  if (n.failed())
    return {};
  if (!isFloat8(type) || n.elem(value) == type || n.intAttr("saturate", 1) != 0)
    return n.convert(value, type);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!isa<FloatType>(n.elem(value)) || isStorageOnly(n.elem(value)))
    value = n.convert(value, n.b.getF32Type());
  Value magnitude = n.make<AbsOp>(value), near = n.convert(value, type);
  if (isa<Float8E4M3FNType>(type)) // 464 is half way to what would be the next number
    return n.select(n.compare(CompareKind::gt, magnitude, 464),
                    n.broadcastLike(n.scalar(type, std::numeric_limits<double>::quiet_NaN()), near), near);
  Value above = n.broadcastLike(n.scalar(type, infinity), near),
        below = n.broadcastLike(n.scalar(type, -infinity), near);
  Value beyond = n.select(n.compare(CompareKind::gt, value, 0), above, below);
  return n.select(n.compare(CompareKind::ge, magnitude, 61440), beyond, near);
}

/// round(x / scale) + zero, saturated to `type`; `x` and `scale` are floats of the same type and shape. 8-bit floats
/// round by themselves.
static Value roundTo(OpImport &n, Value x, Value scale, Value zero, Type type) {
  if (n.failed())
    return {};
  if (isFloat8(type)) {
    Value scaled = n.div(x, scale);
    return convertAsStated(n, zero ? n.add(scaled, zero) : scaled, type);
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.getWidth() > 16) {
    (void)n.unsupported("quantization to this element type");
    return {};
  }
  Value shifted = n.make<RoundOp>(n.div(x, scale));
  if (zero)
    shifted = n.add(shifted, n.convert(zero, n.elem(x)));
  double width = double(int64_t(1) << integer.getWidth());
  double low = integer.isUnsigned() ? 0 : -width / 2, high = integer.isUnsigned() ? width - 1 : width / 2 - 1;
  return n.convert(n.min(n.max(shifted, low), high), type);
}

Value quantize(OpImport &n, Value x, Value scale, Value zero, Type type) {
  Value steps = alongAxis(n, n.convert(scale, n.elem(x)), x, 0);
  return roundTo(n, x, steps, zero ? alongAxis(n, n.convert(zero, n.elem(x)), x, 0) : Value(), type);
}

Value dequantize(OpImport &n, Value codes, Value scale, Value zero, int64_t axis) {
  if (n.failed())
    return {};
  Value centred = n.convert(codes, n.b.getI32Type());
  if (zero)
    centred = n.sub(centred, alongAxis(n, n.convert(zero, n.b.getI32Type()), codes, axis));
  return n.mul(n.convert(centred, n.elem(scale)), alongAxis(n, scale, codes, axis));
}

LogicalResult importQuantizeLinear(OpImport &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.in(2);
  Type type = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  if (zero)
    type = n.elem(zero);
  else if (int64_t wanted = n.intAttr("output_dtype", 0))
    type = n.elementType(wanted);
  int64_t axis = scaleAxis(n, x, scale);
  if (!type || axis < 0)
    return failure();
  Type wide = n.elem(scale);
  if (wide.isF16() || wide.isBF16())
    wide = n.b.getF32Type();
  Value steps = inShapeOf(n, n.convert(scale, wide), x, axis);
  Value offset = zero ? inShapeOf(n, n.convert(zero, wide), x, axis) : Value();
  return n.out(roundTo(n, n.convert(x, wide), steps, offset, type));
}

LogicalResult importDequantizeLinear(OpImport &n) {
  Value x = n.in(0), scale = n.in(1), zero = n.in(2);
  int64_t axis = scaleAxis(n, x, scale);
  if (axis < 0)
    return failure();
  Type type = n.elem(scale);
  if (int64_t wanted = n.intAttr("output_dtype", 0))
    type = n.elementType(wanted);
  if (!type)
    return failure();
  Type exact = isa<FloatType>(n.elem(x)) ? Type(n.b.getF32Type()) : n.b.getI32Type();
  Value centred = n.convert(x, exact);
  if (zero)
    centred = n.sub(centred, inShapeOf(n, n.convert(zero, exact), x, axis));
  Value steps = inShapeOf(n, n.convert(scale, type), x, axis);
  return n.out(n.mul(n.convert(centred, type), steps));
}

ByteTensor quantizeDynamically(OpImport &n, Value x) {
  if (n.failed())
    return {};
  Type u8 = IntegerType::get(n.b.getContext(), 8, IntegerType::Unsigned);
  Value low = n.min(n.reduce(Combiner::min, x, n.allAxes(x), false), 0);
  Value high = n.max(n.reduce(Combiner::max, x, n.allAxes(x), false), 0);
  Value scale = n.div(n.sub(high, low), 255);
  scale =
      n.select(n.compare(CompareKind::eq, scale, 0), 1, scale); // of zeros alone, as in onnxruntime: 0 / 0 is no code
  Value zero = n.make<RoundOp>(n.min(n.max(n.div(n.sub(0, low), scale), 0), 255));
  zero = n.convert(zero, u8);
  if (n.failed())
    return {};
  return {roundTo(n, x, n.broadcastLike(scale, x), n.broadcastLike(zero, x), u8), scale, zero};
}

static LogicalResult importDynamicQuantizeLinear(OpImport &n) {
  ByteTensor bytes = quantizeDynamically(n, n.in(0));
  (void)n.out(bytes.codes);
  (void)n.out(bytes.scale);
  return n.out(bytes.zero);
}

//===--- products -----------------------------------------------------------------------------------------------===//

/// `value` minus its zero point as i16, which holds every difference of bytes. A rank-1 zero point runs along `axis`.
static Value centre(OpImport &n, Value value, Value zero, int64_t axis) {
  Type i16 = n.b.getIntegerType(16);
  Value wide = n.convert(value, i16);
  if (!zero || n.failed())
    return wide;
  Value offset = n.convert(zero, i16);
  if (n.rank(offset) <= 1)
    return n.sub(wide, alongAxis(n, offset, value, axis));
  return n.sub(wide, offset);
}

/// The standard has products of f8 here, too.
LogicalResult requireBytes(OpImport &n, std::initializer_list<Value> values) {
  for (Value value : values)
    if (value && !n.failed() && !n.elem(value).isInteger(8))
      return n.unsupported("a quantized product of " + dataTypeName(onnxType(n.elem(value))));
  return success(!n.failed());
}

/// True for no zero point, and for constants of zeros.
static bool isZero(Value zero) { return !zero || matchPattern(zero, m_Zero()); }

/// Constant bytes `b` of a product with `a` as signed ones, which CPUs multiply with unsigned bytes: without a zero
/// point where all differences to it are such bytes, else both less 128. `axis` is what zero points of `b` run along.
static void centreConstant(OpImport &n, Value a, Value &b, Value &zero, int64_t axis, bool keepsZeros) {
  std::optional<HostTensor> codes = constantTensor(b), zeros = zero ? constantTensor(zero) : std::nullopt;
  if (!codes || !codes->elementType().isInteger(8) ||
      (zero && (!zeros || zeros->elementType() != codes->elementType())))
    return;
  bool isUnsigned = n.elem(b).isUnsignedInteger();
  std::vector<int64_t> numbers = zeros ? zeros->toInts() : std::vector<int64_t>{0};
  bool areAlong = numbers.size() == 1 || (zeros->shape().size() == 1 && zeros->shape()[0] == codes->shape()[axis]);
  if (!areAlong || (!isUnsigned && isZero(zero)))
    return;
  auto constant = [&](const HostTensor &tensor) -> Value {
    return ConstantOp::create(n.b, n.loc, tensor.tensorType(), tensor.toAttr("centred"));
  };
  if (std::optional<HostTensor> centred = withoutZeros(*codes, numbers, axis)) {
    b = constant(*centred);
    zero = {};
  } else if (keepsZeros && isUnsigned && !isZero(zero) && n.elem(a).isUnsignedInteger()) {
    b = constant(withOtherSign(*codes));
    zero = constant(withOtherSign(*zeros));
  }
}

/// The zero points stay out of the sum over bytes:
///
///   sum (a - za) (b - zb) = sum a b - zb sum a - za sum (b - zb)
///
/// The last sum is a constant where `b` is.
Value integerProduct(OpImport &n, Value a, Value b, Value aZero, Value bZero) {
  if (n.failed())
    return {};
  Type i32 = n.b.getI32Type();
  int64_t aRank = n.rank(a), bRank = n.rank(b);
  centreConstant(n, a, b, bZero, std::max<int64_t>(bRank - 1, 0), /*keepsZeros=*/true);
  auto isLine = [&](Value zero) { return isZero(zero) || n.rank(zero) <= 1; };
  if (aRank < 2 || bRank < 2 || !isLine(aZero) || !isLine(bZero)) {
    Value left = centre(n, a, aZero, std::max<int64_t>(aRank - 2, 0));
    return n.matmul(left, centre(n, b, bZero, std::max<int64_t>(bRank - 1, 0)), i32);
  }
  Value sums = n.matmul(a, b, i32);
  // One number, or one for each row of a [m, 1], each column of b [n].
  auto lineOf = [&](Value zero, bool isRows) {
    Value line = n.convert(zero, i32);
    return isRows && n.rank(line) == 1 ? n.unsqueeze(line, {1}) : line;
  };
  if (!isZero(bZero)) {
    Value totals = n.reduce(Combiner::add, n.convert(a, i32), {aRank - 1}, true);
    sums = n.sub(sums, n.mul(totals, lineOf(bZero, /*isRows=*/false)));
  }
  if (!isZero(aZero)) {
    Value totals = n.reduce(Combiner::add, n.convert(centre(n, b, bZero, bRank - 1), i32), {bRank - 2}, true);
    sums = n.sub(sums, n.mul(totals, lineOf(aZero, /*isRows=*/true)));
  }
  return sums;
}

static LogicalResult importMatMulInteger(OpImport &n) {
  if (failed(requireBytes(n, {n.in(0), n.in(1), n.in(2), n.in(3)})))
    return failure();
  return n.out(integerProduct(n, n.in(0), n.in(1), n.in(2), n.in(3)));
}

/// The convolution of `x` by `filter` less their zero points. Where the filter has none, that of `x` fills the borders
/// and is multiplied with sums of the filter, as in `integerProduct`; else all is centred first.
static Value integerConvolution(OpImport &n, Value x, Value filter, Value xZero, Value filterZero) {
  Type i32 = n.b.getI32Type();
  if (n.failed())
    return {};
  centreConstant(n, x, filter, filterZero, 0, /*keepsZeros=*/false);
  bool isOne = !xZero || n.rank(xZero) == 0 || (n.rank(xZero) == 1 && n.size(xZero, 0) == 1);
  if (!isZero(filterZero) || !isOne)
    return convolve(n, centre(n, x, xZero, 1), centre(n, filter, filterZero, 0), i32);
  if (isZero(xZero))
    return convolve(n, x, filter, i32);
  Value zero = n.reshape(xZero, {});
  Value sums = convolve(n, x, filter, i32, zero);
  if (n.failed())
    return {};
  Value totals = n.reduce(Combiner::add, n.convert(filter, i32), ArrayRef(n.allAxes(filter)).drop_front(), false);
  return n.sub(sums, alongChannels(n, n.mul(totals, n.convert(zero, i32)), sums));
}

static LogicalResult importConvInteger(OpImport &n) {
  if (failed(requireBytes(n, {n.in(0), n.in(1), n.in(2), n.in(3)})))
    return failure();
  return n.out(integerConvolution(n, n.in(0), n.in(1), n.in(2), n.in(3)));
}

/// i32 sums of scale `scale` as `type` with the node's output scale and zero point.
static Value requantize(OpImport &n, Value sums, Value scale, Value outScale, Value outZero, int64_t axis) {
  if (n.failed())
    return {};
  Value factor = n.div(scale, outScale); // at most one of the scales runs along an axis
  Value x = n.mul(n.convert(sums, n.elem(factor)), alongAxis(n, factor, sums, axis));
  return roundTo(n, x, n.full(x, 1), alongAxis(n, outZero, sums, axis), n.elem(outZero));
}

static LogicalResult importQLinearMatMul(OpImport &n) {
  Value a = n.in(0), b = n.in(3), f32Scale = n.in(1);
  if (failed(requireBytes(n, {a, b, n.in(2), n.in(5), n.in(7)})))
    return failure();
  Value sums = integerProduct(n, a, b, n.in(2), n.in(5));
  if (n.failed())
    return failure();
  Type wide = n.b.getF32Type();
  if (n.rank(f32Scale) == 1 && n.size(f32Scale, 0) != 1)
    return n.unsupported("a scale for each row of the first operand");
  Value scale = n.mul(n.convert(n.reshape(f32Scale, {}), wide), n.convert(n.in(4), wide));
  return n.out(requantize(n, sums, scale, n.convert(n.reshape(n.in(6), {}), wide), n.in(7), n.rank(sums) - 1));
}

static LogicalResult importQLinearConv(OpImport &n) {
  if (failed(requireBytes(n, {n.in(0), n.in(3), n.in(2), n.in(5), n.in(7)})))
    return failure();
  Value sums = integerConvolution(n, n.in(0), n.in(3), n.in(2), n.in(5));
  if (n.in(8) && sums)
    sums = n.add(sums, alongChannels(n, n.in(8), sums));
  if (n.failed())
    return failure();
  Value scale = n.mul(n.reshape(n.in(1), {}), n.in(4));
  return n.out(requantize(n, sums, scale, n.reshape(n.in(6), {}), n.in(7), 1));
}

void registerQuantize(Registry &r) {
  r.add("QuantizeLinear", 10, 2, importQuantizeLinear);
  r.add("DequantizeLinear", 10, 2, importDequantizeLinear);
  r.add("DynamicQuantizeLinear", 11, 1, importDynamicQuantizeLinear);
  r.add("MatMulInteger", 10, 2, importMatMulInteger);
  r.add("ConvInteger", 10, 2, importConvInteger);
  r.add("QLinearMatMul", 10, 8, importQLinearMatMul);
  r.add("QLinearConv", 10, 8, importQLinearConv);
  r.addContrib("QLinearConv", 8, [](OpImport &n) {
    return n.intAttr("channels_last", 0) ? importChannelsLast(n, importQLinearConv) : importQLinearConv(n);
  });
}

} // namespace sinter::onnx
