// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "module.h"
#include "choice.h"
#include "file.h"
#include "smod.h"
#include "status.h"
#include "table.h"
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===- Life ---------------------------------------------------------------------------------------===//

void srtModuleHold(sinter_module *module) { atomic_fetch_add_explicit(&module->holds, 1, memory_order_relaxed); }

sinter_module *sinter_module_retain(sinter_module *module) {
  if (module)
    srtModuleHold(module);
  return module;
}

void sinter_module_close(sinter_module *module) {
  if (!module || atomic_fetch_sub_explicit(&module->holds, 1, memory_order_acq_rel) != 1)
    return;
  if (module->library)
    dlclose(module->library);
  srtUnloadDevices(&module->devices);
  srtUnloadCode(&module->code);
  sinter_smod_close(module->container);
  free(module->functions);
  free(module);
}

static sinter_module *newModule(void) {
  sinter_module *module = calloc(1, sizeof *module);
  if (!module) {
    srtError(SINTER_OUT_OF_MEMORY, "no memory for a module");
    return NULL;
  }
  module->holds = 1;
  return module;
}

/// Hands the module out when `status` is good, closes it otherwise. Keeps the message.
static sinter_status_code finish(sinter_module *module, sinter_status_code status, sinter_module **result) {
  if (!status)
    *result = module;
  else
    sinter_module_close(module);
  return status;
}

static sinter_status_code readOptions(const sinter_open_options *options, sinter_module **result,
                                      sinter_open_options *read) {
  memset(read, 0, sizeof *read);
  if (!result)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a place for the module, got null");
  *result = NULL;
  if (!options)
    return SINTER_OK;
  if (options->struct_size < sizeof read->struct_size)
    return srtError(SINTER_INVALID_ARGUMENT, "open options require their struct_size, got %u", options->struct_size);
  memcpy(read, options, options->struct_size < sizeof *read ? options->struct_size : sizeof *read);
  return SINTER_OK;
}

/// Code that is linked with the program has the host's kernels alone.
static sinter_status_code refuseDevice(const sinter_open_options *read) {
  return read->device ? srtError(SINTER_UNSUPPORTED, "the option device requires a .smod, got functions of the program")
                      : SINTER_OK;
}

sinter_status_code sinter_module_open_functions(const sinter_function *const *functions,
                                                const sinter_open_options *options, sinter_module **result) {
  sinter_open_options read;
  sinter_status_code status = readOptions(options, result, &read);
  if (!status)
    status = refuseDevice(&read);
  if (status)
    return status;
  if (!functions)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a table of functions, got null");
  sinter_module *module = newModule();
  if (!module)
    return SINTER_OUT_OF_MEMORY;
  return finish(module, srtTakeTable(module, functions), result);
}

sinter_status_code sinter_module_open_function(const sinter_function *function, const sinter_open_options *options,
                                               sinter_module **result) {
  sinter_open_options read;
  sinter_status_code status = readOptions(options, result, &read);
  if (!status)
    status = refuseDevice(&read);
  if (status)
    return status;
  if (!function)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a function, got null");
  sinter_module *module = newModule();
  if (!module)
    return SINTER_OUT_OF_MEMORY;
  const sinter_function *const table[] = {function, NULL};
  return finish(module, srtTakeTable(module, table), result);
}

//===- Files --------------------------------------------------------------------------------------===//

/// Looks `sinter_functions`, then STEM_functions up in the module's library.
static sinter_status_code findTable(sinter_module *module, const char *path) {
  const sinter_function *const *table = dlsym(module->library, "sinter_functions");
  if (table)
    return srtTakeTable(module, table);
  const char *stem = strrchr(path, '/');
  stem = stem ? stem + 1 : path;
  if (strncmp(stem, "lib", 3) == 0)
    stem += 3;
  char symbol[256];
  size_t length = 0;
  for (; stem[length] && strncmp(stem + length, ".so", 3) != 0 && length < sizeof symbol - sizeof "_functions";
       ++length)
    symbol[length] = isalnum((unsigned char)stem[length]) ? stem[length] : '_';
  strcpy(symbol + length, "_functions");
  table = dlsym(module->library, symbol);
  if (!table)
    return srtError(SINTER_CORRUPT, "'%s' requires the symbol sinter_functions or %s, found neither", path, symbol);
  return srtTakeTable(module, table);
}

