// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors from and to other libraries in this process by the DLPack ABI, on the CPU (on a GPU: device.hpp). The structs
// have the layout of dlpack.h's (`DLManagedTensor` and what it holds); cast pointers between them where a library
// brings that header.

#ifndef SINTER_TRACE_DLPACK_HPP
#define SINTER_TRACE_DLPACK_HPP

#include "tensor.hpp"

namespace sinter::inline SINTER_HOST {
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
int dlpackDType(dlpack::DataType type);
} // namespace detail

/// Takes `managed` over. Row-major elements are shared, others copied.
Tensor from_dlpack(dlpack::ManagedTensor *managed, Where where = Where::current());

/// A view that shares the elements and keeps them alive until its deleter is called. Null after an error.
dlpack::ManagedTensor *to_dlpack(const Tensor &tensor, Where where = Where::current());

} // namespace sinter::inline SINTER_HOST

#endif
