// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of a training by step, as a table (`step,loss,accuracy`, a cell empty where nothing was measured) or as
// pictures, one below the other.

#ifndef SINTER_RUNTIME_TRAIN_CURVE_H
#define SINTER_RUNTIME_TRAIN_CURVE_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sinter::train {

class Curve {
public:
  /// Columns beside `step` and `loss`.
  explicit Curve(std::vector<std::string> metrics = {}) : metrics(std::move(metrics)) {}

  const std::vector<std::string> &columns() const { return metrics; }
  void add(int64_t step, double loss);
  /// What a validation after the last step gave, a number for each metric.
  void measure(std::span<const double> values);
  /// Begins with the steps up to `step` of a table that was written before; nothing when the curve has begun, or `path`
  /// is no table of these columns.
  void readUpTo(const std::string &path, int64_t step);
  /// By the suffix: .csv or .svg. Throws data::Error.
  void write(const std::string &path) const;
  /// Throws data::Error unless the suffix is one of them.
  static void requireFormat(const std::string &path);

private:
  struct Row {
    int64_t step;
    double loss;
    int64_t measured = -1; // index into `values`
  };
  std::string csv() const;
  std::string svg() const;

  std::vector<std::string> metrics;
  std::vector<Row> rows;
  std::vector<double> values; // of validations, one behind the other
};

} // namespace sinter::train

#endif
