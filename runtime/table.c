// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "table.h"
#include "choice.h"
#include "dtypes.h"
#include "smod.h"
#include "state.h"
#include "status.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/// Far above any model; a table that says more is not one.
enum { maxTensors = 65536, maxFunctions = 65536, maxVariants = 64 };

//===- Places --------------------------------------------------------------------------------------===//
//
// A section is checked by its hash, which finds damage. What was damaged before it was hashed must not crash, either.

static int holds(const sinter_module *module, const void *pointer, int64_t bytes) {
  return pointer && (!module->code.base || srtCodeHolds(&module->code, pointer, bytes));
}

static int holdsText(const sinter_module *module, const char *text) {
  const Code *code = &module->code;
  return text &&
         (!code->base || (srtCodeHolds(code, text, 1) && memchr(text, 0, (size_t)(code->base + code->bytes - text))));
}

/// An array may be missing when it is empty.
static int holdsArray(const sinter_module *module, const void *array, int32_t count, size_t each) {
  return count == 0 || (count > 0 && count <= maxTensors && holds(module, array, count * (int64_t)each) &&
                        (uintptr_t)array % _Alignof(void *) == 0);
}

static int holdsTensors(const sinter_module *module, const sinter_tensor_type *types, int32_t count) {
  if (!holdsArray(module, types, count, sizeof *types))
    return 0;
  for (int32_t i = 0; i < count; ++i)
    if (!holdsText(module, types[i].name) || types[i].rank < 0 || types[i].rank > SINTER_MAX_RANK ||
        !holdsArray(module, types[i].dims, types[i].rank, sizeof *types[i].dims))
      return 0;
  return 1;
}

static int32_t numVariants(const sinter_function *function) {
  return function->struct_size >= offsetof(sinter_function, priority) + sizeof function->priority
             ? function->num_variants
             : 0;
}

/// True when all that the function's description points to lies in the module's code.
static int holdsFunction(const sinter_module *module, const sinter_function *function) {
  size_t first = offsetof(sinter_function, num_states); // before states were added
  if (!module->code.base)
    return 1;
  if (!holds(module, function, (int64_t)first) || (uintptr_t)function % _Alignof(sinter_function) ||
      function->struct_size < first || !holds(module, function, function->struct_size) ||
      !holdsText(module, function->name) || !srtCodeRuns(&module->code, (const void *)(uintptr_t)function->entry) ||
      (function->weights &&
       (function->weights_bytes < 0 || !holds(module, function->weights, function->weights_bytes))) ||
      (function->cpu_features && !holdsText(module, function->cpu_features)) ||
      !holdsTensors(module, function->inputs, function->num_inputs) ||
      !holdsTensors(module, function->outputs, function->num_outputs) ||
      !holdsArray(module, function->symbol_names, function->num_symbols, sizeof(char *)) ||
      !holdsArray(module, function->states, srtNumStates(function), sizeof *function->states) ||
      !holdsArray(module, function->variants, numVariants(function), sizeof(void *)))
    return 0;
  for (int32_t s = 0; s < function->num_symbols; ++s)
    if (!holdsText(module, function->symbol_names[s]))
      return 0;
  for (int32_t s = 0; s < srtNumStates(function); ++s)
    if (!holdsText(module, function->states[s].name))
      return 0;
  return 1;
}

static sinter_status_code checkPlaces(const sinter_module *module, const sinter_function *function) {
  if (holdsFunction(module, function))
    return SINTER_OK;
  return srtError(SINTER_CORRUPT, "description of a function requires all that it names inside its code");
}

//===- Values --------------------------------------------------------------------------------------===//

static sinter_status_code checkTensors(const sinter_function *function, const sinter_tensor_type *types, int32_t count,
                                       const char *kind) {
  if (count < 0 || count > maxTensors || (count && !types))
    return srtError(SINTER_CORRUPT, "function '%s' states %d %ss", function->name, count, kind);
  for (int32_t i = 0; i < count; ++i) {
    const sinter_tensor_type *type = &types[i];
    if (!type->name || sinter_dtype_bits(type->dtype) == 0 || type->rank < 0 || type->rank > SINTER_MAX_RANK ||
        (type->rank && !type->dims))
      return srtError(SINTER_CORRUPT, "%s %d of function '%s' has no name, an unknown dtype (%d) or a bad rank (%d)",
                      kind, i, function->name, type->dtype, type->rank);
    for (int32_t d = 0; d < type->rank; ++d)
      if (type->dims[d] != SINTER_DIM_UNKNOWN && type->dims[d] < 0 && -1 - type->dims[d] >= function->num_symbols)
        return srtError(SINTER_CORRUPT, "%s '%s' of function '%s' uses symbol %" PRId64 " of %d", kind, type->name,
                        function->name, -1 - type->dims[d], function->num_symbols);
  }
  return SINTER_OK;
}

static sinter_status_code checkFunction(const sinter_function *function) {
  if (function->abi_version != SINTER_ABI_VERSION)
    return srtError(SINTER_UNSUPPORTED, "compiled code requires runtime ABI %u, this runtime has %u",
                    function->abi_version, SINTER_ABI_VERSION);
  size_t firstSize = offsetof(sinter_function, num_states); // before states were added
  if (function->struct_size < firstSize)
    return srtError(SINTER_CORRUPT, "function description requires %zu bytes, got %u", firstSize,
                    function->struct_size);
  if (!function->name || !function->entry)
    return srtError(SINTER_CORRUPT, "function description without a name or an entry point");
  if (function->num_symbols < 0 || function->num_symbols > maxTensors ||
      (function->num_symbols && !function->symbol_names))
    return srtError(SINTER_CORRUPT, "function '%s' states %d symbols", function->name, function->num_symbols);
  for (int32_t s = 0; s < function->num_symbols; ++s)
    if (!function->symbol_names[s])
      return srtError(SINTER_CORRUPT, "symbol %d of function '%s' has no name", s, function->name);
  if (function->weights_bytes < 0)
    return srtError(SINTER_CORRUPT, "function '%s' states %" PRId64 " bytes of weights", function->name,
                    function->weights_bytes);
  sinter_status_code status = checkTensors(function, function->inputs, function->num_inputs, "input");
  if (!status)
    status = checkTensors(function, function->outputs, function->num_outputs, "output");
  return status ? status : srtCheckStates(function);
}

