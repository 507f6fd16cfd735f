// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_MODULE_H
#define SINTER_RUNTIME_MODULE_H

#include "sinter.h"
#include <stdatomic.h>

struct Smod;

struct sinter_module {
  _Atomic int32_t holds; // the caller's and one a session
  int32_t numFunctions;
  const sinter_function *const *functions;
  const sinter_function *single[2]; // the table of sinter_module_open_function
  void *library;                    // from dlopen
  int codeFile;                     // the memfd behind `library`, or -1
  struct Smod *container;           // maps the weights; null without a .smod
};

void srtModuleHold(sinter_module *module);

/// The weights of `function`: linked into its object, or the module's section; null without any.
const void *srtModuleWeights(const sinter_module *module, const sinter_function *function);

#endif
