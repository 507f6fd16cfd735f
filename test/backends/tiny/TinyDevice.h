// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs the code of TinyBackend: a memory whose addresses mean nothing to the host, and a queue that one thread
// works off, the newest launch first that may run.

#ifndef SINTER_TEST_BACKENDS_TINY_TINYDEVICE_H
#define SINTER_TEST_BACKENDS_TINY_TINYDEVICE_H

#include <string>
#include <string_view>
#include <vector>

namespace sinter::tiny {

/// Loads the code and weights of a module, in place of what was there; false with the reason in `error`.
bool loadDevice(std::string_view payload, const char *weights, size_t weightBytes, std::string &error);

/// What the queue did since `loadDevice`.
struct Trace {
  int launches = 0, copiesIn = 0, copiesOut = 0, waits = 0;
  int overtaken = 0;                         // launches that ran before an older one
  std::vector<std::string> ordered, running; // ordered launches as they were asked for, and as they ran
};
Trace traceDevice();

} // namespace sinter::tiny

#endif
