// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tensor.hpp"
#include "There.h"
#include <algorithm>

namespace sinter::inline SINTER_HOST {

std::string Shape::str() const {
  std::string text = "[";
  for (int k = 0; k < count; ++k)
    text += (k ? ", " : "") + (dims[k] < 0 ? std::string("?") : std::to_string(dims[k]));
  return text + "]";
}
std::string TensorType::str() const { return dtype_name(dtype) + shape.str(); }

//===- making ---------------------------------------------------------------------------------------===//

/// A value of rank 0. Its few bytes are always there.
static detail::Value *rankZero(DType dtype, const void *value, bool isWeak) {
  size_t bytes = size_t(dtype_bytes(dtype));
  detail::Value *made = detail::Value::create(bytes);
  if (!made)
    return nullptr;
  made->tensor.dtype = int32_t(dtype);
  made->weak = isWeak;
  std::memcpy(made->tensor.data, value, bytes);
  return made;
}
detail::Value *Tensor::number(DType dtype, const void *value) { return rankZero(dtype, value, true); }

Tensor detail::scalarOf(DType dtype, const void *value, Where where) {
  Value *made = rankZero(dtype, value, false);
  if (made)
    made->where = where;
  return Tensor::adopt(made);
}

void Tensor::failRows(int64_t first, size_t other, Where where) {
  *this = detail::fail(where, "a tensor of two axes requires rows of one length, got " + std::to_string(first) +
                                  " and " + std::to_string(other));
}

/// What is wrong with sizes for a tensor; empty if nothing is.
static std::string wrongWith(const Shape &shape) {
  if (shape.wanted() > SINTER_MAX_RANK)
    return "at most " + std::to_string(SINTER_MAX_RANK) + " axes, got " + std::to_string(shape.wanted());
  for (int64_t dim : shape)
    if (dim < 0)
      return "sizes of at least 0, got " + std::to_string(dim);
  return {};
}

Tensor Tensor::empty(DType dtype, const Shape &shape, Where where) {
  Tensor tensor;
  tensor.allocate(dtype, shape, where);
  return tensor;
}

bool Tensor::allocate(DType dtype, const Shape &shape, Where where) {
  if (std::string problem = wrongWith(shape); !problem.empty()) {
    *this = detail::fail(where, "a tensor requires " + problem);
    return false;
  }
  int64_t bytes = std::max<int64_t>(dtype_bytes(dtype), 1);
  bool fits = true;
  for (int64_t dim : shape)
    fits &= !__builtin_mul_overflow(bytes, dim, &bytes);
  if (dtype_bytes(dtype) == 0)
    bytes = dtype_bytes(dtype, bytes);
  head = fits ? detail::Value::create(size_t(bytes)) : nullptr;
  if (!head) {
    *this = detail::fail(where, "a tensor requires memory for " + TensorType{dtype, shape}.str() + ", got none");
    return false;
  }
  head->tensor.dtype = int32_t(dtype);
  head->tensor.rank = shape.size();
  std::memcpy(head->tensor.dims, shape.data(), sizeof(int64_t) * size_t(shape.size()));
  head->where = where;
  return true;
}

void Tensor::fill(DType dtype, const void *values, size_t count, const Shape &shape, Where where) {
  if (std::string problem = wrongWith(shape); !problem.empty()) {
    *this = detail::fail(where, "a tensor requires " + problem);
    return;
  }
  if (shape.elements() != int64_t(count)) {
    *this = detail::fail(where, "a tensor of shape " + shape.str() + " requires " + std::to_string(shape.elements()) +
                                    " elements, got " + std::to_string(count));
    return;
  }
  if (!allocate(dtype, shape, where))
    return;
  if (count)
    std::memcpy(head->tensor.data, values, count * size_t(dtype_bytes(dtype)));
  *this = detail::movedToNew(*this, where);
}

Tensor Tensor::from_bytes(std::span<const std::byte> bytes, DType dtype, const Shape &shape, Where where) {
  Tensor tensor;
  if (!tensor.allocate(dtype, shape, where))
    return tensor;
  int64_t count = shape.elements(), wanted = dtype_bytes(dtype, count);
  if (wanted != int64_t(bytes.size()))
    return detail::fail(where, "from_bytes requires " + std::to_string(wanted) + " bytes for " + tensor.type().str() +
                                   ", got " + std::to_string(bytes.size()));
  if (bytes.empty())
    return tensor;
  auto *to = static_cast<uint8_t *>(tensor.head->tensor.data);
  std::memcpy(to, bytes.data(), bytes.size());
  if (dtype_bytes(dtype) == 0 && count % 2)
    to[wanted - 1] &= 15; // nobody reads the half that is left, but equal tensors have equal bytes
  return detail::movedToNew(tensor, where);
}

//===- reading --------------------------------------------------------------------------------------===//

int64_t Tensor::known_dim(int axis) const {
  int count = rank(), at = axis < 0 ? axis + count : axis;
  if (at >= 0 && at < count)
    return head->tensor.dims[at];
  detail::hostError(Error("dim requires an axis of " + (head ? type().str() : std::string("a tensor")) + ", got " +
                              std::to_string(axis),
                          where()));
  return 0;
}

bool Tensor::readable(const char *what, Where where) const {
  if (head && head->kind == detail::Value::Kind::eager) {
    if (head->there)
      detail::bringToHost(head);
    return true;
  }
  detail::cannotRead(*this, what, where);
  return false;
}

bool Tensor::holds(DType wanted, Where where) const {
  if (wanted == dtype())
    return true;
  detail::hostError(Error(std::string("span requires the tensor's element type ") + dtype_name(dtype()) + ", got " +
                              dtype_name(wanted),
                          where));
  return false;
}

std::span<const std::byte> Tensor::bytes(Where where) const & {
  if (!readable("bytes", where))
    return {};
  return {static_cast<const std::byte *>(head->tensor.data), size_t(dtype_bytes(dtype(), known_size()))};
}

/// Number k of elements that are stored as `dtype`, a From.
template <class From> static From elementAt(const void *data, DType dtype, size_t k) {
  if (dtype_bytes(dtype))
    return static_cast<const From *>(data)[k];
  uint8_t half = static_cast<const uint8_t *>(data)[k / 2] >> (k % 2 * 4) & 15;
  return From(dtype == DType::i4 && half > 7 ? half - 16 : half);
}

void Tensor::readAll(DType to, void *values, size_t count) const {
  if (count == 0)
    return;
  if (to == dtype()) {
    std::memcpy(values, head->tensor.data, count * size_t(dtype_bytes(to)));
    return;
  }
  detail::visitDType(dtype(), [&]<class From>(From) {
    detail::visitDType(to, [&]<class To>(To) {
      for (size_t k = 0; k < count; ++k)
        static_cast<To *>(values)[k] = detail::convertNumber<To>(elementAt<From>(head->tensor.data, dtype(), k));
    });
  });
}

void Tensor::readItem(DType to, void *value, Where where) const {
  if (!readable("item", where))
    return;
  if (known_size() == 1)
    return readAll(to, value, 1);
  detail::hostError(Error("item requires a tensor of one element, got " + type().str(), where));
}

Tensor::operator bool() const {
  if (traced() || error())
    return detail::hostBranch(*this);
  if (head && known_size() != 1) {
    detail::hostError(Error("`if (tensor)` requires a tensor of one element, got " + type().str(), where()));
    return false;
  }
  return item<bool>();
}

} // namespace sinter::inline SINTER_HOST
