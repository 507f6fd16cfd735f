// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures in another size: a triangle filter, as wide as a pixel of the smaller of the two sizes, along rows and then
// along columns. Weights are rounded to 22 bits and each pass to whole numbers, as in Pillow's Image.resize with
// BILINEAR, so that pixels are the same on every machine.

#include "Media.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace sinter::data;

static constexpr int kWeightBits = 22;

namespace {
/// What one pixel of the result reads along an axis: `weights` from pixel `first` on.
struct Taps {
  int64_t first = 0;
  std::vector<int64_t> weights{};
};
} // namespace

static std::vector<Taps> tapsOf(int64_t from, int64_t to) {
  double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
  std::vector<Taps> taps(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    double center = (static_cast<double>(i) + 0.5) * scale, sum = 0;
    int64_t first = std::max<int64_t>(static_cast<int64_t>(center - reach + 0.5), 0);
    int64_t last = std::min(static_cast<int64_t>(center + reach + 0.5), from);
    std::vector<double> weights;
    for (int64_t x = first; x < last; ++x) {
      weights.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(x) - center + 0.5) / reach)));
      sum += weights.back();
    }
    Taps &at = taps[static_cast<size_t>(i)];
    at.first = first;
    for (double weight : weights)
      at.weights.push_back(static_cast<int64_t>(weight / sum * (1 << kWeightBits) + 0.5));
  }
  return taps;
}

/// `in` is [outer, from, inner]; one pass along the middle.
template <typename T> static std::vector<T> along(const T *in, int64_t outer, int64_t from, int64_t inner, int64_t to) {
  std::vector<T> out(static_cast<size_t>(outer * to * inner));
  std::vector<Taps> taps = tapsOf(from, to);
  std::vector<int64_t> sums(static_cast<size_t>(inner));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < to; ++i) {
      const Taps &at = taps[static_cast<size_t>(i)];
      std::ranges::fill(sums, int64_t(1) << (kWeightBits - 1));
      const T *line = in + (o * from + at.first) * inner;
      for (int64_t weight : at.weights)
        for (int64_t &sum : sums)
          sum += weight * *line++;
      T *result = out.data() + (o * to + i) * inner;
      for (int64_t sum : sums)
        *result++ = static_cast<T>(std::min<int64_t>(sum >> kWeightBits, std::numeric_limits<T>::max()));
    }
  return out;
}

template <typename T> static Value resized(const Value &picture, int64_t height, int64_t width) {
  int64_t rows = picture.dims()[0], columns = picture.dims()[1], channels = picture.dims()[2];
  std::vector<T> wide = along(picture.as<T>().data(), rows, columns, channels, width);
  std::vector<T> all = along(wide.data(), 1, rows, width * channels, height);
  return Value::of(std::span<const T>(all), {height, width, channels});
}

Value sinter::data::resizePicture(const Value &picture, int64_t height, int64_t width, int64_t maxPixels) {
  bool isPicture = picture.dims().rank() == 3 && picture.count() > 0 && !picture.isRagged();
  if (!isPicture || (picture.dtype() != SINTER_U8 && picture.dtype() != SINTER_U16))
    throw Error(SINTER_INVALID_ARGUMENT,
                "a picture to be resized requires ui8 or ui16 [height, width, channels], got " +
                    std::string(dtypeName(picture.dtype())) + " " + picture.dims().text());
  requirePixels("resized", height, width, maxPixels);
  return picture.dtype() == SINTER_U8 ? resized<uint8_t>(picture, height, width)
                                      : resized<uint16_t>(picture, height, width);
}
