// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops at once on a device. Tensors stay in the device's memory from op to op; an op is compiled for `cpu+cuda`, so that
// what has no form there the CPU computes on copies. The memory of a tensor is never written again.

#ifndef SINTER_COMPILER_CAPI_EAGERDEVICE_H
#define SINTER_COMPILER_CAPI_EAGERDEVICE_H

#include "runtime/sinter.h"
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::capi {

/// A GPU of this process, as long as that runs.
struct EagerDevice {
  std::string name;      // "cuda:0"
  sinter_module *module; // open there: for memory and copies
};

/// Elements on a device: `tensor.data` is an address there, which `memory` holds.
struct ThereTensor {
  sinter_tensor tensor{};
  std::shared_ptr<sinter_dlpack> memory;
};

/// What an op reads: dtype 0 for what is left out.
struct EagerOperand {
  sinter_tensor tensor{};
  const ThereTensor *there = nullptr; // null: on the host
};

/// Whether `name` is "cpu", "cuda" or "cuda:NUMBER".
bool isDeviceName(std::string_view name);

/// The device of that name, opened if it is not yet; null for "cpu". Fails where there is no such GPU, or no driver.
sinter_status_code findEagerDevice(std::string_view name, const EagerDevice *&device);

/// Where this thread makes tensors that come of no others; null: on the host.
const EagerDevice *deviceForNew();
/// The choice of all threads that have none of their own.
void setDefaultDevice(const EagerDevice *device);
/// A choice of this thread.
struct DeviceChoice {
  const EagerDevice *device = nullptr;
  bool isMade = false;
};
/// Makes the choice, and returns the one before.
DeviceChoice chooseDevice(DeviceChoice choice);

/// A copy of a tensor of the host.
sinter_status_code copyToDevice(const EagerDevice &device, const sinter_tensor &tensor, ThereTensor &made);
sinter_status_code copyToHost(const EagerDevice &device, const ThereTensor &tensor, void *to);
/// Memory for elements of a type whose sizes are known, not initialized.
sinter_status_code makeRoom(const EagerDevice &device, const sinter_value_type &type, ThereTensor &made);

/// Runs a session whose module is open on a device. Outputs with memory are written there; others get memory.
sinter_status_code callThere(sinter_session *session, std::span<const EagerOperand> inputs,
                             std::span<ThereTensor> outputs);

/// An op on tensors of the device and numbers of the host, as sinter_eager; `results` become what it computed, there.
sinter_status_code eagerOn(const EagerDevice &device, const char *op, std::span<const EagerOperand> operands,
                           std::span<const sinter_attr> attrs, std::vector<ThereTensor> &results);

} // namespace sinter::capi

#endif
