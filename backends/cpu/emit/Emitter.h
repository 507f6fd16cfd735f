// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contract of a kernel emitter, and what emitters share: the function they fill, sizes as values, flat loads and
// stores.
//
// An emitter has two parts. Its plan says whether it takes a kernel and which schedule it would choose; it builds
// nothing (Plan.h). Its code writes the whole loop nest in scf, arith, math, memref and vector ops: lanes, tile, chunk
// and packing are those of the kernel's schedule, and whatever schedule the plan allows can be written.

#ifndef SINTER_BACKENDS_CPU_EMIT_EMITTER_H
#define SINTER_BACKENDS_CPU_EMIT_EMITTER_H

#include "backends/cpu/KernelSpec.h"
#include "backends/cpu/emit/Plan.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <optional>

namespace sinter::cpu {

/// Strides in elements of the kernel's input `value`, or of its result `value - inputs`, which has `sizes`: row-major,
/// innermost 1; where it lies in a part of a larger buffer, that buffer's.
Dims stridesOf(KernelSpec &spec, unsigned value, llvm::ArrayRef<DimExpr> sizes);

/// A size, or `otherwise` where only running tells it.
int64_t constantOr(DimContext &dims, DimExpr expr, int64_t otherwise);

/// The function under construction. The insertion point starts in its entry block; `finish` adds the return.
class KernelFunction {
public:
  struct Extras {
    bool sizes = false;
    bool workspace = false;
    bool step = false; // the number of the step (KernelTraits::steps)
  };
  KernelFunction(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name, Extras extras);

  KernelSpec &spec;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp function;

  mlir::Value input(unsigned i);  // memref<kHuge x signless T>, i1 as i8
  mlir::Value result(unsigned i); // likewise
  mlir::Value sizesBuffer();      // memref<kHuge x i64>
  mlir::Value workspace();        // memref<kHuge x i8>
  mlir::Value step();             // index
  mlir::Value begin();
  mlir::Value end();

  /// The number of the argument that is symbol `position` of the spec; buffers come before, and what a back end adds
  /// comes behind all arguments.
  unsigned sizeArgument(unsigned position) const;

  /// A size expression over the kernel's symbols, as an index value (constants are shared per block).
  mlir::Value materialize(DimExpr expr);
  mlir::Value index(int64_t value);
  /// Row-major offset of an index into a tensor of the given sizes.
  mlir::Value offset(llvm::ArrayRef<mlir::Value> position, llvm::ArrayRef<DimExpr> sizes);

  /// `for (i = low; i < high; i += step)`; the body may use `b`, which is inside.
  void loop(mlir::Value low, mlir::Value high, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// The same over the steps that are whole; returns where the first other one begins.
  mlir::Value wholeSteps(mlir::Value low, mlir::Value high, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// `loop` with values carried; returns the final ones.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value low, mlir::Value high, int64_t step, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// Where `condition` holds, or always where it is null; the body may use `b`, which is inside.
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);
  /// One or the other; both may use `b`, which is inside.
  void branch(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise);
  /// The same where both give values, of the same types.
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  llvm::SmallVector<mlir::Value> choose(mlir::Value condition, mlir::TypeRange types, Branch then, Branch otherwise);
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

/// Where a buffer begins, for ops of LLVM.
mlir::Value pointerTo(mlir::ImplicitLocOpBuilder &builder, mlir::Value buffer);

// Each emitter's plan and its code (Emitters.h).
#define SINTER_EMITTER(name, Code, kernels, strided, ...)                                                              \
  Plan plan##Code(KernelSpec &spec, ScheduleAttr given);                                                               \
  EmittedKernel emit##Code(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name);
#include "backends/cpu/emit/Emitters.def"

} // namespace sinter::cpu

#endif
