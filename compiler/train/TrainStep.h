// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model becomes a training step: forward, loss, gradient and optimizer in one function over states, and what it has
// learned is used by a second function over the same states.
//
//   step(inputs, labels, [lr]; weights, statistics, moments) -> (loss; all of them again)
//   infer(inputs; weights, statistics) -> outputs

#ifndef SINTER_COMPILER_TRAIN_TRAINSTEP_H
#define SINTER_COMPILER_TRAIN_TRAINSTEP_H

#include "compiler/train/ImportStates.h"
#include "compiler/train/OptimizerSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sinter {

struct TrainOptions {
  /// As in Loss.h.
  std::string loss = "cross_entropy";
  /// Of labels: i64, i32, i16, i8, ui8.
  std::string labels = "i64";
  OptimizerSpec optimizer;
  /// Which of the weights are trained; the others are only read.
  TrainedNames names;
  /// All initializers of an ONNX model, of which those that are not trained are constants (TrainedNames::adjust); empty
  /// for models whose weights are all states.
  std::vector<std::string> initializers;
  /// A seed for the first values of weights that have none: uniform within 1 / sqrt(fan in), vectors and numbers 0. The
  /// fan in is the first dim of a matrix, and the product of all dims but the first of a larger tensor (a convolution's
  /// filter). Without a seed they are zeros.
  std::optional<uint64_t> seed;
  /// Of random numbers in the step, such as dropout's: the first value of the state random.seed.
  uint64_t randomSeed = 0;
  /// What gradients are multiplied with while they are computed; without it that is dynamic where a product or
  /// convolution multiplies in f16 by the policy of `training` (passes/LowerPrecision.h), and nothing elsewhere.
  std::optional<LossScaleSettings> lossScale;
  /// What the step keeps of activations (backends/schedule/KeepPolicy.h), which must be well formed; empty: all.
  std::string checkpoint;
};

struct TrainStep {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Names of the weights that the step moves: those that the loss depends on.
  std::vector<std::string> trained;
};

/// `training` and `inference` hold the model's function (`main`, else the first) as it is in training and when it is
/// used; its policy of precision is that of the step. Arguments with `sinter.state` are states; those of floats that no
/// result replaces are weights. Fails with a diagnostic.
llvm::FailureOr<TrainStep> makeTrainStep(mlir::ModuleOp training, mlir::ModuleOp inference,
                                         const TrainOptions &options);

} // namespace sinter

#endif
