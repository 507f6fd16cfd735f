// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file of named tensors: what is read is written and read again. SINTER_ARCHIVE is npz or safetensors, whose
// functions differ in their names alone.

#include "HeldFiles.h"
#include "Same.h"

#define ARCHIVE_JOIN(a, b) a##b
#define ARCHIVE_NAME(a, b) ARCHIVE_JOIN(a, b)
#define ARCHIVE_TYPE ARCHIVE_NAME(sinter_, SINTER_ARCHIVE)
#define ARCHIVE(function) ARCHIVE_NAME(ARCHIVE_NAME(sinter_, SINTER_ARCHIVE), _##function)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Reads what can be read; returns how many.
static int32_t readAll(ARCHIVE_TYPE *file, const char *names[], sinter_tensor tensors[], int32_t room) {
  int32_t count = 0;
  for (int32_t i = 0; i < ARCHIVE(count)(file) && count < room; ++i) {
    const char *name = ARCHIVE(name)(file, i);
    if (ARCHIVE(read)(file, name, &tensors[count]) == SINTER_OK)
      names[count++] = name;
  }
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { room = 16 };
  const char *path = givenFile(data, size);
  ARCHIVE_TYPE *file, *again;
  const char *names[room];
  sinter_tensor tensors[room], tensor;
  if (ARCHIVE(open)(path, &file) == SINTER_OK) {
    int32_t count = readAll(file, names, tensors, room);
    // Two of one name, or a name that the writer refuses, are no error of the reader.
    if (ARCHIVE(write)(writtenFile(), names, tensors, count) == SINTER_OK) {
      if (ARCHIVE(open)(writtenFile(), &again) || ARCHIVE(count)(again) != count)
        abort();
      for (int32_t i = 0; i < count; ++i) {
        if (ARCHIVE(read)(again, names[i], &tensor))
          abort();
        requireSame(&tensors[i], &tensor);
        sinter_tensor_free(&tensor);
      }
      ARCHIVE(close)(again);
    }
    for (int32_t i = 0; i < count; ++i)
      sinter_tensor_free(&tensors[i]);
    ARCHIVE(close)(file);
  }
  return 0;
}
