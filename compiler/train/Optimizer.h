// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The optimizer (Formulas.h) of a training step, as ops at its end: pointwise ones, as a rule, that become one kernel a
// weight.

#ifndef SINTER_COMPILER_TRAIN_OPTIMIZER_H
#define SINTER_COMPILER_TRAIN_OPTIMIZER_H

#include "compiler/train/OptimizerSpec.h"
#include "compiler/train/States.h"
#include "ir/Composer.h"

namespace sinter {

/// A tensor that training moves.
struct Weight {
  std::string name;
  mlir::Value value, gradient; // of one static float type
  /// Of a table that moves by rows: which ones (GradientRows); `gradient` is theirs.
  mlir::Value rows = {};
};

/// Adds to the end of `states`'s function what moves `weights`: states, the input `lr` where the rate is one, and the
/// results that replace the weights. `loss` has rank 0. Of a scaled loss the result says whether the step counts, an i1
/// of rank 0; else it is null.
mlir::Value addOptimizer(Composer &composer, const OptimizerSpec &spec, States &states, llvm::ArrayRef<Weight> weights,
                         mlir::Value loss);

} // namespace sinter

#endif
