// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a scatter_elements or scatter_nd updates: how its updates are numbered and where each of them goes.

#ifndef SINTER_BACKENDS_CPU_EMIT_SCATTERFORM_H
#define SINTER_BACKENDS_CPU_EMIT_SCATTERFORM_H

#include "backends/cpu/emit/Single.h"
#include "ir/Indexing.h"
#include "ir/Reduction.h"

namespace sinter::cpu {

struct ScatterForm {
  /// Of the root of `k`, which `isRoot`.
  explicit ScatterForm(SingleKernel &k);
  static bool isRoot(mlir::Operation *root);

  SingleKernel &k;
  ScatterElementsOp elements; // one of the two
  ScatterNdOp slices;
  mlir::Value operand, positions, updates;
  mlir::Type type; // of an element
  Dims sizes, indices, chosen,
      slice; // of the operand; what numbers the updates; axes that positions choose; the others

  /// How elements combine. Of booleans, or and and are what sums and products come to.
  Combiner combiner();
  /// Where the update at `index` goes, on the axes that positions choose; clears `inside` when it goes nowhere.
  llvm::SmallVector<mlir::Value> placeOf(llvm::ArrayRef<mlir::Value> index, bool isKnownInside, mlir::Value &inside);
  mlir::Value truth() { return mlir::arith::ConstantIntOp::create(k.b, k.b.getI1Type(), 1); }

private:
  mlir::Value onAxis(mlir::Value position, mlir::Value size, mlir::Value &inside);
};

} // namespace sinter::cpu

#endif
