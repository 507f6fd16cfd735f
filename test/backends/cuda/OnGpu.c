// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library for LD_PRELOAD, with which a test program that knows of no GPU compiles all its graphs for the CPU and one:
// it stands in front of sinter_graph_compile and sinter_graph_compile_file. At the end it says how many graphs that
// were, and what the PTX machine (test/cuda) has told, which makes the program fail.

#define _GNU_SOURCE
#include "runtime/sinter.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int graphs;

typedef sinter_status_code Compile(sinter_graph *, const sinter_compile_options *, sinter_module **);
typedef sinter_status_code CompileFile(sinter_graph *, const char *, const sinter_compile_options *);

static sinter_compile_options forGpu(const sinter_compile_options *given) {
  sinter_compile_options options = {0};
  if (given)
    memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
  options.struct_size = sizeof options;
  if (!options.target || !*options.target) {
    options.target = "cpu+cuda";
    atomic_fetch_add(&graphs, 1);
  }
  return options;
}

sinter_status_code sinter_graph_compile(sinter_graph *graph, const sinter_compile_options *given,
                                        sinter_module **module) {
  sinter_compile_options options = forGpu(given);
  return ((Compile *)dlsym(RTLD_NEXT, "sinter_graph_compile"))(graph, &options, module);
}

sinter_status_code sinter_graph_compile_file(sinter_graph *graph, const char *path,
                                             const sinter_compile_options *given) {
  sinter_compile_options options = forGpu(given);
  return ((CompileFile *)dlsym(RTLD_NEXT, "sinter_graph_compile_file"))(graph, path, &options);
}

__attribute__((destructor)) static void tell(void) {
  const char *driver = getenv("SINTER_CUDA_DRIVER");
  void *machine = driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : NULL;
  const char *(*report)(void) = machine ? (const char *(*)(void))dlsym(machine, "sinterPtxReport") : NULL;
  if (!atomic_load(&graphs)) // of a shell or a child that compiled nothing
    return;
  printf("%d graphs for the GPU\n%s", atomic_load(&graphs), report ? report() : "");
  fflush(stdout);
  if (report && *report())
    _exit(1);
}
