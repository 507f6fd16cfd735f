// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits an orbit to observations by gradient descent; the misfit and its gradient were compiled ahead of time by
// kepler.cpp.
//
//   cc kepler_main.c orbit.o fit.o libsinter_rt.a -lm -lpthread -ldl

#include "fit.h"
#include "orbit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { OBSERVATIONS = 24 };
static double anomalies[OBSERVATIONS], observed[2][OBSERVATIONS];
static fit *fitting;

static double misfit(const double *orbit, double *gradient) {
  double value;
  if (fit_run(fitting, orbit, anomalies, observed[0], &value, gradient))
    exit(puts(fit_error()));
  return value;
}

int main(void) {
  const double truth[] = {0.6, 0.8, 1.2};
  double guess[] = {0.2, 0.3, 1}, gradient[3], unused[3], largest = 0;
  orbit *orbits = orbit_init(1);
  fitting = fit_init(1);
  for (int k = 0; k < OBSERVATIONS; ++k)
    anomalies[k] = 6.283185307179586 * k / OBSERVATIONS;
  if (!orbits || !fitting || orbit_run(orbits, truth, anomalies, observed[0]))
    return puts("cannot run what was compiled");

  misfit(guess, gradient);
  for (int k = 0; k < 3; ++k) {
    double start = guess[k], more, less;
    guess[k] = start + 1e-5, more = misfit(guess, unused);
    guess[k] = start - 1e-5, less = misfit(guess, unused);
    guess[k] = start;
    printf("slope %d: %.7f, by differences %.7f\n", k, gradient[k], (more - less) / 2e-5);
    if (fabs(gradient[k] - (more - less) / 2e-5) > 1e-6)
      return puts("they differ");
  }
  for (int step = 0; step <= 400; ++step) {
    double value = misfit(guess, gradient);
    if (step % 100 == 0)
      printf("step %3d: eccentricity %.6f, angle %.6f, size %.6f, misfit %.1e\n", step, guess[0], guess[1], guess[2],
             value);
    for (int k = 0; k < 3; ++k)
      guess[k] -= 0.3 * gradient[k];
  }
  for (int k = 0; k < 3; ++k)
    largest = fmax(largest, fabs(guess[k] - truth[k]));
  orbit_free(orbits);
  fit_free(fitting);
  return largest > 1e-4;
}
