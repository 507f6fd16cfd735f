// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter train: runs a compiled training step over data. Which samples a step sees depends on its number and the seed
// only, so that a run that is stopped and resumed gives the bits of one that is not.

#include "runtime/sinter.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/FolderFeed.h"
#include "tools/sinter/LossCurve.h"
#include "tools/sinter/TableFeed.h"
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <unistd.h>
#include <utility>

using namespace sinter::tool;

namespace {
struct TrainFlags {
  std::string step, save, resume, columns;
  std::vector<std::string> data, curves;
  int64_t epochs = 0, steps = 0, saveEvery = 0;
  std::optional<int64_t> batch;
  std::optional<uint64_t> shuffle, seed;
  int threads = 0;
  bool force = false;
};

/// Memory as the runtime reads it in place.
struct AlignedFree {
  void operator()(void *pointer) const { std::free(pointer); }
};
using AlignedBytes = std::unique_ptr<char, AlignedFree>;

/// What an input of the step is fed with: rows of a file, or one number.
struct Feed {
  int32_t input = 0;
  bool isWhole = false; // the same in each step
  bool isTable = false; // a column of the table, or of a folder's files
  int64_t rows = 1;     // of the first dim, in a sample
  sinter_tensor tensor = {};
  int64_t rowBytes = 0;
  AlignedBytes batch;

  Feed() = default;
  Feed(Feed &&) = default;
};
} // namespace

/// Set by the first interrupt: the step in progress is the last one. A second one ends the process.
static volatile std::sig_atomic_t interrupted = 0;

static void interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

static void check(sinter_status_code status) {
  if (status != SINTER_OK)
    stopFor(status);
}

static AlignedBytes allocate(int64_t bytes) {
  AlignedBytes made(static_cast<char *>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 64) / 64 * 64)));
  if (!made)
    throw Stop(Exit::Failure, "no memory for a batch of " + std::to_string(bytes) + " bytes");
  return made;
}

/// A permutation of [0, count) that the seed and the number of the epoch determine (SplitMix64, Fisher and Yates).
static std::vector<int64_t> orderOf(int64_t count, std::optional<uint64_t> seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t(0));
  if (!seed)
    return order;
  auto mix = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  uint64_t state = mix(*seed + 0x9E3779B97F4A7C15u) ^ mix(static_cast<uint64_t>(epoch) + 1);
  for (size_t i = order.size(); i > 1; --i) {
    state += 0x9E3779B97F4A7C15u;
    auto k = static_cast<size_t>(static_cast<unsigned __int128>(mix(state)) * i >> 64);
    std::swap(order[i - 1], order[k]);
  }
  return order;
}

namespace {
/// A step, its data, and where it is.
class Training {
public:
  explicit Training(const TrainFlags &flags) : flags(flags) { open(); }
  ~Training() {
    for (Feed &feed : feeds)
      if (!feed.isWhole && !feed.isTable)
        sinter_tensor_free(&feed.tensor);
    sinter_session_destroy(session);
    sinter_module_close(module);
  }

  void run();

private:
  void store(const LossCurve &curve);
  void open();
  void setSeed(uint64_t seed);
  void readFeeds();
  Feed readFeed(int32_t input, const std::string &value);
  void chooseBatch();
  double step(const std::vector<int64_t> &order, int64_t first, int64_t count);
  int64_t stepsDone();
  std::string inputNames() const;
  bool isState(int32_t input) const;
  bool hasOwnRows(int32_t input) const;
  void countSamples();

  const TrainFlags &flags;
  sinter_module *module = nullptr;
  sinter_session *session = nullptr;
  const sinter_function *function = nullptr;
  int32_t loss = -1;
  std::vector<Feed> feeds;
  std::string tablePath;
  std::unique_ptr<RecordFeed> table; // or a folder
  int64_t samples = -1, batch = 0, stepsPerEpoch = 0;
  bool isBatchFixed = false;
};
} // namespace

bool Training::isState(int32_t input) const {
  for (int32_t s = 0; s < function->num_states; ++s)
    if (function->states[s].input == input)
      return true;
  return false;
}

/// Whether a sample may have several rows of this input: a loss compares it with an output whose first dim only running
/// tells, such as all words of all sentences.
bool Training::hasOwnRows(int32_t input) const {
  const sinter_tensor_type &type = function->inputs[input];
  return type.rank > 0 && type.dims[0] < 0 &&
         function->symbol_names[-1 - type.dims[0]] == std::string(type.name) + ".0";
}

