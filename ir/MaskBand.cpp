// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/MaskBand.h"
#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

/// What is added to a score leaves nothing of its exponential beside those of the keys that a row counts, unless scores
/// of a row differ by as much: where f32 scores are that large, the nearest two are 64 apart and a softmax is a step.
/// Exporters write -1e9, or the least number of the type; f16 has -inf alone.
static constexpr double kNever = -1e9;

namespace {
/// A value as a function of its row and column, in the last two axes of a mask: what it depends on, and its numbers. Of
/// a function of the distance these are for all distances, column - row from 1 - rows to columns - 1.
struct Entry {
  enum class Of { nothing, row, column, distance } of = Of::nothing;
  std::vector<double> values; // one for each distance; of a row 0, of a column the distance
};

class Distances {
public:
  Distances(int64_t rows, int64_t columns) : rows(rows), columns(columns) {}
  /// The numbers of `value`, whose axis k is axis axes[k] of the mask (rows are axis 0, columns axis 1, others -1).
  std::optional<Entry> read(Value value, ArrayRef<int> axes);

private:
  int64_t count() const { return rows + columns - 1; }
  Entry uniform(double value) const { return {Entry::Of::nothing, std::vector<double>(count(), value)}; }
  std::optional<Entry> compute(Value value, ArrayRef<int> axes);
  static std::optional<double> apply(Operation *op, ArrayRef<double> x);
  /// The entry as elements of this type: rounded, and nothing where integers would wrap or positions lose digits.
  std::optional<Entry> inType(Entry entry, Type element) const;

  int64_t rows, columns;
  DenseMap<Value, Entry> known; // of two axes or more in the mask's order
};
} // namespace

