// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Padding with elements of the tensor itself, as numbers: shared by shape rules and evaluation.

#ifndef SINTER_IR_PADDING_H
#define SINTER_IR_PADDING_H

#include <cstdint>

namespace sinter {

/// An axis that is padded with elements of its own: first what is negative is removed, then elements are added that
/// the rest gives.
struct PaddedAxis {
  int64_t removed; // at the low end
  int64_t low;     // added there, 0 or more
  int64_t rest;    // what remains of the axis; negative when more is removed than there is
  int64_t least;   // what must remain; reflections do not repeat the element at the end
};
PaddedAxis splitPadding(int64_t size, int64_t low, int64_t high, bool reflects);

} // namespace sinter

#endif
