// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TOOLS_SINTER_GRAD_H
#define SINTER_TOOLS_SINTER_GRAD_H

#include "tools/sinter/Command.h"
#include <string>
#include <vector>

namespace sinter::tool {

struct GradientCheckFlags {
  std::string model;
  /// Regular expression of inputs and initializers; empty: all float inputs.
  std::string wrt;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
};

/// Compares the model's gradients with differences, in f64 on the reference evaluator; prints a line for each tensor.
Exit checkGradient(const GradientCheckFlags &flags, const SharedOptions &shared);

} // namespace sinter::tool

#endif
