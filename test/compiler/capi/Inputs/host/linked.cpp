// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "square.h"

// Of the other LLVM.
extern "C" {
void *LLVMContextCreate();
void *LLVMModuleCreateWithNameInContext(const char *, void *);
char *LLVMPrintModuleToString(void *);
void LLVMContextDispose(void *);
void LLVMDisposeModule(void *);
}

int main() {
  void *context = LLVMContextCreate();
  void *module = LLVMModuleCreateWithNameInContext("other", context);
#define LINKED(name) &name,
  float nine = square({FUNCTIONS(LINKED)});
  bool other = LLVMPrintModuleToString(module)[0] == ';';
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  printf("linked %g %d\n", double(nine), other);
}
