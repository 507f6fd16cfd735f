// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TOOLS_SINTER_DOT_H
#define SINTER_TOOLS_SINTER_DOT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace sinter::tool {

/// The graph for Graphviz: a node per op, an edge per use.
std::string printDot(mlir::ModuleOp module);

} // namespace sinter::tool

#endif
