// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Templates whose emitter is not there: their kernels go to the general emitter.

#include "backends/cpu/emit/Emitter.h"

using namespace mlir;

namespace sinter::cpu {
std::optional<EmittedKernel> emitAttention(KernelSpec &, ModuleOp, llvm::StringRef) { return std::nullopt; }
} // namespace sinter::cpu
