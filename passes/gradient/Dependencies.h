// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_GRADIENT_DEPENDENCIES_H
#define SINTER_PASSES_GRADIENT_DEPENDENCIES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace sinter {

/// `value` and what it depends on in its block. Goes no further than `ends`,
/// which are part of it where they are reached.
llvm::SetVector<mlir::Value> dependenciesOf(mlir::Value value, llvm::ArrayRef<mlir::Value> ends = {});

} // namespace sinter

#endif
