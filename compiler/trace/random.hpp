// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers from explicit keys. A key and a position give a number, by Philox 4x32-10 (Salmon et al. 2011): the
// same bits eager, traced and at every number of threads. Use a key once; `split` gives independent ones.
//
//   auto [first, second] = sinter::key(42).split<2>();
//   Tensor noise = sinter::random::normal(first, {3, 4});
//
// From bits to numbers go only additions, products, divisions, square roots and integer ops, which round alike
// everywhere: logarithms are series of their own here, and normals are the inverse distribution function by
// Wichura's rational functions (1988, algorithm AS 241).

#ifndef SINTER_TRACE_RANDOM_HPP
#define SINTER_TRACE_RANDOM_HPP

#include "ops_nn.hpp"
#include <array>

namespace sinter::inline SINTER_HOST {

/// A source of random numbers: four words, u32[4].
struct Key {
  Tensor words;
  /// Independent keys.
  std::vector<Key> split(int64_t count, Where where = Where::current()) const;
  template <size_t N> std::array<Key, N> split(Where where = Where::current()) const;
  /// Another key, by a number or a rank-0 tensor of integers: one for each trip of a loop.
  Key fold_in(const Operand &data) const;
};

/// The key of a seed: a number, or a rank-0 tensor of integers.
Key key(const Operand &seed);
template <size_t N> std::array<Key, N> Key::split(Where where) const {
  std::vector<Key> keys = split(int64_t(N), where);
  std::array<Key, N> result;
  std::copy(keys.begin(), keys.end(), result.begin());
  return result;
}

namespace random {

/// Uniform 32-bit words.
Tensor bits(const Key &key, const Sizes &sizes, Where where = Where::current());
/// Uniform in [low, high).
Tensor uniform(const Key &key, const Sizes &sizes, double low = 0, double high = 1, DType dtype = DType::f32,
               Where where = Where::current());
/// Of mean 0 and variance 1.
Tensor normal(const Key &key, const Sizes &sizes, DType dtype = DType::f32, Where where = Where::current());
/// Normal, given that the number lies in [low, high].
Tensor truncated_normal(const Key &key, const Sizes &sizes, double low = -2, double high = 2, DType dtype = DType::f32,
                        Where where = Where::current());
/// Of density e^-x.
Tensor exponential(const Key &key, const Sizes &sizes, DType dtype = DType::f32, Where where = Where::current());
/// Of the standard Gumbel distribution, -log(-log u).
Tensor gumbel(const Key &key, const Sizes &sizes, DType dtype = DType::f32, Where where = Where::current());
/// True with probability `p`, which broadcasts to the sizes.
Tensor bernoulli(const Key &key, const Tensor &p, const Sizes &sizes, Where where = Where::current());
/// A position along `axis` of the logits (i64), with probability softmax(logits): one draw per row.
Tensor categorical(const Key &key, const Operand &logits, int axis = -1);
/// Uniform integers in [low, high).
Tensor randint(const Key &key, const Sizes &sizes, int64_t low, int64_t high, DType dtype = DType::i32,
               Where where = Where::current());
/// 0 to count - 1 in random order (i64).
Tensor permutation(const Key &key, const SizeArgument &count, Where where = Where::current());
/// The slices of an axis in random order.
Tensor shuffle(const Key &key, const Operand &x, int axis = 0);
} // namespace random

/// Zeros with probability `rate`, else x / (1 - rate).
Tensor dropout(const Key &key, const Operand &x, double rate);

} // namespace sinter::inline SINTER_HOST

#endif
