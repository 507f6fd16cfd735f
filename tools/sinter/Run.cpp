// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter run: compile (unless compiled already), run once, write or print what comes out.

#include "tools/sinter/Model.h"
#include <iostream>

using namespace sinter;
using namespace sinter::tool;

namespace {
struct RunFlags {
  SharedOptions shared;
  std::string model;
  std::vector<std::string> inputs, outputs;
  bool print = false, reference = false, force = false;
};
} // namespace

static Exit run(const RunFlags &flags) {
  if (flags.reference) {
    flags.shared.refuseCompiling("--reference, which compiles nothing");
    flags.shared.refuseThreads("--reference, which runs on one");
    flags.shared.refuseDevice("--reference, which runs on the CPU");
    if (!flags.shared.states.empty())
      throw Stop(Exit::Usage, "--load has no effect with --reference, which takes the first values of states");
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
  std::vector<HostTensor> results = flags.reference ? model.runReference(inputs) : model.run(inputs);
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
  command->add_option("--input", flags->inputs, "NAME=@x.npy, @x.npz, @x.raw, random:SEED, zeros, ones or a number")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--output", flags->outputs, "NAME=@y.npy")->allow_extra_args(false)->take_all();
  command->add_flag("--print", flags->print, "print a summary of each output (the default when none is written)");
  command->add_flag("--reference", flags->reference, "run the reference evaluator instead of compiled code");
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = run(*flags); });
}
