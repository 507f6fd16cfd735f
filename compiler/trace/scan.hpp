// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over the slices of sequences: scan, map, associative_scan.

#ifndef SINTER_TRACE_SCAN_HPP
#define SINTER_TRACE_SCAN_HPP

#include "loops.hpp"

namespace sinter::inline SINTER_HOST {

/// Which axis of the sequences is walked, and where outputs are stacked.
struct ScanOptions {
  int axis = 0;                 // of every sequence; negative axes count from the end
  bool reverse = false;         // from the last slice to the first; outputs stay beside their slices
  int64_t length = -1;          // number of trips, for a scan without sequences
  const char *memory = nullptr; // as in WhileOptions
};

namespace detail {

/// One trip of a scan: `slices` has the slices of the sequences as leaves.
using ScanBody = FunctionRef<void(const void *carry, const void *slices, void *trip)>;
void scanTrips(const char *name, AnyTrip trip, AnyTree xs, const ScanOptions &options, Where where, ScanBody body);
/// Zeros like the first slices of `xs`, in its leaves. False after an error, which the leaves then carry.
bool zeroSlices(AnyTree xs, const ScanOptions &options, Where where);
/// The leaves of `combined` where `started` holds, else those of `slices`.
void chooseSlices(const Tensor &started, AnyTree combined, AnyTree slices, Where where);
void moveFirstAxis(AnyTree tree, int axis, Where where);

} // namespace detail

/// `body(carry, slices)` for each slice of `xs`, a tree whose leaves share the walked axis; it returns a pair: the next
/// carry and an output. Returns a pair: the last carry and the outputs, stacked along a new first axis.
template <class Body, class Init, class Xs>
auto scan(Body &&body, const Init &init, const Xs &xs, const ScanOptions &options = {},
          Where where = Where::current()) {
  using Carry = detail::tree_t<Init>;
  using Split = detail::SplitResult<std::invoke_result_t<Body &, const Carry &, const Xs &>>;
  using Output = typename Split::Output;
  using Trip = detail::Trip<Carry, Output>;
  Trip trip{detail::treeCast<Carry>(init), {}, {}};
  detail::scanTrips("scan", detail::anyTrip(trip), detail::anyTree(xs), options, where,
                    [&](const void *carry, const void *slices, void *next) {
                      auto result = body(*static_cast<const Carry *>(carry), *static_cast<const Xs *>(slices));
                      *static_cast<Trip *>(next) = Trip{detail::treeCast<Carry>(std::get<0>(std::move(result))),
                                                        detail::treeCast<Output>(std::get<1>(std::move(result))),
                                                        {}};
                    });
  return std::pair<Carry, Output>(std::move(trip.carry), std::move(trip.output));
}

/// `f(slices)` for each slice of `xs`, stacked.
template <class F, class Xs>
auto map(F &&f, const Xs &xs, const ScanOptions &options = {}, Where where = Where::current()) {
  using Output = detail::tree_t<std::invoke_result_t<F &, const Xs &>>;
  using Trip = detail::Trip<std::tuple<>, Output>;
  Trip trip{};
  detail::scanTrips("map", detail::anyTrip(trip), detail::anyTree(xs), options, where,
                    [&](const void *, const void *slices, void *next) {
                      *static_cast<Trip *>(next) =
                          Trip{{}, detail::treeCast<Output>(f(*static_cast<const Xs *>(slices))), {}};
                    });
  return std::move(trip.output);
}

/// Prefixes: result k combines slices 0 to k of `xs` (k to the last, reversed) by the associative `combine(a, b)`,
/// which takes and returns trees like a slice of `xs`. Combined one after the other, so the order of operations is that
/// of a loop.
template <class Combine, class Xs>
Xs associative_scan(Combine &&combine, const Xs &xs, const ScanOptions &options = {}, Where where = Where::current()) {
  // The first slice starts the prefix: until then the carry is zeros, and what is combined with it is not used.
  Xs start = xs;
  if (!detail::zeroSlices(detail::anyTree(start), options, where))
    return start;
  using Carry = std::pair<Tensor, Xs>;
  using Trip = detail::Trip<Carry, Xs>;
  Trip trip{Carry(scalar(false, where), std::move(start)), {}, {}};
  detail::scanTrips("associative_scan", detail::anyTrip(trip), detail::anyTree(xs), options, where,
                    [&](const void *given, const void *slices, void *next) {
                      const Carry &carry = *static_cast<const Carry *>(given);
                      Xs fresh = *static_cast<const Xs *>(slices), combined = combine(carry.second, fresh);
                      detail::chooseSlices(carry.first, detail::anyTree(combined), detail::anyTree(fresh), where);
                      *static_cast<Trip *>(next) = Trip{{scalar(true, where), fresh}, fresh, {}};
                    });
  detail::moveFirstAxis(detail::anyTree(trip.output), options.axis, where);
  return std::move(trip.output);
}

} // namespace sinter::inline SINTER_HOST

#endif
