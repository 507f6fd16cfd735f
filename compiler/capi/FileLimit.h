// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_COMPILER_CAPI_FILELIMIT_H
#define SINTER_COMPILER_CAPI_FILELIMIT_H

#include <csignal>
#include <ctime>
#include <pthread.h>

namespace sinter::capi {

/// While it lives, a write of this thread past the process's limit of file sizes (RLIMIT_FSIZE) is an error, EFBIG, and
/// not a signal, which by default ends the process. The kernel sends that signal to the thread that writes.
class FileLimitIsAnError {
public:
  FileLimitIsAnError() {
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    sigset_t pending;
    wasPending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal, &before);
  }
  ~FileLimitIsAnError() {
    const timespec atOnce = {};
    if (!wasPending)
      (void)sigtimedwait(&signal, nullptr, &atOnce);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  FileLimitIsAnError(const FileLimitIsAnError &) = delete;
  FileLimitIsAnError &operator=(const FileLimitIsAnError &) = delete;

private:
  sigset_t signal, before;
  bool wasPending;
};

} // namespace sinter::capi

#endif
