// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of slices and paddings on numbers, shared by shape rules, folders and evaluation.

#ifndef SINTER_IR_RANGES_H
#define SINTER_IR_RANGES_H

#include <cstdint>

namespace sinter {

/// One axis of a slice: elements start, start + step, ..., `count` of them, all inside of the axis.
struct AxisRange {
  int64_t start;
  int64_t step;
  int64_t count;
};

/// NumPy's reading of `start:limit:step` on an axis of `size` elements; none for a step of 0.
AxisRange resolveRange(int64_t start, int64_t limit, int64_t step, int64_t size);

/// Sums and products of sizes, from what nobody has checked: beyond 64 bits they stay at the nearest number, which no
/// tensor has as a size.
int64_t saturatingAdd(int64_t a, int64_t b);
int64_t saturatingMul(int64_t a, int64_t b);

/// Size of a padded axis: interior elements between, then ends added or (negative) removed. May be negative when
/// more is removed than there is.
int64_t paddedSize(int64_t size, int64_t low, int64_t high, int64_t interior);

} // namespace sinter

#endif
