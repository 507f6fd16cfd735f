// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trains: runs the function `step` of a module over data and, between, `infer` over data of a validation. What a step
// sees, and with which random numbers, follows from its number and the seeds, so that a training that was stopped at
// any moment, killed even, and resumed gives the bits of one that was not.
//
//   namespace train = sinter::train;
//   extern "C" const sinter_function *const net_functions[]; // of net.o, which sinter train-step or a C++ program made
//   sinter_module *module;
//   sinter_module_open_functions(net_functions, nullptr, &module);
//   train::Trainer trainer(module, {.data = {{"x", "@x.npy"}, {"labels", "@labels.npy"}}, .epochs = 10,
//                                   .validationShare = 0.1, .metrics = {"accuracy"}, .checkpoints = "run"});
//   train::Outcome outcome = trainer.run();
//
// Functions throw data::Error. Nothing here prints or handles signals.

#ifndef SINTER_RUNTIME_TRAIN_TRAINER_H
#define SINTER_RUNTIME_TRAIN_TRAINER_H

#include "../data/RowCache.h"
#include "Checkpoints.h"
#include "Curve.h"
#include "Events.h"
#include "Inputs.h"
#include "Metrics.h"
#include "RowTable.h"
#include <atomic>
#include <chrono>
#include <optional>

namespace sinter::train {

enum class End { Done, Interrupted, NoBetter };

/// How a training ended.
struct Outcome {
  End end = End::Done;
  int64_t steps = 0;             // in all, those before a resume too
  double loss = 0;               // of the last step
  std::vector<double> metrics{}; // of the last validation, in the order of Config::metrics
  double best = 0;               // of the metric that is watched, and the step that it was measured after; 0: none
  int64_t bestStep = 0;
};

class Trainer {
public:
  /// Opens the data that `config` names for the function `step` of `module`, which stays alive by itself.
  Trainer(sinter_module *module, const Config &config);
  /// Data from elsewhere: batches whose columns are called as the step's inputs, and what is the same in each step.
  /// `config.data` is not looked at.
  Trainer(sinter_module *module, const Config &config, Inputs inputs);
  ~Trainer();
  Trainer(const Trainer &) = delete;
  Trainer &operator=(const Trainer &) = delete;

  /// Lets the batches' `input`, i64, be rows of a table larger than memory: the step and the validation get their
  /// slots, and those of the next batch are brought while a step runs. `cache`, made with statesOf(session(), ...),
  /// must live as long as this. Whenever the training is saved its store is flushed with the number of steps, and a
  /// training that is resumed requires rows of that number: those in the folder, or, where it is resumed from the best
  /// checkpoint, those in the files beside it, which then replace the others. Of the table a file of states has only
  /// the slots.
  void lookUp(const std::string &input, data::RowCache &cache);

  /// Trains until what was asked for is done, nothing becomes better, or stop() was called. Where a step fails, what
  /// was reached before it is saved.
  Outcome run();
  /// Ends run() after the step in progress, which is saved. From any thread, and from handlers of signals.
  void stop() { isStopped.store(true, std::memory_order_relaxed); }
  /// The metrics over the data of the validation, now.
  std::vector<double> validate();
  /// Of the step: its states are the weights.
  sinter_session *session() const { return stepSession.get(); }
  /// Which of the metrics is watched for what is best.
  size_t watchedMetric() const { return watched; }
  /// The tables that the configuration names, with what was looked up in them.
  const std::vector<RowTable> &rowTables() const { return tables; }
  /// What run() asks to be resumed from: the folder of checkpoints, or the file that is saved; may be empty.
  const std::string &resumePath() const { return config.checkpoints.empty() ? config.save : config.checkpoints; }

  /// Called with a line about the progress, without its end: ten times a second at most, and when an epoch ends
  /// (`isLast`). Null: nobody asks.
  std::function<void(const std::string &line, bool isLast)> onLine{};
  /// Called with what should be known but is no error, a line each.
  std::function<void(const std::string &)> onWarning{};
  /// Called after each step.
  std::function<void(int64_t step, double loss)> onStep{};

private:
  struct Scored;
  using Clock = std::chrono::steady_clock;

  void open();
  void openValidation();
  void start();
  sinter_tensor valueOf(const sinter_tensor_type &type, const data::Record &batch) const;
  void bind(sinter_session *session, const data::Record &batch) const;
  void measure(const data::Record &batch);
  double step(const data::Record &batch);
  void requireLookup(const std::string &input) const;
  data::Record withSlots(const data::Record &batch, bool moves) const;
  data::Record takeBatch();
  void readAhead();
  std::optional<int64_t> counter(const char *name) const;
  int64_t stepsDone() const;
  void beginEpoch();
  void trainEpoch();
  void stepOnce();
  void tellNotFinite(double loss, const data::Record &batch);
  void store();
  void keepPosition();
  bool becameNoBetter();
  struct Lookup;
  void requireRowsOf(const Lookup &lookup) const;
  std::string describe(bool isLast) const;
  void warn(const std::string &text) const {
    if (onWarning)
      onWarning(text);
  }

  struct Closer {
    void operator()(sinter_module *module) const { sinter_module_close(module); }
    void operator()(sinter_session *session) const { sinter_session_destroy(session); }
  };

  Config config;
  std::unique_ptr<sinter_module, Closer> module;
  std::unique_ptr<sinter_session, Closer> stepSession, inferSession;
  int32_t lossOutput = -1;
  Inputs inputs;
  std::vector<Scored> metrics;
  size_t watched = 0;
  std::atomic<bool> isStopped = false;

  int64_t done = 0, begun = 0, total = 0;
  Position position;
  std::unique_ptr<data::Iterator> iterator;
  std::string dataSignature;
  struct Lookup {
    std::string input;
    data::RowCache *cache;
  };
  std::vector<RowTable> tables; // of the configuration
  std::vector<Lookup> lookups;
  // Where rows are looked up: the next batch, or why there is none, and where the iterator was before it.
  std::optional<data::Record> ahead;
  std::exception_ptr aheadError;
  std::string aheadPosition;
  bool isWholeEpoch = false; // the iterator began at the epoch's start, so that its state can be kept
  std::unique_ptr<Checkpoints> checkpoints;
  Curve curve;
  Events events;
  double epochSum = 0;
  int64_t epochSteps = 0;
  bool hasWarned = false;
  Outcome outcome;
  Clock::time_point startedAt, shownAt, flushedAt;
};

} // namespace sinter::train

namespace sinter {
using train::Trainer;
}

#endif
