// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MemoryFile.h"
#include "runtime/sinter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int file = memoryFile(data, size, path);
  sinter_npz *npz;
  if (sinter_npz_open(path, &npz) == SINTER_OK) {
    for (int i = 0; i < sinter_npz_count(npz); ++i) {
      sinter_tensor tensor;
      if (sinter_npz_read(npz, sinter_npz_name(npz, i), &tensor) == SINTER_OK)
        sinter_tensor_free(&tensor);
    }
    sinter_npz_close(npz);
  }
  close(file);
  return 0;
}
