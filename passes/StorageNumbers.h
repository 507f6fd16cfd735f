// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of 8-bit floats and 4-bit integers, and the bytes they are kept in, in ops on bits that every back end has.

#ifndef SINTER_PASSES_STORAGENUMBERS_H
#define SINTER_PASSES_STORAGENUMBERS_H

#include "ir/Composer.h"

namespace sinter {

/// The ui8 bytes of `numbers` (any element type that is computed in) as `to`, rounded once to nearest even. What is
/// greater than any number becomes the greatest.
mlir::Value encodeFloat8(Composer &c, mlir::Value numbers, mlir::Type to);

/// `numbers` as i8 (for i4) or ui8 (for ui4) of the values that these have: integers wrap, floats saturate.
mlir::Value wrapTo4Bits(Composer &c, mlir::Value numbers, mlir::Type to);
/// Values of i8 or ui8 as a list of bytes of two each, the first in the low half.
mlir::Value packHalves(Composer &c, mlir::Value values);
/// The reverse: i8 or ui8 of the values and shape of `type`, which is of i4 or ui4; a `?` of it is a size of `like`.
mlir::Value unpackHalves(Composer &c, mlir::Value bytes, mlir::RankedTensorType type, mlir::Value like = {});

} // namespace sinter

#endif
