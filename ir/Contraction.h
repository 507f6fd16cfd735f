// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_CONTRACTION_H
#define SINTER_IR_CONTRACTION_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Contraction.h.inc"

namespace sinter {

/// Of a convolution: it may be computed by Winograd's method (passes/AllowWinograd).
inline constexpr llvm::StringLiteral kWinogradAttr = "sinter.winograd";

} // namespace sinter

#endif
