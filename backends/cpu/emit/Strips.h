// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a chunk of a matrix product brings into the order in which its register tiles read (ProductForm.h): a panel of
// columns of the right operand, as constants are packed at compile time, and rows of the left one.
//
//   strip  [header: sums of the columns]  [k / kPack][columns][kPack]      rows  [row][k, then zeros up to whole steps]

#ifndef SINTER_BACKENDS_CPU_EMIT_STRIPS_H
#define SINTER_BACKENDS_CPU_EMIT_STRIPS_H

#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/ProductForm.h"

namespace sinter::cpu {

/// A matrix whose k or columns are contiguous.
struct StripSource {
  mlir::Value buffer, base; // the first element
  mlir::Value k, columns;
  mlir::Value kStride, columnStride; // elements; columnStride is 1 unless `transposed`
  bool transposed = false;           // k is contiguous
  bool masked = false;               // the last panel may have fewer columns
};

/// Writes columns [columnBegin, columnBegin + panel) of `source` to `strip` from `stripBase` on. What is beyond the
/// last column does not matter.
void emitStrip(KernelFunction &fn, const ProductForm &form, const StripSource &source, mlir::Value columnBegin,
               int64_t panel, int64_t lanes, mlir::Value strip, mlir::Value stripBase);

/// Rows of a matrix, at any strides.
struct RowSource {
  mlir::Value buffer, base; // the first element
  mlir::Value k, rowStride, kStride;
  bool isContiguous = false; // along k
  bool isTransposed = false; // rows lie side by side: rowStride is 1
};

/// Writes rows [begin, end) to `rows` from `rowsBase` on, `pitch` elements from one to the next; zeros from k to
/// `width`.
void emitRowCopy(KernelFunction &fn, const ProductForm &form, const RowSource &source, mlir::Value begin,
                 mlir::Value end, mlir::Value width, mlir::Value pitch, mlir::Value rows, mlir::Value rowsBase);

} // namespace sinter::cpu

#endif
