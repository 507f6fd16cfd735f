// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices of cholesky and triangular_solve as views with strides. Negative ones make a system that is solved from its
// end one that is solved from its start. CPU and GPU share them; what asks the op itself is beside the CPU's emitter.

#ifndef SINTER_BACKENDS_CPU_EMIT_TRIANGULARFORM_H
#define SINTER_BACKENDS_CPU_EMIT_TRIANGULARFORM_H

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Contraction.h"

namespace sinter::cpu {

/// Element (i, j) lies at base + i * row + j * column; strides may be negative.
struct MatrixView {
  mlir::Value buffer, base, row, column;
};

class TriangularForm {
public:
  /// Why the root of a kernel (null: none) is no such op on matrices in memory; empty when it is.
  static std::string refusal(mlir::Operation *root);

  /// Of elements of type `type`.
  TriangularForm(SingleKernel &k, mlir::Type type) : k(k), b(k.b), type(type) {}

  mlir::Value index(int64_t value) { return k.fn.index(value); }
  mlir::Value number(double value) { return mlir::arith::ConstantOp::create(b, b.getFloatAttr(type, value)); }
  mlir::Value at(const MatrixView &view, mlir::Value i, mlir::Value j) {
    return k.add(view.base, k.add(k.mul(i, view.row), k.mul(j, view.column)));
  }
  mlir::Value element(const MatrixView &view, mlir::Value i, mlir::Value j) {
    return mlir::memref::LoadOp::create(b, view.buffer, mlir::ValueRange{at(view, i, j)});
  }
  void store(mlir::Value value, const MatrixView &view, mlir::Value i, mlir::Value j) {
    mlir::memref::StoreOp::create(b, value, view.buffer, mlir::ValueRange{at(view, i, j)});
  }
  /// The root of a pivot: NaN unless it is positive.
  mlir::Value root(mlir::Value pivot);

  MatrixView viewOf(mlir::Value buffer, mlir::Value base, mlir::Value row) { return {buffer, base, row, index(1)}; }
  mlir::Value inputOf(mlir::Value tensor) { return k.fn.input(mlir::cast<mlir::BlockArgument>(tensor).getArgNumber()); }
  /// System `number` of a batch, of `n` rows and `m` columns, as one that is solved from its first row on.
  struct System {
    MatrixView matrix, from, to;
  };
  System systemOf(mlir::Operation *solve, mlir::Value number, mlir::Value n, mlir::Value m);
  /// Matrix `number` of a batch, of `n` rows, and its factor, both as lower triangles.
  struct Factor {
    MatrixView matrix, factor;
  };
  Factor factorOf(CholeskyOp op, mlir::Value number, mlir::Value n);

  /// Passes `init` through the steps [0, end) of a sum over rows that are done, `together` at once, by blocks.
  llvm::SmallVector<mlir::Value>
  sumDone(mlir::Value end, int64_t together, mlir::ValueRange init,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> step);

  SingleKernel &k;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
  DimExpr order; // rows of the system

private:
  MatrixView reversed(MatrixView view, mlir::Value n, bool columns);
};

} // namespace sinter::cpu

#endif
