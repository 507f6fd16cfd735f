// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a caller must know about a compiled function: its tensors and symbols by name, and what the session keeps.

#ifndef SINTER_BACKENDS_SCHEDULE_SIGNATURE_H
#define SINTER_BACKENDS_SCHEDULE_SIGNATURE_H

#include "backends/schedule/KeepPolicy.h"
#include "backends/schedule/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::schedule {

class SchedulePlan;

struct Signature {
  struct Tensor {
    std::string name;
    mlir::Type elementType;
    /// A size, -1 - k for symbol k, or ShapedType::kDynamic for what only the call determines.
    llvm::SmallVector<int64_t> dims;
  };
  /// A tensor that the session keeps: an argument with `sinter.state = "name"`, and the result with the same attribute.
  struct State {
    std::string name;
    int input = 0, output = -1; // -1: only read
    int64_t initial = -1;       // byte offset in the weights of `sinter.initial`; -1: zeros
    bool inPlace = false;       // the result is written to the argument's memory, after all that can fail
    bool onDevice = false;      // it lies in the memory of the module's device
  };
  std::string name;
  std::string entry;        // symbol of the entry point
  std::string requirements; // of the machine that runs the code, in the words of the host's runtime
  std::vector<Tensor> inputs, outputs;
  std::vector<State> states;
  std::vector<std::string> symbols;
  std::optional<KeepReport> keeps; // what came of the function's policy, if it has one
};

/// The signature of `function`, which symbol `entry` computes. First values of states go to `weights`. Fails with a
/// diagnostic where arguments and results do not make states.
llvm::FailureOr<Signature> makeSignature(mlir::func::FuncOp function, llvm::StringRef entry, const SchedulePlan &plan,
                                         const DimContext &context, Weights &weights, bool statesOnDevice);

/// STEM, or STEM_FUNCTION when there are several.
std::string plainName(llvm::ArrayRef<Signature> functions, size_t index, llvm::StringRef stem);

/// True when a function keeps states: the plain functions are then those of one object.
bool hasStates(llvm::ArrayRef<Signature> functions);

/// True when the first function, whose session saves and loads, has the state SINTER_SEED_STATE.
bool hasSeed(llvm::ArrayRef<Signature> functions);

/// Which inputs (or outputs) are states, which callers do not pass.
llvm::SmallVector<bool> statePlaces(const Signature &function, bool outputs);

/// A name that may be part of a symbol.
std::string symbolName(llvm::StringRef text);

/// sinter_dtype of an element type of the dialect.
int32_t dtypeOf(mlir::Type elementType);

} // namespace sinter::schedule

#endif
