// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library with a driver, which runs nothing.

#include "runtime/driver.h"
#include <string.h>

static int32_t runs(const sinter_driver *driver, const char *requirements, char why[SINTER_DRIVER_TEXT_BYTES]) {
  (void)driver, (void)requirements;
  strcpy(why, "it runs nothing");
  return 0;
}

static int32_t load(const sinter_driver *driver, const sinter_device_code *code, const sinter_device **device,
                    char why[SINTER_DRIVER_TEXT_BYTES]) {
  (void)driver, (void)code, (void)device;
  strcpy(why, "it loads nothing");
  return SINTER_UNSUPPORTED;
}

static void unload(const sinter_driver *driver, const sinter_device *device) { (void)driver, (void)device; }

__attribute__((visibility("default"))) extern const sinter_driver sinter_driver_loaded;
const sinter_driver sinter_driver_loaded = {
    SINTER_DRIVER_VERSION, sizeof(sinter_driver), "loaded", 0, runs, load, unload, 0, 0};
