// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that are known without running anything, as rules of ops ask for them.

#ifndef SINTER_IR_CONSTANTS_H
#define SINTER_IR_CONSTANTS_H

#include "ir/reference/HostTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace sinter {

/// The elements of what a constant op defines; nothing for any other value, for a null one, and where they are not at
/// hand.
std::optional<HostTensor> constantTensor(mlir::Value value);

/// All elements (row-major) of an integer tensor that a constant op defines; nothing for any other value, and
/// for a null one.
std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value value);

/// The same for a float tensor of any width.
std::optional<llvm::SmallVector<double>> constantFloats(mlir::Value value);

/// The one value of all elements: of a constant, or of a constant that is only broadcast or reshaped. Integers
/// and booleans count as their exact value where f64 holds it.
std::optional<double> uniformValue(mlir::Value value);

/// `value` as an arith.constant of `type`: an integer, index or float type, or a vector of one (all lanes alike).
/// Integers wrap to the width.
mlir::Value buildConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);
mlir::Value buildConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, int64_t value);
mlir::Value buildConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, int value);

} // namespace sinter

#endif
