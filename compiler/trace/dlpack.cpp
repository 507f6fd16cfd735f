// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dlpack.hpp"
#include "There.h"
#include "Trace.h"

namespace sinter::inline SINTER_HOST {

namespace dlpack {} // namespace dlpack

namespace detail {

int dlpackDType(dlpack::DataType type) {
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

static dlpack::DataType dlpackType(DType type) {
  uint8_t code = type == DType::bf16       ? dlpack::brainFloat
                 : is_float(type)          ? dlpack::real
                 : type == DType::boolean  ? dlpack::boolean
                 : is_signed_integer(type) ? dlpack::signedInteger
                                           : dlpack::unsignedInteger;
  return {code, uint8_t(dtype_bytes(type) * 8), 1};
}

/// Copies strided elements row-major.
static void copyStrided(char *&to, const char *from, const dlpack::View &view, int axis, int64_t bytes) {
  if (axis == view.rank) {
    std::memcpy(to, from, size_t(bytes));
    to += bytes;
    return;
  }
  for (int64_t k = 0; k < view.shape[axis]; ++k)
    copyStrided(to, from + k * view.strides[axis] * bytes, view, axis + 1, bytes);
}

} // namespace detail

Tensor from_dlpack(dlpack::ManagedTensor *managed, Where where) {
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

dlpack::ManagedTensor *to_dlpack(const Tensor &tensor, Where where) {
  if (!tensor.defined() || tensor.traced() || tensor.error()) {
    detail::cannotRead(tensor, "to_dlpack", where);
    return nullptr;
  }
  if (is_storage(tensor.dtype())) {
    detail::hostError(Error(std::string("to_dlpack requires a dtype to compute in, got ") + dtype_name(tensor.dtype()) +
                                " (convert with astype)",
                            where));
    return nullptr;
  }
  struct Shared {
    dlpack::ManagedTensor managed;
    Tensor tensor;
    std::shared_ptr<sinter_dlpack> there; // of a tensor on a device: its elements as they are now
    int64_t shape[SINTER_MAX_RANK], strides[SINTER_MAX_RANK];
  };
  auto *shared = new Shared{{}, tensor, {}, {}, {}};
  if (tensor.value()->there)
    shared->there = tensor.value()->there->get().memory;
  int64_t stride = 1;
  for (int axis = tensor.rank(); axis-- > 0; stride *= tensor.known_dim(axis)) {
    shared->shape[axis] = tensor.known_dim(axis);
    shared->strides[axis] = stride;
  }
  const sinter_dlpack *there = shared->there.get();
  shared->managed.view = {there ? there->data : tensor.view().data,
                          there ? dlpack::Device{there->device_type, there->device_id} : dlpack::Device{dlpack::cpu, 0},
                          tensor.rank(),
                          detail::dlpackType(tensor.dtype()),
                          shared->shape,
                          shared->strides,
                          0};
  shared->managed.context = shared;
  shared->managed.deleter = [](dlpack::ManagedTensor *self) { delete static_cast<Shared *>(self->context); };
  return &shared->managed;
}

} // namespace sinter::inline SINTER_HOST
