// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Calibration.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>
#include <numeric>

using namespace llvm;

namespace sinter::onnx {

/// Parts that a range is counted in, and the steps that entropy compares them with.
static constexpr size_t kBins = 2048, kSteps = 128;

std::optional<CalibrationMethod> CalibrationMethod::parse(StringRef text) {
  CalibrationMethod method;
  if (text == "minmax")
    return method;
  if (text == "entropy") {
    method.kind = Kind::entropy;
    return method;
  }
  method.kind = Kind::percentile;
  if (!text.consume_front("percentile:") || text.getAsDouble(method.percent) || !(method.percent > 50) ||
      !(method.percent <= 100))
    return std::nullopt;
  return method;
}

bool Observed::addEnds(ArrayRef<double> numbers) {
  for (double number : numbers) {
    if (!std::isfinite(number))
      return false;
    range.low = std::min(range.low, number);
    range.high = std::max(range.high, number);
  }
  return true;
}

void Observed::addCounts(ArrayRef<double> numbers, const CalibrationMethod &method) {
  if (method.kind == CalibrationMethod::Kind::minmax || range.low == range.high)
    return;
  counts.resize(kBins);
  bool isMagnitude = method.kind == CalibrationMethod::Kind::entropy;
  double low = isMagnitude ? 0 : range.low, high = isMagnitude ? std::max(-range.low, range.high) : range.high;
  double perBin = (high - low) / kBins;
  for (double number : numbers) {
    double place = ((isMagnitude ? std::abs(number) : number) - low) / perBin;
    counts[std::min(static_cast<size_t>(place), kBins - 1)] += 1;
  }
}

Range Observed::percentile(double percent) const {
  double cut = (1 - percent / 100) / 2 * std::accumulate(counts.begin(), counts.end(), 0.0);
  auto binsBelow = [&](auto bins) {
    double sum = 0, passed = 0;
    for (double count : bins) {
      if (sum + count > cut)
        break;
      sum += count;
      ++passed;
    }
    return passed;
  };
  double perBin = (range.high - range.low) / kBins;
  return {range.low + perBin * binsBelow(make_range(counts.begin(), counts.end())),
          range.high - perBin * binsBelow(llvm::reverse(counts))};
}

/// The divergence of the first `kept` bins, with all that lies beyond in the last one, from the same in `kSteps` steps.
static double divergence(ArrayRef<double> counts, size_t kept) {
  std::vector<double> exact(counts.begin(), counts.begin() + kept), rounded(kept, 0.0);
  double beyond = std::accumulate(counts.begin() + kept, counts.end(), 0.0);
  for (size_t step = 0; step < kSteps; ++step) {
    size_t begin = step * kept / kSteps, end = (step + 1) * kept / kSteps;
    double sum = std::accumulate(exact.begin() + begin, exact.begin() + end, 0.0);
    auto filled = std::count_if(exact.begin() + begin, exact.begin() + end, [](double count) { return count > 0; });
    for (size_t i = begin; i < end; ++i)
      rounded[i] = exact[i] > 0 ? sum / static_cast<double>(filled) : 0;
  }
  exact.back() += beyond;
  double exactSum = std::accumulate(exact.begin(), exact.end(), 0.0),
         roundedSum = std::accumulate(rounded.begin(), rounded.end(), 0.0), total = 0;
  if (roundedSum == 0)
    return std::numeric_limits<double>::infinity();
  for (auto [p, q] : zip(exact, rounded)) {
    if (p == 0)
      continue;
    if (q == 0) // what lies beyond falls into an empty bin
      return std::numeric_limits<double>::infinity();
    total += p / exactSum * std::log(p / exactSum * roundedSum / q);
  }
  return total;
}

Range Observed::entropy() const {
  size_t best = kBins;
  double least = std::numeric_limits<double>::infinity();
  for (size_t kept = kSteps; kept <= kBins; kept += kSteps / 16)
    if (double loss = divergence(counts, kept); loss < least) {
      least = loss;
      best = kept;
    }
  double most = std::max(-range.low, range.high) * static_cast<double>(best) / kBins;
  return {std::max(range.low, -most), std::min(range.high, most)};
}

Range Observed::choose(const CalibrationMethod &method) const {
  if (method.kind == CalibrationMethod::Kind::minmax || range.low == range.high)
    return range;
  return method.kind == CalibrationMethod::Kind::entropy ? entropy() : percentile(method.percent);
}

ByteScale byteScale(Range range) {
  double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  ByteScale result;
  result.scale = static_cast<float>((high - low) / 255);
  if (!std::isnormal(result.scale)) // zeros alone, or numbers that no scale tells from them
    return ByteScale();
  result.zero = static_cast<int>(std::nearbyint(-low / static_cast<double>(result.scale)));
  result.zero = std::clamp(result.zero, 0, 255);
  return result;
}

} // namespace sinter::onnx
