// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a program in every way that there is, and says where two disagree.

#ifndef SINTER_TEST_FUZZ_PROGRAMS_CHECK_H
#define SINTER_TEST_FUZZ_PROGRAMS_CHECK_H

#include "ir/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

namespace sinter::test {

/// Native code is made for this target alone, at -O2 on one thread; "": for the host in every way below. With a back
/// end beside the CPU whose driver is the PTX machine (test/cuda), what that reports is wrong as well.
void checkFor(const std::string &target);

/// What is wrong with `main` of `module` on `inputs`: the reference against native code at -O0 and -O2, then at -O2
/// with schedules drawn at random, with one and two threads. Nothing if all agree. Diagnostics are part of the text.
std::optional<std::string> checkValues(mlir::ModuleOp module, llvm::ArrayRef<HostTensor> inputs);

/// The same for its gradient: reverse mode against central differences and against forward mode on the evaluator, then
/// reverse mode as native code as above. A difference may step over a kink: three steps and directions must fail, and
/// differences must come to rest as steps shrink.
std::optional<std::string> checkProgramGradients(mlir::ModuleOp module, llvm::ArrayRef<HostTensor> inputs);

} // namespace sinter::test

#endif
