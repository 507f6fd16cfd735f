// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_STRIDED_H
#define SINTER_RUNTIME_STRIDED_H

#include "sinter.h"

/// Whether the strides of a non-empty tensor say what null strides would.
int srtIsDense(const sinter_tensor *tensor);

/// Copies the elements of a non-empty tensor in row-major order to `dense`.
void srtCopyToDense(const sinter_tensor *tensor, void *dense);

/// Copies row-major elements to where a non-empty tensor's strides put them.
void srtCopyFromDense(const sinter_tensor *tensor, const void *dense);

/// Booleans come from others, who may call any byte but 0 true; compiled code is given 0 and 1. Whether some byte is
/// neither.
int srtHasOtherTruths(const void *bytes, int64_t count);

/// Makes every byte but 0 a 1.
void srtNormalizeTruths(void *bytes, int64_t count);

#endif
