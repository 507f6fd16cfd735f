// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_EXTERNAL_H
#define SINTER_IR_EXTERNAL_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/External.h.inc"

namespace sinter {

/// What the host does by itself between kernels, from tensors in memory: calls of the program's functions, and prints.
bool runsOnHost(mlir::Operation *op);

/// How the evaluator reaches functions of the program and its log, which ir/ does not know. Each returns what went
/// wrong, nothing where nothing did.
struct HostCalls {
  std::string (*call)(llvm::StringRef symbol, llvm::ArrayRef<HostTensor> operands,
                      llvm::MutableArrayRef<HostTensor> results) = nullptr;
  std::string (*print)(llvm::StringRef format, llvm::ArrayRef<HostTensor> operands) = nullptr;
};
/// Of the process; set before anything is evaluated.
HostCalls &hostCalls();

} // namespace sinter

#endif
