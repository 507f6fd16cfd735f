// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MemoryFile.h"
#include "runtime/sinter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int file = memoryFile(data, size, path);
  sinter_tensor tensor;
  if (sinter_npy_read(path, &tensor) == SINTER_OK)
    sinter_tensor_free(&tensor);
  close(file);
  return 0;
}
