// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of a scaled loss (Micikevicius et al. 2018), over any type of numbers (Moves.h, Formulas.h). They are
// divided by the scale S, and a step in which one of them is not finite is skipped. S follows torch.amp.GradScaler:
//
//   state                            begins    not all finite   all finite
//   optimizer.loss_scale             `scale`   S * backoff      S * growth after `interval` of them, if that is finite
//   optimizer.loss_scale.successes   0         0                one more; 0 when S grows
//   optimizer.skipped                0         one more         as it is
//
// A fixed scale has the last of these alone.

#ifndef SINTER_COMPILER_TRAIN_LOSSSCALE_H
#define SINTER_COMPILER_TRAIN_LOSSSCALE_H

#include "compiler/trace/settings.hpp"
#include <limits>
#include <string_view>

namespace sinter {

inline constexpr const char *kLossScaleState = "optimizer.loss_scale";
inline constexpr const char *kSkippedState = "optimizer.skipped";

/// Reads what users write: `none`, a number, or `dynamic` with options, as in
/// `dynamic:init=1024,growth=2,backoff=0.5,interval=2000`. False with what was required and found in `error`.
bool parseLossScale(std::string_view text, LossScaleSettings &settings, std::string &error);

namespace formulas {

template <class N, class Store> class LossScale {
public:
  LossScale(const LossScaleSettings &settings, Store &store) : settings(settings), store(store) {}

  /// Divides the gradients of `weights` (Moved) by the scale and moves the scale on. A mask of rank 0: whether all are
  /// finite.
  template <class Weights> N unscale(Weights &weights) {
    N finite = areFinite(weights), scale = store.number(settings.scale);
    if (settings.kind == LossScaleSettings::Kind::dynamic) {
      N state = store.start(kLossScaleState, settings.scale);
      scale = wide(state);
      move(state, finite);
    }
    for (auto &weight : weights)
      weight.gradient = weight.gradient * inTypeOf(1.0 / scale, weight.gradient);
    N skipped = store.counter(kSkippedState);
    store.put(kSkippedState, choose(finite, skipped, oneMore(skipped)));
    return finite;
  }

private:
  /// 0 * x is 0 for each finite x and not a number for others.
  template <class Weights> N areFinite(const Weights &weights) {
    N sum = store.number(0);
    for (const auto &weight : weights)
      sum = sum + wide(total(0.0 * weight.gradient));
    return isAbove(sum, -1);
  }

  void move(const N &scale, const N &finite) {
    constexpr const char *successes = "optimizer.loss_scale.successes";
    N count = store.counter(successes), next = oneMore(count), none = fill(next, 0);
    N isDue = isAbove(wide(next), static_cast<double>(settings.interval) - 0.5);
    N larger = inTypeOf(settings.growth * wide(scale), scale),
      smaller = inTypeOf(settings.backoff * wide(scale), scale);
    N grown = choose(isBelow(larger, std::numeric_limits<double>::infinity()), larger, scale);
    store.put(kLossScaleState, choose(finite, choose(isDue, grown, scale), smaller));
    store.put(successes, choose(finite, choose(isDue, none, next), none));
  }

  const LossScaleSettings &settings;
  Store &store;
};

} // namespace formulas
} // namespace sinter

#endif
