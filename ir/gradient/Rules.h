// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How rules are written and attached: one class a rule, one function a family.

#ifndef SINTER_IR_GRADIENT_RULES_H
#define SINTER_IR_GRADIENT_RULES_H

#include "ir/gradient/Differentiable.h"

namespace sinter {

/// A rule for OpT: `Derived` has LogicalResult vjp(OpT, VjpBuilder &) const and jvp(OpT, JvpBuilder &) const.
template <typename Derived, typename OpT> struct Rule : Differentiable::ExternalModel<Rule<Derived, OpT>, OpT> {
  using Target = OpT;
  using Model = Rule;
  mlir::LogicalResult vjp(mlir::Operation *op, VjpBuilder &g) const { return Derived().vjp(llvm::cast<OpT>(op), g); }
  mlir::LogicalResult jvp(mlir::Operation *op, JvpBuilder &t) const { return Derived().jvp(llvm::cast<OpT>(op), t); }
};

/// Attaches rules to their ops.
template <typename... Rules> void attach(mlir::MLIRContext &context) {
  (Rules::Target::template attachInterface<typename Rules::Model>(context), ...);
}

/// Why an op has no gradient: its result is not a number that moves a little when the operands do.
enum class Discrete { Values, Positions, Sizes, Bits, Fixed };
llvm::StringRef explain(Discrete why);

template <typename OpT, Discrete why> struct NoGradient : NonDifferentiable::ExternalModel<NoGradient<OpT, why>, OpT> {
  llvm::StringRef reason(mlir::Operation *) const { return explain(why); }
};
template <Discrete why, typename... Ops> void attachNoGradient(mlir::MLIRContext &context) {
  (Ops::template attachInterface<NoGradient<Ops, why>>(context), ...);
}

// One per family, each in its family's file.
void attachElementwiseGradients(mlir::MLIRContext &context);
void attachShapeGradients(mlir::MLIRContext &context);
void attachIndexingGradients(mlir::MLIRContext &context);
void attachReductionGradients(mlir::MLIRContext &context);
void attachContractionGradients(mlir::MLIRContext &context);
void attachConvolutionGradient(mlir::MLIRContext &context);
void attachTriangularGradients(mlir::MLIRContext &context);
void attachNormalizationGradients(mlir::MLIRContext &context);
void attachResamplingGradients(mlir::MLIRContext &context);
void attachRandomGradients(mlir::MLIRContext &context);

} // namespace sinter

#endif
