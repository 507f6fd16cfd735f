// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values in pages of a cache, as attention of a GPU reads them: row by row.

#ifndef SINTER_PASSES_CACHEPAGES_H
#define SINTER_PASSES_CACHEPAGES_H

#include "mlir/IR/Block.h"

namespace sinter {

/// Where an attention reads a gather of whole pages, whose rows a reshape puts one behind the other,
///
///     cache [pages, rows, heads, d];  gather(cache, table [..., n], axis 0) -> reshape [..., n * rows, heads, d]
///
/// it becomes a gather of rows by their numbers, table * rows + (0, 1, ... rows - 1), from the cache as [pages * rows,
/// heads, d]: that needs no reshape behind it, so its kernel can do it.
void gatherRowsOfPages(mlir::Block &block);

} // namespace sinter

#endif
