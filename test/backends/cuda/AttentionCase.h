// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention and its backward part in one kernel each, against the sums that define them and the evaluator.

#ifndef SINTER_TEST_BACKENDS_CUDA_ATTENTIONCASE_H
#define SINTER_TEST_BACKENDS_CUDA_ATTENTIONCASE_H

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <limits>
#include <random>

namespace sinter::cuda::attention {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  const char *type;
  int64_t heads, few, rows, keys, depth, width; // few: heads of keys
  std::optional<int64_t> before = {}, after = {};
  const char *bias = ""; // which of h, m, n it has; 1 for those that it repeats; empty: none
  const char *forward = "", *backward = "";
  bool isAlone = false, isOpen = false; // no backward part; only running tells how many keys there are
  bool hasOpenRows = false;             // ... and rows
  int64_t openBatches = 0;              // an axis before that of heads, which are so many times those of a batch
};

/// A kernel of one op with `operands` (names and types) and results.
inline std::string kernelOf(const std::string &op, const std::vector<std::pair<std::string, std::string>> &operands,
                            const std::vector<std::string> &results, const std::string &attributes,
                            const std::string &schedule) {
  std::string given, types, inner, arguments, yields, resultTypes;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    std::string comma = i ? ", " : "", name = "%i" + std::to_string(i);
    given += comma + operand.first;
    types += comma + operand.second;
    inner += comma + name;
    arguments += comma + name + ": " + operand.second;
  }
  for (auto [i, type] : llvm::enumerate(results)) {
    yields += (i ? ", %o#" : "%o#") + std::to_string(i);
    resultTypes += (i ? ", " : "") + type;
  }
  std::string count = std::to_string(results.size()), signature = " : (" + types + ") -> (" + resultTypes + ")";
  return "sinter.kernel attention(" + given + ")" +
         (schedule.empty() ? "" : " {schedule = #sinter.schedule<" + schedule + ">}") + signature + " {\n  ^bb0(" +
         arguments + "):\n    %o:" + count + " = sinter." + op + " " + inner + " {" + attributes + "}" + signature +
         "\n    sinter.yield(" + yields + ") : " + resultTypes + "\n  }\n";
}

/// Both parts, with everything that they compute as results.
inline std::string textOf(const Case &c) {
  std::string type = c.type, sumType = type == "f64" ? "f64" : "f32";
  int64_t keys = c.isOpen ? -1 : c.keys, rows = c.hasOpenRows ? -1 : c.rows;
  auto ofHeads = [&](int64_t heads, std::vector<int64_t> rest, const std::string &of) {
    std::vector<int64_t> shape = {heads};
    if (c.openBatches)
      shape = {heads == 1 ? 1 : -1, heads == 1 ? 1 : heads / c.openBatches};
    shape.insert(shape.end(), rest.begin(), rest.end());
    return tensorText(shape, of);
  };
  std::string q = ofHeads(c.heads, {rows, c.depth}, type), k = ofHeads(c.few, {keys, c.depth}, type),
              v = ofHeads(c.few, {keys, c.width}, type), y = ofHeads(c.heads, {rows, c.width}, type),
              s = ofHeads(c.heads, {rows}, sumType);
  std::string attributes = "scale = 0.25 : f64";
  if (c.before)
    attributes += ", before = " + std::to_string(*c.before) + " : i64";
  if (c.after)
    attributes += ", after = " + std::to_string(*c.after) + " : i64";
  std::vector<std::pair<std::string, std::string>> forward = {{"%q", q}, {"%k", k}, {"%v", v}}, backward = forward;
  backward.insert(backward.end(), {{"%g", y}, {"%y#1", s}, {"%r", s}});
  std::string arguments = "%q: " + q + ", %k: " + k + ", %v: " + v + ", %g: " + y + ", %r: " + s;
  if (*c.bias) {
    std::string bias =
        ofHeads(c.bias[0] == 'h' ? c.heads : 1, {c.bias[1] == 'm' ? rows : 1, c.bias[2] == 'n' ? keys : 1}, type);
    arguments += ", %b: " + bias;
    forward.push_back({"%b", bias});
    backward.push_back({"%b", bias});
  }
  if (c.isAlone)
    return "func.func @f(" + arguments + ") -> (" + y + ", " + s +
           ") {\n  %y:2 = " + kernelOf("attention", forward, {y, s}, attributes + ", log_sums = true", c.forward) +
           "  return %y#0, %y#1 : " + y + ", " + s + "\n}\n";
  std::string results = y + ", " + s + ", " + q + ", " + k + ", " + v;
  return "func.func @f(" + arguments + ") -> (" + results +
         ") {\n  %y:2 = " + kernelOf("attention", forward, {y, s}, attributes + ", log_sums = true", c.forward) +
         "  %t:3 = " + kernelOf("attention_gradient", backward, {q, k, v}, attributes, c.backward) +
         "  return %y#0, %y#1, %t#0, %t#1, %t#2 : " + results + "\n}\n";
}

