// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses of single elements, over any type of numbers (Moves.h, and exponential(a), logarithm(a), logarithm1p(a) =
// log(1 + a), magnitude(a)). `x` is what the model gives, `t` what it should give.

#ifndef SINTER_COMPILER_TRAIN_LOSSES_H
#define SINTER_COMPILER_TRAIN_LOSSES_H

namespace sinter::formulas {

template <class N> N squareLoss(const N &x, const N &t) {
  N gap = x - t;
  return gap * gap;
}

template <class N> N absoluteLoss(const N &x, const N &t) { return magnitude(x - t); }

/// gap^2 / 2 up to delta, then delta (|gap| - delta / 2)
template <class N> N huberLoss(const N &x, const N &t, double delta) {
  N gap = x - t, size = magnitude(gap);
  return choose(isBelow(size, delta), 0.5 * (gap * gap), delta * (size - 0.5 * delta));
}

/// The same divided by beta, which torch calls smooth L1; |gap| for beta 0.
template <class N> N smoothAbsoluteLoss(const N &x, const N &t, double beta) {
  N gap = x - t, size = magnitude(gap);
  return beta > 0 ? choose(isBelow(size, beta), 0.5 / beta * (gap * gap), size - 0.5 * beta) : size;
}

/// -t log s(x) - (1 - t) log(1 - s(x)) with s the sigmoid, without overflow: max(x, 0) - x t + log(1 + e^-|x|).
template <class N> N binaryCrossEntropy(const N &x, const N &t) {
  return greatest(x, fill(x, 0)) - x * t + logarithm1p(exponential(-1.0 * magnitude(x)));
}

/// t (log t - x), where x is the logarithm of a probability; 0 where t is 0.
template <class N> N divergence(const N &x, const N &t) {
  N isPositive = isAbove(t, 0), one = fill(t, 1);
  return choose(isPositive, t * (logarithm(choose(isPositive, t, one)) - x), fill(t, 0) * x);
}

} // namespace sinter::formulas

#endif
