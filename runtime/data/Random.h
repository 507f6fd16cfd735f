// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each random choice of a pipeline is a function of (seed, epoch, position): never of threads, time or what was drawn
// before. The function is SplitMix64's (Steele, Lea, Flood 2014) finalizer, applied once for each of the three.

#ifndef SINTER_RUNTIME_DATA_RANDOM_H
#define SINTER_RUNTIME_DATA_RANDOM_H

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace sinter::data {

inline constexpr uint64_t golden = 0x9E3779B97F4A7C15u;

/// SplitMix64's finalizer: each of the 64 bits of the result depends on all of `z`.
inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// 64 random bits of a place in an epoch; always the same ones.
inline uint64_t draw(uint64_t seed, int64_t epoch, int64_t position) {
  uint64_t z = mix(seed + golden);
  z = mix(z + golden * (static_cast<uint64_t>(epoch) + 1));
  return mix(z + golden * (static_cast<uint64_t>(position) + 1));
}

/// A number below `bound`, from 64 random bits.
inline int64_t below(uint64_t bits, int64_t bound) {
  return static_cast<int64_t>(static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(bound) >> 64);
}

/// Puts the numbers below `count` in an order that `seed` and `epoch` determine (Fisher and Yates).
inline std::vector<int64_t> permutation(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), int64_t(0));
  for (int64_t i = count; i > 1; --i)
    std::swap(order[static_cast<std::size_t>(i - 1)], order[static_cast<std::size_t>(below(draw(seed, epoch, i), i))]);
  return order;
}

} // namespace sinter::data

#endif
