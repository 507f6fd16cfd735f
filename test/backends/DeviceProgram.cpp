// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/backends/DeviceProgram.h"
#include "compiler/Compile.h"
#include "compiler/Register.h"
#include "mlir/Parser/Parser.h"
#include <cstdio>
#include <unistd.h>

using namespace mlir;
using namespace sinter;

bool test::compileFor(const std::string &backEnd, const char *target, ModuleOp module, DeviceProgram &program,
                      std::string &error, llvm::function_ref<void(std::string &)> edit) {
  Options options;
  options.target = target;
  CompileRequest request;
  request.keepSchedule = true;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) { error = diagnostic.str(); });
  FailureOr<CompiledModule> result = compileGraph(module, options, request);
  if (failed(result))
    return false;
  program.schedule = result->code.schedule;
  if (!result->code.others.empty() && edit)
    edit(result->code.others.front().payload);
  if (!result->code.others.empty())
    program.code = result->code.others.front().payload;
  for (StringRef line : llvm::split(StringRef(program.schedule), '\n'))
    program.onDevice += line.contains("schedule.kernel") && line.contains("for \"" + backEnd + "\"");
  program.onHost = result->code.kernels.size();
  static int number = 0;
  program.path = "/tmp/sinter-" + backEnd + "-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".smod";
  return writeModule(*result, program.path, OutputFormat::Module, error);
}

bool test::withParsed(const std::string &text, std::string &error, llvm::function_ref<bool(ModuleOp)> compile) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (module)
    return compile(*module);
  error = "does not parse";
  return false;
}

sinter_module *test::open(const DeviceProgram &program, std::string &error) {
  sinter_module *module = nullptr;
  if (sinter_module_open(program.path.c_str(), nullptr, &module))
    error = sinter_last_error();
  std::remove(program.path.c_str());
  return module;
}
