// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_EMIT_BYTEPAIRS_H
#define SINTER_BACKENDS_CPU_EMIT_BYTEPAIRS_H

#include "backends/cpu/KernelSpec.h"

namespace sinter::cpu {

/// Notes at the product or convolution of bytes of a kernel whether its right operand, a constant, has pairs
/// (kPairsAttr), where the target has no better instruction. A kernel by itself, whose constants are not at hand, keeps
/// what its text says.
void choosePairs(KernelSpec &spec);

} // namespace sinter::cpu

#endif
