// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's assembler, where it is installed: it makes a GPU's code of PTX and says what that needs.

#ifndef SINTER_TOOLS_SINTER_PTXAS_H
#define SINTER_TOOLS_SINTER_PTXAS_H

#include "compiler/Module.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace sinter::tool {

/// What a module's code for back end cuda (backends/cuda/CudaBackend.h) consists of, without cubins: lines about its
/// kernels, its PTX, and that of kernels for sm_90a, which may be empty.
struct GpuCode {
  llvm::StringRef lines, ptx, wide;
};
GpuCode partsOfGpuCode(llvm::StringRef payload);

/// `ptxas` on the PATH, or what SINTER_PTXAS of the environment names; none where that cannot be run.
std::optional<std::string> findPtxas();

/// Assembles `ptx` for a generation (sm_90); false with the reason in `error`. `told` is what it says of the kernels,
/// `cubin`, where it is not null, becomes the code.
bool runPtxas(llvm::StringRef ptxas, llvm::StringRef ptx, llvm::StringRef generation, std::string &told,
              std::string *cubin, std::string &error);

/// Puts the code of each generation behind the PTX of back end cuda in all of the module's code (runtime/cuda_cubin.c),
/// that of sm_90 with the kernels for sm_90a, where there are some. Throws Stop where the module has no such PTX, ptxas
/// is not installed, or does not take it for one of the generations.
void addCubins(CompiledModule &module, const std::vector<std::string> &generations);

} // namespace sinter::tool

#endif
