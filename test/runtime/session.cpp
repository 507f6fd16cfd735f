// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {

//===- Functions ----------------------------------------------------------------------------------===//

/// a = 2 * x for x: n x 4; goes through the arena as compiled code does.
int32_t doubleEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *,
                    const int64_t *symbols, const void *) {
  static const sinter_buffer_life life = {0, 0};
  int64_t count = symbols[0] * 4, bytes = count * 4, offset;
  uint8_t *arena = context->plan(context, &life, 1, &bytes, &offset);
  if (!arena)
    return SINTER_OUT_OF_MEMORY;
  const float *x = static_cast<const float *>(inputs[0].data);
  float *temporary = reinterpret_cast<float *>(arena + offset);
  for (int64_t i = 0; i < count; ++i)
    temporary[i] = 2 * x[i];
  int64_t dims[2] = {symbols[0], 4};
  void *a = context->output(context, 0, dims, 2);
  if (!a)
    return SINTER_OUT_OF_MEMORY;
  memcpy(a, temporary, static_cast<size_t>(bytes));
  return SINTER_OK;
}

struct DoubleFunction : Function {
  DoubleFunction() : Function(doubleEntry, {{-1, 4}}, {{-1, 4}}, {"n"}) {}
};

/// a = x + y, both of n elements.
int32_t addEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *,
                 const int64_t *symbols, const void *) {
  float *a = static_cast<float *>(context->output(context, 0, symbols, 1));
  if (!a)
    return SINTER_OUT_OF_MEMORY;
  for (int64_t i = 0; i < symbols[0]; ++i)
    a[i] = static_cast<const float *>(inputs[0].data)[i] + static_cast<const float *>(inputs[1].data)[i];
  return SINTER_OK;
}

struct AddFunction : Function {
  AddFunction() : Function(addEntry, {{-1}, {-1}}, {{-1}}, {"batch"}) {}
};

std::vector<float> values(const sinter_tensor &tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d)
    count *= tensor.dims[d];
  const float *data = static_cast<const float *>(tensor.data);
  return {data, data + count};
}

struct alignas(64) Floats {
  float data[64];
};

//===- Runs ---------------------------------------------------------------------------------------===//

TEST(Session, RunsWithItsOwnOutput) {
  DoubleFunction function;
  Session session(function);
  Floats x = {{1, 2, 3, 4, 5, 6, 7, 8}};
  sinter_tensor input = view(x.data, {2, 4}), output;
  ASSERT_EQ(sinter_session_set_input(session, 0, &input), SINTER_OK);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  ASSERT_EQ(sinter_session_output(session, 0, &output), SINTER_OK);
  EXPECT_EQ(output.rank, 2);
  EXPECT_EQ(output.dims[0], 2);
  EXPECT_EQ(output.dtype, SINTER_F32);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(output.data) % 64, 0u);
  EXPECT_EQ(values(output), (std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16}));
}

TEST(Session, WritesTheCallersOutputInPlace) {
  DoubleFunction function;
  Session session(function);
  Floats x = {{1, 2, 3, 4}}, a = {};
  sinter_tensor input = view(x.data, {1, 4}), output = view(a.data, {3, 4}), got;
  ASSERT_EQ(sinter_session_set_input(session, 0, &input), SINTER_OK);
  ASSERT_EQ(sinter_session_set_output(session, 0, &output), SINTER_OK); // more room than needed
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  ASSERT_EQ(sinter_session_output(session, 0, &got), SINTER_OK);
  EXPECT_EQ(got.data, a.data);
  EXPECT_EQ(got.dims[0], 1);
  EXPECT_EQ(a.data[3], 8);
  EXPECT_EQ(a.data[4], 0);
}

TEST(Session, RefusesAnOutputWithoutRoom) {
  DoubleFunction function;
  Session session(function);
  Floats x = {}, a = {};
  sinter_tensor input = view(x.data, {3, 4}), output = view(a.data, {2, 4});
  sinter_session_set_input(session, 0, &input);
  sinter_session_set_output(session, 0, &output);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' requires room for 3x4 f32, got 2x4");
  // The session may be used again.
  sinter_session_set_output(session, 0, nullptr);
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
}

