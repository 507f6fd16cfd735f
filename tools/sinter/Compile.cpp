// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter compile: a graph into a module, object, library, program, or the text of a phase.

#include "compiler/Targets.h"
#include "ir/file/GraphFile.h"
#include "tools/sinter/Model.h"
#include "tools/sinter/Ptxas.h"
#include "tools/sinter/Remarks.h"
#include "tools/sinter/Sections.h"
#include "tools/sinter/Tune.h"
#include <filesystem>
#include <iostream>

using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

namespace {
struct CompileFlags {
  SharedOptions shared;
  std::string model, output, emit, dumpFolder, schedules, tune; // seconds to tune for; empty: not at all
  bool digests = false, force = false, remarks = false;
};

/// What --tune and --schedules do to the kernels of each target.
class Scheduling {
public:
  /// Throws Stop: a file that cannot be read, is damaged, or holds nothing for any of the targets.
  Scheduling(const CompileFlags &flags, Model &model);
  void addTo(CompileRequest &request);
  /// Writes what was chosen, and says what was used.
  void finish();

private:
  const CompileFlags &flags;
  std::vector<schedule::Target> targets;
  ScheduleFile file;
  std::optional<TuneReport> report;
  std::map<std::string, std::vector<std::string>> used; // keys by target
};
} // namespace

/// What --emit and the suffix of -o name, and the suffix that a file of that form gets by default.
static const std::vector<std::pair<std::string, std::string>> kForms = {
    {"graph", ".mlir"}, {"fused", ".mlir"}, {"schedule", ".mlir"}, {"loops", ".mlir"},
    {"llvm", ".mlir"},  {"asm", ".s"},      {"ptx", ".ptx"},       {"obj", ".o"},
    {"archive", ".a"},  {"so", ".so"},      {"exe", ""},           {"module", ".smod"}};

static std::string formOf(const CompileFlags &flags) {
  if (!flags.emit.empty())
    return flags.emit;
  std::string suffix = fs::path(flags.output).extension().string();
  if (suffix == ".mlir" || suffix == ".sinter")
    return "graph";
  if (flags.output.empty())
    return "module";
  if (suffix == ".exe") // as train-step takes it
    return "exe";
  for (const auto &[form, known] : kForms)
    if (suffix == known)
      return form;
  throw Stop(
      Exit::Usage,
      "the suffix of " + flags.output +
          " names no format; use .smod, .o, .a, .so, .s, .ptx, .exe, .sinter, .mlir, none for a program, or --emit");
}

static Kind kindOf(const std::string &form, const std::string &output) {
  if (form == "module")
    return Kind::Module;
  if (form == "archive")
    return Kind::Archive;
  if (form == "obj" || form == "so" || form == "exe")
    return Kind::Elf;
  return form == "graph" && output.ends_with(".sinter") ? Kind::Graph : Kind::Text;
}

/// The C header that is written beside an object or a library.
static std::string headerOf(const std::string &form, const std::string &output) {
  bool has = form == "obj" || form == "so" || form == "archive";
  return has ? fs::path(output).replace_extension(".h").string() : std::string();
}

/// The code of GPUs without the lines about its kernels and without kernels for sm_90a that stand beside them
/// (backends/cuda/CudaBackend.h), as ptxas takes it.
static std::string ptxOf(const CompiledModule &module) {
  for (const schedule::CodeObject &object : module.code.others)
    if (object.backend == "cuda")
      return partsOfGpuCode(object.payload).ptx.str();
  throw Stop(Exit::Usage, "--emit=ptx requires kernels for a GPU, such as those of --target=cpu+cuda");
}

Scheduling::Scheduling(const CompileFlags &flags, Model &model) : flags(flags) {
  std::string error;
  if (flags.schedules.empty())
    return;
  if (!findTargets(model.graph(), compilerOptions(flags.shared).target, targets, error))
    throw Stop(Exit::Failure, error);
  if (!flags.tune.empty()) {
    file.begin(targets.front());
    return;
  }
  if (!ScheduleFile::read(flags.schedules, model.context(), file, error))
    throw Stop(classOf(error.c_str(), Exit::Damage), error);
  auto isKnown = [&](const schedule::Target &target) { return file.knows(target); };
  if (llvm::none_of(targets, isKnown))
    throw Stop(Exit::Failure, flags.schedules + ": holds schedules for " + file.targets() +
                                  ", and this compilation is for " + describeForSchedules(targets.front()));
}

void Scheduling::addTo(CompileRequest &request) {
  if (flags.schedules.empty())
    return;
  request.onFused = [this](mlir::ModuleOp module, const schedule::Target &target) -> mlir::LogicalResult {
    if (!flags.tune.empty()) {
      mlir::FailureOr<TuneReport> made = tune(module, target, flags.shared.optLevel, std::stod(flags.tune), file);
      if (mlir::failed(made))
        return mlir::failure();
      report = *made;
    }
    return file.apply(module, target, flags.shared.optLevel, used[describeForSchedules(target)]);
  };
}

