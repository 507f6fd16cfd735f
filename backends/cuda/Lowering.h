// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops of kernels (scf, arith, math, memref, func, nvvm) -> the LLVM dialect for a GPU, where there is no libm.

#ifndef SINTER_BACKENDS_CUDA_LOWERING_H
#define SINTER_BACKENDS_CUDA_LOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include <memory>

namespace sinter::cuda {

/// Patterns are built once.
class Lowering {
public:
  explicit Lowering(mlir::MLIRContext *context);
  ~Lowering();
  llvm::LogicalResult run(mlir::ModuleOp module);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// f32 to bf16 by the instruction of sm_80.
void populateBFloat16Rounding(mlir::RewritePatternSet &patterns);

} // namespace sinter::cuda

#endif
