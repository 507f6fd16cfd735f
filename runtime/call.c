// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run and its bindings in one call. Callers that come again and again bring the same shapes at other addresses: then
// nothing but addresses is checked.

#include "session.h"
#include <string.h>

/// Takes over the address of a tensor that is like the bound one in all else and needs no copy. Returns 0 otherwise.
static int rebind(Binding *binding, const sinter_tensor *tensor) {
  const sinter_tensor *bound = &binding->tensor;
  if (!binding->bound || tensor->strides || bound->strides || tensor->dtype != bound->dtype ||
      tensor->rank != bound->rank || (uintptr_t)tensor->data % SRT_ALIGNMENT || (!tensor->data && binding->count))
    return 0;
  for (int32_t d = 0; d < tensor->rank; ++d)
    if (tensor->dims[d] != bound->dims[d])
      return 0;
  uintptr_t begin = (uintptr_t)tensor->data;
  if (__builtin_add_overflow(begin, (uintptr_t)binding->bytes, &binding->end))
    return 0;
  binding->tensor.data = tensor->data;
  binding->begin = begin;
  if (!binding->count)
    binding->begin = binding->end = 0;
  return 1;
}

static sinter_status_code bindInputs(sinter_session *session, const sinter_tensor *inputs) {
  for (int32_t i = 0; i < session->function->num_inputs; ++i) {
    Binding *binding = &session->inputs[i];
    if (binding->state || rebind(binding, &inputs[i]))
      continue;
    sinter_status_code status = srtSetInput(session, i, &inputs[i]);
    if (status)
      return status;
  }
  return SINTER_OK;
}

static sinter_status_code bindOutputs(sinter_session *session, const sinter_tensor *outputs) {
  for (int32_t o = 0; o < session->function->num_outputs; ++o) {
    Binding *binding = &session->outputs[o];
    if (binding->state)
      continue;
    if (!outputs[o].data) {
      binding->bound = 0;
      continue;
    }
    if (rebind(binding, &outputs[o]))
      continue;
    sinter_status_code status = srtSetOutput(session, o, &outputs[o]);
    if (status)
      return status;
  }
  return SINTER_OK;
}

sinter_status_code sinter_session_call(sinter_session *session, int32_t numInputs, const sinter_tensor *inputs,
                                       int32_t numOutputs, sinter_tensor *outputs) {
  if (!session)
    return srtError(SINTER_INVALID_ARGUMENT, "call requires a session, got null");
  const sinter_function *function = session->function;
  if (numInputs != function->num_inputs || numOutputs != function->num_outputs)
    return srtError(SINTER_INVALID_ARGUMENT, "function '%s' requires %d inputs and %d outputs, got %d and %d",
                    function->name, function->num_inputs, function->num_outputs, numInputs, numOutputs);
  if ((numInputs && !inputs) || (numOutputs && !outputs))
    return srtError(SINTER_INVALID_ARGUMENT, "call of function '%s' requires inputs and outputs, got null",
                    function->name);
  sinter_status_code status = srtEnter(session);
  if (status)
    return status;
  session->addressesChanged = 1;
  session->ran = 0; // outputs are bound anew
  status = bindInputs(session, inputs);
  if (!status)
    status = bindOutputs(session, outputs);
  if (!status)
    status = srtRun(session);
  for (int32_t o = 0; !status && o < numOutputs; ++o) {
    const sinter_tensor_slot *slot = &session->outputSlots[o];
    const Binding *binding = &session->outputs[o];
    sinter_tensor *output = &outputs[o];
    output->dtype = function->outputs[o].dtype;
    output->rank = function->outputs[o].rank;
    memcpy(output->dims, slot->dims, (size_t)output->rank * sizeof *slot->dims);
    if (binding->bound && binding->copied)
      continue;                                           // in the caller's memory, in the caller's order
    output->data = binding->onDevice ? NULL : slot->data; // sinter_session_state_get brings it
    output->strides = NULL;
  }
  srtLeave(session);
  return status;
}