std::optional<double> Distances::apply(Operation *op, ArrayRef<double> x) {
  return TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](AddOp) { return x[0] + x[1]; })
      .Case([&](SubOp) { return x[0] - x[1]; })
      .Case([&](MulOp) { return x[0] * x[1]; })
      .Case([&](NegOp) { return -x[0]; })
      .Case<AndOp, OrOp, NotOp>([&](auto logical) -> std::optional<double> {
        if (!elementTypeOf(logical).isInteger(1)) // bit by bit
          return std::nullopt;
        if (isa<NotOp>(op))
          return double(x[0] == 0);
        return double(isa<AndOp>(op) ? x[0] != 0 && x[1] != 0 : x[0] != 0 || x[1] != 0);
      })
      .Case([&](SelectOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case([&](ConvertOp convert) -> std::optional<double> {
        if (elementTypeOf(convert).isInteger(1))
          return double(x[0] != 0);
        return x[0] == std::trunc(x[0]) || isa<FloatType>(elementTypeOf(convert)) ? std::optional(x[0]) : std::nullopt;
      })
      .Case([&](CompareOp compare) -> std::optional<double> {
        switch (compare.getKind()) {
        case CompareKind::eq:
          return x[0] == x[1];
        case CompareKind::ne:
          return x[0] != x[1];
        case CompareKind::lt:
          return x[0] < x[1];
        case CompareKind::le:
          return x[0] <= x[1];
        case CompareKind::gt:
          return x[0] > x[1];
        case CompareKind::ge:
          return x[0] >= x[1];
        }
        return std::nullopt;
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Entry> Distances::inType(Entry entry, Type element) const {
  auto integer = dyn_cast<IntegerType>(element);
  auto floating = dyn_cast<FloatType>(element);
  if (!integer && !floating)
    return std::nullopt;
  constexpr int digits = 53; // of what the numbers are formed in
  int bits = integer ? std::min<int>(digits, integer.getWidth()) : static_cast<int>(floating.getFPMantissaWidth());
  bool isSigned = floating || (!integer.isUnsigned() && integer.getWidth() > 1);
  double most = std::ldexp(1.0, integer && isSigned && bits < digits ? bits - 1 : bits) - (integer ? 1 : 0);
  double least = !isSigned ? 0 : integer ? -most - 1 : -most;
  auto isHeld = [&](double number) { return number == std::trunc(number) && number >= least && number <= most; };
  if (entry.of == Entry::Of::row || entry.of == Entry::Of::column) {
    bool isRow = entry.of == Entry::Of::row;
    double first = entry.values[rows - 1]; // of distance 0
    if (!isHeld(first) || !isHeld(first + static_cast<double>((isRow ? rows : columns) - 1)))
      return std::nullopt;
    return entry;
  }
  for (double &value : entry.values) {
    if (integer && !isHeld(value))
      return std::nullopt;
    if (floating && !floating.isF64()) {
      APFloat rounded(value);
      bool losesInfo;
      rounded.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
      value = rounded.convertToDouble();
    }
  }
  return entry;
}

std::optional<Entry> Distances::compute(Value value, ArrayRef<int> axes) {
  if (std::optional<double> number = uniformValue(value))
    return uniform(*number);
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto iota = dyn_cast<IotaOp>(op)) {
    int axis = axes[iota.getAxis()];
    Entry entry = uniform(0);
    if (axis == 0)
      entry.of = Entry::Of::row;
    if (axis == 1) {
      entry.of = Entry::Of::column;
      for (int64_t i = 0; i < count(); ++i)
        entry.values[i] = static_cast<double>(i - (rows - 1));
    }
    bool isOne = axis >= 0 || tensorTypeOf(value).getDimSize(iota.getAxis()) == 1;
    return isOne ? std::optional(entry) : std::nullopt;
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    SmallVector<int> inner;
    for (auto [k, axis] : llvm::enumerate(broadcast.getAxes())) {
      int64_t size = tensorTypeOf(broadcast.getOperand()).getDimSize(k);
      inner.push_back(size == 1 ? -1 : axes[axis]);
    }
    return read(broadcast.getOperand(), inner);
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) { // adds or drops axes of size 1
    RankedTensorType from = tensorTypeOf(reshape.getOperand()), to = tensorTypeOf(value);
    SmallVector<int> inner;
    int64_t k = 0;
    for (int64_t size : from.getShape()) {
      while (size != 1 && k < to.getRank() && to.getDimSize(k) == 1)
        ++k;
      if (size == 1) {
        inner.push_back(-1);
        continue;
      }
      if (k == to.getRank() || to.getDimSize(k) != size)
        return std::nullopt;
      inner.push_back(axes[k++]);
    }
    for (; k < to.getRank(); ++k)
      if (to.getDimSize(k) != 1)
        return std::nullopt;
    return read(reshape.getOperand(), inner);
  }
  if (!isa<AddOp, SubOp, MulOp, NegOp, AndOp, OrOp, NotOp, SelectOp, ConvertOp, CompareOp>(op))
    return std::nullopt;
  SmallVector<Entry> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Entry> entry = read(operand, axes);
    if (!entry)
      return std::nullopt;
    operands.push_back(std::move(*entry));
  }
  // Rows and columns stay such by adding numbers; their difference and comparison are functions of the distance.
  using Of = Entry::Of;
  Entry result = uniform(0);
  auto is = [&](size_t i, Of of) { return operands[i].of == of; };
  bool isPair =
      operands.size() == 2 && ((is(0, Of::row) && is(1, Of::column)) || (is(0, Of::column) && is(1, Of::row)));
  bool hasPosition = llvm::any_of(operands, [](const Entry &e) { return e.of == Of::row || e.of == Of::column; });
  if (isPair && isa<SubOp, CompareOp>(op))
    result.of = Of::distance;
  else if (hasPosition && isa<ConvertOp>(op) && !elementTypeOf(value).isInteger(1))
    result.of = operands[0].of;
  else if (hasPosition && isa<AddOp, SubOp>(op) && is(1, Of::nothing))
    result.of = operands[0].of;
  else if (hasPosition && isa<AddOp>(op) && is(0, Of::nothing))
    result.of = operands[1].of;
  else if (hasPosition)
    return std::nullopt;
  else if (llvm::any_of(operands, [](const Entry &e) { return e.of == Of::distance; }))
    result.of = Of::distance;
  for (int64_t i = 0; i < count(); ++i) {
    SmallVector<double> x = llvm::map_to_vector(operands, [&](const Entry &e) { return e.values[i]; });
    std::optional<double> value = apply(op, x);
    if (!value)
      return std::nullopt;
    result.values[i] = *value;
  }
  return result;
}

std::optional<Entry> Distances::read(Value value, ArrayRef<int> axes) {
  bool isWhole = axes.size() >= 2 && axes[axes.size() - 2] == 0 && axes.back() == 1;
  if (auto found = known.find(value); isWhole && found != known.end())
    return found->second;
  std::optional<Entry> entry = compute(value, axes);
  if (entry)
    entry = inType(std::move(*entry), getElementTypeOrSelf(value));
  if (entry && isWhole)
    known[value] = *entry;
  return entry;
}

std::optional<MaskBand> sinter::findMaskBand(Value mask) {
  auto type = dyn_cast<RankedTensorType>(mask.getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 2)
    return std::nullopt;
  int64_t rank = type.getRank(), rows = type.getDimSize(rank - 2), columns = type.getDimSize(rank - 1);
  if (rows < 1 || columns < 1 || rows * columns == 1 || *countElements(type.getShape()) != rows * columns ||
      rows + columns > (int64_t(1) << 24))
    return std::nullopt;
  bool isBool = type.getElementType().isInteger(1);
  if (!isBool && !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  // 1: counts, 0: does not, nothing: neither 0 nor far below.
  bool isInfinite = !isBool;
  auto counts = [&](double value) -> std::optional<bool> {
    if (isBool)
      return value != 0;
    if (value == 0)
      return true;
    isInfinite &= std::isinf(value);
    return value <= kNever ? std::optional(false) : std::nullopt;
  };

  // The bounds of each row that show where the band ends.
  std::optional<int64_t> before, after;
  int64_t leastBefore = INT64_MIN, leastAfter = INT64_MIN; // of rows that the mask's edges cut
  auto addRow = [&](int64_t row, int64_t first, int64_t end) {
    if (first >= end)
      return false;
    auto settle = [](std::optional<int64_t> &bound, int64_t &least, int64_t value, bool isCut) {
      if (isCut) {
        least = std::max(least, value);
        return true;
      }
      bool agrees = !bound || *bound == value;
      bound = value;
      return agrees;
    };
    return settle(before, leastBefore, row - first, first == 0) &&
           settle(after, leastAfter, end - 1 - row, end == columns);
  };

  Value elements = withoutReshapes(mask); // in the mask's order
  if (auto constant = elements.getDefiningOp<ConstantOp>()) {
    FailureOr<HostTensor> read = HostTensor::fromAttr(constant.getValue());
    if (failed(read))
      return std::nullopt;
    const HostTensor &values = *read;
    for (int64_t row = 0; row < rows; ++row) {
      int64_t first = -1, end = -1;
      for (int64_t column = 0; column < columns; ++column) {
        int64_t at = row * columns + column;
        std::optional<bool> isCounted = counts(isBool ? double(values.getInt(at) != 0) : values.getFloat(at));
        if (!isCounted || (*isCounted && end >= 0 && end != column))
          return std::nullopt;
        if (!*isCounted)
          continue;
        first = first < 0 ? column : first;
        end = column + 1;
      }
      if (!addRow(row, first, end))
        return std::nullopt;
    }
  } else {
    SmallVector<int> axes(rank, -1);
    axes[rank - 2] = 0;
    axes[rank - 1] = 1;
    std::optional<Entry> entry = Distances(rows, columns).read(mask, axes);
    if (!entry || entry->of != Entry::Of::distance)
      return std::nullopt;
    int64_t low = -1, high = -1; // the places of the first distance that counts, and of one behind the last
    for (auto [i, value] : llvm::enumerate(entry->values)) {
      auto place = static_cast<int64_t>(i);
      std::optional<bool> isCounted = counts(value);
      if (!isCounted || (*isCounted && high >= 0 && high != place))
        return std::nullopt;
      if (!*isCounted)
        continue;
      low = low < 0 ? place : low;
      high = place + 1;
    }
    if (low < 0)
      return std::nullopt;
    for (int64_t row = 0; row < rows; ++row) // distance d is at place d + rows - 1
      if (!addRow(row, std::max<int64_t>(row + low - (rows - 1), 0), std::min(row + high - (rows - 1), columns)))
        return std::nullopt;
  }
  if ((before && *before < leastBefore) || (after && *after < leastAfter))
    return std::nullopt;
  return MaskBand{before, after, isInfinite};
}
