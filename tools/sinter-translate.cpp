// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between files and MLIR text: `sinter-translate --onnx-to-mlir model.onnx`.

#include "compiler/Register.h"
#include "compiler/onnx/Import.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;

static cl::OptionCategory category("sinter-translate options");
static cl::opt<bool> onnxToMlir("onnx-to-mlir", cl::desc("import an ONNX model"), cl::cat(category));
static cl::opt<std::string> inputPath(cl::Positional, cl::desc("<input file>"), cl::Required, cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("output file"), cl::init("-"), cl::cat(category));
static cl::list<std::string> shapes("shape", cl::desc("dims of an input: name=1x3x224x224, ? keeps one open"),
                                    cl::cat(category));
static cl::opt<bool> locations("locations", cl::desc("print locations"), cl::cat(category));

/// `name=1x?x3`, split at the last `=`.
static bool parseShape(StringRef text, sinter::onnx::OnnxImportOptions &options) {
  auto [name, dims] = text.rsplit('=');
  if (name.empty() || !text.contains('='))
    return false;
  SmallVector<int64_t> sizes;
  SmallVector<StringRef> parts;
  if (!dims.empty())
    dims.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size = -1;
    if (part != "?" && (part.getAsInteger(10, size) || size < 0))
      return false;
    sizes.push_back(size);
  }
  options.shapes[name] = sizes;
  return true;
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "sinter-translate: between files and MLIR text\n");
  if (!onnxToMlir) {
    errs() << "sinter-translate: requires --onnx-to-mlir\n";
    return 2;
  }
  mlir::DialectRegistry registry;
  sinter::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    errs() << "error: " << diagnostic << "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      errs() << "note: " << note << "\n";
    return success();
  });

  sinter::onnx::OnnxImportReport report;
  sinter::onnx::OnnxImportOptions options;
  options.report = &report;
  for (const std::string &shape : shapes) {
    if (!parseShape(shape, options)) {
      errs() << "error: --shape requires name=1x3x224x224, found '" << shape << "'\n";
      return 2;
    }
  }
  auto module = sinter::onnx::importOnnx(&context, inputPath, options);
  if (failed(module))
    return report.unsupported.empty() ? 1 : 3;

  std::error_code problem;
  ToolOutputFile output(outputPath, problem, sys::fs::OF_Text);
  if (problem) {
    errs() << "error: " << outputPath << ": " << problem.message() << "\n";
    return 1;
  }
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(true, /*prettyForm=*/true);
  (*module)->print(output.os(), flags);
  output.os() << "\n";
  output.keep();
  return 0;
}
