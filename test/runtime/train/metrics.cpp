// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Metrics against scikit-learn's numbers (Inputs/metrics.py makes them), and what they say of what does not fit.

#include "runtime/train/Metrics.h"
#include "runtime/data/Error.h"
#include "gtest/gtest.h"
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <vector>

using namespace sinter;
using namespace sinter::train;

template <typename T> static sinter_tensor tensorOf(int32_t dtype, std::vector<T> &data, std::vector<int64_t> dims) {
  sinter_tensor tensor = {};
  tensor.data = data.data();
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

namespace {
struct Case {
  std::string name;
  int64_t rows = 0, columns = 0;
  std::vector<double> scores, targets;
  std::map<std::string, double> values;
};
} // namespace

static std::vector<Case> readCases() {
  std::ifstream file(TEST_INPUTS "/metrics.txt");
  std::vector<Case> cases;
  auto numbers = [&] {
    std::string line;
    std::getline(file, line);
    std::istringstream text(line);
    std::vector<double> values;
    for (double value; text >> value;)
      values.push_back(value);
    return values;
  };
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string word;
    text >> word;
    if (word == "case") {
      Case made;
      text >> made.name >> made.rows >> made.columns;
      made.scores = numbers();
      made.targets = numbers();
      cases.push_back(made);
    } else {
      text >> cases.back().values[word];
    }
  }
  return cases;
}

TEST(Metrics, are_those_of_scikit_learn_whatever_the_batches) {
  std::vector<Case> cases = readCases();
  ASSERT_EQ(cases.size(), 8u);
  for (Case &of : cases)
    for (int64_t batch : {of.rows, int64_t(5), int64_t(1)})
      for (const auto &[name, wanted] : of.values) {
        std::unique_ptr<Metric> metric = makeMetric(name);
        for (int64_t first = 0; first < of.rows; first += batch) {
          int64_t rows = std::min(batch, of.rows - first);
          std::vector<double> scores(of.scores.begin() + first * of.columns,
                                     of.scores.begin() + (first + rows) * of.columns);
          int64_t width = static_cast<int64_t>(of.targets.size()) / of.rows;
          std::vector<double> numbers(of.targets.begin() + first * width, of.targets.begin() + (first + rows) * width);
          std::vector<int64_t> labels(numbers.begin(), numbers.end());
          sinter_tensor targets =
              width == 1 ? tensorOf(SINTER_I64, labels, {rows}) : tensorOf(SINTER_F64, numbers, {rows, width});
          metric->add(tensorOf(SINTER_F64, scores, {rows, of.columns}), targets);
        }
        EXPECT_NEAR(metric->value(), wanted, 1e-12 * std::max(1.0, std::abs(wanted))) << of.name << " " << name;
      }
}

TEST(Metrics, take_classes_along_either_axis_and_skip_negative_labels) {
  std::vector<float> behind = {1, 9, 2, 3, 8, 1}; // [1, 2, 3]: classes last
  std::vector<float> second = {1, 3, 9, 8, 2, 1}; // [1, 3, 2]: the same, classes second
  std::vector<int32_t> labels = {1, -100};
  for (auto [data, dims] : {std::pair(&behind, std::vector<int64_t>{1, 2, 3}), {&second, {1, 3, 2}}}) {
    std::unique_ptr<Metric> metric = makeMetric("accuracy"), entropy = makeMetric("cross_entropy");
    metric->add(tensorOf(SINTER_F32, *data, dims), tensorOf(SINTER_I32, labels, {1, 2}));
    EXPECT_EQ(metric->value(), 1);
    entropy->add(tensorOf(SINTER_F32, *data, dims), tensorOf(SINTER_I32, labels, {1, 2}));
    EXPECT_NEAR(entropy->value(), std::log(std::exp(1 - 9.) + 1 + std::exp(2 - 9.)), 1e-12);
  }
}

TEST(Metrics, take_distributions_halves_and_flattened_rows) {
  std::vector<uint16_t> half = {0x3c00, 0xc000, 0x0001, 0x3555}; // 1, -2, 2^-24, .333
  std::vector<float> shares = {0.9f, 0.1f, 0.2f, 0.8f};
  std::unique_ptr<Metric> metric = makeMetric("accuracy");
  metric->add(tensorOf(SINTER_F16, half, {2, 2}), tensorOf(SINTER_F32, shares, {2, 2}));
  EXPECT_EQ(metric->value(), 1);
  std::vector<uint16_t> brain = {0x3f80, 0xc000, 0xbf80, 0x4000}; // 1, -2, -1, 2
  std::vector<int64_t> labels = {0, 1};
  metric->add(tensorOf(SINTER_BF16, brain, {2, 2}), tensorOf(SINTER_I64, labels, {1, 2}));
  EXPECT_EQ(metric->value(), 1);
}

TEST(Metrics, know_no_rank_of_nan_and_nothing_of_nothing) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> scores = {nan, 1, 2, nan};
  std::vector<int64_t> labels = {0, 0};
  std::unique_ptr<Metric> metric = makeMetric("accuracy");
  EXPECT_TRUE(std::isnan(metric->value()));
  metric->add(tensorOf(SINTER_F64, scores, {2, 2}), tensorOf(SINTER_I64, labels, {2}));
  EXPECT_EQ(metric->value(), 0);
  metric->clear();
  EXPECT_TRUE(std::isnan(metric->value()));
  std::unique_ptr<Metric> area = makeMetric("auc");
  std::vector<double> plain = {0, 1, 2, 3};
  area->add(tensorOf(SINTER_F64, plain, {2, 2}), tensorOf(SINTER_I64, labels, {2}));
  EXPECT_TRUE(std::isnan(area->value())); // one class alone
}

static std::string messageOf(const std::string &name, sinter_tensor output, sinter_tensor target) {
  try {
    makeMetric(name)->add(output, target);
  } catch (const data::Error &error) {
    return error.what();
  }
  return "none";
}

TEST(Metrics, say_what_does_not_fit) {
  std::vector<float> scores(6);
  std::vector<int64_t> labels = {0, 3, 1};
  std::vector<double> parts = {0.5, 0, 1};
  std::vector<uint64_t> wide(3);
  sinter_tensor three = tensorOf(SINTER_F32, scores, {2, 3});
  EXPECT_EQ(messageOf("accuracy", three, tensorOf(SINTER_I64, labels, {3})),
            "a metric of classes requires a label for each row of scores, got scores of 2x3 and labels of 3");
  EXPECT_EQ(messageOf("accuracy", three, tensorOf(SINTER_I64, labels, {2})),
            "a metric of classes requires labels below 3, got 3");
  EXPECT_EQ(messageOf("f1", tensorOf(SINTER_F32, scores, {3, 2}), tensorOf(SINTER_F64, parts, {3})),
            "a metric of classes requires labels below 2, got 0.5");
  EXPECT_EQ(messageOf("mse", three, tensorOf(SINTER_I64, labels, {3})),
            "mse and mae require outputs and targets of as many elements, got 2x3 and 3");
  EXPECT_EQ(messageOf("auc", three, tensorOf(SINTER_U64, wide, {2})),
            "a metric requires labels of a float, a signed integer, ui8 or i1, got ui64");
  for (const char *name : {"top", "top0", "topx", "acc", ""})
    EXPECT_THROW(makeMetric(name), data::Error) << name;
}
