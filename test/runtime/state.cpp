// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "Functions.h"
#include "runtime/dtypes.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {

/// State w of two floats, input y of one; w' = w + y, output b = 10 w'. Fails after it has written w' when y < 0.
int32_t stepEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                  const void *) {
  const float *w = static_cast<const float *>(inputs[0].data), y = *static_cast<const float *>(inputs[1].data);
  int64_t dims[1] = {2};
  auto *next = static_cast<float *>(context->output(context, 0, dims, 1));
  auto *b = static_cast<float *>(context->output(context, 1, dims, 1));
  if (!next || !b)
    return SINTER_OUT_OF_MEMORY;
  for (int i = 0; i < 2; ++i)
    b[i] = 10 * (next[i] = w[i] + y);
  return y < 0 ? context->fail(context, SINTER_RUNTIME_ERROR, "y is below zero", 0, 0) : 0;
}

/// Reads w and returns it.
int32_t inferEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                   const void *) {
  int64_t dims[1] = {2};
  auto *a = static_cast<float *>(context->output(context, 0, dims, 1));
  memcpy(a, inputs[0].data, 2 * sizeof *a);
  return 0;
}

const float kWeights[4] = {0, 0, 1, 2};

/// The table that a compiler would write for both.
struct Training {
  Function step{stepEntry, {{2}, {}}, {{2}, {2}}}, infer{inferEntry, {{2}}, {{2}}};
  sinter_state stepState = {"layer.w", 0, 0, 0, 0, 8}, inferState = {"layer.w", 0, -1, 0, 0, 8};
  const sinter_function *table[3] = {&step.function, &infer.function, nullptr};

  Training() {
    infer.function.name = "infer";
    for (Function *function : {&step, &infer}) {
      function->function.weights = kWeights;
      function->function.weights_bytes = sizeof kWeights;
      function->function.num_states = 1;
    }
    step.function.states = &stepState;
    infer.function.states = &inferState;
  }

  sinter_session *open(int32_t index, sinter_session *stateOf = nullptr, sinter_allocator allocator = {}) {
    sinter_module *module = shared;
    if (!module && sinter_module_open_functions(table, nullptr, &module) != SINTER_OK)
      return nullptr;
    shared = module;
    sinter_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.state_of = stateOf;
    options.allocator = allocator;
    sinter_session *session;
    return sinter_session_create(module, index, &options, &session) == SINTER_OK ? session : nullptr;
  }
  ~Training() { sinter_module_close(shared); }
  sinter_module *shared = nullptr;
};

std::vector<float> state(sinter_session *session) {
  sinter_tensor got;
  EXPECT_EQ(sinter_session_state_get(session, "layer.w", &got), SINTER_OK) << lastError();
  EXPECT_EQ(got.rank, 1);
  auto *data = static_cast<float *>(got.data);
  return {data, data + 2};
}

sinter_status_code run(sinter_session *session, float y) {
  sinter_tensor input = view(&y, {});
  EXPECT_EQ(sinter_session_set_input(session, 1, &input), SINTER_OK);
  return sinter_session_run(session);
}

using Values = std::vector<float>;

TEST(State, IsKeptFromCallToCallInPlaceOrNot) {
  for (int32_t flags : {0, SINTER_STATE_IN_PLACE}) {
    Training training;
    training.stepState.flags = flags;
    sinter_session *session = training.open(0);
    ASSERT_NE(session, nullptr) << lastError();
    EXPECT_EQ(sinter_session_num_states(session), 1);
    EXPECT_STREQ(sinter_session_state_name(session, 0), "layer.w");
    EXPECT_EQ(sinter_session_state_name(session, 1), nullptr);
    EXPECT_EQ(state(session), (Values{1, 2}));
    ASSERT_EQ(run(session, 1), SINTER_OK);
    ASSERT_EQ(run(session, 2), SINTER_OK);
    EXPECT_EQ(state(session), (Values{4, 5}));
    sinter_tensor b;
    ASSERT_EQ(sinter_session_output(session, 1, &b), SINTER_OK);
    EXPECT_EQ(static_cast<float *>(b.data)[1], 50);
    ASSERT_EQ(sinter_session_state_reset(session), SINTER_OK);
    EXPECT_EQ(state(session), (Values{1, 2}));
    sinter_memory_report report = {};
    report.struct_size = sizeof report;
    ASSERT_EQ(sinter_session_memory(session, &report), SINTER_OK);
    EXPECT_EQ(report.state_bytes, flags ? 8 : 16);
    sinter_session_destroy(session);
  }
}

