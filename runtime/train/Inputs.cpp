// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Inputs.h"
#include "../data/Arrays.h"
#include "../decimal.h"
#include <charconv>
#include <filesystem>

using namespace sinter;
using namespace sinter::train;

[[noreturn]] static void refuse(const std::string &message) { throw data::Error(SINTER_INVALID_ARGUMENT, message); }

bool sinter::train::isState(const sinter_function &function, int32_t index) {
  for (int32_t s = 0; s < function.num_states; ++s)
    if (function.states[s].input == index)
      return true;
  return false;
}

std::string sinter::train::inputNames(const sinter_function &function) {
  std::string names;
  for (int32_t i = 0; i < function.num_inputs; ++i)
    if (!isState(function, i))
      names += (names.empty() ? "" : ", ") + std::string(function.inputs[i].name);
  return names;
}

/// Whether a sample may have several rows of an input: a loss compares it with an output whose first dim only running
/// tells, such as all words of all sentences.
static bool hasOwnRows(const sinter_function &step, const sinter_tensor_type &type) {
  return type.rank > 0 && type.dims[0] < 0 && step.symbol_names[-1 - type.dims[0]] == std::string(type.name) + ".0";
}

namespace {
/// The data of one configuration: of what is trained on, or of a validation.
class Opening {
public:
  Opening(const sinter_function &step, const Config &config, const std::map<std::string, std::string> &texts,
          bool onlyConstants = false)
      : step(step), config(config) {
    read(texts, onlyConstants);
  }

  Batches batches(const Share &share) const {
    bool isTraining = share.part != Share::Validation && !isValidation;
    BatchPlan plan{batch, isBatchFixed && isTraining, isTraining ? config.shuffle : std::nullopt};
    if (table)
      return table->batches(plan, share);
    if (folder)
      return folder->batches(plan, share);
    return arrayBatches(arrays, samples, plan, share, config.memoryBytes);
  }
  /// Refuses batches that no step can take.
  void requireStep(const Batches &made, const Share &share, const std::string &what) const {
    int64_t count = share.part == Share::All ? samples : static_cast<int64_t>(share.of(samples).size());
    if (count < 1 || made.perEpoch() < 1)
      refuse(what + " requires a batch of samples at least, got " + std::to_string(count) + " samples and batches of " +
             std::to_string(batch));
  }

  bool isValidation = false;
  std::map<std::string, data::Value> constants;
  std::vector<std::string> notes;
  int64_t samples = -1;

private:
  void read(const std::map<std::string, std::string> &texts, bool onlyConstants);
  void readInput(const sinter_tensor_type &type, const std::string &text);
  void readArray(const sinter_tensor_type &type, const std::string &path, bool isWhole);
  bool readRecords(const sinter_tensor_type &type, const std::string &path);
  void readNumber(const sinter_tensor_type &type, const std::string &text);
  void countSamples();
  void chooseBatch();

  const sinter_function &step;
  const Config &config;
  std::string recordsPath;
  std::unique_ptr<Table> table;
  std::unique_ptr<Folder> folder;
  std::vector<const sinter_tensor_type *> walked;
  std::vector<ArrayColumn> arrays;
  std::vector<int64_t> arrayRows;
  int64_t batch = 0;
  bool isBatchFixed = false;
};
} // namespace

void Opening::read(const std::map<std::string, std::string> &texts, bool onlyConstants) {
  for (const auto &[name, text] : texts) {
    int32_t input = sinter_function_find_input(&step, name.c_str());
    if (input < 0 || isState(step, input))
      refuse("the step has no input '" + name + "'; it takes " + inputNames(step));
  }
  for (int32_t i = 0; i < step.num_inputs; ++i) {
    if (isState(step, i))
      continue;
    const sinter_tensor_type &type = step.inputs[i];
    auto text = texts.find(type.name);
    if (onlyConstants && text == texts.end())
      continue;
    if (onlyConstants && text->second.starts_with("@"))
      refuse("data " + text->first + " requires a number or all@FILE.npy where a data set is given, got '" +
             text->second + "'");
    if (text == texts.end())
      refuse("training requires data " + std::string(type.name) + (type.rank ? "=@FILE.npy" : "=NUMBER") +
             "; the step takes " + inputNames(step));
    readInput(type, text->second);
  }
  for (const ArrayColumn &column : arrays) // it would need the order of the records
    if (table || folder)
      refuse("data " + column.name +
             (folder ? " requires all@FILE.npy beside a folder, or to come from it"
                     : " requires all@FILE.npy beside a table, or to be a column of it"));
  if (!config.columns.empty() && !table)
    refuse("columns require data NAME=@TABLE, a table for one of the inputs");
  countSamples();
  chooseBatch();
}

void Opening::readInput(const sinter_tensor_type &type, const std::string &text) {
  bool isWhole = text.starts_with("all@");
  if (!isWhole && !text.starts_with("@"))
    return readNumber(type, text);
  std::string path = text.substr(isWhole ? 4 : 1);
  if (type.rank == 0 && !isWhole)
    refuse("data " + std::string(type.name) + " requires a number or all@FILE.npy, as the input has rank 0, got '" +
           text + "'");
  if (!isWhole)
    walked.push_back(&type);
  if (isWhole || !readRecords(type, path))
    readArray(type, path, isWhole);
}

