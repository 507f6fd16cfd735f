// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What programs print on purpose: text of tensors, and where it goes.

#ifndef SINTER_RUNTIME_LOG_H
#define SINTER_RUNTIME_LOG_H

#include "sinter.h"

/// A half (5 exponent bits) or bfloat16 (8) as a float.
float srtWiden(uint16_t bits, int exponentBits);

#endif
