// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builders of control flow from callbacks, which get the region's arguments and return what it yields. Result
// types are found from what the regions yield: where branches or trips disagree about a size it becomes `?`. A loop
// body whose carry turns out to change size is built again with the wider type, so a callback may run more than once
// and must depend on its arguments only.

#ifndef SINTER_IR_REGIONS_H
#define SINTER_IR_REGIONS_H

#include "ir/Control.h"

namespace sinter {

using RegionBuilder =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Location, mlir::ValueRange arguments)>;

CondOp buildCond(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value pred, mlir::ValueRange captures,
                 RegionBuilder thenBuilder, RegionBuilder elseBuilder);

/// `cond` and `body` take (carries, captures); `body` returns carries, then per-trip outputs.
WhileOp buildWhile(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange init, mlir::ValueRange captures,
                   RegionBuilder cond, RegionBuilder body, std::optional<int64_t> maxTrip = {},
                   LimitPolicy onLimit = LimitPolicy::stop);

/// `value` (rank-0 i64) where `holds` (rank-0 i1) is true, else an error at run time: `message`, whose {} is `value`.
/// What must not be computed from other values uses the result. It is a loop of no trips that traps.
mlir::Value buildRequire(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value holds, mlir::Value value,
                         const llvm::Twine &message);

/// `body` takes (i, carries, captures).
ForOp buildFor(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value lower, mlir::Value upper, mlir::Value step,
               mlir::ValueRange init, mlir::ValueRange captures, RegionBuilder body);

/// `body` takes (carries, one slice per sequence, captures). `outAxes` and `outReverse` have one entry per per-trip
/// output.
ScanOp buildScan(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange init, mlir::ValueRange sequences,
                 mlir::ValueRange captures, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<bool> reverse,
                 llvm::ArrayRef<int64_t> outAxes, llvm::ArrayRef<bool> outReverse, RegionBuilder body);

} // namespace sinter

#endif
