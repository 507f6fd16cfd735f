// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes of up to `fastBits` bits are decoded by one table look-up. Longer ones are found by length: in a
// canonical code the codes of one length are consecutive numbers, so a code is known by its length
// and its distance from the first of that length.

#include "inflate.h"
#include <string.h>

enum { maxBits = 15, fastBits = 9, maxLiteralCodes = 288, maxDistanceCodes = 32, endOfBlock = 256 };

typedef struct Input {
  const unsigned char *at, *end;
  uint64_t bits; // the next ones, lowest first
  int numBits;
  int numMissing; // bytes that were asked for behind the end
} Input;

typedef struct Code {
  uint16_t fast[1 << fastBits]; // symbol << 4 | length; 0: longer or unused
  uint16_t count[maxBits + 1];  // codes of each length
  uint16_t symbols[maxLiteralCodes];
} Code;

/// Makes at least 48 bits available; behind the end they are zero and counted.
static void refill(Input *input) {
  while (input->numBits <= 56) {
    uint64_t byte = 0;
    if (input->at < input->end)
      byte = *input->at++;
    else
      ++input->numMissing;
    input->bits |= byte << input->numBits;
    input->numBits += 8;
  }
}

static uint32_t takeBits(Input *input, int count) {
  uint32_t value = (uint32_t)(input->bits & ((UINT64_C(1) << count) - 1));
  input->bits >>= count;
  input->numBits -= count;
  return value;
}

/// Whether bits were used that the input does not have.
static int ranOut(const Input *input) { return input->numMissing * 8 > input->numBits; }

/// Builds the canonical code for the given lengths. Returns 0 for lengths that are no code.
static int buildCode(Code *code, const uint8_t *lengths, int count) {
  memset(code->fast, 0, sizeof code->fast);
  memset(code->count, 0, sizeof code->count);
  for (int s = 0; s < count; ++s)
    ++code->count[lengths[s]];
  int numUsed = count - code->count[0];
  code->count[0] = 0;
  int left = 1, starts[maxBits + 2] = {0};
  for (int length = 1; length <= maxBits; ++length) {
    left = 2 * left - code->count[length];
    if (left < 0)
      return 0; // more codes than there is room for
    starts[length + 1] = starts[length] + code->count[length];
  }
  if (left > 0 && numUsed > 1)
    return 0; // only a lone code may leave others unused

  int next[maxBits + 1];
  for (int length = 1, value = 0; length <= maxBits; ++length) {
    next[length] = value;
    value = (value + code->count[length]) << 1;
  }
  for (int s = 0; s < count; ++s) {
    int length = lengths[s];
    if (length == 0)
      continue;
    code->symbols[starts[length]++] = (uint16_t)s;
    int value = next[length]++;
    if (length > fastBits)
      continue;
    int reversed = 0; // the stream has a code's highest bit first
    for (int bit = 0; bit < length; ++bit)
      reversed |= (value >> bit & 1) << (length - 1 - bit);
    for (int i = reversed; i < 1 << fastBits; i += 1 << length)
      code->fast[i] = (uint16_t)(s << 4 | length);
  }
  return 1;
}

/// The next symbol, or -1 for a code that is not used. Needs `maxBits` bits.
static int decode(Input *input, const Code *code) {
  int entry = code->fast[input->bits & ((1 << fastBits) - 1)];
  if (entry) {
    takeBits(input, entry & 15);
    return entry >> 4;
  }
  int value = 0, first = 0, index = 0;
  for (int length = 1; length <= maxBits; ++length) {
    value |= (int)(input->bits >> (length - 1) & 1);
    int count = code->count[length];
    if (value - first < count) {
      takeBits(input, length);
      return code->symbols[index + value - first];
    }
    index += count;
    first = (first + count) << 1;
    value <<= 1;
  }
  return -1;
}

typedef struct Output {
  unsigned char *begin, *at, *end;
} Output;

static const char *copyStored(Input *input, Output *output) {
  takeBits(input, input->numBits & 7);
  // Whole bytes that were read ahead are given back.
  int ahead = input->numBits / 8 - input->numMissing;
  if (ahead < 0)
    return "a truncated stream";
  input->at -= ahead;
  input->bits = 0;
  input->numBits = input->numMissing = 0;
  if (input->end - input->at < 4)
    return "a truncated stream";
  uint32_t length = input->at[0] | (uint32_t)input->at[1] << 8, check = input->at[2] | (uint32_t)input->at[3] << 8;
  if ((length ^ check) != 0xFFFF)
    return "a stored block whose length does not match its check";
  input->at += 4;
  if (input->end - input->at < (int64_t)length)
    return "a truncated stream";
  if (output->end - output->at < (int64_t)length)
    return "more data than stated";
  memcpy(output->at, input->at, length);
  input->at += length;
  output->at += length;
  return NULL;
}

