// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "scan.hpp"
#include "Apply.h"
#include "Loops.h"
#include "There.h"

namespace sinter::inline SINTER_HOST::detail {

/// Slice `index` of an axis of a tensor with elements.
static Tensor sliceOf(const Tensor &tensor, int axis, int64_t index, Where where) {
  Shape shape = tensor.known_shape();
  if (dtype_bytes(tensor.dtype()) == 0 || deviceOf(tensor) || isRecorded(std::span(&tensor, 1))) {
    Shape starts, limits = shape, steps;
    for (int k = 0; k < shape.size(); ++k) {
      starts.push_back(k == axis ? index : 0);
      steps.push_back(1);
    }
    limits[axis] = index + 1;
    shape.erase(axis);
    Tensor slice =
        apply("slice", {tensor}, {Attr("starts", starts), Attr("limits", limits), Attr("steps", steps)}, where);
    return apply("reshape", {slice}, {Attr("type", TensorType{tensor.dtype(), shape})}, where);
  }
  int64_t outer = 1, inner = dtype_bytes(tensor.dtype()), size = shape[axis];
  for (int k = 0; k < shape.size(); ++k)
    if (k != axis)
      (k < axis ? outer : inner) *= shape[k];
  shape.erase(axis);
  Tensor result = Tensor::empty(tensor.dtype(), shape, where);
  auto *from = static_cast<const char *>(tensor.view().data);
  auto *to = static_cast<char *>(result.view().data);
  for (int64_t row = 0; row < outer && inner && !result.error(); ++row)
    std::memcpy(to + row * inner, from + (row * size + index) * inner, size_t(inner));
  return result;
}

static Tensor literal(DType dtype, int value, Where where) { return convert(Tensor(value), dtype, where); }

/// Zeros of the type of a slice.
static Tensor zerosLikeSlice(const Tensor &tensor, int axis, Where where) {
  TensorType type = tensor.type();
  type.shape.erase(axis);
  Tensor zero = literal(type.dtype, 0, where);
  if (type.shape.isStatic())
    return apply("broadcast", {zero}, {Attr("axes", {}), Attr("type", type), Attr("operandSegmentSizes", {1, 0, 0})},
                 where);
  Tensor sizes = apply("shape", {tensor}, {}, where);
  Tensor before = apply("slice", {sizes}, {Attr("starts", {0}), Attr("limits", {axis}), Attr("steps", {1})}, where);
  Tensor after =
      apply("slice", {sizes}, {Attr("starts", {axis + 1}), Attr("limits", {tensor.rank()}), Attr("steps", {1})}, where);
  sizes = apply("concatenate", {before, after}, {Attr("axis", 0)}, where);
  return apply("broadcast", {zero, sizes},
               {Attr("axes", {}), Attr("type", type), Attr("operandSegmentSizes", {1, 1, 0})}, where);
}

/// `a` when the rank-0 `predicate` holds, else `b`.
static Tensor chooseAll(const Tensor &predicate, const Tensor &a, const Tensor &b, Where where) {
  TensorType type{DType::boolean, a.known_shape()};
  Tensor mask = apply("broadcast", {predicate, a},
                      {Attr("axes", {}), Attr("type", type), Attr("operandSegmentSizes", {1, 0, 1})}, where);
  return apply("select", {mask, a, b}, {}, where);
}

static Tensor moveFirstAxis(const Tensor &tensor, int axis, Where where) {
  Shape permutation;
  for (int k = 1; k < tensor.rank(); ++k)
    permutation.push_back(k);
  permutation.insert(axis < 0 ? axis + tensor.rank() : axis, 0);
  return apply("transpose", {tensor}, {Attr("permutation", permutation)}, where);
}

void scanTrips(const char *name, AnyTrip trip, AnyTree xs, const ScanOptions &options, Where where, ScanBody body) {
  std::vector<Tensor> sequences = xs.leaves();
  auto stop = [&](const std::string &message) { trip.all.poison(fail(where, name + (" requires " + message))); };
  if (sequences.empty()) {
    if (options.reverse)
      return stop("sequences to walk in reverse, got none");
    if (options.length < 0)
      return stop("sequences or a length, got neither");
    Range range(Operand(int64_t(0), where), Operand(options.length, where), Operand(int64_t(1), where));
    return forTrips(name, range, {options.memory}, trip,
                    [&](const Tensor *, const void *carry, void *next) { body(carry, xs.tree, next); });
  }
  std::vector<TensorType> slices;
  std::vector<int64_t> axes;
  int64_t length = options.length;
  for (const Tensor &sequence : sequences) {
    int axis = options.axis < 0 ? options.axis + sequence.rank() : options.axis;
    if (sequence.error())
      return trip.all.poison(sequence);
    if (axis < 0 || axis >= sequence.rank())
      return stop("sequences with an axis " + std::to_string(options.axis) + ", got " + sequence.type().str());
    TensorType slice = sequence.type();
    int64_t size = slice.shape[axis];
    if (size >= 0 && length >= 0 && size != length)
      return stop("sequences of one length, got " + std::to_string(length) + " and " + std::to_string(size));
    length = size >= 0 ? size : length;
    slice.shape.erase(axis);
    slices.push_back(slice);
    axes.push_back(axis);
  }
  LoopParts parts{{}, slices, {}};
  auto inner = [&](const void *carry, std::span<const Tensor>, std::span<const Tensor> trailing, void *next) {
    std::shared_ptr<void> here = xs.clone();
    xs.at(here.get()).setLeaves(trailing);
    body(carry, here.get(), next);
  };
  Trace *trace = Trace::current();
  if (!trace) {
    Around around;
    around.second.resize(sequences.size());
    return runLoop(
        name, where, trip, parts, [&](const void *, int64_t trip) { return scalar(trip < length, where); },
        [&](int64_t trip) -> const Around & {
          for (size_t k = 0; k < sequences.size(); ++k)
            around.second[k] = sliceOf(sequences[k], int(axes[k]), options.reverse ? length - 1 - trip : trip, where);
          return around;
        },
        inner, {0, options.reverse});
  }
  std::vector<uint32_t> ids;
  std::vector<TensorType> types;
  if (!materializeOrPoison(*trace, anyTree(sequences), where, ids, types, trip.all))
    return;
  parts.operands = ids;
  traceLoop(*trace, name, where, trip, parts, 0, inner,
            [&](std::span<const uint32_t> init, std::span<const TensorType>, uint32_t region, int32_t room,
                uint32_t *results, int32_t *count) -> Tensor {
              if (!trace->ask(scanCall(init, ids, axes, options.reverse, region, options.memory, room), results, *count,
                              where))
                return trace->failGraph(where);
              return Tensor();
            });
}

bool zeroSlices(AnyTree xs, const ScanOptions &options, Where where) {
  std::vector<Tensor> start;
  Tensor problem;
  for (const Tensor &leaf : xs.leaves()) {
    int axis = options.axis < 0 ? options.axis + leaf.rank() : options.axis;
    if (leaf.error() || axis < 0 || axis >= leaf.rank()) {
      xs.poison(leaf.error() ? leaf
                             : fail(where, "associative_scan requires sequences with an axis " +
                                               std::to_string(options.axis) + ", got " + leaf.type().str()));
      return false;
    }
    start.push_back(zerosLikeSlice(leaf, axis, where));
  }
  xs.setLeaves(start);
  return true;
}

void chooseSlices(const Tensor &started, AnyTree combined, AnyTree slices, Where where) {
  std::vector<Tensor> fresh = slices.leaves(), old = combined.leaves();
  for (size_t k = 0; k < fresh.size() && k < old.size(); ++k)
    old[k] = chooseAll(started, old[k], fresh[k], where);
  slices.setLeaves(old);
}

void moveFirstAxis(AnyTree tree, int axis, Where where) {
  if (axis != 0)
    tree.each([&](Tensor &leaf) { leaf = moveFirstAxis(leaf, axis, where); });
}

} // namespace sinter::inline SINTER_HOST::detail
