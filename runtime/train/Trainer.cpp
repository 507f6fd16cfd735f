// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Trainer.h"
#include "../decimal.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

using namespace sinter;
using namespace sinter::train;

[[noreturn]] static void refuse(const std::string &message) { throw data::Error(SINTER_INVALID_ARGUMENT, message); }

/// A metric with the place of what it looks at.
struct Trainer::Scored {
  std::unique_ptr<Metric> metric;
  int32_t output = -1;
};

//===- What is trained -------------------------------------------------------------------------------------------===//

Trainer::Trainer(sinter_module *of, const Config &config) : config(config), module(sinter_module_retain(of)) {
  open();
  inputs = openInputs(*sinter_session_function(session()), config);
  start();
}

Trainer::Trainer(sinter_module *of, const Config &config, Inputs inputs)
    : config(config), module(sinter_module_retain(of)), inputs(std::move(inputs)) {
  open();
  start();
}

Trainer::~Trainer() = default;

static sinter_session *makeSession(sinter_module *module, int32_t function, const Config &config,
                                   sinter_session *shared) {
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = config.threads;
  options.state_of = shared;
  options.folder = config.memoryFolder.empty() ? nullptr : config.memoryFolder.c_str();
  sinter_session *session = nullptr;
  data::check(sinter_session_create(module, function, &options, &session));
  return session;
}

void Trainer::open() {
  if ((config.epochs > 0) == (config.steps > 0))
    refuse("training requires a number of epochs or of steps, one of them");
  if (config.saveEvery && resumePath().empty())
    refuse("saving within epochs requires a file or a folder to save to");
  for (const std::string &path : config.curves)
    Curve::requireFormat(path);
  int32_t index = sinter_module_find_function(module.get(), "step");
  stepSession.reset(makeSession(module.get(), std::max(index, 0), config, nullptr));
  const sinter_function *function = sinter_session_function(session());
  lossOutput = sinter_function_find_output(function, "loss");
  int32_t type = lossOutput < 0 ? 0 : function->outputs[lossOutput].dtype;
  if (sinter_session_num_states(session()) == 0 || (type != SINTER_F32 && type != SINTER_F64))
    refuse("training requires a step that sinter train-step or sinter::train_step made, with a loss of f32 or f64");
  if (config.seed && !config.resume.empty())
    refuse("a seed and resuming exclude each other: a training goes on with the seed that it began with");
  if (config.seed) {
    sinter_tensor known, value = {};
    value.data = &*config.seed;
    value.dtype = SINTER_I64;
    if (sinter_session_state_get(session(), SINTER_SEED_STATE, &known) != SINTER_OK)
      refuse("a seed requires a step that draws random numbers, this one draws none");
    data::check(sinter_session_state_set(session(), SINTER_SEED_STATE, &value));
  }
}

/// The function whose outputs are measured, and what of them.
void Trainer::openValidation() {
  for (const std::string &text : config.metrics)
    metrics.push_back({makeMetric(text)});
  if (metrics.empty() && inputs.validation.isEmpty() && config.patience == 0 && config.stopOn.empty())
    return;
  if (inputs.validation.isEmpty())
    refuse("metrics require data of a validation, or a share of those trained on");
  if (metrics.empty())
    refuse("a validation requires metrics");
  int32_t index = sinter_module_find_function(module.get(), "infer");
  if (index < 0)
    refuse("metrics require a module with a function 'infer', this one has none");
  inferSession.reset(makeSession(module.get(), index, config, session()));
  const sinter_function *infer = sinter_session_function(inferSession.get());
  const sinter_function *step = sinter_session_function(session());
  std::string outputs, targets;
  for (int32_t o = 0; o < infer->num_outputs; ++o) {
    bool isNext = false;
    for (int32_t s = 0; s < infer->num_states; ++s)
      isNext |= infer->states[s].output == o;
    if (!isNext)
      outputs += (outputs.empty() ? "" : ", ") + std::string(infer->outputs[o].name);
  }
  for (int32_t i = 0; i < step->num_inputs; ++i)
    if (!isState(*step, i) && sinter_function_find_input(infer, step->inputs[i].name) < 0 &&
        !inputs.constants.contains(step->inputs[i].name))
      targets += (targets.empty() ? "" : ", ") + std::string(step->inputs[i].name);
  for (Scored &scored : metrics) {
    Metric &metric = *scored.metric;
    bool isOpen = metric.output.empty();
    auto isOne = [](const std::string &names) { return !names.empty() && names.find(", ") == std::string::npos; };
    if (isOpen && !(isOne(outputs) && isOne(targets)))
      refuse("metric '" + metric.name + "' requires NAME:OUTPUT,TARGET where there is not one of each; outputs: " +
             outputs + "; targets: " + targets);
    if (isOpen) {
      metric.output = outputs;
      metric.target = targets;
    }
    scored.output = sinter_function_find_output(infer, metric.output.c_str());
    if (scored.output < 0)
      refuse("metric '" + metric.name + "' requires an output of the model, got '" + metric.output + "'; it gives " +
             outputs);
  }
  auto isWatched = [&](const Scored &scored) { return scored.metric->name == config.stopOn; };
  auto found = std::find_if(metrics.begin(), metrics.end(), isWatched);
  if (!config.stopOn.empty() && found == metrics.end())
    refuse("what a training stops on requires to be one of its metrics, got '" + config.stopOn + "'");
  watched = config.stopOn.empty() ? 0 : static_cast<size_t>(found - metrics.begin());
}

