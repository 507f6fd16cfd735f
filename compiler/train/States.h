// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that keeps tensors from call to call: arguments and the results that replace them, added while it is
// built.

#ifndef SINTER_COMPILER_TRAIN_STATES_H
#define SINTER_COMPILER_TRAIN_STATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {

/// Adds states to a function whose terminator is there already.
class States {
public:
  explicit States(mlir::func::FuncOp function) : function(function) {}

  /// The argument that is the state `name`, or null.
  mlir::Value find(llvm::StringRef name);
  /// A new argument: the state `name`, first zeros or `initial`.
  mlir::Value add(llvm::StringRef name, mlir::RankedTensorType type, mlir::ElementsAttr initial = {});
  /// The same of a float of rank 0, first `value`.
  mlir::Value addNumber(llvm::StringRef name, mlir::FloatType type, double value);
  /// A new argument that the caller gives.
  mlir::Value addInput(llvm::StringRef name, mlir::RankedTensorType type, mlir::ArrayAttr dims = {});
  /// Makes `value` what replaces the state `name`.
  void replace(llvm::StringRef name, mlir::Value value);

private:
  mlir::Value addArgument(llvm::StringRef name, mlir::RankedTensorType type,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::func::FuncOp function;
};

} // namespace sinter

#endif
