// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Quantized.h"
#include "ir/Constants.h"
#include "ir/ElementMoves.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"

#include "mlir/IR/Matchers.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sinter;

static bool isByte(Type element) { return element.isInteger(8); }
static double lowestCode(Type byte) { return byte.isUnsignedInteger() ? 0 : -128; }

/// The numbers of a list that repeat one are that one.
static NumbersAlong shortest(NumbersAlong along) {
  if (llvm::all_equal(along.numbers) && !along.numbers.empty())
    return {-1, {along.numbers.front()}};
  return along;
}

std::optional<NumbersAlong> sinter::numbersAlong(Value value) {
  SmallVector<Operation *> way; // from the value to the constant
  ElementsAttr attr;
  while (!matchPattern(value, m_Constant(&attr))) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<BroadcastOp, ReshapeOp, ConvertOp>(op))
      return std::nullopt;
    way.push_back(op);
    value = op->getOperand(0);
  }
  RankedTensorType type = tensorTypeOf(value);
  int64_t axis = -1;
  for (auto [k, size] : llvm::enumerate(type.getShape()))
    if (size != 1) {
      if (axis >= 0 && !attr.isSplat())
        return std::nullopt;
      axis = static_cast<int64_t>(k);
    }
  if (attr.isSplat())
    axis = -1;
  for (Operation *op : llvm::reverse(way)) {
    if (axis < 0)
      continue;
    if (auto broadcast = dyn_cast<BroadcastOp>(op))
      axis = broadcast.getAxes()[axis];
    else if (isa<ReshapeOp>(op))
      return std::nullopt;
  }
  FailureOr<HostTensor> tensor = HostTensor::fromAttr(attr);
  if (failed(tensor) || tensor->numElements() == 0)
    return std::nullopt;
  for (Operation *op : llvm::reverse(way)) // each conversion rounds
    if (auto convert = dyn_cast<ConvertOp>(op)) {
      HostTensor converted(elementTypeOf(convert), tensor->shape());
      converted.assignFloats(tensor->toFloats());
      tensor = converted;
    }
  std::vector<double> numbers = tensor->toFloats();
  if (axis < 0)
    numbers.resize(1);
  return shortest({axis, std::move(numbers)});
}

//===- numbers of bytes ----------------------------------------------------------------------===//

/// `along` joined to a list that runs along `axis`; false when it runs along another axis.
static bool agrees(const NumbersAlong &along, int64_t &axis) {
  if (along.axis < 0)
    return true;
  if (axis < 0)
    axis = along.axis;
  return axis == along.axis;
}

bool sinter::holdsAll(Type wide, Type narrow) {
  auto to = dyn_cast<IntegerType>(wide), from = dyn_cast<IntegerType>(narrow);
  if (!to || !from)
    return false;
  if (from.isUnsigned())
    return to.getWidth() > from.getWidth() || (to.isUnsigned() && to.getWidth() == from.getWidth());
  return !to.isUnsigned() && to.getWidth() >= from.getWidth();
}

/// (code - zeros) * scales where the value is written so.
static std::optional<Quantized> written(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  auto number = product ? product.getLhs().getDefiningOp<ConvertOp>() : ConvertOp();
  std::optional<NumbersAlong> scales = number ? numbersAlong(product.getRhs()) : std::nullopt;
  if (!scales || !elementTypeOf(value).isF32())
    return std::nullopt;
  Quantized result;
  result.scales = std::move(scales->numbers);
  result.axis = scales->axis;
  result.zeros = {0};
  Value integer = number.getOperand();
  while (auto difference = integer.getDefiningOp<SubOp>()) {
    std::optional<NumbersAlong> zeros = numbersAlong(difference.getRhs());
    bool areSmall = zeros && llvm::all_of(zeros->numbers, [](double zero) { return std::abs(zero) <= kMostZero; });
    if (!areSmall || !elementTypeOf(integer).isSignlessInteger(32) || !agrees(*zeros, result.axis))
      return std::nullopt;
    if (result.zeros.size() == 1)
      result.zeros.resize(zeros->numbers.size(), result.zeros.front());
    for (auto [k, zero] : llvm::enumerate(result.zeros))
      zero += zeros->numbers[zeros->numbers.size() == 1 ? 0 : k];
    integer = difference.getLhs();
  }
  if (auto convert = integer.getDefiningOp<ConvertOp>(); convert && !isByte(elementTypeOf(integer))) {
    if (!holdsAll(elementTypeOf(integer), elementTypeOf(convert.getOperand())))
      return std::nullopt;
    integer = convert.getOperand();
  }
  if (!isByte(elementTypeOf(integer)))
    return std::nullopt;
  result.codes = integer;
  return result;
}

