// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Batches.h"
#include "../data/Arrays.h"
#include "../data/File.h"
#include "../data/Random.h"
#include "../decimal.h"
#include <algorithm>

using namespace sinter;
using namespace sinter::train;

Batches::Batches(const data::Dataset &dataset, int64_t perEpoch)
    : from([dataset](int64_t first) { return first ? dataset.skip(first) : dataset; }), count(perEpoch) {
  if (count >= 0)
    return;
  count = 0;
  auto iterator = dataset.begin(0);
  for (data::Record record; iterator->next(record);)
    ++count;
}

int64_t sinter::train::stepsOf(int64_t samples, const BatchPlan &plan) {
  return plan.dropsRest ? samples / plan.size : (samples + plan.size - 1) / plan.size;
}

bool Share::has(int64_t sample) const {
  if (part == All)
    return true;
  bool isTraining = static_cast<double>(data::draw(seed, 0, sample) >> 11) * 0x1p-53 < 1 - validation;
  return isTraining == (part == Training);
}

std::vector<int64_t> Share::of(int64_t count) const {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < count; ++i)
    if (has(i))
      samples.push_back(i);
  return samples;
}

namespace {
/// An array of a file, whole in memory or not.
struct Array {
  std::string name;
  int64_t rows = 1; // in a sample
  int32_t dtype = 0;
  data::Dims dims{};
  int64_t offset = 0, sampleBytes = 0;
  std::shared_ptr<const data::File> file{};
  data::Value whole{};
  bool isWhole = false;

  void read(int64_t sample, char *to) const {
    if (isWhole)
      std::memcpy(to, whole.data() + sample * sampleBytes, static_cast<size_t>(sampleBytes));
    else
      file->readAt(offset + sample * sampleBytes, to, sampleBytes);
  }
};

struct Arrays {
  std::vector<Array> arrays;
  data::Names names;
  std::vector<int64_t> samples; // of the share; empty: all
  int64_t count = 0;
  BatchPlan plan;
  std::string text;
};

class ArrayIterator : public data::Iterator {
public:
  ArrayIterator(std::shared_ptr<const Arrays> arrays, int64_t epoch, int64_t first) : of(std::move(arrays)), at(first) {
    if (of->plan.shuffle) // 8 bytes a sample
      order = orderOf(of->count, *of->plan.shuffle, epoch);
  }

  bool next(data::Record &record) override {
    int64_t first = at * of->plan.size, rows = std::min(of->plan.size, of->count - first);
    if (at >= stepsOf(of->count, of->plan))
      return false;
    std::vector<data::Value> values;
    for (const Array &array : of->arrays) {
      auto memory = data::allocate(rows * array.sampleBytes);
      for (int64_t i = 0; i < rows; ++i)
        array.read(sampleAt(first + i), memory.get() + i * array.sampleBytes);
      data::Dims dims = array.dims;
      dims.set(0, rows * array.rows);
      values.emplace_back(array.dtype, dims, std::move(memory));
    }
    record = data::Record(of->names, std::move(values));
    ++at;
    return true;
  }
  void save(data::StateWriter &writer) const override { writer.number(at); }
  void load(data::StateReader &reader) override { at = reader.number(INT64_MAX); }
  void report(std::vector<data::StageStatistics> &stages) const override {
    stages.push_back({.stage = "arrays", .records = at});
  }

private:
  /// The order of an epoch (SplitMix64, Fisher and Yates).
  static std::vector<int64_t> orderOf(int64_t count, uint64_t seed, int64_t epoch) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), int64_t(0));
    uint64_t state = data::mix(seed + data::golden) ^ data::mix(static_cast<uint64_t>(epoch) + 1);
    for (int64_t i = count; i > 1; --i) {
      state += data::golden;
      std::swap(order[static_cast<size_t>(i - 1)], order[static_cast<size_t>(data::below(data::mix(state), i))]);
    }
    return order;
  }
  int64_t sampleAt(int64_t place) const {
    int64_t i = order.empty() ? place : order[static_cast<size_t>(place)];
    return of->samples.empty() ? i : of->samples[static_cast<size_t>(i)];
  }

  std::shared_ptr<const Arrays> of;
  std::vector<int64_t> order;
  int64_t at;
};

class ArrayNode : public data::Node {
public:
  ArrayNode(std::shared_ptr<const Arrays> arrays, int64_t first) : arrays(std::move(arrays)), first(first) {}
  std::unique_ptr<data::Iterator> begin(int64_t epoch) const override {
    return std::make_unique<ArrayIterator>(arrays, epoch, first);
  }
  std::string signature() const override { return arrays->text; }

private:
  std::shared_ptr<const Arrays> arrays;
  int64_t first;
};
} // namespace

static Array openArray(const ArrayColumn &column) {
  data::ArrayPlace place = data::locateArray(column.path);
  Array array{.name = column.name, .rows = column.rows, .dtype = place.dtype, .dims = place.dims};
  array.file = std::make_shared<data::File>(column.path);
  array.offset = place.offset;
  array.sampleBytes = column.rows * sinter_dtype_bytes(place.dtype);
  for (int32_t d = 1; d < place.dims.rank(); ++d)
    array.sampleBytes *= place.dims[d];
  array.isWhole = place.isFortran; // a row of it lies everywhere
  return array;
}

Batches sinter::train::arrayBatches(const std::vector<ArrayColumn> &columns, int64_t samples, const BatchPlan &plan,
                                    const Share &share, int64_t memoryBytes) {
  auto made = std::make_shared<Arrays>();
  auto names = std::make_shared<std::vector<std::string>>();
  int64_t bytes = 0;
  for (const ArrayColumn &column : columns) {
    made->arrays.push_back(openArray(column));
    names->push_back(column.name);
    bytes += made->arrays.back().sampleBytes * samples;
    made->text += (made->text.empty() ? "arrays " : ", ") + column.name + " " + made->arrays.back().file->signature();
  }
  for (Array &array : made->arrays)
    if (array.isWhole || bytes <= memoryBytes) {
      sinter_tensor tensor;
      data::check(sinter_npy_read(array.file->path().c_str(), &tensor));
      array.whole = data::Value::take(tensor);
      array.isWhole = true;
      array.file = nullptr;
    }
  made->names = names;
  made->plan = plan;
  made->count = samples;
  if (share.part != Share::All) {
    made->samples = share.of(samples);
    made->count = static_cast<int64_t>(made->samples.size());
    made->text += " part " + std::to_string(share.part) + " of " + decimal(share.validation) + " seed " +
                  std::to_string(share.seed);
  }
  made->text += " | batch " + std::to_string(plan.size);
  if (plan.shuffle)
    made->text += " shuffle " + std::to_string(*plan.shuffle);
  std::shared_ptr<const Arrays> arrays = made;
  return Batches([arrays](int64_t first) { return data::Dataset(std::make_shared<ArrayNode>(arrays, first)); },
                 stepsOf(arrays->count, plan));
}
