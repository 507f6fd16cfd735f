// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds graphs from primitives with little text: what decompositions, canonicalizations and recognizers share.
// Broadcasts are explicit; sizes that are not static are taken from a value that has them.

#ifndef SINTER_IR_COMPOSER_H
#define SINTER_IR_COMPOSER_H

#include "ir/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter {

class Composer : public mlir::ImplicitLocOpBuilder {
public:
  Composer(mlir::Location loc, mlir::OpBuilder &builder) : ImplicitLocOpBuilder(loc, builder) {}

  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    return Op::create(*this, std::forward<Args>(args)...)->getResult(0);
  }

  /// A rank-0 constant.
  mlir::Value scalar(mlir::Type element, double value);
  /// `value` in all places of a tensor of the shape and element type of `like`.
  mlir::Value fill(double value, mlir::Value like);
  /// `value`, whose axis k is axis axes[k] of the result, in the shape of `like`.
  mlir::Value spread(mlir::Value value, mlir::Value like, llvm::ArrayRef<int64_t> axes);
  /// `value` combined along `axes`, which disappear.
  mlir::Value reduce(mlir::Value value, llvm::ArrayRef<int64_t> axes, Combiner combiner);
  /// The number of elements along `axes`, of rank 0 and the element type of `value`.
  mlir::Value count(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// `value` in another float or integer type; itself when it has it.
  mlir::Value convert(mlir::Value value, mlir::Type element);
  /// Rank-0 i64: the size of an axis (a constant where it is static).
  mlir::Value size(mlir::Value value, int64_t axis);
  /// A reshape to `type`; `sizes` (rank-0 i64, one per axis) are read where the type has more than one `?`.
  mlir::Value reshape(mlir::Value value, mlir::RankedTensorType type, mlir::ValueRange sizes = {});
  /// Elements [start, limit) of one axis of static size.
  mlir::Value slice(mlir::Value value, int64_t axis, int64_t start, int64_t limit);
  /// One value of static shape: along each axis [first, first + counts.size()), elements of counts[k] parts alternate.
  /// `parts` have one shape, and their numbers along these axes are in row-major order.
  mlir::Value interleave(mlir::ValueRange parts, llvm::ArrayRef<int64_t> counts, int64_t first);
  /// `value` with exactly the type `type`, which agrees with its own.
  mlir::Value retype(mlir::Value value, mlir::Type type);
};

inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::Type elementTypeOf(mlir::Value value) { return tensorTypeOf(value).getElementType(); }

/// The axes of [0, rank) that are not in `axes`.
llvm::SmallVector<int64_t> otherAxes(int64_t rank, llvm::ArrayRef<int64_t> axes);

} // namespace sinter

#endif
