// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where elements lie that ops only move: transposes, slices, gathers of one constant position, and reshapes that join
// no axes which lie apart. torch's attention takes queries out of one product so:
//
//   x [197, 1, 2304]  reshape [1, 197, 1, 3, 768]  transpose 3, 1, 2, 0, 4  reshape [3, 197, 1, 768]  gather 0
//   reshape [197, 12, 64]  transpose 1, 0, 2  reshape [1, 12, 197, 64]        = x[0 on], strides 2304, 64, 2304, 1
//
// In order: x as [1, 197, 3, 12, 64], gather 0 of its third axis, transpose 0, 2, 1, 3.

#ifndef SINTER_IR_ROWVIEW_H
#define SINTER_IR_ROWVIEW_H

#include "ir/Composer.h"
#include "ir/Indexing.h"

namespace sinter {

/// The position that a gather takes, if it is one constant within the axis.
std::optional<int64_t> positionOf(GatherOp gather);

/// True where only the size of the first axis may be open: distances between elements are known then.
bool hasKnownRows(mlir::RankedTensorType type);

/// Elements of a tensor whose sizes are known, but for one at most, and none 0: element (i, j, ...) of it is element
/// first + i strides[0] + j strides[1] + ... of `base`, in row-major order.
struct RowView {
  mlir::Value base;
  int64_t first;
  llvm::SmallVector<int64_t> sizes, strides;

  /// Of `value`, as far back as there are such ops. Nothing where its sizes are not known, or one is 0.
  static std::optional<RowView> of(mlir::Value value);
};

/// `value`, where reshapes stand between what moves it, as moves behind one reshape; else as it is. Only where its
/// sizes are known and its last axis lies in order.
mlir::Value straightened(Composer &c, mlir::Value value);

} // namespace sinter

#endif
