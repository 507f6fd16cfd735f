// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which composites the CPU back end has a better form for than their decomposition.

#ifndef SINTER_BACKENDS_CPU_COMPOSITES_H
#define SINTER_BACKENDS_CPU_COMPOSITES_H

#include "mlir/IR/Operation.h"

namespace sinter::cpu {

/// True when a kernel with this op as its root has an emitter of its own.
bool keepsComposite(mlir::Operation *op);

} // namespace sinter::cpu

#endif
