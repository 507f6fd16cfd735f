// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A safetensors file: eight bytes that count the header's, a JSON header, then the elements of all tensors, each at its
// `data_offsets` behind the header. The format's rules: no gaps, no overlaps, nothing behind the last.

#ifndef SINTER_RUNTIME_SAFETENSORS_H
#define SINTER_RUNTIME_SAFETENSORS_H

#include "sinter.h"

typedef struct SafetensorsEntry {
  const char *name;
  int32_t dtype, rank;
  int64_t dims[SINTER_MAX_RANK];
  int64_t offset, bytes; // in the file
} SafetensorsEntry;

/// The entry called `name`, or null.
const SafetensorsEntry *srtSafetensorsFind(const sinter_safetensors *file, const char *name);

/// Reads the elements of `entry`, of this file, to `data`.
sinter_status_code srtSafetensorsRead(const sinter_safetensors *file, const SafetensorsEntry *entry, void *data);

#endif
