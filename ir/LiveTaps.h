// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The taps of a filter that meet the input at all. A wide filter on a small image, as at the end of a network whose
// input is smaller than it was made for, has taps that only ever see padding: a 3x3 filter on one padded pixel is a
// product with its middle tap.

#ifndef SINTER_IR_LIVETAPS_H
#define SINTER_IR_LIVETAPS_H

#include "ir/Contraction.h"

namespace sinter {

/// Taps [begin, end) along one spatial axis, at least one. `begin` and `end` count in taps.
struct TapRange {
  int64_t begin = 0, end = 0;
};

/// For each spatial axis the smallest range that holds all taps that meet an element of the input. All taps where a
/// size is not known.
llvm::SmallVector<TapRange> liveTaps(ConvolutionOp op);

} // namespace sinter

#endif
