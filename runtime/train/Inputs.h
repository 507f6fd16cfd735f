// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what a configuration says about data to batches for the inputs of a step.

#ifndef SINTER_RUNTIME_TRAIN_INPUTS_H
#define SINTER_RUNTIME_TRAIN_INPUTS_H

#include "Batches.h"
#include "Config.h"

namespace sinter::train {

/// What a step is fed with, and what a validation looks at.
struct Inputs {
  Batches training, validation;                   // the second may be empty
  std::map<std::string, data::Value> constants{}; // the same in each step
  std::vector<std::string> notes{};               // what should be known but is no error, a line each
};

/// Opens the data of `config` for `step`. Throws data::Error where they do not fit.
Inputs openInputs(const sinter_function &step, const Config &config);

/// What `config.data` gives that is the same in each step, where everything else comes from elsewhere.
std::map<std::string, data::Value> openConstants(const sinter_function &step, const Config &config);

/// Whether input `index` is a state, which nobody feeds.
bool isState(const sinter_function &function, int32_t index);
/// The names of those that are none, with commas.
std::string inputNames(const sinter_function &function);

/// A folder of pictures or sounds: an input of integers is the label, the number of the folder within it that a file is
/// in; an input of floats is what the file holds: pixels in [0, 1] as [height, width], [height, width, channels],
/// [channels, height, width] or one behind the other; of sounds the mean of the channels, cut or continued by silence.
class Folder {
public:
  explicit Folder(const std::string &path);
  int64_t samples() const { return source->size(); }
  /// Files that are left out, as a line; empty where there are none.
  std::string describeOthers() const;
  /// Throws unless the first file has what the input takes.
  void require(const sinter_tensor_type &type);
  Batches batches(const BatchPlan &plan, const Share &share) const;

  /// How an input takes what a file holds.
  struct Input {
    std::string name;
    int32_t dtype = SINTER_F32;
    std::vector<int64_t> dims{}; // of a sample, -1: as it comes
    bool isLabel = false;
  };

private:
  std::string path;
  std::shared_ptr<const data::Source> source;
  std::vector<Input> inputs;
};

/// A table through fitted feature columns, never whole in memory.
class Table {
public:
  /// Rows move within windows of this many.
  static constexpr int64_t windowRows = 65536;

  /// Reads the columns' description and counts the rows of the table, in one pass.
  Table(const std::string &path, const std::string &columns);
  ~Table();
  int64_t samples() const;
  /// Throws unless the columns make `type`, the step's input of that name, of every batch.
  void require(const sinter_tensor_type &type) const;
  Batches batches(const BatchPlan &plan, const Share &share) const;

private:
  struct Opened;
  std::shared_ptr<const Opened> opened;
};

/// `value` as a tensor of the rank that is wanted: [n, 1] and [n] are the same.
sinter_tensor withRank(const data::Value &value, int32_t rank);

} // namespace sinter::train

#endif
