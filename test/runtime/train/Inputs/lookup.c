/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * lookup STEP FIELDS FOLDER|-: trains as these fields of JSON say; with a folder, input `ids` are rows of the table of 500 rows in
 * it, which is made where it is not there, and of which the step holds some. Prints the loss of each step. */
#include <sinter/train/train.h>
#include <stdio.h>
#include <string.h>

static int fail(void) { return printf("%s\n", sinter_last_error()), 1; }

static void show(void *user, int64_t step, double loss) {
  (void)user;
  printf("%d %a\n", (int)step, loss);
}

int main(int argc, char **argv) {
  sinter_module *module;
  sinter_trainer *trainer;
  sinter_rows *table = NULL;
  char json[1000];
  if (argc < 4)
    return 2;
  snprintf(json, sizeof json,
           "{\"data\": {\"ids\": \"@ids.npy\", \"target\": \"@y.npy\"}, \"shuffle\": 3, \"validation_share\": 0.2, "
           "\"metrics\": [\"mae\"], \"threads\": 1, %s}",
           argv[2]);
  if (sinter_module_open(argv[1], NULL, &module) || sinter_trainer_create(module, json, &trainer) ||
      sinter_trainer_on_step(trainer, show, NULL))
    return fail();
  if (strcmp(argv[3], "-") != 0) {
    sinter_row_field fields[] = {{"table", 4, NULL, 0}, {"optimizer.sum.table", 4, NULL, 0}};
    if (sinter_rows_open(argv[3], 1, &table) && sinter_rows_create(argv[3], fields, 2, 500, 1, 0, &table))
      return fail();
    sinter_tensor held;
    if (sinter_session_state_get(sinter_trainer_session(trainer), "table", &held) ||
        sinter_rows_attach(table, sinter_trainer_session(trainer), held.dims[0], 2) ||
        sinter_trainer_look_up(trainer, "ids", table))
      return fail();
    if (!sinter_trainer_look_up(trainer, "target", table) || !sinter_trainer_look_up(trainer, NULL, table))
      return printf("a wrong input was taken\n"), 1;
  }
  sinter_trainer_outcome outcome = {.struct_size = sizeof outcome};
  if (sinter_trainer_run(trainer, &outcome))
    return fail();
  printf("mae %a\n", outcome.metric);
  if (table) {
    sinter_rows_statistics s = {.struct_size = sizeof s};
    if (sinter_rows_get_statistics(table, &s))
      return fail();
    fprintf(stderr, "read ahead %s\n", s.prefetched > 0 ? "some" : "none");
  }
  sinter_trainer_destroy(trainer);
  sinter_rows_close(table);
  sinter_module_close(module);
  return 0;
}
