// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors of the caller in the memory of the module's device, and those that come and go by DLPack.

#include "session.h"
#include "strided.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { hostMemory = 1 }; // DLPack's kDLCPU

/// The device of a module; null: it has none that takes tensors of callers.
static const sinter_device *deviceOf(const sinter_module *module) {
  const sinter_device *device = module->devices.count ? module->devices.all[0].device : NULL;
  return device && device->holds ? device : NULL;
}

void *sinter_module_stream(const sinter_module *module) {
  const sinter_device *device = module ? deviceOf(module) : NULL;
  return device ? device->stream : NULL;
}

//===- Bindings -----------------------------------------------------------------------------------===//

void srtUnbind(Binding *binding) {
  sinter_dlpack *given = binding->given;
  binding->bound = binding->there = 0;
  binding->given = NULL;
  if (given && given->deleter)
    given->deleter(given);
}

/// Checks that a tensor which `set` has bound is memory of the device.
static sinter_status_code checkThere(const sinter_session *session, const Binding *binding, const char *kind,
                                     const char *name) {
  const sinter_device *device = deviceOf(session->module);
  char why[SINTER_DRIVER_TEXT_BYTES] = "";
  if (binding->tensor.strides)
    return srtError(SINTER_INVALID_ARGUMENT,
                    "%s '%s' on the device requires row-major elements without gaps, got strides", kind, name);
  int64_t elementBytes = sinter_dtype_bytes(binding->tensor.dtype);
  if (elementBytes && (uintptr_t)binding->tensor.data % (uintptr_t)elementBytes)
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' on the device requires an address that is a multiple of %" PRId64,
                    kind, name, elementBytes);
  if (!binding->count || device->holds(device, binding->tensor.data, binding->bytes, why))
    return SINTER_OK;
  return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' requires memory of the module's device: %s", kind, name, why);
}

static sinter_status_code setThere(sinter_session *session, int32_t index, const sinter_tensor *tensor, int isOutput) {
  const char *kind = isOutput ? "output" : "input";
  if (!deviceOf(session->module))
    return srtError(SINTER_UNSUPPORTED, "an %s on the device requires a module whose kernels run on one", kind);
  int isOwn = isOutput && tensor && !tensor->data;
  sinter_status_code status =
      isOutput ? srtSetOutput(session, index, isOwn ? NULL : tensor) : srtSetInput(session, index, tensor);
  if (status || !tensor)
    return status;
  Binding *binding = isOutput ? &session->outputs[index] : &session->inputs[index];
  const sinter_tensor_type *type = isOutput ? &session->function->outputs[index] : &session->function->inputs[index];
  if (!isOwn)
    status = checkThere(session, binding, kind, type->name);
  if (status)
    srtUnbind(binding);
  else
    binding->there = 1;
  return status;
}

sinter_status_code sinter_session_set_input_on_device(sinter_session *session, int32_t index,
                                                      const sinter_tensor *tensor) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = setThere(session, index, tensor, 0);
  srtLeave(session);
  return status;
}

sinter_status_code sinter_session_set_output_on_device(sinter_session *session, int32_t index,
                                                       const sinter_tensor *tensor) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = setThere(session, index, tensor, 1);
  srtLeave(session);
  return status;
}

//===- Calls --------------------------------------------------------------------------------------===//

static int isWithin(const void *address, const void *begin, int64_t bytes) {
  return begin && (uintptr_t)address - (uintptr_t)begin < (uintptr_t)bytes;
}

sinter_status_code srtBindThere(sinter_session *session) {
  session->numThere = 0;
  for (int32_t k = 0; k < session->numCallerOutputs; ++k)
    session->numThere += session->outputs[session->callerOutputs[k]].there;
  for (int32_t k = 0; k < session->numCallerInputs; ++k) {
    int32_t i = session->callerInputs[k];
    const Binding *input = &session->inputs[i];
    session->numThere += input->there;
    for (int32_t j = 0; input->there && input->count && j < session->numCallerOutputs; ++j) {
      int32_t o = session->callerOutputs[j];
      const Binding *output = &session->outputs[o];
      uintptr_t own = (uintptr_t)output->ownThere;
      if (output->there && own && input->begin < own + (uintptr_t)output->ownThereBytes && own < input->end)
        return srtError(
            SINTER_INVALID_ARGUMENT,
            "input '%s' lies in the session's own memory of output '%s' on the device; take the output first",
            session->function->inputs[i].name, session->function->outputs[o].name);
    }
  }
  return SINTER_OK;
}

