// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "add.h"
#include <stdio.h>

int main(void) {
  float x[60], y[60], sum[60];
  for (int i = 0; i < 60; ++i) {
    x[i] = (float)i;
    y[i] = (float)(2 * i);
  }
  add *session = add_init(1);
  if (!session || add_run(session, x, y, sum) != 0) {
    fprintf(stderr, "%s\n", add_error());
    return 1;
  }
  add_free(session);
  printf("%g %g %g ... %g\n", sum[0], sum[1], sum[2], sum[59]);
  return 0;
}
