// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders in which a convolution with channels last reads a filter that is no constant: output channels are contiguous,
// so that lanes run along them, or pairs of input channels are, as instructions for bf16 multiply them.
//
//   one:    [taps..., C, O]          transpose                   -> [O, taps..., C]
//   pairs:  [taps..., C / 2, O, 2]   transpose, then reshape     -> [O, taps..., C]

#ifndef SINTER_IR_FILTERORDER_H
#define SINTER_IR_FILTERORDER_H

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include <optional>

namespace sinter {

/// A filter as ops make it of what lies in memory.
struct FilterOrder {
  mlir::Value source; // as it lies in memory
  int64_t pack = 1;   // input channels side by side
};

/// How `filter` of a convolution with channels last follows from another value; nothing where it does not in one of the
/// ways above.
std::optional<FilterOrder> filterOrderOf(mlir::Value filter);

/// True for an op that is part of such an order, and of nothing else.
bool isFilterOrder(mlir::Operation *op);

/// How many input channels lie side by side in the filter of `op` once it is in its order: 2 for an even number of
/// bf16, else 1.
int64_t filterPack(ConvolutionOp op);

/// `filter`, [O, taps..., C] of static sizes, brought into its order with `pack` channels side by side and back. The
/// second part is what `filterOrderOf` finds; the first is a kernel's work.
mlir::Value orderFilter(Composer &c, mlir::Value filter, int64_t pack);

} // namespace sinter

#endif
