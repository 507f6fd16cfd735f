// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caller's tensors: checks against the signature, overlap, and copies for those that compiled code
// cannot read or write in place.

#include "dtypes.h"
#include "session.h"
#include "strided.h"
#include <inttypes.h>
#include <string.h>

_Alignas(SRT_ALIGNMENT) const char srtEmptyData[SRT_ALIGNMENT];

//===- One tensor ---------------------------------------------------------------------------------===//

int srtExtent(const sinter_tensor *tensor, int64_t bytes, uintptr_t *begin, uintptr_t *end) {
  int64_t elementBytes = sinter_dtype_bytes(tensor->dtype), low = 0, high = elementBytes;
  if (!tensor->strides) {
    high = bytes;
  } else {
    for (int32_t i = 0; i < tensor->rank; ++i) {
      int64_t reach;
      if (__builtin_mul_overflow(tensor->dims[i] - 1, tensor->strides[i], &reach) ||
          __builtin_mul_overflow(reach, elementBytes, &reach) ||
          __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
        return 0;
    }
  }
  uintptr_t base = (uintptr_t)tensor->data, depth = 0 - (uintptr_t)low;
  return !__builtin_sub_overflow(base, depth, begin) && !__builtin_add_overflow(base, (uintptr_t)high, end);
}

/// Steps along one axis and how many there are.
typedef struct Steps {
  uint64_t stride, count;
} Steps;

/// Whether some way of at most `count` steps to either side along each axis, not all zero, leads from `distance` to 0:
/// then two elements share an address. `steps` are in order of falling strides, so that few numbers of steps can still
/// be made good by the axes that follow. Gives up, with 1, after a number of tries that no tensor of a program needs.
static int returns(const Steps *steps, int32_t count, int64_t distance, int moved, int32_t *tries) {
  if (count == 0)
    return moved && distance == 0;
  uint64_t reach = 0;
  for (int32_t k = 1; k < count; ++k)
    reach += steps[k].stride * steps[k].count;
  int64_t stride = (int64_t)steps->stride, most = (int64_t)steps->count;
  // distance + n * stride must lie within [-reach, reach]; by symmetry the first axis that moves moves forward
  for (int64_t n = moved ? -most : 0; n <= most; ++n) {
    int64_t at = distance + n * stride;
    if (at < 0 && (uint64_t)-at > reach) {
      if (stride == 0)
        return 0;
      int64_t behind = (-at - (int64_t)reach + stride - 1) / stride;
      if (behind > most - n)
        return 0;
      n += behind;
      at += behind * stride;
    }
    if (at > 0 && (uint64_t)at > reach)
      return 0;
    if (--*tries < 0 || returns(steps + 1, count - 1, at, moved || n != 0, tries))
      return 1;
  }
  return 0;
}

/// Whether two elements of a non-empty tensor whose extent is known share an address.
static int overlapsItself(const sinter_tensor *tensor) {
  Steps steps[SINTER_MAX_RANK];
  int32_t count = 0;
  for (int32_t d = 0; d < tensor->rank; ++d) {
    if (tensor->dims[d] == 1)
      continue;
    int64_t stride = tensor->strides[d];
    Steps next = {stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride, (uint64_t)tensor->dims[d] - 1};
    int32_t place = count++;
    for (; place > 0 && steps[place - 1].stride < next.stride; --place)
      steps[place] = steps[place - 1];
    steps[place] = next;
  }
  uint64_t reach = 0;
  int nested = 1; // each stride leaps over all that smaller ones reach, as in any part of a dense tensor
  for (int32_t k = count; k-- > 0;) {
    nested &= steps[k].stride > reach;
    reach += steps[k].stride * steps[k].count;
  }
  int32_t tries = 100000;
  return !nested && (reach > INT64_MAX / 4 || returns(steps, count, 0, 0, &tries)); // no memory is as large
}

sinter_status_code srtBind(Binding *binding, const sinter_tensor *tensor, const sinter_tensor_type *type,
                           const char *kind) {
  char text[SRT_DIMS_TEXT_BYTES];
  if (tensor->dtype != type->dtype)
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' requires dtype %s, got %s", kind, type->name,
                    sinter_dtype_name(type->dtype), sinter_dtype_name(tensor->dtype));
  if (tensor->rank < 0 || tensor->rank > SINTER_MAX_RANK || tensor->rank != type->rank)
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' requires rank %d, got %d", kind, type->name, type->rank,
                    tensor->rank);
  int64_t count, bytes;
  if (!srtTensorBytes(tensor->dtype, tensor->rank, tensor->dims, &count, &bytes))
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' requires dims of 0 or more and a size below 2^63 bytes, got %s",
                    kind, type->name, srtDimsText(tensor->dims, tensor->rank, text));
  if (!tensor->data && count)
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' requires data, got null", kind, type->name);

  binding->tensor = *tensor;
  binding->tensor.strides = NULL;
  binding->count = count;
  binding->bytes = bytes;
  binding->begin = binding->end = 0;
  binding->bound = 0;
  if (count && !srtIsDense(tensor)) {
    if (sinter_dtype_bytes(tensor->dtype) == 0)
      return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' of %s requires row-major elements without gaps, got strides",
                      kind, type->name, sinter_dtype_name(tensor->dtype));
    memcpy(binding->strides, tensor->strides, (size_t)tensor->rank * sizeof *tensor->strides);
    binding->tensor.strides = binding->strides;
  }
  if (count && !srtExtent(&binding->tensor, bytes, &binding->begin, &binding->end))
    return srtError(SINTER_INVALID_ARGUMENT, "%s '%s' requires strides inside the address space", kind, type->name);
  binding->bound = 1;
  return SINTER_OK;
}