inline std::vector<HostTensor> inputsOf(test::Program &program, const Case &c) {
  std::mt19937 random(static_cast<unsigned>(c.rows * 31 + c.keys * 7 + c.depth));
  std::vector<HostTensor> inputs;
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    llvm::SmallVector<int64_t> shape(tensor.getShape());
    auto settle = [&](int64_t axis, int64_t size) {
      if (mlir::ShapedType::isDynamic(shape[size_t(axis)]))
        shape[size_t(axis)] = size;
    };
    auto rank = static_cast<int64_t>(shape.size());
    bool isBias = i == 5, ofKeys = i == 1 || i == 2, ofRow = i == 4; // one number of each row
    settle(0, c.openBatches ? c.openBatches : shape[0]);
    settle(rank - (ofRow ? 1 : 2), ofKeys ? c.keys : c.rows);
    if (isBias)
      settle(rank - 1, c.keys);
    inputs.emplace_back(tensor.getElementType(), shape);
    std::vector<double> values(static_cast<size_t>(inputs.back().numElements()));
    for (auto [at, value] : llvm::enumerate(values)) {
      value = static_cast<double>(static_cast<int>(random() % 65) - 32) / 32;
      if (i == 5 && c.bias[1] == 'm' && c.bias[2] == 'n' && static_cast<int64_t>(at) % c.keys > c.keys / 2)
        value = -kInfinity; // what a mask hides
    }
    inputs.back().assignFloats(values);
  }
  return inputs;
}

