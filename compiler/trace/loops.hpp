// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that become part of the graph: while_loop, while_scan, for_loop.

#ifndef SINTER_TRACE_LOOPS_HPP
#define SINTER_TRACE_LOOPS_HPP

#include "control.hpp"

namespace sinter {

/// lower, lower + step, ... below upper (above, for a negative step).
struct Range {
  Operand lower, upper, step;
  Range(Operand upper) : Range(Operand(int64_t(0), upper.where), upper) {}
  Range(Operand lower, Operand upper, Operand step = Operand(int64_t(1))) : lower(lower), upper(upper), step(step) {}
};

/// What a loop gives that keeps an output per trip.
template <class Carry, class Output> struct Collected {
  Carry carry;
  Output outputs; // stacked along a new first axis
  Tensor trips;   // i64
};

namespace detail {

template <class... Init> struct CarryOf {
  static constexpr bool several = sizeof...(Init) != 1;
  using type = std::tuple<tree_t<Init>...>;
};
template <class Init> struct CarryOf<Init> {
  static constexpr bool several = false;
  using type = tree_t<Init>;
};

template <class... Init> auto packCarry(Init &&...init) {
  using Carry = typename CarryOf<Init...>::type;
  if constexpr (sizeof...(Init) == 1)
    return treeCast<Carry>(std::forward<Init>(init)...);
  else
    return Carry(treeCast<tree_t<Init>>(std::forward<Init>(init))...);
}

/// What a body returned, or a loop: carries, outputs per trip (stacked, of a loop) and, of a while, the number of
/// trips.
template <class Carry, class Output> struct Trip {
  Carry carry;
  Output output;
  Tensor trips;
  auto fields() { return std::tie(carry, output); }
  auto fields() const { return std::tie(carry, output); }
};

/// Stacks leaves of trips that ran on the host; `axis` is the new one.
class Stacker {
public:
  void add(const std::vector<Tensor> &leaves) { trips.push_back(leaves); }
  int64_t count() const { return int64_t(trips.size()); }
  /// Leaf `leaf` of all trips, in their order or reversed. `like` gives the type when there was no trip.
  Tensor stack(size_t leaf, const TensorType &like, int axis, bool reverse, Where where) const {
    TensorType type = like;
    for (const std::vector<Tensor> &trip : trips) {
      if (trip[leaf].error())
        return trip[leaf];
      if (&trip == &trips.front())
        type = trip[leaf].type();
      else if (!(trip[leaf].type() == type))
        return fail(where,
                    "an output per trip requires one type, got " + type.str() + " and " + trip[leaf].type().str());
    }
    for (int64_t &dim : type.shape)
      dim = dim < 0 ? 0 : dim;
    Shape shape = type.shape;
    if (axis < 0 || axis > shape.size())
      return fail(where, "an axis of stacked outputs requires 0 to " + std::to_string(shape.size()) + ", got " +
                             std::to_string(axis));
    shape.insert(axis, count());
    Tensor result = Tensor::empty(type.dtype, shape, where);
    if (result.error())
      return result;
    int64_t outer = 1, inner = dtype_bytes(type.dtype);
    for (int k = 0; k < type.shape.size(); ++k)
      (k < axis ? outer : inner) *= type.shape[k];
    auto *to = static_cast<char *>(result.view().data);
    for (int64_t k = 0; k < count(); ++k) {
      auto *from = static_cast<const char *>(trips[size_t(reverse ? count() - 1 - k : k)][leaf].view().data);
      for (int64_t row = 0; row < outer; ++row)
        if (inner)
          std::memcpy(to + (row * count() + k) * inner, from + row * inner, size_t(inner));
    }
    return result;
  }

private:
  std::vector<std::vector<Tensor>> trips;
};

using Retypes = std::vector<std::pair<size_t, DType>>;

/// Literals among the leaves of `tree` take other types.
template <class Tree> void retype(Tree &tree, const Retypes &retypes, Where where) {
  size_t k = 0;
  eachLeaf(tree, [&](Tensor &leaf) {
    for (auto [at, dtype] : retypes)
      if (at == k)
        leaf = convert(leaf, dtype, where);
    ++k;
  });
}

/// What differs between the loops of the graph.
struct LoopParts {
  std::span<const TensorType> leading, trailing; // arguments of the body before and after the carries
  std::span<const uint32_t> operands;            // by which a replay knows the loop again
};

/// Traces a loop's body and builds its op by `op(init, types, region, room, results, count)`, which returns `Tensor()`
/// or an error; the results are those of the op from number `first` on. Literals in the init take the body's types, in
/// a second attempt.
template <class Output, class Carry, class Body, class Op>
Trip<Carry, Output> traceLoop(Trace &trace, const char *name, Where where, Carry init, const LoopParts &parts,
                              int first, Body &&body, Op &&op) {
  using Result = Trip<Carry, Output>;
  uint64_t retypeStep = hashText(78, name);
  std::vector<bool> weak;
  eachLeaf(init, [&](Tensor &leaf) { weak.push_back(leaf.weak()); });
  for (;;) {
    Result result{init, Output(), Tensor()};
    std::vector<uint32_t> ids, key(parts.operands.begin(), parts.operands.end());
    std::vector<TensorType> types;
    if (!materializeOrPoison(trace, result.carry, where, ids, types, result))
      return result;
    if (const auto *known = static_cast<const Retypes *>(trace.known(retypeStep, &kTypeTag<Retypes>))) {
      retype(init, *known, where);
      weak.assign(weak.size(), false);
      continue;
    }
    key.insert(key.end(), ids.begin(), ids.end());
    Retypes retypes;
    Carry start = result.carry;
    result = controlStep(trace, name, key, where, std::move(result), [&](Result &out) {
      std::vector<TensorType> arguments(parts.leading.begin(), parts.leading.end());
      arguments.insert(arguments.end(), types.begin(), types.end());
      arguments.insert(arguments.end(), parts.trailing.begin(), parts.trailing.end());
      std::vector<bool> literals(parts.leading.size(), false);
      literals.insert(literals.end(), weak.begin(), weak.end());
      auto traced = traceRegion(
          trace, arguments, where,
          [&](std::span<const Tensor> values) {
            size_t before = parts.leading.size();
            Result trip = body(unflatten(start, values.subspan(before, types.size())), values.first(before),
                               values.subspan(before + types.size()));
            size_t k = 0;
            eachLeaf(trip.carry, [&](Tensor &leaf) {
              if (k < types.size() && leaf.weak() && leaf.dtype() != types[k].dtype)
                leaf = convert(leaf, types[k].dtype, where);
              ++k;
            });
            return trip;
          },
          literals);
      out = std::move(traced.tree);
      if (!traced.region) {
        poison(out, traced.problem);
        return false;
      }
      std::vector<TensorType> after = leafTypes(out.carry);
      for (size_t k = 0; k < types.size() && k < after.size(); ++k)
        if (weak[k] && after[k].dtype != types[k].dtype)
          retypes.emplace_back(k, after[k].dtype);
      if (!retypes.empty())
        return false;
      Tensor problem;
      if (std::string text; !carriesAgree(name, start, types, after, text))
        problem = fail(where, text);
      std::vector<uint32_t> results(traced.ids.size() + 2);
      int32_t count = 0;
      trace.locate(where);
      if (!problem.defined())
        problem = op(std::span<const uint32_t>(ids), std::span<const TensorType>(types), traced.region,
                     int32_t(traced.ids.size()) + first, results.data(), &count);
      if (problem.defined()) {
        poison(out, problem);
        return false;
      }
      wrapLeaves(trace, out, std::span<const uint32_t>(results).subspan(size_t(first)), where);
      if (first)
        out.trips = trace.wrap(results[0], where);
      return true;
    });
    if (retypes.empty())
      return result;
    trace.remember(retypeStep, where, std::make_shared<Retypes>(retypes), &kTypeTag<Retypes>);
    retype(init, retypes, where);
    weak.assign(weak.size(), false);
  }
}

/// The outputs that a trip would have, by tracing the body into a graph that nobody keeps: for loops of the host
/// without a trip.
template <class Output, class Carry, class Body>
Output probeOutput(Where where, const Carry &carry, const LoopParts &parts, Body &&body) {
  Output output{};
  sinter_graph *graph = nullptr;
  if (sinter_graph_create(&graph))
    return output;
  std::unique_ptr<sinter_graph, void (*)(sinter_graph *)> owner(graph, sinter_graph_destroy);
  std::vector<TensorType> types;
  {
    Trace trace(graph);
    std::vector<sinter_value_type> lowered;
    std::vector<TensorType> all(parts.leading.begin(), parts.leading.end()), carried = leafTypes(carry);
    all.insert(all.end(), carried.begin(), carried.end());
    all.insert(all.end(), parts.trailing.begin(), parts.trailing.end());
    for (const TensorType &type : all)
      lowered.push_back(valueType(type));
    std::vector<uint32_t> ids(all.size() + 1);
    if (sinter_graph_begin(graph, "probe", int32_t(all.size()), lowered.data(), nullptr, ids.data()))
      return output;
    trace.enterRegion();
    std::vector<Tensor> values;
    for (size_t k = 0; k < all.size(); ++k)
      values.push_back(trace.wrap(ids[k], where));
    std::span<const Tensor> view(values);
    size_t before = parts.leading.size();
    auto trip = runFrame(trace, where, [&] {
      return body(unflatten(carry, view.subspan(before, carried.size())), view.first(before),
                  view.subspan(before + carried.size()));
    });
    if (trace.error())
      return output;
    types = leafTypes(trip.output);
    output = std::move(trip.output);
  }
  size_t k = 0;
  eachLeaf(output, [&](Tensor &leaf) {
    TensorType type = types[k++];
    for (int64_t &dim : type.shape)
      dim = dim < 0 ? 0 : dim;
    leaf = Tensor::empty(type.dtype, type.shape, where);
  });
  return output;
}

/// How the outputs of trips are stacked.
struct StackOptions {
  int axis = 0;
  bool reverse = false;
};

/// Runs trips on the host. `go(carry, trip)` says whether there is another; `arguments(trip)` gives the body's
/// arguments before and after the carries.
template <class Output, class Carry, class Go, class Arguments, class Body>
Trip<Carry, Output> runLoop(const char *name, Where where, Carry carry, const LoopParts &parts, Go &&go,
                            Arguments &&arguments, Body &&body, StackOptions options = {}) {
  constexpr bool collects = !std::is_same_v<Output, std::tuple<>>;
  std::vector<TensorType> types = leafTypes(carry);
  std::vector<bool> weak;
  eachLeaf(carry, [&](Tensor &leaf) { weak.push_back(leaf.weak()); });
  Trip<Carry, Output> last{carry, Output(), Tensor()};
  Stacker stacker;
  int64_t trips = 0;
  for (;; ++trips) {
    Tensor proceed = go(last.carry, trips);
    if (proceed.error()) {
      poison(last, proceed);
      return last;
    }
    if (!proceed.template item<bool>())
      break;
    const std::pair<std::vector<Tensor>, std::vector<Tensor>> &around = arguments(trips);
    last = body(last.carry, std::span<const Tensor>(around.first), std::span<const Tensor>(around.second));
    if (trips == 0) {
      std::vector<TensorType> after = leafTypes(last.carry);
      for (size_t k = 0; k < types.size() && k < after.size(); ++k)
        if (weak[k])
          types[k].dtype = after[k].dtype;
    }
    if (!settleCarry(name, last.carry, types, where)) {
      Tensor problem = *firstError(last.carry);
      poison(last, problem);
      return last;
    }
    if constexpr (collects)
      stacker.add(flatten(last.output));
  }
  if constexpr (collects) {
    if (trips == 0)
      last.output = probeOutput<Output>(where, carry, parts, body);
    size_t k = 0;
    eachLeaf(last.output, [&](Tensor &leaf) {
      leaf = stacker.stack(k, leaf.type(), options.axis, options.reverse, where);
      ++k;
    });
  }
  last.trips = scalar(trips, where);
  return last;
}

template <class Result> struct SplitResult {
  static_assert(IsTuple<Result>::value, "this body returns a pair: the next carry, and the trip's output");
  using Carry = std::tuple_element_t<0, Result>;
  using Output = tree_t<std::tuple_element_t<1, Result>>;
};

/// The loop that while_loop and while_scan share. `body(carry)` returns a Trip.
template <bool Several, class Output, class Carry, class Cond, class Body>
Trip<Carry, Output> whileTrips(const char *name, const WhileOptions &options, Cond &cond, Carry init, Body &&body) {
  Where where = options.where;
  auto go = [&](const Carry &carry) {
    return asPredicate(Operand(callBody<Several>(cond, carry), where).tensor, name, where);
  };
  auto inner = [&](const Carry &carry, std::span<const Tensor>, std::span<const Tensor>) { return body(carry); };
  Trace *trace = Trace::current();
  if (!trace) {
    std::pair<std::vector<Tensor>, std::vector<Tensor>> none;
    return runLoop<Output>(
        name, where, std::move(init), {},
        [&](const Carry &carry, int64_t trip) {
          Tensor proceed = go(carry);
          if (proceed.error() || options.max_trip == 0 || trip < options.max_trip || !proceed.item<bool>())
            return proceed;
          if (options.on_limit == OnLimit::stop)
            return scalar(false);
          return fail(where, std::string(name) + " requires at most " + std::to_string(options.max_trip) +
                                 " trips, got a condition that still holds");
        },
        [&](int64_t) -> auto & { return none; }, inner);
  }
  Carry shape = init;
  return traceLoop<Output>(*trace, name, where, std::move(init), {}, 1, inner,
                           [&](std::span<const uint32_t> ids, std::span<const TensorType> types, uint32_t body,
                               int32_t room, uint32_t *results, int32_t *count) -> Tensor {
                             auto traced = traceRegion(*trace, types, where, [&](std::span<const Tensor> values) {
                               return go(unflatten(shape, values));
                             });
                             if (!traced.region)
                               return traced.problem;
                             sinter_loop_options lowered{};
                             lowered.struct_size = sizeof(lowered);
                             lowered.max_trip = options.max_trip;
                             lowered.trap_at_limit = options.on_limit == OnLimit::trap;
                             lowered.memory = options.memory;
                             trace->locate(where);
                             if (sinter_graph_while(trace->handle(), int32_t(ids.size()), ids.data(), traced.region,
                                                    body, &lowered, room, results, count))
                               return trace->failGraph(where);
                             return Tensor();
                           });
}

template <class Cond, class Body, class... Init>
auto whileLoop(const WhileOptions &options, Cond &cond, Body &body, const Init &...init) {
  using Pack = CarryOf<Init...>;
  using Carry = typename Pack::type;
  return whileTrips<Pack::several, std::tuple<>>("while_loop", options, cond, packCarry(init...),
                                                 [&](const Carry &carry) {
                                                   return Trip<Carry, std::tuple<>>{
                                                       treeCast<Carry>(callBody<Pack::several>(body, carry)), {}, {}};
                                                 })
      .carry;
}

inline Tensor rangeProceeds(const Range &range, const int64_t (&bounds)[3], int64_t trip) {
  __int128 at = __int128(bounds[0]) + __int128(trip) * bounds[2];
  return scalar(bounds[2] > 0 ? at < bounds[1] : bounds[2] < 0 && at > bounds[1], range.lower.where);
}

/// The loop that for_loop and scan without sequences share. `body(i, carry)` returns a Trip.
template <class Output, class Carry, class Body>
Trip<Carry, Output> forTrips(const char *name, const Range &range, const ForOptions &options, Carry init, Body &&body) {
  Where where = range.lower.where;
  Tensor bounds[] = {asIndex(range.lower.tensor, name, where), asIndex(range.upper.tensor, name, where),
                     asIndex(range.step.tensor, name, where)};
  for (const Tensor &bound : bounds)
    if (bound.error()) {
      Trip<Carry, Output> result{std::move(init), Output(), Tensor()};
      poison(result, bound);
      return result;
    }
  TensorType index{DType::i64, Shape{}};
  LoopParts parts{std::span(&index, 1), {}, {}};
  auto inner = [&](const Carry &carry, std::span<const Tensor> leading, std::span<const Tensor>) {
    return body(leading[0], carry);
  };
  Trace *trace = Trace::current();
  if (!trace) {
    int64_t values[] = {bounds[0].item<int64_t>(), bounds[1].item<int64_t>(), bounds[2].item<int64_t>()};
    std::pair<std::vector<Tensor>, std::vector<Tensor>> around{{Tensor()}, {}};
    return runLoop<Output>(
        name, where, std::move(init), parts,
        [&](const Carry &, int64_t trip) { return rangeProceeds(range, values, trip); },
        [&](int64_t trip) -> auto & {
          around.first[0] = scalar(values[0] + trip * values[2], where);
          return around;
        },
        inner);
  }
  uint32_t ids[3];
  for (int k = 0; k < 3; ++k) {
    Tensor problem;
    ids[k] = trace->use(bounds[k], where, problem);
    if (!ids[k]) {
      Trip<Carry, Output> result{std::move(init), Output(), Tensor()};
      poison(result, problem);
      return result;
    }
  }
  parts.operands = ids;
  return traceLoop<Output>(*trace, name, where, std::move(init), parts, 0, inner,
                           [&](std::span<const uint32_t> init, std::span<const TensorType>, uint32_t region,
                               int32_t room, uint32_t *results, int32_t *count) -> Tensor {
                             sinter_loop_options lowered{};
                             lowered.struct_size = sizeof(lowered);
                             lowered.memory = options.memory;
                             if (sinter_graph_for_with(trace->handle(), ids[0], ids[1], ids[2], int32_t(init.size()),
                                                       init.data(), region, &lowered, room, results, count))
                               return trace->failGraph(where);
                             return Tensor();
                           });
}

} // namespace detail
/// Repeats `body` while `cond` holds. Both take the carries, which start as `init...`; `body` returns the next ones:
/// one value, or a tuple of as many as there are. Returns the last carries. A carry keeps its element type and sizes.
///
///   auto [x, n] = while_loop([](auto x, auto n) { return x < 100.f; },
///                            [&](auto x, auto n) { return std::tuple{x * a, n + 1}; }, start, 0);
///
/// (One overload per number of carries, because the source location comes last.)
template <class Cond, class Body, class I0>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0);
}
template <class Cond, class Body, class I0, class I1>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1);
}
template <class Cond, class Body, class I0, class I1, class I2>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, const I2 &i2, Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1, i2);
}
template <class Cond, class Body, class I0, class I1, class I2, class I3>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, const I2 &i2, const I3 &i3,
                Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1, i2, i3);
}
template <class Cond, class Body, class I0, class I1, class I2, class I3, class I4>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, const I2 &i2, const I3 &i3, const I4 &i4,
                Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1, i2, i3, i4);
}
template <class Cond, class Body, class I0, class I1, class I2, class I3, class I4, class I5>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, const I2 &i2, const I3 &i3, const I4 &i4,
                const I5 &i5, Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1, i2, i3, i4, i5);
}
template <class Cond, class Body, class I0, class I1, class I2, class I3, class I4, class I5, class I6>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, const I2 &i2, const I3 &i3, const I4 &i4,
                const I5 &i5, const I6 &i6, Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1, i2, i3, i4, i5, i6);
}
template <class Cond, class Body, class I0, class I1, class I2, class I3, class I4, class I5, class I6, class I7>
  requires(!std::is_same_v<std::decay_t<Cond>, WhileOptions>)
