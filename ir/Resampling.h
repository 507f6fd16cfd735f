// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_RESAMPLING_H
#define SINTER_IR_RESAMPLING_H

#include "ir/Dialect.h"

#define GET_OP_CLASSES
#include "ir/Resampling.h.inc"

namespace sinter {

/// A scale as the simplest fraction p / q that rounds to it in f32; the size that a scale gives is size * p / q,
/// rounded down.
std::pair<int64_t, int64_t> scaleAsFraction(double scale);

/// True for a grid sample with channels last: lanes run along the channels of one place.
bool samplesChannels(mlir::Operation *op);

/// True for the scales of a resize. Where they are a constant the resize's code depends on them, so a kernel holds them
/// itself.
bool areResizeScales(mlir::OpOperand &use);

/// True for scales in [2^-24, 2^24]; others cannot mean anything.
bool isScale(double scale);

} // namespace sinter

#endif
