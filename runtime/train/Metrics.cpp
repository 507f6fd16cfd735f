// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Metrics.h"
#include "../data/Error.h"
#include "../data/Value.h"
#include "../decimal.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

using namespace sinter;
using namespace sinter::train;

[[noreturn]] static void refuse(const std::string &message) { throw data::Error(SINTER_INVALID_ARGUMENT, message); }

static float ofBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static double ofHalf(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  double value = exponent == 31
                     ? (fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return half >> 15 ? -value : value;
}

/// The elements of a tensor without strides, as doubles.
static std::vector<double> numbers(const sinter_tensor &tensor, const char *what) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d)
    count *= tensor.dims[d];
  std::vector<double> values(static_cast<size_t>(count));
  auto read = [&](auto element, auto convert) {
    const char *bytes = static_cast<const char *>(tensor.data);
    for (double &value : values) {
      std::memcpy(&element, bytes, sizeof element);
      bytes += sizeof element;
      value = convert(element);
    }
  };
  auto plain = [](auto element) { return static_cast<double>(element); };
  switch (tensor.dtype) {
  case SINTER_F64:
    read(double(), plain);
    break;
  case SINTER_F32:
    read(float(), plain);
    break;
  case SINTER_F16:
    read(uint16_t(), ofHalf);
    break;
  case SINTER_BF16:
    read(uint16_t(), [](uint16_t bits) { return static_cast<double>(ofBits(uint32_t(bits) << 16)); });
    break;
  case SINTER_I1:
  case SINTER_U8:
    read(uint8_t(), plain);
    break;
  case SINTER_I8:
    read(int8_t(), plain);
    break;
  case SINTER_I16:
    read(int16_t(), plain);
    break;
  case SINTER_I32:
    read(int32_t(), plain);
    break;
  case SINTER_I64:
    read(int64_t(), plain);
    break;
  default:
    refuse(std::string("a metric requires ") + what + " of a float, a signed integer, ui8 or i1, got " +
           sinter_dtype_name(tensor.dtype));
  }
  return values;
}

static std::string shapeOf(const sinter_tensor &tensor) {
  return data::Dims(std::span(tensor.dims, static_cast<size_t>(tensor.rank))).text();
}

namespace {
/// Scores of each label that counts: `classes` of them, or one of two classes.
struct Labelled {
  int64_t classes = 1;
  std::vector<double> scores{}; // [labels, classes]
  std::vector<int64_t> labels{};

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  const double *of(int64_t i) const { return scores.data() + i * classes; }
  /// The class that the scores of label `i` say.
  int64_t predicted(int64_t i) const {
    const double *row = of(i);
    return classes == 1 ? row[0] > 0 : std::max_element(row, row + classes) - row;
  }
};
} // namespace

/// Brings both into rows of classes, whichever axis these are.
static Labelled labelled(const sinter_tensor &output, const sinter_tensor &target) {
  std::vector<double> scores = numbers(output, "scores"), labels = numbers(target, "labels");
  auto count = static_cast<int64_t>(scores.size()), rows = static_cast<int64_t>(labels.size());
  int64_t last = output.rank ? output.dims[output.rank - 1] : 1, second = output.rank > 1 ? output.dims[1] : 0;
  bool isDistribution = count == rows && target.rank == output.rank && output.rank > 1 && last > 1;
  Labelled result;
  int64_t inner = 1; // elements between two classes
  if (isDistribution) {
    result.classes = last;
    rows = count / last;
  } else if (count == rows) {
    result.classes = 1;
  } else if (last > 0 && count / last == rows && count % last == 0) {
    result.classes = last;
  } else if (second > 0 && count / second == rows && output.dims[0] == target.dims[0]) {
    result.classes = second;
    inner = count / output.dims[0] / second;
  } else {
    refuse("a metric of classes requires a label for each row of scores, got scores of " + shapeOf(output) +
           " and labels of " + shapeOf(target));
  }
  for (int64_t i = 0; i < rows; ++i) {
    int64_t label;
    if (isDistribution) {
      const double *row = labels.data() + i * last;
      label = std::max_element(row, row + last) - row;
    } else {
      double value = labels[static_cast<size_t>(i)];
      if (value < 0)
        continue;
      if (value != std::floor(value) || value >= static_cast<double>(std::max<int64_t>(result.classes, 2)))
        refuse("a metric of classes requires labels below " + std::to_string(std::max<int64_t>(result.classes, 2)) +
               ", got " + decimal(value));
      label = static_cast<int64_t>(value);
    }
    int64_t first = i / inner * inner * result.classes + i % inner;
    for (int64_t c = 0; c < result.classes; ++c)
      result.scores.push_back(scores[static_cast<size_t>(first + c * inner)]);
    result.labels.push_back(label);
  }
  return result;
}