void Scheduling::finish() {
  if (report) {
    writeText(file.text(), flags.schedules);
    std::cerr << report->line() << "\nwrote " << flags.schedules << "\n";
    return;
  }
  for (const schedule::Target &target : targets) {
    std::string name = describeForSchedules(target);
    std::cerr << flags.schedules << ": " << used[name].size() << " of " << file.size(target) << " schedules for "
              << name << " belong to kernels of this model\n";
  }
}

static Exit compile(const CompileFlags &flags) {
  std::string form = formOf(flags);
  std::string output = flags.output;
  bool isText = form == "graph" || form == "fused" || form == "schedule" || form == "loops" || form == "llvm" ||
                form == "asm" || form == "ptx";
  if (output.empty() && isText) {
    output = "-";
  } else if (output.empty()) {
    auto known = std::find_if(kForms.begin(), kForms.end(), [&](const auto &entry) { return entry.first == form; });
    output = fs::path(flags.model).stem().string() + known->second;
  }
  if (flags.model.ends_with(".smod") || flags.model.ends_with(".so"))
    throw Stop(Exit::Usage, flags.model + ": is compiled already; compile requires a graph (.onnx, .sinter or .mlir)");
  if (output == "-" && !isText)
    throw Stop(Exit::Usage,
               "-o - requires a text format (graph, fused, schedule, loops, llvm, asm or ptx), got " + form);
  if (flags.remarks && form == "graph")
    throw Stop(Exit::Usage, "--remarks requires kernels, which --emit=graph does not make");
  if (!flags.shared.cubins.empty() && form != "module")
    throw Stop(Exit::Usage, "--cubins requires a module (.smod), got " + form);
  if (output == "-" && flags.digests)
    throw Stop(Exit::Usage, "--sha256 requires a file, got standard output");
  // The graph and its kernels are for any machine.
  size_t numTargets = splitTargets(flags.shared.target).size();
  if (numTargets > 1 && (form == "schedule" || form == "loops" || form == "llvm" || form == "asm" || form == "ptx"))
    throw Stop(Exit::Usage, "--emit=" + form + " requires one target, got " + std::to_string(numTargets) + ": " +
                                flags.shared.target);
  if (numTargets > 1 && !flags.dumpFolder.empty())
    throw Stop(Exit::Usage,
               "--dump-ir requires one target, got " + std::to_string(numTargets) + ": " + flags.shared.target);
  if (!flags.tune.empty() && flags.schedules.empty())
    throw Stop(Exit::Usage, "--tune requires --schedules FILE, to which it writes what it chooses");
  if (!flags.schedules.empty() && form == "graph")
    throw Stop(Exit::Usage, "--schedules requires kernels, which --emit=graph does not make");
  if (!flags.tune.empty() && numTargets > 1)
    throw Stop(Exit::Usage,
               "--tune requires one target, got " + std::to_string(numTargets) + ": " + flags.shared.target);
  if (!flags.tune.empty())
    requireWritable(flags.schedules, {flags.model}, Kind::Schedules, flags.force, "--schedules");
  if (output != "-")
    requireWritable(output, {flags.model}, kindOf(form, output), flags.force);
  std::string header = headerOf(form, output);
  if (!header.empty())
    requireWritable(header, {flags.model}, Kind::Header, flags.force, "the header of -o");
  TimePasses times = flags.shared.times;
  times.begin({flags.model, output, header, flags.schedules}, flags.force);
  SharedOptions shared = flags.shared;
  shared.times = times;
  Model model(flags.model, shared);
  Scheduling scheduling(flags, model);
  std::optional<Remarks> remarks;
  if (flags.remarks)
    remarks.emplace(*model.context());

  CompileRequest request;
  bool all = !flags.dumpFolder.empty();
  // A graph is text, but for a .sinter file.
  bool isGraphFile = form == "graph" && output.ends_with(".sinter");
  bool isGraphWritten = true;
  std::string graphError;
  request.keepGraph = all || (form == "graph" && !isGraphFile);
  if (isGraphFile)
    request.onGraph = [&](mlir::ModuleOp graph) {
      Diagnostics diagnostics(*graph.getContext());
      isGraphWritten = mlir::succeeded(writeGraph(graph, output));
      graphError = diagnostics.errors();
    };
  request.keepFused = all || form == "fused";
  request.keepSchedule = all || form == "schedule";
  request.keepLoops = all || form == "loops";
  request.keepLLVM = all || form == "llvm";
  request.keepAssembly = form == "asm";
  // Nothing is done past the phase that is asked for.
  if (!all && form == "graph")
    request.last = CompileRequest::Last::Graph;
  else if (!all && form == "fused")
    request.last = CompileRequest::Last::Fused;
  else if (!all && form == "schedule")
    request.last = CompileRequest::Last::Schedule;
  else if (!all && form == "loops")
    request.last = CompileRequest::Last::Loops;
  request.name = symbolStem(output == "-" ? flags.model : output);
  request.sha256 = flags.digests;
  scheduling.addTo(request);
  const CompiledModule &module = model.compile(request);
  scheduling.finish();
  if (remarks)
    std::cerr << remarks->lines();
  if (!isGraphWritten)
    throw Stop(Exit::Failure, graphError);
  if (all) {
    fs::create_directories(flags.dumpFolder);
    for (auto [name, text] :
         {std::pair("1-graph.mlir", &module.graph), std::pair("2-fused.mlir", &module.fused),
          std::pair("3-schedule.mlir", &module.code.schedule), std::pair("4-loops.mlir", &module.code.loops),
          std::pair("5-llvm.mlir", &module.code.llvm)})
      writeText(*text, flags.dumpFolder + "/" + name);
  }

  std::string error;
  auto writeBinary = [&](OutputFormat format) {
    if (!writeModule(module, output, format, error))
      throw Stop(Exit::Failure, error);
  };
  if (isGraphFile)
    ; // written when it was there
  else if (form == "graph")
    writeText(module.graph, output);
  else if (form == "fused")
    writeText(module.fused, output);
  else if (form == "schedule")
    writeText(module.code.schedule, output);
  else if (form == "loops")
    writeText(module.code.loops, output);
  else if (form == "llvm")
    writeText(module.code.llvm, output);
  else if (form == "asm")
    writeText(module.code.assembly, output);
  else if (form == "ptx")
    writeText(ptxOf(module), output);
  else if (form == "obj")
    writeBinary(OutputFormat::Object);
  else if (form == "archive")
    writeBinary(OutputFormat::Archive);
  else if (form == "so")
    writeBinary(OutputFormat::Shared);
  else if (form == "exe")
    writeBinary(OutputFormat::Program);
  else
    writeBinary(OutputFormat::Module);
  times.finish();
  if (output == "-")
    return Exit::Success;
  std::cerr << "wrote " << output << " (" << describeBytes(fs::file_size(output)) << ")";
  if (!header.empty())
    std::cerr << ", " << header;
  char seconds[64];
  std::snprintf(seconds, sizeof seconds, ": read in %.2f s, compiled in %.2f s", model.importSeconds(),
                model.compileSeconds());
  std::cerr << seconds << "\n";
  if (flags.digests) // as sha256sum prints it, and reads it with -c
    std::cout << digestOf(output, "") << "  " << output << "\n";
  return Exit::Success;
}

