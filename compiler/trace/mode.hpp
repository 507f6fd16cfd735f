// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a model is run: as it is used, or as it is trained. Layers that differ (dropout, batch normalization) take it.

#ifndef SINTER_TRACE_MODE_HPP
#define SINTER_TRACE_MODE_HPP

#include "random.hpp"

namespace sinter::inline SINTER_HOST::nn {

/// Whether layers train, and where those that draw random numbers then take them from.
struct Mode {
  bool training = false;
  /// Where random numbers come from in training.
  Key key = {};
  int64_t draws = 0;
  /// Another key for each caller.
  Key next(Where where = Where::current());
};

} // namespace sinter::inline SINTER_HOST::nn

#endif
