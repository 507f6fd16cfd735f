// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "square.h"
#include <dlfcn.h>
#include <string.h>

static void *open(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); // the worst case: each sees the other's symbols
  if (!library)
    puts(dlerror());
  return library;
}

int main(int argc, char **argv) {
  bool otherFirst = argc > 1 && strcmp(argv[1], "first") == 0;
  void *other = otherFirst ? open(OTHER_LLVM) : nullptr;
  void *sinter = open(SINTER);
  other = other ? other : open(OTHER_LLVM);
  Sinter s;
#define FIND(name) s.name = reinterpret_cast<decltype(s.name)>(dlsym(sinter, #name));
  FUNCTIONS(FIND)
  auto createContext = reinterpret_cast<void *(*)()>(dlsym(other, "LLVMContextCreate"));
  auto createModule =
      reinterpret_cast<void *(*)(const char *, void *)>(dlsym(other, "LLVMModuleCreateWithNameInContext"));
  auto print = reinterpret_cast<char *(*)(void *)>(dlsym(other, "LLVMPrintModuleToString"));
  void *module = createModule("other", createContext());
  float nine = square(s);
  printf("loaded %g %d\n", double(nine), print(module)[0] == ';');
}
