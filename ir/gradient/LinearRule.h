// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of ops that are linear in some of their operands: forward mode is the op itself on tangents.

#ifndef SINTER_IR_GRADIENT_LINEARRULE_H
#define SINTER_IR_GRADIENT_LINEARRULE_H

#include "ir/gradient/Moves.h"
#include "ir/gradient/Rules.h"

namespace sinter::gradient {

/// `Derived` has static void pull(OpT, VjpBuilder &, Value dy), the transpose, and may say in `linear` of which
/// operands, taken together, the op is a linear function (of the first, if it does not).
template <typename Derived, typename OpT> struct LinearRule : Rule<LinearRule<Derived, OpT>, OpT> {
  static llvm::SmallVector<unsigned> linear(OpT) { return {0}; }

  mlir::LogicalResult vjp(OpT op, VjpBuilder &g) const {
    if (mlir::Value dy = g.cotangent())
      Derived::pull(op, g, dy);
    return mlir::success();
  }
  mlir::LogicalResult jvp(OpT op, JvpBuilder &t) const {
    llvm::SmallVector<unsigned> moved = Derived::linear(op);
    if (llvm::none_of(moved, [&](unsigned i) { return static_cast<bool>(t.tangent(i)); }))
      return mlir::success();
    llvm::SmallVector<mlir::Value> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (!llvm::is_contained(moved, i))
        operands.push_back(t.operand(i));
      else
        operands.push_back(t.tangent(i) ? t.tangent(i) : t.fill(0, t.operand(i)));
    }
    t.set(0, rebuild(t, op, operands)->getResult(0));
    return mlir::success();
  }
};

/// Forward mode of a product of the first two operands: f(tx, w) + f(x, tw).
inline void pushProduct(JvpBuilder &t) {
  for (unsigned i = 0; i < 2; ++i)
    if (mlir::Value tangent = t.tangent(i)) {
      mlir::Value pair[] = {i == 0 ? tangent : t.operand(0), i == 0 ? t.operand(1) : tangent};
      t.set(0, rebuild(t, t.operation(), pair)->getResult(0));
    }
}

} // namespace sinter::gradient

#endif
