// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What training makes small, as a user writes it:
//
//   cross_entropy[:axis=A,ignore=LABEL,output=NAME]
//                       mean over all labels of -log softmax(output) at the label. Classes lie along axis A, else the
//                       last one. Negative labels and LABEL do not count; a label past the classes is an error.
//   mse[:output=NAME]   mean of (output - target)^2 over all elements
//   l1, huber:delta=D, smooth_l1:beta=B, bce (the output before a sigmoid), kl (the output as logarithms)
//                       the same of what Losses.h says
//   NAME                an output of the model with one element
//
// `output` is the first float one by default. They add an input: `labels`, of the output's shape
// without the classes, or `target`, of its type.

#ifndef SINTER_COMPILER_TRAIN_LOSS_H
#define SINTER_COMPILER_TRAIN_LOSS_H

#include "compiler/train/States.h"

namespace sinter {

/// Makes the loss, of rank 0, the only result of `function` that replaces no state; others are dropped. `labels` is the
/// element type of labels. Fails with a diagnostic at the function.
llvm::LogicalResult addLoss(mlir::func::FuncOp function, llvm::StringRef loss, mlir::Type labels);

} // namespace sinter

#endif
