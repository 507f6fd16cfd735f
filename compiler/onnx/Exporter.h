// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over a module's functions and regions. Operator families see it through OpExport, control flow also here.

#ifndef SINTER_COMPILER_ONNX_EXPORTER_H
#define SINTER_COMPILER_ONNX_EXPORTER_H

#include "compiler/onnx/OpExport.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::onnx {

class Exporter {
public:
  explicit Exporter(mlir::ModuleOp module) : module(module) {}

  /// Fills `model` with `main`. Fails when something was refused.
  mlir::LogicalResult run(mlir::func::FuncOp main, onnxfile::Model &model);

  /// Writes the ops of `block` but its terminator into `graph`, its arguments being `arguments`. Returns the names of
  /// what the terminator yields. Each time all values get new names, unless `isFirst`.
  llvm::SmallVector<std::string> inlineBlock(mlir::Block &block, llvm::ArrayRef<std::string> arguments,
                                             onnxfile::Graph &graph, bool isFirst = false);

  /// A name that nothing has, like `base`.
  std::string unique(llvm::StringRef base);
  std::string name(mlir::Value value) { return names.lookup(value); }
  void setName(mlir::Value value, std::string text) { names[value] = std::move(text); }

  /// Declares `name` as an input or output of `graph`.
  static void declare(onnxfile::ValueInfo &info, llvm::StringRef name, mlir::RankedTensorType type,
                      mlir::ArrayAttr dims = {});
  /// Makes `value` an output of the body `graph`, by a copy: outputs of bodies are values of the body, each once.
  void yield(onnxfile::Graph &graph, llvm::StringRef value, mlir::RankedTensorType type);

  /// Notes that `node` (which may have no name) cannot be written.
  void refuse(llvm::StringRef node, const std::string &why);
  /// What was refused: a line for each reason.
  std::vector<std::string> unsupported() const;

private:
  struct Refusal {
    std::string why;
    std::vector<std::string> nodes;
    size_t count;
  };

  void write(mlir::Operation &op, onnxfile::Graph &graph);
  void constant(ConstantOp op, onnxfile::Graph &graph);

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::StringMap<unsigned> taken;
  llvm::SmallVector<mlir::func::FuncOp> active; // the functions whose bodies are being written
  std::vector<Refusal> refusals;
  int64_t numOps = 0;
};

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_EXPORTER_H
