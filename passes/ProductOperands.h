// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of products in other types: how often products read them, and so whether a conversion pays, and where it
// stands.

#ifndef SINTER_PASSES_PRODUCTOPERANDS_H
#define SINTER_PASSES_PRODUCTOPERANDS_H

#include "ir/Contraction.h"

namespace sinter {

/// How often the product reads each element of operand `operand` (0 or 1); dynamic where a size is not known.
int64_t readsOf(DotGeneralOp product, unsigned operand);
int64_t readsOf(ConvolutionOp product, unsigned operand);

/// True where an operand that is read `reads` times an element pays for its conversion, which reads and writes each
/// element once. Sizes that are not known count as large.
bool isReadOften(int64_t reads);

/// Conversions of values, each made once.
class OperandConversions {
public:
  /// `value` in the float type `type`, converted where it is defined: outside of the loops that capture it, and before
  /// it is moved, so that all that read parts of a tensor share one conversion. So are operands of joins and of pools
  /// of the greatest that products alone read. A constant is one of f32 at once.
  mlir::Value converted(mlir::Value value, mlir::Type type);

private:
  mlir::Value make(mlir::Value value, mlir::Type type);
  mlir::Value captured(mlir::Operation *loop, mlir::BlockArgument argument, mlir::Type type);

  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> known;
};

} // namespace sinter

#endif
