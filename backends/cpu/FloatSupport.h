// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_FLOATSUPPORT_H
#define SINTER_BACKENDS_CPU_FLOATSUPPORT_H

namespace llvm {
class Module;
}

namespace sinter::cpu {

/// Defines what LLVM calls to narrow floats where no instruction does, and what no C library of Debian 12 has:
/// __truncsfbf2, __truncdfbf2 and __truncdfhf2. Weak and hidden: each object brings
/// them, a program keeps one.
void addFloatSupport(llvm::Module &module);

} // namespace sinter::cpu

#endif
