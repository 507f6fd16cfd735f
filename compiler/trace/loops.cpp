// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Loops.h"
#include "Apply.h"
#include "There.h"

namespace sinter::inline SINTER_HOST::detail {

/// Checks carries from trip to trip; the message names the leaf.
static bool carriesAgree(const char *what, AnyTree tree, std::span<const TensorType> before,
                         std::span<const TensorType> after, std::string &problem) {
  if (before.size() != after.size()) {
    problem = std::string(what) + " requires as many tensors from its body as it carries, got " +
              std::to_string(after.size()) + " and " + std::to_string(before.size());
    return false;
  }
  for (size_t k = 0; k < before.size(); ++k)
    if (!mayFollow(before[k], after[k])) {
      std::vector<std::string> paths = tree.paths();
      std::string path = k < paths.size() ? paths[k] : "";
      problem = std::string(what) + " requires a carry of one type, got " + before[k].str() + " before and " +
                after[k].str() + " after a trip" + (path.empty() ? "" : " for carry " + path);
      return false;
    }
  return true;
}

/// Literals take the types of the carries that they replace. Eager carries are checked here as well.
static bool settleCarry(const char *what, AnyTree next, std::span<const TensorType> before, Where where) {
  size_t k = 0;
  Tensor problem;
  std::vector<TensorType> after;
  next.each([&](Tensor &leaf) {
    if (k < before.size() && leaf.weak() && leaf.dtype() != before[k].dtype)
      leaf = convert(leaf, before[k].dtype, where);
    if (leaf.error())
      problem = leaf;
    after.push_back(leaf.type());
    ++k;
  });
  if (!problem.defined())
    if (std::string text; !carriesAgree(what, next, before, after, text))
      problem = fail(where, text);
  if (!problem.defined())
    return true;
  next.poison(problem);
  return false;
}

namespace {

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
    std::vector<Tensor> parts;
    for (int64_t k = 0; k < count(); ++k)
      parts.push_back(trips[size_t(reverse ? count() - 1 - k : k)][leaf]);
    if (dtype_bytes(type.dtype) == 0 || isRecorded(std::span<const Tensor>(parts)) ||
        std::any_of(parts.begin(), parts.end(), deviceOf)) {
      Shape one = type.shape;
      one.insert(axis, 1);
      for (Tensor &part : parts)
        part = apply("reshape", {part}, {Attr("type", TensorType{type.dtype, one})}, where);
      return parts.size() == 1 ? parts[0] : apply("concatenate", parts, {Attr("axis", axis)}, where);
    }
    Tensor result = Tensor::empty(type.dtype, shape, where);
    if (result.error())
      return result;
    int64_t outer = 1, inner = dtype_bytes(type.dtype);
    for (int k = 0; k < type.shape.size(); ++k)
      (k < axis ? outer : inner) *= type.shape[k];
    auto *to = static_cast<char *>(result.view().data);
    for (int64_t k = 0; k < count(); ++k) {
      auto *from = static_cast<const char *>(parts[size_t(k)].view().data);
      for (int64_t row = 0; row < outer; ++row)
        if (inner)
          std::memcpy(to + (row * count() + k) * inner, from + row * inner, size_t(inner));
    }
    return result;
  }

private:
  std::vector<std::vector<Tensor>> trips;
};

} // namespace

using Retypes = std::vector<std::pair<size_t, DType>>;

/// Literals among the leaves of `tree` take other types.
static void retype(AnyTree tree, const Retypes &retypes, Where where) {
  size_t k = 0;
  tree.each([&](Tensor &leaf) {
    for (auto [at, dtype] : retypes)
      if (at == k)
        leaf = convert(leaf, dtype, where);
    ++k;
  });
}

static std::vector<bool> weakLeaves(AnyTree tree) {
  std::vector<bool> weak;
  tree.each([&](Tensor &leaf) { weak.push_back(leaf.weak()); });
  return weak;
}

