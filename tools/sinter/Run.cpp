// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter run: compile (unless compiled already), run once, write or print what comes out.

#include "runtime/train/RowTable.h"
#include "tools/sinter/Data.h"
#include "tools/sinter/Model.h"
#include <iostream>

using namespace sinter;
using namespace sinter::tool;

namespace {
struct RunFlags {
  SharedOptions shared;
  std::string model;
  std::vector<std::string> inputs, outputs, rows;
  bool print = false, reference = false, force = false;
};
} // namespace

namespace {
/// Tables larger than memory, of which the states of a model's session hold the rows that an input looks up.
class Lookups {
public:
  /// `texts` are NAME=@FOLDER,... of --rows, `states` the file of --load.
  Lookups(Model &model, const std::vector<std::string> &texts, const std::string &states) : ports(model.inputs()) {
    std::map<std::string, std::string> named;
    readEntries(texts, "--rows", "@FOLDER,table=STATE,rows=N", named);
    for (const auto &[input, text] : named) {
      auto port = llvm::find_if(ports, [&](const Port &port) { return port.name == input; });
      if (port == ports.end() || !port->type.getElementType().isSignlessInteger(64))
        throw Stop(Exit::Failure, "--rows requires an input of i64 that looks rows up, '" + input + "' is none");
      tables.push_back(train::readRows(model.session(), input, text, states));
    }
  }

  /// Brings the rows and puts their slots into the inputs.
  void prepare(std::vector<HostTensor> &inputs) {
    for (train::RowTable &table : tables)
      for (auto [port, rows] : llvm::zip(ports, inputs)) {
        if (port.name != table.input)
          continue;
        std::vector<int64_t> slots(static_cast<size_t>(rows.numElements()));
        table.cache->prepare(rows.toInts(), slots, /*moves=*/false);
        rows.assignInts(slots);
      }
  }

private:
  const std::vector<Port> &ports;
  std::vector<train::RowTable> tables;
};
} // namespace

static std::vector<HostTensor> runWithRows(Model &model, std::vector<HostTensor> inputs, const RunFlags &flags) {
  try {
    Lookups lookups(model, flags.rows, flags.shared.states);
    lookups.prepare(inputs);
    return model.run(inputs);
  } catch (const data::Error &error) {
    stopFor(error);
  }
}

static Exit run(const RunFlags &flags) {
  if (flags.reference) {
    flags.shared.refuseCompiling("--reference, which compiles nothing");
    flags.shared.refuseThreads("--reference, which runs on one");
    flags.shared.refuseDevice("--reference, which runs on the CPU");
    if (!flags.shared.states.empty())
      throw Stop(Exit::Usage, "--load has no effect with --reference, which takes the first values of states");
    if (!flags.rows.empty())
      throw Stop(Exit::Usage, "--rows has no effect with --reference, which takes the first values of states");
  }
  Model model(flags.model, flags.shared);
  // Where outputs go is checked before anything runs.
  std::map<std::string, std::string> files;
  for (const std::string &flag : flags.outputs) {
    size_t equals = flag.rfind("=@"); // a name may hold '='
    if (equals == std::string::npos || !flag.ends_with(".npy"))
      throw Stop(Exit::Usage, "--output requires NAME=@FILE.npy, got '" + flag + "'");
    files[flag.substr(0, equals)] = flag.substr(equals + 2);
  }
  std::vector<std::string> read = {flags.model};
  for (const std::string &flag : flags.inputs)
    if (size_t at = flag.find("=@"); at != std::string::npos)
      read.push_back(flag.substr(at + 2));
  if (!flags.shared.states.empty())
    read.push_back(flags.shared.states);
  for (const auto &[name, path] : files)
    requireWritable(path, read, Kind::Npy, flags.force, "--output");
  for (const auto &[name, path] : files)
    if (std::none_of(model.outputs().begin(), model.outputs().end(),
                     [&](const Port &port) { return port.name == name; })) {
      std::string list;
      for (const Port &port : model.outputs())
        list += (list.empty() ? "" : ", ") + oneLine(port.name);
      throw Stop(Exit::Failure, "the model has no output '" + oneLine(name) + "'; it gives " + list);
    }
  std::vector<HostTensor> inputs = readInputs(model.context(), model.inputs(), flags.inputs, "");
  std::vector<HostTensor> results = flags.reference ? model.runReference(inputs) : runWithRows(model, inputs, flags);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string &name = model.outputs()[i].name;
    if (auto it = files.find(name); it != files.end())
      writeNpy(results[i], it->second);
    if (flags.print || files.empty())
      std::cout << summarize(oneLine(name), results[i]) << "\n";
  }
  return Exit::Success;
}

void sinter::tool::addRun(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App *command = program.add_subcommand("run", "run a model once");
  flags->shared.addTo(*command);
  flags->shared.addPrecisionTo(*command);
  flags->shared.addCheckpointTo(*command);
  flags->shared.addDeviceTo(*command);
  command->add_option("model", flags->model, "model (.onnx, .sinter, .mlir, .smod or .so)")->required();
  command->add_option("--function", flags->shared.function,
                      "function of a module (.smod, .so), such as a step's infer");
  command->add_option("--load", flags->shared.states,
                      "safetensors file with the values of states, such as sinter train saves");
  command
      ->add_option(
          "--rows", flags->rows,
          "NAME=@FOLDER,table=STATE: input NAME looks up rows of a table larger than memory, in the folder of a "
          "training; with rows=N and what else sinter train was given, a new folder is made of the files "
          "beside the best checkpoint that --load names")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--input", flags->inputs, "NAME=@x.npy, @x.npz, @x.raw, random:SEED, zeros, ones or a number")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--output", flags->outputs, "NAME=@y.npy")->allow_extra_args(false)->take_all();
  command->add_flag("--print", flags->print, "print a summary of each output (the default when none is written)");
  command->add_flag("--reference", flags->reference, "run the reference evaluator instead of compiled code");
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = run(*flags); });
}