/// log(1 + e^x)
static double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

static double logSumExp(const double *scores, int64_t count) {
  double most = *std::max_element(scores, scores + count), sum = 0;
  if (std::isinf(most))
    return most;
  for (int64_t c = 0; c < count; ++c)
    sum += std::exp(scores[c] - most);
  return most + std::log(sum);
}

namespace {
/// A sum over labels, or elements, and how many there were.
class Mean : public Metric {
public:
  double value() const override { return finish(sum / count); } // NaN of none
  void clear() override { sum = count = 0; }

protected:
  virtual double finish(double mean) const { return mean; }
  double sum = 0, count = 0;
};

class Top : public Mean {
public:
  explicit Top(int64_t most) : most(most) {}
  void add(const sinter_tensor &output, const sinter_tensor &target) override {
    Labelled batch = labelled(output, target);
    for (int64_t i = 0; i < batch.size(); ++i) {
      int64_t label = batch.labels[static_cast<size_t>(i)], before = 0;
      if (batch.classes == 1) {
        before = batch.predicted(i) != label;
      } else {
        const double *row = batch.of(i);
        for (int64_t c = 0; c < batch.classes; ++c) // a NaN is never among the highest
          before += c != label && !(row[c] < row[label] || (row[c] == row[label] && c > label));
      }
      sum += before < most;
    }
    count += static_cast<double>(batch.size());
  }

private:
  int64_t most;
};

class CrossEntropy : public Mean {
public:
  explicit CrossEntropy(bool isPerplexity) : isPerplexity(isPerplexity) { isHigherBetter = false; }
  void add(const sinter_tensor &output, const sinter_tensor &target) override {
    Labelled batch = labelled(output, target);
    for (int64_t i = 0; i < batch.size(); ++i) {
      int64_t label = batch.labels[static_cast<size_t>(i)];
      const double *row = batch.of(i);
      sum += batch.classes == 1 ? softplus(label ? -row[0] : row[0]) : logSumExp(row, batch.classes) - row[label];
    }
    count += static_cast<double>(batch.size());
  }

protected:
  double finish(double mean) const override { return isPerplexity ? std::exp(mean) : mean; }

private:
  bool isPerplexity;
};

class Difference : public Mean {
public:
  explicit Difference(bool isSquared) : isSquared(isSquared) { isHigherBetter = false; }
  void add(const sinter_tensor &output, const sinter_tensor &target) override {
    std::vector<double> a = numbers(output, "outputs"), b = numbers(target, "targets");
    if (a.size() != b.size())
      refuse("mse and mae require outputs and targets of as many elements, got " + shapeOf(output) + " and " +
             shapeOf(target));
    for (size_t i = 0; i < a.size(); ++i)
      sum += isSquared ? (a[i] - b[i]) * (a[i] - b[i]) : std::abs(a[i] - b[i]);
    count += static_cast<double>(a.size());
  }

private:
  bool isSquared;
};

class F1 : public Metric {
public:
  void add(const sinter_tensor &output, const sinter_tensor &target) override {
    Labelled batch = labelled(output, target);
    isBinary = batch.classes <= 2;
    counts.resize(static_cast<size_t>(std::max<int64_t>(batch.classes, 2)));
    for (int64_t i = 0; i < batch.size(); ++i) {
      auto label = static_cast<size_t>(batch.labels[static_cast<size_t>(i)]);
      auto predicted = static_cast<size_t>(batch.predicted(i));
      ++counts[label].labels;
      ++counts[predicted].predicted;
      counts[label].right += label == predicted;
    }
  }
  double value() const override {
    double sum = 0, classes = 0;
    for (size_t c = 0; c < counts.size(); ++c) {
      const Counts &of = counts[c];
      if (isBinary ? c != 1 : of.labels + of.predicted == 0)
        continue;
      sum += of.labels + of.predicted > 0 ? 2 * of.right / (of.labels + of.predicted) : 0;
      ++classes;
    }
    return sum / classes;
  }
  void clear() override { counts.clear(); }

private:
  struct Counts {
    double labels = 0, predicted = 0, right = 0;
  };
  std::vector<Counts> counts;
  bool isBinary = false;
};

class Auc : public Metric {
public:
  void add(const sinter_tensor &output, const sinter_tensor &target) override {
    Labelled batch = labelled(output, target);
    size_t columns = batch.classes > 2 ? static_cast<size_t>(batch.classes) : 1;
    scores.resize(columns);
    for (int64_t i = 0; i < batch.size(); ++i) {
      const double *row = batch.of(i);
      if (columns == 1) {
        scores[0].push_back(batch.classes == 1 ? row[0] : row[1] - row[0]);
      } else {
        double most = *std::max_element(row, row + columns), sum = 0;
        for (size_t c = 0; c < columns; ++c)
          sum += std::exp(row[c] - most);
        for (size_t c = 0; c < columns; ++c) // equal ones stay equal
          scores[c].push_back(std::exp(row[c] - most) / sum);
      }
      labels.push_back(batch.labels[static_cast<size_t>(i)]);
    }
  }
  double value() const override {
    double sum = 0;
    for (size_t c = 0; c < scores.size(); ++c)
      sum += area(scores[c], scores.size() == 1 ? 1 : static_cast<int64_t>(c));
    return sum / static_cast<double>(scores.size());
  }
  void clear() override {
    scores.clear();
    labels.clear();
  }

private:
  /// Mann and Whitney 1947: how often a label of `positive` has a higher score than another one.
  double area(const std::vector<double> &of, int64_t positive) const {
    std::vector<size_t> order(of.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return of[a] < of[b]; });
    double above = 0, positives = 0, negatives = 0;
    for (size_t begin = 0, end; begin < order.size(); begin = end) {
      double equalPositives = 0, equalNegatives = 0;
      for (end = begin; end < order.size() && !(of[order[begin]] < of[order[end]]); ++end)
        (labels[order[end]] == positive ? equalPositives : equalNegatives) += 1;
      above += equalPositives * (negatives + equalNegatives / 2);
      positives += equalPositives;
      negatives += equalNegatives;
    }
    return above / (positives * negatives);
  }

