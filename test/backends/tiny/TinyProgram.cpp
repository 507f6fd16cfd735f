// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TinyProgram.h"
#include "TinyDevice.h"
#include "compiler/Compile.h"
#include "compiler/Register.h"
#include "mlir/Parser/Parser.h"
#include <cstdio>
#include <unistd.h>

using namespace mlir;
using namespace sinter;

bool tiny::compile(ModuleOp module, Compiled &compiled, std::string &error, const char *target) {
  Options options;
  options.target = target;
  CompileRequest request;
  request.keepSchedule = true;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
  FailureOr<CompiledModule> result = compileGraph(module, options, request);
  if (failed(result))
    return false;
  compiled.schedule = result->code.schedule;
  for (StringRef line : llvm::split(StringRef(compiled.schedule), '\n'))
    compiled.onDevice += line.contains("schedule.kernel") && line.contains("for \"tiny\"");
  compiled.onHost = result->code.kernels.size();
  static int number = 0;
  compiled.path = "/tmp/sinter-tiny-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".smod";
  return writeModule(*result, compiled.path, OutputFormat::Module, error);
}

bool tiny::compileText(const std::string &text, Compiled &compiled, std::string &error, const char *target) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (module)
    return compile(*module, compiled, error, target);
  error = "does not parse";
  return false;
}

sinter_module *tiny::open(const Compiled &compiled, std::string &error) {
  registerDriver();
  sinter_module *module = nullptr;
  if (sinter_module_open(compiled.path.c_str(), nullptr, &module))
    error = sinter_last_error();
  std::remove(compiled.path.c_str());
  return module;
}
