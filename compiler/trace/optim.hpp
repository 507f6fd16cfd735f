// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizers: numbers (settings.hpp) that say how weights move, and what moves them, at once or in a trace.
//
//   auto optimizer = sinter::optim::adamw({.lr = 1e-3})
//                        .clip_norm(1)
//                        .schedule(sinter::optim::cosine(5000))
//                        .group("bias$", sinter::optim::adamw({.lr = 1e-3, .weight_decay = 0}));
//
// The formulas are in compiler/train, the same for `sinter train-step`.

#ifndef SINTER_TRACE_OPTIM_HPP
#define SINTER_TRACE_OPTIM_HPP

#include "settings.hpp"
#include "tree.hpp"
#include <map>

namespace sinter::inline SINTER_HOST::optim {

/// What an optimizer remembers, by name: `optimizer.step`, `optimizer.mean.WEIGHT`. A tree; empty before the first
/// step.
using State = std::map<std::string, Tensor>;

/// How weights move. Each function returns a changed copy.
class Optimizer {
public:
  Optimizer(const MoveSettings &move) { static_cast<MoveSettings &>(numbers) = move; }
  static Optimizer from(OptimizerSettings settings);

  /// A factor on the rates of all groups.
  Optimizer schedule(const ScheduleSettings &schedule) const;
  /// Steps in which the rate rises from 0; the schedule begins after them.
  Optimizer warmup(double steps) const;
  /// Done to the gradients before they move anything, in the order of these calls: scales all so that their norm is at
  /// most `greatest`; bounds each element's magnitude; multiplies.
  Optimizer clip_norm(double greatest) const;
  Optimizer clip_value(double greatest) const;
  Optimizer scale(double factor) const;
  /// Weights whose names match (POSIX extended regular expression, anywhere in the name) move as `other` says. The
  /// first group that matches counts; a pattern that finds none of a model's leaves is an error.
  Optimizer group(const std::string &pattern, const Optimizer &other) const;
  /// Weights whose names match do not decay.
  Optimizer no_decay(const std::string &pattern) const;
  /// Keeps averages of the weights as states `optimizer.ema.WEIGHT`: keep * old + (1 - keep) * new.
  Optimizer ema(double keep) const;
  /// Moves once in `batches` calls, by the mean of their gradients.
  Optimizer accumulate(int64_t batches) const;

  /// Of weights whose names match, only the rows move that lookups (take along axis 0, bag_sum, nn::Embedding,
  /// nn::EmbeddingBag) read: time and memory of a step follow the batch, not the table. Moments of other rows rest, too
  /// (torch's SparseAdam), and decay is that of the rows. Not with lamb, adafactor, muon and `ema`. With
  /// `accumulate` the rows of all batches of a move are kept, each time as many as the first batch looks up.
  Optimizer sparse(const std::string &pattern) const;

  /// Keeps moments of 4,096 elements and more in fewer bits: bf16, or int8 with a scale for each 256 elements. `int8`
  /// is not for tables that move by rows. Steps compute in the weights' type all the same.
  Optimizer states(StateType type) const;

