// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of a GPU need of it, as sinter inspect --kernels shows it.

#ifndef SINTER_TOOLS_SINTER_GPUKERNELS_H
#define SINTER_TOOLS_SINTER_GPUKERNELS_H

#include "compiler/Module.h"
#include <nlohmann/json_fwd.hpp>

namespace sinter::tool {

/// The kernels of the module's code for back end cuda: name, generation and threads of a block; where NVIDIA's
/// assembler is installed (ptxas on the PATH, or what SINTER_PTXAS of the environment names), also registers of a
/// thread, bytes of shared memory of a block, bytes that spill, and how many blocks and which part of all warps a
/// multiprocessor holds at once. `note` says what is missing, or is empty.
nlohmann::json describeGpuKernels(const CompiledModule &module, std::string &note);

/// One line for each.
void printGpuKernels(const nlohmann::json &kernels);

} // namespace sinter::tool

#endif
