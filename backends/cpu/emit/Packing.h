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

/// The same with zeros for denormal weights of f32 and f64 beside ordinary ones: training leaves them where it has
/// decayed what nothing needs, and x86 multiplies each in microcode (PP-OCRv4 rec: 8 % of its time). A result differs
/// by less than the number of products times 1.2e-38 (2.3e-308 of f64) of the largest input.
Packing dropDenormals(Packing packing);

/// True for a constant outside of the kernel that the body reads once.
bool canBePacked(KernelSpec &spec, mlir::BlockArgument input);

} // namespace sinter::cpu

#endif
