// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_EMIT_ARGREDUCE_H
#define SINTER_BACKENDS_CPU_EMIT_ARGREDUCE_H

#include "ir/Reduction.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sinter::cpu {

/// True when `value`, an element of the operand of `op` behind that of `best`, takes its place: NaN first, then the
/// greater (lesser), among equals the first or the last.
mlir::Value winsOver(mlir::ImplicitLocOpBuilder &b, ArgReduceOp op, mlir::Value value, mlir::Value best);

} // namespace sinter::cpu

#endif
