// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files are read, not mapped: what is mapped ends the process when another one makes the file shorter. Weights go to
// memory with huge pages, where code reads them faster than through a mapping.

#define _GNU_SOURCE
#include "smod.h"
#include "file.h"
#include "hash.h"
#include "memory.h"
#include "sha256.h"
#include "smod_layout.h"
#include "status.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/// Where a section is in the file, and what is mapped or allocated for it.
typedef struct Stored {
  int64_t offset;
  uint64_t hash;
  void *memory;
  int64_t memoryBytes;
  int isMapped;
} Stored;

struct Smod {
  char *path;
  SmodHeader header;
  char *table; // and behind it the details
  int64_t tableBytes, detailBytes;
  sinter_smod_section *sections;
  Stored *stored;
  int32_t count;
  Memory memory;
};

/// A file that is read from front to back.
typedef struct Source {
  const char *path;
  int file;
  int64_t bytes, at;
  Sha256 *sha; // of what was read, if asked for
} Source;

static sinter_status_code take(Source *source, void *data, int64_t bytes) {
  sinter_status_code status = srtReadAt(source->file, source->at, data, bytes, source->path);
  if (!status && source->sha)
    srtSha256Add(source->sha, data, bytes);
  source->at += bytes;
  return status;
}

uint64_t srtSmodTableHash(const SmodHeader *header, const void *table, int64_t bytes) {
  SmodHeader copy = *header;
  copy.hash = 0;
  return srtXxh64(table, bytes, srtXxh64(&copy, sizeof copy, 0));
}

//===- Header and table ----------------------------------------------------------------------------===//

static int isZero(const char *data, int64_t bytes) {
  for (int64_t i = 0; i < bytes; ++i)
    if (data[i])
      return 0;
  return 1;
}

static sinter_status_code readHeader(Source *source, SmodHeader *header) {
  const char *path = source->path;
  memset(header, 0, sizeof *header);
  if (source->bytes == 0)
    return srtError(SINTER_CORRUPT, "module '%s' is empty", path);
  sinter_status_code status =
      take(source, header, source->bytes < (int64_t)sizeof *header ? source->bytes : (int64_t)sizeof *header);
  if (status)
    return status;
  if (memcmp(header->magic, "SMOD", 4) != 0)
    return srtError(SINTER_CORRUPT, "module '%s' requires the magic SMOD", path);
  if (source->bytes < (int64_t)sizeof *header)
    return srtError(SINTER_CORRUPT, "module '%s' requires a header of %zu bytes, got %" PRId64, path, sizeof *header,
                    source->bytes);
  if (header->version < 1 || header->version > SINTER_SMOD_VERSION)
    return srtError(SINTER_UNSUPPORTED, "module '%s' has format version %u, this runtime reads 1 to %u", path,
                    header->version, SINTER_SMOD_VERSION);
  if (header->fileBytes != (uint64_t)source->bytes)
    return srtError(SINTER_CORRUPT, "module '%s' requires %" PRIu64 " bytes, got %" PRId64, path, header->fileBytes,
                    source->bytes);
  if (header->numSections > SINTER_SMOD_MAX_SECTIONS)
    return srtError(SINTER_CORRUPT, "module '%s' requires at most %d sections, got %u", path, SINTER_SMOD_MAX_SECTIONS,
                    header->numSections);
  if (header->version > 1 && (header->detailBytes > SINTER_SMOD_MAX_DETAIL_BYTES || header->detailBytes % 8))
    return srtError(SINTER_CORRUPT, "module '%s' requires at most %d bytes of details, a multiple of 8, got %u", path,
                    SINTER_SMOD_MAX_DETAIL_BYTES, header->detailBytes);
  return SINTER_OK;
}

static sinter_status_code readTable(Source *source, sinter_smod *smod) {
  const char *path = source->path;
  SmodHeader *header = &smod->header;
  sinter_status_code status = readHeader(source, header);
  if (status)
    return status;
  int isFirst = header->version == 1;
  smod->tableBytes = (int64_t)header->numSections * (int64_t)(isFirst ? sizeof(SmodEntry1) : sizeof(SmodEntry));
  smod->detailBytes = isFirst ? 0 : header->detailBytes;
  int64_t end = (int64_t)sizeof *header + smod->tableBytes + smod->detailBytes;
  if (end > source->bytes)
    return srtError(SINTER_CORRUPT, "module '%s' requires %" PRId64 " bytes for its section table, got %" PRId64, path,
                    end, source->bytes);
  smod->table = malloc((size_t)(smod->tableBytes + smod->detailBytes) + 1);
  smod->sections = calloc(header->numSections + 1, sizeof *smod->sections);
  smod->stored = calloc(header->numSections + 1, sizeof *smod->stored);
  if (!smod->table || !smod->sections || !smod->stored)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  status = take(source, smod->table, smod->tableBytes + smod->detailBytes);
  if (status)
    return status;
  if (header->hash != srtSmodTableHash(header, smod->table, smod->tableBytes + smod->detailBytes))
    return srtError(SINTER_CORRUPT, "module '%s' is damaged: hash of the header and section table", path);
  if ((isFirst && header->detailBytes) || !isZero(header->reserved, sizeof header->reserved))
    return srtError(SINTER_CORRUPT, "module '%s' has non-zero reserved bytes", path);
  const char *details = smod->table + smod->tableBytes;
  if (!isFirst && (!smod->detailBytes || details[0] || details[smod->detailBytes - 1]))
    return srtError(SINTER_CORRUPT, "module '%s' requires details that begin and end with a zero byte", path);
  return SINTER_OK;
}

