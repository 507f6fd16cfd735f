// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter grad: the gradient of a model as a graph. Initializers that are asked for become inputs with the state
// attribute, so that what is made from the graph starts with their values.

#include "tools/sinter/Grad.h"
#include "compiler/Pipeline.h"
#include "compiler/onnx/Import.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/CheckGradients.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/NamePattern.h"
#include <filesystem>
#include <iostream>

using namespace sinter;
using namespace sinter::tool;

namespace {
struct GradFlags {
  SharedOptions shared;
  std::string model, output, loss, wrt, mode = "value_and_grad", memory;
  bool force = false;
};
} // namespace

/// Names of initializers that a gradient could be with respect to.
using Initializers = std::vector<std::string>;

/// Initializers of floats that the pattern names become arguments. `seen` gets the names of all.
static AdjustImport adjustment(const std::shared_ptr<llvm::Regex> &pattern, Initializers &seen) {
  return [pattern, &seen](onnx::OnnxImportOptions &import) {
    import.isState = [pattern, &seen](const onnx::OnnxInitializer &initializer) {
      if (!isDifferentiable(initializer.type) || initializer.isSetting)
        return false;
      seen.push_back(initializer.name.str());
      return pattern && pattern->match(initializer.name);
    };
  };
}

/// All arguments, with those that are states of what is made from the graph.
static std::vector<Port> argumentsOf(Model &model) {
  mlir::func::FuncOp main = model.function();
  std::vector<Port> ports = model.inputs();
  for (unsigned k = 0; k < main.getNumArguments(); ++k)
    if (auto state = main.getArgAttrOfType<mlir::StringAttr>(k, "sinter.state")) {
      auto name = main.getArgAttrOfType<mlir::StringAttr>(k, "sinter.name");
      ports.push_back({(name ? name : state).str(), llvm::cast<mlir::RankedTensorType>(main.getArgumentTypes()[k]),
                       static_cast<int32_t>(k)});
    }
  llvm::sort(ports, [](const Port &a, const Port &b) { return a.number < b.number; });
  return ports;
}

/// The float arguments that the pattern names; without one all float inputs.
static llvm::SmallVector<unsigned> findArguments(Model &model, const std::string &wrt,
                                                 const std::shared_ptr<llvm::Regex> &pattern,
                                                 const Initializers &initializers) {
  llvm::SmallVector<unsigned> found;
  std::vector<std::string> names;
  for (const Port &port : pattern ? argumentsOf(model) : model.inputs()) {
    names.push_back(port.name);
    if (isDifferentiable(port.type) && (!pattern || pattern->match(port.name)))
      found.push_back(static_cast<unsigned>(port.number));
  }
  if (!found.empty())
    return found;
  auto further = [&](const std::string &text) { return initializers.empty() ? "" : text + listed(initializers); };
  throw Stop(Exit::Failure, pattern ? "--wrt requires the name of a float input or initializer, none matches '" + wrt +
                                          "'; inputs are " + listed(names) + further("; initializers are ")
                                    : "a gradient requires a float input, the model has " + listed(names) +
                                          further("; --wrt takes initializers: "));
}

/// The number of the result that is differentiated. Modes of all results have none.
static unsigned findLoss(Model &model, const std::string &name, const std::string &mode) {
  if (mode == "vjp" || mode == "jvp") {
    if (!name.empty())
      throw Stop(Exit::Usage, "--loss requires a mode of grad, value_and_grad or hvp, got " + mode +
                                  ", which differentiates all outputs");
    return 0;
  }
  std::vector<std::string> names;
  for (const Port &port : model.outputs()) {
    names.push_back(port.name);
    if (!name.empty() && port.name != name)
      continue;
    if (!isDifferentiable(port.type) || port.type.getRank() != 0)
      throw Stop(Exit::Failure, "--loss requires a float output of rank 0, '" + port.name + "' is " +
                                    describe(port.type) + "; --mode vjp differentiates outputs of any rank");
    return static_cast<unsigned>(port.number);
  }
  throw Stop(Exit::Failure, "the model has no output '" + name + "'; it gives " + listed(names));
}

