// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which optimizer a training step uses, as users write it: NAME:KEY=VALUE,... such as
// `adamw:lr=1e-3,schedule=cosine,steps=5000`. Keys are the names of settings.hpp, and
//   lr=input          the rate is an input of the step
//   schedule=NAME     with the keys that it has
//   clip, clip_value  the greatest norm of all gradients together, the greatest magnitude of their elements
//   no_decay=REGEX    weights whose names it finds do not decay
//   states=TYPE       what moments are kept as: weight, bf16 or int8
//   ema, accumulate

#ifndef SINTER_COMPILER_TRAIN_OPTIMIZERSPEC_H
#define SINTER_COMPILER_TRAIN_OPTIMIZERSPEC_H

#include "compiler/trace/settings.hpp"
#include "llvm/ADT/StringRef.h"

namespace sinter {

struct OptimizerSpec : OptimizerSettings {
  /// Adds a clip of the norm of all gradients; the first change.
  void clipNorm(double greatest);
  bool clipsNorm() const;

  /// Fails with the reason in `error`: an unknown name or key, a number that is none or out of range, a key that is
  /// missing.
  static bool parse(llvm::StringRef text, OptimizerSpec &spec, std::string &error);
};

} // namespace sinter

#endif
