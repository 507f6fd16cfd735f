// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Threads.h"
#include <csignal>
#include <pthread.h>
#include <vector>

/// LLVM recurses, whatever a host's limits say.
constexpr size_t kStackBytes = 8 << 20;

void sinter::schedule::runOnThreads(unsigned count, llvm::function_ref<void()> work) {
  std::vector<pthread_t> threads;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  for (unsigned i = 1; i < count; ++i) {
    pthread_t thread;
    auto enter = [](void *job) -> void * {
      (*static_cast<llvm::function_ref<void()> *>(job))();
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, enter, &work) != 0)
      break;
    threads.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  work();
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}
