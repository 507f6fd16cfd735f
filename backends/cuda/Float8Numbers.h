// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of 8-bit floats as numbers of f16 or bf16, by operations on pairs of 16 bits that every generation has; of
// e4m3fn as f16, from sm_90 on, by an instruction for pairs. Both
// formats have their exponent and fraction within those of f16 and bf16, whose exponents count from elsewhere:
//
//     s eeee fff            e4m3fn, a byte
//     s eeee fff 00000000   spread: the upper byte of 16 bits
//     s 0eeeefff 0000000    f16, less by 2^8:     shifted right by 1
//     s 0000eeee fff0000    bf16, less by 2^120:  by 4
//
// A product with that power of two is exact, of denormals, too. Bits that say NaN (and infinity of e5m2) have no place
// in these exponents: all bits of the exponent are set for them before.

#ifndef SINTER_BACKENDS_CUDA_FLOAT8NUMBERS_H
#define SINTER_BACKENDS_CUDA_FLOAT8NUMBERS_H

#include "backends/cuda/TileMemory.h"

namespace sinter::cuda {

/// The numbers of the four bytes of a word (i32), in their order: two vectors of two elements of `type`, f16 or bf16.
/// `hasConversion`: code is for a generation that has cvt.rn.f16x2.e4m3x2, in a PTX that knows it.
std::array<mlir::Value, 2> numbersOfWord(TileBuilder &t, mlir::Value word, mlir::Type format, mlir::Type type,
                                         bool hasConversion);

} // namespace sinter::cuda

#endif
