// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_CONTROL_H
#define SINTER_IR_CONTROL_H

#include "ir/Dialect.h"

namespace sinter {
/// Discardable attribute of a `while` that traps: what its error says. The first {} is the first carry, rank-0 i64.
inline constexpr llvm::StringLiteral kLimitMessage = "sinter.limit_message";
} // namespace sinter

#define GET_OP_CLASSES
#include "ir/Control.h.inc"

#endif
