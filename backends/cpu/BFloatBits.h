// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_BFLOATBITS_H
#define SINTER_BACKENDS_CPU_BFLOATBITS_H

namespace llvm {
class Module;
}

namespace sinter::cpu {

/// On X86, carries scalars of type bfloat from block to block as integers; nothing but code generation may come behind
/// it. Returns whether there were any.
bool carryBFloatsAsBits(llvm::Module &module);

} // namespace sinter::cpu

#endif
