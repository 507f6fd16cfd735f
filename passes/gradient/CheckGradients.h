// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function's gradients against what its values say, on the reference evaluator in f64: single elements and a random
// direction against central differences, and <v, J t> of forward mode against <J^T v, t> of reverse mode.

#ifndef SINTER_PASSES_GRADIENT_CHECKGRADIENTS_H
#define SINTER_PASSES_GRADIENT_CHECKGRADIENTS_H

#include "ir/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

struct GradientCheckOptions {
  uint64_t seed = 0;
  /// Elements of each argument that are moved one by one; evenly spread where it has more.
  int64_t elements = 32;
  /// Step of the differences, relative to max(1, |x|); where they disagree with the gradient, shorter ones are tried.
  double step = 1e-5;
  /// Allowed error, relative to max(1, largest magnitude of what is compared).
  double tolerance = 1e-6;
  /// Memory policy of whiles (GradientOptions).
  std::string memory = {};
  /// Compare forward with reverse mode as well; a custom_vjp does not have it.
  bool forwardMode = true;
  /// Expand the policies, as compiling does.
  bool expand = false;
};

struct GradientCheck {
  /// Errors relative to max(1, magnitude): of elements per argument in `wrt`, of the direction, of forward against
  /// reverse mode.
  llvm::SmallVector<double> elements;
  double direction = 0, transpose = 0;
  /// The gradients of sum(v * results) for a random v: one per argument in `wrt`.
  llvm::SmallVector<HostTensor> gradients;
  bool passed = false;
  /// All results and gradients are: elsewhere differences say nothing.
  bool isFinite = true;
};

/// `inputs` are converted where `function` has floats of another width than f64. Fails with a diagnostic when there is
/// no gradient or a value cannot be evaluated.
llvm::FailureOr<GradientCheck> checkGradients(mlir::func::FuncOp function, llvm::ArrayRef<unsigned> wrt,
                                              llvm::ArrayRef<HostTensor> inputs,
                                              const GradientCheckOptions &options = {});

/// A copy of `function` in a module of its own that computes in f64 what it computes in narrower floats. Fails with a
/// diagnostic when an op has no f64 form.
llvm::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> inFloat64(mlir::func::FuncOp function);

} // namespace sinter

#endif
