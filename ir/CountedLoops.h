// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes and texts tell back ends of loops.

#ifndef SINTER_IR_COUNTEDLOOPS_H
#define SINTER_IR_COUNTEDLOOPS_H

#include "llvm/ADT/StringRef.h"

namespace sinter {

/// Discardable attribute, a string: why the loop is one whose trips the host counts (passes/SimplifyControl.h).
inline constexpr llvm::StringLiteral kCountedByHost = "sinter.counted_by_host";

/// Discardable attribute, a boolean: whether a back end that runs the loop makes one kernel of it. Without, its cost
/// model decides.
inline constexpr llvm::StringLiteral kOneKernel = "sinter.one_kernel";

} // namespace sinter

#endif
