// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of ONNX's own domain as parts of those that onnxruntime's domain makes of them: over bytes, or several in
// one. All emit errors at the node and are null after one.

#ifndef SINTER_COMPILER_ONNX_FAMILIES_H
#define SINTER_COMPILER_ONNX_FAMILIES_H

#include "compiler/onnx/OpImport.h"

namespace sinter::onnx {

/// True if the inputs that there are have floats of one type; an error else. No table of schemas says so for other
/// domains.
bool haveOneFloatType(OpImport &n, llvm::ArrayRef<mlir::Value> inputs);

/// AveragePool of `x` [N, C, spatial...] as the node's attributes say.
mlir::Value averagePool(OpImport &n, mlir::Value x);

/// Softmax (or its logarithm) of `x` along the attribute `axis`, as operator set `version` defines it.
mlir::Value softmax(OpImport &n, mlir::Value x, int64_t version, bool logarithm);

/// x * (1 + erf(x / sqrt 2)) / 2, or what tanh makes of it.
mlir::Value gelu(OpImport &n, mlir::Value x, bool byTanh);

/// Normalization of `x` from `axis` on, times `scale` plus `bias` (may be null), with its mean and the inverse of its
/// standard deviation; by the root of the mean square unless it is to `center`.
llvm::SmallVector<mlir::Value> layerNorm(OpImport &n, mlir::Value x, mlir::Value scale, mlir::Value bias, int64_t axis,
                                         double epsilon, bool center);

/// Gemm of the node's inputs, as its attributes say.
mlir::Value gemm(OpImport &n);

/// LSTM of the node's inputs.
mlir::LogicalResult importLstm(OpImport &n);

//===--- heads of attention ---===//

/// [batch, length, heads * size] to [batch, length, heads, size].
mlir::Value takeApart(OpImport &n, mlir::Value x, int64_t heads);
/// [batch, length, heads * size] to [batch, heads, length, size]; what has four axes stays.
mlir::Value splitHeads(OpImport &n, mlir::Value x, int64_t heads);
/// The way back.
mlir::Value joinHeads(OpImport &n, mlir::Value x);
/// Each of the heads of `x` [batch, heads, length, size] as often as `heads` are more.
mlir::Value repeatHeads(OpImport &n, mlir::Value x, int64_t heads);
/// Pairs of the first `rotated` places of `x` [batch, length, heads, size] turned by the angles whose `cosine` and
/// `sine` [batch, length, rotated / 2] are given: places beside each other if `interleaved`, else half a row apart.
mlir::Value rotate(OpImport &n, mlir::Value x, mlir::Value cosine, mlir::Value sine, int64_t rotated, bool interleaved);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_FAMILIES_H
