// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps of wide kernels: lines of a module's code say what they are of, and each launch has its own, with the
// addresses of its buffers. They are parameters of the kernel, so a node of a graph holds them as it holds addresses,
// and changes with these.
//
//     map 0 bf16 64,256 128 64,128       of the buffer of word 0: sizes, strides in bytes, box
//     map 0 bf16 64,8*w4 128 64,128      eight times as many rows as word 4 says

#include "cuda_device.h"
#include <stdlib.h>
#include <string.h>

static int isDigit(char c) { return c >= '0' && c <= '9'; }

/// Reads the number at `*at` with the words behind it, and the comma, space or end of line that follows. False for what
/// is none.
static int readNumber(char **at, MapNumber *number) {
  if (!isDigit(**at))
    return 0;
  number->number = strtoull(*at, at, 10);
  for (number->numWords = 0; strncmp(*at, "*w", 2) == 0; ++number->numWords) {
    if (number->numWords == MAP_FACTORS || !isDigit((*at)[2]))
      return 0;
    unsigned long word = strtoul(*at + 2, at, 10);
    if (word >= WORDS_OF_A_LAUNCH)
      return 0;
    number->words[number->numWords] = (int32_t)word;
  }
  if (**at == ',' || **at == ' ')
    ++*at;
  return 1;
}

static uint64_t valueOf(const MapNumber *number, const int64_t *words) {
  uint64_t value = number->number;
  for (int32_t i = 0; i < number->numWords; ++i)
    value *= (uint64_t)words[number->words[i]];
  return value;
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
  else if (strncmp(at, " u8 ", 4) == 0)
    map->type = CUDA_MAP_U8;
  else
    return 0;
  at = strchr(at + 1, ' ') + 1;
  // The rank is what the sizes are.
  for (char more = ','; more == ','; more = at[-1]) {
    if (map->rank == MAP_RANK || !readNumber(&at, &map->sizes[map->rank++]))
      return 0;
  }
  for (int32_t i = 0; i + 1 < map->rank; ++i)
    if (!readNumber(&at, &map->strides[i]))
      return 0;
  for (int32_t i = 0; i < map->rank; ++i) {
    MapNumber box;
    if (!readNumber(&at, &box) || box.numWords || box.number < 1 || box.number > 256)
      return 0;
    map->box[i] = (uint32_t)box.number;
  }
  return *at == '\n' && map->rank >= 2;
}

int srtCudaMapsFit(const Kernel *kernel, const int64_t *words) {
  for (int32_t i = 0; i < kernel->numMaps; ++i) {
    const TensorMap *map = &kernel->maps[i];
    if ((uint64_t)words[map->word] % 16 != 0)
      return 0;
    uint64_t before = 1;
    for (int32_t axis = 0; axis < map->rank; ++axis) {
      uint64_t stride = axis ? valueOf(&map->strides[axis - 1], words) : 1, size = valueOf(&map->sizes[axis], words);
      // A multiple of the one before, as the driver's documentation has it.
      if (size < 1 || size > UINT32_MAX || (axis && (!stride || stride % 16 || stride >> 40 || stride % before)))
        return 0;
      before = stride;
    }
  }
  return 1;
}

int srtCudaEncodeMaps(const CudaDriver *driver, const Kernel *kernel, const int64_t *words, CudaMap *encoded) {
  const uint32_t ones[MAP_RANK] = {1, 1, 1, 1, 1};
  int error = 0;
  for (int32_t i = 0; i < kernel->numMaps && !error; ++i) {
    const TensorMap *map = &kernel->maps[i];
    uint64_t sizes[MAP_RANK], strides[MAP_RANK];
    for (int32_t axis = 0; axis < map->rank; ++axis) {
      sizes[axis] = valueOf(&map->sizes[axis], words);
      strides[axis] = valueOf(&map->strides[axis], words);
    }
    error = driver->mapEncode(&encoded[i], map->type, (uint32_t)map->rank, (void *)(uintptr_t)words[map->word], sizes,
                              strides, map->box, ones, 0, CUDA_MAP_SWIZZLE_128, CUDA_MAP_L2_256, 0);
  }
  return error;
}
