// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the plain functions of a library with code for several targets: y of x = 0 is tanh(b).
#include "m.h"
#include <stdio.h>

int main(void) {
  static float x[64], y[96];
  m *session = m_init(1);
  if (!session || m_run(session, 1, x, y) != 0) {
    fprintf(stderr, "%s\n", m_error());
    return 1;
  }
  m_free(session);
  printf("%s\n", y[0] != 0 && y[0] > -1 && y[0] < 1 ? "runs" : "does not run");
  return 0;
}