int srtRebind(Binding *binding, const sinter_tensor *tensor) {
  const sinter_tensor *bound = &binding->tensor;
  if (!binding->bound || binding->there || binding->given || tensor->strides || bound->strides ||
      tensor->dtype != bound->dtype || tensor->rank != bound->rank || (uintptr_t)tensor->data % SRT_ALIGNMENT ||
      (!tensor->data && binding->count))
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

//===- Symbols ------------------------------------------------------------------------------------===//

/// Checks the dims of input `index` and binds the symbols that it is the first to use.
static sinter_status_code bindSymbols(sinter_session *session, int32_t index) {
  const sinter_function *function = session->function;
  const sinter_tensor_type *type = &function->inputs[index];
  const sinter_tensor *tensor = &session->inputs[index].tensor;
  for (int32_t d = 0; d < type->rank; ++d) {
    int64_t declared = type->dims[d], size = tensor->dims[d];
    if (declared == SINTER_DIM_UNKNOWN)
      continue;
    if (declared >= 0) {
      if (size != declared)
        return srtError(SINTER_INVALID_ARGUMENT, "input '%s' requires %" PRId64 " in dim %d, got %" PRId64, type->name,
                        declared, d, size);
      continue;
    }
    int64_t symbol = -1 - declared;
    if (session->symbols[symbol] < 0) {
      session->symbols[symbol] = size;
      session->symbolInput[symbol] = index;
      session->symbolDim[symbol] = d;
    } else if (session->symbols[symbol] != size) {
      return srtError(SINTER_INVALID_ARGUMENT,
                      "input '%s' requires %s = %" PRId64 " in dim %d, as in dim %d of input '%s', got %" PRId64,
                      type->name, function->symbol_names[symbol], session->symbols[symbol], d,
                      session->symbolDim[symbol], function->inputs[session->symbolInput[symbol]].name, size);
    }
  }
  return SINTER_OK;
}

//===- All of them --------------------------------------------------------------------------------===//

static int overlap(const Binding *a, const Binding *b) { return a->begin < b->end && b->begin < a->end; }

/// 1 + the output in whose session memory a tensor lies, or 0.
static int32_t findOwnOutput(const sinter_session *session, const Binding *tensor) {
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    const Block *own = &session->outputs[o].own;
    if (own->data && tensor->begin < (uintptr_t)own->data + (uintptr_t)own->bytes && (uintptr_t)own->data < tensor->end)
      return o + 1;
  }
  return 0;
}

static int inPlace(const Binding *binding) {
  return !binding->tensor.strides && (uintptr_t)binding->tensor.data % SRT_ALIGNMENT == 0;
}

/// Overlaps, and which bindings go through copies: what addresses decide.
static sinter_status_code bindAddresses(sinter_session *session) {
  const sinter_function *function = session->function;
  sinter_status_code status = srtBindThere(session);
  if (status)
    return status;
  for (int32_t k = 0; k < session->numCallerInputs; ++k) {
    Binding *input = &session->inputs[session->callerInputs[k]];
    input->fromOutput = input->count ? findOwnOutput(session, input) : 0;
    input->copied = input->count && !input->there &&
                    (!inPlace(input) || input->fromOutput || srtStatesOverlap(session, input->begin, input->end));
  }
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    Binding *output = &session->outputs[o];
    if (!output->bound)
      continue;
    output->copied = output->count && !output->there && !inPlace(output);
    if (output->copied && output->tensor.strides && overlapsItself(&output->tensor))
      return srtError(SINTER_INVALID_ARGUMENT, "output '%s' requires strides by which no two elements share an address",
                      function->outputs[o].name);
    // Its own memory is what a call returned that is made again with the same tensors.
    int32_t own = output->count ? findOwnOutput(session, output) : 0;
    if (own && (own != o + 1 || output->copied))
      return srtError(SINTER_INVALID_ARGUMENT, "output '%s' overlaps the session's own memory of output '%s'",
                      function->outputs[o].name, function->outputs[own - 1].name);
    if (output->count && srtStatesOverlap(session, output->begin, output->end))
      return srtError(SINTER_INVALID_ARGUMENT, "output '%s' overlaps a state of the session",
                      function->outputs[o].name);
    for (int32_t j = 0; j < session->numCallerInputs; ++j) {
      int32_t i = session->callerInputs[j];
      if (overlap(output, &session->inputs[i]))
        return srtError(SINTER_INVALID_ARGUMENT, "output '%s' overlaps input '%s'", function->outputs[o].name,
                        function->inputs[i].name);
    }
    for (int32_t j = 0; j < k; ++j) {
      int32_t p = session->callerOutputs[j];
      if (session->outputs[p].bound && overlap(output, &session->outputs[p]))
        return srtError(SINTER_INVALID_ARGUMENT, "output '%s' overlaps output '%s'", function->outputs[o].name,
                        function->outputs[p].name);
    }
  }
  return SINTER_OK;
}

