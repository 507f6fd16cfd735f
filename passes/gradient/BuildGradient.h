// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients as functions: from a function of the graph a new one beside it, in plain ops of the dialect.
//
//   f: (x, y) -> (loss, z), wrt x
//     grad             (x, y) -> (dx)                      derivative of one rank-0 result
//     value_and_grad   (x, y) -> (loss, z, dx)
//     vjp              (x, y, closs, cz) -> (loss, z, dx)  one cotangent per float result
//     jvp              (x, y, tx) -> (loss, z, tloss, tz)  one tangent per float result
//     hvp              (x, y, vx) -> (hx)                  product with the second derivative

#ifndef SINTER_PASSES_GRADIENT_BUILDGRADIENT_H
#define SINTER_PASSES_GRADIENT_BUILDGRADIENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace sinter {

enum class GradientMode { Grad, ValueAndGrad, Vjp, Jvp, HessianVectorProduct };

/// By the names above; nothing for others.
std::optional<GradientMode> parseGradientMode(llvm::StringRef name);

struct GradientOptions {
  GradientMode mode = GradientMode::Vjp;
  /// The loss: which result is differentiated by Grad, ValueAndGrad and HessianVectorProduct.
  unsigned result = 0;
  /// The new function's name; FUNCTION_MODE by default.
  std::string name = {};
  /// Memory policy of the loops that state none (implicit: of the whiles): all, recompute, period(K), binomial(SLOTS),
  /// online(SLOTS), implicit.
  std::string memory = {};
};

/// Adds the function to the module of `function`, which stays as it is. `wrt` are float arguments. Fails with a
/// diagnostic: at an op without a gradient (name, reason), or at the function for what is asked.
llvm::FailureOr<mlir::func::FuncOp> buildGradient(mlir::func::FuncOp function, llvm::ArrayRef<unsigned> wrt,
                                                  const GradientOptions &options = {});

} // namespace sinter

#endif
