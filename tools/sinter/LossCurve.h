// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The losses of a training run, as a table or a picture.

#ifndef SINTER_TOOLS_SINTER_LOSSCURVE_H
#define SINTER_TOOLS_SINTER_LOSSCURVE_H

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sinter::tool {

class LossCurve {
public:
  void add(int64_t step, double loss) {
    points.emplace_back(step, std::isnan(loss) ? std::abs(loss) : loss); // nan, not -nan
  }
  /// Begins with the steps up to `step` of a table that was written before; nothing when the curve has begun, or `path`
  /// is no table.
  void readUpTo(const std::string &path, int64_t step);
  /// By the suffix: `step,loss` a line (.csv), or a picture (.svg). Throws Stop.
  void write(const std::string &path) const;
  /// Throws Stop unless the suffix is one of them.
  static void requireFormat(const std::string &path);

private:
  std::string csv() const;
  std::string svg() const;
  std::vector<std::pair<int64_t, double>> points;
};

} // namespace sinter::tool

#endif
