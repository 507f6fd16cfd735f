// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module of loops (scf, arith, math, memref, vector, func) -> the LLVM dialect, in one conversion.

#ifndef SINTER_BACKENDS_CPU_LOWERING_H
#define SINTER_BACKENDS_CPU_LOWERING_H

#include "backends/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include <memory>

namespace sinter::cpu {

/// Patterns are built once; one object per thread.
class Lowering {
public:
  /// At level 0 math functions stay what they are and become calls of libm; above, those that have one become
  /// polynomials.
  Lowering(mlir::MLIRContext *context, const Target &target, int optLevel);
  ~Lowering();
  llvm::LogicalResult run(mlir::ModuleOp module);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Translations to LLVM IR that modules of the LLVM dialect need.
void registerTranslations(mlir::DialectRegistry &registry);

} // namespace sinter::cpu

#endif
