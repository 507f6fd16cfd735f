// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/StridedView.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

std::optional<StridedView> sinter::cpu::viewOf(KernelSpec &spec, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Dims sizes = spec.sizes->dims(value);
    return StridedView{argument.getArgNumber(), sizes, stridesOf(spec, argument.getArgNumber(), sizes)};
  }
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    std::optional<StridedView> source = viewOf(spec, transpose.getOperand());
    if (!source)
      return std::nullopt;
    StridedView view{source->input, {}, {}};
    for (int64_t axis : transpose.getPermutation()) {
      view.sizes.push_back(source->sizes[axis]);
      view.strides.push_back(source->strides[axis]);
    }
    return view;
  }
  if (auto slice = value.getDefiningOp<SliceOp>()) {
    std::optional<StridedView> source = viewOf(spec, slice.getOperand());
    if (!source || llvm::any_of(slice.getStarts(), [](int64_t start) { return start != 0; }) ||
        llvm::any_of(slice.getSteps(), [](int64_t step) { return step != 1; }))
      return std::nullopt;
    source->sizes = spec.sizes->dims(value);
    return source;
  }
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    std::optional<StridedView> source = viewOf(spec, broadcast.getOperand());
    if (!source)
      return std::nullopt;
    Dims sizes = spec.sizes->dims(value);
    StridedView view{source->input, sizes, Dims(sizes.size(), spec.dims.constant(0))};
    for (auto [k, axis] : llvm::enumerate(broadcast.getAxes())) {
      DimExpr from = spec.dims.resolve(source->sizes[k]), to = spec.dims.resolve(sizes[axis]);
      if (from == to)
        view.strides[axis] = source->strides[k];
      else if (!from.isConstant() || from.constant() != 1)
        return std::nullopt; // a size that may turn out 1
    }
    return view;
  }
  return std::nullopt;
}

std::optional<MergedAxes> sinter::cpu::mergeAxes(KernelSpec &spec, const StridedView &view, ArrayRef<int64_t> axes) {
  DimContext &dims = spec.dims;
  MergedAxes merged{dims.constant(1), dims.constant(1)};
  bool first = true;
  for (int64_t axis : llvm::reverse(axes)) {
    DimExpr size = dims.resolve(view.sizes[axis]), stride = dims.resolve(view.strides[axis]);
    if (size.isConstant() && size.constant() == 1)
      continue;
    if (first)
      merged = {size, stride};
    else if (dims.resolve(dims.mul(merged.size, merged.stride)) == stride)
      merged.size = dims.mul(merged.size, size);
    else
      return std::nullopt;
    first = false;
  }
  return merged;
}
