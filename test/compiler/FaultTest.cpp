// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whose fault it is that a graph cannot be compiled.

#include "compiler/Compile.h"
#include "compiler/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/sinter.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {

const char *const square = R"(
func.func public @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
})";

/// The errors of compiling `text` with `request`, none if it went well.
std::string errorsOf(const CompileRequest &request, const Options &options = {}) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { errors += diagnostic.str() + "\n"; });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(square, &context);
  EXPECT_TRUE(module) << errors;
  return module && succeeded(compileGraph(*module, options, request)) ? "" : errors;
}

TEST(Fault, AGraphThatAPassBreaksIsADefect) {
  EXPECT_EQ(errorsOf({}), "");
  CompileRequest request;
  request.onGraph = [](ModuleOp module) { // what a wrong pass would do
    module.walk([](func::ReturnOp op) { op.getOperandsMutable().clear(); });
  };
  std::string errors = errorsOf(request);
  EXPECT_NE(errors, "");
  EXPECT_EQ(faultOf(errors), CompileFault::Internal) << errors;
}

TEST(Fault, SilenceIsADefectAndWordsOfBackEndsAreNot) {
  EXPECT_EQ(faultOf(""), CompileFault::Internal);
  EXPECT_EQ(faultOf("op 'sinter.sort' of f8E4M3FN is not supported: no order"), CompileFault::Unsupported);
  EXPECT_EQ(faultOf("requires at most 8 axes (kMaxRank), got 9"), CompileFault::Unsupported);
  EXPECT_EQ(faultOf("schedule 'tile 3' does not fit the kernel"), CompileFault::Misfit);
  EXPECT_EQ(faultOf("cannot map 4096 bytes: Cannot allocate memory"), CompileFault::Memory);
}

TEST(Fault, TheStatusHasAName) {
  EXPECT_STREQ(sinter_status_name(SINTER_INTERNAL), "internal error");
  EXPECT_STREQ(sinter_status_name(SINTER_INTERNAL + 1), "unknown status");
}

} // namespace
