// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which masks of attention are bands: numbers [..., rows, columns] that are 0 where a column counts for a row and of so
// great a negative amount elsewhere that the exponential is 0, and where row i counts the columns from i - before to
// i + after.

#ifndef SINTER_IR_MASKBAND_H
#define SINTER_IR_MASKBAND_H

#include "mlir/IR/Value.h"
#include <optional>

namespace sinter {

/// Without a number: all columns on that side.
struct MaskBand {
  std::optional<int64_t> before, after;
  /// What is hidden is -inf: no other mask can bring it back. Of booleans the one who reads them knows.
  bool isInfinite = false;
};

/// The band that `mask` is, of floats, or of booleans that say what counts; of static sizes, whose leading axes have
/// size 1. Reads constants, and what is computed from the distance of column and row. Nothing if it is none, or if a
/// row counts no column.
std::optional<MaskBand> findMaskBand(mlir::Value mask);

} // namespace sinter

#endif
