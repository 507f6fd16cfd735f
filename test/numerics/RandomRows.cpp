// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

namespace sinter::numerics {

std::vector<Row> randomRows() {
  const Cases none = {{}};
  static const std::vector<Sizes> shapes = {{}, {0}, {1}, {7}, {3, 5}, {2, 0, 3}};
  auto each = [](auto draw) {
    return [=](const Tensors &) {
      Tensors results;
      for (size_t k = 0; k < shapes.size(); ++k)
        results.push_back(draw(key(int64_t(k) + 5), shapes[k]));
      return results;
    };
  };
  return {
      {"key", kIntegers, {{{}}}, 0, 99, 0, [](const Tensors &x) { return Tensors{key(x[0]).words, key(7).words}; }},
      {"split", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         Tensors words;
         for (const Key &each : key(3).split(5))
           words.push_back(each.words);
         return words;
       }},
      {"fold_in",
       kIntegers,
       {{{}}},
       0,
       99,
       0,
       [](const Tensors &x) { return Tensors{key(3).fold_in(x[0]).words, key(3).fold_in(1).words}; }},
      {"random::bits", kOne, none, 0, 0, 0, each([](const Key &k, const Sizes &s) { return random::bits(k, s); })},
      {"random::uniform", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::uniform(k, s); })},
      {"random::uniform", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::uniform(k, s, -2, 3, DType::f64); })},
      {"random::uniform", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::uniform(k, s, 0, 1, DType::f16); })},
      {"random::normal", kOne, none, 0, 0, 0, each([](const Key &k, const Sizes &s) { return random::normal(k, s); })},
      {"random::normal", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::normal(k, s, DType::f64); })},
      {"random::normal", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::normal(k, s, DType::bf16); })},
      {"random::truncated_normal", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::truncated_normal(k, s, -1, 2.5); })},
      {"random::exponential", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::exponential(k, s); })},
      {"random::gumbel", kOne, none, 0, 0, 0, each([](const Key &k, const Sizes &s) { return random::gumbel(k, s); })},
      {"random::bernoulli", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::bernoulli(k, 0.25, s); })},
      {"random::categorical",
       kWideFloats,
       {{{1}}, {{7}}, {{3, 4}}, {{0, 3}}, {{2, 3, 5}}},
       -4,
       4,
       0,
       [](const Tensors &x) { return random::categorical(key(4), x[0]); }},
      {"random::randint", kOne, none, 0, 0, 0,
       each([](const Key &k, const Sizes &s) { return random::randint(k, s, -3, 1000); })},
      {"random::randint", kOne, none, 0, 0, 0, each([](const Key &k, const Sizes &s) {
         return random::randint(k, s, -(int64_t(1) << 40), int64_t(1) << 50, DType::i64);
       })},
      {"random::permutation", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         return Tensors{random::permutation(key(1), 0), random::permutation(key(1), 1), random::permutation(key(1), 9)};
       }},
      {"random::shuffle", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return random::shuffle(key(2), x[0], -1); }},
      {"dropout", kFloats, kUnary, -4, 4, 0, [](const Tensors &x) { return dropout(key(6), x[0], 0.5); }},
  };
}

} // namespace sinter::numerics
