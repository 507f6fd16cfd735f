// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs the code of TinyBackend, as a driver of the runtime (runtime/driver.h): for each module a memory whose
// addresses mean nothing to the host, and a queue that one thread works off, the newest launch first that may run.

#ifndef SINTER_TEST_BACKENDS_TINY_TINYDEVICE_H
#define SINTER_TEST_BACKENDS_TINY_TINYDEVICE_H

#include <string>
#include <vector>

namespace sinter::tiny {

/// Makes the driver known to the runtime. It runs code that requires "tiny-1".
void registerDriver();

/// What the queue of the device that was loaded last did since then.
struct Trace {
  int launches = 0, copiesIn = 0, copiesOut = 0, waits = 0;
  int transfers = 0;                         // of states
  int overtaken = 0;                         // launches that ran before an older one
  std::vector<std::string> ordered, running; // ordered launches as they were asked for, and as they ran
};
Trace traceDevice();

/// From now on the `call`th request for memory, from 1, fails; 0: none.
void failAcquire(int call);

/// Devices that are loaded, and buffers that their sessions have.
int countDevices();
int countBuffers();

} // namespace sinter::tiny

#endif
