// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_PASSES_DEVICES_H
#define SINTER_PASSES_DEVICES_H

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

/// True where the module is made for devices besides the host, too: then forms of kernels that the host alone has are
/// not made.
inline bool hasDevices(mlir::Operation *op) { return op->getParentOfType<mlir::ModuleOp>()->hasAttr("sinter.devices"); }

} // namespace sinter

#endif
