// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a build without the libraries of pictures says; compiled with its own copies of the two readers.
#include "runtime/data/Media.h"
#include <cstdio>

using namespace sinter::data;

int main() {
  for (auto decode : {decodePng, decodeJpeg}) {
    try {
      decode("", 1);
    } catch (const Error &error) {
      std::puts(error.what());
    }
  }
  return readsPng() || readsJpeg();
}
