// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How emitters pack constants (schedule::Packing): the inputs that a kernel's schedule lists in `packing`.

#ifndef SINTER_BACKENDS_CPU_EMIT_PACKING_H
#define SINTER_BACKENDS_CPU_EMIT_PACKING_H

#include "backends/cpu/KernelSpec.h"

namespace sinter::cpu {

using schedule::PackedForm;
using schedule::Packing;

/// How an emitter packs input `input`.
Packing packContraction(KernelSpec &spec, unsigned input);
Packing packBlockDot(KernelSpec &spec, unsigned input);
Packing packConvolution(KernelSpec &spec, unsigned input);
Packing packWinograd(KernelSpec &spec, unsigned input);
Packing packRecurrent(KernelSpec &spec, unsigned input);

/// True for a constant outside of the kernel that the body reads once.
bool canBePacked(KernelSpec &spec, mlir::BlockArgument input);

} // namespace sinter::cpu

#endif
