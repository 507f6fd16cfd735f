// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants in the order in which a kernel reads them. Packing happens once, at compile time; a kernel whose attribute
// `packed` lists an input finds there the packed bytes, not the row-major ones. The IR keeps the logical type.

#ifndef SINTER_BACKENDS_CPU_EMIT_PACKING_H
#define SINTER_BACKENDS_CPU_EMIT_PACKING_H

#include "backends/cpu/KernelSpec.h"
#include "ir/reference/HostTensor.h"
#include <functional>

namespace sinter::cpu {

/// Bytes of one row of a packed panel: 32 columns of f32.
inline constexpr int64_t kPanelBytes = 128;

struct Packing {
  unsigned input; // of the kernel
  /// Equal constants with equal tags have equal packed bytes.
  std::string tag;
  std::function<HostTensor(const HostTensor &)> pack;
};

/// Inputs of `kernel` that its emitter wants packed, given which inputs are constants.
llvm::SmallVector<Packing> planPacking(KernelOp kernel, llvm::ArrayRef<bool> isConstant, const KernelOptions &options);

/// The part of planPacking that each template contributes.
void planContractionPacking(KernelOp kernel, llvm::ArrayRef<bool> isConstant, llvm::SmallVectorImpl<Packing> &plans);
void planConvolutionPacking(KernelOp kernel, llvm::ArrayRef<bool> isConstant, llvm::SmallVectorImpl<Packing> &plans);

void planRecurrentPacking(KernelOp kernel, llvm::ArrayRef<bool> isConstant, const KernelOptions &options,
                          llvm::SmallVectorImpl<Packing> &plans);

/// True when the kernel's attribute says that input `i` is packed.
bool isPacked(KernelOp kernel, unsigned i);

} // namespace sinter::cpu

#endif
