// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"
#include <thread>

namespace {
std::vector<float> eager(const char *op, std::vector<sinter_tensor> operands, std::vector<sinter_attr> attrs = {}) {
  sinter_tensor outputs[4] = {};
  int32_t count = 0;
  EXPECT_EQ(sinter_eager(op, static_cast<int32_t>(operands.size()), operands.data(), static_cast<int32_t>(attrs.size()),
                         attrs.data(), 4, outputs, &count),
            SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(outputs[0].data) % 64, 0u);
  std::vector<float> values = Recorder::floats(outputs[0]);
  for (sinter_tensor &output : outputs)
    sinter_tensor_free(&output);
  return values;
}
std::string refused(const char *op, std::vector<sinter_tensor> operands, std::vector<sinter_attr> attrs = {}) {
  sinter_tensor outputs[4] = {};
  int32_t count = 0;
  EXPECT_NE(sinter_eager(op, static_cast<int32_t>(operands.size()), operands.data(), static_cast<int32_t>(attrs.size()),
                         attrs.data(), 4, outputs, &count),
            SINTER_OK);
  EXPECT_EQ(outputs[0].data, nullptr);
  return sinter_last_error();
}
sinter_jit_report report() {
  sinter_jit_report report = {};
  report.struct_size = sizeof report;
  EXPECT_EQ(sinter_jit_stats(&report), SINTER_OK);
  return report;
}
} // namespace

TEST(Eager, OneKernelServesAClassOfShapes) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {10, 20, 30, 40, 50, 60};
  int64_t before = report().eager_compiles;
  EXPECT_EQ(eager("atan2", {Recorder::tensor(x, {6}), Recorder::tensor(y, {6})}).size(), 6u);
  EXPECT_EQ(eager("atan2", {Recorder::tensor(x, {3}), Recorder::tensor(y, {3})}).size(), 3u);
  EXPECT_EQ(eager("atan2", {Recorder::tensor(x, {0}), Recorder::tensor(y, {0})}).size(), 0u);
  EXPECT_EQ(report().eager_compiles, before + 1);
  EXPECT_EQ(eager("atan2", {Recorder::tensor(x, {2, 3}), Recorder::tensor(y, {2, 3})}).size(), 6u);
  EXPECT_EQ(report().eager_compiles, before + 2);
  int64_t hits = report().eager_hits;
  EXPECT_EQ(eager("atan2", {Recorder::tensor(x, {6}), Recorder::tensor(y, {6})}).size(), 6u);
  EXPECT_EQ(report().eager_compiles, before + 2);
  EXPECT_EQ(report().eager_hits, hits + 1);
}

TEST(Eager, ComputesAllKindsOfOps) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y = {10, 20, 30, 40, 50, 60};
  EXPECT_EQ(eager("add", {Recorder::tensor(x, {2, 3}), Recorder::tensor(y, {2, 3})}),
            (std::vector<float>{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(eager("add", {Recorder::tensor(x, {}), Recorder::tensor(y, {})}), std::vector<float>{11});
  std::vector<int64_t> rows = {1}, permutation = {1, 0};
  EXPECT_EQ(eager("reduce", {Recorder::tensor(x, {2, 3})}, {attr("axes", rows), attr("combiner", "add")}),
            (std::vector<float>{6, 15}));
  EXPECT_EQ(eager("transpose", {Recorder::tensor(x, {2, 3})}, {attr("permutation", permutation)}),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  // An operand that is left out, a strided one, and a result whose size only the elements tell.
  sinter_value_type wide = Recorder::type(SINTER_F32, {2, 2});
  std::vector<int64_t> last = {1};
  sinter_tensor none = {};
  EXPECT_EQ(eager("broadcast", {Recorder::tensor(x, {2}), none, none}, {attr("axes", last), attr("type", wide)}),
            (std::vector<float>{1, 2, 1, 2}));
  sinter_tensor strided = Recorder::tensor(x, {3});
  int64_t strides[] = {2};
  strided.strides = strides;
  EXPECT_EQ(eager("neg", {strided}), (std::vector<float>{-1, -3, -5}));
  std::vector<float> some = {0, 7, 0, 9};
  EXPECT_EQ(eager("nonzero", {Recorder::tensor(some, {4})}), (std::vector<float>{1, 3}));
}

TEST(Eager, LargeOperandsUseThreads) {
  std::vector<float> x(300000, 2), y(300000, 3);
  std::vector<float> sum = eager("add", {Recorder::tensor(x, {300, 1000}), Recorder::tensor(y, {300, 1000})});
  EXPECT_EQ(sum, std::vector<float>(300000, 5));
  std::vector<int64_t> permutation = {1, 0};
  EXPECT_EQ(eager("transpose", {Recorder::tensor(x, {300, 1000})}, {attr("permutation", permutation)}), x);
}

TEST(Eager, AppliesTheShapeRuleToEachCall) {
  std::vector<float> x = {1, 2, 3, 4}, y = {1, 2, 3, 4};
  EXPECT_EQ(refused("add", {Recorder::tensor(x, {4}), Recorder::tensor(y, {3})}),
            "add requires operands of one shape, got 4 and 3");
  EXPECT_EQ(refused("plus", {}), "an op requires a name of the dialect that has no regions, got 'plus'");
  sinter_tensor bad = Recorder::tensor(x, {4});
  bad.data = nullptr;
  EXPECT_EQ(refused("neg", {bad}), "neg: operand 0 requires data for 4, got null");
  EXPECT_EQ(sinter_eager(nullptr, 0, nullptr, 0, nullptr, 0, nullptr, nullptr), SINTER_INVALID_ARGUMENT);
  sinter_tensor operand = Recorder::tensor(x, {4});
  int32_t count = 0;
  EXPECT_EQ(sinter_eager("neg", 1, &operand, 0, nullptr, 0, nullptr, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "neg requires room for 1 results, got 0");
}

TEST(Eager, ThreadsShareKernels) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::vector<float> x(8, static_cast<float>(t));
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(eager("sub", {Recorder::tensor(x, {8}), Recorder::tensor(x, {8})}), std::vector<float>(8, 0));
        EXPECT_EQ(eager("max", {Recorder::tensor(x, {2, 4}), Recorder::tensor(x, {2, 4})}), x);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}
