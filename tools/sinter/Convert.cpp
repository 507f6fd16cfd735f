// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter convert: a graph from one file format to another, as it is, without any pass.

#include "compiler/onnx/Export.h"
#include "ir/file/GraphFile.h"
#include "tools/sinter/Dot.h"
#include "tools/sinter/Model.h"
#include <filesystem>
#include <iostream>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

namespace {
struct ConvertFlags {
  SharedOptions shared;
  std::string input, output;
  bool locations = false;
};
} // namespace

static std::string printText(ModuleOp module, bool locations) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, false);
  module.print(os, flags);
  os << '\n';
  return text;
}

static Exit convert(const ConvertFlags &flags) {
  std::string suffix = flags.output == "-" ? ".mlir" : fs::path(flags.output).extension().string();
  if (suffix != ".sinter" && suffix != ".mlir" && suffix != ".dot" && suffix != ".onnx")
    throw Stop(Exit::Usage,
               "the suffix of " + flags.output + " names no format of graphs; use .sinter, .onnx, .mlir or .dot");
  if (flags.output != "-")
    requireWritable(flags.output, flags.input);
  Model model(flags.input, flags.shared, {}, /*keepsCalls=*/true);
  if (!model.graph())
    throw Stop(Exit::Usage, flags.input + ": is compiled already; convert requires a graph (.onnx, .sinter or .mlir)");
  if (suffix == ".sinter") {
    Diagnostics diagnostics(*model.context());
    if (failed(writeGraph(model.graph(), flags.output)))
      throw Stop(Exit::Failure, diagnostics.errors());
    return Exit::Success;
  }
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
  std::string text = suffix == ".dot" ? printDot(model.graph()) : printText(model.graph(), flags.locations), error;
  if (flags.output == "-")
    std::cout << text;
  else if (!writeFile(flags.output, llvm::ArrayRef<char>(text.data(), text.size()), error))
    throw Stop(Exit::Failure, error);
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
  command->callback([flags, &result] { result = convert(*flags); });
}
