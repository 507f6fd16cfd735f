// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gradient rules say about shapes and places: values in the shape of another, sums that undo a broadcast, and the
// transpose of any op that only moves elements.

#ifndef SINTER_IR_GRADIENT_MOVES_H
#define SINTER_IR_GRADIENT_MOVES_H

#include "ir/gradient/Term.h"

namespace sinter::gradient {

/// A rank-1 i64 constant.
mlir::Value constantSizes(Composer &c, llvm::ArrayRef<int64_t> values);
/// A rank-0 i64 constant.
mlir::Value constantSize(Composer &c, int64_t value);
/// Rank-0 i64 values as one of rank 1.
mlir::Value joinSizes(Composer &c, llvm::ArrayRef<mlir::Value> sizes);
/// All sizes of `value`, rank-1 i64: a constant where they are static.
mlir::Value sizesOf(Composer &c, mlir::Value value);
/// The number of elements, rank-0 i64.
mlir::Value elementCount(Composer &c, mlir::Value value);

/// The elements of `value` in the shape of `like`.
mlir::Value reshapeLike(Composer &c, mlir::Value value, mlir::Value like);
/// The elements of `value` in one axis.
mlir::Value flatten(Composer &c, mlir::Value value);
/// `value` with `shape` (of which at most one size is `?`).
mlir::Value reshapeTo(Composer &c, mlir::Value value, llvm::ArrayRef<int64_t> shape);
mlir::Value transpose(Composer &c, mlir::Value value, llvm::ArrayRef<int64_t> permutation);
/// [from, to)
llvm::SmallVector<int64_t> axisRange(int64_t from, int64_t to);
/// The part of `value` from 0 on that has the sizes of `like`; `value` itself where the types say that it has them.
mlir::Value trim(Composer &c, mlir::Value value, mlir::Value like);
/// The part of one axis of any size: `size` elements from `start` on (both rank-0 i64).
mlir::Value part(Composer &c, mlir::Value value, int64_t axis, mlir::Value start, mlir::Value size);

/// The transpose of a broadcast of `like` to the shape of `value`, where axis k of `like` became axes[k]: sums over all
/// repetitions. An axis of unknown size may have been repeated or not. `mayRepeat` false says that it was not.
mlir::Value sumTo(Composer &c, mlir::Value value, mlir::Value like, llvm::ArrayRef<int64_t> axes,
                  bool mayRepeat = true);
/// The same for equal ranks.
mlir::Value sumTo(Composer &c, mlir::Value value, mlir::Value like);

/// result[i] = i, along `axis` of a tensor of the shape of `like`, i64.
mlir::Value iotaLike(Composer &c, mlir::Value like, int64_t axis);
/// The row-major position of each element of `like`, i64.
mlir::Value flatPositions(Composer &c, mlir::Value like);
/// Zeros like `like` with `updates` added at row-major `positions` (of the shape of `updates`).
mlir::Value scatterFlat(Composer &c, mlir::Value positions, mlir::Value updates, mlir::Value like);
/// The elements of `values` at row-major `positions`.
mlir::Value gatherFlat(Composer &c, mlir::Value values, mlir::Value positions);

/// Positions as reads use them: a negative one from the end, then clamped to [0, size). `size` has the positions'
/// shape.
mlir::Value clampPositions(Composer &c, mlir::Value positions, mlir::Value size);

/// `op` on other operands: same attributes, result types with the element type of the first operand where that changes.
mlir::Operation *rebuild(Composer &c, mlir::Operation *op, mlir::ValueRange operands);

} // namespace sinter::gradient

#endif
