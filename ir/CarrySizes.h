// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that no trip of a loop changes. ShapeAnalysis gives each `?` of a carry a symbol of its own, as the body sees
// it; here such a symbol becomes what the carry starts from, where each trip passes on the size that it got:
//
//   %h : tensor<?x4xf32>, h rows                     body: %a of s rows
//   while(%h)  { add(%a, %x) }                       s = h, as the sum has the rows of %a
//   while(%h)  { add(%x, %a) }                       s = h, too: a sum requires as many rows of %x as of %a

#ifndef SINTER_IR_CARRYSIZES_H
#define SINTER_IR_CARRYSIZES_H

#include "ir/Dims.h"
#include "mlir/IR/Operation.h"

namespace sinter {

/// Makes the sizes of carries that all trips keep those of the loop's operands, in all loops of `root`. What pointwise
/// ops of a body require of their operands is taken as given; who relies on it checks it in the first trip.
void settleCarries(mlir::Operation *root, ShapeAnalysis &sizes);

/// True when the size depends on nothing that the regions of `op`, a loop or a kernel, compute.
bool isKnownOutside(mlir::Operation *op, DimExpr size, ShapeAnalysis &sizes);

} // namespace sinter

#endif
