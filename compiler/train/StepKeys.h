// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers of a training step: another draw in each step, the same ones for a seed. Keys that a model states once
// and for all are mixed with two states, the number of steps done (optimizer.step) and the seed (random.seed), so that
// a run that is stopped, saved and resumed draws what one that was not stopped would have drawn.

#ifndef SINTER_COMPILER_TRAIN_STEPKEYS_H
#define SINTER_COMPILER_TRAIN_STEPKEYS_H

#include "compiler/train/States.h"

namespace sinter {

/// Makes the random numbers of `states`'s function depend on the step and the seed, whose first value is `seed`; adds
/// nothing when there are none. Keys that come from arguments are the caller's business and stay.
void varyRandomNumbers(mlir::func::FuncOp function, States &states, uint64_t seed);

} // namespace sinter

#endif
