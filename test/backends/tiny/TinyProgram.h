// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs on the tiny back end: compiled, linked by the system's compiler, loaded.

#ifndef SINTER_TEST_BACKENDS_TINY_TINYPROGRAM_H
#define SINTER_TEST_BACKENDS_TINY_TINYPROGRAM_H

#include <string>

namespace mlir {
class ModuleOp;
}

namespace sinter::tiny {

struct Compiled {
  std::string path; // of a shared object, which the runtime opens; the device has its code and weights
  std::string schedule;
  unsigned onDevice = 0, onHost = 0; // distinct kernels
};

/// Compiles a module at the fused level and loads its kernels into the device; false with the reason in `error`.
bool compile(mlir::ModuleOp fused, Compiled &compiled, std::string &error);

/// The same of a graph's text.
bool compileGraph(const std::string &text, Compiled &compiled, std::string &error);

/// Writes a .smod of a graph's text.
bool writeContainer(const std::string &text, const std::string &path, std::string &error);

} // namespace sinter::tiny

#endif