std::string Training::inputNames() const {
  std::string names;
  for (int32_t i = 0; i < function->num_inputs; ++i)
    if (!isState(i))
      names += (names.empty() ? "" : ", ") + std::string(function->inputs[i].name);
  return names;
}

void Training::open() {
  if (sinter_status_code status = sinter_module_open(flags.step.c_str(), nullptr, &module)) {
    if (access(flags.step.c_str(), R_OK) != 0 || status == SINTER_OUT_OF_MEMORY)
      check(status);
    throw Stop(Exit::Failure,
               "train requires a step that sinter train-step made (.smod or .so), " + std::string(sinter_last_error()));
  }
  int32_t index = sinter_module_find_function(module, "step");
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = flags.threads;
  check(sinter_session_create(module, index < 0 ? 0 : index, &options, &session));
  function = sinter_session_function(session);
  loss = sinter_function_find_output(function, "loss");
  int32_t type = loss < 0 ? 0 : function->outputs[loss].dtype;
  if (sinter_session_num_states(session) == 0 || (type != SINTER_F32 && type != SINTER_F64))
    throw Stop(Exit::Usage,
               flags.step + ": train requires a step that sinter train-step made, with a loss of f32 or f64");
  readFeeds();
  chooseBatch();
  if (flags.seed)
    setSeed(*flags.seed);
  if (!flags.resume.empty())
    check(sinter_session_load(session, flags.resume.c_str()));
}

void Training::setSeed(uint64_t seed) {
  if (!flags.resume.empty())
    throw Stop(Exit::Usage,
               "--seed and --resume exclude each other: a training goes on with the seed that it began with");
  sinter_tensor value = {};
  value.data = &seed;
  value.dtype = SINTER_I64;
  sinter_tensor known;
  if (sinter_session_state_get(session, SINTER_SEED_STATE, &known) != SINTER_OK)
    throw Stop(Exit::Usage, "--seed requires a step that draws random numbers, " + flags.step + " draws none");
  check(sinter_session_state_set(session, SINTER_SEED_STATE, &value));
}

Feed Training::readFeed(int32_t input, const std::string &value) {
  const sinter_tensor_type &type = function->inputs[input];
  Feed feed;
  feed.input = input;
  bool isAll = value.starts_with("all@"); // the same in each step
  if (isAll || value.starts_with("@")) {
    const char *path = value.c_str() + (isAll ? 4 : 1);
    if (type.rank == 0 && !isAll)
      throw Stop(Exit::Usage, "--data " + std::string(type.name) + " requires a number or all@FILE.npy, as the input " +
                                  "has rank 0, got '" + value + "'");
    bool isFolder = !isAll && flags.columns.empty() && std::filesystem::is_directory(path);
    if (isFolder || (!isAll && !flags.columns.empty() && !std::string(path).ends_with(".npy"))) {
      if (!table && isFolder)
        table = std::make_unique<FolderFeed>(tablePath = path);
      else if (!table)
        table = std::make_unique<TableFeed>(tablePath = path, flags.columns);
      else if (tablePath != path && isFolder)
        throw Stop(Exit::Usage, "--data requires one folder for all inputs, got " + tablePath + " and " + path);
      else if (tablePath != path)
        throw Stop(Exit::Usage, "--columns requires one table, got " + tablePath + " and " + path);
      table->require(type);
      feed.isTable = true;
      return feed;
    }
    check(sinter_npy_read(path, &feed.tensor));
    if (feed.tensor.rank != type.rank || feed.tensor.dtype != type.dtype) {
      std::string got =
          std::string(sinter_dtype_name(feed.tensor.dtype)) + " of rank " + std::to_string(feed.tensor.rank);
      sinter_tensor_free(&feed.tensor);
      throw Stop(Exit::Failure, "--data " + std::string(type.name) + " requires " + sinter_dtype_name(type.dtype) +
                                    " of rank " + std::to_string(type.rank) +
                                    (isAll ? "" : " with a first dim of samples") + ", " + path + " has " + got);
    }
    feed.isWhole = isAll;
    feed.rowBytes = sinter_dtype_bytes(type.dtype);
    for (int32_t d = isAll ? 0 : 1; d < type.rank; ++d)
      feed.rowBytes *= feed.tensor.dims[d];
    if (isAll) {
      feed.batch = allocate(feed.rowBytes);
      std::memcpy(feed.batch.get(), feed.tensor.data, static_cast<size_t>(feed.rowBytes));
    }
    return feed;
  }
  double number = 0;
  auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool isWide = type.dtype == SINTER_F64;
  if (error != std::errc() || rest != value.data() + value.size() || type.rank != 0 ||
      (!isWide && type.dtype != SINTER_F32))
    throw Stop(
        Exit::Usage,
        "--data requires NAME=@FILE.npy, NAME=all@FILE.npy, or a number for an input of rank 0 and f32 or f64, got '" +
            value + "' for '" + type.name + "'");
  feed.isWhole = true;
  feed.batch = allocate(8);
  auto narrow = static_cast<float>(number);
  if (isWide)
    std::memcpy(feed.batch.get(), &number, sizeof number);
  else
    std::memcpy(feed.batch.get(), &narrow, sizeof narrow);
  return feed;
}

