// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures of all formats; more than a megapixel is refused, as the time that takes is the libraries'.
#include "runtime/data/Media.h"
#include <cstdlib>

using namespace sinter::data;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  try {
    Value picture = decodePicture(bytes, static_cast<int64_t>(size % 5), 1 << 20);
    if (size % 5 && picture.dims()[2] != static_cast<int64_t>(size % 5))
      abort();
    // All that is said to be there can be read.
    uint64_t sum = 0;
    for (int64_t i = 0; i < picture.memoryBytes(); ++i)
      sum += static_cast<unsigned char>(picture.data()[i]);
    if (sum == 1)
      return 0;
  } catch (const Error &error) {
    if (!error.skippable() || std::string_view(error.what()).find('\n') != std::string_view::npos)
      abort();
  }
  return 0;
}
