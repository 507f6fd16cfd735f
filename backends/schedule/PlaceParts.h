// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concatenations without copies: kernels write what is joined where the join has it.
//
//   %a = kernel conv(%x)            %a : 9x4, rows 6 apart
//   %b = kernel pool(%x)            %b : 9x2, rows 6 apart, from element 4 of the same buffer on
//   %y = kernel {in_place} (%a, %b) -> 9x6: no code
//
// A part that cannot be placed (an input, a constant, what is computed by code that writes rows one after the other, or
// is part of another join already) is copied to its place by a kernel of its own, and so is what the join's kernel
// computes. Joins of the same first parts are joins of each other,
//
//   join(a, b), join(a, b, c)   ->   %ab = join(a, b), join(%ab, c)
//
// and a join may be part of a join: then all of their parts lie in one buffer. What is joined and used at once by other
// ops of a kernel is never stored and stays as it is: those ops would read rows that lie apart instead, which uses less
// of the caches. So do joins that a cache does not hold, unless their parts follow each other.
//
// What only takes a slice is read where it lies, too. Slices that are joined in their order are what they are slices
// of:
//
//   %p = kernel slice(%x)                  %p = kernel {in_place} slice(%x)
//   %q = kernel slice(%x)            ->
//   %y = kernel join(%p, %q, %a)           %y = kernel {in_place} join(%x, %a)

#ifndef SINTER_BACKENDS_SCHEDULE_PLACEPARTS_H
#define SINTER_BACKENDS_SCHEDULE_PLACEPARTS_H

#include "backends/schedule/Backend.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::schedule {

/// Gives kernels that compute or read parts of joins their `strides` and makes joins `in_place`, where the code of all
/// of them takes that. Kernels of the function have schedules of `host`, and so have those that change. `sizes` are
/// settled (settleSizes).
void placeParts(mlir::func::FuncOp function, Backend &host, ShapeAnalysis &sizes);

/// Of an `in_place` kernel: elements from where what it joins begins to where input `part` does, or from where its
/// input begins to where the slice does, as they lie in memory. `dims` gives sizes of values.
DimExpr beginOfPart(KernelOp kernel, unsigned part, DimContext &context, llvm::function_ref<Dims(mlir::Value)> dims);

} // namespace sinter::schedule

#endif
