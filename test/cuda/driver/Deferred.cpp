// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Deferred.h"

namespace sinter::ptx {

static thread_local Deferred *ofThisThread = nullptr;

Deferred::Deferred(std::function<CUresult()> work)
    : isHosts(true), thread([this, work = std::move(work)] {
        ofThisThread = this;
        waitForHost();
        CUresult result = work();
        std::lock_guard lock(mutex);
        status = result;
        isDone = isHosts = true;
        changed.notify_all();
      }) {}

void Deferred::waitForHost() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !isHosts; });
}

void Deferred::beforeTrip() {
  Deferred *work = ofThisThread;
  if (!work)
    return;
  {
    std::lock_guard lock(work->mutex);
    if (work->toTheEnd)
      return;
    work->isHosts = true;
    work->changed.notify_all();
  }
  work->waitForHost();
}

bool Deferred::goOn(bool end) {
  std::unique_lock lock(mutex);
  if (isDone)
    return true;
  toTheEnd = end;
  isHosts = false;
  changed.notify_all();
  changed.wait(lock, [&] { return isHosts; });
  return isDone;
}

CUresult Deferred::finish() {
  goOn(/*toTheEnd=*/true);
  if (thread.joinable())
    thread.join();
  return status;
}

} // namespace sinter::ptx
