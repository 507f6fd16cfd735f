// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_SINGLELANESTORES_H
#define SINTER_BACKENDS_CPU_SINGLELANESTORES_H

namespace llvm {
class Module;
} // namespace llvm

namespace sinter::cpu {

/// Writes masked stores of one lane, which is known, as stores of that element. Returns whether there were any.
bool storeSingleLanes(llvm::Module &module);

} // namespace sinter::cpu

#endif
