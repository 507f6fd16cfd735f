// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What moves weights in training, as plain numbers: the same for programs (optim.hpp), for `sinter train-step` and for
// both halves of the library.

#ifndef SINTER_TRACE_SETTINGS_HPP
#define SINTER_TRACE_SETTINGS_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

/// A factor on the rate by the number t of steps done before: min(1, (t + 1) / warmup), then with
/// u = max(t - warmup, 0) and d = min(u / steps, 1)
///   constant      1
///   step          factor ^ floor(u / every)
///   exponential   factor ^ u
///   polynomial    final + (1 - final) (1 - d) ^ power
///   cosine        final + (1 - final) (1 + cos(pi d)) / 2
///   one_cycle     from 1 / start up to 1 in the share `rise` of the steps, then down to final, by cosines
///   plateau       factor ^ n, at least final; n grows by 1 when the loss has not fallen below (1 - threshold) times
///                 its least for more than `patience` steps; after that, `cooldown` steps are not counted
struct ScheduleSettings {
  enum class Kind : int32_t { constant, step, exponential, polynomial, cosine, one_cycle, plateau };
  Kind kind = Kind::constant;
  double warmup = 0, steps = 0, final = 0, every = 0, factor = 0.1, power = 1;
  double start = 25, rise = 0.3;
  double patience = 10, cooldown = 0, threshold = 1e-4;
};

/// How a weight moves. Formulas are in compiler/train/Moves.h.
struct MoveSettings {
  enum class Kind : int32_t { sgd, adam, adamw, adagrad, rmsprop, adadelta, lamb, lion, adafactor, muon, ftrl };
  Kind kind = Kind::sgd;
  double lr = 0;
  /// The rate is an input of the step.
  bool lr_is_input = false;
  /// sgd, rmsprop, muon
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  /// Added to the gradient (sgd, adam, adagrad, rmsprop, adadelta), or taken from the weights (the others).
  double weight_decay = 0;
  /// adam, adamw, lamb, lion, and muon's weights that are no matrices; below 1
  double beta1 = 0.9, beta2 = 0.999;
  /// rmsprop, adadelta
  double alpha = 0.99;
  /// adagrad
  double lr_decay = 0;
  double eps = 0;
  /// adafactor: the least size of a weight, the greatest of a move, and beta2 = 1 - t ^ beta2_decay
  double eps_weight = 1e-3, greatest = 1, beta2_decay = -0.8;
  /// ftrl: weights whose sum of gradients stays below l1 are 0
  double l1 = 0, l2 = 0, beta = 1;
};

/// What torch and the papers begin with.
inline MoveSettings defaultMove(MoveSettings::Kind kind) {
  using Kind = MoveSettings::Kind;
  MoveSettings s;
  s.kind = kind;
  s.eps = kind == Kind::adagrad     ? 1e-10
          : kind == Kind::lamb      ? 1e-6
          : kind == Kind::adadelta  ? 1e-6
          : kind == Kind::adafactor ? 2.220446049250313e-16
                                    : 1e-8;
  s.weight_decay = kind == Kind::adamw || kind == Kind::lamb ? 0.01 : kind == Kind::muon ? 0.1 : 0;
  if (kind == Kind::adadelta)
    s.alpha = 0.9;
  if (kind == Kind::lion)
    s.beta2 = 0.99;
  if (kind == Kind::muon) {
    s.momentum = 0.95;
    s.nesterov = true;
  }
  return s;
}

/// What moments of at least 4,096 elements are kept as between steps: as their weight is, in bf16, or in 8 bits with a
/// scale for each 256 elements, the state `optimizer.KIND_scale.WEIGHT`. Those of weights of 16 bits stay.
enum class StateType : int32_t { weight, bf16, int8 };

/// The factor S that the loss is multiplied with before it is differentiated, so that small gradients stay above the
/// least number of f16. Where a gradient is not finite, a step is skipped: no state changes but S and the count of
/// these.
///   fixed     S is `scale`
///   dynamic   S begins as `scale`, is multiplied with `backoff` by each skipped step and with `growth` after
///             `interval` others in a row, as torch.amp.GradScaler's
struct LossScaleSettings {
  enum class Kind : int32_t { none, fixed, dynamic };
  Kind kind = Kind::none;
  double scale = 65536, growth = 2, backoff = 0.5;
  int64_t interval = 2000;
};

struct OptimizerSettings : MoveSettings {
  ScheduleSettings schedule;
  /// What the gradients that come have been multiplied with.
  LossScaleSettings loss_scale;
  /// What is done to all gradients first, in order.
  struct Change {
    enum class Kind : int32_t { clip_norm, clip_value, scale };
    Kind kind;
    double value;
  };
  std::vector<Change> changes;
  /// Weights whose names match (POSIX extended, somewhere in the name) move in another way; the first match counts.
  struct Group {
    std::string pattern;
    MoveSettings move;
  };
  std::vector<Group> groups;
  /// Above 0: averages of the weights, ema * old + (1 - ema) * new, which are states of their own.
  double ema = 0;
  /// Weights move once in so many calls, by the mean of their gradients.
  int64_t accumulate = 1;
  /// Tables, by name: only rows that were looked up move, and no gradient as large as the table is made. Moments of the
  /// other rows stay as they are, too. Empty: none.
  std::string sparse;
  /// Codes are in compiler/train/Codes.h. Averages of weights and sums of gradients are no moments.
  StateType states = StateType::weight;
};

} // namespace sinter

#endif
