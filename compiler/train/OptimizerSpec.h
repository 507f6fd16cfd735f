// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which optimizer a training step uses, as users write it: NAME:KEY=VALUE,... such as
// `adamw:lr=1e-3,schedule=cosine,steps=5000`.

#ifndef SINTER_COMPILER_TRAIN_OPTIMIZERSPEC_H
#define SINTER_COMPILER_TRAIN_OPTIMIZERSPEC_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace sinter {

struct OptimizerSpec {
  enum class Kind { Sgd, Adam, AdamW, Adagrad, RmsProp, Lamb };
  enum class Schedule { Constant, Cosine, Step };

  Kind kind = Kind::Sgd;
  /// lr, or an input of the step with `lr=input`.
  double rate = 0;
  bool rateIsInput = false;
  /// momentum, dampening, nesterov=1 (sgd); momentum (rmsprop).
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  /// weight_decay: added to the gradient (sgd, adam, adagrad, rmsprop), or taken from the weights (adamw, lamb).
  double decay = 0;
  /// beta1, beta2 (adam, adamw, lamb; below 1), alpha (rmsprop), lr_decay (adagrad), eps.
  double beta1 = 0.9, beta2 = 0.999, alpha = 0.99, rateDecay = 0, epsilon = 0;
  /// clip: the gradients of all weights are scaled together so that their norm is at most this; 0: not.
  double clip = 0;

  /// A factor on the rate by the number t of steps done before: min(1, (t + 1) / warmup), then with
  /// u = max(t - warmup, 0)
  ///   schedule=constant   1
  ///   schedule=cosine     final + (1 - final) (1 + cos(pi min(u / steps, 1))) / 2
  ///   schedule=step       factor ^ floor(u / every)
  Schedule schedule = Schedule::Constant;
  double warmup = 0, steps = 0, final = 0, every = 0, factor = 0.1;

  /// Fails with the reason in `error`: an unknown name or key, a number that is none or out of range, a key that is
  /// missing.
  static bool parse(llvm::StringRef text, OptimizerSpec &spec, std::string &error);
};

} // namespace sinter

#endif
