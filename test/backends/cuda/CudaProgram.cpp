// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CudaProgram.h"
#include "backends/cpu/CodeModule.h"
#include "backends/cpu/FunctionTable.h"
#include "backends/cuda/CudaBackend.h"
#include "compiler/Link.h"
#include "compiler/Pipeline.h"
#include "compiler/Register.h"
#include "ir/Ops.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/cuda_device.h"
#include "runtime/sinter.h"
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace mlir;
using namespace sinter;

//===- The device of the program that was compiled last ---------------------------------------===//

static const sinter_device *current = nullptr;

namespace {
int32_t begin(const sinter_device *, sinter_context *ctx) { return current->begin(current, ctx); }
void *acquire(const sinter_device *, sinter_context *ctx, int64_t bytes) {
  return current->acquire(current, ctx, bytes);
}
void release(const sinter_device *, sinter_context *ctx, void *buffer) { current->release(current, ctx, buffer); }
void *weight(const sinter_device *, sinter_context *ctx, int64_t offset) {
  return current->weight(current, ctx, offset);
}
int32_t copy(const sinter_device *, sinter_context *ctx, void *to, const void *from, int64_t bytes, int32_t direction) {
  return current->copy(current, ctx, to, from, bytes, direction);
}
int32_t clear(const sinter_device *, sinter_context *ctx, void *to, int64_t bytes) {
  return current->clear(current, ctx, to, bytes);
}
int32_t launch(const sinter_device *, sinter_context *ctx, const char *kernel, const int64_t *words,
               const uint8_t *roles, int64_t numWords, int64_t chunks, int32_t ordered) {
  return current->launch(current, ctx, kernel, words, roles, numWords, chunks, ordered);
}
int32_t wait(const sinter_device *, sinter_context *ctx, void *buffer) { return current->wait(current, ctx, buffer); }
void end(const sinter_device *, sinter_context *ctx) { current->end(current, ctx); }
} // namespace

extern "C" {
__attribute__((visibility("default"))) extern const sinter_device sinter_device_cuda;
const sinter_device sinter_device_cuda = {
    SINTER_DEVICE_VERSION, sizeof(sinter_device), begin, acquire, release, weight, copy, clear, launch, wait, end};
}

static void *machine() {
  static void *handle = dlopen(CUDA_MACHINE, RTLD_NOW | RTLD_LOCAL);
  return handle;
}

static std::string newestCode;

const std::string &cuda::lastCode() { return newestCode; }

std::string cuda::report() { return reinterpret_cast<const char *(*)()>(dlsym(machine(), "sinterPtxReport"))(); }

void cuda::failAt(const char *kind, unsigned n) {
  reinterpret_cast<void (*)(const char *, uint64_t)>(dlsym(machine(), "sinterPtxFail"))(kind, n);
}

static bool loadDevice(const std::string &code, const std::string &weights, std::string &error) {
  setenv("SINTER_PTX_REPORT", "/dev/null", 1);
  srtCudaClose(current);
  current = nullptr;
  if (!machine()) {
    error = dlerror();
    return false;
  }
  reinterpret_cast<void (*)()>(dlsym(machine(), "sinterPtxReset"))();
  CudaOptions options = {CUDA_MACHINE, 0};
  if (srtCudaOpen(code.data(), code.size(), weights.data(), static_cast<int64_t>(weights.size()), &options, &current)) {
    error = sinter_last_error();
    return false;
  }
  return true;
}

//===- Compilation ----------------------------------------------------------------------------===//

bool cuda::compile(ModuleOp fused, Compiled &compiled, std::string &error) {
  CudaBackend backend;
  cpu::Target target = cpu::Target::host();
  cpu::CodeOptions options;
  options.target = target;
  options.prefix = "cuda_test";
  options.keepSchedule = true;
  options.devices = {&backend};
  FailureOr<schedule::CodeModule> code = cpu::compileCode(fused, options);
  if (failed(code)) {
    error = "does not compile";
    return false;
  }
  compiled.schedule = code->schedule;
  newestCode = compiled.code = code->others.front().payload;
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
    table.weights = "cuda_test_weights";
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
  compiled.path = "/tmp/sinter-cuda-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".so";
  if (std::system(("cc -shared -o " + compiled.path + files + " -lm").c_str()) != 0) {
    error = "does not link";
    return false;
  }
  return loadDevice(compiled.code, std::string(code->weights.data(), code->weights.size()), error);
}

bool cuda::compileGraph(const std::string &text, Compiled &compiled, std::string &error) {
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
  if (failed(pipeline.run(*module))) {
    error = "does not pass the pipeline";
    return false;
  }
  return compile(*module, compiled, error);
}