void Trainer::start() {
  openValidation();
  std::vector<std::string> names;
  for (const Scored &scored : metrics)
    names.push_back(scored.metric->name);
  curve = Curve(names);
  dataSignature = inputs.training.startingAt(0).signature();
  total = config.steps ? config.steps : config.epochs * inputs.training.perEpoch();
  if (inputs.training.perEpoch() < 1)
    refuse("training requires data of a batch at least, got none");
  for (const auto &[input, text] : config.rows) {
    requireLookup(input); // before a folder is made
    tables.push_back(openRows(session(), input, text));
    lookUp(input, *tables.back().cache);
  }
}

/// The value of a state that counts; nothing where there is none.
std::optional<int64_t> Trainer::counter(const char *name) const {
  sinter_tensor count;
  if (sinter_session_state_get(session(), name, &count) != SINTER_OK || count.dtype != SINTER_I64 || count.rank != 0)
    return std::nullopt;
  int64_t value;
  std::memcpy(&value, count.data, sizeof value);
  return value;
}

int64_t Trainer::stepsDone() const {
  std::optional<int64_t> steps = counter(kStepState);
  if (!steps)
    refuse("training requires the state optimizer.step that sinter train-step and sinter::train_step make");
  return counter(kBatchesState).value_or(*steps) + counter(kSkippedState).value_or(0);
}

//===- A step ----------------------------------------------------------------------------------------------------===//

/// What an input of a function is given.
sinter_tensor Trainer::valueOf(const sinter_tensor_type &type, const data::Record &batch) const {
  if (auto constant = inputs.constants.find(type.name); constant != inputs.constants.end())
    return constant->second.tensor();
  int64_t column = batch.find(type.name);
  if (column < 0) {
    std::string names;
    for (int64_t c = 0; c < batch.size(); ++c)
      names += (c ? ", " : "") + batch.name(c);
    refuse("input '" + std::string(type.name) + "' requires a column of the data called so, they have " + names);
  }
  return withRank(batch.value(column), type.rank);
}

void Trainer::bind(sinter_session *of, const data::Record &batch) const {
  const sinter_function *function = sinter_session_function(of);
  for (int32_t i = 0; i < function->num_inputs; ++i)
    if (!isState(*function, i)) {
      sinter_tensor tensor = valueOf(function->inputs[i], batch);
      data::check(sinter_session_set_input(of, i, &tensor));
    }
}

/// Throws unless the input can be looked up in a table.
void Trainer::requireLookup(const std::string &input) const {
  const sinter_function *function = sinter_session_function(session());
  int32_t at = sinter_function_find_input(function, input.c_str());
  if (at < 0 || isState(*function, at) || function->inputs[at].dtype != SINTER_I64)
    refuse("rows of a table require an input of i64 that looks them up, '" + input + "' is none");
  if (inputs.constants.contains(input))
    refuse("rows of a table require batches, '" + input + "' is the same in each step");
}

void Trainer::lookUp(const std::string &input, data::RowCache &cache) {
  requireLookup(input);
  lookups.push_back({input, &cache});
}

