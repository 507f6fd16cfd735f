// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a module's first function, prints what its code requires: open MODULE X.npy Y.npy
#include "runtime/sinter.h"
#include <stdio.h>

int main(int argc, char **argv) {
  sinter_module *module;
  sinter_session *session;
  sinter_session_options options = {.struct_size = sizeof options, .threads = 1};
  sinter_tensor x, y;
  if (argc != 4 || sinter_module_open(argv[1], NULL, &module) || sinter_npy_read(argv[2], &x) ||
      sinter_session_create(module, 0, &options, &session) || sinter_session_set_input(session, 0, &x) ||
      sinter_session_run(session) || sinter_session_output(session, 0, &y) || sinter_npy_write(argv[3], &y)) {
    fprintf(stderr, "%s\n", sinter_last_error());
    return 1;
  }
  printf("%s\n", sinter_module_function(module, 0)->cpu_features);
  sinter_session_destroy(session);
  sinter_module_close(module);
  sinter_tensor_free(&x);
  return 0;
}
