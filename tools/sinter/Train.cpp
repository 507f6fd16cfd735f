// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter train: runs a compiled training step over data. runtime/train/ does it; here are flags, signals, the line on
// the terminal.

#include "runtime/train/Trainer.h"
#include "tools/sinter/Data.h"
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <unistd.h>

using namespace sinter;
using namespace sinter::tool;

namespace {
struct TrainFlags {
  std::string step, file;
  SharedOptions shared; // its device alone
  std::vector<std::string> data, validation, rows;
  train::Config config; // what flags say
  CLI::App *command = nullptr;
  std::vector<std::function<void(train::Config &)>> given; // sets the fields of the flags that were given
  bool force = false;
};

struct ModuleCloser {
  void operator()(sinter_module *module) const { sinter_module_close(module); }
};
} // namespace

/// The training that signals end.
static train::Trainer *running = nullptr;

/// The step in progress is the last one. A second interrupt ends the process.
static void interrupt(int signal) {
  if (running)
    running->stop();
  std::signal(signal, SIG_DFL);
}

/// The file that --config names, and over it the flags that were given.
static train::Config configOf(const TrainFlags &flags) {
  train::Config config;
  if (!flags.file.empty())
    train::loadConfig(flags.file, config);
  if (flags.command->count("--epochs") || flags.command->count("--steps"))
    config.epochs = config.steps = 0; // one of them
  for (const auto &set : flags.given)
    set(config);
  readEntries(flags.data, "--data", "@FILE.npy", config.data);
  readEntries(flags.validation, "--validation", "@FILE.npy", config.validation);
  readEntries(flags.rows, "--rows", "@FOLDER,table=STATE,rows=N", config.rows);
  if ((config.epochs > 0) == (config.steps > 0))
    throw Stop(Exit::Usage, "train requires --epochs N or --steps N, one of them");
  if (config.saveEvery && config.save.empty() && config.checkpoints.empty())
    throw Stop(Exit::Usage, "--save-every requires --save FILE or --checkpoints FOLDER");
  return config;
}

/// What cannot be written, or must not, is known before hours have passed.
static void checkOutputs(const TrainFlags &flags, const train::Config &config) {
  std::vector<std::string> read = {flags.step};
  for (const auto *texts : {&config.data, &config.validation})
    for (const auto &[name, text] : *texts)
      if (size_t at = text.find('@'); at != std::string::npos)
        read.push_back(text.substr(at + 1));
  for (const std::string *path : {&flags.file, &config.columns})
    if (!path->empty())
      read.push_back(*path);
  if (!config.save.empty())
    requireWritable(config.save, read, Kind::Safetensors, flags.force, "--save");
  for (const std::string *states : {&config.save, &config.resume})
    if (!states->empty() && !std::filesystem::is_directory(*states))
      read.push_back(*states);
  for (const std::string &path : config.curves) {
    train::Curve::requireFormat(path);
    requireWritable(path, read, path.ends_with(".csv") ? Kind::Csv : Kind::Svg, flags.force, "--curve");
  }
}

static std::unique_ptr<sinter_module, ModuleCloser> openStep(const std::string &path) {
  sinter_module *module;
  sinter_status_code status = sinter_module_open(path.c_str(), nullptr, &module);
  if (status && (access(path.c_str(), R_OK) != 0 || status == SINTER_OUT_OF_MEMORY))
    stopFor(status);
  if (status)
    throw Stop(Exit::Failure,
               "train requires a step that sinter train-step made (.smod or .so), " + std::string(sinter_last_error()));
  return std::unique_ptr<sinter_module, ModuleCloser>(module);
}

static Exit runTrain(const TrainFlags &flags) {
  bool isTerminal = isatty(STDERR_FILENO) != 0, isLineOpen = false;
  const char *front = isTerminal ? "\r" : "", *end = isTerminal ? "\x1b[K" : "";
  auto closeLine = [&] {
    if (isLineOpen)
      std::cerr << "\n";
    isLineOpen = false;
  };
  try {
    train::Config config = configOf(flags);
    checkOutputs(flags, config);
    flags.shared.useDevice(flags.step);
    auto module = openStep(flags.step);
    train::Trainer trainer(module.get(), config);
    trainer.onLine = [&](const std::string &line, bool isLast) { // past what escapes control characters
      if (isLast || isTerminal)
        std::fprintf(stderr, "%s%s%s%s", front, line.c_str(), end, isLast ? "\n" : "");
      isLineOpen = !isLast && isTerminal;
    };
    trainer.onWarning = [&](const std::string &text) {
      std::fprintf(stderr, "%ssinter: warning: %s%s\n", front, oneLine(text).c_str(), end);
    };
    running = &trainer;
    std::signal(SIGINT, interrupt);
    std::signal(SIGTERM, interrupt);
    train::Outcome outcome;
    std::string goOn = trainer.resumePath().empty() ? "; nothing is saved without --save"
                                                    : "; go on with --resume " + trainer.resumePath();
    try {
      outcome = trainer.run();
    } catch (const data::Error &error) {
      running = nullptr;
      closeLine();
      if (!std::string_view(error.what()).starts_with("step "))
        throw;
      stopFor(data::Error(error.code(), error.what() + goOn));
    }
    running = nullptr;
    for (const train::RowTable &table : trainer.rowTables())
      std::fprintf(stderr, "%s\n", oneLine(table.describe()).c_str());
    if (outcome.end == train::End::Interrupted)
      throw Stop(Exit::Failure, "interrupted after step " + std::to_string(outcome.steps) + goOn);
    if (outcome.end == train::End::NoBetter)
      std::fprintf(stderr, "ended after step %lld: %s was best after step %lld, %.6g\n",
                   static_cast<long long>(outcome.steps),
                   (config.stopOn.empty() ? config.metrics.at(0) : config.stopOn).c_str(),
                   static_cast<long long>(outcome.bestStep), outcome.best);
    return Exit::Success;
  } catch (const data::Error &error) {
    closeLine();
    stopFor(error);
  }
}

