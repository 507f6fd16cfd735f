// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sinter/sinter.h>
#include <stdio.h>

int main(int argc, char **argv) {
  sinter_module *module;
  if (argc != 2 || sinter_module_open(argv[1], NULL, &module))
    return puts(sinter_last_error());
  printf("module with %d function\n", sinter_module_num_functions(module));
  sinter_module_close(module);
  return 0;
}