TEST(Session, CopiesUnalignedAndStridedTensors) {
  DoubleFunction function;
  Session session(function);
  Floats x = {}, a = {};
  for (int i = 0; i < 64; ++i)
    x.data[i] = static_cast<float>(i);
  sinter_tensor input = view(x.data + 1, {2, 4}), output = view(a.data + 3, {2, 4}), got;
  sinter_session_set_input(session, 0, &input);
  sinter_session_set_output(session, 0, &output);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  EXPECT_EQ(values(output), (std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16}));

  int64_t inputStrides[2] = {-8, 2}, outputStrides[2] = {1, 2};
  input = view(x.data + 8, {2, 4});
  input.strides = inputStrides;
  output.strides = outputStrides;
  sinter_session_set_input(session, 0, &input);
  sinter_session_set_output(session, 0, &output);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  // rows 8 10 12 14 and 0 2 4 6, doubled, transposed
  EXPECT_EQ(values(view(a.data + 3, {8})), (std::vector<float>{16, 0, 20, 4, 24, 8, 28, 12}));
  ASSERT_EQ(sinter_session_output(session, 0, &got), SINTER_OK);
  EXPECT_EQ(got.data, a.data + 3);
  EXPECT_EQ(got.strides[1], 2);

  input = view(x.data, {1, 4});
  sinter_session_set_input(session, 0, &input);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' requires room for 1x4 f32, got 2x4 with strides");
}

TEST(Session, FeedsAnOutputBack) {
  DoubleFunction function;
  Session session(function);
  Floats x = {{1, 2, 3, 4}};
  sinter_tensor tensor = view(x.data, {1, 4});
  for (int step = 0; step < 5; ++step) {
    ASSERT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_OK);
    ASSERT_EQ(sinter_session_run(session), SINTER_OK);
    ASSERT_EQ(sinter_session_output(session, 0, &tensor), SINTER_OK);
  }
  EXPECT_EQ(values(tensor), (std::vector<float>{32, 64, 96, 128}));
}

/// a: x twice in a row.
int32_t growEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                  const void *) {
  int64_t count = inputs[0].dims[0], twice = 2 * count;
  float *a = static_cast<float *>(context->output(context, 0, &twice, 1));
  for (int64_t i = 0; i < twice; ++i)
    a[i] = static_cast<const float *>(inputs[0].data)[i % count];
  return SINTER_OK;
}

TEST(Session, AnInputThatViewsReplacedOutputMemoryIsNotSetAnyMore) {
  Function function(growEntry, {{SINTER_DIM_UNKNOWN}}, {{SINTER_DIM_UNKNOWN}});
  Session session(function);
  Floats x = {{1, 2, 3}};
  sinter_tensor tensor = view(x.data, {60});
  sinter_session_set_input(session, 0, &tensor);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  sinter_session_output(session, 0, &tensor);
  sinter_session_set_input(session, 0, &tensor);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK); // replaces the memory that the input is in
  sinter_tensor output;
  sinter_session_output(session, 0, &output);
  EXPECT_EQ(output.dims[0], 240);
  EXPECT_EQ(static_cast<float *>(output.data)[181], 2);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' of function 'main' is not set");
}

TEST(Session, EmptyTensorsNeedNoData) {
  DoubleFunction function;
  Session session(function);
  sinter_tensor input = view(nullptr, {0, 4}), output;
  ASSERT_EQ(sinter_session_set_input(session, 0, &input), SINTER_OK);
  ASSERT_EQ(sinter_session_set_output(session, 0, &input), SINTER_OK);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_output(session, 0, &output), SINTER_OK);
  EXPECT_EQ(output.dims[0], 0);
}

int32_t scalarEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                    const void *weights) {
  float *a = static_cast<float *>(context->output(context, 0, nullptr, 0));
  *a = *static_cast<const float *>(inputs[0].data) * *static_cast<const float *>(weights);
  return SINTER_OK;
}

TEST(Session, RankZeroAndLinkedWeights) {
  Function function(scalarEntry, {{}}, {{}});
  static const float weight = 3;
  function.function.weights = &weight;
  function.function.weights_bytes = 4;
  Session session(function);
  ASSERT_EQ(session.status, SINTER_OK);
  float x = 5;
  sinter_tensor input = view(&x, {}), output;
  ASSERT_EQ(sinter_session_set_input(session, 0, &input), SINTER_OK);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  sinter_session_output(session, 0, &output);
  EXPECT_EQ(values(output), std::vector<float>{15});
}

//===- Refusals -----------------------------------------------------------------------------------===//

