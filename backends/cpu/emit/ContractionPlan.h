// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about a matrix product before code is written: how its operands lie in memory, as views merged to rows,
// columns and k, and where the right operand is read from.

#ifndef SINTER_BACKENDS_CPU_EMIT_CONTRACTIONPLAN_H
#define SINTER_BACKENDS_CPU_EMIT_CONTRACTIONPLAN_H

#include "backends/cpu/emit/StridedView.h"
#include "ir/Contraction.h"

namespace sinter::cpu {

/// f32 and f64 have vector FMAs; everything else goes through the general emitter.
bool hasMicroKernel(DotGeneralOp dot);

/// The axes of [0, rank) that are neither batch nor summed.
llvm::SmallVector<int64_t> freeAxes(int64_t rank, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contract);

/// True when input `input` of a product's kernel is a constant that panels are made of at compile time.
bool packsContraction(KernelSpec &spec, unsigned input);

struct ContractionPlan {
  StridedView lhs, rhs;
  llvm::SmallVector<int64_t> lhsBatch, rhsBatch;
  MergedAxes lhsRows, lhsK, rhsK, rhsColumns;
  DimExpr rows, columns, k;
  Dims batches;
  bool packed = false;     // rhs is a packed constant, or panels that PackInvariants made
  bool transposed = false; // rhs has contiguous k: strips go through the workspace
  bool copied = false;     // so do they where rows of rhs lie far apart
  bool hasStrips() const { return transposed || copied; }

  /// The right operand is packed if `packing` lists its input. Nothing when strides and sizes are not of a form that
  /// the emitter walks.
  static std::optional<ContractionPlan> of(KernelSpec &spec, DotGeneralOp dot, llvm::ArrayRef<int64_t> packing);
};

} // namespace sinter::cpu

#endif