static sinter_status_code openLibrary(sinter_module *module, const char *path) {
  // Without a slash dlopen would search the system's directories.
  char local[4096];
  if (!strchr(path, '/')) {
    if ((size_t)snprintf(local, sizeof local, "./%s", path) >= sizeof local)
      return srtError(SINTER_INVALID_ARGUMENT, "path is too long: '%s'", path);
  }
  module->library = dlopen(strchr(path, '/') ? path : local, RTLD_NOW | RTLD_LOCAL);
  if (!module->library)
    return srtError(SINTER_CORRUPT, "cannot load '%s': %s", path, dlerror());
  return findTable(module, path);
}

/// A section of another back end, or for another kind of machine, is no candidate.
static Candidate candidateOf(const sinter_smod_section *section) {
  int isOurs = section->kind == SINTER_SMOD_CODE && strcmp(section->back_end, "cpu") == 0 &&
               srtIsCodeOfMachine(section->data, section->bytes);
  return (Candidate){isOurs ? section->requirements : NULL, section->priority};
}

static sinter_status_code chooseCode(const sinter_smod *smod, const DeviceChoice *choice, int32_t *index) {
  *index = -1;
  int32_t count = sinter_smod_count(smod), numCode = 0;
  const char *path = srtSmodPath(smod);
  Candidate *candidates = calloc((size_t)count + 1, sizeof *candidates);
  if (!candidates)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  for (int32_t i = 0; i < count; ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    candidates[i] = candidateOf(section);
    numCode += section->kind == SINTER_SMOD_CODE;
  }
  // The best whose devices this machine has, too.
  char why[SRT_CHOICE_TEXT_BYTES], device[SRT_DEVICE_TEXT_BYTES] = "", other[SRT_DEVICE_TEXT_BYTES];
  while ((*index = srtChoose(candidates, count)) >= 0 &&
         !srtDevicesRun(smod, candidates[*index].priority, choice, *device ? other : device))
    candidates[*index].requirements = NULL;
  sinter_status_code status = SINTER_OK;
  if (!numCode)
    status = srtError(SINTER_CORRUPT, "module '%s' has no code section", path);
  else if (*index < 0 && *device && srtHasChoice(choice))
    status = srtError(SINTER_UNSUPPORTED, "module '%s' does not run on the device that is asked for: %s", path, device);
  else if (*index < 0 && *device)
    status = srtError(SINTER_UNSUPPORTED, "module '%s' has no code for this machine: %s", path, device);
  else if (*index < 0)
    status = srtError(SINTER_UNSUPPORTED, "module '%s' has no code for this machine: %s", path,
                      srtExplainChoice(candidates, count, why));
  free(candidates);
  return status;
}

sinter_status_code sinter_smod_choose(const sinter_smod *smod, int32_t *index) {
  if (!smod || !index)
    return srtError(SINTER_INVALID_ARGUMENT, "choosing requires a module and a place for the index, got null");
  return chooseCode(smod, NULL, index);
}

static sinter_status_code openContainer(sinter_module *module, const char *path, const SmodReading *reading,
                                        const DeviceChoice *choice) {
  int32_t best;
  sinter_status_code status = srtSmodOpen(path, reading, &module->container);
  if (!status)
    status = chooseCode(module->container, choice, &best);
  if (status)
    return status;
  const sinter_smod_section *section = sinter_smod_section_at(module->container, best);
  status = srtLoadDevices(module->container, best, choice, &module->devices);
  if (!status)
    status = srtLoadCode(path, section->data, section->bytes, &module->devices, &module->code);
  if (status)
    return status;
  srtSmodDropUnused(module->container, best);
  return srtTakeTable(module, module->code.functions);
}