static const char *expandBlock(Input *input, Output *output, const Code *literals, const Code *distances) {
  static const uint16_t lengthBase[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                          31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint8_t lengthExtra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
  static const uint16_t distanceBase[30] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                            33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                            1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  for (;;) {
    refill(input); // 15 + 5 + 15 + 13 bits at most
    int symbol = decode(input, literals);
    if (symbol < 0 || symbol > 285)
      return "an unknown code";
    if (ranOut(input))
      return "a truncated stream";
    if (symbol < endOfBlock) {
      if (output->at == output->end)
        return "more data than stated";
      *output->at++ = (unsigned char)symbol;
      continue;
    }
    if (symbol == endOfBlock)
      return NULL;
    int64_t length = lengthBase[symbol - 257] + takeBits(input, lengthExtra[symbol - 257]);
    int code = decode(input, distances);
    if (code < 0 || code > 29)
      return "an unknown distance";
    int64_t distance = distanceBase[code] + takeBits(input, code < 4 ? 0 : code / 2 - 1);
    if (ranOut(input))
      return "a truncated stream";
    if (distance > output->at - output->begin)
      return "a distance before the start";
    if (length > output->end - output->at)
      return "more data than stated";
    const unsigned char *from = output->at - distance;
    if (distance >= length) {
      memcpy(output->at, from, (size_t)length);
      output->at += length;
    } else {
      while (length-- > 0) // source and target overlap: a repeated pattern
        *output->at++ = *from++;
    }
  }
}

static void buildFixed(Code *literals, Code *distances) {
  uint8_t lengths[maxLiteralCodes];
  memset(lengths, 8, 144);
  memset(lengths + 144, 9, 112);
  memset(lengths + 256, 7, 24);
  memset(lengths + 280, 8, 8);
  buildCode(literals, lengths, maxLiteralCodes);
  memset(lengths, 5, maxDistanceCodes);
  buildCode(distances, lengths, maxDistanceCodes);
}

static const char *readDynamic(Input *input, Code *literals, Code *distances) {
  static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  refill(input);
  int numLiterals = (int)takeBits(input, 5) + 257, numDistances = (int)takeBits(input, 5) + 1;
  int numLengths = (int)takeBits(input, 4) + 4;
  uint8_t lengths[maxLiteralCodes + maxDistanceCodes] = {0};
  if (numLiterals > 286 || numDistances > 30)
    return "too many codes";
  for (int i = 0; i < numLengths; ++i) {
    refill(input);
    lengths[order[i]] = (uint8_t)takeBits(input, 3);
  }
  // `literals` serves for the code of the lengths first.
  if (!buildCode(literals, lengths, 19))
    return "lengths that are no code";
  memset(lengths, 0, 19);
  for (int i = 0; i < numLiterals + numDistances;) {
    refill(input);
    int symbol = decode(input, literals);
    if (symbol < 0 || ranOut(input))
      return symbol < 0 ? "an unknown code" : "a truncated stream";
    if (symbol < 16) {
      lengths[i++] = (uint8_t)symbol;
      continue;
    }
    if (symbol == 16 && i == 0)
      return "a repeated length without one before";
    uint8_t value = symbol == 16 ? lengths[i - 1] : 0;
    int repeat = symbol == 16   ? 3 + (int)takeBits(input, 2)
                 : symbol == 17 ? 3 + (int)takeBits(input, 3)
                                : 11 + (int)takeBits(input, 7);
    if (i + repeat > numLiterals + numDistances)
      return "too many lengths";
    memset(lengths + i, value, (size_t)repeat);
    i += repeat;
  }
  if (ranOut(input))
    return "a truncated stream";
  if (lengths[endOfBlock] == 0)
    return "a block without an end";
  if (!buildCode(literals, lengths, numLiterals) || !buildCode(distances, lengths + numLiterals, numDistances))
    return "lengths that are no code";
  return NULL;
}

const char *srtInflate(const unsigned char *in, int64_t inBytes, unsigned char *out, int64_t outBytes) {
  Input input = {.at = in, .end = in + inBytes};
  Output output = {out, out, out + outBytes};
  Code literals, distances;
  for (int last = 0; !last;) {
    refill(&input);
    last = (int)takeBits(&input, 1);
    uint32_t kind = takeBits(&input, 2);
    if (ranOut(&input))
      return "a truncated stream";
    const char *error = NULL;
    if (kind == 0)
      error = copyStored(&input, &output);
    else if (kind == 3)
      error = "an unknown kind of block";
    else if (kind == 1)
      buildFixed(&literals, &distances);
    else
      error = readDynamic(&input, &literals, &distances);
    if (!error && kind != 0)
      error = expandBlock(&input, &output, &literals, &distances);
    if (error)
      return error;
  }
  return output.at == output.end ? NULL : "less data than stated";
}
