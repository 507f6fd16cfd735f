// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks a function or region and asks each op's Evaluable. The oracle of every test.

#ifndef SINTER_IR_REFERENCE_EVALUATOR_H
#define SINTER_IR_REFERENCE_EVALUATOR_H

#include "ir/reference/HostTensor.h"
#include "mlir/IR/Region.h"
#include "mlir/Support/LLVM.h"
#include <chrono>
#include <optional>

namespace sinter {

struct EvaluatorLimits {
  /// Largest single tensor, in bytes.
  int64_t maxTensorBytes = int64_t(1) << 34;
  /// Wall-clock budget; none by default.
  std::optional<std::chrono::nanoseconds> time;
};

class Evaluator {
public:
  explicit Evaluator(EvaluatorLimits limits = {});

  /// Runs a single-block isolated region (a func.func's body, a branch, a loop body) on `arguments` and returns what
  /// its terminator passes on. Fails with a diagnostic at the op that failed.
  llvm::FailureOr<llvm::SmallVector<HostTensor>> run(mlir::Region &region, llvm::ArrayRef<HostTensor> arguments);

  /// Runs one op.
  llvm::FailureOr<llvm::SmallVector<HostTensor>> run(mlir::Operation *op, llvm::ArrayRef<HostTensor> operands);

  /// True once the time budget is spent; loops poll it.
  bool expired() const;
  const EvaluatorLimits &getLimits() const { return limits; }

private:
  EvaluatorLimits limits;
  std::chrono::steady_clock::time_point start;
};

} // namespace sinter

#endif
