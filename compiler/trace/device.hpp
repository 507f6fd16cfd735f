// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors in the memory of a GPU, ops that compute at once there, and modules that run on one of several.
//
//   Tensor x = Tensor({1.f, 2.f}).to("cuda:0");     // ops on tensors of a GPU run there, and leave their results there
//   Tensor y = sum(x * x);                          // numbers, and tensors of rank 0, go along
//   float value = y.item<float>();                  // who reads elements gets a copy
//
//   DeviceScope gpu("cuda:0");                      // new tensors are made there: full, iota, random numbers
//
// Each op is compiled once for a class of shapes, as on the CPU, for the CPU and the GPU: what has no form on the GPU
// the CPU computes on copies. Tensors of several devices in one op are an error. Gradients (tape.hpp) are on the device
// of their tensors. A jitted function runs on a GPU by JitOptions::device; arguments that lie there are used where they
// lie, and its results then stay there.

#ifndef SINTER_TRACE_DEVICE_HPP
#define SINTER_TRACE_DEVICE_HPP

#include "dlpack.hpp"
#include "module.hpp"
#include "tree.hpp"

namespace sinter::inline SINTER_HOST {

/// Where tensors are made that come of no others, in all threads: "cpu" (as long as nobody asks), "cuda" or "cuda:1".
/// An error where there is no such device.
Status set_default_device(const std::string &device, Where where = Where::current());
/// The device where this thread makes tensors now: "cpu" or "cuda:0".
std::string default_device();

/// While one is alive, its thread makes tensors on a device. They nest.
class DeviceScope {
public:
  explicit DeviceScope(const std::string &device, Where where = Where::current());
  DeviceScope(const DeviceScope &) = delete;
  ~DeviceScope();
  /// Why there is no such device; null where there is. Programs with exceptions get it thrown.
  const Error *error() const { return failure.get(); }

private:
  std::shared_ptr<Error> failure;
  const void *before = nullptr;
  bool wasMade = false;
};

/// A copy of a tree, such as a model, on a device. What has requires_grad has it there, too.
template <class T> T to_device(T tree, const std::string &device, Where where = Where::current()) {
  detail::anyTree(tree).each([&](Tensor &leaf) {
    bool isParameter = leaf.needs_grad();
    leaf = isParameter ? leaf.detach().to(device, where).requires_grad() : leaf.to(device, where);
  });
  return tree;
}

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