void traceLoop(Trace &trace, const char *name, Where where, AnyTrip trip, const LoopParts &parts, int first,
               TripBody body, LoopOp op) {
  static const char tag = 0; // of Retypes
  uint64_t retypeStep = hashText(78, name);
  std::shared_ptr<void> initCopy = trip.carry.clone();
  AnyTree init = trip.carry.at(initCopy.get());
  std::vector<bool> weak = weakLeaves(init);
  for (;;) {
    trip.carry.assign(init.tree);
    std::vector<uint32_t> ids, key(parts.operands.begin(), parts.operands.end());
    std::vector<TensorType> types;
    if (!materializeOrPoison(trace, trip.carry, where, ids, types, trip.all))
      return;
    if (const auto *known = static_cast<const Retypes *>(trace.known(retypeStep, &tag))) {
      retype(init, *known, where);
      weak.assign(weak.size(), false);
      continue;
    }
    key.insert(key.end(), ids.begin(), ids.end());
    Retypes retypes;
    std::shared_ptr<void> startCopy = trip.carry.clone();
    AnyTree start = trip.carry.at(startCopy.get());
    controlStep(trace, name, key, where, trip.all, [&] {
      std::vector<TensorType> arguments(parts.leading.begin(), parts.leading.end());
      arguments.insert(arguments.end(), types.begin(), types.end());
      arguments.insert(arguments.end(), parts.trailing.begin(), parts.trailing.end());
      std::vector<bool> literals(parts.leading.size(), false);
      literals.insert(literals.end(), weak.begin(), weak.end());
      auto traced = traceRegion(
          trace, arguments, where, trip.all,
          [&](std::span<const Tensor> values) {
            size_t before = parts.leading.size(), k = 0;
            std::shared_ptr<void> copy = start.clone();
            start.at(copy.get()).setLeaves(values.subspan(before, types.size()));
            body(copy.get(), values.first(before), values.subspan(before + types.size()), trip.all.tree);
            trip.carry.each([&](Tensor &leaf) {
              if (k < types.size() && leaf.weak() && leaf.dtype() != types[k].dtype)
                leaf = convert(leaf, types[k].dtype, where);
              ++k;
            });
          },
          literals);
      if (!traced.region) {
        trip.all.poison(traced.problem);
        return false;
      }
      std::vector<TensorType> after = trip.carry.types();
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
      if (!problem.defined())
        problem = op(ids, types, traced.region, int32_t(traced.ids.size()) + first, results.data(), &count);
      if (problem.defined()) {
        trip.all.poison(problem);
        return false;
      }
      wrapLeaves(trace, trip.all, std::span<const uint32_t>(results).subspan(size_t(first)), where);
      if (first)
        *trip.trips = trace.wrap(results[0], where);
      return true;
    });
    if (retypes.empty())
      return;
    trace.remember(retypeStep, where, std::make_shared<Retypes>(retypes), &tag);
    retype(init, retypes, where);
    weak.assign(weak.size(), false);
  }
}

/// The outputs that a trip would have, by tracing the body into a graph that nobody keeps: for loops of the host
/// without a trip.
static void probeOutput(Where where, AnyTree carry, AnyTrip trip, const LoopParts &parts, TripBody body) {
  sinter_graph *graph = nullptr;
  if (sinter_graph_create(&graph))
    return;
  GraphHandle owner(graph, sinter_graph_destroy);
  std::vector<TensorType> types;
  std::shared_ptr<void> other = trip.clone();
  AnyTrip probe = trip.at(other.get());
  {
    Trace trace(graph);
    std::vector<sinter_value_type> lowered;
    std::vector<TensorType> all(parts.leading.begin(), parts.leading.end()), carried = carry.types();
    all.insert(all.end(), carried.begin(), carried.end());
    all.insert(all.end(), parts.trailing.begin(), parts.trailing.end());
    for (const TensorType &type : all)
      lowered.push_back(valueType(type));
    std::vector<uint32_t> ids(all.size() + 1);
    if (sinter_graph_begin(graph, "probe", int32_t(all.size()), lowered.data(), nullptr, ids.data()))
      return;
    trace.enterRegion();
    std::vector<Tensor> values;
    for (size_t k = 0; k < all.size(); ++k)
      values.push_back(trace.wrap(ids[k], where));
    std::span<const Tensor> view(values);
    size_t before = parts.leading.size();
    runFrame(trace, where, probe.all, [&] {
      std::shared_ptr<void> copy = carry.clone();
      carry.at(copy.get()).setLeaves(view.subspan(before, carried.size()));
      body(copy.get(), view.first(before), view.subspan(before + carried.size()), probe.all.tree);
    });
    if (trace.error())
      return;
    types = probe.output.types();
    trip.output.assign(probe.output.tree);
  }
  size_t k = 0;
  trip.output.each([&](Tensor &leaf) {
    TensorType type = types[k++];
    for (int64_t &dim : type.shape)
      dim = dim < 0 ? 0 : dim;
    leaf = Tensor::empty(type.dtype, type.shape, where);
  });
}

void runLoop(const char *name, Where where, AnyTrip trip, const LoopParts &parts,
             FunctionRef<Tensor(const void *carry, int64_t trip)> go,
             FunctionRef<const Around &(int64_t trip)> arguments, TripBody body, StackOptions options) {
  std::vector<TensorType> types = trip.carry.types();
  std::vector<bool> weak = weakLeaves(trip.carry);
  std::shared_ptr<void> init = trip.collects ? trip.carry.clone() : nullptr;
  std::shared_ptr<void> next = trip.clone();
  AnyTrip fresh = trip.at(next.get());
  Stacker stacker;
  int64_t trips = 0;
  for (;; ++trips) {
    Tensor proceed = go(trip.carry.tree, trips);
    if (proceed.error())
      return trip.all.poison(proceed);
    if (!proceed.item<bool>())
      break;
    const Around &around = arguments(trips);
    body(trip.carry.tree, around.first, around.second, fresh.all.tree);
    trip.all.assign(fresh.all.tree);
    if (trips == 0) {
      std::vector<TensorType> after = trip.carry.types();
      for (size_t k = 0; k < types.size() && k < after.size(); ++k)
        if (weak[k])
          types[k].dtype = after[k].dtype;
    }
    if (!settleCarry(name, trip.carry, types, where))
      return trip.all.poison(*trip.carry.firstError());
    if (trip.collects)
      stacker.add(trip.output.leaves());
  }
  if (trip.collects) {
    if (trips == 0)
      probeOutput(where, trip.carry.at(init.get()), trip, parts, body);
    size_t k = 0;
    trip.output.each([&](Tensor &leaf) {
      leaf = stacker.stack(k, leaf.type(), options.axis, options.reverse, where);
      ++k;
    });
  }
  *trip.trips = scalar(trips, where);
}

