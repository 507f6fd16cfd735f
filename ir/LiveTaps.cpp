// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/LiveTaps.h"

using namespace mlir;
using namespace sinter;

SmallVector<TapRange> sinter::liveTaps(ConvolutionOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType()),
       filter = cast<RankedTensorType>(op.getFilter().getType()), result = op.getType();
  int64_t first = op.getLayout() == ConvLayout::channels_first ? 2 : 1;
  SmallVector<TapRange> ranges;
  for (int64_t k = 0; k < input.getRank() - 2; ++k) {
    int64_t axis = first + k, size = input.getDimSize(axis), taps = filter.getDimSize(axis),
            places = result.getDimSize(axis);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(taps) || ShapedType::isDynamic(places) || taps == 0) {
      ranges.push_back({0, taps});
      continue;
    }
    int64_t spread = op.getInputDilation()[k], stride = op.getStrides()[k];
    auto isLive = [&](int64_t tap) {
      int64_t from = tap * op.getDilation()[k] - op.getLow()[k];
      for (int64_t place = 0; place < places; ++place)
        if (int64_t at = from + place * stride; at >= 0 && at % spread == 0 && at / spread < size)
          return true;
      return false;
    };
    TapRange range{0, taps};
    while (range.begin < taps - 1 && !isLive(range.begin))
      ++range.begin;
    while (range.end > range.begin + 1 && !isLive(range.end - 1))
      --range.end;
    ranges.push_back(range);
  }
  return ranges;
}
