// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of a tensor's axes, kept in place.

#ifndef SINTER_TRACE_SHAPE_HPP
#define SINTER_TRACE_SHAPE_HPP

#include "dtype.hpp"
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace sinter::inline SINTER_HOST {

/// A size that nothing is known about. Other negative dims are named: equal ones are equal sizes.
inline constexpr int64_t kUnknownDim = SINTER_DIM_UNKNOWN;

/// At most SINTER_MAX_RANK sizes. More are counted and not kept; what takes a shape refuses such ones.
class Shape {
public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  Shape(std::span<const int64_t> dims) {
    for (int64_t dim : dims)
      push_back(dim);
  }
  Shape(const std::vector<int64_t> &dims) : Shape(std::span(dims)) {}

  int size() const { return count; }
  bool empty() const { return count == 0; }
  /// How many sizes were given, more than `size()` when there were too many.
  int wanted() const { return count + dropped; }
  int64_t operator[](int axis) const { return dims[axis]; }
  int64_t &operator[](int axis) { return dims[axis]; }
  int64_t back() const { return dims[count - 1]; }
  const int64_t *data() const { return dims; }
  const int64_t *begin() const { return dims; }
  const int64_t *end() const { return dims + count; }
  int64_t *begin() { return dims; }
  int64_t *end() { return dims + count; }

  void push_back(int64_t dim) {
    if (count < SINTER_MAX_RANK)
      dims[count++] = dim;
    else
      ++dropped;
  }
  void insert(int axis, int64_t dim) {
    push_back(0);
    if (axis >= count)
      return;
    for (int k = count - 1; k > axis; --k)
      dims[k] = dims[k - 1];
    dims[axis] = dim;
  }
  void erase(int axis) {
    if (axis >= count)
      return;
    --count;
    for (int k = axis; k < count; ++k)
      dims[k] = dims[k + 1];
  }

  /// True when no size is named or unknown.
  bool isStatic() const {
    for (int64_t dim : *this)
      if (dim < 0)
        return false;
    return true;
  }
  /// Number of elements, -1 when it is not known.
  int64_t elements() const {
    int64_t product = 1;
    for (int64_t dim : *this)
      if (dim < 0)
        return -1;
      else
        product *= dim;
    return product;
  }
  /// "[2, ?, 3]".
  std::string str() const;
  friend bool operator==(const Shape &a, const Shape &b) {
    if (a.wanted() != b.wanted())
      return false;
    for (int k = 0; k < a.count; ++k)
      if (a.dims[k] != b.dims[k])
        return false;
    return true;
  }

private:
  int count = 0, dropped = 0;
  int64_t dims[SINTER_MAX_RANK];
};

/// Element type and sizes.
struct TensorType {
  DType dtype;
  Shape shape;
  /// "f32[2, 3]".
  std::string str() const;
  friend bool operator==(const TensorType &a, const TensorType &b) = default;
};

} // namespace sinter::inline SINTER_HOST

#endif
