// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of axes as values. Outside of a trace, and where a trace knows it, a size is a number and converts to one in
// silence. The size of a named axis is a number only when the program runs: such a Size can be computed with, be part
// of shapes, slices and loops, and stand for a tensor; where C++ demands a number it is an error that names the axis.

#ifndef SINTER_TRACE_SIZE_HPP
#define SINTER_TRACE_SIZE_HPP

#include "tensor.hpp"
#include <concepts>

namespace sinter::inline SINTER_HOST {

/// The size of an axis, or what was computed from sizes.
class Size {
public:
  Size() = default;
  template <std::integral T>
  explicit Size(T number, Where where = Where::current()) : number(int64_t(number)), at(where) {}
  /// What a rank-0 tensor of integers holds.
  explicit Size(const Tensor &tensor, Where where = Where::current()) : source(tensor), at(where) {}
  /// That of an axis of a traced tensor.
  static Size ofAxis(const Tensor &tensor, int axis, Where where) {
    Size size(tensor, where);
    size.axis = axis;
    return size;
  }
  template <std::integral T> Size &operator=(T value) { return *this = Size(value, at); }

  bool isKnown() const { return !source.defined(); }
  /// The number, 0 when it is not known.
  int64_t known() const { return number; }
  /// As a rank-0 i64 tensor.
  Tensor tensor(Where where) const;
  /// What the graph calls it: equal negative numbers other than kUnknownDim are equal sizes; else 0.
  int64_t symbol() const { return axis >= 0 && !source.error() ? source.known_dim(axis) : 0; }
  /// Where it was asked for.
  Where where() const { return at; }

  /// Where C++ demands a number.
  operator int64_t() const {
    if (!isKnown())
      demand();
    return number;
  }

  // Of two sizes, or of a size and a C++ integer.
  template <std::integral T> Size &operator+=(T other);
  template <std::integral T> Size &operator-=(T other);
  template <std::integral T> Size &operator*=(T other);
  template <std::integral T> Size &operator/=(T other);
  template <std::integral T> Size &operator%=(T other);
  Size &operator+=(const Size &other);
  Size &operator-=(const Size &other);
  Size &operator*=(const Size &other);
  Size &operator/=(const Size &other);
  Size &operator%=(const Size &other);

private:
  void demand() const;

  int64_t number = 0;
  Tensor source; // defined: the size of its axis, or its element
  int axis = -1;
  Where at;
};

/// A parameter: a C++ integer, a size, or a rank-0 tensor of integers.
struct SizeArgument : Size {
  template <std::integral T>
    requires(!std::is_same_v<T, bool>)
  SizeArgument(T number) : Size(number) {}
  SizeArgument(const Size &size) : Size(size) {}
  SizeArgument(const Tensor &tensor) : Size(tensor) {}
};

/// What `shape` gives: the sizes of a tensor's axes, each a Size. Where all are known it converts to a Shape, which
/// holds numbers.
class TensorShape {
public:
  TensorShape(Tensor tensor, Where where) : tensor(std::move(tensor)), at(where) {}

  class Iterator {
  public:
    using value_type = Size;
    using difference_type = std::ptrdiff_t;
    using reference = Size;
    using pointer = void;
    using iterator_category = std::input_iterator_tag;
    Iterator(const TensorShape *shape, int axis) : shape(shape), axis(axis) {}
    Size operator*() const { return (*shape)[axis]; }
    Iterator &operator++() {
      ++axis;
      return *this;
    }
    Iterator operator++(int) { return Iterator(shape, axis++); }
    friend bool operator==(const Iterator &a, const Iterator &b) { return a.axis == b.axis; }

  private:
    const TensorShape *shape;
    int axis;
  };

  int size() const { return tensor.rank(); }
  bool empty() const { return size() == 0; }
  Size operator[](int axis) const { return tensor.dim(axis, at); }
  Size back() const { return tensor.dim(-1, at); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }
  /// Number of elements.
  Size elements() const { return tensor.size(at); }
  bool isStatic() const { return tensor.known_shape().isStatic(); }
  /// "[2, ?, 3]".
  std::string str() const { return tensor.known_shape().str(); }

