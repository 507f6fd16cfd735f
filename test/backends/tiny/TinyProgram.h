// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs for the CPU and the tiny back end, through the compiler's front door.

#ifndef SINTER_TEST_BACKENDS_TINY_TINYPROGRAM_H
#define SINTER_TEST_BACKENDS_TINY_TINYPROGRAM_H

#include "test/backends/DeviceProgram.h"

namespace sinter::tiny {

using Compiled = test::DeviceProgram;

/// Compiles a module for `target` and writes it to a file; false with the reason in `error`.
bool compile(mlir::ModuleOp module, Compiled &compiled, std::string &error, const char *target = "cpu+tiny");

/// The same of text.
bool compileText(const std::string &text, Compiled &compiled, std::string &error, const char *target = "cpu+tiny");

/// Opens what was compiled and removes its file; null with the reason in `error`.
sinter_module *open(const Compiled &compiled, std::string &error);

} // namespace sinter::tiny

#endif
