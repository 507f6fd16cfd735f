// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CudaProgram.h"
#include "ir/CountedLoops.h"
#include "ir/Ops.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>

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

uint64_t cuda::count(const char *what) {
  return machine() ? reinterpret_cast<uint64_t (*)(const char *)>(dlsym(machine(), "sinterPtxCount"))(what) : 0;
}

void cuda::failAt(const char *kind, unsigned n) {
  reinterpret_cast<void (*)(const char *, uint64_t)>(dlsym(machine(), "sinterPtxFail"))(kind, n);
}

static void defer(int defers) { reinterpret_cast<void (*)(int)>(dlsym(machine(), "sinterPtxDefer"))(defers); }
cuda::DeferredLoops::DeferredLoops() { defer(1); }
cuda::DeferredLoops::~DeferredLoops() { defer(0); }

static std::function<void(std::string &)> edit;
void cuda::editCode(std::function<void(std::string &)> with) { edit = std::move(with); }

sinter_status_code cuda::runCancelled(sinter_session *session, unsigned looks,
                                      const std::function<sinter_status_code()> &run) {
  DeferredLoops deferred;
  std::atomic<bool> isDone = false;
  std::thread canceller([&] {
    while (count("not ready") < looks && !isDone)
      std::this_thread::yield();
    while (!isDone) // before the run begins it has no effect
      sinter_session_cancel(session);
  });
  sinter_status_code status = run();
  isDone = true;
  canceller.join();
  return status;
}

static std::string loopsAre = "best";
cuda::OneKernel::OneKernel(const char *how) { loopsAre = how; }
cuda::OneKernel::~OneKernel() { loopsAre = "best"; }

bool cuda::compile(ModuleOp module, Compiled &compiled, std::string &error, const char *target) {
  auto change = [](std::string &code) {
    if (edit)
      edit(code);
  };
  if (loopsAre != "best")
    module.walk([](WhileOp loop) { loop->setAttr(kOneKernel, BoolAttr::get(loop.getContext(), loopsAre == "one")); });
  if (!test::compileFor("cuda", target, module, compiled, error, change))
    return false;
  newestCode = compiled.code;
  if (machine())
    reinterpret_cast<void (*)()>(dlsym(machine(), "sinterPtxReset"))();
  return true;
}

bool cuda::compileText(const std::string &text, Compiled &compiled, std::string &error, const char *target) {
  return test::withParsed(text, error, [&](ModuleOp module) { return compile(module, compiled, error, target); });
}

std::string cuda::compiledCode(const std::string &text, const char *target) {
  Compiled compiled;
  std::string error;
  EXPECT_TRUE(compileText(text, compiled, error, target)) << error << text;
  std::remove(compiled.path.c_str());
  return compiled.code;
}

std::string cuda::tensorText(ArrayRef<int64_t> sizes, const std::string &type, bool isKnown) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += (isKnown && size >= 0 ? std::to_string(size) : "?") + "x";
  return text + type + ">";
}

std::string cuda::filled(std::string text, const std::string &key, const std::string &value) {
  for (size_t at; (at = text.find(key)) != std::string::npos;)
    text.replace(at, key.size(), value);
  return text;
}

sinter_module *cuda::open(const Compiled &compiled, std::string &error) { return test::open(compiled, error); }
