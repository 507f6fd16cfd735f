// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/reference/Moves.h"
#include "ir/Shapes.h"

#include <cstring>

using namespace mlir;

namespace sinter {

/// Calls `row(to, from)` for each run along the last axis of `shape`.
static void forEachRow(const StridedView &toView, const StridedView &fromView, ArrayRef<int64_t> shape,
                       function_ref<void(int64_t, int64_t)> row) {
  forEachIndex(shape.drop_back(), [&](ArrayRef<int64_t> index) {
    row(toView.start + linearIndex(index, ArrayRef(toView.strides).drop_back()),
        fromView.start + linearIndex(index, ArrayRef(fromView.strides).drop_back()));
  });
}

template <typename T>
static void copyRows(char *to, const StridedView &toView, const char *from, const StridedView &fromView,
                     ArrayRef<int64_t> shape) {
  int64_t toStep = toView.strides.back(), fromStep = fromView.strides.back(), count = shape.back();
  forEachRow(toView, fromView, shape, [&](int64_t toStart, int64_t fromStart) {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + (toStart + i * toStep) * static_cast<int64_t>(sizeof(T)),
                  from + (fromStart + i * fromStep) * static_cast<int64_t>(sizeof(T)), sizeof(T));
  });
}

void copyStrided(HostTensor &to, const StridedView &toView, const HostTensor &from, const StridedView &fromView,
                 ArrayRef<int64_t> shape) {
  if (countElements(shape) == 0)
    return;
  StridedView a = toView, b = fromView;
  SmallVector<int64_t> sizes(shape);
  if (sizes.empty()) {
    sizes.push_back(1);
    a.strides.push_back(1);
    b.strides.push_back(1);
  }
  char *target = to.data();
  const char *source = from.data();
  switch (byteWidth(to.elementType())) {
  case 1:
    return copyRows<uint8_t>(target, a, source, b, sizes);
  case 2:
    return copyRows<uint16_t>(target, a, source, b, sizes);
  case 4:
    return copyRows<uint32_t>(target, a, source, b, sizes);
  default:
    return copyRows<uint64_t>(target, a, source, b, sizes);
  }
}

HostTensor takeStrided(const HostTensor &from, const StridedView &view, ArrayRef<int64_t> shape) {
  HostTensor result(from.elementType(), shape);
  copyStrided(result, {0, result.strides()}, from, view, shape);
  return result;
}

HostTensor takeElements(const HostTensor &from, ArrayRef<int64_t> shape,
                        function_ref<int64_t(ArrayRef<int64_t>)> position) {
  HostTensor result(from.elementType(), shape);
  if (result.numElements() == 0)
    return result;
  int64_t width = byteWidth(from.elementType());
  char *target = result.data();
  const char *source = from.data();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    if (int64_t at = position(index); at >= 0)
      std::memcpy(target, source + at * width, width);
    target += width;
  });
  return result;
}

void fill(HostTensor &tensor, const HostTensor &scalar) {
  copyStrided(tensor, {0, tensor.strides()}, scalar, {0, SmallVector<int64_t>(tensor.rank(), 0)}, tensor.shape());
}

} // namespace sinter
