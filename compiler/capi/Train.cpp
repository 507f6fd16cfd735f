// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States of recorded functions, and training steps.

#include "backends/schedule/KeepPolicy.h"
#include "compiler/capi/Public.h"
#include "compiler/train/ImportStates.h"
#include "compiler/train/LossScale.h"
#include "compiler/train/TrainStep.h"
#include "ir/Shapes.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "passes/LowerPrecision.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

sinter_status_code sinter_graph_state(sinter_graph *graph, int32_t index, int32_t input, int32_t output,
                                      const char *name, const sinter_tensor *initial) {
  if (!graph || !name || !*name)
    return invalid("state requires a graph and a name, got null");
  if (index < 0 || index >= static_cast<int32_t>(graph->functions.size()) ||
      !graph->functions[static_cast<size_t>(index)].op)
    return invalid("state requires a finished function, got " + Twine(index));
  func::FuncOp function = graph->functions[static_cast<size_t>(index)].op;
  std::string what = "state '" + std::string(name) + "' of '" + graph->functions[static_cast<size_t>(index)].name + "'";
  if (input < 0 || input >= static_cast<int32_t>(function.getNumArguments()))
    return invalid(what + " requires an input below " + Twine(function.getNumArguments()) + ", got " + Twine(input));
  if (output >= static_cast<int32_t>(function.getNumResults()))
    return invalid(what + " requires an output below " + Twine(function.getNumResults()) + ", got " + Twine(output));
  auto at = static_cast<unsigned>(input);
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[at]);
  if (output >= 0 && function.getResultTypes()[static_cast<unsigned>(output)] != type)
    return invalid(what + " requires an output of type " + describe(type) + ", got " +
                   describe(function.getResultTypes()[static_cast<unsigned>(output)]));
  if (function.getArgAttr(at, "sinter.state"))
    return invalid(what + " requires an input that is no state yet, got " + Twine(input));
  if (initial) {
    if (sinter_status_code status = checkTensor(initial, what + ": its first value"))
      return status;
    HostTensor value = hostTensorOf(graph->context.get(), *initial);
    if (value.tensorType() != type)
      return invalid(what + " requires a first value of type " + describe(type) + ", got " +
                     describe(value.tensorType()));
    function.setArgAttr(at, "sinter.initial", value.toAttr(name));
  }
  auto text = StringAttr::get(graph->context.get(), name);
  function.setArgAttr(at, "sinter.state", text);
  if (output >= 0)
    function.setResultAttr(static_cast<unsigned>(output), "sinter.state", text);
  return SINTER_OK;
}

sinter_status_code sinter_graph_keep(sinter_graph *graph, int32_t index, const char *policy) {
  if (!graph || !policy)
    return invalid("keep requires a graph and a policy, got null");
  if (index < 0 || index >= static_cast<int32_t>(graph->functions.size()) ||
      !graph->functions[static_cast<size_t>(index)].op)
    return invalid("keep requires a finished function, got " + Twine(index));
  std::string error;
  if (!schedule::KeepPolicy::parse(policy, error))
    return invalid("a checkpoint policy " + error);
  graph->functions[static_cast<size_t>(index)].op->setAttr(schedule::kKeepAttr,
                                                           StringAttr::get(graph->context.get(), policy));
  return SINTER_OK;
}

sinter_status_code sinter_graph_precision(sinter_graph *graph, const char *policy) {
  if (!graph || !policy)
    return invalid("precision requires a graph and a policy, got null");
  std::string error;
  if (!setPrecision(*graph->module, policy, error))
    return invalid("a policy of precision " + error);
  return SINTER_OK;
}

/// Reads the model twice, as it is in training and when it is used, into `context`. `seen` gets the names of an ONNX
/// model's initializers.
static LogicalResult readModel(sinter_graph &graph, MLIRContext *context, const TrainedNames &trained, int64_t batch,
                               OwningOpRef<ModuleOp> &training, OwningOpRef<ModuleOp> &inference,
                               std::vector<std::string> &seen) {
  std::vector<std::string> again;
  if (graph.source.empty()) { // another context's module comes as bytes
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    if (failed(writeBytecodeToFile(*graph.module, os)))
      return failure();
    training = parseSourceString<ModuleOp>(bytes, ParserConfig(context));
    if (!training)
      return failure();
    for (auto function : llvm::make_early_inc_range(training->getOps<func::FuncOp>()))
      if (function.isPrivate())
        function.erase();
    inference = training->clone();
    return success();
  }
  for (bool isInference : {false, true}) {
    onnx::OnnxImportOptions options;
    trained.adjust(options, isInference, batch, isInference ? again : seen);
    auto read = onnx::importOnnx(context, graph.source, options);
    if (failed(read))
      return failure();
    (isInference ? inference : training) = std::move(*read);
  }
  return success();
}

sinter_status_code sinter_graph_train_step(sinter_graph *graph, const sinter_train_options *options,
                                           sinter_graph **step) {
  if (!graph || !options || !step)
    return invalid("train_step requires a graph, options and a place for the step, got null");
  *step = nullptr;
  sinter_train_options chosen = {};
  if (!readOptions(options, chosen))
    return invalid("train_step options require their struct_size");
  if (!chosen.loss || !chosen.optimizer)
    return invalid("train_step requires a loss and an optimizer, got null");
  if (!graph->frames.empty())
    return invalid("train_step requires that all functions are ended, got " + Twine(graph->frames.size()) + " open");
  TrainOptions train;
  std::string error;
  train.loss = chosen.loss;
  if (chosen.labels)
    train.labels = chosen.labels;
  if (!OptimizerSpec::parse(chosen.optimizer, train.optimizer, error))
    return invalid(error);
  if (chosen.draws_weights)
    train.seed = chosen.weight_seed;
  train.randomSeed = chosen.seed;
  if (chosen.checkpoint && *chosen.checkpoint) {
    if (!schedule::KeepPolicy::parse(chosen.checkpoint, error))
      return invalid("a checkpoint policy " + error);
    train.checkpoint = chosen.checkpoint;
  }
  if (chosen.loss_scale && *chosen.loss_scale && !parseLossScale(chosen.loss_scale, train.lossScale.emplace(), error))
    return invalid("a loss scale " + error);
  if (!train.names.parse(chosen.trainable ? chosen.trainable : "", chosen.frozen ? chosen.frozen : "",
                         "train_step: ", error))
    return invalid(error);
  std::unique_ptr<MLIRContext> context = makeSinterContext();
  OwningOpRef<ModuleOp> module;
  std::string message;
  {
    ScopedDiagnosticHandler collect(context.get(), [&](Diagnostic &diagnostic) {
      if (message.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message = diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> training, inference;
    int64_t batch = chosen.batch > 0 ? chosen.batch : -1;
    bool isRead =
        succeeded(readModel(*graph, context.get(), train.names, batch, training, inference, train.initializers));
    if (isRead && chosen.precision && *chosen.precision && !setPrecision(*training, chosen.precision, error))
      return invalid("a policy of precision " + error);
    if (isRead)
      if (FailureOr<TrainStep> made = makeTrainStep(*training, *inference, train); succeeded(made))
        module = std::move(made->module);
  }
  if (!module)
    return invalid(message.empty() ? "the model has no training step" : message);
  *step = new sinter_graph(std::move(context), std::move(module));
  return SINTER_OK;
}