void sinter::tool::addCompile(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App *command = program.add_subcommand("compile", "compile a model to native code");
  flags->shared.addTo(*command, /*onlyCompiles=*/true);
  flags->shared.addPrecisionTo(*command);
  flags->shared.addCheckpointTo(*command);
  flags->shared.times.addTo(*command);
  flags->shared.addKernelCacheTo(*command);
  flags->shared.addCubinsTo(*command);
  command->add_option("model", flags->model, "model (.onnx, .sinter or .mlir)")->required();
  command->add_option("-o,--output", flags->output,
                      "file to write; its suffix chooses the format; - is standard output, the default for text");
  command
      ->add_option("--emit", flags->emit,
                   "graph, fused, schedule, loops, llvm, asm, ptx, obj, archive, so, exe or module")
      ->check(CLI::IsMember(
          {"graph", "fused", "schedule", "loops", "llvm", "asm", "obj", "archive", "so", "exe", "module", "ptx"}));
  command->add_flag("--map-tensors", flags->shared.mapTensors,
                    "maps large tensors in files beside an ONNX model instead of reading them: less memory, but who "
                    "makes such a file shorter meanwhile ends the command");
  command->add_flag("--sha256", flags->digests,
                    "print the SHA-256 of the file; a .smod also states that of each section (see inspect --sha256)");
  command->add_option("--dump-ir", flags->dumpFolder, "folder to write the text of every phase to");
  command->add_flag("--remarks", flags->remarks,
                    "print which kernels have plain loops and why each emitter declined, and which loops on a GPU the "
                    "host takes part in");
  command
      ->add_flag(
          "--tune{60}", flags->tune, // a string: numeric flags are counts
          "=SECONDS: measure other schedules of the kernels on this machine, and on its GPU where --target names "
          "one, at most so long (default 60), and write what is better to --schedules")
      ->check(CLI::Range(0.01, 1e6));
  command->add_option("--schedules", flags->schedules, "file of schedules for kernels, as --tune writes it");
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = compile(*flags); });
}
