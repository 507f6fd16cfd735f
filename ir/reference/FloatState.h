// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_REFERENCE_FLOATSTATE_H
#define SINTER_IR_REFERENCE_FLOATSTATE_H

#include <cfenv>

namespace sinter {

/// Rounding to nearest, denormals kept and no traps in this thread while the object lives, whatever its caller has set
/// (programs built with -ffast-math flush denormals in all of a process): constants must fold alike everywhere. The
/// runtime does the same around native code.
class DefaultFloatState {
public:
  DefaultFloatState() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatState() { std::fesetenv(&before); }
  DefaultFloatState(const DefaultFloatState &) = delete;

private:
  std::fenv_t before;
};

} // namespace sinter

#endif