/// Entry `index` of the table as a section without data.
static sinter_status_code readEntry(const sinter_smod *smod, int32_t index, SmodEntry *entry,
                                    sinter_smod_section *section) {
  const char *path = smod->path, *details = smod->table + smod->tableBytes;
  int isFirst = smod->header.version == 1;
  *section = (sinter_smod_section){0};
  if (isFirst) {
    const SmodEntry1 *first = (const SmodEntry1 *)(smod->table + (size_t)index * sizeof *first);
    *entry = (SmodEntry){.kind = first->kind,
                         .priority = first->priority,
                         .offset = first->offset,
                         .bytes = first->bytes,
                         .hash = first->hash};
    section->requirements = first->requirements;
    section->back_end = first->kind == SINTER_SMOD_CODE ? "cpu" : "";
  } else {
    memcpy(entry, smod->table + (size_t)index * sizeof *entry, sizeof *entry);
  }
  section->kind = entry->kind;
  section->priority = entry->priority;
  section->bytes = (int64_t)entry->bytes;
  const char *kind = smodKindName(entry->kind);
  if (entry->kind < SINTER_SMOD_MANIFEST || entry->kind > SINTER_SMOD_WEIGHTS ||
      (!isFirst && entry->kind == SINTER_SMOD_PTX))
    return srtError(SINTER_UNSUPPORTED, "section %d of module '%s' has the unknown kind %u", index, path, entry->kind);
  if (isFirst) {
    if (!memchr(section->requirements, 0, sizeof((SmodEntry1 *)0)->requirements))
      return srtError(SINTER_CORRUPT, "section %d (%s) of module '%s' has unterminated requirements", index, kind,
                      path);
    return SINTER_OK;
  }
  int64_t bytes = smod->detailBytes;
  if (entry->backEnd >= bytes || entry->requirements >= bytes || entry->ranges % 8 || entry->ranges > bytes ||
      entry->numRanges > (uint64_t)(bytes - entry->ranges) / sizeof(sinter_smod_range))
    return srtError(SINTER_CORRUPT,
                    "section %d (%s) of module '%s' requires its text and ranges within %" PRId64 " bytes of details",
                    index, kind, path, bytes);
  if (entry->hasSha256 > 1 || !isZero(entry->reserved, sizeof entry->reserved) ||
      !isZero(entry->reserved2, sizeof entry->reserved2) ||
      (!entry->hasSha256 && !isZero((const char *)entry->sha256, sizeof entry->sha256)))
    return srtError(SINTER_CORRUPT, "module '%s' has non-zero reserved bytes", path);
  section->back_end = details + entry->backEnd;
  section->requirements = details + entry->requirements;
  section->num_ranges = (int32_t)entry->numRanges;
  section->ranges = entry->numRanges ? (const sinter_smod_range *)(details + entry->ranges) : NULL;
  section->has_sha256 = (int32_t)entry->hasSha256;
  memcpy(section->sha256, entry->sha256, sizeof section->sha256);
  return SINTER_OK;
}

/// Checks what the sections say of each other: `weights` is the one with weights, or null.
static sinter_status_code checkRanges(const sinter_smod *smod) {
  int64_t bytes = srtSmodWeights(smod).bytes;
  for (int32_t i = 0; i < smod->count; ++i) {
    const sinter_smod_section *section = &smod->sections[i];
    int64_t end = 0;
    for (int32_t r = 0; r < section->num_ranges; ++r) {
      const sinter_smod_range *range = &section->ranges[r];
      if (range->offset < end || range->offset > bytes || range->bytes < 0 || range->bytes > bytes - range->offset)
        return srtError(SINTER_CORRUPT,
                        "section %d (%s) of module '%s' requires ranges in ascending order within %" PRId64
                        " bytes of weights",
                        i, smodKindName(section->kind), smod->path, bytes);
      end = range->offset + range->bytes;
    }
  }
  return SINTER_OK;
}

