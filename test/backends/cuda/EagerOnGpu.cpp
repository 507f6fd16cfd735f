// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For LD_PRELOAD: what a test program computes at once, it computes on a GPU; at its end a line says how often.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sinter/sinter.hpp>

static uint64_t countOf(void *machine, const char *what) {
  auto *count = reinterpret_cast<uint64_t (*)(const char *)>(dlsym(machine, "sinterPtxCount"));
  return count ? count(what) : 0;
}

static void tell() {
  void *machine = dlopen(std::getenv("SINTER_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  if (machine)
    std::printf("%llu calls on the GPU\n",
                static_cast<unsigned long long>(countOf(machine, "launch") + countOf(machine, "graph")));
}

__attribute__((constructor)) static void begin() {
  (void)sinter::set_default_device("cuda:0");
  std::atexit(tell);
}