/// Ops that only move elements of their first operand, and add none; the others say where.
static bool onlyMoves(Operation *op) {
  return (movesElements(op) && !isa<PadOp>(op)) || isa<ReshapeOp, BroadcastOp>(op);
}

/// Whether every window reads an element: what reads padding alone is no code.
static bool alwaysReads(ReduceWindowOp op) {
  auto isInside = [](int64_t low, int64_t high, int64_t window) { return std::max<int64_t>({low, high, 0}) < window; };
  for (auto [low, high, window, dilation] : llvm::zip(op.getLow(), op.getHigh(), op.getWindow(), op.getDilations()))
    if (!isInside(low, high, window) || (dilation != 1 && (low > 0 || high > 0)))
      return false;
  RankedTensorType type = tensorTypeOf(op.getOperand());
  return type.hasStaticShape() && type.getNumElements() > 0;
}

/// The greatest of numbers whose scale is positive is that of the greatest code.
static std::optional<Quantized> pooled(ReduceWindowOp op, OpBuilder &b) {
  if (op.getCombiner() != Combiner::max || !alwaysReads(op))
    return std::nullopt;
  std::optional<Quantized> before = Quantized::of(op.getOperand(), b);
  if (!before || !before->isUniform() || !(before->scales.front() > 0 && std::isfinite(before->scales.front())))
    return std::nullopt;
  Operation *pool = b.clone(*op);
  pool->setOperand(0, before->codes);
  pool->getResult(0).setType(tensorTypeOf(op.getResult()).clone(elementTypeOf(before->codes)));
  before->codes = pool->getResult(0);
  return before;
}

static std::optional<Quantized> joined(ConcatenateOp op, OpBuilder &b) {
  std::optional<Quantized> first;
  SmallVector<Value> parts;
  for (Value operand : op.getOperands()) {
    std::optional<Quantized> part = Quantized::of(operand, b);
    if (!part || !part->isUniform() ||
        (first && (part->zeros != first->zeros || part->scales != first->scales ||
                   elementTypeOf(part->codes) != elementTypeOf(first->codes))))
      return std::nullopt;
    parts.push_back(part->codes);
    if (!first)
      first = std::move(part);
  }
  if (first)
    first->codes = ConcatenateOp::create(b, op.getLoc(), parts, op.getAxis());
  return first;
}

std::optional<Quantized> Quantized::of(Value value, OpBuilder &b) {
  if (std::optional<Quantized> direct = written(value))
    return direct;
  Operation *op = value.getDefiningOp();
  if (auto join = dyn_cast_or_null<ConcatenateOp>(op))
    return joined(join, b);
  if (auto pool = dyn_cast_or_null<ReduceWindowOp>(op))
    return pooled(pool, b);
  if (!op || !onlyMoves(op))
    return std::nullopt;
  std::optional<Quantized> before = of(op->getOperand(0), b);
  if (!before)
    return std::nullopt;
  if (!before->isUniform())
    before->axis = movedAxis(op, before->axis);
  if (before->isUniform() && (before->scales.size() != 1 || before->zeros.size() != 1))
    return std::nullopt;
  Operation *moved = b.clone(*op);
  moved->setOperand(0, before->codes);
  auto type = tensorTypeOf(value).clone(elementTypeOf(before->codes));
  moved->getResult(0).setType(type);
  if (moved->hasAttr("type"))
    moved->setAttr("type", TypeAttr::get(type));
  before->codes = moved->getResult(0);
  return before;
}

