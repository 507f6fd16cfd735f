// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Children of a process with sessions: they have its memory and none of its threads but the one that called fork.

#include "Functions.h"
#include <atomic>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sinter::test;

#ifdef __SANITIZE_THREAD__
#define SINTER_UNDER_TSAN 1 // which does not follow forks of processes with threads
#endif

namespace {

std::atomic<bool> inKernel{false};
std::atomic<int> *hits = nullptr;
int64_t chunks = 0;
std::atomic<bool> mayEnd{true};

int32_t hit(sinter_context *, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ++hits[i];
  inKernel = true;
  while (!mayEnd)
    std::this_thread::yield();
  return SINTER_OK;
}

int32_t runHit(sinter_context *ctx, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *, const void *) {
  void *scratch = ctx->acquire(ctx, 1000);
  int32_t status = ctx->parallel(ctx, hit, nullptr, chunks);
  ctx->release(ctx, scratch);
  return scratch ? status : SINTER_OUT_OF_MEMORY;
}

/// The exit status of `body` in a child, which ends after 20 s at the latest.
template <class Body> int inChild(Body &&body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct Fork : testing::Test {
  std::vector<std::atomic<int>> counts = std::vector<std::atomic<int>>(40);
  void SetUp() override {
#ifdef SINTER_UNDER_TSAN
    GTEST_SKIP() << "the thread sanitizer does not follow forks";
#endif
    hits = counts.data();
    chunks = 40;
    mayEnd = true;
    inKernel = false;
  }
  bool all(int expected) const {
    for (auto &count : counts)
      if (count != expected)
        return false;
    return true;
  }
};

TEST_F(Fork, AChildRunsAndDestroysWhatItsParentMade) {
  Function function(runHit, {}, {});
  auto *session = new Session(function, 3);
  ASSERT_EQ(sinter_session_run(*session), SINTER_OK);
  EXPECT_EQ(inChild([&] {
              if (sinter_session_run(*session) || !all(2))
                return 1;
              delete session; // does not wait for the workers, which are not here
              return 0;
            }),
            0);
  EXPECT_EQ(sinter_session_run(*session), SINTER_OK); // the parent's own has its workers
  EXPECT_TRUE(all(2));
  delete session;
}

TEST_F(Fork, AChildMakesSessionsWithThreads) {
  Function function(runHit, {}, {});
  Session parents(function, 2);
  EXPECT_EQ(inChild([&] {
              for (int i = 1; i <= 3; ++i) {
                Session own(function, 3);
                if (own.status || sinter_session_run(own) || !all(i))
                  return 1;
              }
              // and a child of its own
              Session own(function, 3);
              return inChild([&] {
                sinter_session_destroy(own.session);
                own.session = nullptr;
                return sinter_session_run(parents) ? 1 : 0;
              });
            }),
            0);
}

TEST_F(Fork, ARunOfAnotherThreadIsNotTheChilds) {
  Function function(runHit, {}, {});
  Session session(function, 3), other(function, 2);
  mayEnd = false;
  std::thread user([&] { EXPECT_EQ(sinter_session_run(session), SINTER_OK); });
  while (!inKernel)
    std::this_thread::yield();
  EXPECT_EQ(inChild([&] {
              mayEnd = true;
              if (sinter_session_run(session) != SINTER_BUSY ||
                  lastError() != "session of function 'main' was running in another thread when this process was "
                                 "forked, and cannot be used here")
                return 1;
              sinter_session_destroy(session);
              if (sinter_session_run(other)) // of the same module
                return 2;
              sinter_session_destroy(other);
              Session own(function, 2);
              return sinter_session_run(own) ? 3 : 0;
            }),
            0);
  mayEnd = true;
  user.join();
}

TEST_F(Fork, AThousandChildren) {
  Function function(runHit, {}, {});
  Session session(function, 2);
  std::atomic<bool> stop{false};
  Session busy(function, 2);
  std::thread user([&] { // runs while the process is forked
    while (!stop)
      EXPECT_EQ(sinter_session_run(busy), SINTER_OK);
  });
  int failed = 0;
  for (int i = 0; i < 1000; ++i)
    failed += inChild([&] {
                if (sinter_session_run(session))
                  return 1;
                sinter_session_destroy(session);
                sinter_session_destroy(busy);
                return 0;
              }) != 0;
  stop = true;
  user.join();
  EXPECT_EQ(failed, 0);
}

} // namespace
