// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants that describe compiled functions to the runtime (`sinter_function`, runtime/abi.h), and blocks of
// bytes, as object files.

#ifndef SINTER_BACKENDS_CPU_FUNCTIONTABLE_H
#define SINTER_BACKENDS_CPU_FUNCTIONTABLE_H

#include "backends/cpu/Object.h"
#include "backends/schedule/Signature.h"

namespace sinter::cpu {

using schedule::Signature;

/// The same functions for another target.
struct TableVariant {
  llvm::ArrayRef<Signature> functions;
  const Target *target = nullptr;
};

struct TableOptions {
  /// Name of the table: an array of `const sinter_function *` that ends with null.
  std::string symbol = "sinter_functions";
  /// Symbol of the weights when they are linked in; empty when they come from a file beside the code.
  std::string weights;
  int64_t weightsBytes = 0;
  /// Also export the table under this name, for programs that look it up in a shared library; empty for no.
  std::string alias;
  /// Stem of plain C functions STEM_init, STEM_run, STEM_free and STEM_error over runtime/embed.h; empty for none. With
  /// several functions in the module the names are STEM_FUNCTION_init and so on. Functions with states become one
  /// object: STEM_init, STEM_FUNCTION for each, STEM_save, STEM_load, STEM_free and STEM_error.
  std::string plain;
  /// Better ones of the functions, each better than those before. The table and plain functions run on the machines of
  /// ObjectOptions.target, which must be all that one of them runs on; opening takes the last one that the machine has.
  llvm::SmallVector<TableVariant> variants;
};

/// A relocatable ELF file, as bytes, with the table of these functions. Fails with the reason in `error`.
llvm::FailureOr<std::string> makeTableObject(llvm::ArrayRef<Signature> functions, const TableOptions &table,
                                             const ObjectOptions &options, std::string &error);

/// Writes a relocatable ELF file whose read-only, 64-byte aligned section holds `bytes` under the hidden symbol
/// `symbol`. The bytes go straight to the file: weights may be large.
bool writeDataObject(llvm::StringRef path, llvm::StringRef symbol, llvm::ArrayRef<char> bytes, const Target &target,
                     std::string &error);

} // namespace sinter::cpu

#endif
