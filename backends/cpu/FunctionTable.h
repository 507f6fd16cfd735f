// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants that describe compiled functions to the runtime (`sinter_function`, runtime/abi.h), and blocks of
// bytes, as object files.

#ifndef SINTER_BACKENDS_CPU_FUNCTIONTABLE_H
#define SINTER_BACKENDS_CPU_FUNCTIONTABLE_H

#include "backends/cpu/Object.h"
#include "backends/schedule/Backends.h"

namespace sinter::cpu {

using schedule::Signature;
using schedule::TableOptions;

/// A relocatable ELF file, as bytes, with the table of these functions. Fails with the reason in `error`.
llvm::FailureOr<std::string> makeTableObject(llvm::ArrayRef<Signature> functions, const TableOptions &table,
                                             const ObjectOptions &options, std::string &error);

/// Writes a relocatable ELF file whose read-only, 64-byte aligned section holds `bytes` under the hidden symbol
/// `symbol`. The bytes go straight to the file: weights may be large.
bool writeDataObject(llvm::StringRef path, llvm::StringRef symbol, llvm::ArrayRef<char> bytes, const Target &target,
                     std::string &error);

} // namespace sinter::cpu

#endif
