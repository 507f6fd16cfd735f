// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run and its bindings in one call. Callers that come again and again bring the same shapes at other addresses: then
// nothing but addresses is checked.

#include "session.h"
#include <string.h>

/// `isShort`: the lists leave states out.
static sinter_status_code bindInputs(sinter_session *session, const sinter_tensor *inputs, int isShort) {
  for (int32_t k = 0; k < session->numCallerInputs; ++k) {
    int32_t i = session->callerInputs[k];
    const sinter_tensor *input = &inputs[isShort ? k : i];
    if (srtRebind(&session->inputs[i], input))
      continue;
    sinter_status_code status = srtSetInput(session, i, input);
    if (status)
      return status;
  }
  return SINTER_OK;
}

static sinter_status_code bindOutputs(sinter_session *session, const sinter_tensor *outputs, int isShort) {
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    Binding *binding = &session->outputs[o];
    const sinter_tensor *output = &outputs[isShort ? k : o];
    if (!output->data) {
      srtUnbind(binding);
      continue;
    }
    if (srtRebind(binding, output))
      continue;
    sinter_status_code status = srtSetOutput(session, o, output);
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
  int shortInputs = numInputs == session->numCallerInputs, shortOutputs = numOutputs == session->numCallerOutputs;
  if ((!shortInputs && numInputs != function->num_inputs) || (!shortOutputs && numOutputs != function->num_outputs))
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
  status = bindInputs(session, inputs, shortInputs);
  if (!status)
    status = bindOutputs(session, outputs, shortOutputs);
  if (!status)
    status = srtRun(session);
  for (int32_t k = 0; !status && k < numOutputs; ++k) {
    int32_t o = shortOutputs ? session->callerOutputs[k] : k;
    const sinter_tensor_slot *slot = &session->outputSlots[o];
    const Binding *binding = &session->outputs[o];
    sinter_tensor *output = &outputs[k];
    output->dtype = function->outputs[o].dtype;
    output->rank = function->outputs[o].rank;
    memcpy(output->dims, slot->dims, (size_t)output->rank * sizeof *slot->dims);
    if (binding->bound && binding->copied)
      continue; // in the caller's memory, in the caller's order
    output->data = binding->onDevice ? NULL
                   : binding->state  ? binding->state->current.data
                                     : slot->data; // sinter_session_state_get brings it
    output->strides = NULL;
  }
  srtLeave(session);
  return status;
}
