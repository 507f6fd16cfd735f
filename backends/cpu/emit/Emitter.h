// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract of a kernel emitter, and what emitters share: the function they fill, sizes as values, flat loads and
// stores.
//
// An emitter writes the whole loop nest in scf, arith, math, memref and vector ops. It may decline (return nothing)
// when the kernel is not of its form; `emitKernel` then falls back to the general emitter, which accepts every kernel.

#ifndef SINTER_BACKENDS_CPU_EMIT_EMITTER_H
#define SINTER_BACKENDS_CPU_EMIT_EMITTER_H

#include "backends/cpu/KernelSpec.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace sinter::cpu {

/// The function under construction. The insertion point starts in its entry block; `finish` adds the return.
class KernelFunction {
public:
  struct Extras {
    bool sizes = false;
    bool workspace = false;
  };
  KernelFunction(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name, Extras extras);

  KernelSpec &spec;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;

  mlir::Value input(unsigned i);  // memref<kHuge x signless T>, i1 as i8
  mlir::Value result(unsigned i); // likewise
  mlir::Value sizesBuffer();      // memref<kHuge x i64>
  mlir::Value workspace();        // memref<kHuge x i8>
  mlir::Value begin();
  mlir::Value end();

  /// A size expression over the kernel's symbols, as an index value (constants are shared per block).
  mlir::Value materialize(DimExpr expr);
  mlir::Value index(int64_t value);
  /// Row-major strides in elements, innermost 1.
  llvm::SmallVector<DimExpr> strides(llvm::ArrayRef<DimExpr> sizes);
  /// Row-major offset of an index into a tensor of the given sizes.
  mlir::Value offset(llvm::ArrayRef<mlir::Value> position, llvm::ArrayRef<DimExpr> sizes);

  /// `for (i = low; i < high; i += step)`; the body may use `b`, which is inside.
  void loop(mlir::Value low, mlir::Value high, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// The same with values carried; returns the final ones.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// Splits a flat position into one index per size (row-major).
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value flat, llvm::ArrayRef<DimExpr> sizes);

  /// Scalar access; booleans convert between i8 storage and i1 values.
  mlir::Value load(mlir::Value buffer, mlir::Value offset, mlir::Type elementType);
  void store(mlir::Value value, mlir::Value buffer, mlir::Value offset);

  /// Returns success; call once, after everything else.
  void finish();

private:
  Extras sized;
  llvm::DenseMap<const void *, mlir::Value> materialized;
  mlir::Operation *sizesEnd = nullptr;
};

/// Storage form of an element type: signless, i1 as i8.
mlir::Type storageType(mlir::Type elementType);

using Emitter = std::optional<EmittedKernel> (*)(KernelSpec &, mlir::ModuleOp, llvm::StringRef name);

// One per template; nothing when the kernel is not of the emitter's form.
std::optional<EmittedKernel> emitMap(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitReduce(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitRow(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitContraction(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitUpdate(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitVectorMatrix(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitMatrixVector(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitConvolution(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitWindow(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
std::optional<EmittedKernel> emitRecurrent(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
/// Ops that come alone (sort, scatter, cumulative, nonzero ...).
std::optional<EmittedKernel> emitSingle(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
/// Plain scalar loops for any kernel: one root op at most, elemental producers and consumers around it.
std::optional<EmittedKernel> emitGeneral(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);

/// Emits by template, then by the general emitter, which drops the kernel's attribute `packed`. Fails with a diagnostic
/// at the op that no emitter accepts.
llvm::FailureOr<EmittedKernel> emitKernel(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);

} // namespace sinter::cpu

#endif
