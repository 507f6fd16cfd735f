// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps, looks, saves, steps again and goes back: a plain C program over a compiled object with states.

#include "counter.h"
#include <stdio.h>

#define REQUIRE(call)                                                                                                  \
  if (call)                                                                                                            \
  return puts(counter_error()), 1

static int look(counter *object, const char *when) {
  float twice[6];
  int64_t steps;
  REQUIRE(counter_infer(object, twice, &steps));
  printf("%s: step %d, first %g, last %g\n", when, (int)steps, twice[0], twice[5]);
  return 0;
}

int main(void) {
  const float x[6] = {1, 2, 3, 4, 5, 6};
  float sum;
  counter *object = counter_init(1);
  if (!object || look(object, "new"))
    return puts(counter_error()), 1;
  REQUIRE(counter_step(object, 2, x, &sum));
  printf("sum %g\n", sum);
  REQUIRE(counter_save(object, "counter.safetensors"));
  REQUIRE(counter_step(object, 1, x, &sum));
  if (look(object, "twice"))
    return 1;
  REQUIRE(counter_load(object, "counter.safetensors"));
  if (look(object, "back"))
    return 1;
  if (!counter_load(object, "nothing"))
    return 1;
  puts(counter_error());
  counter_free(object);
  return 0;
}
