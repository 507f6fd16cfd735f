// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient of a table is kept as what lookups give back: positions and slices, no tensor as large as the table.
//
//   %a = gather %table, %i           d table = scatter(0, %i, da) + scatter(0, %j, db)
//   %b = gather %table, %j           lookups: (%i, da), (%j, db)
//   rows, splits, order = group_rows(concat(%i, %j));  values = bag_sum(concat(da, db), order, splits)
//
// The gradient of a loop that looks rows up is a loop with a carry as large as the table, to which each trip adds. It
// stacks the positions and slices of its trips instead, and they are one lookup behind it.

#ifndef SINTER_IR_SPARSE_H
#define SINTER_IR_SPARSE_H

#include "ir/Composer.h"
#include "ir/Dialect.h"
#include "mlir/IR/PatternMatch.h"

#define GET_OP_CLASSES
#include "ir/Sparse.h.inc"

namespace sinter {

/// What one lookup gives back: `values` [n, ...] are added to the rows `positions` [n].
struct LookupGradient {
  mlir::Value positions, values;
};

/// Rows of a gradient: `rows` [n] ascending, those past the table standing for none, and `values` [n, ...].
struct GradientRows {
  mlir::Value rows, values;
};

/// The lookups whose sum `gradient` is, built where `rewriter` stands; nothing when it is another sum. A loop whose
/// trips add lookups to a carry stacks them instead: it is replaced by one with more results, and so are uses of its
/// results.
std::optional<llvm::SmallVector<LookupGradient>> findLookups(mlir::RewriterBase &rewriter, mlir::Location location,
                                                             mlir::Value gradient);
/// Their sums, row by row: lookups are taken one after the other, elements of each in order. `size` is that of the
/// table's first axis.
GradientRows combineLookups(Composer &composer, llvm::ArrayRef<LookupGradient> lookups, int64_t size);

/// The use of `table`, or of the same in another float type, that is no lookup of rows, in loops neither; null when all
/// are.
mlir::OpOperand *findOtherUse(mlir::Value table);

} // namespace sinter

#endif
