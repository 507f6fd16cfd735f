// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the numbers that a tensor had to the range that its bytes cover.

#ifndef SINTER_COMPILER_ONNX_CALIBRATION_H
#define SINTER_COMPILER_ONNX_CALIBRATION_H

#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <vector>

namespace sinter::onnx {

struct Range {
  double low = 0, high = 0;
};

/// How a range is chosen: the least and greatest number; without a share of numbers at both ends; or where rounding to
/// 128 steps keeps most of what the histogram says (Migacz, "8-bit inference with TensorRT", 2017).
struct CalibrationMethod {
  enum class Kind { minmax, percentile, entropy } kind = Kind::minmax;
  double percent = 100; // of all numbers, that a percentile keeps

  /// `minmax`, `percentile:99.99` or `entropy`; nothing for another text.
  static std::optional<CalibrationMethod> parse(llvm::StringRef text);
};

/// The numbers of one tensor over all data, looked at twice: first their ends, then where they lie between.
class Observed {
public:
  /// False when a number is infinite or NaN.
  bool addEnds(llvm::ArrayRef<double> numbers);
  /// After all ends are known. Under entropy magnitudes are counted.
  void addCounts(llvm::ArrayRef<double> numbers, const CalibrationMethod &method);
  Range ends() const { return range; }
  Range choose(const CalibrationMethod &method) const;

private:
  Range percentile(double percent) const;
  Range entropy() const;

  Range range;
  std::vector<double> counts;
};

/// Scale and zero point of u8 that cover `range` and 0, which has a code of its own.
struct ByteScale {
  float scale = 1;
  int zero = 0;
};
ByteScale byteScale(Range range);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_CALIBRATION_H
