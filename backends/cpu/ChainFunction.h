// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_CHAINFUNCTION_H
#define SINTER_BACKENDS_CPU_CHAINFUNCTION_H

#include "backends/schedule/Dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::cpu {

/// Adds the function of a chain to `module`, a wrapper over words as kernels have (abi.h) whose chunks are the chain's
/// parts, and returns its name. The words are the chain's arguments, its memory, and the address of a word for each
/// part, all 0.
std::string emitChain(schedule::ChainOp chain, mlir::ModuleOp module);

} // namespace sinter::cpu

#endif