void sinter::tool::addTrain(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<TrainFlags>();
  train::Config &config = flags->config;
  CLI::App *command = program.add_subcommand("train", "run a compiled training step over data");
  flags->command = command;
  // An option whose field is taken where it was given.
  auto add = [&](const char *name, auto member, const char *text) {
    CLI::Option *option = command->add_option(name, config.*member, text);
    TrainFlags *raw = flags.get();
    flags->given.push_back([raw, option, member](train::Config &to) {
      if (option->count())
        to.*member = raw->config.*member;
    });
    return option;
  };
  using train::Config;
  command->add_option("step", flags->step, "step that sinter train-step made (.smod or .so)")->required();
  command->add_option("--config", flags->file,
                      "JSON file of what follows (README of runtime/train); flags go before it");
  command
      ->add_option(
          "--data", flags->data,
          "NAME=@x.npy: samples along the first dim; NAME=all@x.npy: the same in each step; NAME=0.01: a number; "
          "NAME=@table.csv: with --columns; NAME=@folder: pictures or sounds in folders that are their labels")
      ->allow_extra_args(false)
      ->take_all();
  command
      ->add_option("--rows", flags->rows,
                   "NAME=@FOLDER,table=STATE,rows=N: input NAME looks up rows of a table larger than memory, of which "
                   "the step's state holds some; also bound, stored (f32, bf16, i8), shards, seed, readers")
      ->allow_extra_args(false)
      ->take_all();
  add("--columns", &Config::columns,
      "JSON file of feature columns, fitted: each input of a table (.csv, .tsv, .jsonl, .tfrecord, "
      ".npz, .safetensors) is the column of its name");
  add("--epochs", &Config::epochs, "train until each sample has been seen so many times")->check(positive());
  add("--steps", &Config::steps, "train until so many steps have been done")->check(positive());
  add("--batch", &Config::batch, "samples in a step that leaves it open (default 32)")->check(positive());
  add("--shuffle", &Config::shuffle, "seed of an order of the samples, another one in each epoch");
  add("--seed", &Config::seed, "seed of random numbers in the step such as dropout's");
  command
      ->add_option("--validation", flags->validation,
                   "data for --metric, as --data; what is not given is taken from there")
      ->allow_extra_args(false)
      ->take_all();
  add("--validation-share", &Config::validationShare, "share of the samples that is kept for --metric, such as 0.1")
      ->check(CLI::Range(0.0, 1.0));
  add("--metric", &Config::metrics,
      "after each epoch: accuracy, topN, f1, auc, cross_entropy, perplexity, mse, mae; NAME:OUTPUT,TARGET")
      ->allow_extra_args(false)
      ->take_all();
  add("--validate-every", &Config::validateEvery, "after so many steps instead")->check(positive());
  add("--patience", &Config::patience, "end when so many validations in a row were no better")->check(positive());
  add("--stop-on", &Config::stopOn, "the metric that says what is better (default the first)");
  add("--min-delta", &Config::minDelta, "what counts as better")->check(CLI::NonNegativeNumber);
  add("--save", &Config::save,
      "safetensors file to write all states to, after each epoch, and where a step fails or is interrupted");
  add("--save-every", &Config::saveEvery, "save also within an epoch, each time so many steps are done")
      ->check(positive());
  add("--checkpoints", &Config::checkpoints, "folder to write checkpoints to, as often as --save; the best one, too");
  add("--keep", &Config::keep, "how many of them stay (default 3)")->check(positive());
  add("--resume", &Config::resume, "safetensors file to go on from, or folder of checkpoints");
  add("--curve", &Config::curves, "file for the loss of each step: .csv or .svg; a .csv goes on with --resume")
      ->allow_extra_args(false)
      ->take_all();
  add("--events", &Config::events, "folder for a file that TensorBoard shows; goes on with --resume");
  add("--threads", &Config::threads, "threads to run on (default: all cores)")->check(CLI::Range(1, 1024));
  add("--memory-folder", &Config::memoryFolder,
      "folder whose disk holds states and activations, as mapped files that have no names: for steps larger than "
      "memory");
  flags->shared.addDeviceTo(*command);
  addForce(*command, flags->force);
  command->callback([flags, &result] { result = runTrain(*flags); });
}
