// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hash.h"
#include <pthread.h>
#include <string.h>

//===- XXH64 --------------------------------------------------------------------------------------===//

static const uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F, prime3 = 0x165667B19E3779F9,
                      prime4 = 0x85EBCA77C2B2AE63, prime5 = 0x27D4EB2F165667C5;

static uint64_t load64(const unsigned char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint32_t load32(const unsigned char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint64_t rotateLeft(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

static uint64_t mixLane(uint64_t lane, uint64_t input) { return rotateLeft(lane + input * prime2, 31) * prime1; }

static uint64_t mergeLane(uint64_t hash, uint64_t lane) { return (hash ^ mixLane(0, lane)) * prime1 + prime4; }

uint64_t srtXxh64(const void *data, int64_t bytes, uint64_t seed) {
  const unsigned char *at = data;
  uint64_t hash = seed + prime5;
  int64_t left = bytes;
  if (left >= 32) {
    uint64_t lanes[4] = {seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    for (; left >= 32; left -= 32, at += 32)
      for (int i = 0; i < 4; ++i)
        lanes[i] = mixLane(lanes[i], load64(at + 8 * i));
    hash = rotateLeft(lanes[0], 1) + rotateLeft(lanes[1], 7) + rotateLeft(lanes[2], 12) + rotateLeft(lanes[3], 18);
    for (int i = 0; i < 4; ++i)
      hash = mergeLane(hash, lanes[i]);
  }
  hash += (uint64_t)bytes;
  for (; left >= 8; left -= 8, at += 8)
    hash = rotateLeft(hash ^ mixLane(0, load64(at)), 27) * prime1 + prime4;
  for (; left >= 4; left -= 4, at += 4)
    hash = rotateLeft(hash ^ load32(at) * prime1, 23) * prime2 + prime3;
  for (; left > 0; --left, ++at)
    hash = rotateLeft(hash ^ *at * prime5, 11) * prime1;
  hash = (hash ^ hash >> 33) * prime2;
  hash = (hash ^ hash >> 29) * prime3;
  return hash ^ hash >> 32;
}

//===- CRC-32 -------------------------------------------------------------------------------------===//

/// crcTables[k][b]: the CRC of byte b followed by k zero bytes, so that eight bytes go in one step.
static uint32_t crcTables[8][256];

static void makeCrcTables(void) {
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    crcTables[0][b] = crc;
  }
  for (int k = 1; k < 8; ++k)
    for (uint32_t b = 0; b < 256; ++b)
      crcTables[k][b] = crcTables[k - 1][b] >> 8 ^ crcTables[0][crcTables[k - 1][b] & 0xFF];
}

uint32_t srtCrc32(uint32_t crc, const void *data, int64_t bytes) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, makeCrcTables);
  const unsigned char *at = data;
  crc = ~crc;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint32_t low = crc ^ load32(at), high = load32(at + 4);
    crc = 0;
    for (int i = 0; i < 4; ++i)
      crc ^= crcTables[7 - i][low >> 8 * i & 0xFF] ^ crcTables[3 - i][high >> 8 * i & 0xFF];
  }
  for (; bytes > 0; --bytes, ++at)
    crc = crc >> 8 ^ crcTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}
