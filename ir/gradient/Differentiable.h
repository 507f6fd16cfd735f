// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a gradient rule reads and writes. A rule is an external model of `Differentiable`:
//
//   struct TransposeRule : Differentiable::ExternalModel<TransposeRule, TransposeOp> {
//     // dx = transpose(dy, inverse permutation)
//     LogicalResult vjp(Operation *op, VjpBuilder &g) const { g.give(0, ...g.cotangent()...); return success(); }
//     LogicalResult jvp(Operation *op, JvpBuilder &t) const { t.set(0, ...t.tangent()...); return success(); }
//   };
//
// Forward values are g.operand(i) and g.result(i). What is given for an operand has its element type and rank; sizes
// may be less precise.

#ifndef SINTER_IR_GRADIENT_DIFFERENTIABLE_H
#define SINTER_IR_GRADIENT_DIFFERENTIABLE_H

#include "ir/Composer.h"
#include "ir/Dialect.h"
#include "llvm/ADT/BitVector.h"

namespace sinter {

/// What both directions share: the op's forward values.
class GradientBuilder : public Composer {
public:
  GradientBuilder(mlir::OpBuilder &builder, mlir::Operation *op) : Composer(op->getLoc(), builder), op(op) {}

  mlir::Operation *operation() const { return op; }
  mlir::Value operand(unsigned i) const { return op->getOperand(i); }
  mlir::Value result(unsigned i = 0) const { return op->getResult(i); }
  /// The sum; null is zero.
  mlir::Value sum(mlir::Value a, mlir::Value b);

private:
  mlir::Operation *op;
};

/// Reverse mode for one op.
class VjpBuilder : public GradientBuilder {
public:
  /// One cotangent per result (null is zero); `wanted` has a bit per operand.
  VjpBuilder(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<mlir::Value> cotangents,
             llvm::BitVector wanted)
      : GradientBuilder(builder, op), cotangents(cotangents), wanted(std::move(wanted)), given(op->getNumOperands()) {}

  /// Null is zero.
  mlir::Value cotangent(unsigned result = 0) const { return cotangents[result]; }
  bool wants(unsigned operand) const { return wanted.test(operand); }
  /// Adds `value` to the cotangent of an operand; nothing happens for null and for operands that are not wanted.
  void give(unsigned operand, mlir::Value value);
  llvm::ArrayRef<mlir::Value> gradients() const { return given; }

private:
  llvm::SmallVector<mlir::Value> cotangents;
  llvm::BitVector wanted;
  llvm::SmallVector<mlir::Value> given;
};

/// Forward mode for one op.
class JvpBuilder : public GradientBuilder {
public:
  /// One tangent per operand (null is zero).
  JvpBuilder(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<mlir::Value> tangents)
      : GradientBuilder(builder, op), tangents(tangents), results(op->getNumResults()) {}

  /// Null is zero.
  mlir::Value tangent(unsigned operand = 0) const { return tangents[operand]; }
  /// Adds `value` to the tangent of a result.
  void set(unsigned result, mlir::Value value) { results[result] = sum(results[result], value); }
  llvm::ArrayRef<mlir::Value> resultTangents() const { return results; }

private:
  llvm::SmallVector<mlir::Value> tangents;
  llvm::SmallVector<mlir::Value> results;
};

/// A tensor of floats: what may carry a derivative.
bool isDifferentiable(mlir::Type type);

/// Attaches the rules of all op families. Part of registerDialects (compiler/Register.h).
void registerGradients(mlir::DialectRegistry &registry);

} // namespace sinter

#include "ir/gradient/Differentiable.h.inc"

#endif
