// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which row composites have an emitter; the others are decomposed before kernels are formed.

#ifndef SINTER_BACKENDS_CPU_EMIT_ROWFORM_H
#define SINTER_BACKENDS_CPU_EMIT_ROWFORM_H

#include "mlir/IR/Operation.h"

namespace sinter::cpu {

/// Softmax and layer norm over the innermost axis alone.
bool hasRowTemplate(mlir::Operation *op);

} // namespace sinter::cpu

#endif
