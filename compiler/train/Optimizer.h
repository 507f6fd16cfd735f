// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimizers as graphs: from a weight and its gradient the weight's next value, in pointwise ops that become one kernel
// a weight. Moments and the number of steps are states called optimizer.KIND.WEIGHT and optimizer.step. Formulas are
// those of torch.optim, and You et al. 2020 for lamb; numbers that all weights share are computed once, in f64.

#ifndef SINTER_COMPILER_TRAIN_OPTIMIZER_H
#define SINTER_COMPILER_TRAIN_OPTIMIZER_H

#include "compiler/train/OptimizerSpec.h"
#include "compiler/train/States.h"
#include "ir/gradient/Term.h"

namespace sinter {

/// A tensor that training moves.
struct Weight {
  std::string name;
  mlir::Value value, gradient; // of one static float type
};

/// Adds to the end of `states`'s function what moves `weights`: states, the input `lr` where the rate is one, and the
/// results that replace the weights.
void addOptimizer(Composer &composer, const OptimizerSpec &spec, States &states, llvm::ArrayRef<Weight> weights);

} // namespace sinter

#endif
