// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which attentions stay whole; the others are two products and a softmax before kernels are formed.

#ifndef SINTER_BACKENDS_CPU_EMIT_ATTENTIONFORM_H
#define SINTER_BACKENDS_CPU_EMIT_ATTENTIONFORM_H

#include "mlir/IR/Operation.h"

namespace sinter::cpu {

/// f32 or f64 attention of known sizes, but for that of the first axis, with as many rows and keys as make its scores
/// dear to keep. Not where the same products are formed anyway, as a gradient does that reads probabilities.
bool hasAttentionTemplate(mlir::Operation *op);

} // namespace sinter::cpu

#endif
