// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opens a module or library with one f32 input of four elements, runs it, and prints its last output.
#include "runtime/sinter.h"
#include <stdio.h>

int main(int count, char **words) {
  sinter_module *module;
  sinter_session *session;
  float w[4] = {0.3f, 0.7f, 1.0f, 1.4f};
  sinter_tensor input = {.data = w, .dtype = SINTER_F32, .rank = 1, .dims = {4}}, output;
  if (count != 2 || sinter_module_open(words[1], NULL, &module) || sinter_session_create(module, 0, NULL, &session) ||
      sinter_session_set_input(session, 0, &input) || sinter_session_run(session) ||
      sinter_session_output(session, sinter_module_function(module, 0)->num_outputs - 1, &output)) {
    fprintf(stderr, "%s\n", sinter_last_error());
    return 1;
  }
  for (int i = 0; i < output.dims[0]; ++i)
    printf("%.9g\n", ((const float *)output.data)[i]);
  sinter_session_destroy(session);
  sinter_module_close(module);
  return 0;
}