  /// Where C++ demands numbers.
  operator Shape() const {
    Shape known = tensor.known_shape();
    if (!known.isStatic())
      detail::hostError(Error("a Shape requires sizes that are known, got " + known.str() +
                                  "; take them by dim or shape()[axis], or describe the tensor by known_shape",
                              at));
    return known;
  }
  friend bool operator==(const TensorShape &a, const TensorShape &b) {
    return a.tensor.known_shape() == b.tensor.known_shape();
  }
  friend bool operator==(const TensorShape &a, const Shape &b) { return a.tensor.known_shape() == b; }

private:
  Tensor tensor;
  Where at;
};

/// Sizes of all axes of a tensor.
struct Sizes {
  Sizes() = default;
  Sizes(std::initializer_list<SizeArgument> sizes) : list(sizes.begin(), sizes.end()) {}
  Sizes(std::vector<Size> sizes) : list(std::move(sizes)) {}
  Sizes(const TensorShape &sizes) : list(sizes.begin(), sizes.end()) {}
  Sizes(const std::vector<int64_t> &sizes) {
    for (int64_t size : sizes)
      list.push_back(Size(size));
  }
  Sizes(const Shape &shape) {
    for (int64_t size : shape)
      list.push_back(Size(size));
    list.resize(size_t(shape.wanted()), Size(1)); // too many, as who takes them says
  }
  std::vector<Size> list;
};

/// The outcome of comparing sizes: a bool where it is known, else as `if (tensor)` a branch of the host, or a rank-0
/// tensor of booleans.
class SizeComparison {
public:
  SizeComparison(const char *kind, Size lhs, Size rhs) : lhs(std::move(lhs)), rhs(std::move(rhs)), kind(kind) {}
  operator bool() const;
  Tensor tensor(Where where) const;
  Where where() const { return lhs.isKnown() ? rhs.where() : lhs.where(); }

  friend SizeComparison operator!(const SizeComparison &x) {
    static constexpr const char *opposites[][2] = {{"eq", "ne"}, {"ne", "eq"}, {"lt", "ge"},
                                                   {"ge", "lt"}, {"le", "gt"}, {"gt", "le"}};
    for (auto [kind, opposite] : opposites)
      if (std::string_view(x.kind) == kind)
        return {opposite, x.lhs, x.rhs};
    return x; // there is no other
  }
  friend SizeComparison operator&&(const SizeComparison &x, const SizeComparison &y) { return join(x, y, true); }
  friend SizeComparison operator||(const SizeComparison &x, const SizeComparison &y) { return join(x, y, false); }

private:
  /// 1, 0, or -1 when only running the program tells.
  int decide() const;
  static SizeComparison join(const SizeComparison &x, const SizeComparison &y, bool both);
  Size lhs, rhs;
  const char *kind; // "eq" ...
};

namespace detail {

template <class A, class B>
concept SizePair =
    (std::is_same_v<A, Size> || std::is_same_v<B, Size> || std::is_base_of_v<Size, A> || std::is_base_of_v<Size, B>) &&
    (std::is_base_of_v<Size, A> || std::integral<A>) && (std::is_base_of_v<Size, B> || std::integral<B>);

enum class SizeOp { add, sub, mul, div, rem, min, max };
/// Computed on the host where both are known.
Size combine(SizeOp op, const Size &x, const Size &y);

inline Size sizeOf(const Size &size) { return size; }
template <std::integral T> Size sizeOf(T number) { return Size(number); }

} // namespace detail

template <class A, class B>
  requires detail::SizePair<A, B>
Size operator+(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::add, detail::sizeOf(x), detail::sizeOf(y));
}
template <class A, class B>
  requires detail::SizePair<A, B>
Size operator-(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::sub, detail::sizeOf(x), detail::sizeOf(y));
}
template <class A, class B>
  requires detail::SizePair<A, B>