void *srtReserveThere(sinter_session *session, Binding *output, int64_t bytes) {
  const sinter_device *device = deviceOf(session->module);
  if (output->ownThere && output->ownThereBytes >= bytes)
    return output->ownThere;
  if (output->ownThere)
    device->discard(device, output->ownThere);
  output->ownThereBytes = bytes ? bytes : 1;
  return output->ownThere = device->keep(device, output->ownThereBytes);
}

void srtFreeThere(sinter_session *session) {
  const sinter_device *device = deviceOf(session->module);
  for (int32_t i = 0; i < session->function->num_inputs; ++i)
    srtUnbind(&session->inputs[i]);
  for (int32_t o = 0; o < session->function->num_outputs; ++o) {
    Binding *output = &session->outputs[o];
    srtUnbind(output);
    if (output->ownThere && session->owner == getpid()) // a child has no devices
      device->discard(device, output->ownThere);
    output->ownThere = NULL;
  }
}

int32_t srtIsThere(sinter_context *context, const void *address) {
  const sinter_session *session = (const sinter_session *)context;
  if (!session->numThere)
    return 0;
  for (int32_t k = 0; k < session->numCallerInputs; ++k) {
    const Binding *input = &session->inputs[session->callerInputs[k]];
    if (input->there && isWithin(address, input->tensor.data, input->bytes))
      return 1;
  }
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    const Binding *output = &session->outputs[session->callerOutputs[k]];
    if (output->there && (output->bound ? isWithin(address, output->tensor.data, output->bytes)
                                        : isWithin(address, output->ownThere, output->ownThereBytes)))
      return 1;
  }
  return 0;
}

//===- DLPack -------------------------------------------------------------------------------------===//

/// 0 for a type that tensors do not have.
static int32_t dtypeOf(const sinter_dlpack *tensor) {
  static const struct {
    uint8_t code, bits;
    int32_t dtype;
  } known[] = {{0, 8, SINTER_I8},   {0, 16, SINTER_I16},  {0, 32, SINTER_I32}, {0, 64, SINTER_I64}, {1, 8, SINTER_U8},
               {1, 16, SINTER_U16}, {1, 32, SINTER_U32},  {1, 64, SINTER_U64}, {2, 16, SINTER_F16}, {2, 32, SINTER_F32},
               {2, 64, SINTER_F64}, {4, 16, SINTER_BF16}, {6, 8, SINTER_I1}};
  for (size_t k = 0; tensor->lanes == 1 && k < sizeof known / sizeof *known; ++k)
    if (known[k].code == tensor->code && known[k].bits == tensor->bits)
      return known[k].dtype;
  return 0;
}

/// False where tensors of the runtime have no such type; else fills code and bits.
static int describeType(int32_t dtype, sinter_dlpack *tensor) {
  for (int code = 0; code <= 6; ++code)
    for (int bits = 8; bits <= 64; bits *= 2) {
      tensor->code = (uint8_t)code;
      tensor->bits = (uint8_t)bits;
      tensor->lanes = 1;
      if (dtypeOf(tensor) == dtype)
        return 1;
    }
  return 0;
}