/// The batch with slots instead of rows.
data::Record Trainer::withSlots(const data::Record &batch, bool moves) const {
  data::Record slotted = batch;
  for (const Lookup &lookup : lookups) {
    int64_t column = batch.find(lookup.input);
    if (column < 0)
      continue; // `bind` says so, if it is needed
    const data::Value &rows = batch.value(column);
    if (rows.dtype() != SINTER_I64)
      refuse("rows of a table require i64, column '" + lookup.input + "' is " + data::dtypeName(rows.dtype()));
    auto count = static_cast<size_t>(rows.count());
    auto memory = data::allocate(rows.count() * static_cast<int64_t>(sizeof(int64_t)));
    lookup.cache->prepare({reinterpret_cast<const int64_t *>(rows.data()), count},
                          {reinterpret_cast<int64_t *>(memory.get()), count}, moves);
    slotted.value(column) = data::Value(SINTER_I64, rows.dims(), std::move(memory));
  }
  return slotted;
}

data::Record Trainer::takeBatch() {
  if (aheadError)
    std::rethrow_exception(std::exchange(aheadError, nullptr));
  if (ahead)
    return *std::exchange(ahead, std::nullopt);
  data::Record batch;
  if (!iterator->next(batch))
    throw data::Error(SINTER_CORRUPT, "the data are required to stay as they are while they are read, they end early");
  return batch;
}

/// Begins to bring the rows of the batch after the one that the step is about to see, if the epoch has one.
void Trainer::readAhead() {
  if (lookups.empty() || (done + 1) % inputs.training.perEpoch() == 0 || done + 1 == total)
    return;
  data::StateWriter writer;
  iterator->save(writer);
  aheadPosition = writer.take();
  try {
    ahead = takeBatch();
  } catch (const data::Error &) { // the next step's
    aheadError = std::current_exception();
    return;
  }
  for (const Lookup &lookup : lookups)
    if (int64_t column = ahead->find(lookup.input); column >= 0 && ahead->value(column).dtype() == SINTER_I64)
      lookup.cache->prefetch({reinterpret_cast<const int64_t *>(ahead->value(column).data()),
                              static_cast<size_t>(ahead->value(column).count())});
}

double Trainer::step(const data::Record &batch) {
  data::Record slotted = withSlots(batch, true); // which the session reads when it runs
  bind(session(), slotted);
  readAhead();
  data::check(sinter_session_run(session()));
  sinter_tensor view;
  data::check(sinter_session_output(session(), lossOutput, &view));
  return view.dtype == SINTER_F64 ? *static_cast<const double *>(view.data) : *static_cast<const float *>(view.data);
}

//===- Validation ------------------------------------------------------------------------------------------------===//

/// `value` with its last row repeated until there are `rows`.
static data::Value filledUp(const data::Value &value, int64_t rows) {
  int64_t bytes = value.count() * sinter_dtype_bytes(value.dtype()), rowBytes = bytes / value.rows();
  data::Dims dims = value.dims();
  dims.set(0, rows);
  auto memory = data::allocate(rows * rowBytes);
  std::memcpy(memory.get(), value.data(), static_cast<size_t>(bytes));
  for (int64_t row = value.rows(); row < rows; ++row)
    std::memcpy(memory.get() + row * rowBytes, value.data() + bytes - rowBytes, static_cast<size_t>(rowBytes));
  return data::Value(value.dtype(), dims, std::move(memory));
}

/// A model that takes batches of one size has the last one filled up, and what it makes of that cut off again.
void Trainer::measure(const data::Record &batch) {
  data::Record full = batch;
  int64_t rows = 0, room = 0;
  const sinter_function *infer = sinter_session_function(inferSession.get());
  for (int32_t i = 0; i < infer->num_inputs; ++i) {
    const sinter_tensor_type &type = infer->inputs[i];
    int64_t column = isState(*infer, i) || inputs.constants.contains(type.name) ? -1 : batch.find(type.name);
    if (column < 0 || type.rank < 1 || batch.value(column).rows() < 1 ||
        batch.value(column).rows() >= type.dims[0]) // also where that is open
      continue;
    rows = batch.value(column).rows();
    room = type.dims[0];
    full.value(column) = filledUp(batch.value(column), room);
  }
  full = withSlots(full, false);
  bind(inferSession.get(), full);
  data::check(sinter_session_run(inferSession.get()));
  for (Scored &scored : metrics) {
    sinter_tensor output;
    data::check(sinter_session_output(inferSession.get(), scored.output, &output));
    if (room && (output.rank < 1 || output.dims[0] * rows % room != 0))
      refuse("metric '" + scored.metric->name + "' requires rows of output '" + scored.metric->output +
             "' for each sample, where a batch of " + std::to_string(rows) + " is filled up to " +
             std::to_string(room));
    if (room)
      output.dims[0] = output.dims[0] * rows / room;
    sinter_tensor_type target = {scored.metric->target.c_str(), 0, /*rank=*/-1, nullptr}; // as it is
    scored.metric->add(output, valueOf(target, batch));
  }
}

