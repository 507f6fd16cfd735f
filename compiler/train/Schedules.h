// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules of the rate, over any type of numbers (Moves.h).

#ifndef SINTER_COMPILER_TRAIN_SCHEDULES_H
#define SINTER_COMPILER_TRAIN_SCHEDULES_H

#include "compiler/train/Moves.h"
#include <numbers>

namespace sinter::formulas {

/// From `first` to `last` while `done` goes from 0 to 1, by half a cosine.
template <class N> N cosineBetween(double first, double last, const N &done) {
  return 0.5 * (first - last) * (cosine(std::numbers::pi * done) + 1.0) + last;
}

/// `rate` at the step after `before` ones; all are f64 of rank 0. Not for plateaus.
template <class N> N scheduled(const ScheduleSettings &s, const N &rate, const N &before) {
  using Kind = ScheduleSettings::Kind;
  N result = rate, now = before + 1.0, after = before;
  if (s.warmup > 0) {
    after = greatest(before - s.warmup, fill(before, 0));
    result = result * least(1.0 / s.warmup * now, fill(now, 1));
  }
  auto done = [&] { return least(1.0 / s.steps * after, fill(after, 1)); };
  switch (s.kind) {
  case Kind::constant:
  case Kind::plateau:
    return result;
  case Kind::step:
    return result * power(fill(after, s.factor), floorOf(1.0 / s.every * after));
  case Kind::exponential:
    return result * power(fill(after, s.factor), after);
  case Kind::polynomial:
    return result * ((1 - s.final) * power(1.0 - done(), fill(after, s.power)) + s.final);
  case Kind::cosine:
    return result * cosineBetween(1.0, s.final, done());
  case Kind::one_cycle: {
    double top = s.rise * s.steps - 1, length = s.steps - 1 > top ? s.steps - 1 - top : 1;
    N down = cosineBetween(1.0, s.final, least((after - top) / length, fill(after, 1)));
    if (top <= 0) // the first step is the highest
      return result * down;
    N up = cosineBetween(1 / s.start, 1.0, after / top);
    return result * choose(isAbove(after, top), down, up);
  }
  }
  return result;
}

} // namespace sinter::formulas

#endif