/// Reads the table into sections without data, and checks that they fill the file.
static sinter_status_code readEntries(Source *source, sinter_smod *smod) {
  const char *path = source->path;
  int seen[SINTER_SMOD_WEIGHTS + 1] = {0};
  int64_t end = source->at;
  for (int32_t i = 0; i < (int32_t)smod->header.numSections; ++i) {
    SmodEntry entry;
    sinter_status_code status = readEntry(smod, i, &entry, &smod->sections[i]);
    if (status)
      return status;
    const char *kind = smodKindName(entry.kind);
    int64_t start = smodAligned(end);
    if (entry.offset != (uint64_t)start || start > source->bytes || entry.bytes > (uint64_t)(source->bytes - start))
      return srtError(SINTER_CORRUPT,
                      "section %d (%s) of module '%s' requires offset %" PRId64 " and an end within %" PRId64
                      " bytes, got offset %" PRIu64 " and %" PRIu64 " bytes",
                      i, kind, path, start, source->bytes, entry.offset, entry.bytes);
    if (seen[entry.kind]++ && (entry.kind == SINTER_SMOD_MANIFEST || entry.kind == SINTER_SMOD_WEIGHTS))
      return srtError(SINTER_CORRUPT, "module '%s' requires one %s section, got more", path, kind);
    smod->stored[i] = (Stored){.offset = start, .hash = entry.hash};
    end = start + (int64_t)entry.bytes;
    ++smod->count;
  }
  if (end != source->bytes)
    return srtError(SINTER_CORRUPT, "module '%s' has %" PRId64 " bytes behind its last section", path,
                    source->bytes - end);
  return checkRanges(smod);
}

//===- Data ----------------------------------------------------------------------------------------===//

/// Maps a section's pages; its data is valid as long as nobody makes the file shorter.
static sinter_status_code mapSection(Source *source, Stored *stored, sinter_smod_section *section) {
  int64_t lead = stored->offset % sysconf(_SC_PAGESIZE);
  void *data = mmap(NULL, (size_t)(section->bytes + lead), PROT_READ, MAP_PRIVATE, source->file, stored->offset - lead);
  if (data == MAP_FAILED)
    return srtError(srtFileStatus(errno), "cannot map '%s': %s", source->path, strerror(errno));
  *stored = (Stored){stored->offset, stored->hash, data, section->bytes + lead, 1};
  section->data = (char *)data + lead;
  source->at += section->bytes;
  return SINTER_OK;
}

static sinter_status_code readSection(Source *source, sinter_smod *smod, int32_t index, const SmodReading *reading) {
  sinter_smod_section *section = &smod->sections[index];
  Stored *stored = &smod->stored[index];
  const char *kind = smodKindName(section->kind);
  char padding[64];
  int64_t gap = stored->offset - source->at;
  sinter_status_code status = take(source, padding, gap);
  if (status)
    return status;
  if (!isZero(padding, gap))
    return srtError(SINTER_CORRUPT, "module '%s' has non-zero padding before section %d", source->path, index);
  int isWeights = section->kind == SINTER_SMOD_WEIGHTS;
  if (section->bytes == 0) {
    section->data = smod->table;
  } else if (isWeights && reading->mapWeights) {
    status = mapSection(source, stored, section);
    if (!status && source->sha)
      srtSha256Add(source->sha, section->data, section->bytes);
  } else {
    stored->memory = srtAllocate(&smod->memory, FixedMemory, section->bytes);
    if (!stored->memory)
      return srtError(SINTER_OUT_OF_MEMORY, "no memory for section %d (%s) of module '%s': %" PRId64 " bytes", index,
                      kind, source->path, section->bytes);
    stored->memoryBytes = section->bytes;
    section->data = stored->memory;
    status = take(source, stored->memory, section->bytes);
  }
  if (status)
    return status;
  if (!(isWeights && reading->skipWeightHash) && srtXxh64(section->data, section->bytes, 0) != stored->hash)
    return srtError(SINTER_CORRUPT, "section %d (%s) of module '%s' is damaged: hash", index, kind, source->path);
  if (!section->has_sha256 || !reading->checkSha256)
    return SINTER_OK;
  uint8_t digest[srtSha256Bytes];
  srtSha256(section->data, section->bytes, digest);
  if (memcmp(digest, section->sha256, sizeof digest) == 0)
    return SINTER_OK;
  char is[srtSha256TextBytes], says[srtSha256TextBytes];
  return srtError(SINTER_CORRUPT, "section %d (%s) of module '%s' has SHA-256 %s, its table says %s", index, kind,
                  source->path, srtSha256Text(digest, is), srtSha256Text(section->sha256, says));
}