void whileTrips(const char *name, const WhileOptions &options, WhileCondition cond, AnyTrip trip, LoopBody body) {
  Where where = options.where;
  auto go = [&](const void *carry) { return asPredicate(cond(carry), name, where); };
  auto inner = [&](const void *carry, std::span<const Tensor>, std::span<const Tensor>, void *next) {
    body(nullptr, carry, next);
  };
  Trace *trace = Trace::current();
  if (!trace) {
    const Around none;
    return runLoop(
        name, where, trip, {},
        [&](const void *carry, int64_t trip) {
          Tensor proceed = go(carry);
          if (proceed.error() || options.max_trip == 0 || trip < options.max_trip || !proceed.item<bool>())
            return proceed;
          if (options.on_limit == OnLimit::stop)
            return scalar(false);
          return fail(where, std::string(name) + " requires at most " + std::to_string(options.max_trip) +
                                 " trips, got a condition that still holds");
        },
        [&](int64_t) -> const Around & { return none; }, inner);
  }
  std::shared_ptr<void> shape = trip.carry.clone();
  traceLoop(*trace, name, where, trip, {}, 1, inner,
            [&](std::span<const uint32_t> ids, std::span<const TensorType> types, uint32_t body, int32_t room,
                uint32_t *results, int32_t *count) -> Tensor {
              Tensor holds;
              auto traced = traceRegion(*trace, types, where, anyTree(holds), [&](std::span<const Tensor> values) {
                std::shared_ptr<void> carry = trip.carry.ops->clone(shape.get());
                trip.carry.at(carry.get()).setLeaves(values);
                holds = go(carry.get());
              });
              if (!traced.region)
                return traced.problem;
              sinter_loop_options lowered{};
              lowered.max_trip = options.max_trip;
              lowered.trap_at_limit = options.on_limit == OnLimit::trap;
              lowered.memory = options.memory;
              if (!trace->ask(whileCall(ids, traced.region, body, lowered, room), results, *count, where))
                return trace->failGraph(where);
              return Tensor();
            });
}

static Tensor rangeProceeds(const Range &range, const int64_t (&bounds)[3], int64_t trip) {
  __int128 at = __int128(bounds[0]) + __int128(trip) * bounds[2];
  return scalar(bounds[2] > 0 ? at < bounds[1] : bounds[2] < 0 && at > bounds[1], range.lower.where);
}

void forTrips(const char *name, const Range &range, const ForOptions &options, AnyTrip trip, LoopBody body) {
  Where where = range.lower.where;
  Tensor bounds[] = {asIndex(range.lower.tensor, name, where), asIndex(range.upper.tensor, name, where),
                     asIndex(range.step.tensor, name, where)};
  for (const Tensor &bound : bounds)
    if (bound.error())
      return trip.all.poison(bound);
  TensorType index{DType::i64, Shape{}};
  LoopParts parts{std::span(&index, 1), {}, {}};
  auto inner = [&](const void *carry, std::span<const Tensor> leading, std::span<const Tensor>, void *next) {
    body(&leading[0], carry, next);
  };
  Trace *trace = Trace::current();
  if (!trace) {
    int64_t values[] = {bounds[0].item<int64_t>(), bounds[1].item<int64_t>(), bounds[2].item<int64_t>()};
    Around around{{Tensor()}, {}};
    return runLoop(
        name, where, trip, parts, [&](const void *, int64_t trip) { return rangeProceeds(range, values, trip); },
        [&](int64_t trip) -> const Around & {
          around.first[0] = scalar(values[0] + trip * values[2], where);
          return around;
        },
        inner);
  }
  uint32_t ids[3];
  for (int k = 0; k < 3; ++k) {
    Tensor problem;
    ids[k] = trace->use(bounds[k], where, problem);
    if (!ids[k])
      return trip.all.poison(problem);
  }
  parts.operands = ids;
  traceLoop(*trace, name, where, trip, parts, 0, inner,
            [&](std::span<const uint32_t> init, std::span<const TensorType>, uint32_t region, int32_t room,
                uint32_t *results, int32_t *count) -> Tensor {
              if (!trace->ask(forCall(ids, init, region, options.memory, room), results, *count, where))
                return trace->failGraph(where);
              return Tensor();
            });
}

} // namespace sinter::inline SINTER_HOST::detail
