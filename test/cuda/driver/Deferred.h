// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that run while the host goes on: each question whether the stream is done lets a loop of a graph make one trip,
// or a kernel some thousand instructions, and any other call waits until all is done. So what the host does between
// trips is seen by the loop, and in which trip does not depend on time. A thread of its own does the work, but never
// while the host's runs.
#pragma once

#include "Abi.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace sinter::ptx {

class Deferred {
public:
  explicit Deferred(std::function<CUresult()> work);
  ~Deferred() { finish(); }

  /// Lets the work go on to the next trip of a loop; true when it is done.
  bool step() { return goOn(/*toTheEnd=*/false); }
  /// Lets it go on to its end; what became of it.
  CUresult finish();

  /// A loop is about to make a trip, or a kernel to go on: waits for the host, if this is the thread of such work.
  static void beforeTrip();

private:
  bool goOn(bool toTheEnd);
  void waitForHost();

  std::mutex mutex;
  std::condition_variable changed;
  bool isHosts = false; // whose turn it is
  bool isDone = false, toTheEnd = false;
  CUresult status = CUDA_SUCCESS;
  std::thread thread; // last: it uses the others
};

} // namespace sinter::ptx
