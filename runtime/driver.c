// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "driver.h"
#include "devices.h"
#include "status.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { maxDrivers = 16, maxPath = 4096 };

typedef struct Known {
  char name[SINTER_DRIVER_NAME_BYTES];
  const sinter_driver *driver;
} Known;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Known known[maxDrivers]; // those with names, in front

/// What a file may call a back end, as part of names of files and symbols.
static int isName(const char *name) {
  size_t length = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
  return length > 0 && length < SINTER_DRIVER_NAME_BYTES && !name[length];
}

static sinter_status_code check(const char *name, const sinter_driver *driver) {
  if (!driver->name || strcmp(driver->name, name) != 0 || !driver->runs || !driver->load || !driver->unload)
    return srtError(SINTER_INVALID_ARGUMENT, "driver '%s' requires its name and functions", name);
  if (driver->version != SINTER_DRIVER_VERSION || driver->struct_size < sizeof *driver)
    return srtError(SINTER_UNSUPPORTED, "driver '%s' has version %u, this runtime takes %u", name, driver->version,
                    SINTER_DRIVER_VERSION);
  return SINTER_OK;
}

/// With the mutex: the place of `name`, which is made if there is room; null without.
static Known *placeOf(const char *name) {
  for (int i = 0; i < maxDrivers; ++i) {
    if (!known[i].name[0])
      strcpy(known[i].name, name);
    if (strcmp(known[i].name, name) == 0)
      return &known[i];
  }
  return NULL;
}

static sinter_status_code keep(const char *name, const sinter_driver *driver) {
  pthread_mutex_lock(&mutex);
  Known *place = placeOf(name);
  if (place)
    place->driver = driver;
  pthread_mutex_unlock(&mutex);
  return place ? SINTER_OK : srtError(SINTER_LIMIT, "a process has at most %d drivers", maxDrivers);
}

sinter_status_code sinter_driver_register(const char *name, const sinter_driver *driver) {
  if (!isName(name))
    return srtError(SINTER_INVALID_ARGUMENT,
                    "a driver requires a name of small letters, digits and underscores, got '%.64s'", name ? name : "");
  sinter_status_code status = driver ? check(name, driver) : SINTER_OK;
  return status ? status : keep(name, driver);
}

/// The folder of the file that holds this code; empty for a program.
static void findOwnFolder(char folder[maxPath]) {
  Dl_info info;
  folder[0] = 0;
  if (!dladdr((const void *)known, &info) || !info.dli_fname || !strchr(info.dli_fname, '/'))
    return;
  snprintf(folder, maxPath, "%s", info.dli_fname);
  *strrchr(folder, '/') = 0;
}

/// Opens libsinter_NAME.so; null, with what the last place said in `why`.
static void *openLibrary(const char *name, char why[SINTER_DRIVER_TEXT_BYTES]) {
  const char *given = secure_getenv("SINTER_DRIVER_DIR");
  char own[maxPath], path[maxPath + 64];
  findOwnFolder(own);
  const char *folders[] = {given ? given : "", own, NULL};
  snprintf(why, SINTER_DRIVER_TEXT_BYTES, "found no libsinter_%s.so", name);
  for (int i = 0; i < 3; ++i) {
    if (folders[i] && !*folders[i])
      continue;
    snprintf(path, sizeof path, "%.4000s%slibsinter_%s.so", folders[i] ? folders[i] : "", folders[i] ? "/" : "", name);
    FILE *file = folders[i] ? fopen(path, "re") : NULL; // so that a missing file is no failure of a library
    if (file)
      fclose(file);
    else if (folders[i])
      continue;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library)
      return library;
    if (folders[i]) {
      snprintf(why, SINTER_DRIVER_TEXT_BYTES, "%.*s", SINTER_DRIVER_TEXT_BYTES - 1, dlerror());
      return NULL;
    }
  }
  return NULL;
}

