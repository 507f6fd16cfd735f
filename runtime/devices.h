// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The devices of one module: for each back end beside the CPU's, its driver and what came of the module's code there.
// Code of a device belongs to the section of host code with the same priority.

#ifndef SINTER_RUNTIME_DEVICES_H
#define SINTER_RUNTIME_DEVICES_H

#include "driver.h"
#include "smod.h"
#include <string.h>

#define SRT_MAX_DEVICES 4
/// Bytes of text that srtDevicesRun may write: what a driver says, and a sentence.
#define SRT_DEVICE_TEXT_BYTES (2 * SINTER_DRIVER_TEXT_BYTES + 256)

typedef struct Device {
  const sinter_driver *driver;
  const sinter_device *device;
  char symbol[SINTER_DRIVER_NAME_BYTES + 16]; // as host code calls it
} Device;

typedef struct Devices {
  int32_t count;
  Device all[SRT_MAX_DEVICES];
} Devices;

/// What the options of sinter_module_open say: empty and zeros without.
typedef struct DeviceChoice {
  char backEnd[SINTER_DRIVER_NAME_BYTES];
  sinter_device_choice choice;
} DeviceChoice;

/// Reads options that are complete.
sinter_status_code srtReadDeviceChoice(const sinter_open_options *options, DeviceChoice *choice);
static inline int srtHasChoice(const DeviceChoice *choice) { return choice && choice->backEnd[0]; }

static inline int srtIsDeviceCode(const sinter_smod_section *section) {
  return section->kind == SINTER_SMOD_CODE && strcmp(section->back_end, "cpu") != 0;
}

/// True when this machine has drivers for all code of devices with this priority, and they run it; else `why` says what
/// is missing. With a choice there is code for that back end.
int srtDevicesRun(const sinter_smod *smod, uint32_t priority, const DeviceChoice *choice,
                  char why[SRT_DEVICE_TEXT_BYTES]);

/// Loads the code of devices that belongs to section `host`. What was loaded is in `devices` in any case.
sinter_status_code srtLoadDevices(const sinter_smod *smod, int32_t host, const DeviceChoice *choice, Devices *devices);
void srtUnloadDevices(Devices *devices);

/// What compiled code calls `symbol` ("sinter_device_NAME"), or null. No devices are allowed.
const void *srtFindDevice(const Devices *devices, const char *symbol);

/// The session of `context` ends.
void srtDevicesEnd(const Devices *devices, sinter_context *context);

#endif
