// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds what a rod's sections conduct by gradient descent with momentum; the solver and its gradient were compiled
// ahead of time by heat_rod.cpp.
//
//   cc heat_rod_main.c rod.o fit.o libsinter_rt.a -lm -lpthread -ldl

#include "fit.h"
#include "rod.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECTIONS = 4, CELLS = 63 };
static double measured[CELLS];
static fit *fitting;

static double misfit(const double *conductivity, double *gradient) {
  double value;
  if (fit_run(fitting, conductivity, measured, &value, gradient))
    exit(puts(fit_error()));
  return value;
}

int main(void) {
  const double truth[SECTIONS] = {1, 2, 0.5, 1.5};
  double guess[SECTIONS] = {1, 1, 1, 1}, gradient[SECTIONS], unused[SECTIONS], largest = 0;
  rod *rods = rod_init(1);
  fitting = fit_init(1);
  if (!rods || !fitting || rod_run(rods, truth, measured))
    return puts("cannot run what was compiled");

  misfit(guess, gradient);
  for (int k = 0; k < SECTIONS; ++k) {
    double start = guess[k], more, less;
    guess[k] = start + 1e-5, more = misfit(guess, unused);
    guess[k] = start - 1e-5, less = misfit(guess, unused);
    guess[k] = start;
    printf("slope %d: %.7f, by differences %.7f\n", k, gradient[k], (more - less) / 2e-5);
    if (fabs(gradient[k] - (more - less) / 2e-5) > 1e-6)
      return puts("they differ");
  }
  double move[SECTIONS] = {0};
  for (int step = 0; step <= 1000; ++step) {
    double value = misfit(guess, gradient);
    if (step % 200 == 0)
      printf("step %3d: %.4f %.4f %.4f %.4f, misfit %.1e\n", step, guess[0], guess[1], guess[2], guess[3], value);
    for (int k = 0; k < SECTIONS; ++k)
      guess[k] += move[k] = 0.97 * move[k] - gradient[k];
  }
  for (int k = 0; k < SECTIONS; ++k)
    largest = fmax(largest, fabs(guess[k] - truth[k]));
  rod_free(rods);
  fit_free(fitting);
  return largest > 1e-2;
}
