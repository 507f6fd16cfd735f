// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_FLOATSUPPORT_H
#define SINTER_BACKENDS_CPU_FLOATSUPPORT_H

#include "backends/cpu/Object.h"

namespace sinter::cpu {

/// True when `object` (ELF bytes) calls a function of the float support, or holds its name by chance.
bool callsFloatSupport(llvm::StringRef object);

/// Object code of what LLVM calls to convert floats where no instruction does, and what no C library of Debian 12 has:
/// __truncsfhf2, __extendhfsf2, __truncsfbf2, __truncdfbf2 and __truncdfhf2. Weak and hidden: each file that needs them
/// brings them, a program keeps one. Made once for each target.
llvm::FailureOr<std::string> floatSupport(const ObjectOptions &options, std::string &error);

} // namespace sinter::cpu

#endif
