// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "smod.h"
#include "file.h"
#include "hash.h"
#include "status.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian, and so must the machine be"
#endif

typedef struct Header {
  char magic[4];
  uint32_t version;
  uint64_t fileBytes;
  uint32_t numSections;
  uint32_t zero;
  uint64_t hash;
  char reserved[32];
} Header;

typedef struct Entry {
  uint32_t kind;
  uint32_t priority;
  uint64_t offset;
  uint64_t bytes;
  uint64_t hash;
  char requirements[SINTER_SMOD_REQUIREMENTS_BYTES];
} Entry;

_Static_assert(sizeof(Header) == 64 && sizeof(Entry) == 256, "the layout of the file");

struct Smod {
  const char *data; // mapped
  int64_t bytes;
  // Copies of what is checked: another process may change the file under the mapping.
  Header header;
  Entry entries[SINTER_SMOD_MAX_SECTIONS];
  int32_t count;
  sinter_smod_section sections[SINTER_SMOD_MAX_SECTIONS];
};

static const char *kindName(uint32_t kind) {
  static const char *const names[] = {"unknown", "manifest", "code", "ptx", "weights"};
  return names[kind <= SINTER_SMOD_WEIGHTS ? kind : 0];
}

static int64_t aligned(int64_t offset) { return (offset + 63) / 64 * 64; }

static uint64_t tableHash(const Header *header, const Entry *entries) {
  Header copy = *header;
  copy.hash = 0;
  return srtXxh64(entries, (int64_t)header->numSections * (int64_t)sizeof *entries, srtXxh64(&copy, sizeof copy, 0));
}

//===- Reading ------------------------------------------------------------------------------------===//

static int isZero(const char *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i)
    if (data[i])
      return 0;
  return 1;
}

/// Takes the header and the table over and checks them; sections' own hashes come later.
static sinter_status_code readTable(const char *path, sinter_smod *smod) {
  int64_t bytes = smod->bytes;
  Header *header = &smod->header;
  memcpy(header, smod->data, bytes < (int64_t)sizeof *header ? (size_t)bytes : sizeof *header);
  if (memcmp(header->magic, "SMOD", 4) != 0)
    return srtError(SINTER_CORRUPT, "module '%s' requires the magic SMOD", path);
  if (bytes < (int64_t)sizeof *header)
    return srtError(SINTER_CORRUPT, "module '%s' requires a header of %zu bytes, got %" PRId64, path, sizeof *header,
                    bytes);
  if (header->version != SINTER_SMOD_VERSION)
    return srtError(SINTER_UNSUPPORTED, "module '%s' has format version %u, this runtime reads %u", path,
                    header->version, SINTER_SMOD_VERSION);
  if (header->fileBytes != (uint64_t)bytes)
    return srtError(SINTER_CORRUPT, "module '%s' requires %" PRIu64 " bytes, got %" PRId64, path, header->fileBytes,
                    bytes);
  if (header->numSections > SINTER_SMOD_MAX_SECTIONS)
    return srtError(SINTER_CORRUPT, "module '%s' requires at most %d sections, got %u", path, SINTER_SMOD_MAX_SECTIONS,
                    header->numSections);
  int64_t tableEnd = (int64_t)sizeof *header + (int64_t)header->numSections * (int64_t)sizeof(Entry);
  if (tableEnd > bytes)
    return srtError(SINTER_CORRUPT, "module '%s' requires %" PRId64 " bytes for its section table, got %" PRId64, path,
                    tableEnd, bytes);
  memcpy(smod->entries, smod->data + sizeof *header, header->numSections * sizeof *smod->entries);
  if (header->hash != tableHash(header, smod->entries))
    return srtError(SINTER_CORRUPT, "module '%s' is damaged: hash of the header and section table", path);
  if (header->zero || !isZero(header->reserved, sizeof header->reserved))
    return srtError(SINTER_CORRUPT, "module '%s' has non-zero reserved bytes", path);
  return SINTER_OK;
}

