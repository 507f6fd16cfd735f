// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kinds of loops share: tracing a body into a region, and running trips on the host.

#ifndef SINTER_TRACE_LOOPS_H
#define SINTER_TRACE_LOOPS_H

#include "Frames.h"
#include "loops.hpp"

namespace sinter::inline SINTER_HOST::detail {

/// What differs between the loops of the graph.
struct LoopParts {
  std::span<const TensorType> leading, trailing; // arguments of the body before and after the carries
  std::span<const uint32_t> operands;            // by which a replay knows the loop again
};

/// A body with its arguments before and after the carries.
using TripBody =
    FunctionRef<void(const void *carry, std::span<const Tensor> leading, std::span<const Tensor> trailing, void *trip)>;
/// Builds a loop's op; returns `Tensor()` or an error.
using LoopOp = FunctionRef<Tensor(std::span<const uint32_t> init, std::span<const TensorType> types, uint32_t region,
                                  int32_t room, uint32_t *results, int32_t *count)>;

/// Traces a loop's body and builds its op; the results are those of the op from number `first` on. Literals in the init
/// take the body's types, in a second attempt.
void traceLoop(Trace &trace, const char *name, Where where, AnyTrip trip, const LoopParts &parts, int first,
               TripBody body, LoopOp op);

/// How the outputs of trips are stacked.
struct StackOptions {
  int axis = 0;
  bool reverse = false;
};
/// Arguments of a body before and after the carries.
using Around = std::pair<std::vector<Tensor>, std::vector<Tensor>>;

/// Runs trips on the host. `go(carry, trip)` says whether there is another; `arguments(trip)` gives the body's
/// arguments before and after the carries.
void runLoop(const char *name, Where where, AnyTrip trip, const LoopParts &parts,
             FunctionRef<Tensor(const void *carry, int64_t trip)> go,
             FunctionRef<const Around &(int64_t trip)> arguments, TripBody body, StackOptions options = {});

} // namespace sinter::inline SINTER_HOST::detail

#endif
