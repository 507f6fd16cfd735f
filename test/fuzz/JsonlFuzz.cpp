// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeldFiles.h"
#include "runtime/data/JsonLines.h"

using namespace sinter::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = givenFile(data, size);
  try {
    Loader loader(readJsonLines(path, {.sampleLines = 3, .maxLineBytes = 1 << 16}).skipErrors());
    for (Record record; loader.next(record);)
      ;
  } catch (const Error &) {
  }
  return 0;
}