const sinter_driver *sinter_driver_find(const char *name) {
  if (!isName(name)) {
    srtError(SINTER_UNSUPPORTED, "'%.64s' is no name of a back end", name ? name : "");
    return NULL;
  }
  pthread_mutex_lock(&mutex);
  const sinter_driver *driver = NULL;
  for (int i = 0; i < maxDrivers && known[i].name[0]; ++i)
    if (strcmp(known[i].name, name) == 0)
      driver = known[i].driver;
  pthread_mutex_unlock(&mutex);
  if (driver)
    return driver;
  char why[SINTER_DRIVER_TEXT_BYTES], symbol[SINTER_DRIVER_NAME_BYTES + 16];
  void *library = openLibrary(name, why);
  if (!library) {
    srtError(SINTER_UNSUPPORTED,
             "this program has no driver for the back end '%s': %s; install it, name its folder by SINTER_DRIVER_DIR, "
             "or compile with a target for the CPU alone, too",
             name, why);
    return NULL;
  }
  snprintf(symbol, sizeof symbol, "sinter_driver_%s", name);
  driver = dlsym(library, symbol);
  if (!driver)
    srtError(SINTER_UNSUPPORTED, "libsinter_%s.so requires the symbol %s, found none", name, symbol);
  if (driver && !check(name, driver) && !keep(name, driver))
    return driver;
  dlclose(library);
  return NULL;
}

//===- Devices of a module -------------------------------------------------------------------------===//

sinter_status_code srtReadDeviceChoice(const sinter_open_options *options, DeviceChoice *choice) {
  *choice = (DeviceChoice){.choice = {.struct_size = sizeof choice->choice}};
  const char *text = options->device, *end = text ? text + strcspn(text, ":") : text;
  if (!text) {
    if (!options->device_context && !options->device_stream)
      return SINTER_OK;
    return srtError(SINTER_INVALID_ARGUMENT, "a context or a stream of the program requires the option device");
  }
  size_t length = (size_t)(end - text), digits = *end ? strspn(end + 1, "0123456789") : 0;
  if (length < sizeof choice->backEnd)
    memcpy(choice->backEnd, text, length);
  if (!isName(choice->backEnd) || (*end && (digits == 0 || digits > 4 || end[1 + digits])))
    return srtError(SINTER_INVALID_ARGUMENT,
                    "the option device requires a back end and a number such as cuda:0, got '%.64s'", text);
  if (*end)
    choice->choice.number = 1 + atoi(end + 1);
  choice->choice.context = options->device_context;
  choice->choice.stream = options->device_stream;
  return SINTER_OK;
}

/// The choice for this back end; null: it has none.
static const sinter_device_choice *choiceFor(const DeviceChoice *choice, const char *backEnd) {
  return srtHasChoice(choice) && strcmp(choice->backEnd, backEnd) == 0 ? &choice->choice : NULL;
}

static int32_t runsOn(const sinter_driver *driver, const sinter_device_choice *choice, const char *requirements,
                      char *why) {
  if (!choice)
    return driver->runs(driver, requirements, why);
  if (driver->runs_on)
    return driver->runs_on(driver, choice, requirements, why);
  snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it has one device, which cannot be chosen");
  return 0;
}

int srtDevicesRun(const sinter_smod *smod, uint32_t priority, const DeviceChoice *choice,
                  char why[SRT_DEVICE_TEXT_BYTES]) {
  char text[SINTER_DRIVER_TEXT_BYTES];
  int isThere = !srtHasChoice(choice);
  for (int32_t i = 0; i < sinter_smod_count(smod); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    if (!srtIsDeviceCode(section) || section->priority != priority)
      continue;
    const sinter_driver *driver = sinter_driver_find(section->back_end);
    if (!driver) {
      snprintf(why, SRT_DEVICE_TEXT_BYTES, "%s", sinter_last_error());
      return 0;
    }
    text[0] = 0;
    const sinter_device_choice *its = choiceFor(choice, section->back_end);
    isThere |= its != NULL;
    if (runsOn(driver, its, section->requirements, text))
      continue;
    snprintf(why, SRT_DEVICE_TEXT_BYTES, "the back end '%s' requires %.160s: %s", section->back_end,
             section->requirements, text);
    return 0;
  }
  if (!isThere)
    snprintf(why, SRT_DEVICE_TEXT_BYTES,
             "it has no code for the back end '%s'; compile it with a target such as cpu+%s", choice->backEnd,
             choice->backEnd);
  return isThere;
}

