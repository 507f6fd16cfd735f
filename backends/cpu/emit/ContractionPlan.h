// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known about a matrix product before code is written: how its operands lie in memory, as views merged to rows,
// columns and k, and where the right operand is read from.

#ifndef SINTER_BACKENDS_CPU_EMIT_CONTRACTIONPLAN_H
#define SINTER_BACKENDS_CPU_EMIT_CONTRACTIONPLAN_H

#include "backends/cpu/emit/Panels.h"
#include "backends/cpu/emit/StridedView.h"
#include "ir/Contraction.h"

namespace sinter::cpu {

/// The right operand as memory holds it: bytes that the kernel makes floats of first stay bytes until a step multiplies
/// them.
mlir::Value rightOperand(DotGeneralOp dot);

/// How a register tile multiplies the product's operands; nothing with the reason in `refusal`.
std::optional<ProductForm> productFormOf(KernelSpec &spec, DotGeneralOp dot, std::string &refusal);

/// True when input `input` of a product's kernel is a constant that panels are made of at compile time.
bool packsContraction(KernelSpec &spec, unsigned input);

/// How a constant of type `source` is packed as the right operand.
Panels panelsOf(KernelSpec &spec, DotGeneralOp dot, mlir::RankedTensorType source, const ProductForm &form);

struct ContractionPlan {
  ProductForm form;
  StridedView lhs, rhs;
  llvm::SmallVector<int64_t> lhsBatch, rhsBatch;
  MergedAxes lhsRows, lhsK, rhsK, rhsColumns;
  DimExpr rows, columns, k;
  Dims batches;
  bool packed = false;     // rhs is a packed constant, or panels that PackInvariants made
  bool transposed = false; // rhs has contiguous k: strips go through the workspace
  bool copied = false;     // so do they where rows of rhs lie far apart, or tiles want another order
  bool copiesRows = false; // rows of lhs go through the workspace
  bool copiesOnce = false; // a step of its own copies all rows and strips, before the one that multiplies
  bool hasStrips() const { return transposed || copied; }

  /// Multiply-adds of a chunk, a block of rows by `tileColumns` columns: many rows, so that the right operand comes few
  /// times, but few enough for the second-level cache and for many threads.
  int64_t chunk(KernelSpec &spec, int64_t tileColumns) const;

  /// Steps of k that a chunk goes through all its columns with before it takes the next ones, where a packed panel is
  /// so long that rows and panels do not stay in the second-level cache together; 0: all.
  int64_t blockSteps(KernelSpec &spec) const;
  /// How many columns it goes through so at most: their sums stay in the cache, too.
  static constexpr int64_t kBlockColumns = 1024;

  /// The most vectors of `lanes` columns that a tile as wide as high may have, where columns lie packed or go through
  /// strips, and stay in a quarter of the second-level cache from one tile of rows to the next; 0 where tiles are high.
  int64_t widest(KernelSpec &spec, int64_t lanes) const;

  /// The right operand is packed if `packing` lists its input. Nothing with the reason in `refusal` when strides, sizes
  /// and types are not of a form that the emitter walks.
  static std::optional<ContractionPlan> of(KernelSpec &spec, DotGeneralOp dot, llvm::ArrayRef<int64_t> packing,
                                           std::string &refusal);
};

/// How the result's axes are walked.
struct ResultAxes {
  Dims sizes;
  int64_t rowAxes = 0, columnAxes = 0;
  bool mergesColumns = true;
  bool walksAxes = false; // rows or columns cannot be walked as one in the epilogue

  ResultAxes(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan);
};

} // namespace sinter::cpu

#endif
