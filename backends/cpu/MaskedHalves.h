// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_MASKEDHALVES_H
#define SINTER_BACKENDS_CPU_MASKEDHALVES_H

namespace llvm {
class Module;
}

namespace sinter::cpu {

/// Masked loads and stores of vectors of half and bfloat become such of i16, whose bits are the same. Returns whether
/// there were any.
bool moveMaskedHalvesAsBits(llvm::Module &module);

} // namespace sinter::cpu

#endif
