// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "drop.h"
#include <stdio.h>

static float first(int64_t seed) {
  static float x[32 * 8];
  for (int i = 0; i < 32 * 8; ++i)
    x[i] = (float)(i % 7 + 1);
  drop *self = drop_init(1);
  float loss = 0;
  if (!self || (seed && drop_seed(self, seed)) || drop_step(self, x, &loss))
    printf("%s\n", drop_error());
  drop_free(self);
  return loss;
}

int main(void) {
  int right = first(0) == first(7) && first(1) == first(1) && first(1) != first(7) && first(1) != first(INT64_C(1) << 40);
  puts(right ? "seeds tell draws apart" : "draws are wrong");
  return !right;
}
