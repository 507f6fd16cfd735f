// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_ORDERDEFINITIONS_H
#define SINTER_BACKENDS_CPU_ORDERDEFINITIONS_H

namespace llvm {
class Function;
} // namespace llvm

namespace sinter::cpu {

/// Moves shuffles and casts of vectors that stand before what they read in their block behind it. Returns whether any
/// stood so.
bool orderDefinitions(llvm::Function &function);

} // namespace sinter::cpu

#endif