//===- Variants ------------------------------------------------------------------------------------===//

static int sameTensors(const sinter_tensor_type *a, const sinter_tensor_type *b, int32_t count) {
  for (int32_t i = 0; i < count; ++i)
    if (strcmp(a[i].name, b[i].name) != 0 || a[i].dtype != b[i].dtype || a[i].rank != b[i].rank ||
        (a[i].rank && memcmp(a[i].dims, b[i].dims, (size_t)a[i].rank * sizeof *a[i].dims) != 0))
      return 0;
  return 1;
}

/// True when the two are called alike and keep the same states.
static int sameSignature(const sinter_function *a, const sinter_function *b) {
  if (strcmp(a->name, b->name) != 0 || a->num_inputs != b->num_inputs || a->num_outputs != b->num_outputs ||
      a->num_symbols != b->num_symbols || srtNumStates(a) != srtNumStates(b) ||
      !sameTensors(a->inputs, b->inputs, a->num_inputs) || !sameTensors(a->outputs, b->outputs, a->num_outputs))
    return 0;
  for (int32_t s = 0; s < a->num_symbols; ++s)
    if (strcmp(a->symbol_names[s], b->symbol_names[s]) != 0)
      return 0;
  for (int32_t s = 0; s < srtNumStates(a); ++s)
    if (strcmp(a->states[s].name, b->states[s].name) != 0 || a->states[s].input != b->states[s].input ||
        a->states[s].output != b->states[s].output)
      return 0;
  return 1;
}

static Candidate candidateOf(const sinter_function *function) {
  int hasPriority = function->struct_size >= offsetof(sinter_function, priority) + sizeof function->priority;
  return (Candidate){function->cpu_features ? function->cpu_features : "", hasPriority ? function->priority : 0};
}

/// Sets `*chosen` to `function` or the variant of it that this machine runs best.
static sinter_status_code chooseVariant(const sinter_module *module, const sinter_function *function,
                                        const sinter_function **chosen) {
  sinter_status_code status = checkPlaces(module, function);
  if (!status)
    status = checkFunction(function);
  if (status)
    return status;
  int32_t count = numVariants(function);
  if (count < 0 || count >= maxVariants || (count && !function->variants))
    return srtError(SINTER_CORRUPT, "function '%s' states %d variants", function->name, count);
  Candidate candidates[maxVariants] = {candidateOf(function)};
  for (int32_t v = 0; v < count; ++v) {
    const sinter_function *variant = function->variants[v];
    status = variant ? checkPlaces(module, variant)
                     : srtError(SINTER_CORRUPT, "function '%s' has a variant that is null", function->name);
    if (!status)
      status = checkFunction(variant);
    if (status)
      return status;
    if (!sameSignature(function, variant))
      return srtError(SINTER_CORRUPT, "variant %d of function '%s' requires its inputs, outputs and states", v,
                      function->name);
    candidates[v + 1] = candidateOf(variant);
  }
  int32_t best = srtChoose(candidates, count + 1);
  char why[SRT_CHOICE_TEXT_BYTES];
  if (best < 0)
    return srtError(SINTER_UNSUPPORTED, "function '%s' has no code for this machine: %s", function->name,
                    srtExplainChoice(candidates, count + 1, why));
  *chosen = best ? function->variants[best - 1] : function;
  return SINTER_OK;
}

//===- Tables --------------------------------------------------------------------------------------===//

static sinter_status_code countFunctions(const sinter_module *module, const sinter_function *const *table,
                                         int32_t *count) {
  for (*count = 0;; ++*count) {
    if (!holds(module, &table[*count], sizeof *table))
      return srtError(SINTER_CORRUPT, "table of functions requires an end inside its code");
    if (!table[*count])
      break;
    if (*count == maxFunctions)
      return srtError(SINTER_CORRUPT, "module has more than %d functions", maxFunctions);
  }
  return *count ? SINTER_OK : srtError(SINTER_CORRUPT, "module has no functions");
}

sinter_status_code srtTakeTable(sinter_module *module, const sinter_function *const *table) {
  int32_t count;
  sinter_status_code status = countFunctions(module, table, &count);
  if (status)
    return status;
  module->functions = calloc((size_t)count, sizeof *module->functions);
  if (!module->functions)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for %d functions", count);
  int64_t beside = module->container ? srtSmodWeights(module->container).bytes : 0;
  for (int32_t i = 0; i < count; ++i) {
    const sinter_function *function = NULL;
    status = chooseVariant(module, table[i], &function);
    if (status)
      return status;
    if (!function->weights && function->weights_bytes > beside)
      return srtError(SINTER_CORRUPT,
                      "function '%s' requires %" PRId64 " bytes of weights beside its code, got %" PRId64,
                      function->name, function->weights_bytes, beside);
    module->functions[module->numFunctions++] = function;
  }
  return SINTER_OK;
}
