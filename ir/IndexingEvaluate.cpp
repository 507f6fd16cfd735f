// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reference evaluation. Ops whose result sizes depend on data find the places first and move the elements then.

#include "ir/Indexing.h"
#include "ir/Limits.h"
#include "ir/reference/Moves.h"

#include <cmath>
#include <map>
#include <numeric>

using namespace mlir;
using namespace sinter;

using Tensors = SmallVector<HostTensor>;

static HostTensor ints(MLIRContext *context, ArrayRef<int64_t> values) {
  return HostTensor::ofInts(IntegerType::get(context, 64), values);
}

//===- gather --------------------------------------------------------------------------------===//

FailureOr<Tensors> GatherOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0], &positions = operands[1];
  int64_t axis = getAxis(), depth = positions.rank();
  SmallVector<int64_t> shape(operand.shape().take_front(axis));
  llvm::append_range(shape, positions.shape());
  llvm::append_range(shape, operand.shape().drop_front(axis + 1));
  if (failed(requireRoom(*this, evaluator, operand.elementType(), shape)))
    return failure();
  std::vector<int64_t> places = positions.toInts();
  SmallVector<int64_t> strides = operand.strides(), positionStrides = positions.strides();
  return Tensors{takeElements(operand, shape, [&](ArrayRef<int64_t> index) -> int64_t {
    int64_t place = readPosition(places[linearIndex(index.slice(axis, depth), positionStrides)], operand.size(axis));
    if (place < 0)
      return -1;
    return linearIndex(index.take_front(axis), ArrayRef(strides).take_front(axis)) + place * strides[axis] +
           linearIndex(index.drop_front(axis + depth), ArrayRef(strides).drop_front(axis + 1));
  })};
}

FailureOr<Tensors> GatherElementsOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0], &positions = operands[1];
  int64_t axis = getAxis(), at = 0;
  if (failed(requireRoom(*this, evaluator, operand.elementType(), positions.shape())))
    return failure();
  std::vector<int64_t> places = positions.toInts();
  SmallVector<int64_t> strides = operand.strides();
  return Tensors{takeElements(operand, positions.shape(), [&](ArrayRef<int64_t> index) -> int64_t {
    int64_t position = 0, place = places[at++];
    for (auto [k, i] : llvm::enumerate(index)) {
      int64_t read = readPosition(static_cast<int64_t>(k) == axis ? place : i, operand.size(k));
      if (read < 0)
        return -1;
      position += read * strides[k];
    }
    return position;
  })};
}

FailureOr<Tensors> GatherNdOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0], &positions = operands[1];
  int64_t batch = getBatchAxes(), depth = positions.rank() - 1, length = positions.shape().back();
  for (int64_t axis = 0; axis < batch; ++axis)
    if (operand.size(axis) != positions.size(axis))
      return emitOpError() << "requires equal batch sizes, got " << operand.size(axis) << " and "
                           << positions.size(axis) << " for axis " << axis;
  SmallVector<int64_t> shape(positions.shape().drop_back());
  llvm::append_range(shape, operand.shape().drop_front(batch + length));
  if (failed(requireRoom(*this, evaluator, operand.elementType(), shape)))
    return failure();
  std::vector<int64_t> places = positions.toInts();
  SmallVector<int64_t> strides = operand.strides(), positionStrides = positions.strides();
  return Tensors{takeElements(operand, shape, [&](ArrayRef<int64_t> index) -> int64_t {
    int64_t tuple = linearIndex(index.take_front(depth), ArrayRef(positionStrides).drop_back());
    int64_t position = linearIndex(index.take_front(batch), ArrayRef(strides).take_front(batch));
    for (int64_t k = 0; k < length; ++k) {
      int64_t read = readPosition(places[tuple + k], operand.size(batch + k));
      if (read < 0)
        return -1;
      position += read * strides[batch + k];
    }
    return position + linearIndex(index.drop_front(depth), ArrayRef(strides).drop_front(batch + length));
  })};
}

//===- scatter -------------------------------------------------------------------------------===//

template <typename T> static T combine(Combiner combiner, T a, T b) {
  switch (combiner) {
  case Combiner::add:
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    return a + b;
  case Combiner::mul:
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    return a * b;
  case Combiner::max:
    return a != a ? a : b != b ? b : std::max(a, b);
  case Combiner::min:
    return a != a ? a : b != b ? b : std::min(a, b);
  case Combiner::logical_and:
    if constexpr (std::is_integral_v<T>)
      return a & b;
    return a != 0 && b != 0;
  case Combiner::logical_or:
    if constexpr (std::is_integral_v<T>)
      return a | b;
    return a != 0 || b != 0;
  case Combiner::set:
    return b;
  }
  llvm_unreachable("all combiners handled");
}

