// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants that describe compiled functions to the runtime (`sinter_function`, runtime/abi.h), and blocks of bytes, as object
// files.

#ifndef SINTER_BACKENDS_CPU_FUNCTIONTABLE_H
#define SINTER_BACKENDS_CPU_FUNCTIONTABLE_H

#include "backends/cpu/Object.h"
#include "backends/cpu/Schedule.h"

namespace sinter::cpu {

struct TableOptions {
  /// Name of the exported table: an array of `const sinter_function *` that ends with null.
  std::string symbol = "sinter_functions";
  /// Symbol of the weights when they are linked in; empty when they come from a file beside the code.
  std::string weights;
  int64_t weightsBytes = 0;
  bool hidden = false;
};

llvm::FailureOr<std::string> makeTableObject(llvm::ArrayRef<Signature> functions, const TableOptions &table,
                                             const ObjectOptions &options, std::string &error);

/// Writes a relocatable ELF file whose read-only, 64-byte aligned section holds `bytes` under the hidden symbol `symbol`. The bytes
/// go straight to the file: weights may be large.
bool writeDataObject(llvm::StringRef path, llvm::StringRef symbol, llvm::ArrayRef<char> bytes, const Target &target,
                     std::string &error);

/// sinter_dtype of an element type of the dialect.
int32_t dtypeOf(mlir::Type elementType);

} // namespace sinter::cpu

#endif
