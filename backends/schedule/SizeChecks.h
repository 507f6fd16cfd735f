// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ops require of sizes that only running tells: a kernel checks nothing and would read or write outside of its
// buffers. Where types and named sizes show that an op's sizes fit, there is no check.

#ifndef SINTER_BACKENDS_SCHEDULE_SIZECHECKS_H
#define SINTER_BACKENDS_SCHEDULE_SIZECHECKS_H

#include "ir/Dims.h"
#include <string>

namespace sinter::schedule {

struct SizeCheck {
  enum class Kind { Equal, EqualOrOne, AtLeast, Room };
  Kind kind;
  DimExpr size, wanted;
  std::string message; // its first {} is `wanted`, its second `size`
  /// Room: sizes and a number of bytes whose product must not overflow, none of them negative. `size` and `wanted` are
  /// what the message shows.
  Dims factors = {};
};

/// Appends the checks of one op, those of regions left out.
void collectSizeChecks(mlir::Operation *op, ShapeAnalysis &sizes, llvm::SmallVectorImpl<SizeCheck> &checks);

} // namespace sinter::schedule

#endif
