// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensor handle: copying one copies a pointer. Outside of a trace it has elements; inside, it stands for a value of
// the graph, which has a type but no elements yet.

#ifndef SINTER_TRACE_TENSOR_HPP
#define SINTER_TRACE_TENSOR_HPP

#include "value.hpp"

namespace sinter::inline SINTER_HOST {

class Tensor;
class Size; // size.hpp
class SizeComparison;
class TensorShape;
struct Subscript; // and Update: ops_index.hpp
class Update;

namespace detail {
/// Records `message` and throws; without exceptions returns an error tensor.
Tensor fail(Where where, std::string message);
/// The outcome of a branch of the host on `condition`; see Frames.cpp.
bool hostBranch(const Tensor &condition);
/// Says why the host cannot read `tensor`, which has no elements.
void cannotRead(const Tensor &tensor, const char *what, Where where);
} // namespace detail

/// A tensor of up to 16 axes. Elements are row-major and shared between copies. Those on a device (`to`, device.hpp)
/// are copied to the host by whoever reads them there.
class Tensor {
public:
  /// No tensor at all; only good for assigning to.
  Tensor() = default;
  /// A C++ number: a weak literal, which takes the element type of the tensor that it meets in an operation.
  template <Number T> Tensor(T value) : head(number(dtype_of<T>, &value)) {}
  /// A size, or a comparison of sizes, as a weak literal.
  Tensor(const Size &size);
  Tensor(const SizeComparison &comparison);
  /// One axis, or `shape`, whose number of elements must be that of `values`.
  template <Element T> Tensor(std::initializer_list<T> values) : Tensor(values, Shape{int64_t(values.size())}) {}
  template <Element T>
  Tensor(std::initializer_list<T> values, const Shape &shape, Where where = Where::current())
      : Tensor(std::span<const T>(values.begin(), values.size()), shape, where) {}
  /// Two axes.
  template <Element T> Tensor(std::initializer_list<std::initializer_list<T>> rows, Where where = Where::current()) {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> values;
    Shape shape{int64_t(rows.size()), rows.size() ? int64_t(rows.begin()->size()) : 0};
    for (auto row : rows) {
      if (int64_t(row.size()) != shape[1]) {
        failRows(shape[1], row.size(), where);
        return;
      }
      values.insert(values.end(), row.begin(), row.end());
    }
    fill(dtype_of<T>, values.data(), values.size(), shape, where);
  }
  template <Element T> Tensor(const std::vector<T> &values, const Shape &shape, Where where = Where::current()) {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<char> bytes(values.begin(), values.end());
      fill(DType::boolean, bytes.data(), bytes.size(), shape, where);
    } else {
      fill(dtype_of<T>, values.data(), values.size(), shape, where);
    }
  }
  template <Element T> explicit Tensor(const std::vector<T> &values) : Tensor(values, Shape{int64_t(values.size())}) {}
  template <class T>
    requires Element<T>
  Tensor(std::span<T> values, const Shape &shape, Where where = Where::current()) {
    fill(dtype_of<T>, values.data(), values.size(), shape, where);
  }

  /// Takes over one reference.
  static Tensor adopt(detail::Value *value) {
    Tensor tensor;
    tensor.head = value;
    return tensor;
  }
  /// The tensor whose elements are stored as `bytes`, of any element type: two of 4 bits lie in a byte, the first in
  /// the low half.
  static Tensor from_bytes(std::span<const std::byte> bytes, DType dtype, const Shape &shape,
                           Where where = Where::current());
  /// A tensor with room for its elements, which are not initialized; `shape` must be static.
  static Tensor empty(DType dtype, const Shape &shape, Where where = Where::current());

  Tensor(const Tensor &other) : head(other.head) {
    if (head)
      head->retain();
  }
  Tensor(Tensor &&other) noexcept : head(std::exchange(other.head, nullptr)) {}
  Tensor &operator=(Tensor other) & noexcept { // x[0] = y would change nothing: x = x.at(0).set(y)
    std::swap(head, other.head);
    return *this;
  }
  ~Tensor() {
    if (head)
      head->release();
  }

  /// False for `Tensor()`.
  bool defined() const { return head; }
  bool traced() const { return head && head->kind == detail::Value::Kind::traced; }
  /// A C++ literal that has met no tensor yet; in the body of a loop also a carry that began as one.
  bool weak() const { return head && head->weak; }
  /// The error that this tensor carries in a program without exceptions, else null.
  const Error *error() const { return head ? head->error : nullptr; }

  DType dtype() const { return head ? DType(head->tensor.dtype) : DType::f32; }
  int rank() const { return head ? head->tensor.rank : 0; }
  /// Sizes of the axes, each as `dim` gives it.
  TensorShape shape(Where where = Where::current()) const;
  /// The same as numbers: negative ones are named or unknown (equal ones other than kUnknownDim are equal sizes).
  Shape known_shape() const {
    return head ? Shape(std::span<const int64_t>(head->tensor.dims, size_t(rank()))) : Shape();
  }
  /// The size of an axis, a number or what the graph knows of it; negative axes count from the end.
  Size dim(int axis, Where where = Where::current()) const;
  /// The same as a number: negative when it is named or unknown (equal ones other than kUnknownDim are equal sizes).
  int64_t known_dim(int axis) const;
  TensorType type() const { return {dtype(), known_shape()}; }
  /// Number of elements.
  Size size(Where where = Where::current()) const;
  /// The same as a number, -1 when only running the graph tells.
  int64_t known_size() const {
    int64_t product = 1;
    for (int axis = 0; axis < rank(); ++axis)
      if (head->tensor.dims[axis] < 0)
        return -1;
      else
        product *= head->tensor.dims[axis];
    return product;
  }
  /// Where a traced tensor was made.
  Where where() const { return head ? head->where : Where(); }