std::optional<HostTensor> sinter::withoutZeros(const HostTensor &codes, ArrayRef<int64_t> zeros, int64_t axis) {
  bool isUnsigned = codes.elementType().isUnsignedInteger();
  int64_t inner = zeros.size() == 1 ? 1 : codes.strides()[axis], count = codes.numElements();
  HostTensor centred(IntegerType::get(codes.elementType().getContext(), 8), codes.shape());
  const char *from = codes.data();
  char *to = centred.data();
  for (int64_t i = 0; i < count; ++i) {
    int64_t code = isUnsigned ? int64_t(uint8_t(from[i])) : int64_t(int8_t(from[i]));
    int64_t difference = code - zeros[i / inner % static_cast<int64_t>(zeros.size())];
    if (difference < -128 || difference > 127)
      return std::nullopt;
    to[i] = static_cast<char>(difference);
  }
  return centred;
}

HostTensor sinter::withOtherSign(const HostTensor &codes) {
  auto sign = codes.elementType().isUnsignedInteger() ? IntegerType::Signless : IntegerType::Unsigned;
  HostTensor shifted(IntegerType::get(codes.elementType().getContext(), 8, sign), codes.shape());
  std::transform(codes.data(), codes.data() + codes.numBytes(), shifted.data(),
                 [](char code) { return static_cast<char>(code ^ char(0x80)); });
  return shifted;
}

bool Quantized::hasZeros() const {
  return llvm::any_of(zeros, [](double zero) { return zero != 0; });
}

double Quantized::most() const {
  double low = lowestCode(elementTypeOf(codes)), high = low + 255, most = 0;
  for (double zero : zeros)
    most = std::max({most, std::abs(low - zero), std::abs(high - zero)});
  return most;
}

//===- bytes of numbers ----------------------------------------------------------------------===//

std::optional<Quantization> Quantization::of(ConvertOp op) {
  Type element = elementTypeOf(op.getResult());
  if (!isByte(element) || !elementTypeOf(op.getOperand()).isF32())
    return std::nullopt;
  double low = lowestCode(element);
  auto below = splitNumber<MinOp>(op.getOperand());
  auto above = below ? splitNumber<MaxOp>(below->first) : std::nullopt;
  if (!above || below->second != low + 255 || above->second != low)
    return std::nullopt;
  Quantization result;
  result.zero = 0;
  result.rounded = result.shifted = above->first;
  if (auto sum = splitNumber<AddOp>(result.shifted)) {
    result.zero = sum->second;
    result.rounded = sum->first;
  }
  auto round = result.rounded.getDefiningOp<RoundOp>();
  result.division = round ? round.getOperand().getDefiningOp<DivOp>() : DivOp();
  auto divided = round ? splitNumber<DivOp>(round.getOperand()) : std::nullopt;
  if (!divided)
    return std::nullopt;
  // A conversion truncates towards 0: with a part of a number the sum's sign would count.
  if (result.zero != std::floor(result.zero) || result.zero < low || result.zero > low + 255)
    return std::nullopt;
  result.scale = divided->second;
  return result;
}

Value Quantization::round(Composer &b, Value number, Type byte) const {
  double low = lowestCode(byte);
  number = b.make<RoundOp>(b.make<DivOp>(number, b.fill(scale, number)));
  number = b.make<AddOp>(number, b.fill(zero, number));
  number = b.make<MaxOp>(number, b.fill(low, number));
  return b.convert(b.make<MinOp>(number, b.fill(low + 255, number)), byte);
}