/// Checks section `index`, which must start at `expected` (the padded end of the one before).
static sinter_status_code checkSection(const char *path, const sinter_smod *smod, int32_t index, int64_t expected,
                                       int skipHash) {
  const Entry *entry = &smod->entries[index];
  int64_t bytes = smod->bytes;
  const char *kind = kindName(entry->kind);
  if (entry->kind < SINTER_SMOD_MANIFEST || entry->kind > SINTER_SMOD_WEIGHTS)
    return srtError(SINTER_UNSUPPORTED, "section %d of module '%s' has the unknown kind %u", index, path, entry->kind);
  if (!memchr(entry->requirements, 0, sizeof entry->requirements))
    return srtError(SINTER_CORRUPT, "section %d (%s) of module '%s' has unterminated requirements", index, kind, path);
  if (entry->offset != (uint64_t)expected || entry->offset > (uint64_t)bytes ||
      entry->bytes > (uint64_t)bytes - entry->offset)
    return srtError(SINTER_CORRUPT,
                    "section %d (%s) of module '%s' requires offset %" PRId64 " and an end within %" PRId64
                    " bytes, got offset %" PRIu64 " and %" PRIu64 " bytes",
                    index, kind, path, expected, bytes, entry->offset, entry->bytes);
  if (!skipHash && srtXxh64(smod->data + entry->offset, (int64_t)entry->bytes, 0) != entry->hash)
    return srtError(SINTER_CORRUPT, "section %d (%s) of module '%s' is damaged: hash", index, kind, path);
  return SINTER_OK;
}

static sinter_status_code readSections(const char *path, sinter_smod *smod, int skipWeightHash) {
  sinter_status_code status = readTable(path, smod);
  if (status)
    return status;
  int64_t end = (int64_t)sizeof(Header) + (int64_t)smod->header.numSections * (int64_t)sizeof(Entry);
  int seen[SINTER_SMOD_WEIGHTS + 1] = {0};
  for (int32_t i = 0; i < (int32_t)smod->header.numSections; ++i) {
    const Entry *entry = &smod->entries[i];
    int64_t start = aligned(end);
    status = checkSection(path, smod, i, start, skipWeightHash && entry->kind == SINTER_SMOD_WEIGHTS);
    if (status)
      return status;
    if (!isZero(smod->data + end, start - end))
      return srtError(SINTER_CORRUPT, "module '%s' has non-zero padding before section %d", path, i);
    if (seen[entry->kind]++ && (entry->kind == SINTER_SMOD_MANIFEST || entry->kind == SINTER_SMOD_WEIGHTS))
      return srtError(SINTER_CORRUPT, "module '%s' requires one %s section, got more", path, kindName(entry->kind));
    end = start + (int64_t)entry->bytes;
    smod->sections[smod->count++] = (sinter_smod_section){.kind = entry->kind,
                                                          .priority = entry->priority,
                                                          .data = smod->data + entry->offset,
                                                          .bytes = (int64_t)entry->bytes,
                                                          .requirements = entry->requirements};
  }
  if (end != smod->bytes)
    return srtError(SINTER_CORRUPT, "module '%s' has %" PRId64 " bytes behind its last section", path,
                    smod->bytes - end);
  return SINTER_OK;
}

sinter_status_code srtSmodOpen(const char *path, int skipWeightHash, sinter_smod **result) {
  *result = NULL;
  int file;
  int64_t bytes;
  sinter_status_code status = srtOpenFile(path, &file, &bytes);
  if (status)
    return status;
  if (bytes == 0) {
    close(file);
    return srtError(SINTER_CORRUPT, "module '%s' is empty", path);
  }
  void *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, file, 0);
  int error = errno;
  close(file);
  if (data == MAP_FAILED)
    return srtError(SINTER_IO, "cannot map '%s': %s", path, strerror(error));
  sinter_smod *smod = calloc(1, sizeof *smod);
  if (!smod) {
    munmap(data, (size_t)bytes);
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  }
  smod->data = data;
  smod->bytes = bytes;
  status = readSections(path, smod, skipWeightHash);
  if (status)
    sinter_smod_close(smod);
  else
    *result = smod;
  return status;
}

sinter_status_code sinter_smod_open(const char *path, sinter_smod **smod) {
  if (!smod)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a place for the module, got null");
  return srtSmodOpen(path, 0, smod);
}