Size operator*(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::mul, detail::sizeOf(x), detail::sizeOf(y));
}
/// Truncates, as numbers do.
template <class A, class B>
  requires detail::SizePair<A, B>
Size operator/(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::div, detail::sizeOf(x), detail::sizeOf(y));
}
template <class A, class B>
  requires detail::SizePair<A, B>
Size operator%(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::rem, detail::sizeOf(x), detail::sizeOf(y));
}
template <class A, class B>
  requires detail::SizePair<A, B>
Size min(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::min, detail::sizeOf(x), detail::sizeOf(y));
}
template <class A, class B>
  requires detail::SizePair<A, B>
Size max(const A &x, const B &y) {
  return detail::combine(detail::SizeOp::max, detail::sizeOf(x), detail::sizeOf(y));
}
inline Size operator-(const Size &x) { return 0 - x; }

template <class A, class B>
  requires detail::SizePair<A, B>
SizeComparison operator==(const A &x, const B &y) {
  return {"eq", detail::sizeOf(x), detail::sizeOf(y)};
}
template <class A, class B>
  requires detail::SizePair<A, B>
SizeComparison operator!=(const A &x, const B &y) {
  return {"ne", detail::sizeOf(x), detail::sizeOf(y)};
}
template <class A, class B>
  requires detail::SizePair<A, B>
SizeComparison operator<(const A &x, const B &y) {
  return {"lt", detail::sizeOf(x), detail::sizeOf(y)};
}
template <class A, class B>
  requires detail::SizePair<A, B>
SizeComparison operator<=(const A &x, const B &y) {
  return {"le", detail::sizeOf(x), detail::sizeOf(y)};
}
template <class A, class B>
  requires detail::SizePair<A, B>
SizeComparison operator>(const A &x, const B &y) {
  return {"gt", detail::sizeOf(x), detail::sizeOf(y)};
}
template <class A, class B>
  requires detail::SizePair<A, B>
SizeComparison operator>=(const A &x, const B &y) {
  return {"ge", detail::sizeOf(x), detail::sizeOf(y)};
}

/// Sizes change in place, as numbers do.
template <std::integral T> Size &Size::operator+=(T other) { return *this = *this + other; }
template <std::integral T> Size &Size::operator-=(T other) { return *this = *this - other; }
template <std::integral T> Size &Size::operator*=(T other) { return *this = *this * other; }
template <std::integral T> Size &Size::operator/=(T other) { return *this = *this / other; }
template <std::integral T> Size &Size::operator%=(T other) { return *this = *this % other; }
inline Size &Size::operator+=(const Size &other) { return *this = *this + other; }
inline Size &Size::operator-=(const Size &other) { return *this = *this - other; }
inline Size &Size::operator*=(const Size &other) { return *this = *this * other; }
inline Size &Size::operator/=(const Size &other) { return *this = *this / other; }
inline Size &Size::operator%=(const Size &other) { return *this = *this % other; }

inline Size Tensor::dim(int axis, Where where) const {
  if (error())
    return Size(*this, where);
  int count = rank(), at = axis < 0 ? axis + count : axis;
  if (at < 0 || at >= count) {
    detail::hostError(Error("dim requires an axis of " + (head ? type().str() : std::string("a tensor")) + ", got " +
                                std::to_string(axis),
                            where));
    return Size(0, where);
  }
  int64_t known = head->tensor.dims[at];
  return known >= 0 ? Size(known, where) : Size::ofAxis(*this, at, where);
}
inline TensorShape Tensor::shape(Where where) const { return {*this, where}; }
inline Size Tensor::size(Where where) const {
  if (int64_t known = known_size(); known >= 0 && !error())
    return Size(known, where);
  Size product = error() ? Size(*this, where) : Size(1, where);
  for (int axis = 0; axis < rank(); ++axis)
    product *= dim(axis, where);
  return product;
}

} // namespace sinter::inline SINTER_HOST

#endif
