// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeldFiles.h"
#include "runtime/data/Arrays.h"

using namespace sinter::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = givenFile(data, size);
  try {
    auto source = openIdx(path, "x", 1 << 24);
    for (int64_t i = 0; i < source->size() && i < 100; ++i)
      (void)source->read(i);
  } catch (const Error &) {
  }
  return 0;
}
