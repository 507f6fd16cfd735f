// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a training is told: as fields, or as an object of JSON with the same names, in which `sinter train --config` and
// C programs write it.
//
//   {"data": {"x": "@x.npy", "labels": "@labels.npy"}, "epochs": 10, "batch": 32, "shuffle": 1,
//    "validation_share": 0.1, "metrics": ["accuracy"], "patience": 3, "checkpoints": "run", "curves": ["run/loss.csv"]}

#ifndef SINTER_RUNTIME_TRAIN_CONFIG_H
#define SINTER_RUNTIME_TRAIN_CONFIG_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::train {

struct Config {
  // The data, by input of the step: "@x.npy" (samples along the first dim), "all@x.npy" (the same in each step), "0.01"
  // (a number), "@table.csv" with `columns`, "@folder" (pictures or sounds in folders that are their labels).
  std::map<std::string, std::string> data{};
  // Tables larger than memory, by the input that looks up their rows: "@folder,table=embedding.weight,rows=16000000"
  // (RowTable.h).
  std::map<std::string, std::string> rows{};
  std::string columns{};             // fitted feature columns, of a table
  std::optional<int64_t> batch{};    // samples in a step that leaves it open; 32
  std::optional<uint64_t> shuffle{}; // seed of an order of the samples, another one in each epoch
  std::optional<uint64_t> seed{};    // of random numbers in the step
  int64_t memoryBytes = 1 << 30;     // arrays up to this size are held in memory, larger ones read as they are needed

  int64_t epochs = 0, steps = 0; // one of them
  int threads = 0;               // 0: all cores
  std::string memoryFolder{};    // states and activations lie in mapped files there (sinter_session_options.folder)

  // Validation: other data, or a share of the samples that the seed of it chooses and no step sees.
  std::map<std::string, std::string> validation{};
  double validationShare = 0;
  uint64_t validationSeed = 0;
  std::vector<std::string> metrics{}; // Metrics.h
  int64_t validateEvery = 0;          // steps; 0: each epoch
  std::string stopOn{};               // the metric for `patience` and the best checkpoint; empty: the first
  int64_t patience = 0;               // ends when so many validations in a row were no better; 0: never
  double minDelta = 0;                // what counts as better

  std::string save{};                // safetensors file of all states, written after each epoch and at the end
  int64_t saveEvery = 0;             // also within an epoch, each time so many steps are done
  std::string checkpoints{};         // folder of whole checkpoints, written as often
  int64_t keep = 3;                  // that many of them
  std::string resume{};              // a file of `save`, a checkpoint, or a folder of them
  std::vector<std::string> curves{}; // .csv or .svg
  std::string events{};              // folder for a TensorBoard event file
};

/// Reads the text of a file named `name` over what `config` has. Throws data::Error that names the field.
void readConfig(std::string_view json, const std::string &name, Config &config);
/// The same for the file itself.
void loadConfig(const std::string &path, Config &config);

} // namespace sinter::train

#endif
