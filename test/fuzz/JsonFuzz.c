// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first byte says how many calls of each kind come before the next: any order of calls must stay inside of the
// text.

#include "runtime/json.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  unsigned order = data[0];
  size_t length = size - 1;
  char *bytes = malloc(length + 1), *text = malloc(length + 1); // of the exact sizes, so that a byte more is found
  char *begin = malloc(length ? length : 1);
  if (!bytes || !text || !begin)
    abort();
  memcpy(begin, data + 1, length);
  Json json = {begin, begin, begin + length};
  for (int step = 0; !srtJsonAtEnd(&json) && step < 4096; ++step) {
    const char *before = json.at;
    int64_t value;
    unsigned first = (order + (unsigned)step) % 3;
    for (unsigned kind = 0; kind < 3 && json.at == before; ++kind) {
      if ((first + kind) % 3 == 0) {
        if (srtJsonString(&json, text) > (int64_t)length)
          abort();
      } else if ((first + kind) % 3 == 1) {
        if (srtJsonCount(&json, &value) && value < 0)
          abort();
      } else {
        for (const char *c = "{}[]:,"; *c && !srtJsonTake(&json, *c);)
          ++c;
      }
    }
    if (json.at == before) // nothing takes it: past the character by hand
      ++json.at;
    if (json.at > json.end)
      abort();
  }
  free(begin);
  free(text);
  free(bytes);
  return 0;
}