void Training::readFeeds() {
  std::map<std::string, std::string> values;
  for (const std::string &flag : flags.data) {
    size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Stop(Exit::Usage, "--data requires NAME=@FILE.npy, got '" + flag + "'");
    std::string name = flag.substr(0, equals);
    int32_t input = sinter_function_find_input(function, name.c_str());
    if (input < 0 || isState(input))
      throw Stop(Exit::Failure, "the step has no input '" + name + "'; it takes " + inputNames());
    if (!values.emplace(name, flag.substr(equals + 1)).second)
      throw Stop(Exit::Usage, "--data requires each name once, got '" + name + "' twice");
  }
  for (int32_t i = 0; i < function->num_inputs; ++i) {
    if (isState(i))
      continue;
    auto value = values.find(function->inputs[i].name);
    if (value == values.end())
      throw Stop(Exit::Usage, "train requires --data " + std::string(function->inputs[i].name) +
                                  (function->inputs[i].rank ? "=@FILE.npy" : "=NUMBER") + "; the step takes " +
                                  inputNames());
    feeds.push_back(readFeed(i, value->second));
  }
  for (const Feed &feed : feeds) // it would need the order of the table's rows
    if (table && !feed.isWhole && !feed.isTable)
      throw Stop(Exit::Usage,
                 "--data " + std::string(function->inputs[feed.input].name) +
                     (flags.columns.empty() ? " requires all@FILE.npy beside a folder, or to come from it"
                                            : " requires all@FILE.npy beside a table, or to be a column of it"));
  if (!flags.columns.empty() && !table)
    throw Stop(Exit::Usage, "--columns requires --data NAME=@TABLE, a table for one of the inputs");
  countSamples();
}

/// Samples are the rows of what is walked; of inputs with rows of their own, each has as many.
void Training::countSamples() {
  std::string firstName;
  for (bool own : {false, true}) {
    for (Feed &feed : feeds) {
      if (feed.isWhole || hasOwnRows(feed.input) != own)
        continue;
      std::string name = function->inputs[feed.input].name;
      int64_t count = feed.isTable ? table->rows() : feed.tensor.dims[0];
      if (own && !feed.isTable && samples > 0 && count % samples == 0 && count > 0) {
        feed.rows = count / samples;
        feed.rowBytes *= feed.rows;
        continue;
      }
      if (samples >= 0 && count != samples)
        throw Stop(Exit::Failure, "--data requires as many samples in each file, got " + std::to_string(samples) +
                                      " of '" + firstName + "' and " + std::to_string(count) + " of '" + name +
                                      "'; NAME=all@FILE.npy gives a file whole in each step");
      samples = count;
      firstName = name;
    }
  }
  if (samples < 0) // nothing is walked: an epoch is a step
    samples = 1;
}

