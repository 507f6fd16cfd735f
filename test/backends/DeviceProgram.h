// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for the CPU and a back end beside it, through the compiler's front door.

#ifndef SINTER_TEST_BACKENDS_DEVICEPROGRAM_H
#define SINTER_TEST_BACKENDS_DEVICEPROGRAM_H

#include "compiler/Module.h"

namespace sinter::test {

struct DeviceProgram {
  std::string path; // of a .smod
  std::string schedule, code;
  size_t onDevice = 0, onHost = 0; // distinct kernels
};

/// Compiles a module for `target`, which names `backEnd`, and writes it to a file; false with the reason in `error`.
/// `edit` may change the back end's code before.
bool compileFor(const std::string &backEnd, const char *target, mlir::ModuleOp module, DeviceProgram &program,
                std::string &error, llvm::function_ref<void(std::string &code)> edit = nullptr);

/// The module in `text`, in a context of its own, for `compile`; false with the reason in `error`.
bool withParsed(const std::string &text, std::string &error, llvm::function_ref<bool(mlir::ModuleOp)> compile);

/// Opens what was compiled and removes its file; null with the reason in `error`.
sinter_module *open(const DeviceProgram &program, std::string &error);

} // namespace sinter::test

#endif
