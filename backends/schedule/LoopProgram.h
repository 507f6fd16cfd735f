// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `schedule.repeat` that one kernel runs: its steps, and the words that the kernel is called with. All addresses and
// sizes in a loop are those of the first trip, so the host computes them once, before the loop:
//
//     repeat counting %n while {                words   %n, %s, %f, %x, %y       (numbers that are constants are none)
//       launch @k0(%s, %f) chunks %c1           steps   loop %n { launch k0(%s, %f) 1 } %f {
//       test %f                                           launch k1(%x, %y) 5
//     } do {                                              copy %x <- %y, 20 bytes }
//       launch @k1(%x, %y) chunks %c5
//       copy %y to %x bytes %c20
//     }

#ifndef SINTER_BACKENDS_SCHEDULE_LOOPPROGRAM_H
#define SINTER_BACKENDS_SCHEDULE_LOOPPROGRAM_H

#include "backends/schedule/Dialect.h"
#include "runtime/device.h"
#include <optional>
#include <vector>

namespace sinter::schedule {

/// A number, or a word of the kernel.
struct LoopOperand {
  std::optional<int64_t> number;
  unsigned word = 0;
};

struct LoopStep {
  enum class Kind { Launch, Copy, Clear, Loop, Branch };
  Kind kind;
  std::string kernel; // of a launch
  /// Launch: arguments, then the number of chunks. Copy: to, from, bytes. Clear: to, bytes. Loop: where trips are
  /// counted, the most trips (-1: any number), the flag. Branch: the flag.
  llvm::SmallVector<LoopOperand> operands;
  std::vector<LoopStep> first, second; // of a loop the test and the body, of a branch both sides
};

struct LoopProgram {
  struct Word {
    mlir::Value value;
    sinter_word role;
  };
  LoopStep loop;
  llvm::SmallVector<Word> words;

  /// Nothing for a loop with an op that is no step (pieces that are copied).
  static std::optional<LoopProgram> of(RepeatOp loop);
};

} // namespace sinter::schedule

#endif
