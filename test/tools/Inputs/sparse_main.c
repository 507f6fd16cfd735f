/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Trains a step of tables that move by rows: batches from a file, losses to standard output, states to a file. */

#include "step.h"

#include <stdalign.h>
#include <stdio.h>

enum { Batch = 6, Each = 4 };

int main(int argc, char **argv) {
  alignas(64) static int64_t ids[Batch * Each], first[Batch];
  alignas(64) static float y[Batch], loss;
  FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
  step *object = step_init(1);
  if (!file || !object)
    return fprintf(stderr, "%s\n", object ? "usage: sparse_main BATCHES STATES" : step_error()), 1;
  while (fread(ids, sizeof ids, 1, file) && fread(first, sizeof first, 1, file) && fread(y, sizeof y, 1, file)) {
    if (step_step(object, ids, first, y, &loss))
      return fprintf(stderr, "%s\n", step_error()), 1;
    printf("%a\n", (double)loss);
  }
  int status = step_save(object, argv[2]);
  step_free(object);
  fclose(file);
  return status;
}
