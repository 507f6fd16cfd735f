// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a module. Changes would stop at the hashes, so the mutator makes them right again.

#include "MemoryFile.h"
#include "runtime/devices.h"
#include "runtime/hash.h"
#include "runtime/smod.h"
#include "runtime/smod_layout.h"
#include <elf.h>
#include <fcntl.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed);

enum { headerBytes = 64, hashOffset = 24, entryHashOffset = 24 };
#if defined(__aarch64__)
enum { machine = EM_AARCH64 };
#else
enum { machine = EM_X86_64 };
#endif

static uint32_t word(const uint8_t *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint64_t longWord(const uint8_t *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

/// Sets the hashes of sections and then that of header and table (runtime/smod.h), as far as they lie in the file.
static void fixHashes(uint8_t *data, size_t size) {
  if (size < headerBytes)
    return;
  uint64_t total = size;
  memcpy(data + 8, &total, sizeof total);
  size_t entryBytes = word(data + 4) < 2 ? 256 : 128, count = word(data + 16),
         details = word(data + 4) < 2 ? 0 : word(data + 20);
  if (count > (size - headerBytes) / entryBytes || details > size - headerBytes - count * entryBytes)
    return;
  for (size_t i = 0; i < count; ++i) {
    uint8_t *entry = data + headerBytes + i * entryBytes;
    uint64_t offset = longWord(entry + 8), bytes = longWord(entry + 16);
    if (offset <= size && bytes <= size - offset) {
      uint64_t hash = srtXxh64(data + offset, (int64_t)bytes, 0);
      memcpy(entry + entryHashOffset, &hash, sizeof hash);
    }
  }
  memset(data + hashOffset, 0, 8);
  uint64_t hash = srtXxh64(data, headerBytes, 0);
  hash = srtXxh64(data + headerBytes, (int64_t)(count * entryBytes + details), hash);
  memcpy(data + hashOffset, &hash, sizeof hash);
}

//===- A driver, which takes all code ------------------------------------------------------------===//

static int32_t runs(const sinter_driver *driver, const char *requirements, char why[SINTER_DRIVER_TEXT_BYTES]) {
  (void)driver;
  memset(why, 'n', SINTER_DRIVER_TEXT_BYTES - 1);
  why[SINTER_DRIVER_TEXT_BYTES - 1] = 0;
  return strlen(requirements) % 4 != 3;
}

static unsigned sumOf(const void *data, int64_t bytes) {
  unsigned sum = 0;
  for (int64_t k = 0; k < bytes; ++k)
    sum += ((const uint8_t *)data)[k];
  return sum;
}

static void endSession(const sinter_device *device, sinter_context *context) { (void)device, (void)context; }

/// Reads all that it is given.
static int32_t load(const sinter_driver *driver, const sinter_device_code *code, const sinter_device **device,
                    char why[SINTER_DRIVER_TEXT_BYTES]) {
  static const sinter_device fake = {
      .version = SINTER_DEVICE_VERSION, .struct_size = sizeof(sinter_device), .end = endSession};
  (void)driver;
  unsigned sum = sumOf(code->payload, code->bytes);
  if (!code->num_ranges)
    sum += sumOf(code->weights, code->weight_bytes);
  for (int64_t r = 0; r < code->num_ranges; ++r)
    sum += sumOf((const char *)code->weights + code->ranges[2 * r], code->ranges[2 * r + 1]);
  *device = &fake;
  strcpy(why, "its sum");
  return sum % 8 ? SINTER_OK : SINTER_CORRUPT;
}

static void unload(const sinter_driver *driver, const sinter_device *device) { (void)driver, (void)device; }

static const sinter_driver driver = {
    SINTER_DRIVER_VERSION, sizeof(sinter_driver), "fuzz", NULL, runs, load, unload, NULL, NULL};

/// Code of devices that goes with section `host`, with and without a device that the caller names.
static void loadDevices(const sinter_smod *module, int32_t host) {
  static const char symbol[] = "sinter_device_fuzz";
  static const DeviceChoice named = {.backEnd = "fuzz"};
  for (int i = 0; i < 2; ++i) {
    Devices devices = {0};
    if (srtLoadDevices(module, host, i ? &named : NULL, &devices) == SINTER_OK && devices.count &&
        !srtFindDevice(&devices, symbol))
      abort();
    srtUnloadDevices(&devices);
  }
}

/// A module of a few sections, as what is too short to be one becomes.
static size_t writeModule(uint8_t *data, size_t maxSize) {
  char path[] = "/tmp/sinter-fuzz-XXXXXX";
  int file = mkstemp(path);
  Elf64_Ehdr header = {.e_ident = ELFMAG, .e_machine = machine};
  sinter_smod_range range = {1, 2};
  sinter_smod_section sections[] = {
      {.kind = SINTER_SMOD_MANIFEST, .data = "{}", .bytes = 2},
      {.kind = SINTER_SMOD_CODE, .data = &header, .bytes = sizeof header, .ranges = &range, .num_ranges = 1},
      {.kind = SINTER_SMOD_CODE, .data = "kernels", .bytes = 7, .back_end = "fuzz", .requirements = "good"},
      {.kind = SINTER_SMOD_CODE, .data = "code", .bytes = 4, .requirements = "avx2"},
      {.kind = SINTER_SMOD_WEIGHTS, .data = "weights", .bytes = 7}};
  ssize_t size = 0;
  if (file >= 0 && sinter_smod_write(path, sections, sizeof sections / sizeof *sections) == SINTER_OK) {
    close(file);
    file = open(path, O_RDONLY | O_CLOEXEC);
    size = read(file, data, maxSize);
  }
  close(file);
  unlink(path);
  return size > 0 ? (size_t)size : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  if (size < headerBytes && seed % 4 == 0)
    return writeModule(data, maxSize);
  size = LLVMFuzzerMutate(data, size, maxSize);
  if (seed % 8)
    fixHashes(data, size);
  return size;
}

/// Reads all of it, as the compiler and tools do.
static void look(const sinter_smod *module) {
  unsigned sum = sinter_smod_version(module);
  for (int32_t i = 0; i < sinter_smod_count(module); ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(module, i);
    for (int64_t k = 0; k < section->bytes; ++k)
      sum += ((const uint8_t *)section->data)[k];
    for (int32_t k = 0; k < section->num_ranges; ++k)
      sum += (unsigned)section->ranges[k].bytes;
    sum += (unsigned)strlen(section->requirements);
  }
  if (sinter_smod_section_at(module, -1) || sinter_smod_section_at(module, sinter_smod_count(module)) ||
      sum == 0xDEADBEEF)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char sha256[65];
  if (sinter_driver_register("fuzz", &driver) != SINTER_OK)
    abort();
  const char *path = memoryFile(data, size);
  // As a loader does: with mapped weights, and with the hash that the file has, or another one.
  SmodReading reading = {.skipWeightHash = size % 2, .mapWeights = size / 2 % 2};
  if (sinter_sha256_file(path, sha256) != SINTER_OK)
    abort();
  if (size % 5 == 0)
    sha256[0] ^= 1;
  if (size % 3 == 0)
    reading.sha256 = sha256;
  sinter_smod *module;
  int32_t best;
  if (sinter_smod_open(path, &module) == SINTER_OK) {
    look(module);
    sinter_smod_close(module);
  }
  if (srtSmodOpen(path, &reading, &module) == SINTER_OK) {
    if (strcmp(srtSmodPath(module), path) != 0 || (reading.sha256 && size % 5 == 0))
      abort();
    if (sinter_smod_choose(module, &best) == SINTER_OK) {
      loadDevices(module, best);
      srtSmodDropUnused(module, best);
    }
    look(module);
    sinter_smod_close(module);
  }
  return 0;
}
