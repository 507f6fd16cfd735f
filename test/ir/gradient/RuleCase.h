// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of the table as a function with inputs.

#ifndef SINTER_TEST_IR_GRADIENT_RULECASE_H
#define SINTER_TEST_IR_GRADIENT_RULECASE_H

#include "RuleTable.h"
#include "ir/Ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

namespace sinter::test {

using Tensors = llvm::SmallVector<HostTensor>;

/// One for all, with all dialects.
mlir::MLIRContext &context();

/// One op in a function, with its inputs (the operands that are not constants).
struct Case {
  /// `function` is null, and a failure is reported, when the row does not parse.
  explicit Case(const RuleRow &row);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  Tensors inputs;
};

/// All rows: pointwise ones on each shape.
const std::vector<RuleRow> &allRows();
/// `op_3` for the fourth row of an op.
std::string rowName(size_t row);

} // namespace sinter::test

#endif
