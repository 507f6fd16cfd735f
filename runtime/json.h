// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads JSON text front to back, as much of it as the header of a safetensors file needs. The text is not trusted:
// nothing is read past its end, and nothing recurses.

#ifndef SINTER_RUNTIME_JSON_H
#define SINTER_RUNTIME_JSON_H

#include <stdint.h>

typedef struct Json {
  const char *begin, *at, *end;
} Json;

/// Skips blanks; takes `c` and returns 1, or returns 0 and stays.
int srtJsonTake(Json *json, char c);

/// True when only blanks are left.
int srtJsonAtEnd(Json *json);

/// Reads a string and writes it as UTF-8 with a terminator to `text`, which has room for the rest of the input and one
/// byte. Returns its length, or -1: not a string, a bad escape, a control character or a zero.
int64_t srtJsonString(Json *json, char *text);

/// Reads an integer from 0 to INT64_MAX. Returns 0 when there is none.
int srtJsonCount(Json *json, int64_t *value);

#endif
