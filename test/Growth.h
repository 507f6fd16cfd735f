// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TEST_GROWTH_H
#define SINTER_TEST_GROWTH_H

#include <algorithm>
#include <ctime>

namespace sinter::test {

/// Processor time of `work(4 * n)` over that of `work(n)`: near 4 where it is linear in n, 16 where it is quadratic, on
/// a slow machine as on a fast one. Each is the least of three, and what other processes take is in neither.
template <typename Work> double growth(int n, Work work) {
  double small = 1e9, large = 1e9;
  auto secondsOf = [&](int size) {
    std::clock_t start = std::clock();
    work(size);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  for (int i = 0; i < 3; ++i) {
    small = std::min(small, secondsOf(n));
    large = std::min(large, secondsOf(4 * n));
  }
  return large / std::max(small, 1e-6);
}

} // namespace sinter::test

#endif // SINTER_TEST_GROWTH_H
