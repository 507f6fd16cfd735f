/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Training in C, over libsinter_trainer: the data, how long, validation and checkpoints as JSON (Config.h lists the
 * fields), the step as a module. Errors are those of sinter.h: a status, and sinter_last_error().
 *
 *   extern const sinter_function *const net_functions[];   of net.o, the object of a step
 *   sinter_module *module;
 *   sinter_trainer *trainer;
 *   sinter_trainer_outcome outcome = {.struct_size = sizeof outcome};
 *   if (sinter_module_open_functions(net_functions, NULL, &module) ||
 *       sinter_trainer_create(module, "{\"data\": {\"x\": \"@x.npy\", \"labels\": \"@labels.npy\"}, \"epochs\": 10}",
 *                             &trainer) ||
 *       sinter_trainer_run(trainer, &outcome))
 *     return puts(sinter_last_error());
 *
 * A trainer belongs to one thread at a time; only sinter_trainer_stop may come from others, or from a signal's handler.
 */

#ifndef SINTER_RUNTIME_TRAIN_TRAIN_H
#define SINTER_RUNTIME_TRAIN_TRAIN_H

#include "../data/data.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sinter_trainer sinter_trainer;

typedef enum sinter_trainer_end {
  SINTER_TRAINER_DONE = 0,
  SINTER_TRAINER_INTERRUPTED = 1, /* by sinter_trainer_stop */
  SINTER_TRAINER_NO_BETTER = 2    /* the patience of the validation was at its end */
} sinter_trainer_end;

typedef struct sinter_trainer_outcome {
  uint32_t struct_size; /* sizeof(sinter_trainer_outcome), set by the caller */
  int32_t end;          /* sinter_trainer_end */
  int64_t steps;        /* in all, those before a resume too */
  double loss;          /* of the last step */
  double metric;        /* that is watched, of the last validation; nan: there was none */
  double best;          /* of it, and the step that it was measured after */
  int64_t best_step;
} sinter_trainer_outcome;

/* A training of the function `step` of `module` as `json` says. The trainer keeps the module alive; the caller owns
 * `*trainer`. */
sinter_status_code sinter_trainer_create(sinter_module *module, const char *json, sinter_trainer **trainer);
/* The same over a data set of batches whose columns are called as the step's inputs; `validation`, over as such, may be
 * null. The JSON has no data then but numbers and all@FILE.npy for what is the same in each step. */
sinter_status_code sinter_trainer_create_over(sinter_module *module, const char *json, const sinter_data *training,
                                              const sinter_data *validation, sinter_trainer **trainer);
void sinter_trainer_destroy(sinter_trainer *trainer);

/* Lines about the progress (ten a second at most; with `is_last` not 0 at the end of an epoch), and warnings. */
sinter_status_code sinter_trainer_on_line(sinter_trainer *trainer,
                                          void (*line)(void *user, const char *text, int32_t is_last),
                                          void (*warning)(void *user, const char *text), void *user);
/* Called after each step. */
sinter_status_code sinter_trainer_on_step(sinter_trainer *trainer, void (*step)(void *user, int64_t step, double loss),
                                          void *user);

/* Lets the batches' `input`, i64, be rows of `table`, which sinter_rows_attach gave sinter_trainer_session and which
 * must live as long as the trainer. The table is flushed whenever the training is saved, and a training that is resumed
 * requires rows of its step. */
sinter_status_code sinter_trainer_look_up(sinter_trainer *trainer, const char *input, sinter_rows *table);
/* Trains to the end; `outcome` may be null. */
sinter_status_code sinter_trainer_run(sinter_trainer *trainer, sinter_trainer_outcome *outcome);
/* Ends a run after the step in progress, which is saved. */
void sinter_trainer_stop(sinter_trainer *trainer);
/* The session of the step, whose states are the weights; it belongs to the trainer. A session for `infer` with its
 * states as `state_of` uses what was trained. */
sinter_session *sinter_trainer_session(const sinter_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
