// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call costs beside its kernels, of functions with hundreds of states: memory is asked for once. The allocator
// of this program counts.

#include "Agree.h"
#include <atomic>
#include <cstdlib>
#include <sinter/nn.hpp>
#include <sinter/train.hpp>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SINTER_OTHER_ALLOCATOR // which is the sanitizer's
#endif
#endif

#ifndef SINTER_OTHER_ALLOCATOR
static std::atomic<int64_t> allocations{0};

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void *malloc(size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return ++allocations, __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return ++allocations, __libc_realloc(old, bytes); }
void *memalign(size_t alignment, size_t bytes) { return ++allocations, __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return ++allocations, __libc_memalign(alignment, bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) {
  ++allocations;
  *result = __libc_memalign(alignment, bytes);
  return *result ? 0 : 12;
}
}
#endif

using namespace sinter;

namespace {

#ifdef SINTER_OTHER_ALLOCATOR
#define SKIP_WITHOUT_COUNT() GTEST_SKIP() << "the allocator is the sanitizer's"
int64_t allocated() { return 0; }
#else
#define SKIP_WITHOUT_COUNT() (void)0
int64_t allocated() { return allocations; }
#endif

/// x goes through 500 weights: y = x + sum of them; each grows by x.
struct Weights {
  std::vector<Tensor> all;
};
Weights makeWeights(size_t count) {
  Weights weights;
  for (size_t k = 0; k < count; ++k)
    weights.all.push_back(full({3}, double(k % 7), DType::f32));
  return weights;
}

/// A step of `count` weights that move by sgd: each state is replaced in each call.
auto makeStep(size_t count) {
  return train_step(
      [](Weights &weights, const Tensor &x) {
        Tensor loss = scalar(0.f);
        for (const Tensor &weight : weights.all)
          loss = loss + sum(weight * x);
        return loss;
      },
      makeWeights(count), optim::sgd({.lr = 0.5}), {.opt_level = OptLevel::one, .threads = 1});
}

TEST(SessionCalls, countsAllocationsOfTheLibraries) {
  SKIP_WITHOUT_COUNT();
  int64_t before = allocated();
  sinter_graph *graph = nullptr;
  ASSERT_EQ(sinter_graph_create(&graph), SINTER_OK);
  sinter_graph_destroy(graph);
  EXPECT_GT(allocated(), before + 10);
}

TEST(SessionCalls, allocateNothingAfterTheFirst) {
  SKIP_WITHOUT_COUNT();
  auto step = makeStep(500);
  Tensor x({1.f, 2.f, 3.f});
  float first = step(x).item<float>(), second = step(x).item<float>();
  EXPECT_EQ(first, 6.f * 1494); // 71 times 0 to 6, and 0 to 2
  EXPECT_EQ(second, first - 0.5f * 14 * 500);
  std::string path = testing::TempDir() + "many_states.smod";
  ASSERT_TRUE(step.compile(
                      {.output = path}, [](Weights &weights, const Tensor &y) { return weights.all[499] + y; },
                      std::tuple(x), std::tuple(x))
                  .ok());
  Session session(Module::open(path), {.function = "step", .threads = 1});
  EXPECT_EQ(session.states().size(), 501u); // and optimizer.step
  Tensor given[] = {x}, loss[] = {Tensor::empty(DType::f32, {})}, fresh[1];
  ASSERT_TRUE(session.call(given, loss).ok());
  ASSERT_TRUE(session.call(given, fresh).ok());
  int64_t before = allocated();
  for (int k = 0; k < 100; ++k) {
    ASSERT_TRUE(session.call(given, loss).ok());
    fresh[0] = Tensor();
    ASSERT_TRUE(session.call(given, fresh).ok());
  }
  EXPECT_EQ(allocated(), before);
  EXPECT_EQ(fresh[0].item<float>(), first - 203 * 0.5f * 14 * 500); // made by 2 steps, then 201
}

TEST(SessionCalls, ofJittedStepsAllocateNothingAfterTheFirst) {
  SKIP_WITHOUT_COUNT();
  auto square = jit([](const Weights &weights, const Tensor &x) {
    Tensor y = x;
    for (const Tensor &weight : weights.all)
      y = y * weight;
    return y;
  });
  Weights weights = makeWeights(12);
  Tensor x({1.f, 2.f, 3.f});
  square(weights, x);
  square(weights, x);
  int64_t before = allocated();
  for (int k = 0; k < 100; ++k)
    square(weights, x);
  EXPECT_EQ(allocated(), before);
}

/// A gradient whose function captures another batch in each call is traced each time, but no graph is made.
TEST(SessionCalls, gradientsWithOtherCapturesRecordNothing) {
  SKIP_WITHOUT_COUNT();
  int64_t before = allocated();
  sinter_graph *graph = nullptr;
  ASSERT_EQ(sinter_graph_create(&graph), SINTER_OK);
  sinter_graph_destroy(graph);
  int64_t ofAGraph = allocated() - before, ofACall = 0;
  Tensor weight({1.f, 2.f, 3.f});
  for (int k = 0; k < 4; ++k) {
    Tensor batch({1.f * float(k), 1.f, 2.f});
    before = allocated();
    Tensor slope = grad([&](const Tensor &w) { return sum(tanh(w * batch) * w + batch); })(weight);
    ofACall = allocated() - before;
  }
  EXPECT_LT(ofACall, ofAGraph / 4) << ofAGraph;
}

/// Lists with an entry for each state are taken as well, by the C library too.
TEST(SessionCalls, listsMayHoldStatesOrLeaveThemOut) {
  auto step = makeStep(3);
  Tensor x({1.f, 2.f, 3.f});
  std::string path = testing::TempDir() + "few_states.smod";
  ASSERT_TRUE(step.compile(
                      {.output = path}, [](Weights &weights, const Tensor &y) { return weights.all[2] + y; },
                      std::tuple(x), std::tuple(x))
                  .ok());
  Module module = Module::open(path);
  Session whole(module, {.function = "step", .threads = 1}), rest(module, {.function = "step", .threads = 1});
  for (int k = 0; k < 3; ++k) {
    const sinter_function &function = *sinter_session_function(whole.handle());
    std::vector<sinter_tensor> inputs(size_t(function.num_inputs)), outputs(size_t(function.num_outputs));
    inputs[0] = x.view();
    ASSERT_EQ(
        sinter_session_call(whole.handle(), function.num_inputs, inputs.data(), function.num_outputs, outputs.data()),
        SINTER_OK)
        << sinter_last_error();
    sinter_tensor loss{};
    ASSERT_EQ(sinter_session_call(rest.handle(), 1, &x.view(), 1, &loss), SINTER_OK) << sinter_last_error();
    EXPECT_EQ(*static_cast<float *>(outputs[0].data), *static_cast<float *>(loss.data));
    for (int s = 0; s < function.num_states; ++s) {
      const sinter_state &state = function.states[s];
      Tensor kept = rest.state(state.name);
      if (state.output < 0)
        continue;
      ASSERT_EQ(outputs[size_t(state.output)].rank, kept.rank());
      EXPECT_EQ(std::memcmp(outputs[size_t(state.output)].data, kept.view().data,
                            size_t(kept.known_size() * (kept.dtype() == DType::i64 ? 8 : 4))),
                0)
          << state.name;
    }
  }
  sinter_tensor none[2] = {};
  EXPECT_EQ(sinter_session_call(rest.handle(), 2, none, 1, none), SINTER_INVALID_ARGUMENT);
}

/// Two sessions over the same states, of which each sees what the other wrote, also after a file was loaded.
TEST(SessionCalls, sessionsThatShareStatesFollowEachOther) {
  auto step = makeStep(40);
  Tensor x({1.f, 2.f, 3.f});
  std::string path = testing::TempDir() + "shared_states.smod", file = testing::TempDir() + "shared.safetensors";
  ASSERT_TRUE(step.compile(
                      {.output = path}, [](Weights &weights, const Tensor &y) { return weights.all[39] + y; },
                      std::tuple(x), std::tuple(x))
                  .ok());
  Module module = Module::open(path);
  Session train(module, {.function = "step", .threads = 1}),
      use(module, {.function = "infer", .threads = 1, .states_of = &train}),
      other(module, {.function = "step", .threads = 1, .states_of = &train});
  auto weight = [&] { return use({x})[0].to_vector<float>()[0] - 1; };
  EXPECT_EQ(weight(), 4); // 39 % 7
  ASSERT_TRUE(train.save(file).ok());
  for (int k = 1; k <= 3; ++k) {
    train({x});
    EXPECT_EQ(weight(), 4 - k + 0.5f);
    other({x});
    EXPECT_EQ(weight(), 4.f - k);
  }
  ASSERT_TRUE(use.load(file).ok());
  EXPECT_EQ(weight(), 4);
  train({x});
  EXPECT_EQ(weight(), 3.5f);
  // A state as an input of the call, which is copied before it changes.
  sinter_tensor view{}, loss{};
  ASSERT_EQ(sinter_session_state_get(train.handle(), "all.39", &view), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_session_call(train.handle(), 1, &view, 1, &loss), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(weight(), 1.75f);
}

} // namespace