  /// The only element, converted to T. Reading a tensor of a trace is an error.
  template <Element T> T item(Where where = Where::current()) const {
    T value{};
    readItem(dtype_of<T>, &value, where);
    return value;
  }
  /// The elements, row-major, which live as long as some copy of this tensor. T must be the element type.
  template <Element T> std::span<const T> span(Where where = Where::current()) const & {
    if (!readable("span", where) || !holds(dtype_of<T>, where))
      return {};
    return {static_cast<const T *>(head->tensor.data), size_t(known_size())};
  }
  template <Element T>
  std::span<const T> span(Where where = Where::current()) const && = delete; // the elements may die with this tensor
  /// The elements as stored, of any element type, which live as long as some copy of this tensor.
  std::span<const std::byte> bytes(Where where = Where::current()) const &;
  std::span<const std::byte> bytes(Where where = Where::current()) const && = delete;
  /// The elements converted to T, row-major.
  template <Element T> std::vector<T> to_vector(Where where = Where::current()) const {
    size_t count = readable("to_vector", where) ? size_t(known_size()) : 0;
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<char> bytes(count);
      readAll(DType::boolean, bytes.data(), count);
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      std::vector<T> values(count);
      readAll(dtype_of<T>, values.data(), count);
      return values;
    }
  }

  //===--- gradients of programs that run (tape.hpp) ---===//

  /// Asks for the gradient of this tensor (and its copies): ops on it are recorded, `backward` adds to `grad()`. With
  /// `on` false, no more. Floats only, with elements; a computed tensor has a gradient already, and cannot be without.
  Tensor requires_grad(bool on = true, Where where = Where::current()) const;
  /// Whether ops on this tensor are recorded: it has requires_grad, or was computed from a tensor that has.
  bool needs_grad() const { return head && head->node; }
  /// The sum of the gradients so far, of this tensor's type; Tensor() when there was none.
  Tensor grad() const;
  /// Forgets it.
  void zero_grad() const;
  /// Makes `backward` keep the gradient of a computed tensor, which `grad()` then gives.
  Tensor retain_grad(Where where = Where::current()) const;
  /// The same elements, without what they were computed from.
  Tensor detach() const;
  /// Replaces the elements of this tensor and all its copies by those of `values`, of the same type (a literal takes
  /// it). It is then computed from what `values` was. A tensor with requires_grad may be changed within NoGrad only,
  /// which leaves it what it is; a gradient that needs the elements before is an error when it is asked for.
  const Tensor &assign(const Tensor &values, Where where = Where::current()) const;
  /// How often the elements were changed.
  int64_t version() const { return head ? int64_t(head->shared ? head->shared->version : head->version) : 0; }

  /// Outside of a trace, the value of a tensor of one element. Inside, a branch of the host: the traced function runs
  /// once per outcome, and the outcomes become a `cond`.
  explicit operator bool() const;

  /// x[i]: by a position, a tensor of positions, a slice.
  Tensor operator[](const Subscript &subscript) const;
  /// x(1, slice(0, 3), ellipsis): by one subscript per axis.
  template <class... Rest> Tensor operator()(const Subscript &first, const Rest &...rest) const;
  /// x.at(subscripts...).set(values): a copy with some elements replaced or combined.
  template <class... Rest> Update at(const Subscript &first, const Rest &...rest) const;

  //===--- where the elements are (device.hpp) ---===//

  /// A copy on a device ("cuda:1", "cuda", "cpu"), or this tensor where it is there already. Its gradient is copied
  /// back. An error where there is no such device.
  Tensor to(const std::string &device, Where where = Where::current()) const;
  /// "cpu" or "cuda:0"; empty for a tensor without elements.
  std::string device() const;

  detail::Value *value() const { return head; }
  /// The elements, on the host, and their type; data is null for a tensor of a trace.
  const sinter_tensor &view() const {
    if (head->there)
      detail::bringToHost(head);
    return head->tensor;
  }

private:
  void failRows(int64_t first, size_t other, Where where);
  bool readable(const char *what, Where where) const;
  /// Whether elements may be seen as those of `dtype`.
  bool holds(DType dtype, Where where) const;
  void readItem(DType to, void *value, Where where) const;
  void readAll(DType to, void *values, size_t count) const;
  bool allocate(DType dtype, const Shape &shape, Where where);
  void fill(DType dtype, const void *values, size_t count, const Shape &shape, Where where);
  static detail::Value *number(DType dtype, const void *value);

  detail::Value *head = nullptr;
};

/// A tensor or number that remembers the line where it was given: the first parameter of operators and of functions
/// whose last parameter cannot be a defaulted source location.
struct Operand {
  Tensor tensor;
  Where where;
  Operand(const Tensor &tensor, Where where = Where::current()) : tensor(tensor), where(where) {}
  template <Number T> Operand(T value, Where where = Where::current()) : tensor(value), where(where) {}
  Operand(const Size &size, Where where = Where::current());
  Operand(const SizeComparison &comparison, Where where = Where::current());
};

namespace detail {
Tensor scalarOf(DType dtype, const void *value, Where where);
} // namespace detail

/// A rank-0 tensor of the element type of `value`, which is not weak.
template <Element T> Tensor scalar(T value, Where where = Where::current()) {
  return detail::scalarOf(dtype_of<T>, &value, where);
}

/// `tensor`, allowed to become a constant of a graph however large it is.
inline Tensor constant(const Tensor &tensor) {
  if (tensor.value())
    tensor.value()->large = true;
  return tensor;
}

} // namespace sinter::inline SINTER_HOST

#endif