/// result[to(i)] = result[to(i)] combined with updates[i], i in row-major order; a negative place is skipped.
static HostTensor scatter(const HostTensor &operand, const HostTensor &updates, Combiner combiner,
                          function_ref<int64_t(ArrayRef<int64_t>)> to) {
  HostTensor result = operand;
  auto run = [&](auto values, auto added) {
    using T = typename decltype(values)::value_type;
    bool asUnsigned = isUnsigned(operand.elementType());
    int64_t i = 0;
    forEachIndex(updates.shape(), [&](ArrayRef<int64_t> index) {
      T update = added[i++];
      int64_t place = to(index);
      if (place < 0)
        return;
      if constexpr (std::is_integral_v<T>)
        if (asUnsigned && (combiner == Combiner::max || combiner == Combiner::min)) {
          values[place] = static_cast<T>(
              combine<uint64_t>(combiner, static_cast<uint64_t>(values[place]), static_cast<uint64_t>(update)));
          return;
        }
      values[place] = combine<T>(combiner, values[place], update);
    });
    return values;
  };
  if (operand.isFloat())
    result.assignFloats(run(operand.toFloats(), updates.toFloats()));
  else
    result.assignInts(run(operand.toInts(), updates.toInts()));
  return result;
}

FailureOr<Tensors> ScatterElementsOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0], &positions = operands[1];
  if (positions.shape() != operands[2].shape())
    return emitOpError() << "requires updates of positions' shape " << printShape(positions.shape()) << ", got "
                         << printShape(operands[2].shape());
  int64_t axis = getAxis(), at = 0;
  std::vector<int64_t> places = positions.toInts();
  SmallVector<int64_t> strides = operand.strides();
  return Tensors{scatter(operand, operands[2], getCombiner(), [&](ArrayRef<int64_t> index) -> int64_t {
    int64_t position = 0, place = places[at++];
    for (auto [k, i] : llvm::enumerate(index)) {
      int64_t write = writePosition(static_cast<int64_t>(k) == axis ? place : i, operand.size(k));
      if (write < 0)
        return -1;
      position += write * strides[k];
    }
    return position;
  })};
}

FailureOr<Tensors> ScatterNdOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0], &positions = operands[1], &updates = operands[2];
  int64_t depth = positions.rank() - 1, length = positions.shape().back();
  SmallVector<int64_t> shape(positions.shape().drop_back());
  llvm::append_range(shape, operand.shape().drop_front(length));
  if (updates.shape() != ArrayRef(shape))
    return emitOpError() << "requires updates of shape " << printShape(shape) << ", got "
                         << printShape(updates.shape());
  std::vector<int64_t> places = positions.toInts();
  SmallVector<int64_t> strides = operand.strides(), positionStrides = positions.strides();
  return Tensors{scatter(operand, updates, getCombiner(), [&](ArrayRef<int64_t> index) -> int64_t {
    int64_t tuple = linearIndex(index.take_front(depth), ArrayRef(positionStrides).drop_back()), position = 0;
    for (int64_t k = 0; k < length; ++k) {
      int64_t write = writePosition(places[tuple + k], operand.size(k));
      if (write < 0)
        return -1;
      position += write * strides[k];
    }
    return position + linearIndex(index.drop_front(depth), ArrayRef(strides).drop_front(length));
  })};
}

//===- sizes that depend on data -------------------------------------------------------------===//

FailureOr<Tensors> NonzeroOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  SmallVector<std::vector<int64_t>> found(operand.rank());
  int64_t i = 0, count = 0;
  // A fraction, a NaN and the least integer are not zero either.
  auto isNonzero = [&](int64_t at) { return operand.isFloat() ? operand.getFloat(at) != 0 : operand.getInt(at) != 0; };
  forEachIndex(operand.shape(), [&](ArrayRef<int64_t> index) {
    if (!isNonzero(i++))
      return;
    ++count;
    for (auto [list, position] : llvm::zip(found, index))
      list.push_back(position);
  });
  HostTensor result(IntegerType::get(getContext(), 64), {operand.rank(), count});
  std::vector<int64_t> all;
  for (const std::vector<int64_t> &list : found)
    all.insert(all.end(), list.begin(), list.end());
  result.assignInts(all);
  return Tensors{result};
}

/// Slices of `axis` at `places`, in that order.
static HostTensor takeSlices(const HostTensor &operand, int64_t axis, ArrayRef<int64_t> places) {
  SmallVector<int64_t> shape(operand.shape()), strides = operand.strides();
  shape[axis] = places.size();
  return takeElements(operand, shape, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [k, i] : llvm::enumerate(index))
      position += strides[k] * (static_cast<int64_t>(k) == axis ? places[i] : i);
    return position;
  });
}

FailureOr<Tensors> CompressOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0], &mask = operands[1];
  if (mask.numElements() > operand.size(getAxis()))
    return emitOpError() << "requires a mask of at most " << operand.size(getAxis()) << " elements, got "
                         << mask.numElements();
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < mask.numElements(); ++i)
    if (mask.getInt(i))
      places.push_back(i);
  return Tensors{takeSlices(operand, getAxis(), places)};
}

