// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products with codes in blocks stay whole; the weights of others are numbers before kernels are formed.

#ifndef SINTER_BACKENDS_CPU_EMIT_BLOCKDOTFORM_H
#define SINTER_BACKENDS_CPU_EMIT_BLOCKDOTFORM_H

#include "mlir/IR/Operation.h"

namespace sinter::cpu {

/// f32 products whose codes, scales and zeros are constants, which are packed at compile time.
bool hasBlockDotTemplate(mlir::Operation *op);

} // namespace sinter::cpu

#endif
