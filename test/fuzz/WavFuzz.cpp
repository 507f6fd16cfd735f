// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/data/Media.h"
#include <cstdlib>

using namespace sinter::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  try {
    int64_t rate = -1;
    Value sound = decodeWav(bytes, &rate), scaled = decodeWavF32(bytes);
    if (rate < 0 || !(scaled.dims() == sound.dims()) || sound.memoryBytes() > static_cast<int64_t>(2 * size))
      abort();
  } catch (const Error &error) {
    if (!error.skippable())
      abort();
  }
  return 0;
}
