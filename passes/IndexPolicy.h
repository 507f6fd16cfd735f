// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens to positions outside of an axis: gathers clamp and scatters skip them (clamp), or the call fails
// (error). It is a function rather than a pass, as a policy is chosen where a graph is read, before gradients are
// built.

#ifndef SINTER_PASSES_INDEXPOLICY_H
#define SINTER_PASSES_INDEXPOLICY_H

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

enum class IndexPolicy { Clamp, Error };

/// Under Error every gather and scatter reads its positions through a check, unless it does already or they are known
/// to be inside. Under Clamp checks are removed.
void applyIndexPolicy(mlir::ModuleOp module, IndexPolicy policy);

} // namespace sinter

#endif
