// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_COMPILER_ONNX_GRADIENT_H
#define SINTER_COMPILER_ONNX_GRADIENT_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// Imports a Gradient node. It names tensors of the graph rather than taking them, so it is given the names, too.
mlir::LogicalResult importGradient(OpImport &node, const llvm::StringMap<mlir::Value> &tensors);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_GRADIENT_H
