// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops multiply in fewer bits than their types have, as data of a module: passes/LowerPrecision.h.

#ifndef SINTER_IR_PRECISION_H
#define SINTER_IR_PRECISION_H

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// The attribute of a module that names what each op of the policy multiplies in; ops that it lacks stay as they are.
inline constexpr llvm::StringLiteral kPrecisionAttr = "sinter.precision";

/// The entry that names what steps keep activations in.
inline constexpr llvm::StringLiteral kActivations = "activation";

/// Marks a conversion whose result is kept instead of what it converts: readers do not compute it again.
inline constexpr llvm::StringLiteral kKeptAttr = "sinter.kept";

/// Marks an op, then its kernel, that computes a value again which stands earlier: MergeEqualOps does not merge the
/// two.
inline constexpr llvm::StringLiteral kAgainAttr = "sinter.again";

/// What stands there, as a string, for f32 that a target may round to 10 bits behind the point where it multiplies: no
/// type of tensors.
inline constexpr llvm::StringLiteral kTf32 = "tf32";

/// What the policy of the module around says for `op`; null for nothing.
inline mlir::Attribute policyOf(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  auto policy = module ? module->getAttrOfType<mlir::DictionaryAttr>(kPrecisionAttr) : nullptr;
  return policy ? policy.get(op->getName().stripDialect()) : mlir::Attribute();
}

/// The type that the policy has `op` multiply in; null for none.
inline mlir::Type typeOfPolicy(mlir::Operation *op) {
  auto type = mlir::dyn_cast_if_present<mlir::TypeAttr>(policyOf(op));
  return type ? type.getValue() : mlir::Type();
}

/// True where the policy of the module around says tf32 for `op`.
inline bool mayMultiplyInTf32(mlir::Operation *op) {
  auto word = mlir::dyn_cast_if_present<mlir::StringAttr>(policyOf(op));
  return word && word.getValue() == kTf32;
}

} // namespace sinter

#endif
