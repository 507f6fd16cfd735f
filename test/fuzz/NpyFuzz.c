// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HeldFiles.h"
#include "Same.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = givenFile(data, size);
  sinter_tensor tensor, again;
  if (sinter_npy_read(path, &tensor) == SINTER_OK) {
    if (sinter_npy_write(writtenFile(), &tensor) || sinter_npy_read(writtenFile(), &again))
      abort();
    requireSame(&tensor, &again);
    sinter_tensor_free(&again);
    sinter_tensor_free(&tensor);
  }
  return 0;
}