  const OptimizerSettings &settings() const { return numbers; }
  /// The first error: a number out of range, a pattern that is none. Empty when there is none.
  std::string problem() const;
  /// The first pattern of a group or of tables that finds none of a model's leaves, which have these names.
  std::string problemOfNames(const std::vector<std::string> &names) const;

private:
  OptimizerSettings numbers;
};

/// What the optimizers of these names take; defaults and formulas are torch's, and `lr` is the rate.
struct Sgd {
  double lr = 0, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
struct AdamW {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
struct Adagrad {
  double lr = 1e-2, lr_decay = 0, weight_decay = 0, eps = 1e-10;
};
struct RmsProp {
  double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
};
struct Adadelta {
  double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
};
/// You et al. 2020: Adam's direction, scaled to the length of each weight.
struct Lamb {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0.01;
};
/// Chen et al. 2023: the sign of an interpolated momentum.
struct Lion {
  double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};
struct Adafactor {
  double lr = 1e-2, beta2_decay = -0.8, eps = 2.220446049250313e-16, eps_weight = 1e-3, greatest = 1, weight_decay = 0;
};
/// Matrices; all other weights move as AdamW's with the same rate.
struct Muon {
  double lr = 1e-3, momentum = 0.95, weight_decay = 0.1, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool nesterov = true;
};

/// McMahan et al. 2013: a weight whose gradients do not add up to l1 is 0.
struct Ftrl {
  double lr = 0.1, l1 = 0, l2 = 0, beta = 1;
};

/// An optimizer with these settings, for train_step, Trainer and optim::update. It holds numbers only; its states are
/// in optim::State or in the session of the step.
Optimizer sgd(const Sgd &options);
Optimizer adam(const Adam &options = {});
Optimizer adamw(const AdamW &options = {});
Optimizer adagrad(const Adagrad &options = {});
Optimizer rmsprop(const RmsProp &options = {});
Optimizer adadelta(const Adadelta &options = {});
Optimizer lamb(const Lamb &options = {});
Optimizer lion(const Lion &options = {});
Optimizer adafactor(const Adafactor &options = {});
Optimizer muon(const Muon &options = {});
Optimizer ftrl(const Ftrl &options = {});

/// The rate is lr * factor ^ floor(steps / every).
ScheduleSettings step(double every, double factor = 0.1);
/// lr * factor ^ steps
ScheduleSettings exponential(double factor);
/// lr * (final + (1 - final) * (1 - min(step / steps, 1)) ^ power)
ScheduleSettings polynomial(double steps, double power = 1, double final = 0);
/// lr * (final + (1 - final) * (1 + cos(pi * min(step / steps, 1))) / 2)
ScheduleSettings cosine(double steps, double final = 0);
/// From lr / start up to lr in the share `rise` of the steps, down to lr / start / end, by cosines (Smith & Topin
/// 2018).
ScheduleSettings one_cycle(double steps, double rise = 0.3, double start = 25, double end = 1e4);
/// Times `factor` each time that the loss has not fallen for more than `patience` steps.
ScheduleSettings plateau(double factor = 0.1, double patience = 10, double threshold = 1e-4, double cooldown = 0,
                         double least = 0);

} // namespace sinter::inline SINTER_HOST::optim

namespace sinter::inline SINTER_HOST {
namespace detail {

/// Moves the leaves `weights`, called `names`, by `gradients`; `loss` may be undefined but for plateaus. With a loss
/// scale the result says whether the step counts, a boolean of rank 0; else it is undefined.
Tensor moveWeights(const OptimizerSettings &settings, std::span<Tensor> weights, std::span<const Tensor> gradients,
                   const std::vector<std::string> &names, optim::State &state, const Tensor &loss, Where where);

/// The same for all leaves of a model, in which each pattern has to find one.
void updateWeights(const optim::Optimizer &optimizer, std::span<Tensor> weights, std::span<const Tensor> gradients,
                   const std::vector<std::string> &names, optim::State &state, const Tensor &loss, Where where);

/// Names of leaves as torch's state_dict has them: `layers.0.weight`.
std::vector<std::string> stateNames(AnyTree tree);

} // namespace detail

namespace optim {

/// Moves all float leaves of `model` by `gradients`, a tree like it; replaces them and `state`. At once, or recorded
/// where a trace is open: then gradients go through it. `loss` is what a plateau looks at.
template <class Model>
void update(const Optimizer &optimizer, Model &model, const Model &gradients, State &state, const Tensor &loss = {},
            Where where = Where::current()) {
  std::vector<Tensor> weights = detail::anyTree(model).leaves(), by = detail::anyTree(gradients).leaves();
  detail::updateWeights(optimizer, weights, by, detail::stateNames(detail::anyTree(model)), state, loss, where);
  detail::anyTree(model).setLeaves(weights);
}

} // namespace optim
} // namespace sinter::inline SINTER_HOST

#endif
