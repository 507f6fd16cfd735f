// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of formulas (compiler/train/Moves.h) as tensors: computed at once, or recorded.

#ifndef SINTER_TRACE_TENSORNUMBER_H
#define SINTER_TRACE_TENSORNUMBER_H

#include "ops.hpp"
#include <algorithm>

namespace sinter::inline SINTER_HOST::detail {

struct TensorNumber {
  Tensor tensor;
  TensorNumber(Tensor tensor) : tensor(std::move(tensor)) {}
};
using NumberArgument = const TensorNumber &;

inline TensorNumber operator+(NumberArgument a, NumberArgument b) { return add(a.tensor, b.tensor); }
inline TensorNumber operator-(NumberArgument a, NumberArgument b) { return subtract(a.tensor, b.tensor); }
inline TensorNumber operator*(NumberArgument a, NumberArgument b) { return multiply(a.tensor, b.tensor); }
inline TensorNumber operator/(NumberArgument a, NumberArgument b) { return divide(a.tensor, b.tensor); }
inline TensorNumber operator+(NumberArgument a, double k) { return add(a.tensor, k); }
inline TensorNumber operator-(NumberArgument a, double k) { return subtract(a.tensor, k); }
inline TensorNumber operator-(double k, NumberArgument a) { return subtract(k, a.tensor); }
inline TensorNumber operator*(double k, NumberArgument a) { return multiply(k, a.tensor); }
inline TensorNumber operator*(NumberArgument a, double k) { return multiply(k, a.tensor); }
inline TensorNumber operator/(double k, NumberArgument a) { return divide(k, a.tensor); }
inline TensorNumber operator/(NumberArgument a, double k) { return divide(a.tensor, k); }
inline TensorNumber squareRoot(NumberArgument a) { return sqrt(a.tensor); }
inline TensorNumber power(NumberArgument a, NumberArgument b) { return sinter::power(a.tensor, b.tensor); }
inline TensorNumber least(NumberArgument a, NumberArgument b) { return minimum(a.tensor, b.tensor); }
inline TensorNumber greatest(NumberArgument a, NumberArgument b) { return maximum(a.tensor, b.tensor); }
inline TensorNumber signOf(NumberArgument a) { return sign(a.tensor); }
inline TensorNumber cosine(NumberArgument a) { return cos(a.tensor); }
inline TensorNumber floorOf(NumberArgument a) { return floor(a.tensor); }
inline TensorNumber exponential(NumberArgument a) { return exp(a.tensor); }
inline TensorNumber logarithm(NumberArgument a) { return log(a.tensor); }
inline TensorNumber logarithm1p(NumberArgument a) { return log1p(a.tensor); }
inline TensorNumber magnitude(NumberArgument a) { return abs(a.tensor); }
inline TensorNumber isAbove(NumberArgument a, double k) {
  return greater(is_float(a.tensor.dtype()) ? a.tensor : astype(a.tensor, DType::f64), k);
}
inline TensorNumber isBelow(NumberArgument a, double k) {
  return less(is_float(a.tensor.dtype()) ? a.tensor : astype(a.tensor, DType::f64), k);
}
inline TensorNumber both(NumberArgument a, NumberArgument b) { return logical_and(a.tensor, b.tensor); }
inline TensorNumber either(NumberArgument a, NumberArgument b) { return logical_or(a.tensor, b.tensor); }
inline TensorNumber choose(NumberArgument mask, NumberArgument a, NumberArgument b) {
  return where(mask.tensor, a.tensor, b.tensor);
}
inline TensorNumber total(NumberArgument a) { return a.tensor.rank() ? sum(a.tensor) : a.tensor; }
inline TensorNumber totalAlong(NumberArgument a, int64_t axis) { return sum(a.tensor, axis); }
/// Axes of size 1 are repeated by what comes next.
inline TensorNumber along(NumberArgument a, NumberArgument like, const std::vector<int64_t> &axes) {
  std::vector<int64_t> missing;
  for (int64_t axis = 0; axis < like.tensor.rank(); ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      missing.push_back(axis);
  return expand_dims(a.tensor, missing);
}
inline TensorNumber inTypeOf(NumberArgument a, NumberArgument like) { return astype(a.tensor, like.tensor.dtype()); }
inline TensorNumber wide(NumberArgument a) { return astype(a.tensor, DType::f64); }
inline TensorNumber fill(NumberArgument like, double k) {
  return full_like(like.tensor, is_float(like.tensor.dtype()) ? Tensor(k) : Tensor(int64_t(k)));
}
inline TensorNumber oneMore(NumberArgument count) { return add(count.tensor, 1); }
inline int64_t rankOf(NumberArgument a) { return a.tensor.rank(); }
inline int64_t sizeOf(NumberArgument a, int64_t axis) { return a.tensor.known_dim(int(axis)); }
inline TensorNumber placesOf(NumberArgument a) { return subtract(cumsum(full_like(a.tensor, Tensor(int64_t(1)))), 1); }
inline TensorNumber product(NumberArgument a, NumberArgument b) { return matmul(a.tensor, b.tensor); }
inline TensorNumber transposed(NumberArgument a) { return matrix_transpose(a.tensor); }
inline int64_t bitsOf(NumberArgument a) { return 8 * dtype_bytes(a.tensor.dtype()); }
inline TensorNumber inBlocks(NumberArgument a, int64_t size) {
  Tensor flat = ravel(a.tensor);
  int64_t missing = -flat.known_dim(0) % size;
  return reshape(missing ? pad(flat, {{0, missing + size}}) : flat, {-1, size});
}
inline TensorNumber fromBlocks(NumberArgument a, NumberArgument like) {
  Shape shape = like.tensor.known_shape();
  Tensor flat = ravel(a.tensor);
  return reshape(flat.known_dim(0) == shape.elements() ? flat : flat[slice(0, shape.elements())], shape);
}
inline TensorNumber greatestAlong(NumberArgument a, int64_t axis) { return max(a.tensor, axis); }
inline TensorNumber upperHalf(NumberArgument a, NumberArgument up) {
  Tensor bits = bitcast(astype(a.tensor, DType::f32), DType::i32);
  Tensor cut = bitwise_and(add(bits, astype(multiply(0x1p16, up.tensor), DType::i32)), -0x10000);
  return astype(bitcast(cut, DType::f32), DType::bf16);
}
inline TensorNumber asByte(NumberArgument a) { return astype(a.tensor, DType::i8); }

} // namespace sinter::inline SINTER_HOST::detail

#endif
