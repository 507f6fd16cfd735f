// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TinyProgram.h"
#include "TinyBackend.h"
#include "TinyDevice.h"
#include "backends/cpu/CodeModule.h"
#include "backends/cpu/FunctionTable.h"
#include "compiler/Link.h"
#include "compiler/Module.h"
#include "compiler/Pipeline.h"
#include "compiler/Register.h"
#include "ir/Ops.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace sinter;

static FailureOr<schedule::CodeModule> compileCode(ModuleOp fused, const cpu::Target &target,
                                                   tiny::TinyBackend &backend, std::string &error) {
  cpu::CodeOptions options;
  options.target = target;
  options.prefix = "tiny_test";
  options.keepSchedule = true;
  options.devices = {&backend};
  FailureOr<schedule::CodeModule> code = cpu::compileCode(fused, options);
  if (failed(code))
    error = "does not compile";
  return code;
}

bool tiny::compile(ModuleOp fused, Compiled &compiled, std::string &error) {
  TinyBackend backend;
  cpu::Target target = cpu::Target::host();
  FailureOr<schedule::CodeModule> code = ::compileCode(fused, target, backend, error);
  if (failed(code))
    return false;
  compiled.schedule = code->schedule;
  compiled.onDevice = backend.numKernels();
  compiled.onHost = code->kernels.size();

  TemporaryFolder folder;
  std::string files;
  auto add = [&](const std::string &object) {
    std::string path = folder.file(std::to_string(files.size()) + ".o");
    files += " " + path;
    return folder.write(path, object, error);
  };
  for (const std::string &object : code->objects)
    if (!add(object))
      return false;
  cpu::ObjectOptions objectOptions;
  objectOptions.target = &target;
  cpu::TableOptions table;
  table.weightsBytes = static_cast<int64_t>(code->weights.size());
  if (table.weightsBytes)
    table.weights = "tiny_test_weights";
  FailureOr<std::string> described = cpu::makeTableObject(code->functions, table, objectOptions, error);
  if (failed(described) || !add(*described))
    return false;
  if (table.weightsBytes) {
    std::string path = folder.file("weights.o");
    files += " " + path;
    if (!cpu::writeDataObject(path, table.weights, code->weights, target, error))
      return false;
  }
  static int number = 0;
  compiled.path = "/tmp/sinter-tiny-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".so";
  if (auto failed = runCommand("cc -shared -o " + compiled.path + files + " -lm")) {
    error = *failed;
    return false;
  }
  return loadDevice(code->others.front().payload, code->weights.data(), code->weights.size(), error);
}

/// Calls `use` with the text's module at the fused level.
static bool withFused(const std::string &text, std::string &error, llvm::function_ref<bool(ModuleOp)> use) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    error = "does not parse";
    return false;
  }
  PassManager pipeline(&context);
  buildPipeline(pipeline, Options());
  if (succeeded(pipeline.run(*module)))
    return use(*module);
  error = "does not pass the pipeline";
  return false;
}

bool tiny::compileGraph(const std::string &text, Compiled &compiled, std::string &error) {
  return withFused(text, error, [&](ModuleOp fused) { return compile(fused, compiled, error); });
}

bool tiny::writeContainer(const std::string &text, const std::string &path, std::string &error) {
  return withFused(text, error, [&](ModuleOp fused) {
    TinyBackend backend;
    CompiledModule module;
    module.target = cpu::Target::host();
    FailureOr<schedule::CodeModule> code = ::compileCode(fused, module.target, backend, error);
    if (failed(code))
      return false;
    module.code = std::move(*code);
    return writeModule(module, path, OutputFormat::Module, error);
  });
}
