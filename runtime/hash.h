// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_HASH_H
#define SINTER_RUNTIME_HASH_H

#include <stdint.h>

/// XXH64 with seed `seed` (Collet, "xxHash fast digest algorithm", specification 0.1.1). It finds damage,
/// not forgery.
uint64_t srtXxh64(const void *data, int64_t bytes, uint64_t seed);

/// CRC-32 as zip uses it (polynomial 0xEDB88320, reflected), going on from `crc`; start with 0.
uint32_t srtCrc32(uint32_t crc, const void *data, int64_t bytes);

#endif
