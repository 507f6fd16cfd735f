// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps of wide kernels: lines of a module's code say what they are of, and each launch has its own, made of the
// launch's words. They are parameters of the kernel, so a node of a graph holds them as it holds addresses, and changes
// with these.
//
//     map 0 bf16 64*w5,w6 128*w5 64,128       of the buffer of word 0: sizes, strides in bytes, box

#include "cuda_device.h"
#include <stdlib.h>
#include <string.h>

/// Reads the product at `*at`, up to a comma, a space or the line's end, which `*at` is behind then. False for what is
/// none.
static int readFactors(char **at, Factors *factors) {
  memset(factors, 0, sizeof *factors);
  factors->constant = 1;
  for (;;) {
    char *begin = *at;
    int isWord = *begin == 'w';
    long long value = strtoll(begin + isWord, at, 10);
    if (*at == begin + isWord || value < 0 || (isWord && (value >= WORDS_OF_A_LAUNCH || factors->numWords == 4)))
      return 0;
    if (isWord)
      factors->words[factors->numWords++] = (int32_t)value;
    else
      factors->constant *= value;
    if (**at == '*') {
      ++*at;
      continue;
    }
    if (**at == ',' || **at == ' ')
      ++*at;
    return 1;
  }
}

int32_t srtCudaReadMap(const char *line, TensorMap *map) {
  char *at = NULL;
  memset(map, 0, sizeof *map);
  long word = strtol(line, &at, 10);
  if (at == line || word < 0 || word >= WORDS_OF_A_LAUNCH)
    return 0;
  map->word = (int32_t)word;
  if (strncmp(at, " f16 ", 5) == 0)
    map->type = CUDA_MAP_F16;
  else if (strncmp(at, " bf16 ", 6) == 0)
    map->type = CUDA_MAP_BF16;
  else
    return 0;
  at = strchr(at + 1, ' ') + 1;
  // The rank is what the sizes are.
  for (char more = ','; more == ','; more = at[-1]) {
    if (map->rank == MAP_RANK || !readFactors(&at, &map->sizes[map->rank++]))
      return 0;
  }
  for (int32_t i = 0; i + 1 < map->rank; ++i)
    if (!readFactors(&at, &map->strides[i]))
      return 0;
  for (int32_t i = 0; i < map->rank; ++i) {
    Factors box;
    if (!readFactors(&at, &box) || box.numWords || box.constant < 1 || box.constant > 256)
      return 0;
    map->box[i] = (uint32_t)box.constant;
  }
  return *at == '\n' && map->rank >= 2;
}

static uint64_t valueOf(const Factors *factors, const int64_t *words) {
  uint64_t value = (uint64_t)factors->constant;
  for (int32_t i = 0; i < factors->numWords; ++i)
    value *= (uint64_t)words[factors->words[i]];
  return value;
}

int srtCudaMapsFit(const Kernel *kernel, const int64_t *words) {
  for (int32_t i = 0; i < kernel->numMaps; ++i) {
    const TensorMap *map = &kernel->maps[i];
    if ((uint64_t)words[map->word] % 16 != 0)
      return 0;
    uint64_t before = 1;
    for (int32_t axis = 0; axis < map->rank; ++axis) {
      uint64_t size = valueOf(&map->sizes[axis], words);
      uint64_t stride = axis ? valueOf(&map->strides[axis - 1], words) : 1;
      // A multiple of the one before, as the driver's documentation has it.
      if (size < 1 || size > UINT32_MAX || (axis && (stride % 16 || stride >> 40 || !stride || stride % before)))
        return 0;
      before = stride;
    }
  }
  return 1;
}

int srtCudaEncodeMaps(const CudaDriver *driver, const Kernel *kernel, const int64_t *words, CudaMap *encoded) {
  const uint32_t ones[MAP_RANK] = {1, 1, 1};
  int error = 0;
  for (int32_t i = 0; i < kernel->numMaps && !error; ++i) {
    const TensorMap *map = &kernel->maps[i];
    uint64_t sizes[MAP_RANK], strides[MAP_RANK];
    for (int32_t axis = 0; axis < map->rank; ++axis) {
      sizes[axis] = valueOf(&map->sizes[axis], words);
      strides[axis] = axis + 1 < map->rank ? valueOf(&map->strides[axis], words) : 0;
    }
    error = driver->mapEncode(&encoded[i], map->type, (uint32_t)map->rank, (void *)(uintptr_t)words[map->word], sizes,
                              strides, map->box, ones, 0, CUDA_MAP_SWIZZLE_128, CUDA_MAP_L2_256, 0);
  }
  return error;
}
