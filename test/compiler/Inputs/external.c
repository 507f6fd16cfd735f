// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with the object of external.mlir and the function that it calls; or, with a module as its argument, with
// that and a function that it enters by name.

#include <math.h>
#include <sinter/sinter.h>
#include <stdio.h>
#include <string.h>
#ifndef MODULE
#include "external.h"
#endif

/// sqrt; below -1 an error of its own.
int32_t user_root(int32_t numInputs, const sinter_tensor *x, int32_t numOutputs, const sinter_tensor *y,
                  char *message) {
  if (numInputs != 1 || numOutputs != 1 || x->rank != 1 || x->dims[0] != y->dims[0] || x->dtype != SINTER_F32)
    return SINTER_INVALID_ARGUMENT;
  for (int64_t i = 0; i < x->dims[0]; ++i) {
    float value = ((const float *)x->data)[i];
    if (value < -1) {
      snprintf(message, SINTER_OP_MESSAGE_BYTES, "%g is below -1", (double)value);
      return SINTER_RUNTIME_ERROR;
    }
    ((float *)y->data)[i] = sqrtf(value);
  }
  return SINTER_OK;
}

static void writeLog(void *user, const char *text) { fprintf(user, "log: %s\n", text); }

#ifdef MODULE
int main(int argc, char **argv) {
  sinter_module *module;
  sinter_session *session;
  if (argc > 2 && sinter_op_register("user_root", user_root, NULL))
    return puts(sinter_last_error());
  if (sinter_module_open(argv[1], NULL, &module) || sinter_session_create(module, 0, NULL, &session))
    return puts(sinter_last_error());
  float data[2] = {1, 4};
  sinter_tensor x = {.data = data, .dtype = SINTER_F32, .rank = 1, .dims = {2}}, y;
  sinter_log_to(writeLog, stdout);
  if (sinter_session_set_input(session, 0, &x) || sinter_session_run(session) || sinter_session_output(session, 0, &y))
    return puts(sinter_last_error());
  printf("%g %g\n", (double)((float *)y.data)[0], (double)((float *)y.data)[1]);
  sinter_session_destroy(session);
  sinter_module_close(module);
  return 0;
}
#else
static void run(external *self, float a, float b) {
  float x[2] = {a, b}, y[2];
  if (external_main(self, 2, x, y))
    printf("error: %s\n", external_error());
  else
    printf("%g %g\n", (double)y[0], (double)y[1]);
}

int main(void) {
  external *self = external_init(1);
  sinter_log_to(writeLog, stdout);
  run(self, 1, 4);
  run(self, 9, -0.5f); // NaN
  run(self, 9, -2);
  run(self, 9, 16); // the state counts what succeeded
  external_free(self);
  return 0;
}
#endif
