// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an entry function in the LLVM dialect: memory, calls into the runtime's table, early exit. All control flow is
// in blocks; the builder stands at the end of the current one.

#ifndef SINTER_BACKENDS_CPU_ENTRYFUNCTION_H
#define SINTER_BACKENDS_CPU_ENTRYFUNCTION_H

#include "backends/schedule/Dialect.h"
#include "ir/Dims.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace sinter::cpu {

class EntryFunction {
public:
  /// Starts `i32 name(ctx, inputs, outputs, symbols, weights)` in `module`.
  EntryFunction(mlir::ModuleOp module, mlir::Location loc, llvm::StringRef name);

  mlir::ImplicitLocOpBuilder b;
  mlir::LLVM::LLVMFuncOp function;
  mlir::Value ctx, inputs, weights;

  // Arithmetic. What is constant was folded when the schedule was written.
  mlir::Value i64(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value compare(mlir::LLVM::ICmpPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// -1 when a factor is negative or the product does not fit.
  mlir::Value checkedProduct(llvm::ArrayRef<mlir::Value> factors);

  /// Two sizes combined (ir/SizeArithmetic.h).
  mlir::Value combine(DimExpr::Kind kind, mlir::Value x, mlir::Value y);

  // Memory.
  mlir::Value load(mlir::Type type, mlir::Value base, int64_t byteOffset = 0);
  void store(mlir::Value value, mlir::Value base, int64_t byteOffset = 0);
  mlir::Value offset(mlir::Value base, mlir::Value bytes);
  mlir::Value offset(mlir::Value base, int64_t bytes) { return bytes ? offset(base, i64(bytes)) : base; }
  /// Words on the stack, 64-byte aligned, allocated once per call.
  mlir::Value stackWords(int64_t count);
  /// One element of a tensor, booleans as i1.
  mlir::Value loadElement(mlir::Type elementType, mlir::Value base, int64_t byteOffset = 0);
  void storeElement(mlir::Value element, mlir::Value base);
  void copy(mlir::Value to, mlir::Value from, mlir::Value bytes);
  void clear(mlir::Value to, mlir::Value bytes);
  /// `count` pieces of `bytes` each, at the given distances.
  void copyStrided(mlir::Value to, mlir::Value toStride, mlir::Value from, mlir::Value fromStride, mlir::Value bytes,
                   mlir::Value count);
  mlir::Value constantArray(llvm::ArrayRef<int32_t> values);
  mlir::Value constantArray(llvm::ArrayRef<int64_t> values);

  // The runtime.
  /// How many threads launches may use.
  mlir::Value threads();
  mlir::Value acquire(mlir::Value bytes);
  void release(mlir::Value buffer);
  /// A larger `buffer` for per-trip outputs, and its capacity in bytes.
  std::pair<mlir::Value, mlir::Value> grow(mlir::Value buffer, mlir::Value used, mlir::Value needed);
  /// Storage of output `index`.
  mlir::Value output(unsigned index, llvm::ArrayRef<mlir::Value> sizes);
  mlir::Value plan(mlir::Value lives, int64_t count, mlir::Value bytes, mlir::Value offsets);
  /// Returns SINTER_CANCELLED when asked to. Looks in one of `every` trips, a power of two.
  void pollCancelled(mlir::Value trip, int64_t every);
  /// From here on launches do not look whether the call was cancelled.
  void beginCommit();
  /// Records the error and returns.
  void fail(int32_t code, llvm::StringRef message, mlir::Value a, mlir::Value b);
  /// A call of a kernel's wrapper over `chunks` chunks through `parallel`, or counted under a name through `measure`;
  /// returns early on failure. `forks`: the wrapper is called at once where that is 0.
  void launch(llvm::StringRef kernel, mlir::Value args, mlir::Value chunks, llvm::StringRef counted = {},
              mlir::Value forks = {});
  /// `launch` once for each of `steps` steps, whose number is at `step`, one of the words at `args`.
  void repeat(llvm::StringRef kernel, mlir::Value args, mlir::Value chunks, mlir::Value step, mlir::Value steps);
  /// A call of a kernel by its own arguments on this thread; returns early on failure.
  void call(llvm::StringRef kernel, llvm::ArrayRef<mlir::Value> arguments);

  /// Calls the program's function `name` on the tensors that `layout` and `words` describe (abi.h), or prints the text
  /// `name`; returns early on failure.
  void callExternal(llvm::StringRef name, bool prints, llvm::ArrayRef<int32_t> layout, mlir::Value words);

  // A back end with a memory and a queue of its own (runtime/device.h). `device` is its name.
  void beginDevice(llvm::StringRef device);
  mlir::Value acquireOn(llvm::StringRef device, mlir::Value bytes);
  mlir::Value placeOn(llvm::StringRef device, mlir::Value bytes, mlir::Value at);
  void releaseOn(llvm::StringRef device, mlir::Value buffer);
  mlir::Value weightOn(llvm::StringRef device, int64_t offset);
  /// `direction` is a sinter_copy.
  void copyOn(llvm::StringRef device, mlir::Value to, mlir::Value from, mlir::Value bytes, int32_t direction);
  void clearOn(llvm::StringRef device, mlir::Value to, mlir::Value bytes);
  /// `roles` are sinter_words of the words at `args`.
  void launchOn(llvm::StringRef device, llvm::StringRef kernel, mlir::Value args, llvm::ArrayRef<uint8_t> roles,
                mlir::Value chunks, bool ordered);
  void waitOn(llvm::StringRef device, mlir::Value buffer);
  /// A part of a loop or branch that the device runs, a sinter_control; `buffer` may be null.
  void controlOn(llvm::StringRef device, int32_t part, mlir::Value buffer = {}, mlir::Value limit = {});

  // Control flow.
  mlir::Block *newBlock(llvm::ArrayRef<mlir::Type> arguments = {});
  void enter(mlir::Block *block) { b.setInsertionPointToEnd(block); }
  void branch(mlir::Block *to, mlir::ValueRange values = {});
  void branch(mlir::Value condition, mlir::Block *ifTrue, mlir::ValueRange trueValues, mlir::Block *ifFalse,
              mlir::ValueRange falseValues);
  /// Goes on when `condition` holds; else returns what `status` gives.
  void require(mlir::Value condition, llvm::function_ref<mlir::Value()> status);
  /// for (i = 0; i < count; ++i)
  void loop(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  void finish();

  mlir::Type i32Type, i64Type, ptrType;

private:
  /// A kernel's wrapper over words.
  mlir::Value addressOf(llvm::StringRef kernel);
  mlir::Value call(int64_t field, mlir::Type result, llvm::ArrayRef<mlir::Value> arguments);
  /// Calls a function of `sinter_device_NAME`; an i32 that is not 0 ends the call.
  mlir::Value callDevice(llvm::StringRef device, int64_t field, mlir::Type result,
                         llvm::ArrayRef<mlir::Value> arguments);
  /// A constant of C's characters.
  mlir::Value text(llvm::StringRef characters);
  mlir::Value global(llvm::StringRef name, mlir::Type type, mlir::Attribute value, unsigned alignment);

  mlir::ModuleOp module;
  mlir::Block *entry = nullptr;
  mlir::Block *exit = nullptr; // takes the status
  mlir::Operation *lastAlloca = nullptr;
  unsigned numGlobals = 0;
};

} // namespace sinter::cpu

#endif