std::vector<double> Trainer::validate() {
  for (Scored &scored : metrics)
    scored.metric->clear();
  if (inferSession) {
    auto batches = inputs.validation.startingAt(0).begin(0);
    for (data::Record batch; batches->next(batch);)
      measure(batch);
  }
  std::vector<double> values;
  for (Scored &scored : metrics)
    values.push_back(scored.metric->value());
  return values;
}

/// Validates, keeps what is best, and says whether it is time to end.
bool Trainer::becameNoBetter() {
  outcome.metrics = validate();
  curve.measure(outcome.metrics);
  for (size_t k = 0; k < metrics.size() && events.isOpen(); ++k)
    events.add(done, "validation/" + metrics[k].metric->name, outcome.metrics[k]);
  double value = outcome.metrics[watched], sign = metrics[watched].metric->isHigherBetter ? 1 : -1;
  bool isBetter = !std::isnan(value) && (std::isnan(position.best) || sign * (value - position.best) > config.minDelta);
  if (isBetter) {
    position.best = value;
    position.bestStep = done;
    position.worse = 0;
    if (checkpoints) {
      keepPosition();
      for (const Lookup &lookup : lookups)
        lookup.cache->saveAll(checkpoints->rowsOfBest(done, lookup.input));
      checkpoints->writeBest(std::array{session(), inferSession.get()}, position);
    }
  } else {
    ++position.worse;
  }
  return config.patience > 0 && position.worse >= config.patience;
}

//===- The whole -------------------------------------------------------------------------------------------------===//

/// A line about where the training is.
std::string Trainer::describe(bool isLast) const {
  PlainNumbers plain;
  double seconds = std::chrono::duration<double>(Clock::now() - startedAt).count();
  double loss = epochSteps ? epochSum / static_cast<double>(epochSteps) : outcome.loss;
  int64_t perEpoch = inputs.training.perEpoch();
  char text[256];
  std::snprintf(text, sizeof text, "epoch %lld  step %lld/%lld  loss %.4f  %.1f s",
                static_cast<long long>((done + perEpoch - 1) / perEpoch), static_cast<long long>(done),
                static_cast<long long>(total), std::isnan(loss) ? std::abs(loss) : loss, seconds);
  std::string line = text;
  if (int64_t skipped = counter(kSkippedState).value_or(0))
    line += "  " + std::to_string(skipped) + " skipped";
  if (!isLast && done > begun) {
    std::snprintf(text, sizeof text, "  %.0f s left",
                  seconds / static_cast<double>(done - begun) * static_cast<double>(total - done));
    line += text;
  }
  for (size_t k = 0; isLast && k < outcome.metrics.size(); ++k) {
    std::snprintf(text, sizeof text, "  %s %.4f", metrics[k].metric->name.c_str(),
                  std::isnan(outcome.metrics[k]) ? std::abs(outcome.metrics[k]) : outcome.metrics[k]);
    line += text;
  }
  return line;
}

void Trainer::keepPosition() {
  position.step = done;
  position.dataSignature = dataSignature;
  position.data.clear();
  if (isWholeEpoch && (ahead || aheadError)) {
    position.data = aheadPosition;
  } else if (isWholeEpoch && iterator && done % inputs.training.perEpoch() != 0) {
    data::StateWriter writer;
    iterator->save(writer);
    position.data = writer.take();
  }
}

