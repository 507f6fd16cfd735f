// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C header beside an emitted object or library: plain pointers and sizes.

#ifndef SINTER_COMPILER_HEADER_H
#define SINTER_COMPILER_HEADER_H

#include "backends/schedule/Signature.h"

namespace sinter {

/// Declares NAME_init, NAME_run, NAME_free and NAME_error for each function (names: schedule::plainName).
std::string printHeader(llvm::ArrayRef<schedule::Signature> functions, llvm::StringRef stem);

/// True of what C or C++ keep for themselves: keywords, and `main`.
bool isReservedInC(llvm::StringRef name);

} // namespace sinter

#endif
