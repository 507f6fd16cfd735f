// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SHA-256 (FIPS 180-4), with which users pin the files that they ship. It is far slower than the XXH64 that finds
// damage (hash.h), so that it is computed only where somebody asks for it.

#ifndef SINTER_RUNTIME_SHA256_H
#define SINTER_RUNTIME_SHA256_H

#include <stdint.h>

enum { srtSha256Bytes = 32, srtSha256TextBytes = 2 * srtSha256Bytes + 1 };

/// A digest in the making.
typedef struct Sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64]; // what does not fill one yet
} Sha256;

void srtSha256Begin(Sha256 *sha);
void srtSha256Add(Sha256 *sha, const void *data, int64_t bytes);
void srtSha256End(Sha256 *sha, uint8_t digest[srtSha256Bytes]);

/// The digest of one block of bytes.
void srtSha256(const void *data, int64_t bytes, uint8_t digest[srtSha256Bytes]);

/// Writes a digest as 64 hexadecimal digits into `text` and returns it.
const char *srtSha256Text(const uint8_t digest[srtSha256Bytes], char text[srtSha256TextBytes]);

/// Reads 64 hexadecimal digits, of either case. Returns 0 for any other text.
int srtSha256Parse(const char *text, uint8_t digest[srtSha256Bytes]);

#endif
