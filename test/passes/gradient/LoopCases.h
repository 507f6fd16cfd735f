// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions with control flow, each with inputs: what gradients through loops must get right.

#ifndef SINTER_TEST_PASSES_GRADIENT_LOOPCASES_H
#define SINTER_TEST_PASSES_GRADIENT_LOOPCASES_H

#include <string>
#include <vector>

namespace sinter::test {

struct LoopCase {
  const char *name;
  /// Arguments of @f by type; floats are filled with values around 0.7, others with `ints`.
  const char *text;
  std::vector<unsigned> wrt;
  std::vector<std::vector<int64_t>> ints;
  /// The whiles carry what a snapshot can hold.
  bool hasPolicies = true;
  /// Sizes of `?` in arguments.
  int64_t size = 3;
  bool hasForwardMode = true;
};

const std::vector<LoopCase> &loopCases();
/// Loops that end near a fixed point of their body, of one scalar argument.
const std::vector<LoopCase> &fixedPointCases();

} // namespace sinter::test

#endif
