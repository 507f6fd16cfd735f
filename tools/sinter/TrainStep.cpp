// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter train-step: a model into the compiled step that trains it, with the function that uses what it has learned.

#include "compiler/train/TrainStep.h"
#include "backends/schedule/Signature.h"
#include "backends/schedule/Timeline.h"
#include "compiler/train/ImportStates.h"
#include "compiler/train/LossScale.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/NamePattern.h"
#include "tools/sinter/Ptxas.h"
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>

using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

namespace {
struct TrainStepFlags {
  SharedOptions shared;
  TrainOptions train;
  std::string model, output, emit, optimizer, trainable, frozen, sparse, labels, lossScale;
  double clip = 0;
  int64_t batch = -1;
  bool force = false;
};
} // namespace

/// What --emit and the suffix of -o name. A graph has no format of code.
static std::optional<OutputFormat> formatOf(const TrainStepFlags &flags) {
  static const std::map<std::string, OutputFormat> forms = {{"module", OutputFormat::Module},
                                                            {"obj", OutputFormat::Object},
                                                            {"archive", OutputFormat::Archive},
                                                            {"so", OutputFormat::Shared},
                                                            {"exe", OutputFormat::Program}};
  static const std::map<std::string, std::string> suffixes = {
      {".smod", "module"}, {".o", "obj"}, {".a", "archive"},    {".so", "so"},
      {".exe", "exe"},     {"", "exe"},   {".sinter", "graph"}, {".mlir", "graph"}};
  std::string suffix = fs::path(flags.output).extension().string(), form = flags.emit;
  auto bySuffix = suffixes.find(suffix);
  if (form.empty() && bySuffix == suffixes.end())
    throw Stop(Exit::Usage, "the suffix of " + flags.output +
                                " names no format; use .smod, .o, .a, .so, .exe, .sinter, .mlir or --emit");
  if (form.empty())
    form = bySuffix->second;
  if (form == "graph")
    return std::nullopt;
  return forms.at(form);
}

/// Bytes of the states of a function.
static uintmax_t stateBytes(const schedule::Signature &function) {
  int64_t bytes = 0;
  for (const schedule::Signature::State &state : function.states) {
    const schedule::Signature::Tensor &type = function.inputs[static_cast<size_t>(state.input)];
    int64_t size = sinter_dtype_bytes(schedule::dtypeOf(type.elementType));
    for (int64_t dim : type.dims)
      size *= dim;
    bytes += size;
  }
  return static_cast<uintmax_t>(bytes);
}

/// Which initializers are states: weights by name and statistics. `seen` gets the names of what may be weights.
static AdjustImport adjustment(const TrainedNames &names, int64_t batch, bool forInference,
                               std::vector<std::string> &seen) {
  return [&seen, names, batch, forInference](onnx::OnnxImportOptions &import) {
    names.adjust(import, forInference, batch, seen);
  };
}

/// What came of --checkpoint.
static std::string keeps(const schedule::Signature &function) {
  if (!function.keeps || function.keeps->arenaBytes < 0)
    return "";
  const schedule::KeepReport &report = *function.keeps;
  std::ostringstream text;
  text << "; arena " << describeBytes(static_cast<uintmax_t>(report.arenaBytes)) << " of "
       << describeBytes(static_cast<uintmax_t>(report.arenaBytesOfAll)) << ", " << report.repeated << " of "
       << report.launches << " ops run twice (" << std::lround(100 * report.addedWork) << " % more work)";
  return text.str();
}

/// A file cannot say which of its floats are constants: a user must see what is trained.
static std::string trains(const TrainStep &step) {
  return "; trains " + std::to_string(step.trained.size()) + (step.trained.size() > 1 ? " tensors: " : " tensor: ") +
         listed(step.trained);
}

static Kind kindOf(std::optional<OutputFormat> format, const std::string &output) {
  if (!format)
    return output.ends_with(".sinter") ? Kind::Graph : Kind::Text;
  return *format == OutputFormat::Module ? Kind::Module : *format == OutputFormat::Archive ? Kind::Archive : Kind::Elf;
}