TEST(Session, NamesWhatDoesNotMatchTheSignature) {
  DoubleFunction function;
  Session session(function);
  Floats x = {};
  sinter_tensor tensor = view(x.data, {2, 5});
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires 4 in dim 1, got 5 (2x5)");
  tensor = view(x.data, {8});
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires rank 2, got 1");
  tensor = view(x.data, {2, 4});
  tensor.dtype = SINTER_I64;
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires dtype f32, got i64");
  tensor = view(x.data, {-1, 4});
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires dims of 0 or more and a size below 2^63 bytes, got -1x4");
  tensor = view(x.data, {INT64_MAX / 4, 4});
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  tensor = view(nullptr, {1, 4});
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires data, got null");
  tensor = view(x.data, {2, 4});
  EXPECT_EQ(sinter_session_set_input(session, 1, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "function 'main' requires an input index below 1, got 1");
  EXPECT_EQ(sinter_session_set_input(session, -1, &tensor), SINTER_INVALID_ARGUMENT);
  int64_t strides[2] = {INT64_MAX / 2, 1};
  tensor.strides = strides;
  EXPECT_EQ(sinter_session_set_input(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires strides inside the address space");
  tensor.strides = nullptr;
  tensor.dtype = SINTER_F16;
  EXPECT_EQ(sinter_session_set_output(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' requires dtype f32, got f16");
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' of function 'main' is not set");
  EXPECT_EQ(sinter_session_output(session, 0, &tensor), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' requires a run that succeeded before");
}

TEST(Session, ASymbolHasOneSize) {
  AddFunction function;
  Session session(function);
  Floats x = {}, y = {};
  sinter_tensor a = view(x.data, {3}), b = view(y.data, {4});
  sinter_session_set_input(session, 0, &a);
  sinter_session_set_input(session, 1, &b);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'y' requires batch = 3 in dim 0, as in dim 0 of input 'x', got 4");
  b = view(y.data, {3});
  sinter_session_set_input(session, 1, &b);
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
}

TEST(Session, RefusesOverlapOfInputsAndOutputs) {
  AddFunction function;
  Session session(function);
  Floats x = {};
  sinter_tensor a = view(x.data, {16}), b = view(x.data, {16}), c = view(x.data + 15, {16});
  sinter_session_set_input(session, 0, &a);
  sinter_session_set_input(session, 1, &b); // inputs may share memory
  sinter_session_set_output(session, 0, &c);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' overlaps input 'x'");
  c = view(x.data + 16, {16});
  sinter_session_set_output(session, 0, &c);
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  // A reversed view covers the addresses before its first element.
  int64_t backwards = -1;
  a = view(x.data + 31, {16});
  a.strides = &backwards;
  sinter_session_set_input(session, 0, &a);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' overlaps input 'x'");
}

int32_t twoOutputsEntry(sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *,
                        const void *) {
  int64_t four = 4;
  context->output(context, 0, &four, 1);
  context->output(context, 1, &four, 1);
  return SINTER_OK;
}

TEST(Session, RefusesOverlapOfOutputs) {
  Function function(twoOutputsEntry, {}, {{4}, {4}});
  Session session(function);
  Floats x = {};
  sinter_tensor a = view(x.data, {4}), b = view(x.data + 2, {4});
  sinter_session_set_output(session, 0, &a);
  sinter_session_set_output(session, 1, &b);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'b' overlaps output 'a'");
}

TEST(Session, RefusesOutputsWhoseElementsOverlap) {
  // Every view of a few axes, steps and sizes, against the addresses that it touches.
  static constexpr int64_t steps[] = {-6, -3, -2, -1, 0, 1, 2, 3, 4, 6};
  int refused = 0, taken = 0;
  alignas(64) float room[160];
  sinter_dim any[] = {-1, -2, -3};
  Function function(
      [](sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *symbols,
         const void *) -> int32_t {
        return context->output(context, 0, symbols, 3) ? SINTER_OK : SINTER_OUT_OF_MEMORY;
      },
      {{any[0], any[1], any[2]}}, {{any[0], any[1], any[2]}}, {"a", "b", "c"});
  Session session(function);
  for (int64_t a : steps)
    for (int64_t b : steps)
      for (int64_t c : steps)
        for (int64_t shape : {0, 1, 2, 3, 4, 5, 6, 7}) {
          int64_t dims[] = {shape & 1 ? 2 : 3, shape & 2 ? 1 : 3, shape & 4 ? 4 : 2}, strides[] = {a, b, c};
          std::vector<int64_t> touched;
          for (int64_t i = 0; i < dims[0]; ++i)
            for (int64_t j = 0; j < dims[1]; ++j)
              for (int64_t k = 0; k < dims[2]; ++k)
                touched.push_back(i * a + j * b + k * c);
          std::sort(touched.begin(), touched.end());
          bool twice = std::adjacent_find(touched.begin(), touched.end()) != touched.end();
          Floats x = {};
          sinter_tensor input = view(x.data, {dims[0], dims[1], dims[2]}),
                        output = view(room + 80, {dims[0], dims[1], dims[2]});
          output.strides = strides;
          sinter_session_set_input(session, 0, &input);
          sinter_session_set_output(session, 0, &output);
          sinter_status_code status = sinter_session_run(session);
          ASSERT_EQ(status, twice ? SINTER_INVALID_ARGUMENT : SINTER_OK)
              << a << ' ' << b << ' ' << c << " shape " << shape << ": " << lastError();
          ++(twice ? refused : taken);
        }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(taken, 1000);
  EXPECT_EQ(lastError(), "output 'a' requires strides by which no two elements share an address");
}

TEST(Session, RefusesOutputsInMemoryOfItsOwn) {
  Function function(twoOutputsEntry, {}, {{4}, {4}});
  Session session(function);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  sinter_tensor own, other;
  sinter_session_output(session, 0, &own);
  sinter_session_output(session, 1, &other);
  ASSERT_EQ(sinter_session_set_output(session, 0, &own), SINTER_OK); // what a caller does that comes again
  EXPECT_EQ(sinter_session_run(session), SINTER_OK);
  sinter_session_set_output(session, 0, &other);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' overlaps the session's own memory of output 'b'");
}

TEST(Session, TellsSizesFromRanks) {
  Function function(
      [](sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *symbols,
         const void *) -> int32_t {
        int64_t dims[] = {symbols[0], INT64_MAX / 2};
        return context->output(context, 0, dims, symbols[0] == 1 ? 1 : 2) ? SINTER_OK : SINTER_OUT_OF_MEMORY;
      },
      {{-1}}, {{SINTER_DIM_UNKNOWN, SINTER_DIM_UNKNOWN}}, {"n"});
  Session session(function);
  Floats x = {};
  sinter_tensor input = view(x.data, {4});
  sinter_session_set_input(session, 0, &input);
  EXPECT_EQ(sinter_session_run(session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' requires dims of 0 or more and a size below 2^63 bytes, got "
                         "4x4611686018427387903 f32");
  input = view(x.data, {1});
  sinter_session_set_input(session, 0, &input);
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "output 'a' requires rank 2, its code produced rank 1 (1)");
}

int32_t wrongOutputEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *,
                         const int64_t *, const void *) {
  int64_t dims[2] = {5, 5};
  switch (static_cast<int>(*static_cast<const float *>(inputs[0].data))) {
  case 0:
    return SINTER_OK;
  case 1:
    return context->output(context, 0, dims, 2) ? 0 : SINTER_RUNTIME_ERROR;
  case 2:
    return context->output(context, 7, dims, 1) ? 0 : SINTER_RUNTIME_ERROR;
  default:
    return context->output(context, 0, dims, 1) ? 0 : SINTER_RUNTIME_ERROR;
  }
}

TEST(Session, CodeThatBreaksItsSignatureIsAnError) {
  Function function(wrongOutputEntry, {{}}, {{4}});
  Session session(function);
  float x = 0;
  sinter_tensor input = view(&x, {});
  sinter_session_set_input(session, 0, &input);
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "function 'main' did not produce output 'a'");
  x = 1;
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "output 'a' requires rank 1, its code produced rank 2 (5x5)");
  x = 2;
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "function 'main' requires an output index below 1, its code produced output 7");
  x = 3;
  EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
  EXPECT_EQ(lastError(), "output 'a' requires 4 in dim 0, its code produced 5");
}

int32_t scratchEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                     const void *) {
  int64_t bytes = static_cast<int64_t>(*static_cast<const float *>(inputs[0].data));
  for (int i = 0; i < 10; ++i) {
    void *buffer = context->acquire(context, bytes);
    if (!buffer)
      return SINTER_OUT_OF_MEMORY;
    memset(buffer, i, static_cast<size_t>(bytes));
    if (i % 2)
      context->release(context, buffer);
  }
  return context->fail(context, SINTER_RUNTIME_ERROR, "{} of {} {}", 1, INT64_MIN);
}

TEST(Session, ScratchIsRecycledAfterAnError) {
  Function function(scratchEntry, {{}}, {});
  Session session(function);
  float x = 100000;
  sinter_tensor input = view(&x, {});
  sinter_session_set_input(session, 0, &input);
  sinter_memory_report report = {};
  report.struct_size = sizeof report;
  int64_t held = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    EXPECT_EQ(sinter_session_run(session), SINTER_RUNTIME_ERROR);
    EXPECT_EQ(lastError(), "1 of -9223372036854775808 {}");
    ASSERT_EQ(sinter_session_memory(session, &report), SINTER_OK);
    EXPECT_GE(report.scratch_bytes, 600000);
    EXPECT_TRUE(repeat == 0 || report.scratch_bytes == held);
    held = report.scratch_bytes;
  }
  x = -1;
  EXPECT_EQ(sinter_session_run(session), SINTER_OUT_OF_MEMORY);
  EXPECT_EQ(lastError(), "no memory for a buffer of -1 bytes");
}

