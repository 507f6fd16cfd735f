// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What emitters ask before they begin, whatever the target; isGeneral (General.h) is another of these.

#ifndef SINTER_BACKENDS_CPU_EMIT_TAKENFORMS_H
#define SINTER_BACKENDS_CPU_EMIT_TAKENFORMS_H

#include "backends/cpu/KernelSpec.h"

namespace sinter::cpu {

/// True when `emitRow`, `emitWindow` takes the kernel.
bool isRow(KernelSpec &spec);
bool isWindow(KernelSpec &spec);
/// True when it is a product with codes in blocks and what follows it can be built from its elements.
bool isBlockDot(KernelSpec &spec);
/// True when it is attention that reads and writes whole rows where they lie.
bool isAttentionKernel(KernelSpec &spec);

} // namespace sinter::cpu

#endif
