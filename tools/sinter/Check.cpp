// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter check: compiled code against the reference evaluator, or either against ONNX's test folders.

#include "tools/sinter/Grad.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/OnnxTests.h"
#include <iostream>
#include <sstream>

using namespace sinter;
using namespace sinter::tool;

/// What a chain of roundings may cost, by element type.
static double tolerance(mlir::Type type) {
  if (type.isF64())
    return 1e-10;
  if (type.isF32())
    return 1e-4;
  return type.isF16() ? 1e-2 : 1e-1;
}

namespace {
struct CheckFlags {
  SharedOptions shared;
  OnnxTestOptions tests;
  std::string model;
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  bool gradient = false;
  std::string wrt;
};
} // namespace

/// One line for each output.
static Exit report(const std::vector<Port> &outputs, const std::vector<HostTensor> &actual,
                   const std::vector<HostTensor> &expected, std::ostream &os) {
  Exit result = Exit::Success;
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string &name = outputs[i].name;
    if (actual[i].tensorType() != expected[i].tensorType()) {
      os << name << ": compiled " << describe(actual[i]) << ", reference " << describe(expected[i]) << ": MISMATCH\n";
      result = Exit::Mismatch;
      continue;
    }
    double allowed = expected[i].isFloat() ? tolerance(expected[i].elementType()) : 0;
    Difference difference = compare(actual[i], expected[i], allowed, allowed);
    bool matches = expected[i].isFloat() ? difference.relative <= allowed : difference.mismatches == 0;
    os << name << ": " << describe(expected[i]) << " largest difference " << difference.absolute << ", "
       << difference.relative << " of the largest element"
       << (matches                 ? ""
           : isFinite(expected[i]) ? ": MISMATCH"
                                   : ": MISMATCH where the reference has numbers that are not finite")
       << "\n";
    if (!matches)
      result = Exit::Mismatch;
  }
  return result;
}

/// Where random inputs overflow, roundings decide which infinity meets which: smaller ones are drawn before that counts
/// as a mismatch.
static Exit checkModel(const CheckFlags &flags) {
  Model model(flags.model, flags.shared);
  bool isDrawn = flags.inputs.size() < model.inputs().size();
  auto draw = [&](double scale) {
    std::vector<HostTensor> inputs =
        readInputs(model.context(), model.inputs(), flags.inputs, "random:" + std::to_string(flags.seed), scale);
    return std::pair(inputs, model.runReference(inputs));
  };
  // Compiled code that fails where the reference does not is not asked again.
  return withSmallerDraws(isDrawn, draw, [&](const auto &drawn, double scale, bool isLast) -> std::optional<Exit> {
    const auto &[inputs, expected] = drawn;
    std::ostringstream lines;
    Exit result = Exit::Success;
    if (flags.tests.reference)
      for (size_t i = 0; i < expected.size(); ++i)
        lines << summarize(model.outputs()[i].name, expected[i]) << "\n";
    else
      result = report(model.outputs(), model.run(inputs), expected, lines);
    if (result == Exit::Mismatch && !llvm::all_of(expected, isFinite) && !isLast)
      return std::nullopt;
    std::cout << tellSmallerDraws(scale) << lines.str();
    return result;
  });
}

void sinter::tool::addCheck(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App *command =
      program.add_subcommand("check", "compare compiled code with the reference evaluator, or run ONNX test folders");
  flags->shared.addTo(*command);
  flags->shared.addDeviceTo(*command);
  CLI::Option *model = command->add_option("model", flags->model, "model (.onnx, .sinter or .mlir)");
  command->add_flag("--reference", flags->tests.reference, "run the reference evaluator alone");
  command->add_option("--input", flags->inputs, "NAME=VALUE, as for run; others are random")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--seed", flags->seed, "of random inputs");
  CLI::Option *gradient =
      command->add_flag("--gradient", flags->gradient, "compare gradients with differences instead, in f64");
  command->add_option("--wrt", flags->wrt, "regular expression of the inputs and initializers to differentiate by")
      ->needs(gradient);
  CLI::Option *tests =
      command->add_option("--onnx-tests", flags->tests.folders, "ONNX backend-test folders, or parents of such");
  command->add_option("--expected-failures", flags->tests.expectedFailures,
                      "file with a test name and a reason on each line");
  command->add_option("-j,--jobs", flags->tests.jobs, "test cases at a time")->check(CLI::Range(1, 256));
  command->add_option("--time-limit", flags->tests.timeLimit, "seconds for one test case")->check(CLI::Range(1, 3600));
  tests->excludes(model);
  for (const char *name : {"--input", "--seed", "--gradient", "--shape"})
    tests->excludes(command->get_option(name));
  for (const char *name : {"--expected-failures", "--jobs", "--time-limit"})
    command->get_option(name)->needs(tests);
  gradient->excludes(command->get_option("--reference"));
  command->callback([flags, &result] {
    for (auto [given, what] :
         {std::pair(flags->tests.reference, "--reference"), std::pair(flags->gradient, "--gradient")})
      if (given) {
        flags->shared.refuseCompiling(std::string(what) + ", which compiles nothing");
        flags->shared.refuseThreads(std::string(what) + ", which runs on one");
        flags->shared.refuseDevice(std::string(what) + ", which runs on the CPU");
      }
    if (!flags->tests.folders.empty()) {
      result = runOnnxTests(flags->tests, flags->shared);
      return;
    }
    if (flags->model.empty())
      throw Stop(Exit::Usage, "check requires a model or --onnx-tests");
    result = flags->gradient ? checkGradient({flags->model, flags->wrt, flags->inputs, flags->seed}, flags->shared)
                             : checkModel(*flags);
  });
}
