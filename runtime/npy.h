// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_NPY_H
#define SINTER_RUNTIME_NPY_H

#include "sinter.h"

/// Longest header that is read; numpy writes some 128 bytes.
#define SRT_NPY_MAX_HEADER_BYTES (1 << 20)

/// What precedes the text: magic, version and length.
#define SRT_NPY_PREFIX_BYTES 12

typedef struct NpyHeader {
  int32_t dtype;
  int32_t rank;
  int64_t dims[SINTER_MAX_RANK];
  int fortranOrder;
  int64_t headerBytes; // where the data starts
  int64_t dataBytes;
} NpyHeader;

/// Reads magic, version and length from the first `available` bytes and sets `*headerBytes`. `name` is how
/// messages call the array, here and below.
sinter_status_code srtNpyPrefix(const char *bytes, int64_t available, int64_t *headerBytes, const char *name);

/// Reads the whole header from `headerBytes` bytes.
sinter_status_code srtNpyHeader(const char *bytes, int64_t headerBytes, NpyHeader *header, const char *name);

/// Makes `*tensor` from a header and its data in file order, which is at `data`, an allocation of
/// srtNpyAllocate that becomes the tensor's (or is freed).
sinter_status_code srtNpyTensor(const NpyHeader *header, void *data, sinter_tensor *tensor, const char *name);

/// Memory for a tensor's data that sinter_tensor_free frees, 64-byte aligned; null without the room.
void *srtNpyAllocate(int64_t bytes);

/// Bytes of a header that srtNpyWriteHeader may write.
#define SRT_NPY_HEADER_ROOM 1024

/// Writes the header of `tensor` and returns its length, a multiple of 64.
int64_t srtNpyWriteHeader(const sinter_tensor *tensor, char *header);

/// Checks that `tensor` can be written; sets `*dense` to its row-major data, and `*copy` to memory to free
/// or null.
sinter_status_code srtNpyDense(const sinter_tensor *tensor, const void **dense, int64_t *bytes, void **copy,
                               const char *name);

#endif
