// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CudaProgram.h"
#include "compiler/Compile.h"
#include "compiler/Register.h"
#include "mlir/Parser/Parser.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;

/// The library with libcuda's names, which the back end's driver opens as well.
static void *machine() {
  static void *handle = dlopen(CUDA_MACHINE, RTLD_NOW | RTLD_LOCAL);
  setenv("SINTER_CUDA_DRIVER", CUDA_MACHINE, 1);
  setenv("SINTER_PTX_REPORT", "/dev/null", 1);
  return handle;
}

static std::string newestCode;

const std::string &cuda::lastCode() { return newestCode; }

std::string cuda::report() {
  return machine() ? reinterpret_cast<const char *(*)()>(dlsym(machine(), "sinterPtxReport"))() : dlerror();
}

void cuda::failAt(const char *kind, unsigned n) {
  reinterpret_cast<void (*)(const char *, uint64_t)>(dlsym(machine(), "sinterPtxFail"))(kind, n);
}

bool cuda::compile(ModuleOp module, Compiled &compiled, std::string &error, const char *target) {
  Options options;
  options.target = target;
  CompileRequest request;
  request.keepSchedule = true;
  FailureOr<CompiledModule> result = sinter::compileGraph(module, options, request);
  if (failed(result)) {
    error = "does not compile";
    return false;
  }
  compiled.schedule = result->code.schedule;
  newestCode = compiled.code = result->code.others.front().payload;
  for (StringRef line : llvm::split(StringRef(compiled.schedule), '\n'))
    compiled.onDevice += line.contains("schedule.kernel") && line.contains("for \"cuda\"");
  compiled.onHost = static_cast<unsigned>(result->code.kernels.size());
  static int number = 0;
  compiled.path = "/tmp/sinter-cuda-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".smod";
  if (machine())
    reinterpret_cast<void (*)()>(dlsym(machine(), "sinterPtxReset"))();
  return writeModule(*result, compiled.path, OutputFormat::Module, error);
}

bool cuda::compileText(const std::string &text, Compiled &compiled, std::string &error, const char *target) {
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

sinter_module *cuda::open(const Compiled &compiled, std::string &error) {
  sinter_module *module = nullptr;
  if (sinter_module_open(compiled.path.c_str(), nullptr, &module))
    error = sinter_last_error();
  std::remove(compiled.path.c_str());
  return module;
}
