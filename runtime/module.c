// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "module.h"
#include "cpu.h"
#include "file.h"
#include "smod.h"
#include "state.h"
#include "status.h"
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Far above any model; a table that says more is not one.
enum { maxTensors = 65536, maxFunctions = 65536 };

//===- Checks of a function table -----------------------------------------------------------------===//

static sinter_status_code checkTensors(const sinter_function *function, const sinter_tensor_type *types, int32_t count,
                                       const char *kind) {
  if (count < 0 || count > maxTensors || (count && !types))
    return srtError(SINTER_CORRUPT, "function '%s' states %d %ss", function->name, count, kind);
  for (int32_t i = 0; i < count; ++i) {
    const sinter_tensor_type *type = &types[i];
    if (!type->name || sinter_dtype_bytes(type->dtype) == 0 || type->rank < 0 || type->rank > SINTER_MAX_RANK ||
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
  char missing[65];
  if (!srtCpuHas(function->cpu_features, missing, sizeof missing))
    return srtError(SINTER_UNSUPPORTED, "function '%s' requires the CPU feature %s, which this machine does not have",
                    function->name, missing);
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

/// Checks the table that `module->functions` points to and counts it.
static sinter_status_code checkTable(sinter_module *module) {
  int64_t mapped = 0;
  if (module->container)
    mapped = srtSmodWeights(module->container).bytes;
  for (; module->functions[module->numFunctions]; ++module->numFunctions) {
    const sinter_function *function = module->functions[module->numFunctions];
    if (module->numFunctions == maxFunctions)
      return srtError(SINTER_CORRUPT, "module has more than %d functions", maxFunctions);
    sinter_status_code status = checkFunction(function);
    if (status)
      return status;
    if (!function->weights && function->weights_bytes > mapped)
      return srtError(SINTER_CORRUPT,
                      "function '%s' requires %" PRId64 " bytes of weights beside its code, got %" PRId64,
                      function->name, function->weights_bytes, mapped);
  }
  if (module->numFunctions == 0)
    return srtError(SINTER_CORRUPT, "module has no functions");
  return SINTER_OK;
}

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
  if (module->codeFile >= 0)
    close(module->codeFile);
  sinter_smod_close(module->container);
  free(module);
}

static sinter_module *newModule(void) {
  sinter_module *module = calloc(1, sizeof *module);
  if (!module) {
    srtError(SINTER_OUT_OF_MEMORY, "no memory for a module");
    return NULL;
  }
  module->holds = 1;
  module->codeFile = -1;
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

sinter_status_code sinter_module_open_functions(const sinter_function *const *functions,
                                                const sinter_open_options *options, sinter_module **result) {
  sinter_open_options read;
  sinter_status_code status = readOptions(options, result, &read);
  if (status)
    return status;
  if (!functions)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a table of functions, got null");
  sinter_module *module = newModule();
  if (!module)
    return SINTER_OUT_OF_MEMORY;
  module->functions = functions;
  return finish(module, checkTable(module), result);
}

sinter_status_code sinter_module_open_function(const sinter_function *function, const sinter_open_options *options,
                                               sinter_module **result) {
  sinter_open_options read;
  sinter_status_code status = readOptions(options, result, &read);
  if (status)
    return status;
  if (!function)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a function, got null");
  sinter_module *module = newModule();
  if (!module)
    return SINTER_OUT_OF_MEMORY;
  module->single[0] = function;
  module->functions = module->single;
  return finish(module, checkTable(module), result);
}

//===- Files --------------------------------------------------------------------------------------===//

/// Looks `sinter_functions`, then STEM_functions up in the module's library.
static sinter_status_code findTable(sinter_module *module, const char *path) {
  module->functions = dlsym(module->library, "sinter_functions");
  if (module->functions)
    return checkTable(module);
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
  module->functions = dlsym(module->library, symbol);
  if (!module->functions)
    return srtError(SINTER_CORRUPT, "'%s' requires the symbol sinter_functions or %s, found neither", path, symbol);
  return checkTable(module);
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

/// Loads a code section: an ELF image that needs no file. The memfd stays open as long as the library,
/// because dlopen knows libraries by name and its name is its number.
static sinter_status_code loadCode(sinter_module *module, const char *path, const sinter_smod_section *code) {
  module->codeFile = memfd_create("sinter-module", MFD_CLOEXEC);
  if (module->codeFile < 0)
    return srtError(SINTER_IO, "cannot make a memory file for the code of '%s': %s", path, strerror(errno));
  sinter_status_code status = srtWriteAll(module->codeFile, code->data, code->bytes, path);
  if (status)
    return status;
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", module->codeFile);
  module->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!module->library)
    return srtError(SINTER_CORRUPT, "cannot load the code of '%s': %s", path, dlerror());
  return findTable(module, path);
}

static sinter_status_code openContainer(sinter_module *module, const char *path, int skipWeightHash) {
  sinter_status_code status = srtSmodOpen(path, skipWeightHash, &module->container);
  if (status)
    return status;
  const sinter_smod_section *best = NULL;
  char missing[65] = "", lacking[65] = "";
  int32_t numCode = 0;
  for (int32_t i = 0; i < sinter_smod_count(module->container); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(module->container, i);
    if (section->kind != SINTER_SMOD_CODE)
      continue;
    ++numCode;
    if (!srtCpuHas(section->requirements, missing, sizeof missing))
      memcpy(lacking, missing, sizeof lacking);
    else if (!best || section->priority > best->priority)
      best = section;
  }
  if (!numCode)
    return srtError(SINTER_CORRUPT, "module '%s' has no code section", path);
  if (!best)
    return srtError(SINTER_UNSUPPORTED, "module '%s' has code for other CPUs only: this machine lacks %s", path,
                    lacking);
  return loadCode(module, path, best);
}

sinter_status_code sinter_module_open(const char *path, const sinter_open_options *options, sinter_module **result) {
  sinter_open_options read;
  sinter_status_code status = readOptions(options, result, &read);
  if (status)
    return status;
  if (!path)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a path, got null");
  char magic[4];
  status = srtReadMagic(path, magic);
  if (status)
    return status;
  sinter_module *module = newModule();
  if (!module)
    return SINTER_OUT_OF_MEMORY;
  if (memcmp(magic, "SMOD", 4) == 0)
    status = openContainer(module, path, read.skip_weight_hash);
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
