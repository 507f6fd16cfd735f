// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Axes.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace sinter {

LogicalResult checkAxis(std::optional<Location> loc, StringRef op, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitOptionalError(loc, op, " requires axes in [0, ", rank, "), got ", axis);
}

LogicalResult checkAxes(std::optional<Location> loc, StringRef op, ArrayRef<int64_t> axes, int64_t rank) {
  for (auto [k, axis] : llvm::enumerate(axes)) {
    if (failed(checkAxis(loc, op, axis, rank)))
      return failure();
    if (llvm::is_contained(axes.take_front(k), axis))
      return emitOptionalError(loc, op, " requires distinct axes, got ", axis, " twice");
  }
  return success();
}

// Files may state any numbers; what does not fit is a size that no tensor has.
using Wide = __int128;

int64_t WindowAxis::resultSize(int64_t size) const {
  if (ShapedType::isDynamic(size))
    return size;
  Wide spread = size == 0 ? Wide(0) : Wide(size - 1) * inputDilation + 1;
  Wide room = spread + low + high - (Wide(window - 1) * dilation + 1);
  return room < 0 ? 0
                  : static_cast<int64_t>(std::min<Wide>(room / stride, std::numeric_limits<int64_t>::max() - 1) + 1);
}

DimExpr WindowAxis::resultSize(DimContext &context, DimExpr size) const {
  if (size.isConstant())
    return context.constant(resultSize(size.constant()));
  // (size - 1) * inputDilation + 1 is at most 0 for an empty axis, which the last line makes 0 again.
  constexpr Wide least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  Wide margin = Wide(1) - inputDilation + low + high - (Wide(window - 1) * dilation + 1);
  DimExpr room = context.add(context.mul(size, context.constant(inputDilation)),
                             context.constant(static_cast<int64_t>(std::clamp(margin, least, most))));
  DimExpr count = context.add(context.floorDiv(room, context.constant(stride)), context.constant(1));
  return context.max(count, context.constant(0));
}

Dims dimsOfResult(DimContext &context, Value result) {
  Dims dims;
  for (auto [axis, size] : llvm::enumerate(cast<RankedTensorType>(result.getType()).getShape()))
    dims.push_back(ShapedType::isDynamic(size)
                       ? context.symbol({SymbolSource::Kind::Size, result, static_cast<int64_t>(axis)})
                       : context.constant(size));
  return dims;
}

} // namespace sinter
