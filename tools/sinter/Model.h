// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file that a user names, made runnable: a graph (ONNX, .sinter, MLIR text) by the reference evaluator or compiled in
// this process, a .smod as it is.

#ifndef SINTER_TOOLS_SINTER_MODEL_H
#define SINTER_TOOLS_SINTER_MODEL_H

#include "compiler/Compile.h"
#include "compiler/Link.h"
#include "compiler/Module.h"
#include "compiler/onnx/Import.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/Tensors.h"
#include <memory>

namespace sinter::tool {

/// Collects the errors that the compiler reports, so that a user sees one line per problem; warnings are printed at
/// once.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext &context);
  /// The errors so far, one per line, each with its notes; empty if none.
  const std::string &errors() const { return text; }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

/// Sets what an ONNX import is to do beyond --shape.
using AdjustImport = std::function<void(onnx::OnnxImportOptions &)>;

class Model {
public:
  /// Opens `path`. Throws Stop: unreadable or malformed (Failure), operators that cannot be imported (Unsupported).
  /// Calls between its functions are expanded unless `keepsCalls`, and refused where they cannot be (Unsupported).
  Model(const std::string &path, const SharedOptions &options, const AdjustImport &adjust = {},
        bool keepsCalls = false);
  ~Model();

  /// The same file read anew with other options, in the same context; without options of an import a copy of the graph.
  mlir::OwningOpRef<mlir::ModuleOp> readAgain(const AdjustImport &adjust);

  mlir::MLIRContext *context() { return ctx.get(); }
  /// Null for a .smod.
  mlir::ModuleOp graph() { return module.get(); }
  /// The graph's function: `main`, else the first.
  mlir::func::FuncOp function();
  /// What that function takes: `inputs`, and for its states their first values, or zeros.
  std::vector<HostTensor> argumentsFor(const std::vector<HostTensor> &inputs);
  const std::vector<Port> &inputs() const { return inputPorts; }
  const std::vector<Port> &outputs() const { return outputPorts; }
  double importSeconds() const { return importTime; }

  /// Compiles the graph (once). Throws Stop with Internal and the path of a reproducer when the compiler fails.
  const CompiledModule &compile(const CompileRequest &request = {});
  double compileSeconds() const { return compileTime; }

  /// A session on compiled code; made on first use, `threads` from the options.
  sinter_session *session();
  /// The outputs of a run in which states have their first values; throws Stop when it fails.
  std::vector<HostTensor> run(const std::vector<HostTensor> &inputs);
  /// The same by the reference evaluator.
  std::vector<HostTensor> runReference(const std::vector<HostTensor> &inputs);

private:
  void readGraphFile(const AdjustImport &adjust, bool keepsCalls);
  mlir::OwningOpRef<mlir::ModuleOp> import(const AdjustImport &adjust);
  void readModule();
  void describeFunction(const sinter_function &function);
  /// Gives inputs the sizes that --shape states.
  void readShapes();
  /// The same in the function itself.
  void fixShapes(mlir::func::FuncOp main);
  [[noreturn]] void stopWithReproducer(const std::string &message);

  std::string path;
  const SharedOptions &options;
  std::unique_ptr<mlir::MLIRContext> ctx;
  mlir::OwningOpRef<mlir::ModuleOp> module;  // as read; compilation works on a copy
  std::vector<Port> inputPorts, outputPorts; // without states
  bool hasStates = false;
  int32_t functionIndex = 0; // of a module
  std::optional<CompiledModule> compiled;
  std::unique_ptr<LoadedModule> loaded;
  sinter_module *opened = nullptr;
  sinter_session *active = nullptr;
  double importTime = 0, compileTime = 0;
};

/// Writes a graph as what the suffix of `path` says: .sinter, else text (`-`: on standard output). Throws Stop.
void writeGraphTo(mlir::ModuleOp graph, const std::string &path, const mlir::OpPrintingFlags &printing = {});

/// Compiler options from the shared flags.
Options compilerOptions(const SharedOptions &options);

/// Greatest |a - b| and its ratio to the greatest |b|; NaN pairs and equal infinities count as equal.
struct Difference {
  double absolute = 0, relative = 0;
  int64_t mismatches = 0; // elements outside |a - b| <= atol + rtol * |b|
};
/// Tensors of one shape and element type.
Difference compare(const HostTensor &actual, const HostTensor &expected, double rtol, double atol);

} // namespace sinter::tool

#endif