/// What goes on behind these files is cut off by a resume, so the checkpoint is the last of them. Rows are staged
/// before it and committed behind it: those of the checkpoint that is the newest are there at every moment.
void Trainer::store() {
  for (const Lookup &lookup : lookups)
    lookup.cache->stage(done);
  for (const std::string &path : config.curves)
    curve.write(path);
  events.flush();
  if (!config.save.empty())
    data::check(sinter_session_save(session(), config.save.c_str()));
  if (checkpoints) {
    keepPosition();
    std::vector<sinter_session *> sessions = {session()};
    if (inferSession)
      sessions.push_back(inferSession.get());
    checkpoints->write(sessions, position);
  }
  for (const Lookup &lookup : lookups)
    lookup.cache->commit();
}

void Trainer::beginEpoch() {
  int64_t epoch = done / inputs.training.perEpoch(), first = done % inputs.training.perEpoch();
  bool isKept = first > 0 && !position.data.empty() && position.step == done;
  isWholeEpoch = first == 0 || isKept;
  iterator = inputs.training.startingAt(isKept ? 0 : first).begin(epoch);
  if (isKept) {
    data::StateReader reader(position.data);
    iterator->load(reader);
  }
  ahead.reset();
  aheadError = nullptr;
  epochSum = 0;
  epochSteps = 0;
}

/// Which sample of the batch is no number, where one is.
static std::string describeNotFinite(const data::Record &batch) {
  for (int64_t c = 0; c < batch.size(); ++c) {
    const data::Value &value = batch.value(c);
    if ((value.dtype() != SINTER_F32 && value.dtype() != SINTER_F64) || value.isRagged() || value.dims().rank() == 0)
      continue;
    for (int64_t i = 0; i < value.count(); ++i) {
      auto at = static_cast<size_t>(i);
      double element = value.dtype() == SINTER_F64 ? value.as<double>()[at] : double(value.as<float>()[at]);
      if (!std::isfinite(element))
        return ": input '" + batch.name(c) + "' has " +
               (std::isnan(element) ? "nan (or a missing value)" : "an infinite value") + " in sample " +
               std::to_string(i / std::max<int64_t>(value.count() / std::max<int64_t>(value.rows(), 1), 1)) +
               " of its batch";
    }
  }
  return "";
}

/// A state that has no numbers any more, after which no step gives any; empty where there is none.
static std::string findNan(const sinter_session *session) {
  for (int32_t s = 0; s < sinter_session_num_states(session); ++s) {
    const char *name = sinter_session_state_name(session, s);
    sinter_tensor state;
    data::check(sinter_session_state_get(session, name, &state));
    int64_t count = 1;
    for (int32_t d = 0; d < state.rank; ++d)
      count *= state.dims[d];
    auto has = [&]<typename T>(auto isNan) {
      auto *elements = static_cast<const T *>(state.data);
      return std::any_of(elements, elements + count, isNan);
    };
    auto isNan = [](auto x) { return std::isnan(x); };
    if ((state.dtype == SINTER_F32 && has.template operator()<float>(isNan)) ||
        (state.dtype == SINTER_F64 && has.template operator()<double>(isNan)) ||
        (state.dtype == SINTER_F16 && has.template operator()<uint16_t>([](int x) { return (x & 0x7FFF) > 0x7C00; })) ||
        (state.dtype == SINTER_BF16 && has.template operator()<uint16_t>([](int x) { return (x & 0x7FFF) > 0x7F80; })))
      return name;
  }
  return "";
}

/// Warns of the first loss that is no number. Throws where weights are none either: all later steps would be lost, and
/// checkpoints of them take the place of good ones.
void Trainer::tellNotFinite(double loss, const data::Record &batch) {
  std::string what = (std::isnan(loss) ? " is nan" : " is infinite") + describeNotFinite(batch);
  if (std::string state = findNan(session()); !state.empty()) {
    for (const std::string &path : config.curves)
      curve.write(path);
    events.flush();
    throw data::Error(SINTER_INVALID_ARGUMENT, "step " + std::to_string(done) + ": the loss" + what + "; '" + state +
                                                   "' has nan from here on, so that this step is not saved");
  }
  if (!std::exchange(hasWarned, true))
    warn("the loss of step " + std::to_string(done) + what);
}