/// The sums that define the results of both parts, in f64: y, sums of logarithms, dq, dk, dv.
inline std::vector<std::vector<double>> definition(const Case &c, llvm::ArrayRef<HostTensor> inputs) {
  const double scale = 0.25;
  std::vector<double> q = inputs[0].toFloats(), k = inputs[1].toFloats(), v = inputs[2].toFloats(),
                      dy = inputs[3].toFloats(), rowSums = inputs[4].toFloats(), bias;
  if (*c.bias)
    bias = inputs[5].toFloats();
  auto sized = [](int64_t a, int64_t b, int64_t of) { return std::vector<double>(static_cast<size_t>(a * b * of)); };
  std::vector<double> y = sized(c.heads, c.rows, c.width), logs = sized(c.heads, c.rows, 1),
                      dq = sized(c.heads, c.rows, c.depth), dk = sized(c.few, c.keys, c.depth),
                      dv = sized(c.few, c.keys, c.width);
  auto dot = [](const double *x, const double *with, int64_t size) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i)
      sum += x[i] * with[i];
    return sum;
  };
  auto add = [](double *to, double factor, const double *x, int64_t size) {
    for (int64_t i = 0; i < size; ++i)
      to[i] += factor * x[i];
  };
  for (int64_t h = 0; h < c.heads; ++h)
    for (int64_t m = 0; m < c.rows; ++m) {
      const int64_t row = h * c.rows + m, keyHead = h / (c.heads / c.few);
      const int64_t first = c.before ? std::max<int64_t>(0, m - *c.before) : 0;
      const int64_t end = c.after ? std::min(c.keys, m + *c.after + 1) : c.keys;
      std::vector<double> scores;
      double greatest = -kInfinity, sum = 0;
      for (int64_t n = first; n < end; ++n) {
        double score = scale * dot(&q[size_t(row * c.depth)], &k[size_t((keyHead * c.keys + n) * c.depth)], c.depth);
        if (*c.bias) {
          int64_t at = c.bias[0] == 'h' ? h : 0;
          at = c.bias[1] == 'm' ? at * c.rows + m : at;
          at = c.bias[2] == 'n' ? at * c.keys + n : at;
          score += bias[size_t(at)];
        }
        scores.push_back(score);
        greatest = std::max(greatest, score);
      }
      for (double score : scores)
        sum += std::exp(score - greatest);
      logs[size_t(row)] = scores.empty() ? -kInfinity : greatest + std::log(sum);
      if (scores.empty() && c.keys)
        std::fill_n(&y[size_t(row * c.width)], c.width, std::numeric_limits<double>::quiet_NaN());
      for (auto [nth, score] : llvm::enumerate(scores)) {
        const auto key = static_cast<size_t>(keyHead * c.keys + first) + nth;
        const auto depth = static_cast<size_t>(c.depth), width = static_cast<size_t>(c.width), at = size_t(row);
        const double share = std::exp(score - logs[at]);
        const double slope = scale * share * (dot(&dy[at * width], &v[key * width], c.width) - rowSums[at]);
        add(&y[at * width], share, &v[key * width], c.width);
        add(&dv[key * width], share, &dy[at * width], c.width);
        add(&dk[key * depth], slope, &q[at * depth], c.depth);
        add(&dq[at * depth], slope, &k[key * depth], c.depth);
      }
    }
  return {y, logs, dq, dk, dv};
}

/// Errors are measured by the greatest magnitude of a result: shares are rounded to the type, and added up.
inline void expectRight(const Case &c) {
  std::string text = textOf(c);
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  bool isHalf = c.type[0] == 'b' || std::string(c.type) == "f16";
  size_t first = cuda::lastCode().find("_attention block ");
  ASSERT_NE(first, std::string::npos) << cuda::lastCode().substr(0, 300);
  ASSERT_EQ(cuda::lastCode().find("_attention block ", first + 1) == std::string::npos, c.isAlone);
  EXPECT_EQ(cuda::lastCode().find("mma.sync") != std::string::npos, isHalf && (c.keys > 0 || c.isOpen));
  std::vector<HostTensor> inputs = inputsOf(program, c);
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs), again = program.run(inputs);
  ASSERT_TRUE(llvm::succeeded(expected) && actual && again) << program.error << cuda::report();
  double unit = isHalf ? (c.type[0] == 'b' ? 0x1p-8 : 0x1p-11) : c.type[1] == '3' ? 0x1p-19 : 0x1p-45;
  std::vector<std::vector<double>> defined = definition(c, inputs);
  for (auto [i, got, want, second] : llvm::enumerate(*actual, *expected, *again)) {
    EXPECT_EQ(std::memcmp(got.data(), second.data(), got.numBytes()), 0) << i; // the same bits each time
    double greatest = 1e-3;
    for (int64_t at = 0; at < want.numElements(); ++at)
      if (std::isfinite(want.getFloat(at)))
        greatest = std::max(greatest, std::abs(want.getFloat(at)));
    double bound = (i == 1 && isHalf ? 1e-5 : 3 * unit) * greatest; // sums of logarithms are f32
    for (int64_t at = 0; at < want.numElements(); ++at)
      for (double wanted : {want.getFloat(at), defined[i][size_t(at)]})
        if (std::isfinite(wanted))
          ASSERT_NEAR(got.getFloat(at), wanted, bound) << "element " << at << " of result " << i;
        else
          ASSERT_EQ(std::isnan(got.getFloat(at)), std::isnan(wanted)) << "element " << at << " of result " << i;
  }
}

} // namespace sinter::cuda::attention

#endif
