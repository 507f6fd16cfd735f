// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two threads and one session: a call is done as asked or refused with SINTER_BUSY, never answered with what another
// asked for. Under the thread sanitizer these tests say whether any call looks at the session before it has claimed it.

#include "Functions.h"
#include "runtime/embed.h"
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace sinter::test;

namespace {

/// a = 2 * x for x: n
int32_t twice(sinter_context *ctx, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *symbols,
              const void *) {
  auto *out = static_cast<float *>(ctx->output(ctx, 0, symbols, 1));
  if (!out)
    return SINTER_OUT_OF_MEMORY;
  for (int64_t i = 0; i < symbols[0]; ++i)
    out[i] = 2 * static_cast<const float *>(inputs[0].data)[i];
  return SINTER_OK;
}

/// a = the state, which becomes state + x; both of 4 elements.
int32_t addToState(sinter_context *ctx, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                   const void *) {
  int64_t dims[] = {4};
  auto *out = static_cast<float *>(ctx->output(ctx, 0, dims, 1)),
       *next = static_cast<float *>(ctx->output(ctx, 1, dims, 1));
  if (!out || !next)
    return SINTER_OUT_OF_MEMORY;
  for (int i = 0; i < 4; ++i) {
    out[i] = static_cast<const float *>(inputs[1].data)[i];
    next[i] = out[i] + static_cast<const float *>(inputs[0].data)[i];
  }
  return SINTER_OK;
}

struct StateFunction : Function {
  sinter_state state = {"total", 1, 1, 0, 0, -1};
  StateFunction() : Function(addToState, {{4}, {4}}, {{4}, {4}}) {
    function.num_states = 1;
    function.states = &state;
  }
};

/// Runs `body(thread, turn)` in three threads until each was let in `turns` times; it says whether it was.
template <class Body> void contend(int turns, Body &&body) {
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int turn = 0; turn < turns;)
        if (body(t, turn)) {
          ++turn;
        } else {
          ++refused;
          std::this_thread::yield();
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  SUCCEED() << refused << " refusals";
}

/// Whether a call was let in; anything but SINTER_BUSY must be success.
bool letIn(int32_t status) {
  if (status == SINTER_BUSY)
    return false;
  EXPECT_EQ(status, SINTER_OK) << lastError();
  return true;
}

TEST(Races, ACallGivesItsOwnResultOrNone) {
  Function function(twice, {{-1}}, {{-1}}, {"n"});
  Session session(function);
  contend(5000, [&](int thread, int turn) {
    alignas(64) float x[16], a[16] = {};
    int64_t count = 1 + (thread * 7 + turn) % 16;
    for (int i = 0; i < 16; ++i)
      x[i] = static_cast<float>(thread * 100000 + turn);
    sinter_tensor input = view(x, {count}), output = view(a, {16});
    if (!letIn(sinter_session_call(session, 1, &input, 1, &output)))
      return false;
    EXPECT_EQ(output.dims[0], count);
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(a[i], i < count ? 2 * x[0] : 0) << thread << ' ' << turn << ' ' << i;
    return true;
  });
}

TEST(Races, EveryCallClaimsTheSession) {
  Function function(twice, {{-1}}, {{-1}}, {"n"});
  Session session(function, 2);
  alignas(64) static float x[16] = {1};
  contend(500, [&](int thread, int turn) {
    sinter_tensor input = view(x, {16}), output;
    sinter_memory_report report = {};
    report.struct_size = sizeof report;
    switch ((thread + turn) % 6) {
    case 0:
      return letIn(sinter_session_set_input(session, 0, &input));
    case 1:
      return letIn(sinter_session_set_output(session, 0, nullptr));
    case 2: { // bound or not yet
      sinter_status_code status = sinter_session_run(session);
      EXPECT_TRUE(status == SINTER_OK || status == SINTER_BUSY || status == SINTER_INVALID_ARGUMENT) << lastError();
      return true;
    }
    case 3: {
      sinter_status_code status = sinter_session_output(session, 0, &output);
      EXPECT_TRUE(status == SINTER_OK || status == SINTER_BUSY || status == SINTER_INVALID_ARGUMENT) << lastError();
      return true;
    }
    case 4:
      sinter_session_cancel(session);
      EXPECT_EQ(sinter_session_threads(session), 2);
      EXPECT_STREQ(sinter_session_function(session)->name, "main");
      return true;
    default:
      return letIn(sinter_session_memory(session, &report));
    }
  });
}

TEST(Races, SessionsThatShareStatesTakeTurns) {
  StateFunction function;
  Session first(function);
  sinter_module *module;
  ASSERT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_OK);
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  sinter_session *shared;
  ASSERT_EQ(sinter_session_create(module, 0, &options, &shared), SINTER_OK);
  std::atomic<int> added{0};
  contend(300, [&](int, int turn) {
    // Made, used and destroyed while others run on the same states.
    sinter_session_options mine = options;
    mine.state_of = shared;
    sinter_session *session;
    sinter_status_code status = sinter_session_create(module, 0, &mine, &session);
    if (!letIn(status))
      return false;
    alignas(64) float x[4] = {1, 1, 1, 1};
    sinter_tensor inputs[2] = {view(x, {4}), {}}, outputs[2] = {}, state;
    bool done = letIn(sinter_session_call(session, 2, inputs, 2, outputs));
    added += done;
    if (turn % 3 == 0)
      (void)letIn(sinter_session_state_get(session, "total", &state));
    sinter_session_destroy(session);
    return done;
  });
  sinter_tensor total;
  ASSERT_EQ(sinter_session_state_get(shared, "total", &total), SINTER_OK);
  EXPECT_EQ(static_cast<float *>(total.data)[3], static_cast<float>(added));
  EXPECT_EQ(added, 900);
  sinter_session_destroy(shared);
  sinter_module_close(module);
}

