// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops and attributes a graph file may name, and the versions of ops.

#ifndef SINTER_IR_FILE_NAMES_H
#define SINTER_IR_FILE_NAMES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace sinter::file {

/// The version that files get now, 1 for most. An op whose operands, attributes or meaning change gets the next one,
/// and the reader learns to bring the old one up to date.
uint32_t opVersion(llvm::StringRef op);

/// True for the ops of the dialect, and for calls and returns of functions.
bool isStorable(llvm::StringRef op);

/// True for attributes of a function that its record holds in fields of their own.
bool isFunctionField(llvm::StringRef attribute);

} // namespace sinter::file

#endif
