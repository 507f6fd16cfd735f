// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter convert: a graph from one file format to another, as it is, without any pass.

#include "compiler/onnx/Export.h"
#include "tools/sinter/Dot.h"
#include "tools/sinter/Model.h"
#include <filesystem>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

namespace {
struct ConvertFlags {
  SharedOptions shared;
  std::string input, output;
  bool locations = false, force = false;
};
} // namespace

static Exit convert(const ConvertFlags &flags) {
  std::string suffix = flags.output == "-" ? ".mlir" : fs::path(flags.output).extension().string();
  if (suffix != ".sinter" && suffix != ".mlir" && suffix != ".dot" && suffix != ".onnx")
    throw Stop(Exit::Usage,
               "the suffix of " + flags.output + " names no format of graphs; use .sinter, .onnx, .mlir or .dot");
  if (flags.locations && suffix != ".mlir")
    throw Stop(Exit::Usage, "--locations has no effect on " + suffix + " files, only on .mlir");
  if (flags.output != "-")
    requireWritable(flags.output, {flags.input},
                    suffix == ".sinter" ? Kind::Graph
                    : suffix == ".onnx" ? Kind::Onnx
                                        : Kind::Text,
                    flags.force);
  Model model(flags.input, flags.shared, {}, /*keepsCalls=*/true);
  if (!model.graph())
    throw Stop(Exit::Usage, flags.input + ": is compiled already; convert requires a graph (.onnx, .sinter or .mlir)");
  if (suffix == ".onnx") {
    Diagnostics diagnostics(*model.context());
    std::vector<std::string> unsupported;
    if (succeeded(onnx::exportOnnx(model.graph(), flags.output, unsupported)))
      return Exit::Success;
    if (unsupported.empty())
      throw Stop(Exit::Failure, diagnostics.errors());
    std::string lines = flags.input + ": cannot be said in ONNX:";
    for (const std::string &line : unsupported)
      lines += "\n  " + line;
    throw Stop(Exit::Unsupported, lines);
  }
  if (suffix == ".dot") {
    writeText(printDot(model.graph()), flags.output);
    return Exit::Success;
  }
  OpPrintingFlags printing;
  if (flags.locations)
    printing.enableDebugInfo(true, false);
  writeGraphTo(model.graph(), flags.output, printing);
  return Exit::Success;
}

void sinter::tool::addConvert(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App *command = program.add_subcommand("convert", "write a graph in another file format");
  command->add_option("input", flags->input, "graph (.onnx, .sinter or .mlir)")->required();
  command
      ->add_option(
          "output", flags->output,
          "file to write; its suffix chooses the format: .sinter, .onnx, .mlir or .dot; - is text on standard output")
      ->required();
  flags->shared.addShapesTo(*command);
  command->add_flag("--locations", flags->locations, "print where each op comes from (.mlir)");
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = convert(*flags); });
}
