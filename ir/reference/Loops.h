// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reference loops share: elements as doubles or 64-bit integers, walks along an axis, permuted copies.

#ifndef SINTER_IR_REFERENCE_LOOPS_H
#define SINTER_IR_REFERENCE_LOOPS_H

#include "ir/reference/Evaluator.h"
#include "ir/reference/HostTensor.h"
#include "mlir/IR/Operation.h"
#include <cmath>
#include <limits>
#include <type_traits>

namespace sinter {

/// Elements as `double` or `int64_t`.
template <typename T> std::vector<T> elementsOf(const HostTensor &tensor) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.toFloats();
  else
    return tensor.toInts();
}

/// A tensor of those elements, each rounded (or wrapped) once.
template <typename T>
HostTensor tensorOf(mlir::Type elementType, llvm::ArrayRef<int64_t> shape, const std::vector<T> &values) {
  HostTensor tensor(elementType, shape);
  if constexpr (std::is_same_v<T, double>)
    tensor.assignFloats(values);
  else
    tensor.assignInts(values);
  return tensor;
}

/// A shape seen from one axis: element (o, i, n) lies at (o * size + i) * inner + n.
struct AxisView {
  int64_t outer = 1, size, inner = 1;
  AxisView(llvm::ArrayRef<int64_t> shape, int64_t axis) : size(shape[axis]) {
    for (int64_t k = 0; k < static_cast<int64_t>(shape.size()); ++k)
      (k < axis ? outer : inner) *= k == axis ? 1 : shape[k];
  }
  int64_t offset(int64_t o, int64_t i, int64_t n) const { return (o * size + i) * inner + n; }
};

/// Calls `visit(offset)` for each index of `shape` in row-major order, with offset = sum index[k] * strides[k].
template <typename Visit>
void forEachOffset(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides, Visit visit) {
  if (llvm::is_contained(shape, 0))
    return;
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0)
    return visit(int64_t(0));
  llvm::SmallVector<int64_t> index(rank, 0);
  int64_t offset = 0;
  while (true) {
    for (int64_t i = 0; i < shape[rank - 1]; ++i)
      visit(offset + i * strides[rank - 1]);
    int64_t axis = rank - 2;
    for (; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      offset -= index[axis] * strides[axis];
      index[axis] = 0;
    }
    if (axis < 0)
      return;
  }
}

/// Row-major strides of a shape.
inline llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t k = static_cast<int64_t>(shape.size()) - 2; k >= 0; --k)
    strides[k] = strides[k + 1] * shape[k + 1];
  return strides;
}

/// Row-major copy whose axis k is axis permutation[k] of `values`.
template <typename T>
std::vector<T> permuted(const std::vector<T> &values, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<int64_t> strides = rowMajorStrides(shape), sizes, steps;
  for (int64_t axis : permutation) {
    sizes.push_back(shape[axis]);
    steps.push_back(strides[axis]);
  }
  std::vector<T> result;
  result.reserve(values.size());
  forEachOffset(sizes, steps, [&](int64_t offset) { result.push_back(values[offset]); });
  return result;
}

/// a + b and a * b; integers wrap.
inline double wrappingAdd(double a, double b) { return a + b; }
inline double wrappingMul(double a, double b) { return a * b; }
inline int64_t wrappingAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrappingMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// The failure of an evaluation that needs more steps than are left.
inline llvm::LogicalResult outOfSteps(mlir::Operation *op) {
  return op->emitOpError("was not evaluated: it takes more steps than are left");
}

} // namespace sinter

#endif