  std::vector<std::vector<double>> scores; // by class, or one
  std::vector<int64_t> labels;
};
} // namespace

static std::unique_ptr<Metric> madeOf(const std::string &name) {
  if (name == "accuracy")
    return std::make_unique<Top>(1);
  if (name.starts_with("top") && name.size() > 3 && name.size() < 9 && name[3] != '0' &&
      name.find_first_not_of("0123456789", 3) == std::string::npos)
    return std::make_unique<Top>(std::stoll(name.substr(3)));
  if (name == "f1")
    return std::make_unique<F1>();
  if (name == "auc")
    return std::make_unique<Auc>();
  if (name == "cross_entropy" || name == "perplexity")
    return std::make_unique<CrossEntropy>(name == "perplexity");
  if (name == "mse" || name == "mae")
    return std::make_unique<Difference>(name == "mse");
  refuse("there is no metric '" + name + "'; there are accuracy, topN, f1, auc, cross_entropy, perplexity, mse, mae");
}

std::unique_ptr<Metric> sinter::train::makeMetric(const std::string &text) {
  size_t colon = text.find(':'), comma = text.find(',', colon == std::string::npos ? 0 : colon);
  std::unique_ptr<Metric> metric = madeOf(text.substr(0, colon));
  metric->name = text.substr(0, colon);
  if (colon == std::string::npos)
    return metric;
  if (comma == std::string::npos || comma == colon + 1 || comma + 1 == text.size())
    refuse("a metric requires NAME or NAME:OUTPUT,TARGET, got '" + text + "'");
  metric->output = text.substr(colon + 1, comma - colon - 1);
  metric->target = text.substr(comma + 1);
  return metric;
}
