// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TOOLS_SINTER_ONNXTESTS_H
#define SINTER_TOOLS_SINTER_ONNXTESTS_H

#include "tools/sinter/Command.h"

namespace sinter::tool {

struct OnnxTestOptions {
  /// Each a test folder (model.onnx and test_data_set_*) or a parent of such, at any depth.
  std::vector<std::string> folders;
  /// A line per test that is known to fail: its name, white space, the reason. Then only an unexpected failure, or an
  /// unexpected pass, is an error.
  std::string expectedFailures;
  bool reference = false;
  int jobs = 1;
  int timeLimit = 60; // seconds per case
};

/// Prints one line a case, then `N passed, N failed, N skipped`. Each case runs in a process of its own.
Exit runOnnxTests(const OnnxTestOptions &tests, const SharedOptions &options);

} // namespace sinter::tool

#endif
