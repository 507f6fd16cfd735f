/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Trains any step that was compiled to net.o, as a file of JSON says: in C, over the trainer, without a compiler. An
 * interrupt ends it after the step in progress, with a checkpoint where the file names a place for one.
 *
 *   cc -I. -c train_main.c
 *   c++ train_main.o net.o libsinter_trainer.a libsinter_data.a libsinter_rt.a -lz -lpng -ljpeg -lpthread -ldl -lm
 *   ./a.out config.json                                                                                            */

#include <sinter/train/train.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

extern const sinter_function *const net_functions[]; /* of net.o */

static sinter_trainer *trainer;
static double lastLoss;

static void interrupt(int number) {
  (void)number;
  sinter_trainer_stop(trainer);
}

static void onStep(void *user, int64_t step, double loss) {
  (void)user, (void)step;
  lastLoss = loss;
}

static void onLine(void *user, const char *text, int32_t isLast) {
  int *epoch = user;
  if (isLast)
    printf("epoch %d: loss %.6a\n", ++*epoch, lastLoss);
  else
    fprintf(stderr, "%s\n", text);
}

static void onWarning(void *user, const char *text) {
  (void)user;
  fprintf(stderr, "warning: %s\n", text);
}

static char *readText(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 16);
  if (!file || !text || fread(text, 1, (1 << 16) - 1, file) == 0)
    return NULL;
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  char *config = argc == 2 ? readText(argv[1]) : NULL;
  if (!config)
    return fprintf(stderr, "usage: train_main CONFIG.json\n"), 1;
  sinter_module *module;
  sinter_trainer_outcome outcome = {.struct_size = sizeof outcome};
  int epoch = 0;
  if (sinter_module_open_functions(net_functions, NULL, &module) || sinter_trainer_create(module, config, &trainer) ||
      sinter_trainer_on_line(trainer, onLine, onWarning, &epoch) || sinter_trainer_on_step(trainer, onStep, NULL))
    return fprintf(stderr, "%s\n", sinter_last_error()), 1;
  signal(SIGINT, interrupt);
  if (sinter_trainer_run(trainer, &outcome))
    return fprintf(stderr, "%s\n", sinter_last_error()), 1;
  if (!isnan(outcome.metric))
    printf("validation: %.4f, best %.4f after step %lld\n", outcome.metric, outcome.best, (long long)outcome.best_step);
  sinter_trainer_destroy(trainer);
  sinter_module_close(module);
  free(config);
  return outcome.end == SINTER_TRAINER_INTERRUPTED ? 130 : 0;
}
