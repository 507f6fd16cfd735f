// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transpose alone in its kernel, in square blocks that are turned in registers.

#ifndef SINTER_BACKENDS_CPU_EMIT_TRANSPOSE_H
#define SINTER_BACKENDS_CPU_EMIT_TRANSPOSE_H

#include "backends/cpu/emit/Emitter.h"

namespace sinter::cpu {

/// Nothing when the kernel is more than one transpose of f32 or f64 that changes its last axis, zeros at the end of
/// that axis after it aside, or when the axes at hand are shorter than a vector or of unknown size.
std::optional<EmittedKernel> emitTranspose(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);

} // namespace sinter::cpu

#endif
