// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tensor may be, whoever describes it: files, text, the tracer, passes. Each reader has limits of its own beside
// these (ir/file/Limits.h, compiler/onnx/Limits.h); none is wider.

#ifndef SINTER_IR_LIMITS_H
#define SINTER_IR_LIMITS_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"
#include <cstdint>
#include <optional>

namespace mlir {
class Operation;
} // namespace mlir

namespace sinter {

/// Axes of a tensor: what the C ABI has room for (SINTER_MAX_RANK, which backends/cpu compares it with).
inline constexpr int64_t kMaxRank = 16;
/// Bytes of a tensor in a file or among the inputs of a model, by its static sizes.
inline constexpr uint64_t kMaxTensorBytes = uint64_t(1) << 40;
/// Bytes of any tensor of a graph by its static sizes, also of one that fusion keeps from being stored: sums of a few
/// such numbers fit in 63 bits.
inline constexpr int64_t kMaxTypeBytes = int64_t(1) << 60;

/// Fails with a diagnostic at the first op or function of `module` that takes or gives a tensor beyond kMaxRank or
/// kMaxTypeBytes. Readers ask it about what they read, the pipeline after each phase.
llvm::LogicalResult verifyLimits(mlir::Operation *module);

/// The product of sizes in bytes, or nothing where countElements (Shapes.h) says nothing or that overflows.
std::optional<int64_t> countBytes(mlir::Type elementType, llvm::ArrayRef<int64_t> shape);

class Evaluator;

/// Whether the reference evaluator can make a result of these sizes: none is negative, and all together keep to its
/// limit of bytes. Fails with a diagnostic at `op`. Results that are not larger than an operand need not ask.
llvm::LogicalResult requireRoom(mlir::Operation *op, const Evaluator &evaluator, mlir::Type elementType,
                                llvm::ArrayRef<int64_t> shape);

} // namespace sinter

#endif
