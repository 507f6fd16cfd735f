// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter train-step: a model into the compiled step that trains it, with the function that uses what it has learned.

#include "compiler/train/TrainStep.h"
#include "backends/cpu/FunctionTable.h"
#include "tools/sinter/Model.h"
#include <filesystem>
#include <iostream>
#include <regex>

using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

namespace {
struct TrainStepFlags {
  SharedOptions shared;
  TrainOptions train;
  std::string model, output, optimizer, trainable;
  double clip = 0;
  int64_t batch = -1;
};
} // namespace

static OutputFormat formatOf(const std::string &output) {
  std::string suffix = fs::path(output).extension().string();
  static const std::map<std::string, OutputFormat> formats = {
      {".smod", OutputFormat::Module}, {".o", OutputFormat::Object},    {".a", OutputFormat::Archive},
      {".so", OutputFormat::Shared},   {".exe", OutputFormat::Program}, {"", OutputFormat::Program}};
  auto found = formats.find(suffix);
  if (found == formats.end())
    throw Stop(Exit::Usage, "the suffix of " + output + " names no format; use .smod, .o, .a, .so, .exe or .mlir");
  return found->second;
}

static std::string describeBytes(int64_t bytes) {
  char text[32];
  if (bytes < 10 * 1024)
    std::snprintf(text, sizeof text, "%lld bytes", static_cast<long long>(bytes));
  else if (bytes < 10 * 1024 * 1024)
    std::snprintf(text, sizeof text, "%.0f KB", static_cast<double>(bytes) / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1024 / 1024);
  return text;
}

/// Bytes of the states of a function.
static int64_t stateBytes(const cpu::Signature &function) {
  int64_t bytes = 0;
  for (const cpu::Signature::State &state : function.states) {
    const cpu::Signature::Tensor &type = function.inputs[static_cast<size_t>(state.input)];
    int64_t size = sinter_dtype_bytes(cpu::dtypeOf(type.elementType));
    for (int64_t dim : type.dims)
      size *= dim;
    bytes += size;
  }
  return bytes;
}

/// Which initializers are states: weights by name and statistics.
static AdjustImport adjustment(const TrainStepFlags &flags, bool forInference) {
  std::shared_ptr<std::regex> pattern;
  try {
    if (!flags.trainable.empty())
      pattern = std::make_shared<std::regex>(flags.trainable, std::regex::ECMAScript);
  } catch (const std::regex_error &error) {
    throw Stop(Exit::Usage,
               "--trainable requires a regular expression, got '" + flags.trainable + "': " + error.what());
  }
  return [&flags, pattern, forInference](onnx::OnnxImportOptions &import) {
    import.forInference = forInference;
    if (!forInference)
      import.batch = flags.batch;
    import.isState = [pattern](const onnx::OnnxInitializer &initializer) {
      if (initializer.isStatistic)
        return true;
      if (initializer.isSetting)
        return false;
      if (pattern)
        return std::regex_search(initializer.name.begin(), initializer.name.end(), *pattern);
      return initializer.type.getRank() > 0; // a number in a formula is no weight
    };
  };
}

static Exit trainStep(const TrainStepFlags &flags) {
  TrainOptions train = flags.train;
  std::string error;
  if (!OptimizerSpec::parse(flags.optimizer, train.optimizer, error))
    throw Stop(Exit::Usage, error);
  if (flags.clip > 0)
    train.optimizer.clip = flags.clip;
  bool isText = flags.output.ends_with(".mlir");
  OutputFormat format = isText ? OutputFormat::Module : formatOf(flags.output);

  Model model(flags.model, flags.shared, adjustment(flags, false));
  if (!model.graph())
    throw Stop(Exit::Usage, flags.model + ": is compiled already; train-step requires a graph");
  mlir::OwningOpRef<mlir::ModuleOp> inference = model.readAgain(adjustment(flags, true));
  Diagnostics diagnostics(*model.context());
  auto step = makeTrainStep(model.graph(), *inference, train);
  if (failed(step))
    throw Stop(Exit::Failure, diagnostics.errors());
  if (isText) {
    std::string text;
    llvm::raw_string_ostream os(text);
    (*step)->print(os);
    os << "\n";
    if (!writeFile(flags.output, llvm::ArrayRef<char>(text.data(), text.size()), error))
      throw Stop(Exit::Failure, error);
    std::cerr << "wrote " << flags.output << "\n";
    return Exit::Success;
  }

  CompileRequest request;
  request.name = cpu::symbolName(fs::path(flags.output).stem().string());
  auto compiled = compileGraph(**step, compilerOptions(flags.shared), request);
  if (failed(compiled))
    throw Stop(Exit::Internal,
               diagnostics.errors().empty() ? flags.model + ": cannot be compiled" : diagnostics.errors());
  if (!writeModule(*compiled, flags.output, format, error))
    throw Stop(Exit::Failure, error);

  std::string stem = request.name;
  std::cerr << "wrote " << flags.output << " (" << describeBytes(static_cast<int64_t>(fs::file_size(flags.output)))
            << ")";
  if (format == OutputFormat::Object || format == OutputFormat::Archive || format == OutputFormat::Shared)
    std::cerr << ", " << fs::path(flags.output).replace_extension(".h").string() << ": " << stem << "_init, " << stem
              << "_step, " << stem << "_infer, " << stem << "_save, " << stem << "_load";
  std::cerr << "; state " << describeBytes(stateBytes(compiled->code.functions.front())) << "\n";
  return Exit::Success;
}

void sinter::tool::addTrainStep(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<TrainStepFlags>();
  CLI::App *command = program.add_subcommand("train-step", "compile the step that trains a model");
  flags->shared.addTo(*command);
  command->add_option("model", flags->model, "model (.onnx or .mlir)")->required();
  command
      ->add_option("--loss", flags->train.loss,
                   "cross_entropy[:axis=A,output=NAME], mse[:output=NAME] or the name of an output")
      ->required();
  command
      ->add_option("--labels", flags->train.labels,
                   "element type of the labels: i64, i32, i16, i8 or ui8 (default i64)")
      ->transform(CLI::Transformer(std::map<std::string, std::string>{
          {"int64", "i64"}, {"int32", "i32"}, {"int16", "i16"}, {"int8", "i8"}, {"uint8", "ui8"}}));
  command
      ->add_option("--optimizer", flags->optimizer,
                   "sgd, adam, adamw, adagrad, rmsprop or lamb, with options: sgd:lr=0.1,momentum=0.9")
      ->required();
  command->add_option("--clip", flags->clip, "greatest norm of all gradients together")->check(CLI::PositiveNumber);
  command->add_option("--trainable", flags->trainable,
                      "regular expression: initializers whose names match are trained (default: all weights)");
  command
      ->add_option("--batch", flags->batch, "size of the first dim of inputs in a step, where the model leaves it open")
      ->check(CLI::PositiveNumber);
  command->add_option("--init", flags->train.seed, "seed for the first values of weights that the model gives none");
  command->add_option("-o,--output", flags->output, "file to write: .smod, .o, .a, .so, .exe (or no suffix) or .mlir")
      ->required();
  command->callback([flags, &result] { result = trainStep(*flags); });
}