static Exit grad(const GradFlags &flags) {
  std::string suffix = flags.output == "-" ? ".mlir" : std::filesystem::path(flags.output).extension().string();
  if (suffix != ".sinter" && suffix != ".mlir")
    throw Stop(Exit::Usage, "the suffix of " + flags.output + " names no format of graphs; use .sinter or .mlir");
  if (flags.output != "-")
    requireWritable(flags.output, {flags.model}, suffix == ".sinter" ? Kind::Graph : Kind::Text, flags.force);
  std::optional<GradientMode> mode = parseGradientMode(flags.mode);
  if (!flags.memory.empty() && !CheckpointPolicy::parse(flags.memory))
    throw Stop(Exit::Usage,
               "--memory requires all, recompute, period(K), binomial(SLOTS), online(SLOTS) or implicit, got '" +
                   flags.memory + "'");
  std::shared_ptr<llvm::Regex> pattern = parsePattern("--wrt", flags.wrt);
  Initializers initializers;
  Model model(flags.model, flags.shared, adjustment(pattern, initializers));
  if (!model.graph())
    throw Stop(Exit::Usage, flags.model + ": is compiled already; grad requires a graph (.onnx, .sinter or .mlir)");
  mlir::func::FuncOp source = model.function();
  GradientOptions options;
  options.mode = *mode;
  options.result = findLoss(model, flags.loss, flags.mode);
  options.memory = flags.memory;
  Diagnostics diagnostics(*model.context());
  if (failed(refineForGradient(source)))
    throw Stop(Exit::Failure, diagnostics.errors());
  auto gradient = buildGradient(source, findArguments(model, flags.wrt, pattern, initializers), options);
  if (failed(gradient))
    throw Stop(Exit::Failure, diagnostics.errors());
  gradient->setName(source.getName());
  source.erase();

  writeGraphTo(model.graph(), flags.output);
  return Exit::Success;
}

Exit sinter::tool::checkGradient(const GradientCheckFlags &flags, const SharedOptions &shared) {
  std::shared_ptr<llvm::Regex> pattern = parsePattern("--wrt", flags.wrt);
  Initializers initializers;
  Model model(flags.model, shared, adjustment(pattern, initializers));
  if (!model.graph())
    throw Stop(Exit::Usage,
               flags.model + ": is compiled already; --gradient requires a graph (.onnx, .sinter or .mlir)");
  mlir::func::FuncOp main = model.function();
  llvm::SmallVector<unsigned> wrt = findArguments(model, flags.wrt, pattern, initializers);
  Diagnostics diagnostics(*model.context());
  GradientCheckOptions options;
  options.seed = flags.seed;
  if (failed(refineForGradient(main)))
    throw Stop(Exit::Failure, diagnostics.errors());
  std::vector<Port> arguments = argumentsOf(model);
  bool isDrawn = flags.inputs.size() < model.inputs().size();
  auto draw = [&](double scale) {
    std::vector<HostTensor> inputs =
        readInputs(model.context(), model.inputs(), flags.inputs, "random:" + std::to_string(flags.seed), scale);
    (void)model.runReference(inputs); // a gradient that fails where values do not is not asked again
    return model.argumentsFor(inputs);
  };
  return withSmallerDraws(
      isDrawn, draw, [&](std::vector<HostTensor> &inputs, double scale, bool isLast) -> std::optional<Exit> {
        auto check = checkGradients(main, wrt, inputs, options);
        if (failed(check))
          throw Stop(Exit::Failure, diagnostics.errors());
        if (!check->isFinite && !isLast)
          return std::nullopt;
        std::cout << tellSmallerDraws(scale);
        if (!check->isFinite)
          std::cout
              << "not all results and gradients are finite at these inputs: what is no number on both sides agrees\n";
        auto line = [&](const std::string &what, double error) {
          std::cout << what << ": largest error " << error << (error <= options.tolerance ? "" : ": MISMATCH") << "\n";
        };
        for (auto [k, error] : llvm::zip(wrt, check->elements))
          line(arguments[k].name, error);
        line("along a random direction", check->direction);
        line("forward against reverse mode", check->transpose);
        return check->passed ? Exit::Success : Exit::Mismatch;
      });
}

void sinter::tool::addGrad(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<GradFlags>();
  CLI::App *command = program.add_subcommand("grad", "write the gradient of a model as a graph");
  flags->shared.addShapesTo(*command);
  command->add_option("model", flags->model, "model (.onnx, .sinter or .mlir)")->required();
  command->add_option("-o,--output", flags->output, "graph to write: .sinter or .mlir; - is text on standard output")
      ->required();
  command->add_option("--loss", flags->loss, "output to differentiate (default: the first)");
  command->add_option(
      "--wrt", flags->wrt,
      "regular expression of the inputs and initializers to differentiate by (default: all float inputs)");
  command->add_option("--mode", flags->mode, "grad, value_and_grad, vjp, jvp or hvp (default value_and_grad)")
      ->check(CLI::IsMember({"grad", "value_and_grad", "vjp", "jvp", "hvp"}));
  command->add_option("--memory", flags->memory,
                      "what loops keep: all, recompute, period(K), binomial(SLOTS), online(SLOTS) or implicit");
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = grad(*flags); });
}
