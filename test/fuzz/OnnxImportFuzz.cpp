// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ONNX model on its way into the dialect: either a module that verifies, or a message.

#include "KeptContext.h"
#include "LinkedFile.h"
#include "MutateOnnx.h"
#include "compiler/onnx/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace sinter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::KeptContext kept(fuzz::bareContext);
  mlir::MLIRContext &context = kept.next();
  onnx::OnnxImportReport report;
  onnx::OnnxImportOptions options;
  options.report = &report;
  options.forInference = size % 2 == 0;
  options.checkPositions = size % 3 == 0;
  if (size % 5 == 0)
    options.isState = [](const onnx::OnnxInitializer &tensor) { return !tensor.isSetting; };
  int errors = 0;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &) {
    ++errors;
    return mlir::success();
  });
  auto module = onnx::importOnnx(&context, fuzz::linkedFile(data, size, ".onnx"), options);
  if (failed(module) ? errors == 0 : failed(mlir::verify(**module)))
    abort();
  return 0;
}
