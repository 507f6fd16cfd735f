// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `.smod` container: compiled code for one or several ISA levels, PTX, a manifest and weights.
// Little-endian.
//
//   offset  bytes
//        0      4  "SMOD"
//        4      4  version, SINTER_SMOD_VERSION
//        8      8  bytes of the whole file
//       16      4  number of sections, n
//       20      4  zero
//       24      8  XXH64 (seed 0) of these 64 bytes with this field zero, then of the table
//       32     32  zero
//       64   256n  the table; a section is
//                    0   4  kind                8   8  offset, a multiple of 64
//                    4   4  priority           16   8  bytes        24   8  XXH64 of the bytes
//                   32 224  requirements, terminated: CPU features as srtCpuHas reads them
//   then sections in the order of the table; the gaps, less than 64 bytes each, are zero
//
// Code sections are ELF shared objects that import nothing and export `sinter_functions`, an array of
// `const sinter_function *` that ends with null. The loader takes the one with the highest priority
// whose requirements the machine meets. Weights are mapped, never read. The manifest is UTF-8 text (JSON)
// for people and tools (`sinter inspect`): the loader does not look into it.

#ifndef SINTER_RUNTIME_SMOD_H
#define SINTER_RUNTIME_SMOD_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_SMOD_VERSION 1u
#define SINTER_SMOD_MAX_SECTIONS 64
#define SINTER_SMOD_REQUIREMENTS_BYTES 224

typedef enum sinter_smod_kind {
  SINTER_SMOD_MANIFEST = 1,
  SINTER_SMOD_CODE = 2,
  SINTER_SMOD_PTX = 3,
  SINTER_SMOD_WEIGHTS = 4
} sinter_smod_kind;

typedef struct sinter_smod_section {
  uint32_t kind;     // sinter_smod_kind
  uint32_t priority; // code: larger is better
  const void *data;  // when read: mapped, valid until close
  int64_t bytes;
  const char *requirements; // code: CPU features; null means none when written, never null when read
} sinter_smod_section;

/// Writes `count` sections (at most one manifest and one weights section): to a temporary file beside
/// `path`, then renamed.
SINTER_API sinter_status_code sinter_smod_write(const char *path, const sinter_smod_section *sections, int32_t count);

typedef struct Smod sinter_smod;

/// Maps a `.smod` and verifies it without loading its code.
SINTER_API sinter_status_code sinter_smod_open(const char *path, sinter_smod **smod);
SINTER_API void sinter_smod_close(sinter_smod *smod);
SINTER_API int32_t sinter_smod_count(const sinter_smod *smod);

/// Section `index`, or null when out of range. Valid until close.
SINTER_API const sinter_smod_section *sinter_smod_section_at(const sinter_smod *smod, int32_t index);

/// As sinter_smod_open; may leave the hash of the weights unchecked, which would read all of them.
sinter_status_code srtSmodOpen(const char *path, int skipWeightHash, sinter_smod **smod);

/// The weights section; null data and 0 bytes without one.
sinter_smod_section srtSmodWeights(const sinter_smod *smod);

#ifdef __cplusplus
}
#endif

#endif
