// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs as text and files, and their reference evaluation.

#include "compiler/Escapes.h"
#include "compiler/Link.h"
#include "compiler/capi/FileLimit.h"
#include "compiler/capi/Graph.h"
#include "compiler/capi/Public.h"
#include "compiler/onnx/Import.h"
#include "ir/Limits.h"
#include "ir/Shapes.h"
#include "ir/file/GraphFile.h"
#include "ir/reference/Evaluator.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

//===- text and files --------------------------------------------------------------------------------===//

sinter_status_code capi::publicModule(sinter_graph &graph, const Twine &call, OwningOpRef<ModuleOp> &module) {
  graph.errorIndex = -1;
  graph.message.clear();
  if (!graph.frames.empty())
    return invalid(call + " requires that all functions are ended, got " + Twine(graph.frames.size()) + " open");
  module = graph.module->clone();
  for (auto function : llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
    if (function.isPrivate())
      function.erase();
  if (module->getOps<func::FuncOp>().empty())
    return invalid(call + " requires a function, got none");
  return SINTER_OK;
}

sinter_status_code sinter_graph_print(sinter_graph *graph, const char **text) {
  if (!graph || !text)
    return invalid("print requires a graph and a place for the text, got null");
  OwningOpRef<ModuleOp> module;
  if (sinter_status_code status = publicModule(*graph, "print", module))
    return status;
  graph->text.clear();
  llvm::raw_string_ostream os(graph->text);
  module->print(os);
  os << '\n';
  *text = graph->text.c_str();
  return SINTER_OK;
}

sinter_status_code sinter_graph_save(sinter_graph *graph, const char *path) {
  if (!graph || !path)
    return invalid("save requires a graph and a path, got null");
  OwningOpRef<ModuleOp> module;
  if (sinter_status_code status = publicModule(*graph, "save", module))
    return status;
  FileLimitIsAnError fileLimit;
  if (StringRef(path).ends_with(".sinter"))
    return succeeded(writeGraph(*module, path)) ? SINTER_OK : fail(SINTER_IO, graph->message);
  if (!StringRef(path).ends_with(".mlir"))
    return fail(SINTER_UNSUPPORTED, "save requires the suffix .sinter or .mlir, got '" + Twine(path) + "'");
  std::string content, error;
  llvm::raw_string_ostream os(content);
  module->print(os);
  os << '\n';
  return writeFile(path, content, error) ? SINTER_OK : fail(SINTER_IO, error);
}

sinter_status_code capi::loadModule(MLIRContext &context, const char *path, OwningOpRef<ModuleOp> &module) {
  std::string message;
  onnx::OnnxImportReport report;
  {
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
      if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message = escapeControls(diagnostic.str());
      return success();
    });
    StringRef name = path;
    bool known = name.ends_with(".sinter") || name.ends_with(".mlir") || name.ends_with(".onnx");
    if (!known)
      return fail(SINTER_UNSUPPORTED, "load requires the suffix .sinter, .onnx or .mlir, got '" + Twine(path) + "'");
    if (!llvm::sys::fs::exists(path))
      return fail(SINTER_IO, "cannot read '" + Twine(path) + "': no such file");
    if (name.ends_with(".sinter")) {
      module = readGraph(&context, path);
    } else if (name.ends_with(".mlir")) {
      module = readGraphText(ParserConfig(&context), path);
    } else {
      onnx::OnnxImportOptions options;
      options.report = &report;
      if (auto imported = onnx::importOnnx(&context, path, options); succeeded(imported))
        module = std::move(*imported);
    }
    if (module && failed(verifyLimits(*module)))
      module = nullptr;
  }
  if (!module)
    return fail(report.unsupported.empty() ? SINTER_CORRUPT : SINTER_UNSUPPORTED,
                message.empty() ? Twine("'") + path + "' cannot be read" : Twine(message));
  for (func::FuncOp function : module->getOps<func::FuncOp>())
    if (function.isExternal() || !llvm::all_of(function.getArgumentTypes(), llvm::IsaPred<RankedTensorType>) ||
        !llvm::all_of(function.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return fail(SINTER_CORRUPT, "'" + Twine(path) + "' requires functions of ranked tensors with a body, got '" +
                                      function.getName() + "'");
  return SINTER_OK;
}

sinter_status_code sinter_graph_load(const char *path, sinter_graph **graph) {
  if (!path || !graph)
    return invalid("load requires a path and a place for the graph, got null");
  *graph = nullptr;
  std::unique_ptr<MLIRContext> context = makeSinterContext();
  OwningOpRef<ModuleOp> module;
  if (sinter_status_code status = loadModule(*context, path, module))
    return status;
  *graph = new sinter_graph(std::move(context), std::move(module));
  if (StringRef(path).ends_with(".onnx"))
    (*graph)->source = path;
  return SINTER_OK;
}

//===- evaluation ------------------------------------------------------------------------------------===//

sinter_status_code capi::copyOutputs(ArrayRef<HostTensor> results, sinter_tensor *outputs) {
  for (size_t k = 0; k < results.size(); ++k)
    if (!copyOut(results[k], outputs[k])) {
      while (k-- > 0)
        sinter_tensor_free(&outputs[k]);
      return fail(SINTER_OUT_OF_MEMORY, "no memory for the outputs");
    }
  return SINTER_OK;
}

sinter_status_code sinter_graph::takeInputs(StringRef what, int32_t index, int32_t count, const sinter_tensor *inputs,
                                            SmallVectorImpl<HostTensor> &arguments) {
  if (index < 0 || index >= static_cast<int32_t>(functions.size()) || !functions[static_cast<size_t>(index)].op)
    return invalid(what + " requires a finished function, got " + Twine(index));
  const Function &function = functions[static_cast<size_t>(index)];
  if (!function.captures.empty())
    return invalid(what + " requires a function without captures, got " + Twine(function.captures.size()) + " of '" +
                   function.name + "'");
  if (count != static_cast<int32_t>(function.inputs.size()))
    return invalid("'" + function.name + "' requires " + Twine(function.inputs.size()) + " inputs, got " +
                   Twine(count));
  func::FuncOp op = function.op;
  for (int32_t i = 0; i < count; ++i) {
    std::string name = "'" + function.name + "': input '" + function.inputNames[static_cast<size_t>(i)] + "'";
    if (sinter_status_code status = checkTensor(&inputs[i], name))
      return status;
    arguments.push_back(hostTensorOf(context.get(), inputs[i]));
    if (Type wanted = op.getArgumentTypes()[static_cast<unsigned>(i)]; !agree(arguments.back().tensorType(), wanted))
      return invalid(name + " requires " + describe(wanted) + ", got " + describe(arguments.back().tensorType()));
  }
  return SINTER_OK;
}

sinter_status_code sinter_graph_evaluate(sinter_graph *graph, int32_t index, int32_t num_inputs,
                                         const sinter_tensor *inputs, int32_t room, sinter_tensor *outputs,
                                         int32_t *count) {
  if (!graph || !count || num_inputs < 0 || (num_inputs > 0 && !inputs))
    return invalid("evaluate requires a graph, inputs and a place for the number of outputs, got null");
  SmallVector<HostTensor> arguments;
  if (sinter_status_code status = graph->takeInputs("evaluate", index, num_inputs, inputs, arguments))
    return status;
  const sinter_graph::Function &function = graph->functions[static_cast<size_t>(index)];
  func::FuncOp op = function.op;
  *count = static_cast<int32_t>(function.outputs.size());
  if (room < *count || (*count > 0 && !outputs))
    return invalid("'" + function.name + "' requires room for " + Twine(*count) + " outputs, got " + Twine(room));
  graph->message.clear();
  graph->namePlaces = true;
  Evaluator evaluator;
  FailureOr<SmallVector<HostTensor>> results = evaluator.run(op.getBody(), arguments);
  graph->namePlaces = false;
  if (failed(results))
    return fail(SINTER_RUNTIME_ERROR,
                graph->message.empty() ? "'" + function.name + "' cannot be evaluated" : graph->message);
  return copyOutputs(*results, outputs);
}
