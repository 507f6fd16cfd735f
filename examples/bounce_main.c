// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the speed with which a ball must be thrown to come to a place by way of the floor and a wall; the flight and
// its gradient were compiled ahead of time by bounce.cpp.
//
//   cc bounce_main.c throwing.o libsinter_rt.a -lm -lpthread -ldl

#include "throwing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static throwing *flight;
static double place[2];

static double miss(const double *speed, double *gradient) {
  const double target[] = {1, 0.5};
  double value;
  if (throwing_run(flight, speed, target, &value, place, gradient))
    exit(puts(throwing_error()));
  return value;
}

int main(void) {
  double speed[] = {2.5, 3}, gradient[2], unused[2];
  flight = throwing_init(1);
  if (!flight)
    return puts("cannot run what was compiled");
  miss(speed, gradient);
  for (int k = 0; k < 2; ++k) {
    double more[] = {speed[0], speed[1]}, less[] = {speed[0], speed[1]};
    more[k] += 1e-6, less[k] -= 1e-6;
    double difference = (miss(more, unused) - miss(less, unused)) / 2e-6;
    printf("slope %d: %.6f, by differences %.6f\n", k, gradient[k], difference);
    if (fabs(gradient[k] - difference) > 1e-5)
      return puts("they differ");
  }
  double value = 0, move[2] = {0};
  for (int step = 0; step <= 300; ++step) {
    value = miss(speed, gradient);
    if (step % 50 == 0)
      printf("step %3d: thrown with (%.4f, %.4f) m/s it comes to (%.4f, %.4f), square of the miss %.1e\n", step,
             speed[0], speed[1], place[0], place[1], value);
    for (int k = 0; k < 2; ++k)
      speed[k] += move[k] = 0.9 * move[k] - 0.03 * gradient[k];
  }
  throwing_free(flight);
  return value > 1e-8;
}