static sinter_status_code readDlpack(const sinter_module *module, const sinter_dlpack *given, sinter_tensor *tensor) {
  if (!given)
    return srtError(SINTER_INVALID_ARGUMENT, "a binding by DLPack requires a tensor, got null");
  if (given->major != 1)
    return srtError(SINTER_UNSUPPORTED, "a tensor by DLPack requires version 1, got %u.%u", given->major, given->minor);
  *tensor = (sinter_tensor){.data = given->data ? (char *)given->data + given->offset : NULL,
                            .dtype = dtypeOf(given),
                            .rank = given->rank,
                            .strides = given->strides};
  if (!tensor->dtype)
    return srtError(SINTER_INVALID_ARGUMENT,
                    "a tensor by DLPack requires an element type that tensors have, got code %d, %d bits, %d lanes",
                    given->code, given->bits, given->lanes);
  if (given->rank < 0 || given->rank > SINTER_MAX_RANK || (given->rank && !given->dims))
    return srtError(SINTER_INVALID_ARGUMENT, "a tensor by DLPack requires at most %d axes and their sizes, got %d",
                    SINTER_MAX_RANK, given->rank);
  for (int32_t d = 0; d < given->rank; ++d)
    tensor->dims[d] = given->dims[d];
  const sinter_device *device = deviceOf(module);
  if (given->device_type == hostMemory ||
      (device && device->type == given->device_type && device->number == given->device_id))
    return SINTER_OK;
  if (!device)
    return srtError(SINTER_UNSUPPORTED,
                    "a tensor by DLPack requires memory of the host (device type 1), got device type %d, number %d",
                    given->device_type, given->device_id);
  return srtError(SINTER_INVALID_ARGUMENT,
                  "a tensor by DLPack requires memory of the host (device type 1) or of the module's device (type %d, "
                  "number %d), got device type %d, number %d",
                  device->type, device->number, given->device_type, given->device_id);
}

static sinter_status_code setDlpack(sinter_session *session, int32_t index, sinter_dlpack *given, int isOutput) {
  sinter_tensor tensor;
  sinter_status_code status = readDlpack(session->module, given, &tensor);
  int isThere = !status && given->device_type != hostMemory;
  if (!status && isOutput && (given->flags & SINTER_DLPACK_READ_ONLY))
    status =
        srtError(SINTER_INVALID_ARGUMENT, "an output requires memory that may be written, the tensor is read-only");
  if (!status && isOutput && !tensor.data && isThere)
    status = srtError(SINTER_INVALID_ARGUMENT, "an output by DLPack requires data, got null");
  if (status)
    return status;
  if (isThere)
    status = setThere(session, index, &tensor, isOutput);
  else
    status = isOutput ? srtSetOutput(session, index, &tensor) : srtSetInput(session, index, &tensor);
  if (!status)
    (isOutput ? session->outputs : session->inputs)[index].given = given;
  return status;
}

sinter_status_code sinter_session_set_input_dlpack(sinter_session *session, int32_t index, sinter_dlpack *tensor) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = setDlpack(session, index, tensor, 0);
  srtLeave(session);
  return status;
}

sinter_status_code sinter_session_set_output_dlpack(sinter_session *session, int32_t index, sinter_dlpack *tensor) {
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = setDlpack(session, index, tensor, 1);
  srtLeave(session);
  return status;
}

/// What take_output gives away.
typedef struct Taken {
  sinter_dlpack tensor;
  sinter_module *module; // held, so that its device is there
  int64_t dims[SINTER_MAX_RANK], strides[SINTER_MAX_RANK];
} Taken;

static void freeTaken(sinter_dlpack *tensor) {
  Taken *taken = (Taken *)tensor;
  const sinter_device *device = deviceOf(taken->module);
  device->settle(device);
  device->discard(device, taken->tensor.data);
  sinter_module_close(taken->module);
  free(taken);
}

/// Memory of the module's device as a tensor that owns it.
static sinter_status_code makeTaken(sinter_module *module, const sinter_tensor *like, void *data, Taken **made) {
  const sinter_device *device = deviceOf(module);
  Taken *taken = calloc(1, sizeof *taken);
  if (!taken)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for a tensor on the device");
  if (!describeType(like->dtype, &taken->tensor)) {
    free(taken);
    return srtError(SINTER_UNSUPPORTED, "a tensor of %s has no element type of DLPack", sinter_dtype_name(like->dtype));
  }
  taken->module = sinter_module_retain(module);
  taken->tensor.major = 1;
  taken->tensor.deleter = freeTaken;
  taken->tensor.manager = taken;
  taken->tensor.data = data;
  taken->tensor.device_type = device->type;
  taken->tensor.device_id = device->number;
  taken->tensor.rank = like->rank;
  int64_t stride = 1;
  for (int32_t d = like->rank; d-- > 0; stride *= like->dims[d]) {
    taken->dims[d] = like->dims[d];
    taken->strides[d] = stride;
  }
  taken->tensor.dims = taken->dims;
  taken->tensor.strides = taken->strides;
  *made = taken;
  return SINTER_OK;
}

