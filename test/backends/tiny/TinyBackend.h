// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The smallest back end that is not the CPU's: it writes C, which the system's compiler makes a shared object of. Its
// kernels read and write a memory of their own (TinyDevice), and it knows neither ops that sum nor types of 16 bits:
// what it refuses the host computes.

#ifndef SINTER_TEST_BACKENDS_TINY_TINYBACKEND_H
#define SINTER_TEST_BACKENDS_TINY_TINYBACKEND_H

#include "backends/schedule/Backend.h"

namespace sinter::tiny {

class TinyBackend final : public schedule::Backend {
public:
  llvm::StringRef name() const override { return "tiny"; }
  bool hasOwnMemory() const override { return true; }
  std::unique_ptr<schedule::KernelSpec> specify(KernelOp kernel, ShapeAnalysis *outer) override;
  std::string refusal(schedule::KernelSpec &spec) override;
  llvm::LogicalResult settle(schedule::KernelSpec &spec, Refused refused) override;
  schedule::KernelTraits describe(schedule::KernelSpec &spec, llvm::StringRef symbol) override;
  llvm::FailureOr<schedule::CodeObject> code(mlir::Location loc) override;

  unsigned numKernels() const { return kernels; }

private:
  std::string source;
  unsigned kernels = 0;
};

/// Runs `command`; what it wrote when it fails.
std::optional<std::string> runCommand(const std::string &command);

} // namespace sinter::tiny

#endif
