// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of one op that no element-by-element form describes: results that are written in the order of their updates,
// orders of an axis, running combinations, and results whose sizes depend on data. Loops are scalar; operands may come
// from fused pointwise ops.

#ifndef SINTER_BACKENDS_CPU_EMIT_SINGLE_H
#define SINTER_BACKENDS_CPU_EMIT_SINGLE_H

#include "backends/cpu/emit/KernelElements.h"

namespace sinter::cpu {

class SingleKernel {
public:
  SingleKernel(KernelSpec &spec, mlir::ModuleOp module, llvm::StringRef name, mlir::Operation *root,
               KernelFunction::Extras extras = {});

  KernelFunction fn;
  KernelElements elements;
  mlir::ImplicitLocOpBuilder &b;
  mlir::Operation *root;

  DimContext &dims() { return fn.spec.dims; }
  Dims sizesOf(mlir::Value tensor) { return fn.spec.sizes->dims(tensor); }
  mlir::Value size(DimExpr expr) { return fn.materialize(expr); }

  /// An element of an operand, as a signless scalar.
  mlir::Value element(mlir::Value tensor, llvm::ArrayRef<mlir::Value> position);
  /// An element of an integer operand, as an index.
  mlir::Value indexElement(mlir::Value tensor, llvm::ArrayRef<mlir::Value> position);
  /// Writes to (reads from) a result of the root, at a flat offset. A result that is not yielded is not there: nothing
  /// is written, and it must not be read.
  void store(unsigned result, mlir::Value value, mlir::Value offset);
  mlir::Value loadResult(unsigned result, mlir::Value offset);
  bool isYielded(unsigned result) const { return !yields[result].empty(); }
  /// The results of the kernel that a result of the root is.
  llvm::ArrayRef<unsigned> resultsOf(unsigned result) const { return yields[result]; }
  /// The buffer of a result that is yielded, once.
  mlir::Value buffer(unsigned result) {
    assert(yields[result].size() == 1 && "a result that is yielded once");
    return fn.result(yields[result].front());
  }

  /// Loops over all positions of `sizes` in row-major order.
  void nest(llvm::ArrayRef<DimExpr> sizes, llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body) { fn.ifThen(condition, body); }
  llvm::SmallVector<mlir::Value> whileLoop(mlir::ValueRange init,
                                           llvm::function_ref<mlir::Value(mlir::ValueRange)> condition,
                                           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);

  // Index and boolean arithmetic.
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value either(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value x);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value asInt64(mlir::Value index);
  /// 0 <= position < size.
  mlir::Value inRange(mlir::Value position, mlir::Value size);

  /// `x` goes strictly before `y`: NaN is last either way, booleans count as 0 and 1.
  mlir::Value before(mlir::Type elementType, mlir::Value x, mlir::Value y, bool descending);

  /// The workspace as 64-bit integers, `words` of them from the caller's count.
  mlir::Value workspaceWords();
  mlir::Value loadWord(mlir::Value words, mlir::Value at); // as an index
  void storeWord(mlir::Value words, mlir::Value index, mlir::Value at);
  /// Sorts the positions 0 to count - 1 stably by `isBefore`, in words[first, first + 2 * count). Returns where the
  /// sorted ones begin.
  mlir::Value mergeSort(mlir::Value words, mlir::Value first, mlir::Value count,
                        llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> isBefore);

  /// Splits `rows` independent rows into chunks of at least `rowsPerChunk` and loops over the rows of the chunks at
  /// hand: `body(row, chunk)`.
  void chunkRows(DimExpr rows, DimExpr rowsPerChunk, llvm::function_ref<void(mlir::Value, mlir::Value)> body);

  /// Sizes that only running tells, as (result of the root, axis) -> value, and all others that are not static, to the
  /// buffer of sizes.
  struct WrittenSize {
    unsigned result;
    int64_t axis;
    mlir::Value value;
  };
  void writeSizes(llvm::ArrayRef<WrittenSize> sizes);

  /// Ends the function. `capacity` has one entry per result of the root, for kernels that write sizes.
  EmittedKernel finish(llvm::ArrayRef<DimExpr> capacity = {});

  DimExpr chunks;
  DimExpr workspaceBytes;

private:
  KernelFunction::Extras extras;
  llvm::SmallVector<llvm::SmallVector<unsigned>> yields; // per result of the root: results of the kernel
};

/// The root of a kernel that yields its results and nothing else, if elements of its operands can be built; or null.
mlir::Operation *singleRoot(KernelSpec &spec);

} // namespace sinter::cpu

#endif
