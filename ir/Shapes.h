// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What shape rules share: agreement of types up to `?`, joins of sizes, and axis checks.

#ifndef SINTER_IR_SHAPES_H
#define SINTER_IR_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace sinter {

/// True when the types are pairwise equal up to sizes of which one is `?`.
bool agree(mlir::TypeRange a, mlir::TypeRange b);
bool agree(mlir::Type a, mlir::Type b);

/// The more precise of two sizes that must be equal; nothing when both are known and differ.
std::optional<int64_t> meetSize(int64_t a, int64_t b);

/// The shape that all `types` agree on, each size as precise as any of them has it. Fails (nothing) when
/// ranks or known sizes differ.
std::optional<llvm::SmallVector<int64_t>> meetShapes(mlir::TypeRange types);

/// Least shape that covers both: `?` where sizes differ. Ranks must be equal (nothing otherwise).
std::optional<llvm::SmallVector<int64_t>> joinShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// `4x?x3` for messages.
std::string printShape(llvm::ArrayRef<int64_t> shape);

/// Bytes of one stored element: i1 is one byte.
int64_t byteWidth(mlir::Type elementType);

/// Signless storage form of an element type (ui8 -> i8, others unchanged).
mlir::Type signless(mlir::Type elementType);
bool isUnsigned(mlir::Type elementType);

/// The product of sizes, or nothing when it overflows or a size is `?`.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Whether the number of elements does not tell the sizes of `type`: with several `?`, or one beside a 0.
bool needsSizes(mlir::RankedTensorType type);

} // namespace sinter

#endif
