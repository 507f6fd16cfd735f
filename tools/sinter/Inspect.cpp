// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter inspect: what is in a model or module.

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tools/sinter/Copies.h"
#include "tools/sinter/Dot.h"
#include "tools/sinter/GpuKernels.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/Sections.h"
#include <iostream>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;
using nlohmann::json;

namespace {
struct InspectFlags {
  SharedOptions shared;
  std::string model, dot;
  bool ops = false, kernels = false, memory = false, asJson = false, digests = false, force = false;
  std::string expected;
};
} // namespace

static json portsOf(const std::vector<Port> &ports) {
  json list = json::array();
  for (const Port &port : ports)
    list.push_back({{"name", port.name},
                    {"dtype", dtypeName(port.type.getElementType())},
                    {"shape", printShape(port.type.getShape())}});
  return list;
}

static json opsOf(ModuleOp module) {
  std::map<std::string, int64_t> counts;
  module.walk([&](Operation *op) {
    if (!isa<ModuleOp, func::FuncOp>(op))
      ++counts[op->getName().getStringRef().str()];
  });
  return counts;
}

static json kernelsOf(const CompiledModule &module) {
  json list = json::array();
  for (const schedule::KernelReport &kernel : module.code.kernels)
    list.push_back({{"name", kernel.name},
                    {"object_bytes", kernel.objectBytes},
                    {"uses", kernel.uses},
                    {"emit_ms", kernel.emitMs},
                    {"lower_ms", kernel.lowerMs},
                    {"optimize_ms", kernel.optimizeMs},
                    {"generate_ms", kernel.generateMs}});
  return list;
}

/// What can be said of a module without running it; `isForeign` when this machine cannot.
static json inspectModule(const InspectFlags &flags, bool &isForeign) {
  std::string refusal;
  json report = {{"file", flags.model}, {"sections", readSections(flags.model, flags.digests, refusal)}};
  isForeign = !refusal.empty();
  if (isForeign)
    report["refusal"] = refusal;
  return report;
}

static void print(const json &report);

static Exit inspect(const InspectFlags &flags) {
  if (!flags.kernels && !flags.memory) {
    flags.shared.refuseCompiling("inspect without --kernels or --memory, which compile");
    flags.shared.refuseThreads("inspect without --memory, which runs");
  }
  json report = json::object();
  bool isForeign = false;
  std::string digest;
  if (flags.digests || !flags.expected.empty())
    digest = digestOf(flags.model, flags.expected);
  if (flags.model.ends_with(".smod"))
    report = inspectModule(flags, isForeign);
  if (!digest.empty())
    report["sha256"] = digest;
  if (isForeign && !flags.memory) {
    flags.asJson ? void(std::cout << report.dump(2) << "\n") : print(report);
    return Exit::Success;
  }
  Model model(flags.model, flags.shared);
  report["file"] = flags.model;
  report["inputs"] = portsOf(model.inputs());
  report["outputs"] = portsOf(model.outputs());
  auto requireGraph = [&](const char *flag) {
    if (!model.graph())
      throw Stop(Exit::Usage,
                 flags.model + ": " + flag + " requires a graph (.onnx, .sinter or .mlir), got compiled code");
  };
  if (flags.ops) {
    requireGraph("--ops");
    report["ops"] = opsOf(model.graph());
  }
  if (flags.kernels) {
    requireGraph("--kernels");
    CompileRequest request;
    request.keepSchedule = true;
    const CompiledModule &compiled = model.compile(request);
    report["kernels"] = kernelsOf(compiled);
    if (!compiled.code.others.empty())
      if (auto schedules = parseSourceString<ModuleOp>(compiled.code.schedule, model.context()))
        report["copies"] = describeCopies(*schedules);
    std::string note;
    if (json kernels = describeGpuKernels(model.compile(), note); !kernels.empty())
      report["gpu_kernels"] = std::move(kernels);
    if (!note.empty())
      report["gpu_note"] = note;
  }
  if (flags.memory) {
    std::vector<HostTensor> inputs = readInputs(model.context(), model.inputs(), {}, "zeros");
    model.run(inputs);
    sinter_memory_report memory = {};
    memory.struct_size = sizeof memory;
    sinter_session_memory(model.session(), &memory);
    report["memory"] = {{"session_bytes", memory.fixed_bytes},   {"arena_bytes", memory.arena_bytes},
                        {"input_bytes", memory.input_bytes},     {"output_bytes", memory.output_bytes},
                        {"scratch_bytes", memory.scratch_bytes}, {"peak_bytes", memory.peak_bytes}};
    report["memory"]["state_bytes"] = memory.state_bytes;
    report["memory"]["weight_bytes"] = sinter_session_function(model.session())->weights_bytes;
    if (model.graph())
      if (const auto &keeps = model.compile().code.functions.front().keeps) {
        report["memory"]["arena_bytes_of_all"] = keeps->arenaBytesOfAll;
        report["memory"]["repeated_ops"] = keeps->repeated;
      }
  }
  if (!flags.dot.empty()) {
    requireGraph("--dot");
    requireWritable(flags.dot, {flags.model}, Kind::Text, flags.force, "--dot");
    writeText(printDot(model.graph()), flags.dot);
  }
  if (flags.asJson) {
    std::cout << report.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
    return Exit::Success;
  }
  print(report);
  return Exit::Success;
}