//===- Allocators and options ---------------------------------------------------------------------===//

TEST(Session, AllMemoryPassesThroughTheHooks) {
  DoubleFunction function;
  CountingAllocator allocator;
  {
    Session session(function, 2, allocator.hooks());
    ASSERT_EQ(session.status, SINTER_OK);
    EXPECT_EQ(allocator.calls, 1); // one allocation for the session
    Floats x = {};
    sinter_tensor input = view(x.data + 1, {2, 4});
    sinter_session_set_input(session, 0, &input);
    ASSERT_EQ(sinter_session_run(session), SINTER_OK);
    int calls = allocator.calls;
    for (int repeat = 0; repeat < 10; ++repeat)
      ASSERT_EQ(sinter_session_run(session), SINTER_OK);
    EXPECT_EQ(allocator.calls, calls); // none within known sizes
    sinter_memory_report report = {};
    report.struct_size = sizeof report;
    sinter_session_memory(session, &report);
    EXPECT_EQ(report.fixed_bytes + report.arena_bytes + report.input_bytes + report.output_bytes + report.scratch_bytes,
              allocator.held);
    EXPECT_GE(report.peak_bytes, allocator.held);
    EXPECT_EQ(report.input_bytes, 32);
  }
  EXPECT_EQ(allocator.held, 0);
}

