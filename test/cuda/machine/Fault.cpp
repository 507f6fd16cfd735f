// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Fault.h"

namespace sinter::ptx {

const char *toString(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
    return "out of bounds";
  case FaultKind::UseAfterFree:
    return "use after free";
  case FaultKind::Misaligned:
    return "misaligned";
  case FaultKind::ReadOnly:
    return "write to read-only memory";
  case FaultKind::UninitializedMemory:
    return "uninitialised memory";
  case FaultKind::UninitializedRegister:
    return "uninitialised register";
  case FaultKind::Race:
    return "race";
  case FaultKind::DivergentBarrier:
    return "divergent barrier";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::Launch:
    return "wrong launch";
  case FaultKind::Trap:
    return "trap";
  case FaultKind::Invalid:
    return "invalid";
  }
  return "?";
}

} // namespace sinter::ptx
