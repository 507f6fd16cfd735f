// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --profile: what a run spends its time on, kernel by kernel, on the CPU and on a GPU.

#ifndef SINTER_TOOLS_SINTER_KERNELPROFILE_H
#define SINTER_TOOLS_SINTER_KERNELPROFILE_H

#include "tools/sinter/Model.h"

namespace sinter::tool {

class KernelProfile {
public:
  void addTo(CLI::App &command);
  /// Has the model's code measure its kernels; before it is compiled. Throws Stop for a compiled module, whose code
  /// does not, and for a file that must not be written.
  void begin(Model &model, const std::vector<std::string> &others);
  /// Runs the session for a part of a second, prints the table and writes the events of the last run. Throws Stop.
  void measure(sinter_session *session) const;

private:
  EventsFlag flag;
};

} // namespace sinter::tool

#endif
