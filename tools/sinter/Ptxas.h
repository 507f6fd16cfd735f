// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's assembler, where it is installed: it makes a GPU's code of PTX and says what that needs.

#ifndef SINTER_TOOLS_SINTER_PTXAS_H
#define SINTER_TOOLS_SINTER_PTXAS_H

#include "compiler/Module.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sinter::tool {

/// The lines about kernels of a module's code for back end cuda (backends/cuda/CudaBackend.h), and its PTX, with that
/// of sm_90a behind it, without cubins.
std::pair<llvm::StringRef, llvm::StringRef> partsOfGpuCode(llvm::StringRef payload);

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
