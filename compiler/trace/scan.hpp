// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the slices of sequences: scan, map, associative_scan.

#ifndef SINTER_TRACE_SCAN_HPP
#define SINTER_TRACE_SCAN_HPP

#include "loops.hpp"

namespace sinter {

/// Which axis of the sequences is walked, and where outputs are stacked.
struct ScanOptions {
  int axis = 0;                 // of every sequence; negative axes count from the end
  bool reverse = false;         // from the last slice to the first; outputs stay beside their slices
  int64_t length = -1;          // number of trips, for a scan without sequences
  const char *memory = nullptr; // as in WhileOptions
};

namespace detail {

/// Slice `index` of an axis of a tensor with elements.
inline Tensor sliceOf(const Tensor &tensor, int axis, int64_t index, Where where) {
  Shape shape = tensor.known_shape();
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

inline Tensor literal(DType dtype, int value, Where where) { return convert(Tensor(value), dtype, where); }

/// Zeros of the type of a slice.
inline Tensor zerosLikeSlice(const Tensor &tensor, int axis, Where where) {
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
inline Tensor chooseAll(const Tensor &predicate, const Tensor &a, const Tensor &b, Where where) {
  TensorType type{DType::boolean, a.known_shape()};
  Tensor mask = apply("broadcast", {predicate, a},
                      {Attr("axes", {}), Attr("type", type), Attr("operandSegmentSizes", {1, 0, 1})}, where);
  return apply("select", {mask, a, b}, {}, where);
}

inline Tensor moveFirstAxis(const Tensor &tensor, int axis, Where where) {
  Shape permutation;
  for (int k = 1; k < tensor.rank(); ++k)
    permutation.push_back(k);
  permutation.insert(axis < 0 ? axis + tensor.rank() : axis, 0);
  return apply("transpose", {tensor}, {Attr("permutation", permutation)}, where);
}

/// scan with `body(carry, slices)` that returns a Trip.
template <class Output, class Carry, class Xs, class Body>
Trip<Carry, Output> scanTrips(const char *name, Body &&body, Carry init, const Xs &xs, const ScanOptions &options,
                              Where where) {
  std::vector<Tensor> sequences = flatten(xs);
  Trip<Carry, Output> failed{init, Output(), Tensor()};
  if (sequences.empty()) {
    if (options.length < 0 || options.reverse) {
      poison(failed,
             fail(where, std::string(name) + (options.reverse ? " requires sequences to walk in reverse, got none"
                                                              : " requires sequences or a length, got neither")));
      return failed;
    }
    Range range(Operand(int64_t(0), where), Operand(options.length, where), Operand(int64_t(1), where));
    auto inner = [&](const Tensor &, const Carry &carry) { return body(carry, xs); };
    return forTrips<Output>(name, range, {options.memory}, std::move(init), inner);
  }
  std::vector<TensorType> slices;
  std::vector<int64_t> axes;
  int64_t length = options.length;
  Tensor problem;
  for (const Tensor &sequence : sequences) {
    int axis = options.axis < 0 ? options.axis + sequence.rank() : options.axis;
    if (sequence.error())
      problem = sequence;
    else if (axis < 0 || axis >= sequence.rank())
      problem = fail(where, std::string(name) + " requires sequences with an axis " + std::to_string(options.axis) +
                                ", got " + sequence.type().str());
    if (problem.defined())
      break;
    TensorType slice = sequence.type();
    int64_t size = slice.shape[axis];
    if (size >= 0 && length >= 0 && size != length) {
      problem = fail(where, std::string(name) + " requires sequences of one length, got " + std::to_string(length) +
                                " and " + std::to_string(size));
      break;
    }
    length = size >= 0 ? size : length;
    slice.shape.erase(axis);
    slices.push_back(slice);
    axes.push_back(axis);
  }
  if (problem.defined()) {
    poison(failed, problem);
    return failed;
  }
  LoopParts parts{{}, slices, {}};
  auto inner = [&](const Carry &carry, std::span<const Tensor>, std::span<const Tensor> trailing) {
    return body(carry, unflatten(xs, trailing));
  };
  Trace *trace = Trace::current();
  if (!trace) {
    std::pair<std::vector<Tensor>, std::vector<Tensor>> around;
    around.second.resize(sequences.size());
    return runLoop<Output>(
        name, where, std::move(init), parts, [&](const Carry &, int64_t trip) { return scalar(trip < length, where); },
        [&](int64_t trip) -> auto & {
          for (size_t k = 0; k < sequences.size(); ++k)
            around.second[k] = sliceOf(sequences[k], int(axes[k]), options.reverse ? length - 1 - trip : trip, where);
          return around;
        },
        inner, {0, options.reverse});
  }
  std::vector<uint32_t> ids;
  std::vector<TensorType> types;
  if (!materializeOrPoison(*trace, sequences, where, ids, types, failed))
    return failed;
  parts.operands = ids;
  return traceLoop<Output>(*trace, name, where, std::move(init), parts, 0, inner,
                           [&](std::span<const uint32_t> init, std::span<const TensorType>, uint32_t region,
                               int32_t room, uint32_t *results, int32_t *count) -> Tensor {
                             size_t stacks = size_t(room) - init.size();
                             std::vector<uint8_t> reverse(std::max(ids.size(), stacks), uint8_t(options.reverse));
                             std::vector<int64_t> outAxes(stacks + 1, 0);
                             sinter_loop_options lowered{};
                             lowered.struct_size = sizeof(lowered);
                             lowered.axes = axes.data();
                             lowered.reverse = reverse.data();
                             lowered.out_axes = outAxes.data();
                             lowered.out_reverse = reverse.data();
                             lowered.memory = options.memory;
                             if (sinter_graph_scan(trace->handle(), int32_t(init.size()), init.data(),
                                                   int32_t(ids.size()), ids.data(), region, &lowered, room, results,
                                                   count))
                               return trace->failGraph(where);
                             return Tensor();
                           });
}

} // namespace detail

/// `body(carry, slices)` for each slice of `xs`, a tree whose leaves share the walked axis; it returns a pair: the next
/// carry and an output. Returns a pair: the last carry and the outputs, stacked along a new first axis.
template <class Body, class Init, class Xs>
auto scan(Body &&body, const Init &init, const Xs &xs, const ScanOptions &options = {},
          Where where = Where::current()) {
  using Carry = detail::tree_t<Init>;
  using Split = detail::SplitResult<std::invoke_result_t<Body &, const Carry &, const Xs &>>;
  using Output = typename Split::Output;
  auto trip = detail::scanTrips<Output>(
      "scan",
      [&](const Carry &carry, const Xs &slices) {
        auto result = body(carry, slices);
        return detail::Trip<Carry, Output>{detail::treeCast<Carry>(std::get<0>(std::move(result))),
                                           detail::treeCast<Output>(std::get<1>(std::move(result))),
                                           {}};
      },
      detail::treeCast<Carry>(init), xs, options, where);
  return std::pair<Carry, Output>(std::move(trip.carry), std::move(trip.output));
}

/// `f(slices)` for each slice of `xs`, stacked.
template <class F, class Xs>
auto map(F &&f, const Xs &xs, const ScanOptions &options = {}, Where where = Where::current()) {
  using Output = detail::tree_t<std::invoke_result_t<F &, const Xs &>>;
  return detail::scanTrips<Output>(
             "map",
             [&](const std::tuple<> &, const Xs &slices) {
               return detail::Trip<std::tuple<>, Output>{{}, detail::treeCast<Output>(f(slices)), {}};
             },
             std::tuple<>(), xs, options, where)
      .output;
}

/// Prefixes: result k combines slices 0 to k of `xs` (k to the last, reversed) by the associative `combine(a, b)`,
/// which takes and returns trees like a slice of `xs`. Combined one after the other, so the order of operations is that
/// of a loop.
template <class Combine, class Xs>
Xs associative_scan(Combine &&combine, const Xs &xs, const ScanOptions &options = {}, Where where = Where::current()) {
  // The first slice starts the prefix: until then the carry is zeros, and what is combined with it is not used.
  std::vector<Tensor> start;
  Tensor problem;
  detail::eachLeaf(xs, [&](const Tensor &leaf) {
    int axis = options.axis < 0 ? options.axis + leaf.rank() : options.axis;
    if (leaf.error() || axis < 0 || axis >= leaf.rank()) {
      problem = leaf.error() ? leaf
                             : detail::fail(where, "associative_scan requires sequences with an axis " +
                                                       std::to_string(options.axis) + ", got " + leaf.type().str());
      start.push_back(problem);
      return;
    }
    start.push_back(detail::zerosLikeSlice(leaf, axis, where));
  });
  Xs result = xs;
  if (problem.defined()) {
    detail::poison(result, problem);
    return result;
  }
  using Carry = std::pair<Tensor, Xs>;
  auto trip = detail::scanTrips<Xs>(
      "associative_scan",
      [&](const Carry &carry, const Xs &slices) {
        Xs combined = combine(carry.second, slices);
        std::vector<Tensor> fresh = flatten(slices), old = flatten(combined);
        for (size_t k = 0; k < fresh.size() && k < old.size(); ++k)
          old[k] = detail::chooseAll(carry.first, old[k], fresh[k], where);
        Xs next = unflatten(slices, old);
        return detail::Trip<Carry, Xs>{{scalar(true, where), next}, next, {}};
      },
      Carry(scalar(false, where), unflatten(xs, start)), xs, options, where);
  if (options.axis != 0)
    detail::eachLeaf(trip.output, [&](Tensor &leaf) { leaf = detail::moveFirstAxis(leaf, options.axis, where); });
  return std::move(trip.output);
}

} // namespace sinter

#endif
