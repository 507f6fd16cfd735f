// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>
#include <string>

namespace sinter::ptx {

/// What the machine finds wrong with a program as it runs.
enum class FaultKind {
  OutOfBounds,
  UseAfterFree,
  Misaligned,
  ReadOnly,
  UninitializedMemory,
  UninitializedRegister,
  Race,
  DivergentBarrier,
  Deadlock,
  Launch, // the parameters of a launch
  Trap,
  Invalid, // what the ISA leaves undefined
};

const char *toString(FaultKind kind);

/// The report of a fault; `what()` is the whole sentence: kind, kernel, line and statement, block and thread, and what
/// was found.
struct Fault : std::runtime_error {
  Fault(FaultKind kind, std::string kernel, unsigned line, const std::string &what)
      : std::runtime_error(what), kind(kind), kernel(std::move(kernel)), line(line) {}
  FaultKind kind;
  std::string kernel;
  unsigned line; // of the PTX; 0 for the launch itself
};

} // namespace sinter::ptx