static Exit trainStep(const TrainStepFlags &flags) {
  TrainOptions train = flags.train;
  std::string error;
  if (!OptimizerSpec::parse(flags.optimizer, train.optimizer, error))
    throw Stop(Exit::Usage, error);
  if (flags.clip > 0) {
    if (train.optimizer.clipsNorm())
      throw Stop(Exit::Usage, "--clip and the optimizer's clip are one option, got both");
    train.optimizer.clipNorm(flags.clip);
  }
  if (!flags.lossScale.empty() && !parseLossScale(flags.lossScale, train.lossScale.emplace(), error))
    throw Stop(Exit::Usage, "--loss-scale " + error);
  std::optional<OutputFormat> format = formatOf(flags);
  bool isLinked = format == OutputFormat::Object || format == OutputFormat::Archive || format == OutputFormat::Shared;
  std::string header = isLinked ? fs::path(flags.output).replace_extension(".h").string() : std::string();
  requireWritable(flags.output, {flags.model}, kindOf(format, flags.output), flags.force);
  if (isLinked)
    requireWritable(header, {flags.model}, Kind::Header, flags.force, "the header of -o");
  if (flags.model.ends_with(".smod") || flags.model.ends_with(".so"))
    throw Stop(Exit::Usage, flags.model + ": is compiled already; train-step requires a graph");
  if (!flags.shared.cubins.empty() && format && *format != OutputFormat::Module)
    throw Stop(Exit::Usage, "--cubins requires a module (.smod), got " + flags.output);
  if (!format) {
    SharedOptions others = flags.shared;
    for (const char *held : {"--checkpoint", "--precision"}) // which the graph holds
      llvm::erase(others.compiling, held);
    others.refuseCompiling("a graph, which is not compiled");
    flags.shared.refuseThreads("a graph, which is not compiled");
  }

  if (!train.names.parse(flags.trainable, flags.frozen, "--", error))
    throw Stop(Exit::Usage, error);
  if (parsePattern("--sparse", flags.sparse))
    train.optimizer.sparse = flags.sparse;
  std::string kind = train.loss.substr(0, train.loss.find(':'));
  if (!flags.labels.empty() && kind != "cross_entropy")
    throw Stop(Exit::Usage, "--labels applies to the loss cross_entropy, got " + kind);
  if (!flags.labels.empty())
    train.labels = flags.labels;
  if (flags.batch >= 0 && (flags.model.ends_with(".mlir") || flags.model.ends_with(".sinter")))
    throw Stop(Exit::Usage, "--batch applies to ONNX models; " + flags.model + " states its own types");
  SharedOptions shared = flags.shared;
  shared.times.begin({flags.model, flags.output, header}, flags.force);
  train.checkpoint = std::exchange(shared.checkpoint, ""); // of the step, not of the model
  std::vector<std::string> again;
  Model model(flags.model, shared, adjustment(train.names, flags.batch, false, train.initializers));
  using TimedKind = schedule::Timeline::Kind;
  schedule::Span importing(shared.times.timeline(), TimedKind::Phase, "import for inference");
  mlir::OwningOpRef<mlir::ModuleOp> inference = model.readAgain(adjustment(train.names, flags.batch, true, again));
  importing.end();
  Diagnostics diagnostics(*model.context());
  schedule::Span deriving(shared.times.timeline(), TimedKind::Phase, "loss, gradients and optimizer");
  auto step = makeTrainStep(model.graph(), *inference, train);
  if (failed(step))
    throw Stop(Exit::Failure, diagnostics.errors());
  deriving.end();
  if (!format) {
    writeGraphTo(*step->module, flags.output);
    shared.times.finish();
    std::cerr << "wrote " << flags.output << trains(*step) << "\n";
    return Exit::Success;
  }

  CompileRequest request;
  request.name = symbolStem(flags.output);
  auto compiled = compileGraph(*step->module, compilerOptions(shared), request);
  if (failed(compiled))
    throw Stop(classOf(diagnostics.errors().c_str(), Exit::Internal),
               diagnostics.errors().empty() ? flags.model + ": cannot be compiled" : diagnostics.errors());
  if (!shared.cubins.empty())
    addCubins(*compiled, shared.cubins);
  if (!writeModule(*compiled, flags.output, *format, error))
    throw Stop(Exit::Failure, error);
  shared.times.finish();

  std::string stem = request.name;
  std::cerr << "wrote " << flags.output << " (" << describeBytes(fs::file_size(flags.output)) << ")";
  if (isLinked)
    std::cerr << ", " << header << ": " << stem << "_init, " << stem << "_step, " << stem << "_infer, " << stem
              << "_save, " << stem << "_load"
              << (schedule::hasSeed(compiled->code.functions) ? ", " + stem + "_seed" : "");
  std::cerr << "; state " << describeBytes(stateBytes(compiled->code.functions.front()))
            << keeps(compiled->code.functions.front()) << trains(*step) << "\n";
  return Exit::Success;
}

