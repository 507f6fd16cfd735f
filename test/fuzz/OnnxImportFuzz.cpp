// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ONNX model on its way into the dialect: either a module that verifies, or a message.

#include "LinkedFile.h"
#include "MutateOnnx.h"
#include "compiler/onnx/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

using namespace sinter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (!context || ++uses % 2000 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  onnx::OnnxImportReport report;
  onnx::OnnxImportOptions options;
  options.report = &report;
  options.forInference = size % 2 == 0;
  options.checkPositions = size % 3 == 0;
  if (size % 5 == 0)
    options.isState = [](const onnx::OnnxInitializer &tensor) { return !tensor.isSetting; };
  int errors = 0;
  mlir::ScopedDiagnosticHandler collect(context.get(), [&](mlir::Diagnostic &) {
    ++errors;
    return mlir::success();
  });
  auto module = onnx::importOnnx(context.get(), fuzz::linkedFile(data, size, ".onnx"), options);
  if (failed(module) ? errors == 0 : failed(mlir::verify(**module)))
    abort();
  return 0;
}
