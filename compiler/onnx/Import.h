// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From an ONNX file to a module in the sinter dialect.

#ifndef SINTER_COMPILER_ONNX_IMPORT_H
#define SINTER_COMPILER_ONNX_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include <functional>
#include <string>
#include <vector>

namespace sinter::onnx {

/// Why a model was refused although it may be right: operators, types or forms that Sinter has no import for.
struct OnnxImportReport {
  /// One line each: node name, operator, opset and reason. Empty if the model is at fault or the import succeeded.
  std::vector<std::string> unsupported;
};

/// A float initializer of the main graph, for who decides whether it becomes a state.
struct OnnxInitializer {
  llvm::StringRef name;
  mlir::RankedTensorType type;
  /// A running mean or variance of a normalization: training moves it, no gradient does.
  bool isStatistic = false;
  /// A scale, bound or fill value that an operator takes as a setting.
  bool isSetting = false;
  /// What torch gave a name: a parameter or a buffer, while numbers of formulas are nodes there, or called `onnx::...`.
  bool isNamedByTorch = false;
};

struct OnnxImportOptions {
  /// Initializers for which it holds become arguments behind the inputs, with their name as `sinter.state` and their
  /// content as `sinter.initial`. Of statistics that become so, what a normalization in training makes of them is a
  /// result with the same `sinter.state`. Statistics that no normalization moves, since it is in inference mode, stay
  /// constants. Scales and biases of normalizations that the file has merged because they were equal are initializers
  /// of their own.
  std::function<bool(const OnnxInitializer &)> isState;
  /// Normalizations and dropout as in inference, whatever the nodes say.
  bool forInference = false;
  /// The size of dynamic first dims of inputs; -1 keeps them dynamic.
  int64_t batch = -1;
  /// Dims of graph inputs by name; -1 keeps a dim dynamic. Dims that the model states must agree with them.
  llvm::StringMap<llvm::SmallVector<int64_t>> shapes;
  /// Positions outside of an axis make a call fail, as ONNX has it; else gathers clamp and scatters skip them.
  bool checkPositions = true;
  /// Tensors of 1 MiB and more in files beside the model are mapped rather than read, where they lie at multiples of 16
  /// bytes. It saves their size in memory; who makes such a file shorter meanwhile ends this process.
  bool mapTensors = false;
  /// Filled when set; not owned.
  OnnxImportReport *report = nullptr;
};

/// Imports the model at `path` into one function `main`. What is wrong is emitted through the context's diagnostic
/// engine, one error of one line that names the file and, where there is one, the node; unsupported operators are
/// collected first and follow as notes of one error.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(mlir::MLIRContext *context, llvm::StringRef path,
                                                              const OnnxImportOptions &options = {});

/// Newest operator set of the default domain that the import knows.
inline constexpr int64_t kNewestOpset = 28;

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_IMPORT_H
