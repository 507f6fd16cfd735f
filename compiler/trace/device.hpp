// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in the memory of a GPU, and modules that run on one of several. Ops that compute at once stay on the CPU:
// what runs on a GPU is a jitted function (JitOptions::device) or a module.

#ifndef SINTER_TRACE_DEVICE_HPP
#define SINTER_TRACE_DEVICE_HPP

#include "dlpack.hpp"
#include "module.hpp"

namespace sinter::inline SINTER_HOST {

struct DeviceOptions {
  std::string device = "cuda"; // or "cuda:1"
  void *context = nullptr;     // a CUcontext of the program; null: the device's primary one
  void *stream = nullptr;      // a CUstream of it; null: one of the module's own
};

/// Opens a `.smod` on a device as `module`. Opened twice, it may run on two.
Status open_on(Module &module, const std::string &path, const DeviceOptions &options, Where where = Where::current());

/// The stream (a CUstream) that runs of the module wait for and are put into: producers of DLPack are given it.
void *stream_of(const Module &module);

/// A tensor in the memory of a module's device. Copies share it.
class DeviceTensor {
public:
  DeviceTensor() = default;
  /// A copy of a tensor of the host.
  DeviceTensor(const Module &module, const Tensor &tensor, Where where = Where::current());
  /// Takes `managed` over, a tensor on the module's device, which is used where it lies.
  DeviceTensor(const Module &module, dlpack::ManagedTensor *managed, Where where = Where::current());
  DeviceTensor(const Module &module, sinter_dlpack *managed);

  bool defined() const { return bool(shared); }
  const Error *error() const { return failure.get(); }
  /// Address, type, sizes, device; null when it is not defined.
  const sinter_dlpack *view() const { return shared.get(); }
  /// A copy on the host.
  Tensor to_host(Where where = Where::current()) const;
  /// A view that shares the elements and keeps them until its deleter is called; null when it is not defined. Nothing
  /// that was put into a stream still writes them.
  dlpack::ManagedTensor *to_dlpack() const;

private:
  Module module;
  std::shared_ptr<sinter_dlpack> shared;
  std::shared_ptr<Error> failure;
};

/// Runs a session's function on tensors that lie on its device; results stay there. States are left out, as in
/// Session::call. After an error, one tensor with it.
std::vector<DeviceTensor> call_on_device(const Module &module, Session &session, std::span<const DeviceTensor> inputs,
                                         Where where = Where::current());

} // namespace sinter::inline SINTER_HOST

#endif
