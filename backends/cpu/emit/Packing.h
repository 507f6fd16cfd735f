// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants in the order in which a kernel reads them. Packing happens once, at compile time; a kernel whose schedule
// lists an input in `packing` finds there the packed bytes, not the row-major ones. The IR keeps the logical type.

#ifndef SINTER_BACKENDS_CPU_EMIT_PACKING_H
#define SINTER_BACKENDS_CPU_EMIT_PACKING_H

#include "backends/cpu/KernelSpec.h"
#include "ir/reference/HostTensor.h"
#include <functional>

namespace sinter::cpu {

struct Packing {
  unsigned input; // of the kernel
  /// Equal constants with equal tags have equal packed bytes.
  std::string tag;
  std::function<HostTensor(const HostTensor &)> pack;
};

/// How an emitter packs input `input`.
Packing packContraction(KernelSpec &spec, unsigned input);
Packing packConvolution(KernelSpec &spec, unsigned input);
Packing packRecurrent(KernelSpec &spec, unsigned input);

/// True for a constant outside of the kernel that the body reads once.
bool canBePacked(KernelSpec &spec, mlir::BlockArgument input);

} // namespace sinter::cpu

#endif
