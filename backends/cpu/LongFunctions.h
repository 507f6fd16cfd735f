// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_LONGFUNCTIONS_H
#define SINTER_BACKENDS_CPU_LONGFUNCTIONS_H

#include <cstddef>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace sinter::cpu {

/// True for a function of so many blocks that LLVM's passes and its code generator, parts of which are quadratic in
/// them, would take most of the time of a compilation.
bool isLong(const llvm::Function &function);

/// Splits `function` into functions of about `partBlocks` blocks, internal and never inlined, that it calls: stretches
/// of blocks that are entered at their first one. A stretch ends outside of loops where that is possible, and where it
/// is not, in the outermost ones. What lives across is passed by value and handed back by address. Returns how many
/// parts there are; none where no stretch is long enough, as in a switch of thousands of cases.
size_t splitFunction(llvm::Function &function, size_t partBlocks);

/// Splits each long function that other objects call, which is to say schedules.
void splitLongFunctions(llvm::Module &module);

} // namespace sinter::cpu

#endif
