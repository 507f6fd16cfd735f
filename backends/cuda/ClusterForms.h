// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CUDA_CLUSTERFORMS_H
#define SINTER_BACKENDS_CUDA_CLUSTERFORMS_H

#include "backends/cuda/KernelForms.h"

namespace sinter::cuda {

/// Blocks of a cluster, at most: what every GPU with clusters has room for.
inline constexpr int64_t kMostOfCluster = 8;

std::string planClusterReduce(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitClusterReduce(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);
std::string planClusterRow(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule);
cpu::EmittedKernel emitClusterRow(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace sinter::cuda

#endif
