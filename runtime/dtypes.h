// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types that tensors are kept in but not computed in: they go on from the values of `sinter_dtype` (abi.h).
// They may stand wherever a dtype does. Two elements of 4 bits lie in a byte, in row-major order, the first in the low
// half (as in ONNX); the last byte of an odd number has 0 above. Such tensors have no strides.

#ifndef SINTER_RUNTIME_DTYPES_H
#define SINTER_RUNTIME_DTYPES_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SINTER_F8E4M3FN = 14, // 4 bits of exponent, 3 of fraction, no infinities
  SINTER_F8E5M2 = 15,   // the upper half of an f16
  SINTER_I4 = 16,       // -8 to 7
  SINTER_U4 = 17
};

/// Bits of one element as stored (8 for booleans), 0 for a value that is no dtype. `count` elements take
/// (count * bits + 7) / 8 bytes. (sinter_dtype_bytes is 0 for elements of 4 bits.)
SINTER_API int64_t sinter_dtype_bits(int32_t dtype);

#ifdef __cplusplus
}
#endif

#endif
