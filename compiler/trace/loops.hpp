// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that become part of the graph: while_loop, while_scan, for_loop. Bodies are lambdas over trees of tensors; what
// they use from outside is captured by itself. Outside of a trace the same calls are loops of the host.

#ifndef SINTER_TRACE_LOOPS_HPP
#define SINTER_TRACE_LOOPS_HPP

#include "control.hpp"

namespace sinter::inline SINTER_HOST {

/// What happens when `max_trip` trips are done and the condition still holds.
enum class OnLimit { stop, trap };

/// How a while_loop ends early, and where it stands in the user's program.
struct WhileOptions {
  int64_t max_trip = 0; // 0: no limit
  OnLimit on_limit = OnLimit::stop;
  /// What the loop keeps for its gradient: all, recompute, period(K), binomial(SLOTS), online(SLOTS), implicit; null:
  /// what the gradient says.
  const char *memory = nullptr;
  Where where = Where::current();
};

struct ForOptions {
  const char *memory = nullptr; // as in WhileOptions
};

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

/// Options that a variable holds, in the call that they are given to.
struct WhileCall {
  WhileCall(const WhileOptions &options, Where where = Where::current()) : options(options) {
    this->options.where = where;
  }
  WhileOptions options;
};

/// `f(first..., carry)`, where a carry of several values is given as several arguments.
template <bool Several, class F, class Carry, class... First>
decltype(auto) callBody(F &f, const Carry &carry, const First &...first) {
  if constexpr (Several)
    return std::apply([&](const auto &...part) { return f(first..., part...); }, carry);
  else if constexpr (IsTuple<Carry>::value) {
    if constexpr (std::is_invocable_v<F &, const First &..., const Carry &>)
      return f(first..., carry);
    else
      return std::apply([&](const auto &...part) { return f(first..., part...); }, carry);
  } else
    return f(first..., carry);
}

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

/// What the library sees of a Trip.
struct AnyTrip {
  AnyTree all, carry, output;
  Tensor *trips;
  bool collects; // whether the output has leaves at all
  AnyTrip (*at)(void *trip);

  /// A copy of its own.
  std::shared_ptr<void> clone() const { return all.clone(); }
};
template <class T> AnyTrip anyTrip(T &trip) {
  return {anyTree(trip),
          anyTree(trip.carry),
          anyTree(trip.output),
          &trip.trips,
          !std::is_same_v<decltype(trip.output), std::tuple<>>,
          [](void *other) { return anyTrip(*static_cast<T *>(other)); }};
}

/// Puts whether there is another trip for `carry` into the tensor.
using WhileCondition = FunctionRef<Tensor(const void *carry)>;
/// One trip: `carry` is one, `trip` takes what the body returns. `i` is the number of a for loop, or null.
using LoopBody = FunctionRef<void(const Tensor *i, const void *carry, void *trip)>;

/// The loops; `trip.carry` is the init, and the outcome at the end.
void whileTrips(const char *name, const WhileOptions &options, WhileCondition cond, AnyTrip trip, LoopBody body);
void forTrips(const char *name, const Range &range, const ForOptions &options, AnyTrip trip, LoopBody body);

template <class Result> struct SplitResult {
  static_assert(IsTuple<Result>::value, "this body returns a pair: the next carry, and the trip's output");
  using Carry = std::tuple_element_t<0, Result>;
  using Output = tree_t<std::tuple_element_t<1, Result>>;
};

template <class Cond, class Body, class... Init>
auto whileLoop(const WhileOptions &options, Cond &cond, Body &body, const Init &...init) {
  using Pack = CarryOf<Init...>;
  using Carry = typename Pack::type;
  Trip<Carry, std::tuple<>> trip{packCarry(init...), {}, {}};
  whileTrips(
      "while_loop", options,
      [&](const void *carry) {
        return Operand(callBody<Pack::several>(cond, *static_cast<const Carry *>(carry)), options.where).tensor;
      },
      anyTrip(trip),
      [&](const Tensor *, const void *carry, void *next) {
        *static_cast<Trip<Carry, std::tuple<>> *>(next) = {
            treeCast<Carry>(callBody<Pack::several>(body, *static_cast<const Carry *>(carry))), {}, {}};
      });
  return std::move(trip.carry);
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
  using Trip = detail::Trip<Carry, Output>;
  Trip trip{detail::packCarry(init), {}, {}};
  detail::whileTrips(
      "while_scan", options,
      [&](const void *carry) {
        return Operand(detail::callBody<false>(cond, *static_cast<const Carry *>(carry)), where).tensor;
      },
      detail::anyTrip(trip),
      [&](const Tensor *, const void *carry, void *next) {
        auto result = detail::callBody<false>(body, *static_cast<const Carry *>(carry));
        *static_cast<Trip *>(next) = Trip{detail::treeCast<Carry>(std::get<0>(std::move(result))),
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
  using Trip = detail::Trip<Carry, std::tuple<>>;
  Trip trip{detail::packCarry(init...), {}, {}};
  detail::forTrips(
      "for_loop", range, options, detail::anyTrip(trip), [&](const Tensor *i, const void *carry, void *next) {
        *static_cast<Trip *>(next) =
            Trip{detail::treeCast<Carry>(detail::callBody<Pack::several>(body, *static_cast<const Carry *>(carry), *i)),
                 {},
                 {}};
      });
  return std::move(trip.carry);
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

} // namespace sinter::inline SINTER_HOST

#endif
