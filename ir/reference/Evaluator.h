// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function or region and asks each op's Evaluable. The oracle of every test.

#ifndef SINTER_IR_REFERENCE_EVALUATOR_H
#define SINTER_IR_REFERENCE_EVALUATOR_H

#include "ir/reference/HostTensor.h"
#include "mlir/IR/Region.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace sinter {

struct EvaluatorLimits {
  /// Largest single tensor, in bytes.
  int64_t maxTensorBytes = int64_t(1) << 34;
  /// Most steps; none by default. A step is about an element that is read or written, or four multiply-adds: what is
  /// evaluated within a budget is the same on every machine.
  std::optional<int64_t> steps;
};

class Evaluator {
public:
  explicit Evaluator(EvaluatorLimits limits = {});

  /// Runs a single-block isolated region (a func.func's body, a branch, a loop body) on `arguments` and returns what
  /// its terminator passes on. Fails with a diagnostic at the op that failed.
  llvm::FailureOr<llvm::SmallVector<HostTensor>> run(mlir::Region &region, llvm::ArrayRef<HostTensor> arguments);

  /// Runs one op.
  llvm::FailureOr<llvm::SmallVector<HostTensor>> run(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

  /// Takes `steps` from the budget. False when there are fewer left: then nothing is taken, and the op that asks fails.
  /// Ops whose work exceeds their elements ask before each part of it.
  bool spend(int64_t steps);
  const EvaluatorLimits &getLimits() const { return limits; }

private:
  EvaluatorLimits limits;
  int64_t spent = 0;
};

} // namespace sinter

#endif
