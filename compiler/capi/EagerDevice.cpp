// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/EagerDevice.h"
#include "compiler/capi/Graph.h"
#include "ir/Shapes.h"
#include <atomic>
#include <map>
#include <mutex>

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

//===- names -----------------------------------------------------------------------------------------===//

bool capi::isDeviceName(std::string_view given) {
  StringRef name(given);
  if (name == "cpu" || name == "cuda")
    return true;
  return name.consume_front("cuda:") && !name.empty() && name.size() < 5 && llvm::all_of(name, llvm::isDigit);
}

namespace {
/// Never destroyed: tensors may outlive main.
struct Devices {
  std::mutex lock;
  std::map<std::string, const EagerDevice *, std::less<>> byName; // as they were asked for
};
} // namespace

static Devices &devices() {
  static Devices &instance = *new Devices();
  return instance;
}

/// A module with a small kernel, opened on the device.
static sinter_status_code openModule(const std::string &name, sinter_module **module) {
  sinter_graph graph;
  sinter_value_type type = {SINTER_F32, 1, {1}};
  sinter_value argument = 0, result = 0;
  int32_t count = 0, function = 0;
  if (sinter_status_code status = graph.begin("device", 1, &type, nullptr, &argument))
    return status;
  if (sinter_status_code status = graph.record("neg", argument, {}, 1, &result, &count))
    return status;
  if (sinter_status_code status = graph.end(1, &result, nullptr, &function))
    return status;
  sinter_compile_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.device = name.c_str();
  return sinter_graph_compile(&graph, &options, module);
}

/// "cuda" is a device with a number: its memory says which.
static sinter_status_code numberOf(sinter_module *module, int32_t &number) {
  float zero = 0;
  sinter_tensor tensor = {};
  tensor.data = &zero;
  tensor.dtype = SINTER_F32;
  sinter_dlpack *there = nullptr;
  if (sinter_status_code status = sinter_module_to_device(module, &tensor, &there))
    return status;
  number = there->device_id;
  there->deleter(there);
  return SINTER_OK;
}

sinter_status_code capi::findEagerDevice(std::string_view given, const EagerDevice *&device) {
  device = nullptr;
  StringRef name(given);
  if (!isDeviceName(name))
    return invalid("a device is cpu, cuda or cuda:NUMBER, got '" + name + "'");
  if (name == "cpu")
    return SINTER_OK;
  Devices &known = devices();
  std::lock_guard<std::mutex> guard(known.lock);
  if (auto found = known.byName.find(name.str()); found != known.byName.end()) {
    device = found->second;
    return SINTER_OK;
  }
  sinter_module *module = nullptr;
  int32_t number = 0;
  if (sinter_status_code status = openModule(name.str(), &module))
    return status;
  if (sinter_status_code status = numberOf(module, number)) {
    sinter_module_close(module);
    return status;
  }
  std::string full = "cuda:" + std::to_string(number);
  const EagerDevice *&same = known.byName[full];
  if (same)
    sinter_module_close(module);
  else
    same = new EagerDevice{full, module};
  device = known.byName[name.str()] = same;
  return SINTER_OK;
}

//===- where tensors are made ------------------------------------------------------------------------===//

static std::atomic<const EagerDevice *> defaultDevice{nullptr};

static DeviceChoice &choiceOfThread() {
  static thread_local DeviceChoice choice;
  return choice;
}

const EagerDevice *capi::deviceForNew() {
  const DeviceChoice &choice = choiceOfThread();
  return choice.isMade ? choice.device : defaultDevice.load(std::memory_order_relaxed);
}

void capi::setDefaultDevice(const EagerDevice *device) { defaultDevice = device; }

DeviceChoice capi::chooseDevice(DeviceChoice choice) { return std::exchange(choiceOfThread(), choice); }

//===- memory ----------------------------------------------------------------------------------------===//

static void hold(sinter_dlpack *memory, ThereTensor &tensor) {
  tensor.memory.reset(memory, [](sinter_dlpack *held) { held->deleter(held); });
  tensor.tensor.data = memory->data;
  tensor.tensor.strides = nullptr;
}

sinter_status_code capi::copyToDevice(const EagerDevice &device, const sinter_tensor &tensor, ThereTensor &made) {
  sinter_dlpack *memory = nullptr;
  if (sinter_status_code status = sinter_module_to_device(device.module, &tensor, &memory))
    return status;
  made.tensor = tensor;
  hold(memory, made);
  return SINTER_OK;
}

sinter_status_code capi::copyToHost(const EagerDevice &device, const ThereTensor &tensor, void *to) {
  return sinter_module_to_host(device.module, tensor.memory.get(), to);
}

sinter_status_code capi::makeRoom(const EagerDevice &device, const sinter_value_type &type, ThereTensor &made) {
  sinter_tensor tensor = {};
  tensor.dtype = type.dtype;
  tensor.rank = type.rank;
  llvm::copy(ArrayRef(type.dims, static_cast<size_t>(type.rank)), tensor.dims);
  return copyToDevice(device, tensor, made);
}

//===- calls -----------------------------------------------------------------------------------------===//

sinter_status_code capi::callThere(sinter_session *session, std::span<const EagerOperand> inputs,
                                   std::span<ThereTensor> outputs) {
  for (auto [k, input] : llvm::enumerate(inputs)) {
    auto *set = input.there ? sinter_session_set_input_on_device : sinter_session_set_input;
    if (sinter_status_code status = set(session, static_cast<int32_t>(k), &input.tensor))
      return status;
  }
  for (auto [k, output] : llvm::enumerate(outputs))
    if (sinter_status_code status =
            sinter_session_set_output_on_device(session, static_cast<int32_t>(k), &output.tensor))
      return status;
  if (sinter_status_code status = sinter_session_run(session))
    return status;
  for (auto [k, output] : llvm::enumerate(outputs)) {
    if (output.memory)
      continue;
    sinter_dlpack *memory = nullptr;
    if (sinter_status_code status = sinter_session_output(session, static_cast<int32_t>(k), &output.tensor))
      return status;
    if (sinter_status_code status = sinter_session_take_output_dlpack(session, static_cast<int32_t>(k), &memory))
      return status;
    hold(memory, output);
  }
  return SINTER_OK;
}
