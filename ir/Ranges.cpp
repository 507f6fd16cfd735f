// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Ranges.h"

#include <algorithm>
#include <limits>

namespace sinter {

AxisRange resolveRange(int64_t start, int64_t limit, int64_t step, int64_t size) {
  if (step == 0)
    return {0, 1, 0};
  // The least step has no opposite; no axis is long enough to tell the two apart.
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto resolve = [&](int64_t position) { return std::clamp(position < 0 ? position + size : position, low, high); };
  start = resolve(start);
  limit = resolve(limit);
  int64_t span = step > 0 ? limit - start : start - limit;
  int64_t count = span <= 0 ? 0 : 1 + (span - 1) / (step > 0 ? step : -step);
  return {count == 0 ? 0 : start, step, count};
}

int64_t saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum))
    return sum;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product))
    return product;
  return (a < 0) != (b < 0) ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

int64_t paddedSize(int64_t size, int64_t low, int64_t high, int64_t interior) {
  int64_t padded = saturatingMul(std::max<int64_t>(size - 1, 0), interior);
  for (int64_t part : {size, low, high})
    padded = saturatingAdd(padded, part);
  return padded;
}

} // namespace sinter
