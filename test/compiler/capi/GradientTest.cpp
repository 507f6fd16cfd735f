// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"

namespace {
alignas(64) float three[1] = {3};
alignas(64) float five[1] = {5};
sinter_tensor scalarOf(float *value) {
  return {.data = value, .dtype = SINTER_F32, .rank = 0, .dims = {}, .strides = nullptr};
}

sinter_gradient_options mode(int32_t mode) {
  sinter_gradient_options options = {};
  options.struct_size = sizeof options;
  options.mode = mode;
  return options;
}

int32_t gradientOf(Recorder &r, int32_t function, int32_t kind) {
  sinter_gradient_options options = mode(kind);
  int32_t wrt = 0, made = -1;
  EXPECT_EQ(sinter_graph_gradient(r.graph, function, 1, &wrt, &options, &made), SINTER_OK) << sinter_last_error();
  return made;
}

/// x -> x^3
int32_t cube(Recorder &r) {
  auto x = r.begin({r.type(SINTER_F32)});
  return r.end({r.op("mul", {r.op("mul", {x[0], x[0]}), x[0]})});
}
} // namespace

TEST(Gradient, HasEveryMode) {
  Recorder r;
  int32_t f = cube(r);
  EXPECT_EQ(r.run(gradientOf(r, f, SINTER_GRAD), {scalarOf(three)}), std::vector<float>{27});
  EXPECT_EQ(r.run(gradientOf(r, f, SINTER_VALUE_AND_GRAD), {scalarOf(three)}), std::vector<float>{27});
  EXPECT_EQ(r.run(gradientOf(r, f, SINTER_VJP), {scalarOf(three), scalarOf(five)}), std::vector<float>{27});
  EXPECT_EQ(r.run(gradientOf(r, f, SINTER_HVP), {scalarOf(three), scalarOf(five)}), std::vector<float>{90});
  sinter_function_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(sinter_graph_function(r.graph, gradientOf(r, f, SINTER_JVP), &info), SINTER_OK);
  EXPECT_STREQ(info.name, "f_jvp");
  EXPECT_EQ(info.num_inputs, 2);
  EXPECT_EQ(info.num_outputs, 2);
}

TEST(Gradient, OfAGradient) {
  Recorder r;
  int32_t second = gradientOf(r, gradientOf(r, cube(r), SINTER_GRAD), SINTER_GRAD);
  EXPECT_EQ(r.run(second, {scalarOf(three)}), std::vector<float>{18});
}

TEST(Gradient, KeepsCapturesLast) {
  Recorder r;
  auto y = r.begin({r.type(SINTER_F32)});
  auto x = r.begin({r.type(SINTER_F32)}, "inner"); // x * y, with y from outside
  int32_t inner = r.end({r.op("mul", {r.op("mul", {x[0], x[0]}), y[0]})});
  sinter_gradient_options options = mode(SINTER_VJP);
  int32_t wrt = 0, vjp = -1, count = 0;
  ASSERT_EQ(sinter_graph_gradient(r.graph, inner, 1, &wrt, &options, &vjp), SINTER_OK) << sinter_last_error();
  sinter_value operands[] = {r.scalar(3), r.scalar(10)}, results[2];
  ASSERT_EQ(sinter_graph_call(r.graph, vjp, 2, operands, 2, results, &count), SINTER_OK) << sinter_last_error();
  int32_t outer = r.end({results[1]});
  sinter_tensor input = scalarOf(five), output = {};
  ASSERT_EQ(sinter_graph_evaluate(r.graph, outer, 1, &input, 1, &output, &count), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(Recorder::floats(output), std::vector<float>{300}); // 2 * 3 * 5 * 10
  sinter_tensor_free(&output);
}

TEST(Gradient, OfACheckpoint) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  r.region();
  sinter_region body = r.endRegion({r.op("mul", {x[0], x[0]})});
  sinter_value square;
  int32_t count;
  ASSERT_EQ(sinter_graph_checkpoint(r.graph, body, 1, &square, &count), SINTER_OK) << sinter_last_error();
  int32_t f = r.end({square});
  EXPECT_EQ(r.run(gradientOf(r, f, SINTER_GRAD), {scalarOf(three)}), std::vector<float>{6});
}

TEST(Gradient, SaysWhatItRequires) {
  Recorder r;
  int32_t f = cube(r), made, wrt = 1;
  EXPECT_EQ(sinter_graph_gradient(r.graph, 7, 0, nullptr, nullptr, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "gradient requires a finished function, got 7");
  EXPECT_EQ(sinter_graph_gradient(r.graph, f, 1, &wrt, nullptr, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "gradient of 'f' requires inputs below 1, got 1");
  sinter_gradient_options options = mode(9);
  EXPECT_EQ(sinter_graph_gradient(r.graph, f, 0, nullptr, &options, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "gradient requires a sinter_gradient_mode, got 9");
  options = mode(SINTER_GRAD);
  options.memory = "online";
  EXPECT_EQ(sinter_graph_gradient(r.graph, f, 0, nullptr, &options, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "gradient requires a memory policy, got 'online'");
  auto x = r.begin({r.type(SINTER_F32, {4})}, "g");
  int32_t g = r.end({r.op("neg", {x[0]})});
  wrt = 0;
  EXPECT_EQ(sinter_graph_gradient(r.graph, g, 1, &wrt, nullptr, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "a gradient requires a float result of rank 0, got 'tensor<4xf32>' for result 0");
}
