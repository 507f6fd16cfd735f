// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which recurrent cells have an emitter; the others are decomposed before kernels are formed.

#ifndef SINTER_BACKENDS_CPU_EMIT_RECURRENTFORM_H
#define SINTER_BACKENDS_CPU_EMIT_RECURRENTFORM_H

#include "mlir/IR/Operation.h"

namespace sinter::cpu {

/// f32 or f64 LSTM without peepholes, GRU with the reset gate after the product; both on projected sequences without
/// lengths.
bool hasRecurrentTemplate(mlir::Operation *op);

} // namespace sinter::cpu

#endif
