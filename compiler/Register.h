// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that a tool or an embedding program must register, in one place.

#ifndef SINTER_COMPILER_REGISTER_H
#define SINTER_COMPILER_REGISTER_H

#include "mlir/IR/DialectRegistry.h"

namespace sinter {

/// The sinter dialect and the upstream dialects and translations that the pipeline uses.
void registerDialects(mlir::DialectRegistry &registry);

/// All passes, for tools that build pipelines from text.
void registerPasses();

} // namespace sinter

#endif
