// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `.smod` container: compiled code for any number of machines, a manifest and weights. Little-endian. Version 2:
//
//   offset  bytes
//        0      4  "SMOD"
//        4      4  version, SINTER_SMOD_VERSION
//        8      8  bytes of the whole file
//       16      4  number of sections, n
//       20      4  bytes of details, d: a multiple of 8
//       24      8  XXH64 (seed 0) of these 64 bytes with this field zero, then of the table, then of the details
//       32     32  zero
//       64   128n  the table; a section is
//                    0   4  kind                8   8  offset, a multiple of 64
//                    4   4  priority           16   8  bytes        24   8  XXH64 of the bytes
//                   32   4  back end, where in the details its text begins
//                   36   4  requirements, the same
//                   40   4  ranges, where in the details they begin: a multiple of 8
//                   44   4  number of ranges
//                   48   4  1 when the SHA-256 is given, else 0
//                   52  12  zero               64  32  SHA-256 of the bytes, or zeros      96  32  zero
//   64+128n      d  the details: text that ends with a zero byte, the first and the last byte are zero; ranges are
//                   pairs of 8 bytes, offset and bytes
//   then sections in the order of the table; the gaps, less than 64 bytes each, are zero
//
// A code section is for a back end, and says what it requires of a machine and which bytes of the weights it reads (no
// ranges: all). Back ends that a reader does not know are passed over, so that others can be added. Those of "cpu"
// require what sinter_host_runs reads, and are ELF shared objects that call nothing but what imports.c offers and
// export `sinter_functions`, an array of `const sinter_function *` that ends with null (code.h has the rest). The
// loader takes the one with the highest priority whose requirements the machine meets. The manifest is UTF-8 text
// (JSON) for people and tools (`sinter inspect`): the loader does not look into it.
//
// Version 1, which is read but no longer written, has no details: n sections of 256 bytes, whose requirements are text
// in the last 224; all code is for "cpu".

#ifndef SINTER_RUNTIME_SMOD_H
#define SINTER_RUNTIME_SMOD_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_SMOD_VERSION 2u
#define SINTER_SMOD_MAX_SECTIONS 1024
#define SINTER_SMOD_MAX_DETAIL_BYTES (1 << 24)

typedef enum sinter_smod_kind {
  SINTER_SMOD_MANIFEST = 1,
  SINTER_SMOD_CODE = 2,
  SINTER_SMOD_PTX = 3, // in version 1 only, where no compiler wrote it
  SINTER_SMOD_WEIGHTS = 4
} sinter_smod_kind;

typedef struct sinter_smod_range {
  int64_t offset, bytes;
} sinter_smod_range;

typedef struct sinter_smod_section {
  uint32_t kind;     // sinter_smod_kind
  uint32_t priority; // code: larger is better
  const void *data;  // when read: aligned to 64 bytes, valid until close
  int64_t bytes;
  const char *requirements;        // null means none when written, never null when read
  const char *back_end;            // code: null means "cpu" when written, never null when read; others: ""
  const sinter_smod_range *ranges; // code: of the weights, in ascending order; null means all
  int32_t num_ranges;
  int32_t has_sha256; // when written: asks for it; when read: it is there
  uint8_t sha256[32];
} sinter_smod_section;

/// Writes `count` sections (at most one manifest and one weights section): to a temporary file beside
/// `path`, then renamed.
SINTER_API sinter_status_code sinter_smod_write(const char *path, const sinter_smod_section *sections, int32_t count);

typedef struct Smod sinter_smod;

/// Reads a `.smod` and verifies all of it (SHA-256s that it has, too) without loading its code.
SINTER_API sinter_status_code sinter_smod_open(const char *path, sinter_smod **smod);
SINTER_API void sinter_smod_close(sinter_smod *smod);
SINTER_API uint32_t sinter_smod_version(const sinter_smod *smod);
SINTER_API int32_t sinter_smod_count(const sinter_smod *smod);

/// Section `index`, or null when out of range. Valid until close.
SINTER_API const sinter_smod_section *sinter_smod_section_at(const sinter_smod *smod, int32_t index);

/// Sets `*index` to the code section that this machine takes. Where there is none it fails with SINTER_UNSUPPORTED,
/// naming what the nearest one requires, or SINTER_CORRUPT when the module has no code.
SINTER_API sinter_status_code sinter_smod_choose(const sinter_smod *smod, int32_t *index);

/// Writes the SHA-256 of a block of bytes, or of a file, as 64 hexadecimal digits.
SINTER_API void sinter_sha256(const void *data, int64_t bytes, char text[65]);
SINTER_API sinter_status_code sinter_sha256_file(const char *path, char text[65]);

/// Code that was compiled in this process, or is a section's payload, in memory: it needs no file and copies `image`.
typedef struct Code sinter_code;
SINTER_API sinter_status_code sinter_code_load(const char *name, const void *image, int64_t bytes, sinter_code **code);
/// `sinter_functions` of the code, which was checked only as far as loading needs; valid until free.
SINTER_API const sinter_function *const *sinter_code_functions(const sinter_code *code);
SINTER_API void sinter_code_free(sinter_code *code);

/// How srtSmodOpen reads.
typedef struct SmodReading {
  int skipWeightHash, mapWeights, checkSha256;
  const char *sha256; // of the whole file, 64 digits; null: any
} SmodReading;

/// Opens a container as sinter_smod_open does, with what only the runtime asks for; the caller closes `*smod`.
sinter_status_code srtSmodOpen(const char *path, const SmodReading *reading, sinter_smod **smod);

/// What was opened.
const char *srtSmodPath(const sinter_smod *smod);

/// The weights section; null data and 0 bytes without one.
sinter_smod_section srtSmodWeights(const sinter_smod *smod);

/// Gives memory of weights that section `index` does not read back to the system.
void srtSmodDropUnused(sinter_smod *smod, int32_t index);

#ifdef __cplusplus
}
#endif

#endif