auto while_loop(Cond &&cond, Body &&body, const I0 &i0, const I1 &i1, const I2 &i2, const I3 &i3, const I4 &i4,
                const I5 &i5, const I6 &i6, const I7 &i7, Where where = Where::current()) {
  return detail::whileLoop({.where = where}, cond, body, i0, i1, i2, i3, i4, i5, i6, i7);
}
/// Options that are made in the call know where that is; others learn it from WhileCall.
template <class Cond, class Body, class... Init>
auto while_loop(WhileOptions &&options, Cond &&cond, Body &&body, const Init &...init) {
  return detail::whileLoop(options, cond, body, init...);
}
template <class Cond, class Body, class... Init>
auto while_loop(const detail::WhileCall &call, Cond &&cond, Body &&body, const Init &...init) {
  return detail::whileLoop(call.options, cond, body, init...);
}

/// while_loop whose body returns a pair, the next carry and an output; the outputs are stacked along a new first axis.
template <class Cond, class Body, class Init>
auto while_scan(Cond &&cond, Body &&body, const Init &init, WhileOptions options = {}, Where where = Where::current()) {
  options.where = where;
  using Carry = detail::tree_t<Init>;
  using Split = detail::SplitResult<std::invoke_result_t<Body &, const Carry &>>;
  using Output = typename Split::Output;
  auto trip =
      detail::whileTrips<false, Output>("while_scan", options, cond, detail::packCarry(init), [&](const Carry &carry) {
        auto result = detail::callBody<false>(body, carry);
        return detail::Trip<Carry, Output>{detail::treeCast<Carry>(std::get<0>(std::move(result))),
                                           detail::treeCast<Output>(std::get<1>(std::move(result))),
                                           {}};
      });
  return Collected<Carry, Output>{std::move(trip.carry), std::move(trip.output), std::move(trip.trips)};
}

/// `body(i, carries...)` for each i of `range`; returns the last carries.
template <class Body, class... Init>
auto for_loop(const ForOptions &options, const Range &range, Body &&body, const Init &...init) {
  using Pack = detail::CarryOf<Init...>;
  using Carry = typename Pack::type;
  return detail::forTrips<std::tuple<>>(
             "for_loop", range, options, detail::packCarry(init...),
             [&](const Tensor &i, const Carry &carry) {
               return detail::Trip<Carry, std::tuple<>>{
                   detail::treeCast<Carry>(detail::callBody<Pack::several>(body, carry, i)), {}, {}};
             })
      .carry;
}
template <class Body, class... Init> auto for_loop(const Range &range, Body &&body, const Init &...init) {
  return for_loop(ForOptions(), range, body, init...);
}
/// The same for lower, lower + 1, ... below upper.
template <class Body, class... Init>
  requires(!std::is_convertible_v<Body, Operand>)
auto for_loop(const Operand &lower, const Operand &upper, Body &&body, const Init &...init) {
  return for_loop(Range(lower, upper), body, init...);
}

} // namespace sinter

#endif
