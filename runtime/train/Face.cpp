// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../data/Face.h"
#include "Trainer.h"
#include "train.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sinter;
using namespace sinter::train;

struct sinter_trainer {
  std::unique_ptr<Trainer> trainer;
};

static Config configOf(const char *json) {
  Config config;
  readConfig(json, "sinter_trainer_create", config);
  return config;
}

sinter_status_code sinter_trainer_create(sinter_module *module, const char *json, sinter_trainer **trainer) {
  return data::guarded(
      __func__,
      [&] {
        *trainer = nullptr;
        *trainer = new sinter_trainer{std::make_unique<Trainer>(module, configOf(json))};
      },
      module, json, trainer);
}

sinter_status_code sinter_trainer_create_over(sinter_module *module, const char *json, const sinter_data *training,
                                              const sinter_data *validation, sinter_trainer **trainer) {
  return data::guarded(
      __func__,
      [&] {
        *trainer = nullptr;
        Config config = configOf(json);
        int32_t step = std::max(sinter_module_find_function(module, "step"), 0);
        Inputs inputs{Batches(training->dataset), {}, openConstants(*sinter_module_function(module, step), config)};
        if (validation)
          inputs.validation = Batches(validation->dataset);
        *trainer = new sinter_trainer{std::make_unique<Trainer>(module, config, std::move(inputs))};
      },
      module, json, training, trainer);
}

void sinter_trainer_destroy(sinter_trainer *trainer) { delete trainer; }

sinter_status_code sinter_trainer_on_line(sinter_trainer *trainer,
                                          void (*line)(void *user, const char *text, int32_t is_last),
                                          void (*warning)(void *user, const char *text), void *user) {
  return data::guarded(
      __func__,
      [&] {
        trainer->trainer->onLine = nullptr;
        trainer->trainer->onWarning = nullptr;
        if (line)
          trainer->trainer->onLine = [=](const std::string &text, bool isLast) { line(user, text.c_str(), isLast); };
        if (warning)
          trainer->trainer->onWarning = [=](const std::string &text) { warning(user, text.c_str()); };
      },
      trainer);
}

sinter_status_code sinter_trainer_on_step(sinter_trainer *trainer, void (*step)(void *user, int64_t step, double loss),
                                          void *user) {
  return data::guarded(
      __func__,
      [&] {
        trainer->trainer->onStep = nullptr;
        if (step)
          trainer->trainer->onStep = [=](int64_t number, double loss) { step(user, number, loss); };
      },
      trainer);
}

sinter_status_code sinter_trainer_look_up(sinter_trainer *trainer, const char *input, sinter_rows *table) {
  return data::guarded(
      __func__, [&] { trainer->trainer->lookUp(input, data::cacheOf(*table)); }, trainer, input, table);
}

sinter_status_code sinter_trainer_run(sinter_trainer *trainer, sinter_trainer_outcome *outcome) {
  return data::guarded(
      __func__,
      [&] {
        if (outcome && outcome->struct_size < sizeof *outcome)
          throw data::Error(SINTER_INVALID_ARGUMENT, "an outcome requires a struct_size of " +
                                                         std::to_string(sizeof *outcome) + ", got " +
                                                         std::to_string(outcome->struct_size));
        Outcome made = trainer->trainer->run();
        if (!outcome)
          return;
        outcome->end = static_cast<int32_t>(made.end);
        outcome->steps = made.steps;
        outcome->loss = made.loss;
        outcome->metric = made.metrics.empty() ? NAN : made.metrics[trainer->trainer->watchedMetric()];
        outcome->best = made.best;
        outcome->best_step = made.bestStep;
      },
      trainer);
}

void sinter_trainer_stop(sinter_trainer *trainer) {
  if (trainer)
    trainer->trainer->stop();
}

sinter_session *sinter_trainer_session(const sinter_trainer *trainer) {
  return trainer ? trainer->trainer->session() : nullptr;
}