/// Of a folder or table; false where `path` is none.
bool Opening::readRecords(const sinter_tensor_type &type, const std::string &path) {
  bool isFolder = config.columns.empty() && std::filesystem::is_directory(path);
  if (!isFolder && (config.columns.empty() || path.ends_with(".npy")))
    return false;
  if (recordsPath.empty() && isFolder) {
    folder = std::make_unique<Folder>(path);
    if (std::string others = folder->describeOthers(); !others.empty())
      notes.push_back(others);
  } else if (recordsPath.empty()) {
    table = std::make_unique<Table>(path, config.columns);
  } else if (recordsPath != path) {
    refuse((isFolder ? "data require one folder for all inputs, got " : "columns require one table, got ") +
           recordsPath + " and " + path);
  }
  recordsPath = path;
  if (folder)
    folder->require(type);
  else
    table->require(type);
  return true;
}

void Opening::readArray(const sinter_tensor_type &type, const std::string &path, bool isWhole) {
  data::ArrayPlace place = data::locateArray(path);
  if (place.dims.rank() != type.rank || place.dtype != type.dtype)
    refuse("data " + std::string(type.name) + " requires " + sinter_dtype_name(type.dtype) + " of rank " +
           std::to_string(type.rank) + (isWhole ? "" : " with a first dim of samples") + ", " + path + " has " +
           sinter_dtype_name(place.dtype) + " of rank " + std::to_string(place.dims.rank()));
  if (!isWhole) {
    arrays.push_back({type.name, path});
    arrayRows.push_back(place.dims[0]);
    return;
  }
  sinter_tensor tensor;
  data::check(sinter_npy_read(path.c_str(), &tensor));
  constants[type.name] = data::Value::take(tensor);
}

void Opening::readNumber(const sinter_tensor_type &type, const std::string &text) {
  double number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool isWide = type.dtype == SINTER_F64;
  if (error != std::errc() || rest != text.data() + text.size() || type.rank != 0 ||
      (!isWide && type.dtype != SINTER_F32))
    refuse("data require NAME=@FILE.npy, NAME=all@FILE.npy, or a number for an input of rank 0 and f32 or f64, got '" +
           text + "' for '" + type.name + "'");
  constants[type.name] = isWide ? data::Value::scalar(number) : data::Value::scalar(static_cast<float>(number));
}

/// Samples are the rows of what is walked; of inputs with rows of their own, each has as many.
void Opening::countSamples() {
  std::string firstName;
  if (table || folder) {
    samples = table ? table->samples() : folder->samples();
    return;
  }
  for (bool own : {false, true})
    for (size_t k = 0; k < arrays.size(); ++k) {
      int64_t count = arrayRows[k];
      if (hasOwnRows(step, *walked[k]) != own)
        continue;
      if (own && samples > 0 && count % samples == 0 && count > 0) {
        arrays[k].rows = count / samples;
        continue;
      }
      if (samples >= 0 && count != samples)
        refuse("data require as many samples in each file, got " + std::to_string(samples) + " of '" + firstName +
               "' and " + std::to_string(count) + " of '" + arrays[k].name +
               "'; NAME=all@FILE.npy gives a file whole in each step");
      samples = count;
      firstName = arrays[k].name;
    }
  if (samples < 0) // nothing is walked: an epoch is a step
    samples = 1;
}

void Opening::chooseBatch() {
  batch = config.batch.value_or(32);
  std::string firstName;
  for (const sinter_tensor_type *type : walked)
    if (int64_t fixed = type->dims[0]; fixed >= 0) {
      if (isBatchFixed && fixed != batch)
        refuse("data require inputs with one size of batches, the step takes " + std::to_string(batch) + " of '" +
               firstName + "' and " + std::to_string(fixed) + " of '" + type->name +
               "'; NAME=all@FILE.npy gives a file whole in each step");
      batch = fixed;
      firstName = type->name;
      isBatchFixed = true;
    }
  if (config.batch && *config.batch != batch)
    refuse("a batch of " + std::to_string(*config.batch) +
           " requires a step that leaves its batch open, the step takes " + std::to_string(batch) + " samples");
  batch = std::max<int64_t>(batch, 1);
}

std::map<std::string, data::Value> sinter::train::openConstants(const sinter_function &step, const Config &config) {
  return Opening(step, config, config.data, /*onlyConstants=*/true).constants;
}

Inputs sinter::train::openInputs(const sinter_function &step, const Config &config) {
  Inputs inputs;
  if (!(config.validationShare >= 0 && config.validationShare < 1))
    refuse("a validation requires a share of at least 0 and below 1, got " + decimal(config.validationShare));
  if (config.validationShare > 0 && !config.validation.empty())
    refuse("a validation requires data of its own or a share of those trained on, got both");
  Opening training(step, config, config.data);
  bool isShared = config.validationShare > 0;
  Share share{isShared ? Share::Training : Share::All, config.validationShare, config.validationSeed};
  inputs.training = training.batches(share);
  training.requireStep(inputs.training, share, "training");
  inputs.constants = training.constants;
  inputs.notes = training.notes;
  if (isShared) {
    share.part = Share::Validation;
    inputs.validation = training.batches(share);
    training.requireStep(inputs.validation, share, "a validation");
  } else if (!config.validation.empty()) {
    std::map<std::string, std::string> texts = config.data; // what is the same in each step need not be said twice
    for (const auto &[name, text] : config.validation)
      texts[name] = text;
    Opening validation(step, config, texts);
    validation.isValidation = true;
    inputs.validation = validation.batches({});
    validation.requireStep(inputs.validation, {}, "a validation");
    inputs.notes.insert(inputs.notes.end(), validation.notes.begin(), validation.notes.end());
  }
  return inputs;
}
