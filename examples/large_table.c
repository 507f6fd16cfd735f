/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A table larger than memory, in a C program: the step is compiled for a table of few rows, and the library of data
 * brings the rows that a batch looks up into them, from a folder. The same batches through a step that is compiled for
 * the whole table have the same losses, to the bit.
 *
 *   sinter train-step few.mlir --loss mse --optimizer adagrad:lr=0.01 --sparse table -o few.smod
 *   cc -I. -c large_table.c
 *   c++ large_table.o libsinter_data.a libsinter_rt.a -lz -lpng -ljpeg -lpthread -ldl -lm -o large_table
 *   ./large_table few.smod FOLDER ROWS STEPS [THREADS [READERS [EXPONENT]]]   makes FOLDER, trains; - instead of
 * FOLDER: all rows in memory
 *
 * The step's inputs are `ids`, `splits` and `target`; its states `table` and `optimizer.sum.table`. */

#include <sinter/data/data.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec at;
  timespec_get(&at, TIME_UTC);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static int fail(void) { return fprintf(stderr, "%s\n", sinter_last_error()), 1; }

/* Ids of a batch: rank k is as frequent as k^-exponent (Zipf), exponent > 1, by inversion of the integral, and ranks
 * are spread over the table. */
static void draw(int64_t *ids, int64_t count, int64_t rows, double exponent, uint64_t *seed) {
  double all = 1 - pow((double)rows, 1 - exponent);
  for (int64_t i = 0; i < count; ++i) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    double u = (double)(*seed >> 11) * 0x1p-53;
    int64_t rank = (int64_t)pow(1 - u * all, 1 / (1 - exponent)) - 1;
    ids[i] = (rank < rows ? rank : rows - 1) * 7368787 % rows;
  }
}

static int64_t *integers(int64_t count) { return aligned_alloc(64, (size_t)(count * 8 + 63) / 64 * 64); }

int main(int argc, char **argv) {
  if (argc < 5)
    return fprintf(stderr, "usage: large_table STEP FOLDER|- ROWS STEPS [THREADS [READERS [EXPONENT]]]\n"), 1;
  double exponent = argc > 7 ? atof(argv[7]) : 1.05;
  if (!(exponent > 1))
    return fprintf(stderr, "the exponent is required to be above 1, got %s\n", argv[7]), 1;
  int64_t rows = atoll(argv[3]);
  int steps = atoi(argv[4]), inMemory = strcmp(argv[2], "-") == 0;
  sinter_module *module;
  sinter_session *session;
  sinter_session_options options = {.struct_size = sizeof options, .threads = argc > 5 ? atoi(argv[5]) : 1};
  if (sinter_module_open(argv[1], NULL, &module) || sinter_session_create(module, 0, &options, &session))
    return fail();
  const sinter_function *step = sinter_session_function(session);
  int32_t idsAt = -1, splitsAt = -1, targetAt = -1;
  for (int32_t i = 0; i < step->num_inputs; ++i) {
    idsAt = strcmp(step->inputs[i].name, "ids") == 0 ? i : idsAt;
    splitsAt = strcmp(step->inputs[i].name, "splits") == 0 ? i : splitsAt;
    targetAt = strcmp(step->inputs[i].name, "target") == 0 ? i : targetAt;
  }
  sinter_tensor table;
  if (idsAt < 0 || splitsAt < 0 || targetAt < 0 || sinter_session_state_get(session, "table", &table))
    return fail();
  int64_t count = step->inputs[idsAt].dims[0], bags = step->inputs[targetAt].dims[0], width = table.dims[1];

  sinter_rows *stored = NULL;
  sinter_row_field fields[] = {{"table", width, "f32", 0}, {"optimizer.sum.table", width, "f32", 0}};
  if (!inMemory && (sinter_rows_create(argv[2], fields, 2, rows, 1, 1, &stored) ||
                    sinter_rows_attach(stored, session, table.dims[0], argc > 6 ? atoi(argv[6]) : 4)))
    return fail();

  int64_t *ids = integers(count), *next = integers(count), *slots = integers(count), *splits = integers(bags + 1);
  float *target = aligned_alloc(64, (size_t)(bags * 4 + 63) / 64 * 64);
  for (int64_t i = 0; i <= bags; ++i)
    splits[i] = i * count / bags;
  for (int64_t i = 0; i < bags; ++i)
    target[i] = 1;
  sinter_tensor looked = {.data = inMemory ? ids : slots, .dtype = SINTER_I64, .rank = 1, .dims = {count}},
                ends = {.data = splits, .dtype = SINTER_I64, .rank = 1, .dims = {bags + 1}},
                wanted = {.data = target, .dtype = SINTER_F32, .rank = 2, .dims = {bags, 1}};
  uint64_t seed = 1;
  double total = 0;
  draw(next, count, rows, exponent, &seed);
  for (int at = 0; at < steps; ++at) {
    memcpy(ids, next, (size_t)count * sizeof *ids);
    draw(next, count, rows, exponent, &seed);
    double start = now();
    if (!inMemory && (sinter_rows_prepare(stored, ids, count, slots, 1) || sinter_rows_prefetch(stored, next, count)))
      return fail();
    sinter_tensor loss;
    if (sinter_session_set_input(session, idsAt, &looked) || sinter_session_set_input(session, splitsAt, &ends) ||
        sinter_session_set_input(session, targetAt, &wanted) || sinter_session_run(session) ||
        sinter_session_output(session, 0, &loss))
      return fail();
    total += at >= steps / 2 ? now() - start : 0; /* the cache is warm by then */
    if (at % (steps < 10 ? 1 : steps / 10) == 0 || at == steps - 1)
      printf("step %d: loss %a\n", at, (double)*(float *)loss.data);
  }
  fprintf(stderr, "%.1f ms a step\n", 1e3 * total / (steps - steps / 2));
  if (stored) {
    sinter_rows_statistics s = {.struct_size = sizeof s};
    int64_t files;
    char prefix[1000];
    if (sinter_rows_get_statistics(stored, &s))
      return fail();
    fprintf(stderr,
            "hit rate %.3f; %lld lookups, %lld distinct, %lld missed, %lld read ahead; rows read %lld, written %lld; "
            "waited %.2f s\n",
            s.hit_rate, (long long)s.lookups, (long long)s.distinct, (long long)s.missed, (long long)s.prefetched,
            (long long)s.read, (long long)s.written, s.waited_s);
    snprintf(prefix, sizeof prefix, "%s-rows", argv[2]);
    if (sinter_rows_snapshot(stored, prefix, &files))
      return fail();
    sinter_rows_close(stored);
  } else if (sinter_session_save(session, "states.safetensors")) {
    return fail();
  }
  sinter_session_destroy(session);
  sinter_module_close(module);
  free(ids), free(next), free(slots), free(splits), free(target);
  return 0;
}
