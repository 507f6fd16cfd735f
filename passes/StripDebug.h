// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_STRIPDEBUG_H
#define SINTER_PASSES_STRIPDEBUG_H

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// Takes out what only looks for mistakes: debug_print and check_finite. A function rather than a pass, as a user
/// chooses it where a graph is compiled, before anything reads it.
void stripDebug(mlir::ModuleOp module);

} // namespace sinter

#endif