void sinter_smod_close(sinter_smod *smod) {
  if (!smod)
    return;
  munmap((void *)smod->data, (size_t)smod->bytes);
  free(smod);
}

int32_t sinter_smod_count(const sinter_smod *smod) { return smod ? smod->count : 0; }

const sinter_smod_section *sinter_smod_section_at(const sinter_smod *smod, int32_t index) {
  return smod && index >= 0 && index < smod->count ? &smod->sections[index] : NULL;
}

sinter_smod_section srtSmodWeights(const sinter_smod *smod) {
  for (int32_t i = 0; i < smod->count; ++i)
    if (smod->sections[i].kind == SINTER_SMOD_WEIGHTS)
      return smod->sections[i];
  return (sinter_smod_section){0};
}

//===- Writing ------------------------------------------------------------------------------------===//

static sinter_status_code fillTable(const char *path, const sinter_smod_section *sections, int32_t count,
                                    Header *header, Entry *entries) {
  int seen[SINTER_SMOD_WEIGHTS + 1] = {0};
  int64_t end = (int64_t)sizeof *header + count * (int64_t)sizeof *entries;
  for (int32_t i = 0; i < count; ++i) {
    const sinter_smod_section *section = &sections[i];
    const char *requirements = section->requirements ? section->requirements : "";
    if (section->kind < SINTER_SMOD_MANIFEST || section->kind > SINTER_SMOD_WEIGHTS || section->bytes < 0 ||
        (section->bytes && !section->data) || strlen(requirements) >= SINTER_SMOD_REQUIREMENTS_BYTES)
      return srtError(SINTER_INVALID_ARGUMENT,
                      "section %d of module '%s' requires a known kind, data and requirements below %d bytes", i, path,
                      SINTER_SMOD_REQUIREMENTS_BYTES);
    if (seen[section->kind]++ && (section->kind == SINTER_SMOD_MANIFEST || section->kind == SINTER_SMOD_WEIGHTS))
      return srtError(SINTER_INVALID_ARGUMENT, "module '%s' requires one %s section, got more", path,
                      kindName(section->kind));
    entries[i] = (Entry){.kind = section->kind,
                         .priority = section->priority,
                         .offset = (uint64_t)aligned(end),
                         .bytes = (uint64_t)section->bytes,
                         .hash = srtXxh64(section->data, section->bytes, 0)};
    strcpy(entries[i].requirements, requirements);
    if (__builtin_add_overflow(aligned(end), section->bytes, &end) || end > INT64_MAX / 2)
      return srtError(SINTER_INVALID_ARGUMENT, "module '%s' is too large", path);
  }
  *header = (Header){.magic = {'S', 'M', 'O', 'D'},
                     .version = SINTER_SMOD_VERSION,
                     .fileBytes = (uint64_t)end,
                     .numSections = (uint32_t)count};
  header->hash = tableHash(header, entries);
  return SINTER_OK;
}

sinter_status_code sinter_smod_write(const char *path, const sinter_smod_section *sections, int32_t count) {
  if (!path || count < 0 || count > SINTER_SMOD_MAX_SECTIONS || (count && !sections))
    return srtError(SINTER_INVALID_ARGUMENT, "writing a module requires a path and 0 to %d sections, got %d",
                    SINTER_SMOD_MAX_SECTIONS, count);
  Header header;
  Entry *entries = calloc((size_t)count + 1, sizeof *entries);
  if (!entries)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  NewFile file;
  sinter_status_code status = fillTable(path, sections, count, &header, entries);
  if (!status)
    status = srtCreateFile(path, &file);
  if (status) {
    free(entries);
    return status;
  }
  static const char padding[64];
  int64_t end = count * (int64_t)sizeof *entries + (int64_t)sizeof header;
  status = srtWriteAll(file.file, &header, sizeof header, path);
  if (!status)
    status = srtWriteAll(file.file, entries, count * (int64_t)sizeof *entries, path);
  for (int32_t i = 0; i < count && !status; ++i) {
    status = srtWriteAll(file.file, padding, aligned(end) - end, path);
    if (!status)
      status = srtWriteAll(file.file, sections[i].data, sections[i].bytes, path);
    end = aligned(end) + sections[i].bytes;
  }
  free(entries);
  return srtFinishFile(&file, status);
}