sinter_status_code srtBindAll(sinter_session *session) {
  const sinter_function *function = session->function;
  if (session->bindingsChanged) {
    for (int32_t s = 0; s < function->num_symbols; ++s)
      session->symbols[s] = -1;
    for (int32_t i = 0; i < function->num_inputs; ++i) {
      Binding *input = &session->inputs[i];
      if (!input->bound)
        return srtError(SINTER_INVALID_ARGUMENT, "input '%s' of function '%s' is not set", function->inputs[i].name,
                        function->name);
      sinter_status_code status = bindSymbols(session, i);
      if (status)
        return status;
      if (input->tensor.rank > 0)
        memcpy(session->inputSlots[i].dims, input->tensor.dims,
               (size_t)input->tensor.rank * sizeof *input->tensor.dims);
    }
  }
  return bindAddresses(session);
}

//===- Copies -------------------------------------------------------------------------------------===//

sinter_status_code srtLoadInputs(sinter_session *session) {
  sinter_status_code placed = srtStatesPlace(session);
  if (placed)
    return placed;
  for (int32_t k = 0; k < session->numCallerInputs; ++k) {
    int32_t i = session->callerInputs[k];
    Binding *input = &session->inputs[i];
    sinter_tensor_slot *slot = &session->inputSlots[i];
    slot->data = input->count ? input->tensor.data : (void *)srtEmptyData;
    int truths = input->count && !input->there && session->function->inputs[i].dtype == SINTER_I1;
    int otherTruths = truths && !input->tensor.strides && srtHasOtherTruths(input->tensor.data, input->bytes);
    if (!input->copied && !otherTruths)
      continue;
    if (!srtReserve(&session->memory, InputMemory, &input->own, input->bytes))
      return srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes to copy input '%s'", input->bytes,
                      session->function->inputs[i].name);
    if (input->tensor.strides)
      srtCopyToDense(&input->tensor, input->own.data);
    else
      memcpy(input->own.data, input->tensor.data, (size_t)input->bytes);
    if (truths)
      srtNormalizeTruths(input->own.data, input->bytes);
    slot->data = input->own.data;
  }
  return SINTER_OK;
}

/// An error when this call did not produce all outputs that are states.
static sinter_status_code checkStates(const sinter_session *session) {
  if (session->numCallerOutputs == session->function->num_outputs)
    return SINTER_OK;
  for (int32_t o = 0; o < session->function->num_outputs; ++o)
    if (session->stateOutputs[o].call != session->call && session->outputs[o].state)
      return srtError(SINTER_RUNTIME_ERROR, "function '%s' did not produce output '%s'", session->function->name,
                      session->function->outputs[o].name);
  return SINTER_OK;
}

sinter_status_code srtStoreOutputs(sinter_session *session) {
  const sinter_function *function = session->function;
  sinter_status_code status = checkStates(session);
  if (status)
    return status;
  for (int32_t k = 0; k < session->numCallerOutputs; ++k) {
    int32_t o = session->callerOutputs[k];
    const sinter_tensor_type *type = &function->outputs[o];
    const sinter_tensor_slot *slot = &session->outputSlots[o];
    Binding *output = &session->outputs[o];
    if (!slot->data)
      return srtError(SINTER_RUNTIME_ERROR, "function '%s' did not produce output '%s'", function->name, type->name);
    int64_t count = 0, bytes = 0;
    srtTensorBytes(type->dtype, type->rank, slot->dims, &count, &bytes);
    for (int32_t d = 0; d < type->rank; ++d) {
      int64_t declared = type->dims[d], size = slot->dims[d];
      if (declared < 0 && declared != SINTER_DIM_UNKNOWN)
        declared = session->symbols[-1 - declared];
      if (declared >= 0 && size != declared)
        return srtError(SINTER_RUNTIME_ERROR, "output '%s' requires %" PRId64 " in dim %d, its code produced %" PRId64,
                        type->name, declared, d, size);
    }
    if (!output->bound || !output->copied || !count)
      continue;
    if (output->tensor.strides)
      srtCopyFromDense(&output->tensor, slot->data);
    else
      memcpy(output->tensor.data, slot->data, (size_t)bytes);
  }
  return SINTER_OK;
}
