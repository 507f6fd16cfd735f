// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ScatterParts.h"
#include "backends/cpu/emit/Emitter.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Parts at most, and of slices, each of which reads all positions again.
constexpr int64_t kMostParts = 16, kMostOfSlices = 8;
/// Bytes of a slice's part in one piece: so many that its place in memory costs more than its position.
constexpr int64_t kPieceBytes = 512;

/// The largest divisor of `size` that is no more than `most`.
static int64_t divisor(int64_t size, int64_t most) {
  int64_t count = std::clamp<int64_t>(most, 1, std::max<int64_t>(size, 1));
  while (size % count != 0)
    --count;
  return count;
}

ScatterParts ScatterParts::of(const ScatterForm &form, bool sharesSums) {
  SingleKernel &k = form.k;
  DimContext &dims = k.dims();
  auto known = [&](DimExpr expr) { return constantOr(dims, expr, 0); };
  int64_t updated = known(dims.mul(dims.product(form.indices), dims.product(form.slice)));
  int64_t most = std::min(kMostParts, updated / k.fn.spec.costs().scatteredElements);
  if (k.fn.spec.options.optLevel == 0 || most < 2)
    return {};
  if (ScatterElementsOp elements = form.elements) {
    int64_t rows = known(form.sizes.front());
    bool areRows = elements.getAxis() != 0 && rows > 0 && known(form.indices.front()) == rows;
    int64_t count = areRows ? divisor(rows, most) : 1;
    return count > 1 ? ScatterParts{count, rows / count, 0} : ScatterParts{};
  }
  ScatterParts best;
  int64_t piece = byteWidth(form.type), first = static_cast<int64_t>(form.chosen.size());
  for (auto axis = static_cast<int64_t>(form.slice.size()) - 1; axis >= 0 && !sharesSums; --axis) {
    int64_t size = known(form.slice[axis]);
    if (size <= 0)
      return {};
    piece *= size;
    int64_t count = divisor(size, std::min({most, kMostOfSlices, piece / kPieceBytes}));
    if (count > 1 && count >= best.count)
      best = {count, size / count, first + axis};
  }
  return best;
}

Dims ScatterParts::sizesOf(DimContext &dims, ArrayRef<DimExpr> sizes, int64_t first) const {
  Dims part(sizes.begin(), sizes.end());
  if (axis >= first && axis < first + static_cast<int64_t>(sizes.size()))
    part[axis - first] = dims.constant(size);
  return part;
}