FailureOr<Tensors> UniqueOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  int64_t axis = getAxis(), count = operand.size(axis);
  // Slices as rows, in an order in which NaN comes last and equals itself.
  SmallVector<int64_t> strides = operand.strides(), rest(operand.shape());
  rest[axis] = 1;
  std::vector<int64_t> offsets;
  forEachIndex(rest, [&](ArrayRef<int64_t> index) { offsets.push_back(linearIndex(index, strides)); });
  auto less = [&](int64_t a, int64_t b) {
    for (int64_t offset : offsets) {
      int64_t i = offset + a * strides[axis], j = offset + b * strides[axis];
      if (operand.isFloat()) {
        double x = operand.getFloat(i), y = operand.getFloat(j);
        if (std::isnan(x) || std::isnan(y)) {
          if (std::isnan(x) != std::isnan(y))
            return std::isnan(y);
          continue;
        }
        if (x != y)
          return x < y;
      } else if (isUnsigned(operand.elementType())) {
        auto x = static_cast<uint64_t>(operand.getInt(i)), y = static_cast<uint64_t>(operand.getInt(j));
        if (x != y)
          return x < y;
      } else if (operand.getInt(i) != operand.getInt(j)) {
        return operand.getInt(i) < operand.getInt(j);
      }
    }
    return false;
  };
  SmallVector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return less(a, b) || (a < b && !less(b, a)); });
  // Each run of equal slices begins with its first occurrence.
  SmallVector<int64_t> first, inverse(count), counts;
  for (auto [rank, slice] : llvm::enumerate(order)) {
    if (rank == 0 || less(first.back(), slice)) {
      first.push_back(slice);
      counts.push_back(0);
    }
    inverse[slice] = first.size() - 1;
    ++counts.back();
  }
  if (!getSorted()) {
    SmallVector<int64_t> byPlace(first.size()), rankOf(first.size());
    std::iota(byPlace.begin(), byPlace.end(), 0);
    llvm::sort(byPlace, [&](int64_t a, int64_t b) { return first[a] < first[b]; });
    SmallVector<int64_t> firstThere, countsThere;
    for (auto [rank, value] : llvm::enumerate(byPlace)) {
      rankOf[value] = rank;
      firstThere.push_back(first[value]);
      countsThere.push_back(counts[value]);
    }
    for (int64_t &value : inverse)
      value = rankOf[value];
    first = firstThere;
    counts = countsThere;
  }
  return Tensors{takeSlices(operand, axis, first), ints(getContext(), first), ints(getContext(), inverse),
                 ints(getContext(), counts)};
}

namespace {
/// A box by its corners, in the precision of the op so that ties fall as they do in compiled code.
struct Corners {
  float y1, x1, y2, x2;
  float area() const { return (y2 - y1) * (x2 - x1); }
};
} // namespace

static Corners readBox(const HostTensor &boxes, int64_t row, bool centerPoint) {
  float v[4];
  for (int64_t k = 0; k < 4; ++k)
    v[k] = static_cast<float>(boxes.getFloat(row * 4 + k));
  if (centerPoint)
    return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

/// True when the two boxes overlap by more than `threshold` of their union.
static bool overlaps(const Corners &a, const Corners &b, float threshold) {
  float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1), width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (!(height > 0) || !(width > 0) || !(a.area() > 0) || !(b.area() > 0))
    return false;
  float common = height * width;
  return common / (a.area() + b.area() - common) > threshold;
}

FailureOr<Tensors> NonMaxSuppressionOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &boxes = operands[0], &scores = operands[1];
  int64_t count = boxes.size(1), classes = scores.size(1);
  if (boxes.size(0) != scores.size(0) || scores.size(2) != count)
    return emitOpError() << "requires scores of shape [batch, classes, count], got " << printShape(scores.shape())
                         << " for boxes " << printShape(boxes.shape());
  int64_t most = operands[2].getInt(0);
  auto overlap = static_cast<float>(operands[3].getFloat(0)), least = static_cast<float>(operands[4].getFloat(0));
  std::vector<int64_t> kept;
  for (int64_t batch = 0; batch < boxes.size(0); ++batch)
    for (int64_t kind = 0; kind < classes; ++kind) {
      auto score = [&](int64_t box) {
        return static_cast<float>(scores.getFloat((batch * classes + kind) * count + box));
      };
      SmallVector<int64_t> candidates;
      for (int64_t box = 0; box < count; ++box)
        if (score(box) > least)
          candidates.push_back(box);
      llvm::sort(candidates, [&](int64_t a, int64_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
      SmallVector<Corners> selected;
      for (int64_t box : candidates) {
        if (static_cast<int64_t>(selected.size()) >= most)
          break;
        Corners corners = readBox(boxes, batch * count + box, getCenterPointBox());
        if (llvm::any_of(selected, [&](const Corners &other) { return overlaps(corners, other, overlap); }))
          continue;
        selected.push_back(corners);
        kept.insert(kept.end(), {batch, kind, box});
      }
    }
  HostTensor result(IntegerType::get(getContext(), 64), {static_cast<int64_t>(kept.size()) / 3, 3});
  result.assignInts(kept);
  return Tensors{result};
}
