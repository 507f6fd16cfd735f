// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "file.h"
#include "hash.h"
#include "sha256.h"
#include "smod_layout.h"
#include "status.h"
#include <stdlib.h>
#include <string.h>

/// A file on its way: table and details are one block.
typedef struct Writing {
  const char *path;
  const sinter_smod_section *sections;
  int32_t count;
  SmodHeader header;
  SmodEntry *entries;
  char *details;
  int64_t detailBytes;
} Writing;

static const char *orEmpty(const char *text) { return text ? text : ""; }

static int64_t roundedToWords(int64_t bytes) { return (bytes + 7) / 8 * 8; }

static const char *backEndOf(const sinter_smod_section *section) {
  return section->kind != SINTER_SMOD_CODE ? "" : section->back_end ? section->back_end : "cpu";
}

static sinter_status_code checkSection(const Writing *writing, int32_t index, int seen[]) {
  const sinter_smod_section *section = &writing->sections[index];
  uint32_t kind = section->kind;
  if ((kind != SINTER_SMOD_MANIFEST && kind != SINTER_SMOD_CODE && kind != SINTER_SMOD_WEIGHTS) || section->bytes < 0 ||
      (section->bytes && !section->data) || section->num_ranges < 0 || (section->num_ranges && !section->ranges))
    return srtError(SINTER_INVALID_ARGUMENT, "section %d of module '%s' requires a known kind, data and ranges", index,
                    writing->path);
  if (seen[kind]++ && kind != SINTER_SMOD_CODE)
    return srtError(SINTER_INVALID_ARGUMENT, "module '%s' requires one %s section, got more", writing->path,
                    smodKindName(kind));
  return SINTER_OK;
}

/// Makes room for the table and the details.
static sinter_status_code allocate(Writing *writing) {
  int seen[SINTER_SMOD_WEIGHTS + 1] = {0};
  int64_t details = 8; // begins with the empty text
  for (int32_t i = 0; i < writing->count; ++i) {
    const sinter_smod_section *section = &writing->sections[i];
    sinter_status_code status = checkSection(writing, i, seen);
    if (status)
      return status;
    size_t text = strlen(backEndOf(section)) + strlen(orEmpty(section->requirements)) + 2;
    details += text < SINTER_SMOD_MAX_DETAIL_BYTES ? roundedToWords((int64_t)text) : SINTER_SMOD_MAX_DETAIL_BYTES;
    details += section->num_ranges * (int64_t)sizeof(sinter_smod_range);
    if (details + 8 > SINTER_SMOD_MAX_DETAIL_BYTES)
      return srtError(SINTER_INVALID_ARGUMENT, "module '%s' requires at most %d bytes of requirements and ranges",
                      writing->path, SINTER_SMOD_MAX_DETAIL_BYTES);
  }
  details += 8; // ends with a zero byte, though ranges may be last
  writing->entries = calloc(1, (size_t)writing->count * sizeof *writing->entries + (size_t)details);
  if (!writing->entries)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", writing->path);
  writing->details = (char *)(writing->entries + writing->count);
  writing->detailBytes = details;
  return SINTER_OK;
}

/// Puts a text at `*end` of the details; the empty one is at their begin.
static uint32_t addText(Writing *writing, const char *text, int64_t *end) {
  if (!*text)
    return 0;
  int64_t at = *end;
  strcpy(writing->details + at, text);
  *end += (int64_t)strlen(text) + 1;
  return (uint32_t)at;
}

static sinter_status_code fillTable(Writing *writing) {
  int64_t tableBytes = writing->count * (int64_t)sizeof *writing->entries + writing->detailBytes;
  int64_t end = (int64_t)sizeof writing->header + tableBytes, detail = 8;
  for (int32_t i = 0; i < writing->count; ++i) {
    const sinter_smod_section *section = &writing->sections[i];
    SmodEntry *entry = &writing->entries[i];
    *entry = (SmodEntry){.kind = section->kind,
                         .priority = section->priority,
                         .offset = (uint64_t)smodAligned(end),
                         .bytes = (uint64_t)section->bytes,
                         .hash = srtXxh64(section->data, section->bytes, 0),
                         .hasSha256 = section->has_sha256 != 0};
    entry->backEnd = addText(writing, backEndOf(section), &detail);
    entry->requirements = addText(writing, orEmpty(section->requirements), &detail);
    detail = roundedToWords(detail);
    if (section->num_ranges) {
      size_t bytes = (size_t)section->num_ranges * sizeof *section->ranges;
      memcpy(writing->details + detail, section->ranges, bytes);
      entry->ranges = (uint32_t)detail;
      entry->numRanges = (uint32_t)section->num_ranges;
      detail += (int64_t)bytes;
    }
    if (entry->hasSha256)
      srtSha256(section->data, section->bytes, entry->sha256);
    if (__builtin_add_overflow(smodAligned(end), section->bytes, &end) || end > INT64_MAX / 2)
      return srtError(SINTER_INVALID_ARGUMENT, "module '%s' is too large", writing->path);
  }
  writing->header = (SmodHeader){.magic = {'S', 'M', 'O', 'D'},
                                 .version = SINTER_SMOD_VERSION,
                                 .fileBytes = (uint64_t)end,
                                 .numSections = (uint32_t)writing->count,
                                 .detailBytes = (uint32_t)writing->detailBytes};
  writing->header.hash = srtSmodTableHash(&writing->header, writing->entries, tableBytes);
  return SINTER_OK;
}

static sinter_status_code writeFile(const Writing *writing) {
  NewFile file;
  const char *path = writing->path;
  sinter_status_code status = srtCreateFile(path, &file);
  if (status)
    return status;
  static const char padding[64];
  int64_t tableBytes = writing->count * (int64_t)sizeof *writing->entries + writing->detailBytes;
  int64_t end = (int64_t)sizeof writing->header + tableBytes;
  status = srtWriteAll(file.file, &writing->header, sizeof writing->header, path);
  if (!status)
    status = srtWriteAll(file.file, writing->entries, tableBytes, path);
  for (int32_t i = 0; i < writing->count && !status; ++i) {
    status = srtWriteAll(file.file, padding, smodAligned(end) - end, path);
    if (!status)
      status = srtWriteAll(file.file, writing->sections[i].data, writing->sections[i].bytes, path);
    end = smodAligned(end) + writing->sections[i].bytes;
  }
  return srtFinishFile(&file, status);
}

sinter_status_code sinter_smod_write(const char *path, const sinter_smod_section *sections, int32_t count) {
  if (!path || count < 0 || count > SINTER_SMOD_MAX_SECTIONS || (count && !sections))
    return srtError(SINTER_INVALID_ARGUMENT, "writing a module requires a path and 0 to %d sections, got %d",
                    SINTER_SMOD_MAX_SECTIONS, count);
  Writing writing = {.path = path, .sections = sections, .count = count};
  sinter_status_code status = allocate(&writing);
  if (!status)
    status = fillTable(&writing);
  if (!status)
    status = writeFile(&writing);
  free(writing.entries);
  return status;
}