static void print(const json &report) {
  std::cout << report["file"].get<std::string>() << "\n";
  for (const char *which : {"inputs", "outputs"})
    for (const json &port : report.value(which, json::array()))
      std::cout << "  " << (which[0] == 'i' ? "input  " : "output ") << oneLine(port["name"].get<std::string>()) << ": "
                << port["dtype"].get<std::string>() << " " << port["shape"].get<std::string>() << "\n";
  if (report.contains("ops"))
    for (const auto &[name, count] : report["ops"].items())
      std::cout << "  " << name << " " << count << "\n";
  if (report.contains("kernels"))
    for (const json &kernel : report["kernels"])
      std::cout << "  kernel " << kernel["name"].get<std::string>() << ": "
                << (kernel["object_bytes"] == 0 ? "inlined" : kernel["object_bytes"].dump() + " bytes") << ", used "
                << kernel["uses"] << " times\n";
  printGpuKernels(report.value("gpu_kernels", json::array()));
  printCopies(report.value("copies", json::array()));
  if (report.contains("gpu_note"))
    std::cout << "  " << report["gpu_note"].get<std::string>() << "\n";
  if (report.contains("memory"))
    for (const auto &[name, bytes] : report["memory"].items())
      std::cout << "  " << name << " " << bytes << "\n";
  printSections(report.value("sections", json::array()));
  if (report.contains("refusal"))
    std::cout << "  " << report["refusal"].get<std::string>() << "\n";
  if (report.contains("sha256"))
    std::cout << "  sha256 " << report["sha256"].get<std::string>() << "\n";
}

void sinter::tool::addInspect(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App *command = program.add_subcommand("inspect", "show what a model or module contains");
  flags->shared.addTo(*command);
  flags->shared.addCheckpointTo(*command);
  command->add_option("file", flags->model, "model or module (.onnx, .sinter, .mlir, .smod or .so)")->required();
  command->add_flag("--ops", flags->ops, "how often each op occurs");
  command->add_flag(
      "--kernels", flags->kernels,
      "compiled kernels, their code sizes and compile times; those of a GPU with registers, shared memory, "
      "spills and occupancy, where ptxas is installed, and what a call copies from and to it");
  command->add_flag("--memory", flags->memory, "bytes that a session needs (dims fixed by --shape)");
  command->add_option("--dot", flags->dot, "file to write the graph to, for Graphviz");
  command->add_flag("--sha256", flags->digests, "the SHA-256 of the file and of each section");
  command->add_option("--expect-sha256", flags->expected, "64 hexadecimal digits: fail when the file has another");
  command->add_flag("--json", flags->asJson, "print JSON");
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = inspect(*flags); });
}