TEST(Session, AFailingAllocatorIsAnErrorAtEveryPlace) {
  DoubleFunction function;
  int failAfter = 0;
  for (bool passed = false; !passed; ++failAfter) {
    CountingAllocator allocator;
    allocator.failAfter = failAfter;
    {
      Session session(function, 2, allocator.hooks());
      if (failAfter == 0) {
        EXPECT_EQ(session.status, SINTER_OUT_OF_MEMORY);
        EXPECT_EQ(lastError().find("no memory for a session"), 0u);
        continue;
      }
      Floats x = {{1}};
      sinter_tensor input = view(x.data + 1, {2, 4});
      sinter_session_set_input(session, 0, &input);
      sinter_status_code status = sinter_session_run(session);
      passed = status == SINTER_OK;
      if (!passed) {
        EXPECT_EQ(status, SINTER_OUT_OF_MEMORY);
        EXPECT_EQ(lastError().find("no memory for"), 0u) << lastError();
        allocator.failAfter = 1 << 30; // memory is there again: the session goes on
        EXPECT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
      }
    }
    EXPECT_EQ(allocator.held, 0);
  }
  EXPECT_EQ(failAfter, 8); // session, copy, arena, plan, room to plan, memory, output; then it passes
}

TEST(Session, RefusesBadOptionsAndHandles) {
  DoubleFunction function;
  CountingAllocator allocator;
  sinter_module *module;
  sinter_session *session;
  ASSERT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_OK);
  sinter_session_options options = {};
  EXPECT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "session options require their struct_size, got 0");
  options.struct_size = sizeof options;
  options.threads = -1;
  EXPECT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "session requires 0 to 1024 threads, got -1");
  options.threads = 1;
  options.allocator.allocate = allocator.hooks().allocate;
  EXPECT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "allocator requires both functions or none");
  EXPECT_EQ(sinter_session_create(module, 1, nullptr, &session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "session requires a function index below 1, got 1");
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(sinter_session_create(nullptr, 0, nullptr, &session), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_session_run(nullptr), SINTER_INVALID_ARGUMENT);
  sinter_session_destroy(nullptr);
  sinter_session_cancel(nullptr);
  sinter_module_close(nullptr);
  // An older caller, whose struct ends after `threads`.
  sinter_session_options older = {};
  older.struct_size = offsetof(sinter_session_options, spin_us);
  older.threads = 1;
  older.allocator.allocate = allocator.hooks().allocate;
  EXPECT_EQ(sinter_session_create(module, 0, &older, &session), SINTER_OK);
  sinter_session_destroy(session);
  EXPECT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK);
  EXPECT_GE(sinter_session_threads(session), 1);
  sinter_session_destroy(session);
  sinter_module_close(module);
}

