// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TinyProgram.h"
#include "TinyDevice.h"

using namespace mlir;
using namespace sinter;

bool tiny::compile(ModuleOp module, Compiled &compiled, std::string &error, const char *target) {
  return test::compileFor("tiny", target, module, compiled, error);
}

bool tiny::compileText(const std::string &text, Compiled &compiled, std::string &error, const char *target) {
  return test::withParsed(text, error, [&](ModuleOp module) { return compile(module, compiled, error, target); });
}

sinter_module *tiny::open(const Compiled &compiled, std::string &error) {
  registerDriver();
  return test::open(compiled, error);
}
