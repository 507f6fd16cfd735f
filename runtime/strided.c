// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "strided.h"
#include <string.h>

int srtIsDense(const sinter_tensor *tensor) {
  if (!tensor->strides)
    return 1;
  int64_t expected = 1;
  for (int32_t i = tensor->rank - 1; i >= 0; --i) {
    if (tensor->dims[i] != 1 && tensor->strides[i] != expected)
      return 0;
    expected *= tensor->dims[i];
  }
  return 1;
}

/// Copies `count` elements with the given steps in bytes. The sizes are constants to the compiler.
static void copyRow(char *to, int64_t toStep, const char *from, int64_t fromStep, int64_t count, int64_t element) {
  if (toStep == element && fromStep == element) {
    memcpy(to, from, (size_t)(count * element));
    return;
  }
#define COPY_ELEMENTS(bytes)                                                                                           \
  for (int64_t i = 0; i < count; ++i)                                                                                  \
  memcpy(to + i * toStep, from + i * fromStep, bytes)
  switch (element) {
  case 1:
    COPY_ELEMENTS(1);
    break;
  case 2:
    COPY_ELEMENTS(2);
    break;
  case 4:
    COPY_ELEMENTS(4);
    break;
  default:
    COPY_ELEMENTS(8);
    break;
  }
#undef COPY_ELEMENTS
}

static void copyStrided(const sinter_tensor *tensor, char *dense, int toDense) {
  int64_t element = sinter_dtype_bytes(tensor->dtype);
  int32_t inner = tensor->rank - 1;
  int64_t row = inner < 0 ? 1 : tensor->dims[inner], step = inner < 0 ? element : tensor->strides[inner] * element;
  int64_t at[SINTER_MAX_RANK] = {0};
  char *strided = tensor->data;
  for (;; dense += row * element) {
    if (toDense)
      copyRow(dense, element, strided, step, row, element);
    else
      copyRow(strided, step, dense, element, row, element);
    int32_t d = inner - 1;
    for (; d >= 0; --d) {
      strided += tensor->strides[d] * element;
      if (++at[d] < tensor->dims[d])
        break;
      strided -= tensor->dims[d] * tensor->strides[d] * element;
      at[d] = 0;
    }
    if (d < 0)
      return;
  }
}

void srtCopyToDense(const sinter_tensor *tensor, void *dense) { copyStrided(tensor, dense, 1); }

void srtCopyFromDense(const sinter_tensor *tensor, const void *dense) { copyStrided(tensor, (char *)dense, 0); }

int srtHasOtherTruths(const void *bytes, int64_t count) {
  const unsigned char *at = bytes;
  // Blocks without a branch become vector code.
  for (int64_t begin = 0; begin < count; begin += 4096) {
    int64_t end = count - begin < 4096 ? count : begin + 4096;
    unsigned char all = 0;
    for (int64_t i = begin; i < end; ++i)
      all |= at[i];
    if (all > 1)
      return 1;
  }
  return 0;
}

void srtNormalizeTruths(void *bytes, int64_t count) {
  unsigned char *at = bytes;
  for (int64_t i = 0; i < count; ++i)
    at[i] = at[i] != 0;
}
