// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that looks for zeros in what a tile of a product reads, so that its sum leaves them out.

#ifndef SINTER_BACKENDS_CPU_EMIT_ZEROSEARCH_H
#define SINTER_BACKENDS_CPU_EMIT_ZEROSEARCH_H

#include "backends/cpu/emit/Emitter.h"
#include "backends/cpu/emit/MicroKernel.h"

namespace sinter::cpu {

/// Elements of k that are looked at together.
inline constexpr int64_t kZeroBlock = 32;

class ZeroSearch {
public:
  /// Elements are those of `vectorType`, and are looked at so many at once.
  ZeroSearch(KernelFunction &fn, mlir::VectorType vectorType)
      : fn(fn), b(fn.b), vectorType(vectorType), lanes(vectorType.getNumElements()) {}

  /// The part of [0, k) outside of which the tile's rows of the left operand are zero, in whole blocks. `rowStride` is
  /// elements from one row to the next.
  std::pair<mlir::Value, mlir::Value> nonzeroRange(const MicroOperands &operands, DimExpr rowStride, DimExpr k);

  /// True where the tile of a matrix with rows of `columns` elements is zero whose first element lies at `first`.
  mlir::Value isZeroTile(const RegisterTile &tile, mlir::Value source, mlir::Value first, mlir::Value columns);

private:
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, x, y); }
  void prefetch(mlir::Value buffer, mlir::Value at);
  mlir::Value isZero(mlir::Value bits);
  mlir::Value noBits();
  mlir::Value bitsOf(mlir::Value buffer, mlir::Value at, mlir::Value mask, mlir::Value others);

  KernelFunction &fn;
  mlir::ImplicitLocOpBuilder &b;
  mlir::VectorType vectorType;
  int64_t lanes;
};

} // namespace sinter::cpu

#endif
