// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "device.hpp"
#include "Trace.h"

namespace sinter::inline SINTER_HOST {

static std::shared_ptr<Error> keepError(sinter_status_code code, Where where) {
  Error error(sinter_last_error(), where, StatusCode(code));
  (void)detail::report(error);
  return std::make_shared<Error>(std::move(error));
}

static void give(sinter_dlpack *tensor) {
  if (tensor && tensor->deleter)
    tensor->deleter(tensor);
}

Status open_on(Module &module, const std::string &path, const DeviceOptions &options, Where where) {
  sinter_open_options lowered{};
  lowered.struct_size = sizeof lowered;
  lowered.device = options.device.c_str();
  lowered.device_context = options.context;
  lowered.device_stream = options.stream;
  sinter_module *opened = nullptr;
  if (sinter_status_code code = sinter_module_open(path.c_str(), &lowered, &opened))
    return detail::report(Error(sinter_last_error(), where, StatusCode(code)));
  module = Module(opened);
  return {};
}

void *stream_of(const Module &module) { return sinter_module_stream(module.handle()); }

DeviceTensor::DeviceTensor(const Module &owner, const Tensor &tensor, Where where) : module(owner) {
  sinter_dlpack *made = nullptr;
  if (!tensor.defined() || tensor.traced() || tensor.error()) {
    Error error = tensor.error() ? *tensor.error() : Error("a copy to a device requires a tensor with elements", where);
    (void)detail::report(error);
    failure = std::make_shared<Error>(std::move(error));
  } else if (sinter_status_code code = sinter_module_to_device(module.handle(), &tensor.view(), &made)) {
    failure = keepError(code, where);
  }
  if (made)
    shared.reset(made, give);
}

DeviceTensor::DeviceTensor(const Module &owner, sinter_dlpack *managed) : module(owner), shared(managed, give) {}

DeviceTensor::DeviceTensor(const Module &owner, dlpack::ManagedTensor *managed, Where where) : module(owner) {
  if (!managed) {
    Error error("a tensor on a device requires one of DLPack, got null", where);
    (void)detail::report(error);
    failure = std::make_shared<Error>(std::move(error));
    return;
  }
  const dlpack::View &view = managed->view;
  auto *made = new sinter_dlpack{};
  made->major = 1;
  made->manager = managed;
  made->data = view.data;
  made->device_type = view.device.type;
  made->device_id = view.device.id;
  made->rank = view.rank;
  made->code = view.type.code;
  made->bits = view.type.bits;
  made->lanes = view.type.lanes;
  made->dims = view.shape;
  made->strides = view.strides;
  made->offset = view.offset;
  made->deleter = [](sinter_dlpack *self) {
    auto *owned = static_cast<dlpack::ManagedTensor *>(self->manager);
    if (owned->deleter)
      owned->deleter(owned);
    delete self;
  };
  shared.reset(made, give);
}

Tensor DeviceTensor::to_host(Where where) const {
  if (!shared)
    return detail::fail(where, failure ? failure->message() : "to_host requires a tensor, got none");
  int dtype = detail::dlpackDType({shared->code, shared->bits, shared->lanes});
  if (!dtype || shared->rank < 0 || shared->rank > SINTER_MAX_RANK)
    return detail::fail(where, "to_host requires an element type and a rank that tensors have");
  Tensor result =
      Tensor::empty(DType(dtype), Shape(std::span<const int64_t>(shared->dims, size_t(shared->rank))), where);
  if (result.error())
    return result;
  if (sinter_module_to_host(module.handle(), shared.get(), result.view().data))
    return detail::fail(where, sinter_last_error());
  return result;
}

dlpack::ManagedTensor *DeviceTensor::to_dlpack() const {
  if (!shared)
    return nullptr;
  struct Held {
    dlpack::ManagedTensor managed;
    std::shared_ptr<sinter_dlpack> tensor;
  };
  auto *held = new Held{{}, shared};
  held->managed.view = {shared->data,  {shared->device_type, shared->device_id},
                        shared->rank,  {shared->code, shared->bits, shared->lanes},
                        shared->dims,  shared->strides,
                        shared->offset};
  held->managed.context = held;
  held->managed.deleter = [](dlpack::ManagedTensor *self) { delete static_cast<Held *>(self->context); };
  return &held->managed;
}

/// Another holder of the same memory, for a session that calls its deleter.
static sinter_dlpack *hold(const DeviceTensor &tensor) {
  dlpack::ManagedTensor *managed = tensor.to_dlpack();
  auto *held = new sinter_dlpack(*tensor.view());
  held->manager = managed;
  held->deleter = [](sinter_dlpack *self) {
    auto *owned = static_cast<dlpack::ManagedTensor *>(self->manager);
    owned->deleter(owned);
    delete self;
  };
  return held;
}

std::vector<DeviceTensor> call_on_device(const Module &module, Session &session, std::span<const DeviceTensor> inputs,
                                         Where where) {
  auto stop = [&](sinter_status_code code) {
    (void)keepError(code, where);
    return std::vector<DeviceTensor>(1);
  };
  auto refuse = [&](const std::string &why) {
    sinter_set_error(SINTER_INVALID_ARGUMENT, why.c_str());
    return stop(SINTER_INVALID_ARGUMENT);
  };
  if (session.error())
    return refuse(session.error()->message());
  const sinter_function &function = *sinter_session_function(session.handle());
  std::vector<bool> reads(size_t(function.num_inputs)), writes(size_t(function.num_outputs));
  for (int k = 0; k < function.num_states; ++k) {
    reads[size_t(function.states[k].input)] = true;
    if (function.states[k].output >= 0)
      writes[size_t(function.states[k].output)] = true;
  }
  size_t given = 0;
  for (int k = 0; k < function.num_inputs; ++k) {
    if (reads[size_t(k)])
      continue;
    if (given == inputs.size() || !inputs[given].defined())
      return refuse("call_on_device requires a defined tensor for each input, got none for '" +
                    std::string(function.inputs[k].name) + "'");
    sinter_dlpack *held = hold(inputs[given++]);
    if (sinter_status_code code = sinter_session_set_input_dlpack(session.handle(), k, held)) {
      give(held);
      return stop(code);
    }
  }
  if (given != inputs.size())
    return refuse("call_on_device requires " + std::to_string(given) + " tensors, got " +
                  std::to_string(inputs.size()));
  for (int k = 0; k < function.num_outputs; ++k) {
    sinter_tensor own{};
    if (writes[size_t(k)])
      continue;
    if (sinter_status_code code = sinter_session_set_output_on_device(session.handle(), k, &own))
      return stop(code);
  }
  if (sinter_status_code code = sinter_session_run(session.handle()))
    return stop(code);
  std::vector<DeviceTensor> results;
  for (int k = 0; k < function.num_outputs; ++k) {
    sinter_dlpack *taken = nullptr;
    if (writes[size_t(k)])
      continue;
    if (sinter_status_code code = sinter_session_take_output_dlpack(session.handle(), k, &taken))
      return stop(code);
    results.emplace_back(module, taken);
  }
  return results;
}

} // namespace sinter::inline SINTER_HOST