void sinter::tool::addTrainStep(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<TrainStepFlags>();
  CLI::App *command = program.add_subcommand("train-step", "compile the step that trains a model");
  flags->shared.addTo(*command, /*onlyCompiles=*/true);
  flags->shared.addCheckpointTo(*command);
  flags->shared.addPrecisionTo(*command);
  flags->shared.times.addTo(*command);
  flags->shared.addKernelCacheTo(*command);
  flags->shared.addCubinsTo(*command);
  command->add_option("model", flags->model, "model (.onnx, .sinter or .mlir)")->required();
  command
      ->add_option("--loss", flags->train.loss,
                   "cross_entropy[:axis=A,ignore=LABEL,output=NAME], mse, l1, huber[:delta=D], smooth_l1[:beta=B], bce "
                   "(before a "
                   "sigmoid) or kl [:output=NAME], or the name of an output")
      ->required();
  command->add_option("--labels", flags->labels, "element type of the labels: i64, i32, i16, i8 or ui8 (default i64)")
      ->transform(CLI::Transformer(std::map<std::string, std::string>{
          {"int64", "i64"}, {"int32", "i32"}, {"int16", "i16"}, {"int8", "i8"}, {"uint8", "ui8"}}));
  command
      ->add_option("--optimizer", flags->optimizer,
                   "sgd, adam, adamw, adagrad, rmsprop, adadelta, lamb, lion, muon, adafactor or ftrl, with options: "
                   "sgd:lr=0.1,momentum=0.9")
      ->required();
  command
      ->add_option("--loss-scale", flags->lossScale,
                   "what the loss is multiplied with while gradients are computed, for f16: none, a number, or "
                   "dynamic[:init=65536,growth=2,backoff=0.5,interval=2000], halved by a step whose gradients are not "
                   "finite, which changes no weight and is counted, and doubled after 2000 others (default: dynamic "
                   "where --precision has f16, else none)")
      ->type_name("SCALE");
  command->add_option("--clip", flags->clip, "greatest norm of all gradients together")->check(positive());
  command->add_option(
      "--trainable", flags->trainable,
      "regular expression (POSIX extended): initializers whose names it finds are trained (default: all weights)");
  command->add_option("--frozen", flags->frozen,
                      "regular expression (POSIX extended): initializers whose names it finds are not trained");
  command->add_option("--sparse", flags->sparse,
                      "regular expression (POSIX extended): tables whose names it finds move by the rows that a batch "
                      "looks up (Gather), and their moments, too; nothing as large as a table is computed");
  command
      ->add_option("--batch", flags->batch, "size of the first dim of inputs in a step, where the model leaves it open")
      ->check(positive());
  command->add_option("--init", flags->train.seed, "seed for the first values of weights that the model gives none");
  command->add_option("--seed", flags->train.randomSeed, "seed of random numbers such as dropout's (default 0)");
  command
      ->add_option("-o,--output", flags->output,
                   "file to write; its suffix chooses the format: .smod, .o, .a, .so, .exe (or none), .sinter or .mlir")
      ->required();
  command->add_option("--emit", flags->emit, "graph, obj, archive, so, exe or module, whatever the suffix is")
      ->check(CLI::IsMember({"graph", "obj", "archive", "so", "exe", "module"}));
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = trainStep(*flags); });
}