//===- Modules ------------------------------------------------------------------------------------===//

TEST(Module, AnswersQuestionsAboutItsFunctions) {
  DoubleFunction twice;
  AddFunction add;
  add.function.name = "add";
  const sinter_function *const table[] = {&twice.function, &add.function, nullptr};
  sinter_module *module;
  ASSERT_EQ(sinter_module_open_functions(table, nullptr, &module), SINTER_OK);
  EXPECT_EQ(sinter_module_num_functions(module), 2);
  EXPECT_EQ(sinter_module_find_function(module, "add"), 1);
  EXPECT_EQ(sinter_module_find_function(module, "sub"), -1);
  const sinter_function *function = sinter_module_function(module, 1);
  EXPECT_EQ(sinter_function_find_input(function, "y"), 1);
  EXPECT_EQ(sinter_function_find_input(function, "a"), -1);
  EXPECT_EQ(sinter_function_find_output(function, "a"), 0);
  EXPECT_STREQ(function->symbol_names[0], "batch");
  EXPECT_EQ(sinter_module_function(module, 2), nullptr);
  EXPECT_EQ(sinter_module_weights_bytes(module), 0);
  EXPECT_EQ(sinter_module_manifest(module, nullptr), nullptr);
  sinter_module_close(module);
}

TEST(Module, RefusesDescriptionsThatAreNotOne) {
  sinter_module *module;
  auto refuse = [&](auto change, sinter_status_code status, const std::string &message) {
    AddFunction function;
    change(function);
    EXPECT_EQ(sinter_module_open_function(&function.function, nullptr, &module), status);
    EXPECT_EQ(lastError(), message);
    EXPECT_EQ(module, nullptr);
  };
  refuse([](Function &f) { f.function.abi_version = 2; }, SINTER_UNSUPPORTED,
         "compiled code requires runtime ABI 2, this runtime has 1");
  refuse([](Function &f) { f.function.struct_size = 8; }, SINTER_CORRUPT,
         "function description requires " + std::to_string(offsetof(sinter_function, num_states)) + " bytes, got 8");
  refuse([](Function &f) { f.function.entry = nullptr; }, SINTER_CORRUPT,
         "function description without a name or an entry point");
  refuse([](Function &f) { f.types[1].dtype = 99; }, SINTER_CORRUPT,
         "input 1 of function 'main' has no name, an unknown dtype (99) or a bad rank (1)");
  refuse([](Function &f) { f.types[2].rank = 17; }, SINTER_CORRUPT,
         "output 0 of function 'main' has no name, an unknown dtype (2) or a bad rank (17)");
  refuse([](Function &f) { f.dims[0][0] = -2; }, SINTER_CORRUPT, "input 'x' of function 'main' uses symbol 1 of 1");
  refuse([](Function &f) { f.function.weights_bytes = 100; }, SINTER_CORRUPT,
         "function 'main' requires 100 bytes of weights beside its code, got 0");
  const sinter_function *const empty[] = {nullptr};
  EXPECT_EQ(sinter_module_open_functions(empty, nullptr, &module), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "module has no functions");
  EXPECT_EQ(sinter_module_open_function(nullptr, nullptr, &module), SINTER_INVALID_ARGUMENT);
}

TEST(Module, FeatureListsTakeSignsAndLevels) {
  AddFunction function;
  sinter_module *module;
#if defined(__x86_64__)
  function.function.cpu_features = "+sse2,+cx16,-no-such-feature x86-64";
#else
  function.function.cpu_features = "+neon,-no-such-feature aarch64";
#endif
  EXPECT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_OK) << lastError();
  sinter_module_close(module);
}

} // namespace
