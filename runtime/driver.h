// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drivers: what runs the code that a module holds for a back end beside the CPU's. Opening a module asks the driver of
// each such back end whether this machine runs the code, then to load it; compiled host code gets the device that comes
// of it (device.h). A program registers a driver that it is linked with. Others are shared libraries,
// `libsinter_NAME.so` with the symbol `sinter_driver_NAME`, which are looked for in the folder that SINTER_DRIVER_DIR
// names, beside the runtime's own file, and where the system looks.

#ifndef SINTER_RUNTIME_DRIVER_H
#define SINTER_RUNTIME_DRIVER_H

#include "device.h"
#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_DRIVER_VERSION 1u
/// Most bytes of a back end's name, which is of small letters, digits and underscores, with its zero.
#define SINTER_DRIVER_NAME_BYTES 32
/// Bytes of text that a driver may write for why something failed.
#define SINTER_DRIVER_TEXT_BYTES 256

/// Which device of a back end a caller asks for (sinter_open_options). Zeros are the driver's own choices.
typedef struct sinter_device_choice {
  uint32_t struct_size; // fields are appended, never moved
  int32_t number;       // 1 + that of the device; 0: the one that the driver takes
  void *context;        // of the program, for the back end: a CUcontext
  void *stream;         // likewise: a CUstream
} sinter_device_choice;

/// One code section, as the container holds it. Valid during `load`.
typedef struct sinter_device_code {
  uint32_t struct_size; // fields are appended, never moved
  const char *requirements;
  const void *payload;
  int64_t bytes;
  const void *weights; // of the whole module; launches and `weight` mean offsets in it
  int64_t weight_bytes;
  const int64_t *ranges; // pairs of offset and bytes that the code reads, in ascending order; null: all of it
  int64_t num_ranges;
  const sinter_device_choice *choice; // null: the driver's own
} sinter_device_code;

typedef struct sinter_driver sinter_driver;
struct sinter_driver {
  uint32_t version;     // SINTER_DRIVER_VERSION
  uint32_t struct_size; // fields are appended, never moved
  const char *name;     // of the back end
  void *data;           // the driver's own

  /// Non-zero when this machine runs code that requires `requirements`; else `why` says what is missing and what helps.
  int32_t (*runs)(const sinter_driver *driver, const char *requirements, char why[SINTER_DRIVER_TEXT_BYTES]);

  /// Loads code and weights, and sets `*device`, which is the module's own. A status code; when it fails `why` says the
  /// reason. Bytes of the payload may be damaged or hostile.
  int32_t (*load)(const sinter_driver *driver, const sinter_device_code *code, const sinter_device **device,
                  char why[SINTER_DRIVER_TEXT_BYTES]);
  /// Gives the device back. Its sessions have ended.
  void (*unload)(const sinter_driver *driver, const sinter_device *device);

  /// `runs` for the device that a caller asks for. Null for a back end that has one device.
  int32_t (*runs_on)(const sinter_driver *driver, const sinter_device_choice *choice, const char *requirements,
                     char why[SINTER_DRIVER_TEXT_BYTES]);

  /// Writes lines for people about what this machine has for the back end into `text`, of `bytes` bytes, at least 1,
  /// with a zero at the end; what has no room is left out. A status code; when it fails, as without a device, `why`
  /// says the reason. Null for a back end that has nothing to tell.
  int32_t (*describe)(const sinter_driver *driver, char *text, int64_t bytes, char why[SINTER_DRIVER_TEXT_BYTES]);
};

// All of these may be called on any thread.

/// Makes `driver` known, which must outlive every module that it loads code for; another one of the same name, or null,
/// takes its place for modules that are opened later. Fails with SINTER_INVALID_ARGUMENT (no name or function) and
/// SINTER_UNSUPPORTED (another version).
SINTER_API sinter_status_code sinter_driver_register(const char *name, const sinter_driver *driver);

/// The driver of back end `name`: one that is registered, else one that is loaded now and stays for the life of the
/// process. Null, with the reason as the last error, when there is none.
SINTER_API const sinter_driver *sinter_driver_find(const char *name);

#ifdef __cplusplus
}
#endif

#endif