void Trainer::stepOnce() {
  data::Record batch;
  double loss;
  try {
    batch = takeBatch();
    loss = step(batch);
  } catch (const data::Error &error) { // it has changed nothing
    isWholeEpoch = false;              // its batch was read: who goes on reads the epoch up to there
    if (done > begun)
      store();
    throw data::Error(error.code(), "step " + std::to_string(done + 1) + ": " + error.what());
  }
  ++done;
  curve.add(done, loss);
  if (events.isOpen())
    events.add(done, "loss", loss);
  epochSum += loss;
  ++epochSteps;
  outcome.loss = loss;
  if (onStep)
    onStep(done, loss);
  if (!std::isfinite(loss))
    tellNotFinite(loss, batch);
  auto now = Clock::now();
  if (onLine && now - shownAt > std::chrono::milliseconds(100)) {
    shownAt = now;
    onLine(describe(false), false);
  }
  if (now - flushedAt > std::chrono::seconds(1)) {
    flushedAt = now;
    events.flush();
  }
}

void Trainer::trainEpoch() {
  int64_t perEpoch = inputs.training.perEpoch();
  beginEpoch();
  for (bool isLast = false; !isLast && outcome.end == End::Done;) {
    stepOnce();
    isLast = done % perEpoch == 0 || done == total;
    bool isDue = inferSession && done % (config.validateEvery ? config.validateEvery : perEpoch) == 0;
    if (isDue && becameNoBetter())
      outcome.end = End::NoBetter;
    if (inferSession && !isDue && done == total) // a longer training would not have looked here: it is told, no more
      outcome.metrics = validate();
    if (isStopped && done < total && outcome.end == End::Done)
      outcome.end = End::Interrupted;
    if (isLast || outcome.end != End::Done || (config.saveEvery && done % config.saveEvery == 0))
      store();
  }
  if (onLine)
    onLine(describe(true), true);
}

/// Gives the table the rows of the step that is done: it has them, or they lie in files beside the best checkpoint that
/// the training goes on from.
void Trainer::requireRowsOf(const Lookup &lookup) const {
  if (lookup.cache->opensAt(done))
    return;
  std::string others = "a training that goes on requires rows of its step, those of input '" + lookup.input +
                       "' are of step " + std::to_string(lookup.cache->rows().flushedMark()) +
                       " and the training is at step " + std::to_string(done);
  if (config.resume.empty() || std::filesystem::is_directory(config.resume))
    refuse(others);
  std::string saved = rowsBeside(std::filesystem::path(config.resume).parent_path().string(), done, lookup.input);
  bool areSaved = false;
  try {
    areSaved = data::RowStore::areSaved(saved);
    if (areSaved)
      lookup.cache->restore(saved);
  } catch (const data::Error &error) {
    throw data::Error(error.code(), "rows of input '" + lookup.input + "': " + error.what());
  }
  if (!areSaved)
    refuse(others + "; there are no files " + saved + "-00001-of-NNNNN.safetensors with them, either");
}

Outcome Trainer::run() {
  outcome = {};
  position = {};
  if (!config.resume.empty()) {
    position = resume(session(), config.resume, [&](const std::string &text) { warn(text); });
    if (position.step >= 0 && position.dataSignature != dataSignature)
      refuse("resuming from '" + config.resume + "' requires the data that it was made with, " +
             position.dataSignature + ", got " + dataSignature);
  }
  done = begun = stepsDone();
  for (const Lookup &lookup : lookups)
    requireRowsOf(lookup);
  if (!config.checkpoints.empty())
    checkpoints = std::make_unique<Checkpoints>(config.checkpoints, config.keep, begun > 0);
  if (!config.events.empty())
    events = Events::open(config.events, begun);
  curve = Curve(curve.columns());
  if (begun > 0)
    for (const std::string &path : config.curves)
      curve.readUpTo(path, begun);
  startedAt = shownAt = flushedAt = Clock::now();
  hasWarned = false;
  for (const std::string &note : inputs.notes)
    warn(note);
  if (done >= total)
    warn("nothing to do: " + std::to_string(done) + " steps are done, " + std::to_string(total) + " are asked for");
  if (isStopped && done < total)
    outcome.end = End::Interrupted;
  if (config.patience > 0 && position.worse >= config.patience)
    outcome.end = End::NoBetter;
  while (done < total && outcome.end == End::Done)
    trainEpoch();
  outcome.steps = done;
  outcome.best = position.best;
  outcome.bestStep = position.bestStep;
  return outcome;
}
