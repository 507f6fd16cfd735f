// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_MODULE_H
#define SINTER_RUNTIME_MODULE_H

#include "code.h"
#include "devices.h"
#include "sinter.h"
#include <stdatomic.h>

struct Smod;

struct sinter_module {
  _Atomic int32_t holds; // the caller's and one a session
  int32_t numFunctions;
  const sinter_function **functions; // the variants that run here, owned
  void *library;                     // from dlopen
  Code code;                         // of a .smod
  struct Smod *container;            // holds the weights; null without a .smod
  Devices devices;                   // which run parts of the code
};

void srtModuleHold(sinter_module *module);

/// The weights of `function`: linked into its object, or the module's section; null without any.
const void *srtModuleWeights(const sinter_module *module, const sinter_function *function);

#endif
