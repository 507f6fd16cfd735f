// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of a `.smod` (smod.h), for those who read and write it.

#ifndef SINTER_RUNTIME_SMOD_LAYOUT_H
#define SINTER_RUNTIME_SMOD_LAYOUT_H

#include "smod.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian, and so must the machine be"
#endif

typedef struct SmodHeader {
  char magic[4];
  uint32_t version;
  uint64_t fileBytes;
  uint32_t numSections;
  uint32_t detailBytes; // version 1: zero
  uint64_t hash;
  char reserved[32];
} SmodHeader;

typedef struct SmodEntry {
  uint32_t kind;
  uint32_t priority;
  uint64_t offset;
  uint64_t bytes;
  uint64_t hash;
  uint32_t backEnd;
  uint32_t requirements;
  uint32_t ranges;
  uint32_t numRanges;
  uint32_t hasSha256;
  char reserved[12];
  uint8_t sha256[32];
  char reserved2[32];
} SmodEntry;

typedef struct SmodEntry1 {
  uint32_t kind;
  uint32_t priority;
  uint64_t offset;
  uint64_t bytes;
  uint64_t hash;
  char requirements[224];
} SmodEntry1;

_Static_assert(sizeof(SmodHeader) == 64 && sizeof(SmodEntry) == 128 && sizeof(SmodEntry1) == 256,
               "the layout of the file");

/// The name of a sinter_smod_kind.
static inline const char *smodKindName(uint32_t kind) {
  static const char *const names[] = {"unknown", "manifest", "code", "ptx", "weights"};
  return names[kind <= SINTER_SMOD_WEIGHTS ? kind : 0];
}

/// Where a section begins after what ends at `offset`.
static inline int64_t smodAligned(int64_t offset) { return (offset + 63) / 64 * 64; }

/// The hash of `header` and of the `bytes` behind it, which are the table and the details.
uint64_t srtSmodTableHash(const SmodHeader *header, const void *table, int64_t bytes);

#endif
