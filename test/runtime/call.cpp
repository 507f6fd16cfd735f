// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Functions.h"
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {
/// a[i] = x[i] + y[i]
int32_t sum(sinter_context *ctx, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *symbols,
            const void *) {
  auto *out = static_cast<float *>(ctx->output(ctx, 0, inputs[0].dims, 1));
  if (!out)
    return SINTER_RUNTIME_ERROR;
  for (int64_t i = 0; i < symbols[0]; ++i)
    out[i] = static_cast<float *>(inputs[0].data)[i] + static_cast<float *>(inputs[1].data)[i];
  return SINTER_OK;
}
struct Call : testing::Test {
  Function function{sum, {{-1}, {-1}}, {{-1}}, {"n"}};
  Session session{function};
  alignas(64) float x[16] = {1, 2, 3, 4}, y[16] = {10, 20, 30, 40}, a[16] = {}, b[16] = {};

  sinter_status_code call(sinter_tensor x, sinter_tensor y, sinter_tensor &out) {
    sinter_tensor inputs[] = {x, y};
    return sinter_session_call(session, 2, inputs, 1, &out);
  }
};
} // namespace

TEST_F(Call, FollowsAddressesAndShapes) {
  sinter_tensor out = view(a, {4});
  ASSERT_EQ(call(view(x, {4}), view(y, {4}), out), SINTER_OK) << lastError();
  EXPECT_EQ(a[3], 44);
  out = view(b, {4});
  ASSERT_EQ(call(view(y, {4}), view(x, {4}), out), SINTER_OK) << lastError();
  EXPECT_EQ(b[3], 44);
  y[3] = 0;
  ASSERT_EQ(call(view(y, {4}), view(y, {4}), out), SINTER_OK) << lastError();
  EXPECT_EQ(b[3], 0);
  EXPECT_EQ(a[3], 44);
  out = view(b, {16});
  ASSERT_EQ(call(view(x, {2}), view(y, {2}), out), SINTER_OK) << lastError();
  EXPECT_EQ(out.dims[0], 2);
  EXPECT_EQ(b[1], 22);
}

TEST_F(Call, GivesSessionMemoryWhereThereIsNoBuffer) {
  sinter_tensor out = {};
  ASSERT_EQ(call(view(x, {4}), view(y, {4}), out), SINTER_OK) << lastError();
  ASSERT_NE(out.data, nullptr);
  EXPECT_EQ(out.dtype, SINTER_F32);
  EXPECT_EQ(out.rank, 1);
  EXPECT_EQ(out.dims[0], 4);
  EXPECT_EQ(static_cast<float *>(out.data)[2], 33);
  // Fed back: copied before it is overwritten.
  sinter_tensor again = {};
  ASSERT_EQ(call(out, view(y, {4}), again), SINTER_OK) << lastError();
  EXPECT_EQ(static_cast<float *>(again.data)[2], 63);
}

TEST_F(Call, CopiesWhatIsNotAlignedOrStrided) {
  int64_t strides[] = {2};
  sinter_tensor strided = view(x, {2}), out = view(b + 1, {2});
  strided.strides = strides;
  ASSERT_EQ(call(strided, view(y + 1, {2}), out), SINTER_OK) << lastError();
  EXPECT_EQ(b[1], 21);
  EXPECT_EQ(b[2], 33);
  EXPECT_EQ(out.data, b + 1);
}

TEST_F(Call, HandlesEmptyTensors) {
  for (int k = 0; k < 2; ++k) {
    sinter_tensor out = {};
    ASSERT_EQ(call(view(nullptr, {0}), view(nullptr, {0}), out), SINTER_OK) << lastError();
    EXPECT_EQ(out.dims[0], 0);
  }
}

TEST_F(Call, RefusesWhatBindingRefuses) {
  sinter_tensor out = view(a, {4});
  ASSERT_EQ(call(view(x, {4}), view(y, {4}), out), SINTER_OK);
  out = view(x, {4});
  EXPECT_EQ(call(view(x, {4}), view(y, {4}), out), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' overlaps input 'x'");
  out = view(a, {4});
  EXPECT_EQ(call(view(x, {4}), view(y, {3}), out), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'y' requires n = 4 in dim 0, as in dim 0 of input 'x', got 3");
  EXPECT_EQ(call(view(nullptr, {4}), view(y, {4}), out), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "input 'x' requires data, got null");
  sinter_tensor inputs[] = {view(x, {4}), view(y, {4})};
  EXPECT_EQ(sinter_session_call(session, 1, inputs, 1, &out), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "function 'main' requires 2 inputs and 1 outputs, got 1 and 1");
  EXPECT_EQ(sinter_session_call(session, 2, nullptr, 1, &out), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_session_call(nullptr, 2, inputs, 1, &out), SINTER_INVALID_ARGUMENT);
  // And goes on.
  ASSERT_EQ(call(view(x, {4}), view(y, {4}), out), SINTER_OK) << lastError();
}
