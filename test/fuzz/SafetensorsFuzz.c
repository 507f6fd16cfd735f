// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MemoryFile.h"
#include "Same.h"
#include "runtime/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Reads what can be read; returns how many.
static int32_t readAll(sinter_safetensors *file, const char *names[], sinter_tensor tensors[], int32_t room) {
  int32_t count = 0;
  for (int32_t i = 0; i < sinter_safetensors_count(file) && count < room; ++i) {
    const char *name = sinter_safetensors_name(file, i);
    if (sinter_safetensors_read(file, name, &tensors[count]) == SINTER_OK)
      names[count++] = name;
  }
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { room = 16 };
  const char *path = memoryFile(data, size);
  sinter_safetensors *file, *again;
  const char *names[room];
  sinter_tensor tensors[room], tensor;
  if (sinter_safetensors_open(path, &file) == SINTER_OK) {
    int32_t count = readAll(file, names, tensors, room);
    // Two of one name, or a name that the writer refuses, are no error of the reader.
    if (sinter_safetensors_write(pathToWrite(), names, tensors, count) == SINTER_OK) {
      if (sinter_safetensors_open(pathToWrite(), &again) || sinter_safetensors_count(again) != count)
        abort();
      for (int32_t i = 0; i < count; ++i) {
        if (sinter_safetensors_read(again, names[i], &tensor))
          abort();
        requireSame(&tensors[i], &tensor);
        sinter_tensor_free(&tensor);
      }
      sinter_safetensors_close(again);
    }
    for (int32_t i = 0; i < count; ++i)
      sinter_tensor_free(&tensors[i]);
    sinter_safetensors_close(file);
  }
  return 0;
}
