// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar code for root ops: one result element at a time, as the op's description says. It is what -O0 runs and
// what every template falls back to.

#ifndef SINTER_BACKENDS_CPU_EMIT_GENERAL_H
#define SINTER_BACKENDS_CPU_EMIT_GENERAL_H

#include "backends/cpu/emit/KernelElements.h"

namespace sinter::cpu {

/// The op of the region that is neither pointwise nor elemental nor a constant; null when there is none. Sets `several`
/// when there are two or more.
mlir::Operation *findRoot(KernelSpec &spec, bool &several);

/// That op when there is one and all results of the kernel are of its shape, as they are where what follows it is
/// computed with its elements; else null.
mlir::Operation *findShapedRoot(KernelSpec &spec);

/// True when all results can be built once the elements of `root`'s result are there.
bool canBuildAfter(KernelSpec &spec, mlir::Operation *root);

/// True when `emitGeneral` takes the kernel, whatever the target and the optimization level.
bool isGeneral(KernelSpec &spec);

/// True when `rootElement` knows the op.
bool hasRootElement(mlir::Operation *root);

/// Builds result element `index` (uniform indices) of `root`.
mlir::Value rootElement(KernelFunction &fn, KernelElements &elements, mlir::Operation *root, unsigned result,
                        llvm::ArrayRef<LaneIndex> index);

/// The value that leaves any operand unchanged under `combiner`, as a scalar of the (signless) element type;
/// `elementType` carries the signedness.
mlir::Value identityOf(KernelFunction &fn, Combiner combiner, mlir::Type elementType);
/// One combination step on signless scalars or vectors; `elementType` carries the signedness.
mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, Combiner combiner, mlir::Type elementType, mlir::Value x,
                    mlir::Value y);

/// The type that sums and products of `elementType` accumulate in: f32 for f16 and bf16, else the type itself,
/// signless.
mlir::Type accumulatorType(mlir::Type elementType);
/// Converts between a signless element type and its accumulator.
mlir::Value widen(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type accumulator, bool isUnsigned);
mlir::Value narrow(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type elementType);

} // namespace sinter::cpu

#endif
