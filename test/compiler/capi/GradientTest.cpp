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

/// x -> x * x + c with the gradient 10 x, where c is captured and not differentiated.
static sinter_value custom(Recorder &r, sinter_value x, sinter_value c) {
  auto in = r.region({r.type(SINTER_F32)});
  sinter_region forward = r.endRegion({r.op("add", {r.op("mul", {in[0], in[0]}), c}), in[0]});
  auto given = r.region({r.type(SINTER_F32), r.type(SINTER_F32)});
  sinter_region backward = r.endRegion({r.op("mul", {r.op("mul", {r.scalar(10), given[0]}), given[1]})});
  sinter_value y = 0;
  int32_t count = 0;
  EXPECT_EQ(sinter_graph_custom_vjp(r.graph, 1, &x, 1, forward, backward, 1, &y, &count), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(count, 1);
  return y;
}

TEST(Gradient, OfACustomOne) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32), r.type(SINTER_F32)});
  int32_t f = r.end({custom(r, x[0], x[1])});
  EXPECT_EQ(r.run(f, {scalarOf(three), scalarOf(five)}), std::vector<float>{14});
  EXPECT_EQ(r.run(gradientOf(r, f, SINTER_GRAD), {scalarOf(three), scalarOf(five)}), std::vector<float>{30});
  EXPECT_EQ(r.run(gradientOf(r, gradientOf(r, f, SINTER_GRAD), SINTER_GRAD), {scalarOf(three), scalarOf(five)}),
            std::vector<float>{10});
  int32_t wrt = 1, made;
  EXPECT_EQ(sinter_graph_gradient(r.graph, f, 1, &wrt, nullptr, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "'sinter.custom_vjp' op has a gradient by its arguments only, got one by a tensor "
                                    "that it captures; make that an argument, or stop its gradient");
}

TEST(Gradient, CustomSaysWhatItRequires) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2})});
  sinter_value y;
  int32_t count;
  auto region = [&](std::vector<sinter_value_type> types, std::vector<size_t> yields) {
    auto arguments = r.region(types);
    std::vector<sinter_value> values;
    for (size_t k : yields)
      values.push_back(arguments[k]);
    return r.endRegion(values);
  };
  sinter_value_type two = r.type(SINTER_F32, {2}), three = r.type(SINTER_F32, {3});
  sinter_region forward = region({two}, {0, 0}), backward = region({two, two}, {1});
  auto record = [&](int32_t results, sinter_region forward, sinter_region backward) {
    EXPECT_EQ(sinter_graph_custom_vjp(r.graph, 1, x.data(), results, forward, backward, 1, &y, &count),
              SINTER_INVALID_ARGUMENT);
    return std::string(sinter_last_error());
  };
  EXPECT_EQ(record(-1, forward, backward),
            "custom_vjp requires a graph, operands and a number of results, got null or less than 0");
  EXPECT_EQ(record(1, 77, backward), "custom_vjp: forward requires a region of the graph, got 77");
  EXPECT_EQ(record(1, forward, 77), "custom_vjp: backward requires a region of the graph, got 77");
  EXPECT_EQ(record(1, region({}, {}), backward),
            "custom_vjp requires a forward argument for each of 1 operands, got 0");
  EXPECT_EQ(record(1, region({three}, {0}), backward),
            "custom_vjp requires forward argument 0 of the type of its operand, got f32[3] and f32[2]");
  EXPECT_EQ(record(3, forward, backward), "custom_vjp requires a forward yield per result, got 2 for 3");
  EXPECT_EQ(record(1, forward, region({two}, {0})),
            "custom_vjp requires a backward argument for each of 2 residuals and float results, got 1");
  EXPECT_EQ(
      record(1, forward, region({two, three}, {0})),
      "custom_vjp requires backward argument 1 of the type of its residual or float result, got f32[3] and f32[2]");
  EXPECT_EQ(record(1, forward, region({two, two}, {})),
            "custom_vjp requires a backward yield for each of 1 float operands, got 0");
  EXPECT_EQ(record(1, forward, forward), "custom_vjp requires a backward argument for each of 2 residuals and float "
                                         "results, got 1");
  EXPECT_EQ(sinter_graph_custom_vjp(r.graph, 1, x.data(), 1, forward, backward, 1, &y, &count), SINTER_OK);
  r.end({y});
}

TEST(Gradient, IsChecked) {
  Recorder r;
  int32_t f = cube(r), wrt = 0;
  auto x = r.begin({r.type(SINTER_F32), r.type(SINTER_F32)}, "g");
  int32_t g = r.end({custom(r, x[0], x[1])});
  sinter_tensor inputs[] = {scalarOf(three), scalarOf(five)};
  sinter_gradient_check check = {};
  EXPECT_EQ(sinter_graph_check_gradient(r.graph, f, 1, &wrt, 1, inputs, nullptr, &check), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "gradient check requires a place for its outcome with its struct_size");
  check.struct_size = sizeof check;
  ASSERT_EQ(sinter_graph_check_gradient(r.graph, f, 1, &wrt, 1, inputs, nullptr, &check), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(check.passed, 1);
  EXPECT_LT(check.element_error, 1e-8);
  EXPECT_EQ(check.worst_input, 0);
  sinter_gradient_check_options options = {};
  options.struct_size = sizeof options;
  options.reverse_only = 1;
  ASSERT_EQ(sinter_graph_check_gradient(r.graph, g, 1, &wrt, 2, inputs, &options, &check), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(check.passed, 0);
  EXPECT_GT(check.element_error, 0.1);
  EXPECT_EQ(sinter_graph_check_gradient(r.graph, f, 1, &wrt, 2, inputs, &options, &check), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "'f' requires 1 inputs, got 2");
  wrt = 4;
  EXPECT_EQ(sinter_graph_check_gradient(r.graph, f, 1, &wrt, 1, inputs, &options, &check), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "gradient check of 'f' requires float inputs below 1, got 4");
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
  EXPECT_STREQ(sinter_last_error(), "gradient requires a memory policy (all, recompute, period(K), binomial(SLOTS), "
                                    "online(SLOTS) or implicit), got 'online'");
  auto x = r.begin({r.type(SINTER_F32, {4})}, "g");
  int32_t g = r.end({r.op("neg", {x[0]})});
  wrt = 0;
  EXPECT_EQ(sinter_graph_gradient(r.graph, g, 1, &wrt, nullptr, &made), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "a gradient requires a float result of rank 0, got 'tensor<4xf32>' for result 0");
}