static sinter_status_code readAll(Source *source, sinter_smod *smod, const SmodReading *reading) {
  Sha256 sha;
  uint8_t expected[srtSha256Bytes], digest[srtSha256Bytes];
  if (reading->sha256) {
    if (!srtSha256Parse(reading->sha256, expected))
      return srtError(SINTER_INVALID_ARGUMENT, "an expected SHA-256 requires 64 hexadecimal digits, got '%.80s'",
                      reading->sha256);
    srtSha256Begin(&sha);
    source->sha = &sha;
  }
  sinter_status_code status = readTable(source, smod);
  if (!status)
    status = readEntries(source, smod);
  for (int32_t i = 0; i < smod->count && !status; ++i)
    status = readSection(source, smod, i, reading);
  if (!status && reading->sha256) {
    srtSha256End(&sha, digest);
    char is[srtSha256TextBytes], wanted[srtSha256TextBytes];
    if (memcmp(digest, expected, sizeof digest) != 0)
      status = srtError(SINTER_CORRUPT, "module '%s' requires the SHA-256 %s, got %s", source->path,
                        srtSha256Text(expected, wanted), srtSha256Text(digest, is));
  }
  return status;
}

sinter_status_code srtSmodOpen(const char *path, const SmodReading *reading, sinter_smod **result) {
  *result = NULL;
  Source source = {.path = path};
  sinter_status_code status = srtOpenFile(path, &source.file, &source.bytes);
  if (status)
    return status;
  sinter_smod *smod = calloc(1, sizeof *smod);
  if (smod)
    smod->path = strdup(path);
  status = smod && smod->path ? readAll(&source, smod, reading)
                              : srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  close(source.file);
  if (status)
    sinter_smod_close(smod);
  else
    *result = smod;
  return status;
}

sinter_status_code sinter_smod_open(const char *path, sinter_smod **smod) {
  if (!smod)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a place for the module, got null");
  return srtSmodOpen(path, &(SmodReading){.checkSha256 = 1}, smod);
}

void sinter_smod_close(sinter_smod *smod) {
  if (!smod)
    return;
  for (int32_t i = 0; i < smod->count; ++i) {
    Stored *stored = &smod->stored[i];
    if (stored->isMapped)
      munmap(stored->memory, (size_t)stored->memoryBytes);
    else
      srtFree(&smod->memory, FixedMemory, stored->memory, stored->memoryBytes);
  }
  free(smod->stored);
  free(smod->sections);
  free(smod->table);
  free(smod->path);
  free(smod);
}

const char *srtSmodPath(const sinter_smod *smod) { return smod->path; }

uint32_t sinter_smod_version(const sinter_smod *smod) { return smod ? smod->header.version : 0; }

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

void srtSmodDropUnused(sinter_smod *smod, int32_t index) {
  const sinter_smod_section *section = &smod->sections[index];
  const int64_t page = sysconf(_SC_PAGESIZE), worthIt = 1 << 21; // smaller blocks are the heap's
  for (int32_t i = 0; i < smod->count && section->num_ranges; ++i) {
    const Stored *stored = &smod->stored[i];
    if (smod->sections[i].kind != SINTER_SMOD_WEIGHTS || stored->isMapped || stored->memoryBytes < worthIt)
      continue;
    int64_t end = 0; // of what is kept
    for (int32_t r = 0; r <= section->num_ranges; ++r) {
      int64_t next = r < section->num_ranges ? section->ranges[r].offset : stored->memoryBytes;
      int64_t from = (end + page - 1) / page * page, to = next / page * page;
      if (from < to) // advice: else the memory stays
        (void)madvise((char *)stored->memory + from, (size_t)(to - from), MADV_DONTNEED);
      if (r < section->num_ranges)
        end = section->ranges[r].offset + section->ranges[r].bytes;
    }
  }
}

//===- Digests -------------------------------------------------------------------------------------===//

void sinter_sha256(const void *data, int64_t bytes, char text[65]) {
  uint8_t digest[srtSha256Bytes];
  srtSha256(data, bytes, digest);
  srtSha256Text(digest, text);
}

sinter_status_code sinter_sha256_file(const char *path, char text[65]) {
  enum { blockBytes = 1 << 16 };
  Sha256 sha;
  Source source = {.path = path, .sha = &sha};
  sinter_status_code status = srtOpenFile(path, &source.file, &source.bytes);
  if (status)
    return status;
  char *block = malloc(blockBytes);
  if (!block)
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory to read '%s'", path);
  srtSha256Begin(&sha);
  while (!status && source.at < source.bytes)
    status = take(&source, block, source.bytes - source.at < blockBytes ? source.bytes - source.at : blockBytes);
  free(block);
  close(source.file);
  uint8_t digest[srtSha256Bytes];
  srtSha256End(&sha, digest);
  srtSha256Text(digest, text);
  return status;
}
