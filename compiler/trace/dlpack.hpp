// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors from and to other libraries in this process by the DLPack ABI, on the CPU. The structs have the layout of
// dlpack.h's (`DLManagedTensor` and what it holds); cast pointers between them where a library brings that header.

#ifndef SINTER_TRACE_DLPACK_HPP
#define SINTER_TRACE_DLPACK_HPP

#include "trace.hpp"

namespace sinter {
namespace dlpack {

enum DeviceType : int32_t { cpu = 1 };
enum TypeCode : uint8_t { signedInteger = 0, unsignedInteger = 1, real = 2, brainFloat = 4, boolean = 6 };

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct View {
  void *data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t *shape;
  int64_t *strides; // elements; null: row-major
  uint64_t offset;  // bytes
};
/// A tensor and what frees it: whoever takes it over calls `deleter` once.
struct ManagedTensor {
  View view;
  void *context;
  void (*deleter)(ManagedTensor *);
};

} // namespace dlpack

namespace detail {

/// None (0) for a type that tensors do not have.
inline int dlpackDType(dlpack::DataType type) {
  if (type.lanes != 1)
    return 0;
  auto byBits = [&](int w8, int w16, int w32, int w64) {
    return type.bits == 8 ? w8 : type.bits == 16 ? w16 : type.bits == 32 ? w32 : type.bits == 64 ? w64 : 0;
  };
  switch (type.code) {
  case dlpack::signedInteger:
    return byBits(SINTER_I8, SINTER_I16, SINTER_I32, SINTER_I64);
  case dlpack::unsignedInteger:
    return byBits(SINTER_U8, SINTER_U16, SINTER_U32, SINTER_U64);
  case dlpack::real:
    return byBits(0, SINTER_F16, SINTER_F32, SINTER_F64);
  case dlpack::brainFloat:
    return byBits(0, SINTER_BF16, 0, 0);
  case dlpack::boolean:
    return byBits(SINTER_I1, 0, 0, 0);
  default:
    return 0;
  }
}

inline dlpack::DataType dlpackType(DType type) {
  uint8_t code = type == DType::bf16       ? dlpack::brainFloat
                 : is_float(type)          ? dlpack::real
                 : type == DType::boolean  ? dlpack::boolean
                 : is_signed_integer(type) ? dlpack::signedInteger
                                           : dlpack::unsignedInteger;
  return {code, uint8_t(dtype_bytes(type) * 8), 1};
}

/// Copies strided elements row-major.
inline void copyStrided(char *&to, const char *from, const dlpack::View &view, int axis, int64_t bytes) {
  if (axis == view.rank) {
    std::memcpy(to, from, size_t(bytes));
    to += bytes;
    return;
  }
  for (int64_t k = 0; k < view.shape[axis]; ++k)
    copyStrided(to, from + k * view.strides[axis] * bytes, view, axis + 1, bytes);
}

} // namespace detail

/// Takes `managed` over. Row-major elements are shared, others copied.
inline Tensor from_dlpack(dlpack::ManagedTensor *managed, Where where = Where::current()) {
  using detail::Value;
  if (!managed)
    return detail::fail(where, "from_dlpack requires a tensor, got null");
  struct Release {
    dlpack::ManagedTensor *managed;
    ~Release() {
      if (managed && managed->deleter)
        managed->deleter(managed);
    }
  } release{managed};
  const dlpack::View &view = managed->view;
  int dtype = detail::dlpackDType(view.type);
  if (view.device.type != dlpack::cpu)
    return detail::fail(where, "from_dlpack requires a tensor on the CPU (device type 1), got device type " +
                                   std::to_string(view.device.type));
  if (!dtype)
    return detail::fail(where, "from_dlpack requires an element type that tensors have, got code " +
                                   std::to_string(view.type.code) + ", " + std::to_string(view.type.bits) + " bits, " +
                                   std::to_string(view.type.lanes) + " lanes");
  if (view.rank < 0 || view.rank > SINTER_MAX_RANK)
    return detail::fail(where, "from_dlpack requires at most 16 axes, got " + std::to_string(view.rank));
  Shape shape(std::span<const int64_t>(view.shape, size_t(view.rank)));
  bool rowMajor = true;
  int64_t stride = 1;
  for (int axis = view.rank; axis-- > 0; stride *= shape[axis])
    rowMajor &= !view.strides || shape[axis] == 1 || view.strides[axis] == stride;
  char *data = static_cast<char *>(view.data) + view.offset;
  if (!rowMajor && shape.elements() != 0) {
    Tensor copy = Tensor::empty(DType(dtype), shape, where);
    char *to = copy.error() ? nullptr : static_cast<char *>(copy.view().data);
    if (to)
      detail::copyStrided(to, data, view, 0, dtype_bytes(DType(dtype)));
    return copy;
  }
  Value *value = Value::create(0);
  value->tensor.data = data;
  value->tensor.dtype = dtype;
  value->tensor.rank = view.rank;
  std::memcpy(value->tensor.dims, shape.data(), sizeof(int64_t) * size_t(shape.size()));
  value->where = where;
  value->owner = managed;
  value->drop = [](Value *self) {
    auto *owner = static_cast<dlpack::ManagedTensor *>(self->owner);
    if (owner->deleter)
      owner->deleter(owner);
  };
  release.managed = nullptr;
  return Tensor::adopt(value);
}

/// A view that shares the elements and keeps them alive until its deleter is called. Null after an error.
inline dlpack::ManagedTensor *to_dlpack(const Tensor &tensor, Where where = Where::current()) {
  if (!tensor.defined() || tensor.traced() || tensor.error()) {
    detail::cannotRead(tensor, "to_dlpack", where);
    return nullptr;
  }
  struct Shared {
    dlpack::ManagedTensor managed;
    Tensor tensor;
    int64_t shape[SINTER_MAX_RANK], strides[SINTER_MAX_RANK];
  };
  auto *shared = new Shared{{}, tensor, {}, {}};
  int64_t stride = 1;
  for (int axis = tensor.rank(); axis-- > 0; stride *= tensor.known_dim(axis)) {
    shared->shape[axis] = tensor.known_dim(axis);
    shared->strides[axis] = stride;
  }
  shared->managed.view = {tensor.view().data,
                          {dlpack::cpu, 0},
                          tensor.rank(),
                          detail::dlpackType(tensor.dtype()),
                          shared->shape,
                          shared->strides,
                          0};
  shared->managed.context = shared;
  shared->managed.deleter = [](dlpack::ManagedTensor *self) { delete static_cast<Shared *>(self->context); };
  return &shared->managed;
}

} // namespace sinter

#endif
