// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors with elements on a device, in ops that compute at once. A value points to its elements there, which values
// that share them share (Tensor::detach). Who reads elements on the host gets a copy, which is kept until the elements
// are replaced.

#ifndef SINTER_TRACE_THERE_H
#define SINTER_TRACE_THERE_H

#include "Tape.h"
#include "compiler/capi/EagerDevice.h"
#include <mutex>

namespace sinter::inline SINTER_HOST::detail {

struct DeviceElements {
  std::atomic<int32_t> references{1};
  const capi::EagerDevice *device = nullptr;
  std::mutex lock; // of all below
  capi::ThereTensor there;
  void *host = nullptr; // room for a copy, made when somebody asks for it
  bool isCurrent = false;

  ~DeviceElements();
  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }
  capi::ThereTensor get() {
    std::lock_guard guard(lock);
    return there;
  }
};

/// Null for a tensor of the host.
inline const capi::EagerDevice *deviceOf(const Tensor &tensor) {
  return tensor.value() && tensor.value()->there ? tensor.value()->there->device : nullptr;
}

/// `to` becomes the elements of `from` as they are now.
void replaceThere(DeviceElements &to, DeviceElements &from);

Tensor adoptThere(const capi::EagerDevice &device, capi::ThereTensor there, Where where);

/// `tensor`, which has elements, on another device, null for the host; not recorded.
Tensor moved(const Tensor &tensor, const capi::EagerDevice *device, Where where);

/// The same on the device where new tensors are made.
Tensor movedToNew(const Tensor &tensor, Where where);

/// Whether a tensor of the host goes along to any device.
inline bool goesAlong(const Tensor &tensor) { return tensor.rank() == 0 || tensor.weak() || tensor.value()->follows; }

/// "f32[3] on cuda:0"
std::string placed(const Tensor &tensor);

/// Whether `operands` lie on one device; `first` becomes the first one that says which. Else an error in `problem`, in
/// which `what` requires it.
bool onOneDevice(std::string_view what, std::span<const Tensor> operands, const Tensor *&first, Tensor &problem,
                 Where where);

/// The device of an op's results: that of its operands. Numbers (rank 0) and constants of the library are taken along;
/// an op on these alone computes where the function around it does, or where new tensors are made. False with an error
/// in `problem` where operands lie on several.
bool placeOfOp(const char *op, std::span<const Tensor> operands, const capi::EagerDevice *&device, Tensor &problem,
               Where where);

/// Whether all operands lie on the host, and some do not go along to a device: the usual case, quickly told.
inline bool areOfHost(std::span<const Tensor> operands) {
  bool isHost = false;
  for (const Tensor &operand : operands) {
    if (!operand.defined())
      continue;
    if (operand.value()->there)
      return false;
    isHost |= !goesAlong(operand);
  }
  return isHost;
}

/// A list of the library's own, on the host, that goes along to any device.
template <class T> Tensor constantOf(std::span<const T> values, Where where) {
  Tensor result = Tensor::empty(dtype_of<T>, Shape{int64_t(values.size())}, where);
  if (result.error())
    return result;
  std::memcpy(result.value()->tensor.data, values.data(), values.size_bytes());
  result.value()->follows = true;
  return result;
}

/// Where the function around computes, as its operands so far say.
struct FunctionPlace {
  bool isKnown = false;
  const capi::EagerDevice *device = nullptr;
};
FunctionPlace &functionPlace();
/// An operand of the function around.
inline void notePlace(FunctionPlace &place, const Tensor &operand) {
  if (place.isKnown || !operand.value() || operand.value()->kind != Value::Kind::eager)
    return;
  if (const capi::EagerDevice *device = deviceOf(operand); device || !goesAlong(operand))
    place = {true, device};
}

/// The operands of an op as the compiler takes them, and what holds them.
struct ThereOperands {
  explicit ThereOperands(std::span<const Tensor> operands);
  std::vector<capi::EagerOperand> list;
  std::vector<sinter_tensor> tensors;
  std::vector<const capi::ThereTensor *> there;

private:
  std::vector<std::unique_ptr<capi::ThereTensor>> held;
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
