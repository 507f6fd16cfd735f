// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The smallest back end that is not the CPU's: it writes C, which the system's compiler makes a shared object of. Its
// kernels read and write a memory of their own (TinyDevice), and it knows neither ops that sum nor types of 16 bits:
// what it refuses the host computes.

#ifndef SINTER_TEST_BACKENDS_TINY_TINYBACKEND_H
#define SINTER_TEST_BACKENDS_TINY_TINYBACKEND_H

#include "backends/schedule/Backends.h"

namespace sinter::tiny {

class TinyBackend : public schedule::Backend {
public:
  explicit TinyBackend(std::string requirements = "") : requirements(std::move(requirements)) {}

  llvm::StringRef name() const override { return "tiny"; }
  bool hasOwnMemory() const override { return true; }
  std::unique_ptr<schedule::KernelSpec> specify(KernelOp kernel, ShapeAnalysis *outer) override;
  std::string refusal(schedule::KernelSpec &spec) override;
  llvm::LogicalResult settle(schedule::KernelSpec &spec, Refused refused) override;
  schedule::KernelTraits describe(schedule::KernelSpec &spec, llvm::StringRef symbol) override;
  llvm::FailureOr<schedule::CodeObject> code(mlir::Location loc) override;

private:
  std::string requirements, source;
};

/// "tiny" in a target, or "tiny:N" for a machine that requires "tiny-N".
class TinyKind : public schedule::BackendKind {
public:
  llvm::StringRef name() const override { return "tiny"; }
  std::shared_ptr<const schedule::Machine> parse(llvm::StringRef text, std::string &error) const override;
  std::shared_ptr<const schedule::Machine> read(mlir::Attribute attribute, std::string &error) const override;
  bool keepsComposite(mlir::Operation *op) const override;
  bool takesKernel(KernelOp kernel, ShapeAnalysis &sizes) const override;
  std::unique_ptr<schedule::Backend> create(const schedule::Machine &machine, int optLevel) const override;
};

/// Runs `command`; what it wrote when it fails.
std::optional<std::string> runCommand(const std::string &command);

/// Bytes of a shared object of functions that printC gave; nothing, with the compiler's words in `error`, when it
/// fails.
std::optional<std::string> compileC(const std::string &functions, std::string &error);

} // namespace sinter::tiny

#endif
