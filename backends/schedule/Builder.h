// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a schedule: the ops of the dialect, and size expressions as values.
//
// A size may be asked for again wherever the op that computed it dominates: `Scope` opens a stretch (a branch, a loop)
// at whose end what it made is forgotten.

#ifndef SINTER_BACKENDS_SCHEDULE_BUILDER_H
#define SINTER_BACKENDS_SCHEDULE_BUILDER_H

#include "backends/schedule/Dialect.h"
#include "ir/Dims.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/ScopedHashTable.h"

namespace sinter::schedule {

class ScheduleBuilder {
public:
  /// Starts the schedule `name` of a function of so many inputs and outputs at the end of `module`.
  /// Tensors lie in `memory`: empty for the host's, else that of the back end of this name.
  ScheduleBuilder(mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name, unsigned inputs, unsigned outputs,
                  DimContext &dims, llvm::StringRef memory = {});

  mlir::ImplicitLocOpBuilder b;
  FunctionOp function;

  // Arithmetic, folded where both sides are constants. Constants stand at the function's beginning, each once.
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// -1 when a factor is negative or the product does not fit.
  mlir::Value checkedProduct(llvm::ArrayRef<mlir::Value> factors);

  // Sizes.
  /// Makes `value` what the symbol stands for until the scope ends.
  void bind(unsigned symbol, mlir::Value value);
  bool isBound(DimExpr expr);
  mlir::Value materialize(DimExpr expr);

  // Memory.
  mlir::Value view(mlir::Value buffer, mlir::Value offset);
  /// Elements of buffers in any memory: the host reads and writes a copy of one that is not its own.
  mlir::Value load(mlir::Type elementType, mlir::Value buffer, int64_t byteOffset = 0);
  void store(mlir::Value element, mlir::Value buffer, int64_t byteOffset = 0);
  /// Bytes of the host that live as long as the call, made at the function's beginning.
  mlir::Value local(int64_t bytes);
  /// Waits for the buffer that is copied to the host, if it is in another memory.
  void copy(mlir::Value to, mlir::Value from, mlir::Value bytes);
  /// Waits for what was written to the buffer, if it is in another memory than the host's.
  void wait(mlir::Value buffer);
  void clear(mlir::Value to, mlir::Value bytes);
  /// `count` pieces of `bytes` each, at the given distances.
  void copyPieces(mlir::Value to, mlir::Value toStep, mlir::Value from, mlir::Value fromStep, mlir::Value bytes,
                  mlir::Value count);
  mlir::Value acquire(mlir::Value bytes) { return AcquireOp::create(b, memoryType, bytes, mlir::Value()); }
  mlir::Value acquireOnHost(mlir::Value bytes) { return AcquireOp::create(b, bufferType, bytes, mlir::Value()); }
  /// For a tensor of the caller, which lies at `of`.
  mlir::Value acquireFor(mlir::Value of, mlir::Value bytes) { return AcquireOp::create(b, memoryType, bytes, of); }
  void release(mlir::Value buffer) { ReleaseOp::create(b, buffer); }
  /// Storage of output `index`, with the caller, or where tensors lie for a state that the session keeps there.
  mlir::Value output(unsigned index, llvm::ArrayRef<mlir::Value> sizes, bool isState) {
    return OutputOp::create(b, isState ? memoryType : bufferType, index, sizes);
  }
  mlir::Value weight(int64_t offset) { return WeightOp::create(b, memoryType, offset); }

  /// Ends the call with `code` unless the condition holds; `first` and `second` stand for the {} of `message`.
  void require(mlir::Value holds, int32_t code, llvm::StringRef message, mlir::Value first, mlir::Value second);

  /// True when tensors lie in the host's memory.
  bool isOnHost() const { return memoryType == bufferType; }

  mlir::Type i64Type;
  mlir::Type bufferType, memoryType; // of the host, and where tensors lie

  using Table = llvm::ScopedHashTable<const void *, mlir::Value>;
  struct Scope {
    explicit Scope(ScheduleBuilder &builder) : sizes(builder.known) {}
    Table::ScopeTy sizes;
  };

private:
  mlir::Value combine(DimExpr::Kind kind, mlir::Value x, mlir::Value y);
  /// Makes an op at the function's beginning, behind those made there before.
  template <typename Make> mlir::Value atBegin(Make make);

  DimContext &dims;
  mlir::Operation *lastAtBegin = nullptr;
  llvm::DenseMap<int64_t, mlir::Value> constants;
  Table known; // by node of a size expression
  Table::ScopeTy outermost;
};

} // namespace sinter::schedule

#endif
