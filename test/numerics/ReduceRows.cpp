// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

namespace sinter::numerics {

/// Over all axes, the first and the last, with and without kept axes.
#define REDUCTION(NAME, DTYPES, LOW, HIGH, TOLERANCE)                                                                  \
  {#NAME, DTYPES, kUnary, LOW, HIGH, TOLERANCE, [](const Tensors &x) {                                                 \
     Tensors results{sinter::NAME(x[0])};                                                                              \
     if (x[0].rank())                                                                                                  \
       results.insert(results.end(), {sinter::NAME(x[0], 0), sinter::NAME(x[0], {-1})});                               \
     return results;                                                                                                   \
   }}

std::vector<Row> reduceRows() {
  const Cases filled = {{{}}, {{1}}, {{3, 4}}, {{2, 1, 5}}, {{37}}};
  const Cases axisFilled = {{{1}}, {{7}}, {{3, 4}}, {{2, 1, 5}}, {{2, 3, 5}}};
  return {
      REDUCTION(sum, kNumbers, -4, 4, 64),
      REDUCTION(prod, kNumbers, 0.5, 1.5, 64),
      REDUCTION(max, kAll, -4, 4, 0),
      REDUCTION(min, kAll, -4, 4, 0),
      REDUCTION(any, kAll, -1, 1, 0),
      REDUCTION(all, kAll, -1, 1, 0),
      {"argmax", kNumbers, filled, -4, 4, 0,
       [](const Tensors &x) {
         return x[0].rank() ? Tensors{argmax(x[0]), argmax(x[0], 0), argmax(x[0], -1, true)} : Tensors{argmax(x[0])};
       }},
      {"argmin", kNumbers, filled, -4, 4, 0,
       [](const Tensors &x) {
         return x[0].rank() ? Tensors{argmin(x[0]), argmin(x[0], 0), argmin(x[0], -1, true)} : Tensors{argmin(x[0])};
       }},
      REDUCTION(mean, kFloats, -4, 4, 16),
      REDUCTION(var, kFloats, -4, 4, 64),
      REDUCTION(stddev, kFloats, -4, 4, 64),
      REDUCTION(norm, kFloats, -4, 4, 64),
      REDUCTION(logsumexp, kFloats, -4, 4, 64),
      {"cumsum", kNumbers, kAxis, -4, 4, 64, [](const Tensors &x) { return Tensors{cumsum(x[0]), cumsum(x[0], -1)}; }},
      {"cumprod", kNumbers, kAxis, 0.5, 1.5, 64, [](const Tensors &x) { return cumprod(x[0], -1); }},
      {"cummax", kNumbers, kAxis, -4, 4, 0, [](const Tensors &x) { return cummax(x[0], -1); }},
      {"cummin", kNumbers, kAxis, -4, 4, 0, [](const Tensors &x) { return cummin(x[0], -1); }},
      {"sort", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return Tensors{sort(x[0]), sort(x[0], 0, true)}; }},
      {"argsort", kAll, kAxis, -4, 4, 0,
       [](const Tensors &x) { return Tensors{argsort(x[0]), argsort(x[0], 0, true)}; }},
      {"top_k", kNumbers, axisFilled, -4, 4, 0, [](const Tensors &x) { return top_k(x[0], 1); }},
      {"searchsorted",
       kNumbers,
       {{{0}, {2}}, {{1}, {}}, {{5}, {3}}, {{8}, {2, 3}}, {{7}, {0}}},
       -4,
       4,
       0,
       [](const Tensors &x) {
         Tensor list = sort(x[0]);
         return Tensors{searchsorted(list, x[1]), searchsorted(list, x[1], true)};
       }},
  };
}

} // namespace sinter::numerics
