// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits a pendulum to angles by gradient descent; the misfit and its gradient were compiled ahead of time by
// fit_ode.cpp.
//
//   cc fit_ode_main.c swing.o fit.o libsinter_rt.a -lm -lpthread -ldl

#include "fit.h"
#include "swing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 30 };
static double times[TIMES], measured[TIMES];
static fit *fitting;

static double misfit(const double *pendulum, double *gradient) {
  double value;
  if (fit_run(fitting, pendulum, times, measured, &value, gradient))
    exit(puts(fit_error()));
  return value;
}

int main(void) {
  const double truth[] = {1.3, 0.2};
  double guess[] = {1, 0}, gradient[2], unused[2];
  swing *swinging = swing_init(1);
  fitting = fit_init(1);
  for (int k = 0; k < TIMES; ++k)
    times[k] = 0.1 * (k + 1);
  if (!swinging || !fitting || swing_run(swinging, truth, times, measured))
    return puts("cannot run what was compiled");

  misfit(guess, gradient);
  for (int k = 0; k < 2; ++k) {
    double more[] = {guess[0], guess[1]}, less[] = {guess[0], guess[1]};
    more[k] += 1e-5, less[k] -= 1e-5;
    double difference = (misfit(more, unused) - misfit(less, unused)) / 2e-5;
    printf("slope %d: %.7f, by differences %.7f\n", k, gradient[k], difference);
    if (fabs(gradient[k] - difference) > 1e-5)
      return puts("they differ");
  }
  for (int step = 0; step <= 300; ++step) {
    double value = misfit(guess, gradient);
    if (step % 50 == 0)
      printf("step %3d: length %.6f m, friction %.6f /s, misfit %.1e\n", step, guess[0], guess[1], value);
    for (int k = 0; k < 2; ++k)
      guess[k] -= 0.15 * gradient[k];
  }
  swing_free(swinging);
  fit_free(fitting);
  return fabs(guess[0] - truth[0]) > 1e-4 || fabs(guess[1] - truth[1]) > 1e-4;
}
