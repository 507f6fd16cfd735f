// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs on the CUDA back end: compiled, linked by the system's compiler, run on the PTX machine (test/cuda).

#ifndef SINTER_TEST_BACKENDS_CUDA_CUDAPROGRAM_H
#define SINTER_TEST_BACKENDS_CUDA_CUDAPROGRAM_H

#include <string>

namespace mlir {
class ModuleOp;
}

namespace sinter::cuda {

struct Compiled {
  std::string path; // of a shared object, which the runtime opens; the machine has its kernels and weights
  std::string schedule, code;
  unsigned onDevice = 0, onHost = 0; // distinct kernels
};

/// Compiles a module at the fused level and loads its kernels into the machine; false with the reason in `error`.
bool compile(mlir::ModuleOp fused, Compiled &compiled, std::string &error);

/// The same of a graph's text.
bool compileGraph(const std::string &text, Compiled &compiled, std::string &error);

/// The code that was compiled last.
const std::string &lastCode();

/// What the machine has told since the last compilation; empty when nothing was wrong.
std::string report();

/// Lets the machine's call number `n` of a kind ("alloc", "copy", "launch", "module") fail from now on; 0: none.
void failAt(const char *kind, unsigned n);

} // namespace sinter::cuda

#endif