void Training::chooseBatch() {
  batch = flags.batch.value_or(32);
  std::string firstName;
  for (const Feed &feed : feeds)
    if (int64_t fixed = feed.isWhole ? -1 : function->inputs[feed.input].dims[0]; fixed >= 0) {
      std::string name = function->inputs[feed.input].name;
      if (isBatchFixed && fixed != batch)
        throw Stop(Exit::Failure, "--data requires inputs with one size of batches, the step takes " +
                                      std::to_string(batch) + " of '" + firstName + "' and " + std::to_string(fixed) +
                                      " of '" + name + "'; NAME=all@FILE.npy gives a file whole in each step");
      batch = fixed;
      firstName = name;
      isBatchFixed = true;
    }
  if (flags.batch && *flags.batch != batch)
    throw Stop(Exit::Usage, "--batch requires a step that leaves its batch open, " + flags.step + " takes " +
                                std::to_string(batch) + " samples, got " + std::to_string(*flags.batch));
  stepsPerEpoch = isBatchFixed ? samples / std::max<int64_t>(batch, 1) : (samples + batch - 1) / batch;
  if (samples < 1 || batch < 1 || stepsPerEpoch < 1)
    throw Stop(Exit::Failure, "training requires a batch of samples at least, got " +
                                  std::to_string(std::max<int64_t>(samples, 0)) + " samples and batches of " +
                                  std::to_string(batch));
  for (Feed &feed : feeds)
    if (!feed.isWhole && !feed.isTable)
      feed.batch = allocate(batch * feed.rowBytes);
}

int64_t Training::stepsDone() {
  sinter_tensor count;
  if (sinter_session_state_get(session, "optimizer.step", &count) != SINTER_OK || count.dtype != SINTER_I64 ||
      count.rank != 0)
    throw Stop(Exit::Usage, flags.step + ": train requires the state optimizer.step that sinter train-step makes");
  int64_t steps;
  std::memcpy(&steps, count.data, sizeof steps);
  return steps;
}

/// One step on samples [first, first + count) of `order`.
double Training::step(const std::vector<int64_t> &order, int64_t first, int64_t count) {
  if (table)
    table->next(count);
  for (Feed &feed : feeds) {
    sinter_tensor tensor = {};
    const sinter_tensor_type &type = function->inputs[feed.input];
    if (feed.isTable) {
      tensor = table->column(type);
      check(sinter_session_set_input(session, feed.input, &tensor));
      continue;
    }
    tensor.data = feed.batch.get();
    tensor.dtype = type.dtype;
    tensor.rank = type.rank;
    std::copy_n(feed.tensor.dims, type.rank, tensor.dims);
    if (!feed.isWhole) {
      tensor.dims[0] = count * feed.rows;
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(feed.batch.get() + i * feed.rowBytes,
                    static_cast<char *>(feed.tensor.data) + order[static_cast<size_t>(first + i)] * feed.rowBytes,
                    static_cast<size_t>(feed.rowBytes));
    }
    check(sinter_session_set_input(session, feed.input, &tensor));
  }
  check(sinter_session_run(session));
  sinter_tensor view;
  check(sinter_session_output(session, loss, &view));
  return view.dtype == SINTER_F64 ? *static_cast<const double *>(view.data) : *static_cast<const float *>(view.data);
}

void Training::store(const LossCurve &curve) {
  if (!flags.save.empty())
    check(sinter_session_save(session, flags.save.c_str()));
  for (const std::string &path : flags.curves)
    curve.write(path);
}

void Training::run() {
  using Clock = std::chrono::steady_clock;
  int64_t done = stepsDone(), total = flags.steps ? flags.steps : flags.epochs * stepsPerEpoch;
  if (done >= total)
    std::cerr << "nothing to do: " << done << " steps are done, " << total << " are asked for\n";
  int64_t begun = done;
  bool isTerminal = isatty(STDERR_FILENO) != 0;
  auto goOn = [&] {
    return flags.save.empty() ? "; nothing is saved without --save" : "; go on with --resume " + flags.save;
  };
  auto start = Clock::now(), shown = start;
  LossCurve curve;
  bool hasWarned = false;
  if (!flags.resume.empty())
    for (const std::string &path : flags.curves)
      curve.readUpTo(path, done);
  while (done < total && !interrupted) {
    int64_t epoch = done / stepsPerEpoch;
    std::vector<int64_t> order = orderOf(samples, flags.shuffle, epoch);
    if (table)
      table->begin(epoch, done % stepsPerEpoch, batch, flags.shuffle);
    double sum = 0;
    int64_t counted = 0;
    char line[160];
    auto describe = [&] {
      double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      std::snprintf(line, sizeof line, "epoch %lld  step %lld/%lld  loss %.4f  %.1f s",
                    static_cast<long long>(epoch + 1), static_cast<long long>(done), static_cast<long long>(total),
                    std::isnan(sum) ? std::abs(sum) : sum / static_cast<double>(counted), seconds);
    };
    for (int64_t k = done % stepsPerEpoch; k < stepsPerEpoch && done < total && !interrupted; ++k) {
      double value;
      try {
        value = step(order, k * batch, std::min(batch, samples - k * batch));
      } catch (const Stop &stop) { // it has changed nothing
        if (isTerminal && counted)
          std::cerr << "\n";
        if (done > begun)
          store(curve);
        throw Stop(stop.code,
                   "step " + std::to_string(done + 1) + ": " + stop.what() + (done > begun ? goOn() : std::string()));
      }
      curve.add(++done, value);
      if (!std::isfinite(value) && !std::exchange(hasWarned, true))
        std::fprintf(stderr, "%ssinter: warning: the loss of step %lld %s%s\n", isTerminal ? "\r" : "",
                     static_cast<long long>(done), std::isnan(value) ? "is nan" : "is infinite",
                     isTerminal ? "\x1b[K" : "");
      sum += value;
      ++counted;
      if (isTerminal && Clock::now() - shown > std::chrono::milliseconds(100)) {
        shown = Clock::now();
        describe();
        std::fprintf(stderr, "\r%s\x1b[K", line); // past what escapes control characters
      }
      if (flags.saveEvery && done % flags.saveEvery == 0 && k + 1 < stepsPerEpoch)
        store(curve);
    }
    describe();
    std::fprintf(stderr, "%s%s%s\n", isTerminal ? "\r" : "", line, isTerminal ? "\x1b[K" : "");
    store(curve);
  }
  if (interrupted)
    throw Stop(Exit::Failure, "interrupted after step " + std::to_string(done) + goOn());
}

