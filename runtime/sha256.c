// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sha256.h"
#include <string.h>

/// The first 32 bits of the fractions of the cube roots of the first 64 primes.
static const uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void addBlock(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
           (uint32_t)block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25), choice = (e & f) ^ (~e & g);
    uint32_t t1 = h + sum1 + choice + roundConstants[i] + w[i];
    uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22), majority = (a & b) ^ (a & c) ^ (b & c);
    uint32_t t2 = sum0 + majority;
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  uint32_t after[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += after[i];
}

void srtSha256Begin(Sha256 *sha) {
  *sha = (Sha256){
      .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void srtSha256Add(Sha256 *sha, const void *data, int64_t bytes) {
  const uint8_t *at = data;
  size_t filled = sha->bytes % 64, left = (size_t)bytes;
  sha->bytes += left;
  if (filled && left) {
    size_t take = left < 64 - filled ? left : 64 - filled;
    memcpy(sha->block + filled, at, take);
    at += take;
    left -= take;
    if (filled + take < 64)
      return;
    addBlock(sha->state, sha->block);
  }
  for (; left >= 64; left -= 64, at += 64)
    addBlock(sha->state, at);
  if (left)
    memcpy(sha->block, at, left);
}

void srtSha256End(Sha256 *sha, uint8_t digest[srtSha256Bytes]) {
  uint64_t bits = sha->bytes * 8;
  size_t filled = sha->bytes % 64;
  sha->block[filled++] = 0x80;
  if (filled > 56) {
    memset(sha->block + filled, 0, 64 - filled);
    addBlock(sha->state, sha->block);
    filled = 0;
  }
  memset(sha->block + filled, 0, 56 - filled);
  for (int i = 0; i < 8; ++i)
    sha->block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
  addBlock(sha->state, sha->block);
  for (int i = 0; i < srtSha256Bytes; ++i)
    digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void srtSha256(const void *data, int64_t bytes, uint8_t digest[srtSha256Bytes]) {
  Sha256 sha;
  srtSha256Begin(&sha);
  srtSha256Add(&sha, data, bytes);
  srtSha256End(&sha, digest);
}

const char *srtSha256Text(const uint8_t digest[srtSha256Bytes], char text[srtSha256TextBytes]) {
  for (int i = 0; i < srtSha256Bytes; ++i) {
    text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
  }
  text[2 * srtSha256Bytes] = 0;
  return text;
}

int srtSha256Parse(const char *text, uint8_t digest[srtSha256Bytes]) {
  for (int i = 0; i < 2 * srtSha256Bytes; ++i) {
    char c = text[i];
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (value < 0)
      return 0;
    digest[i / 2] = (uint8_t)(i % 2 ? digest[i / 2] | value : value << 4);
  }
  return text[2 * srtSha256Bytes] == 0;
}