sinter_status_code sinter_module_open(const char *path, const sinter_open_options *options, sinter_module **result) {
  sinter_open_options read;
  sinter_status_code status = readOptions(options, result, &read);
  if (status)
    return status;
  if (!path)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a path, got null");
  char magic[4];
  DeviceChoice choice;
  status = srtReadDeviceChoice(&read, &choice);
  if (!status)
    status = srtReadMagic(path, magic);
  if (status)
    return status;
  sinter_module *module = newModule();
  if (!module)
    return SINTER_OUT_OF_MEMORY;
  if (memcmp(magic, "SMOD", 4) == 0)
    status = openContainer(
        module, path,
        &(SmodReading){.skipWeightHash = read.skip_weight_hash, .mapWeights = read.map_weights, .sha256 = read.sha256},
        &choice);
  else if (srtHasChoice(&choice))
    status = srtError(SINTER_UNSUPPORTED, "the option device requires a .smod, got '%s'", path);
  else if (memcmp(magic, "\177ELF", 4) == 0 && read.sha256)
    status =
        srtError(SINTER_INVALID_ARGUMENT,
                 "an expected SHA-256 requires a .smod, got the shared library '%s', which the system loads", path);
  else if (memcmp(magic, "\177ELF", 4) == 0)
    status = openLibrary(module, path);
  else
    status = srtError(
        SINTER_CORRUPT, "'%s' requires the start of a .smod or of a shared library, got %02x %02x %02x %02x", path,
        (unsigned char)magic[0], (unsigned char)magic[1], (unsigned char)magic[2], (unsigned char)magic[3]);
  return finish(module, status, result);
}

//===- Queries ------------------------------------------------------------------------------------===//

int32_t sinter_module_num_functions(const sinter_module *module) { return module ? module->numFunctions : 0; }

const sinter_function *sinter_module_function(const sinter_module *module, int32_t index) {
  return module && index >= 0 && index < module->numFunctions ? module->functions[index] : NULL;
}

int32_t sinter_module_find_function(const sinter_module *module, const char *name) {
  for (int32_t i = 0; name && i < sinter_module_num_functions(module); ++i)
    if (strcmp(module->functions[i]->name, name) == 0)
      return i;
  return -1;
}

const void *srtModuleWeights(const sinter_module *module, const sinter_function *function) {
  if (function->weights || !module->container)
    return function->weights;
  return srtSmodWeights(module->container).data;
}

int64_t sinter_module_weights_bytes(const sinter_module *module) {
  // Functions share weights: each distinct block counts once, the mapped one by what is used of it.
  int64_t total = 0, mapped = 0;
  for (int32_t i = 0; i < sinter_module_num_functions(module); ++i) {
    const sinter_function *function = module->functions[i];
    int seen = 0;
    for (int32_t j = 0; j < i && function->weights; ++j)
      seen |= module->functions[j]->weights == function->weights;
    if (!function->weights && function->weights_bytes > mapped)
      mapped = function->weights_bytes;
    else if (function->weights && !seen)
      total += function->weights_bytes;
  }
  return total + mapped;
}

const void *sinter_module_manifest(const sinter_module *module, int64_t *bytes) {
  if (bytes)
    *bytes = 0;
  if (!module || !module->container)
    return NULL;
  for (int32_t i = 0; i < sinter_smod_count(module->container); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(module->container, i);
    if (section->kind != SINTER_SMOD_MANIFEST)
      continue;
    if (bytes)
      *bytes = section->bytes;
    return section->data;
  }
  return NULL;
}

static int32_t findTensor(const sinter_tensor_type *types, int32_t count, const char *name) {
  for (int32_t i = 0; name && i < count; ++i)
    if (strcmp(types[i].name, name) == 0)
      return i;
  return -1;
}

int32_t sinter_function_find_input(const sinter_function *function, const char *name) {
  return function ? findTensor(function->inputs, function->num_inputs, name) : -1;
}

int32_t sinter_function_find_output(const sinter_function *function, const char *name) {
  return function ? findTensor(function->outputs, function->num_outputs, name) : -1;
}
