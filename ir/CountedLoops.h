// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes tell back ends of loops.

#ifndef SINTER_IR_COUNTEDLOOPS_H
#define SINTER_IR_COUNTEDLOOPS_H

#include "llvm/ADT/StringRef.h"

namespace sinter {

/// Discardable attribute, a string: why the loop is one whose trips the host counts (passes/SimplifyControl.h).
inline constexpr llvm::StringLiteral kCountedByHost = "sinter.counted_by_host";

} // namespace sinter

#endif