static Exit train(const TrainFlags &flags) {
  if ((flags.epochs > 0) == (flags.steps > 0))
    throw Stop(Exit::Usage, "train requires --epochs N or --steps N, one of them");
  for (const std::string &path : flags.curves)
    LossCurve::requireFormat(path);
  // What cannot be written, or must not, is known before hours have passed.
  std::vector<std::string> read = {flags.step};
  for (const std::string &flag : flags.data)
    if (size_t at = flag.find('@'); at != std::string::npos)
      read.push_back(flag.substr(at + 1));
  if (!flags.save.empty())
    requireWritable(flags.save, read, Kind::Safetensors, flags.force, "--save");
  for (const std::string *states : {&flags.save, &flags.resume})
    if (!states->empty())
      read.push_back(*states);
  for (const std::string &path : flags.curves)
    requireWritable(path, read, path.ends_with(".csv") ? Kind::Csv : Kind::Svg, flags.force, "--curve");
  if (flags.saveEvery && flags.save.empty())
    throw Stop(Exit::Usage, "--save-every requires --save FILE");
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  Training(flags).run();
  return Exit::Success;
}

void sinter::tool::addTrain(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App *command = program.add_subcommand("train", "run a compiled training step over data");
  command->add_option("step", flags->step, "step that sinter train-step made (.smod or .so)")->required();
  command
      ->add_option(
          "--data", flags->data,
          "NAME=@x.npy: samples along the first dim; NAME=all@x.npy: the same in each step; NAME=0.01: a number; "
          "NAME=@table.csv: with --columns; NAME=@folder: pictures or sounds in folders that are their labels")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--columns", flags->columns,
                      "JSON file of feature columns, fitted: each input of a table (.csv, .tsv, .jsonl, .tfrecord, "
                      ".npz, .safetensors) is the column of its name");
  command->add_option("--epochs", flags->epochs, "train until each sample has been seen so many times")
      ->check(positive());
  command->add_option("--steps", flags->steps, "train until so many steps have been done")->check(positive());
  command->add_option("--batch", flags->batch, "samples in a step that leaves it open (default 32)")->check(positive());
  command->add_option("--shuffle", flags->shuffle, "seed of an order of the samples, another one in each epoch");
  command->add_option("--seed", flags->seed, "seed of random numbers in the step such as dropout's");
  command->add_option(
      "--save", flags->save,
      "safetensors file to write all states to, after each epoch, and where a step fails or is interrupted");
  command->add_option("--save-every", flags->saveEvery, "save also within an epoch, each time so many steps are done")
      ->check(positive());
  command->add_option("--resume", flags->resume, "safetensors file to go on from");
  command
      ->add_option("--curve", flags->curves,
                   "file for the loss of each step: .csv or .svg; a .csv goes on with --resume")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--threads", flags->threads, "threads to run on (default: all cores)")
      ->check(CLI::Range(1, 1024));
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = train(*flags); });
}