TEST(State, SurvivesACallThatFails) {
  Training training;
  sinter_session *session = training.open(0);
  ASSERT_EQ(run(session, 1), SINTER_OK);
  EXPECT_EQ(run(session, -1), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(state(session), (Values{2, 3}));
  ASSERT_EQ(run(session, 1), SINTER_OK);
  EXPECT_EQ(state(session), (Values{3, 4}));
  sinter_session_destroy(session);
}

TEST(State, IsSharedByFunctionsOfOneModule) {
  Training training;
  sinter_session *step = training.open(0), *infer = training.open(1, step), *apart = training.open(1);
  ASSERT_NE(infer, nullptr) << lastError();
  ASSERT_EQ(run(step, 5), SINTER_OK);
  sinter_tensor a;
  for (auto [session, first] : {std::pair(infer, 6.f), std::pair(apart, 1.f)}) {
    ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
    ASSERT_EQ(sinter_session_output(session, 0, &a), SINTER_OK);
    EXPECT_EQ(*static_cast<float *>(a.data), first);
  }
  sinter_session_destroy(step); // the other keeps the state
  EXPECT_EQ(state(infer), (Values{6, 7}));
  sinter_session_destroy(infer);
  sinter_session_destroy(apart);

  Training other;
  sinter_session *own = other.open(0);
  EXPECT_EQ(training.open(0, own), nullptr);
  EXPECT_EQ(lastError(), "sessions that share states require one module, got two");
  sinter_session_destroy(own);
}

TEST(State, IsSetFromStridedValuesAndCheckedFirst) {
  Training training;
  sinter_session *session = training.open(0);
  float values[4] = {7, 0, 8, 0};
  int64_t strides[1] = {2};
  sinter_tensor value = view(values, {2});
  value.strides = strides;
  ASSERT_EQ(sinter_session_state_set(session, "layer.w", &value), SINTER_OK) << lastError();
  EXPECT_EQ(state(session), (Values{7, 8}));
  // A view of the state itself: backwards.
  sinter_tensor own;
  ASSERT_EQ(sinter_session_state_get(session, "layer.w", &own), SINTER_OK);
  int64_t back = -1;
  own.data = static_cast<float *>(own.data) + 1;
  own.strides = &back;
  ASSERT_EQ(sinter_session_state_set(session, "layer.w", &own), SINTER_OK) << lastError();
  EXPECT_EQ(state(session), (Values{8, 7}));
  strides[0] = INT64_MAX / 2;
  EXPECT_EQ(sinter_session_state_set(session, "layer.w", &value), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "state 'layer.w' requires strides inside the address space");
  value.dims[0] = 1;
  EXPECT_EQ(sinter_session_state_set(session, "layer.w", &value), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "state 'layer.w' requires f32 2, got f32 1");
  EXPECT_EQ(sinter_session_state_set(session, "w", &value), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "function 'main' has no state 'w'");
  EXPECT_EQ(sinter_session_state_set(session, "layer.w", nullptr), SINTER_INVALID_ARGUMENT);
  sinter_session_destroy(session);
}

TEST(State, CannotBeBoundOrOverlapped) {
  Training training;
  sinter_session *session = training.open(0);
  float values[2] = {};
  sinter_tensor value = view(values, {2});
  EXPECT_EQ(sinter_session_set_input(session, 0, &value), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' of function 'main' is a state of the session and cannot be bound");
  EXPECT_EQ(sinter_session_set_output(session, 0, &value), SINTER_INVALID_ARGUMENT);
  ASSERT_EQ(sinter_session_state_get(session, "layer.w", &value), SINTER_OK);
  ASSERT_EQ(sinter_session_set_output(session, 1, &value), SINTER_OK);
  EXPECT_EQ(run(session, 1), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'b' overlaps a state of the session");
  sinter_session_destroy(session);
}

TEST(State, SavesAndLoadsAllOrNothing) {
  Training training;
  Folder folder;
  sinter_session *session = training.open(0);
  ASSERT_EQ(run(session, 1), SINTER_OK);
  std::string path = folder.file("w.safetensors");
  ASSERT_EQ(sinter_session_save(session, path.c_str()), SINTER_OK) << lastError();
  EXPECT_EQ(folder.count(), 1);
  ASSERT_EQ(run(session, 1), SINTER_OK);
  ASSERT_EQ(sinter_session_load(session, path.c_str()), SINTER_OK) << lastError();
  EXPECT_EQ(state(session), (Values{2, 3}));
  EXPECT_EQ(sinter_session_load(session, folder.file("none").c_str()), SINTER_IO);
  std::string bytes = readFile(path);
  EXPECT_EQ(sinter_session_load(session, folder.write("cut", bytes.substr(0, bytes.size() - 1)).c_str()),
            SINTER_CORRUPT);
  float one = 1;
  const char *names[1] = {"other"};
  sinter_tensor tensor = view(&one, {1});
  ASSERT_EQ(sinter_safetensors_write(folder.file("o").c_str(), names, &tensor, 1), SINTER_OK);
  EXPECT_EQ(sinter_session_load(session, folder.file("o").c_str()), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(),
            "safetensors file '" + folder.file("o") + "' requires a tensor for state 'layer.w', found none");
  names[0] = "layer.w";
  ASSERT_EQ(sinter_safetensors_write(folder.file("o").c_str(), names, &tensor, 1), SINTER_OK);
  EXPECT_EQ(sinter_session_load(session, folder.file("o").c_str()), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "state 'layer.w' requires f32 2, file '" + folder.file("o") + "' has f32 1");
  EXPECT_EQ(state(session), (Values{2, 3}));
  sinter_session_destroy(session);
}

TEST(State, MemoryThatRunsOutIsAnErrorAndNothingLeaks) {
  for (int failAfter = 0; failAfter < 4; ++failAfter) {
    CountingAllocator allocator;
    allocator.failAfter = failAfter;
    Training training;
    sinter_session *session = training.open(0, nullptr, allocator.hooks());
    EXPECT_EQ(session != nullptr, failAfter >= 3);
    sinter_session_destroy(session);
    EXPECT_EQ(allocator.held, 0);
  }
}

TEST(State, TwoElementsOf4BitsLieInAByte) {
  Training training;
  for (sinter_tensor_type *type : {&training.step.types[0], &training.step.types[2], &training.infer.types[0]})
    type->dtype = SINTER_I4;
  sinter_session *session = training.open(1);
  ASSERT_NE(session, nullptr) << lastError();
  uint8_t byte = 0x2f;
  int64_t strides[1] = {2};
  sinter_tensor value{}, read{};
  value.data = &byte;
  value.dtype = SINTER_I4;
  value.rank = 1;
  value.dims[0] = 2;
  ASSERT_EQ(sinter_session_state_set(session, "layer.w", &value), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_state_get(session, "layer.w", &read), SINTER_OK);
  EXPECT_EQ(read.dtype, SINTER_I4);
  EXPECT_EQ(*static_cast<uint8_t *>(read.data), 0x2f);
  value.strides = strides;
  EXPECT_EQ(sinter_session_state_set(session, "layer.w", &value), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "state 'layer.w' of i4 requires row-major elements without gaps, got strides");
  sinter_session_destroy(session);
}

TEST(State, DescriptionsAreChecked) {
  auto says = [](auto change) {
    Training training;
    change(training);
    EXPECT_EQ(training.open(0), nullptr);
    return lastError();
  };
  EXPECT_EQ(says([](Training &t) { t.stepState.input = 2; }),
            "state 0 of function 'main' has no name, bad indices or unknown flags");
  EXPECT_EQ(says([](Training &t) { t.stepState.flags = 4; }),
            "state 0 of function 'main' has no name, bad indices or unknown flags");
  EXPECT_EQ(says([](Training &t) { t.stepState.flags = 2; }),
            "state 'layer.w' of function 'main' requires a device, its module has none");
  EXPECT_EQ(says([](Training &t) { t.stepState.initial = 12; }),
            "state 'layer.w' of function 'main' requires a first value within 16 bytes of weights");
  EXPECT_EQ(says([](Training &t) { t.step.types[2].dtype = SINTER_I32; }),
            "state 'layer.w' of function 'main' requires one type with fixed dims");
  EXPECT_EQ(says([](Training &t) { t.step.function.num_states = -1; }), "function 'main' states -1 states");
  EXPECT_EQ(says([](Training &t) { t.infer.types[0].dtype = SINTER_I32; }),
            "functions of a module give state 'layer.w' different types");
}

TEST(State, DescriptionsFromBeforeStatesStillOpen) {
  Training training;
  training.step.function.struct_size = offsetof(sinter_function, num_states);
  training.infer.function.struct_size = offsetof(sinter_function, num_states);
  sinter_session *session = training.open(0);
  ASSERT_NE(session, nullptr) << lastError();
  EXPECT_EQ(sinter_session_num_states(session), 0);
  EXPECT_EQ(sinter_session_save(session, "x"), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "function 'main' has no states");
  sinter_session_destroy(session);
}

} // namespace