static sinter_status_code takeOutput(sinter_session *session, int32_t index, sinter_dlpack **tensor) {
  sinter_tensor view;
  sinter_status_code status = srtOutput(session, index, &view);
  if (status)
    return status;
  Binding *binding = &session->outputs[index];
  const char *name = session->function->outputs[index].name;
  if (!binding->there || binding->bound || !binding->ownThere)
    return srtError(SINTER_INVALID_ARGUMENT,
                    "taking output '%s' requires that the session has its memory on the device", name);
  Taken *taken;
  status = makeTaken(session->module, &view, binding->ownThere, &taken);
  if (status)
    return status;
  binding->ownThere = NULL;
  binding->ownThereBytes = 0;
  session->outputSlots[index].data = NULL;
  *tensor = &taken->tensor;
  return SINTER_OK;
}

sinter_status_code sinter_session_take_output_dlpack(sinter_session *session, int32_t index, sinter_dlpack **tensor) {
  if (!tensor)
    return srtError(SINTER_INVALID_ARGUMENT, "taking an output requires a place for the tensor, got null");
  *tensor = NULL;
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  status = takeOutput(session, index, tensor);
  srtLeave(session);
  return status;
}

//===- Copies -------------------------------------------------------------------------------------===//

sinter_status_code sinter_module_to_device(sinter_module *module, const sinter_tensor *tensor, sinter_dlpack **result) {
  if (!module || !tensor || !result)
    return srtError(SINTER_INVALID_ARGUMENT, "a copy to the device requires a module, a tensor and a place, got null");
  *result = NULL;
  const sinter_device *device = deviceOf(module);
  int64_t count, bytes;
  if (!device)
    return srtError(SINTER_UNSUPPORTED, "a copy to the device requires a module whose kernels run on one");
  if (tensor->rank < 0 || tensor->rank > SINTER_MAX_RANK ||
      !srtTensorBytes(tensor->dtype, tensor->rank, tensor->dims, &count, &bytes) || !srtIsDense(tensor))
    return srtError(SINTER_INVALID_ARGUMENT, "a copy to the device requires a row-major tensor");
  void *data = device->keep(device, bytes ? bytes : 1);
  if (!data)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory of the device for %" PRId64 " bytes", bytes);
  Taken *taken;
  sinter_status_code status = makeTaken(module, tensor, data, &taken);
  int hasData = bytes && tensor->data;
  if (!status && hasData && device->transfer(device, data, tensor->data, bytes, SINTER_COPY_TO_DEVICE)) {
    freeTaken(&taken->tensor);
    return srtError(SINTER_RUNTIME_ERROR, "%" PRId64 " bytes cannot be copied to the device", bytes);
  }
  if (status)
    device->discard(device, data);
  else
    *result = &taken->tensor;
  return status;
}

sinter_status_code sinter_module_to_host(const sinter_module *module, const sinter_dlpack *from, void *to) {
  const sinter_device *device = module ? deviceOf(module) : NULL;
  if (!device || !from)
    return srtError(SINTER_INVALID_ARGUMENT,
                    "a copy from the device requires a module whose kernels run on one and a tensor");
  sinter_tensor tensor;
  int64_t count, bytes;
  sinter_status_code status = readDlpack(module, from, &tensor);
  if (status)
    return status;
  if (from->device_type == hostMemory || !srtIsDense(&tensor) ||
      !srtTensorBytes(tensor.dtype, tensor.rank, tensor.dims, &count, &bytes) || (count && !to))
    return srtError(SINTER_INVALID_ARGUMENT,
                    "a copy from the device requires a row-major tensor there and memory for it");
  if (bytes && device->transfer(device, to, tensor.data, bytes, SINTER_COPY_TO_HOST))
    return srtError(SINTER_RUNTIME_ERROR, "%" PRId64 " bytes cannot be copied from the device", bytes);
  return SINTER_OK;
}