static sinter_status_code loadSection(const sinter_smod *smod, const sinter_smod_section *host,
                                      const sinter_smod_section *section, const DeviceChoice *choice, Device *device) {
  const sinter_driver *driver = sinter_driver_find(section->back_end);
  if (!driver)
    return SINTER_UNSUPPORTED;
  sinter_smod_section weights = srtSmodWeights(smod);
  sinter_device_code code = {.struct_size = sizeof code,
                             .requirements = section->requirements,
                             .payload = section->data,
                             .bytes = section->bytes,
                             .weights = weights.data,
                             .weight_bytes = weights.bytes,
                             .ranges = host->ranges ? &host->ranges->offset : NULL,
                             .num_ranges = host->num_ranges,
                             .choice = choiceFor(choice, section->back_end)};
  char why[SINTER_DRIVER_TEXT_BYTES] = "";
  const sinter_device *loaded = NULL;
  int32_t status = driver->load(driver, &code, &loaded, why);
  if (status || !loaded)
    return srtError(status ? status : SINTER_RUNTIME_ERROR, "cannot load the code of '%s' for the back end '%s': %.*s",
                    srtSmodPath(smod), section->back_end, SINTER_DRIVER_TEXT_BYTES - 1, why);
  *device = (Device){driver, loaded, {0}};
  snprintf(device->symbol, sizeof device->symbol, "sinter_device_%s", section->back_end);
  if (loaded->version == SINTER_DEVICE_VERSION && loaded->struct_size >= sizeof *loaded)
    return SINTER_OK;
  uint32_t version = loaded->version;
  driver->unload(driver, loaded);
  *device = (Device){0};
  return srtError(SINTER_UNSUPPORTED, "the device of back end '%s' has version %u, this runtime takes %u",
                  section->back_end, version, SINTER_DEVICE_VERSION);
}

sinter_status_code srtLoadDevices(const sinter_smod *smod, int32_t host, const DeviceChoice *choice, Devices *devices) {
  const sinter_smod_section *chosen = sinter_smod_section_at(smod, host);
  for (int32_t i = 0; i < sinter_smod_count(smod); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    if (!srtIsDeviceCode(section) || section->priority != chosen->priority)
      continue;
    for (int32_t d = 0; d < devices->count; ++d)
      if (strcmp(devices->all[d].driver->name, section->back_end) == 0)
        return srtError(SINTER_CORRUPT,
                        "module '%s' requires one section of the back end '%s' beside the host's, got more",
                        srtSmodPath(smod), section->back_end);
    if (devices->count == SRT_MAX_DEVICES)
      return srtError(SINTER_CORRUPT, "module '%s' requires at most %d back ends beside the host's, got more",
                      srtSmodPath(smod), SRT_MAX_DEVICES);
    sinter_status_code status = loadSection(smod, chosen, section, choice, &devices->all[devices->count]);
    if (status)
      return status;
    ++devices->count;
  }
  return SINTER_OK;
}

void srtUnloadDevices(Devices *devices) {
  while (devices->count) {
    const Device *device = &devices->all[--devices->count];
    device->driver->unload(device->driver, device->device);
  }
}

const void *srtFindDevice(const Devices *devices, const char *symbol) {
  for (int32_t d = 0; devices && d < devices->count; ++d)
    if (strcmp(devices->all[d].symbol, symbol) == 0)
      return devices->all[d].device;
  return NULL;
}

void srtDevicesEnd(const Devices *devices, sinter_context *context) {
  for (int32_t d = 0; d < devices->count; ++d)
    devices->all[d].device->end(devices->all[d].device, context);
}