TEST(Races, ModulesAreSharedByThreads) {
  Function function(twice, {{-1}}, {{-1}}, {"n"});
  sinter_module *module;
  ASSERT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_OK);
  contend(200, [&](int, int) {
    sinter_module *mine = sinter_module_retain(module);
    EXPECT_EQ(sinter_module_num_functions(mine), 1);
    EXPECT_EQ(sinter_module_find_function(mine, "main"), 0);
    EXPECT_EQ(sinter_function_find_input(sinter_module_function(mine, 0), "x"), 0);
    EXPECT_EQ(sinter_module_weights_bytes(mine), 0);
    sinter_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 2;
    sinter_session *session;
    EXPECT_EQ(sinter_session_create(mine, 0, &options, &session), SINTER_OK);
    sinter_module_close(mine);
    sinter_session_destroy(session);
    return true;
  });
  sinter_module_close(module);
}

TEST(Races, EmbeddedCodeRefusesASecondThread) {
  Function function(twice, {{-1}}, {{-1}}, {"n"});
  StateFunction states;
  const sinter_function *table[] = {&function.function, nullptr},
                        *object[] = {&states.function, &states.function, nullptr};
  sinter_session *session = sinter_embed_init(table, 0, 1);
  ASSERT_NE(session, nullptr);
  sinter_embed *step = sinter_embed_open(object, 1);
  ASSERT_NE(step, nullptr);
  std::atomic<int> steps{0};
  contend(2000, [&](int thread, int turn) {
    alignas(64) float x[4], a[4] = {};
    for (float &each : x)
      each = static_cast<float>(thread * 10000 + turn);
    int64_t count = 4;
    void *pointers[] = {x, a};
    if (!letIn(sinter_embed_run(session, &count, pointers, nullptr)))
      return false;
    EXPECT_EQ(a[3], 2 * x[3]);
    float one[4] = {1, 1, 1, 1};
    void *stepPointers[] = {one, nullptr, a, nullptr};
    steps += letIn(sinter_embed_call(step, turn % 2, nullptr, stepPointers, nullptr));
    return true;
  });
  float one[4] = {}, total[4];
  void *pointers[] = {one, nullptr, total, nullptr};
  ASSERT_EQ(sinter_embed_call(step, 0, nullptr, pointers, nullptr), SINTER_OK);
  EXPECT_EQ(total[0], static_cast<float>(steps));
  sinter_embed_close(step);
  sinter_embed_free(session);
}

} // namespace
