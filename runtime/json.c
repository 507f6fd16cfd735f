// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "json.h"

static void skipBlanks(Json *json) {
  while (json->at < json->end && (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
    ++json->at;
}

int srtJsonTake(Json *json, char c) {
  skipBlanks(json);
  if (json->at == json->end || *json->at != c)
    return 0;
  ++json->at;
  return 1;
}

int srtJsonAtEnd(Json *json) {
  skipBlanks(json);
  return json->at == json->end;
}

/// Four hexadecimal digits, or -1.
static int32_t readUnit(Json *json) {
  if (json->end - json->at < 4)
    return -1;
  int32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    char c = *json->at++;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return -1;
    unit = unit << 4 | digit;
  }
  return unit;
}

/// The character of \uXXXX, or of two that are a surrogate pair; -1 when it is none.
static int32_t readCharacter(Json *json) {
  int32_t unit = readUnit(json);
  if (unit < 0xD800 || unit > 0xDFFF)
    return unit;
  if (unit > 0xDBFF || json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
    return -1;
  json->at += 2;
  int32_t low = readUnit(json);
  return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

/// Never longer than the escape that it comes from.
static char *writeCharacter(char *to, int32_t character) {
  if (character < 0x80) {
    *to++ = (char)character;
    return to;
  }
  int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  *to++ = (char)((0xFF00 >> (more + 1) & 0xFF) | character >> 6 * more);
  while (more-- > 0)
    *to++ = (char)(0x80 | (character >> 6 * more & 0x3F));
  return to;
}

int64_t srtJsonString(Json *json, char *text) {
  if (!srtJsonTake(json, '"'))
    return -1;
  char *to = text;
  while (json->at < json->end) {
    char c = *json->at++;
    if (c == '"') {
      *to = 0;
      return to - text;
    }
    if ((unsigned char)c < 0x20)
      return -1;
    if (c != '\\') {
      *to++ = c;
      continue;
    }
    if (json->at == json->end)
      return -1;
    static const char from[] = "\"\\/bfnrt", escaped[] = "\"\\/\b\f\n\r\t";
    c = *json->at++;
    int found = 0;
    for (int i = 0; from[i]; ++i)
      if (c == from[i]) {
        *to++ = escaped[i];
        found = 1;
      }
    if (found)
      continue;
    int32_t character = c == 'u' ? readCharacter(json) : -1;
    if (character <= 0)
      return -1;
    to = writeCharacter(to, character);
  }
  return -1;
}

int srtJsonCount(Json *json, int64_t *value) {
  skipBlanks(json);
  const char *start = json->at;
  int64_t count = 0;
  for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; ++json->at)
    if (__builtin_mul_overflow(count, 10, &count) || __builtin_add_overflow(count, *json->at - '0', &count))
      return 0;
  *value = count;
  // no sign, no leading zeros, no fraction
  return json->at > start && (*start != '0' || json->at == start + 1) &&
         (json->at == json->end || (*json->at != '.' && *json->at != 'e' && *json->at != 'E'));
}
