// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MemoryFile.h"
#include "runtime/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int file = memoryFile(data, size, path);
  sinter_safetensors *tensors;
  if (sinter_safetensors_open(path, &tensors) == SINTER_OK) {
    for (int i = 0; i < sinter_safetensors_count(tensors); ++i) {
      sinter_tensor tensor;
      if (sinter_safetensors_read(tensors, sinter_safetensors_name(tensors, i), &tensor) == SINTER_OK)
        sinter_tensor_free(&tensor);
    }
    sinter_safetensors_close(tensors);
  }
  close(file);
  return 0;
}
