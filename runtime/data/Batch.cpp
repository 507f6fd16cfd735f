// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// batch and bucketByLength: several records as one.

#include "Numbers.h"
#include "Upstream.h"
#include <algorithm>

using namespace sinter::data;

//===- Stacking -------------------------------------------------------------------------------------===//

/// `number` as an element of `dtype`.
static std::array<char, 8> element(double number, int32_t dtype, const std::string &column) {
  std::array<char, 8> bytes = {};
  bool isKnown = tryWithType(dtype, [&]<typename T>() {
    T value = std::is_same_v<T, bool> ? number != 0 : static_cast<T>(number);
    std::memcpy(bytes.data(), &value, sizeof value);
  });
  if (!isKnown && number != 0)
    throw Error(SINTER_UNSUPPORTED, "column '" + column + "' of " + dtypeName(dtype) + " can be padded with 0 only");
  return bytes;
}

/// Calls `visit(from, to, count)` for each run of elements of a tensor of `dims` that lies in one of `outer` dims.
template <typename Visit> static void eachRun(const Dims &dims, const Dims &outer, Visit visit) {
  if (dims.count() == 0)
    return;
  int32_t rank = dims.rank();
  int64_t run = rank ? dims[rank - 1] : 1, total = dims.count() / run;
  std::array<int64_t, SINTER_MAX_RANK> at = {};
  for (int64_t i = 0; i < total; ++i) {
    int64_t to = 0;
    for (int32_t d = 0; d < rank; ++d)
      to = to * outer[d] + at[static_cast<size_t>(d)];
    visit(i * run, to, run);
    for (int32_t d = rank - 2; d >= 0 && ++at[static_cast<size_t>(d)] == dims[d]; --d)
      at[static_cast<size_t>(d)] = 0;
  }
}

static Value stackPadded(const std::vector<const Value *> &values, const Dims &dims, double number,
                         const std::string &column) {
  int32_t dtype = values[0]->dtype();
  Dims outer = dims.withFront(static_cast<int64_t>(values.size()));
  int64_t each = dims.count(), total = outer.count();
  if (dtype == Bytes) {
    std::vector<std::string> texts(static_cast<size_t>(total));
    for (size_t v = 0; v < values.size(); ++v)
      eachRun(values[v]->dims(), dims, [&](int64_t from, int64_t to, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
          texts[v * static_cast<size_t>(each) + static_cast<size_t>(to + i)] = values[v]->bytes(from + i);
      });
    return Value::strings(texts, outer);
  }
  int64_t size = sinter_dtype_bytes(dtype);
  auto memory = allocate(total * size);
  std::array<char, 8> padding = element(number, dtype, column);
  for (size_t v = 0; v < values.size(); ++v) {
    char *to = memory.get() + static_cast<int64_t>(v) * each * size;
    if (values[v]->dims() == dims) {
      if (each)
        std::memcpy(to, values[v]->data(), static_cast<size_t>(each * size));
      continue;
    }
    for (int64_t i = 0; i < each; ++i)
      std::memcpy(to + i * size, padding.data(), static_cast<size_t>(size));
    eachRun(values[v]->dims(), dims, [&](int64_t from, int64_t at, int64_t count) {
      std::memcpy(to + at * size, values[v]->data() + from * size, static_cast<size_t>(count * size));
    });
  }
  return Value(dtype, outer, std::move(memory));
}

static Value stackRagged(const std::vector<const Value *> &values, const std::string &column) {
  std::vector<int64_t> splits = {0};
  for (const Value *value : values) {
    if (value->dims().rank() == 0 || !(value->dims().withoutFront() == values[0]->dims().withoutFront()))
      throw Error(SINTER_INVALID_ARGUMENT, "ragged column '" + column +
                                               "' requires values that differ in their first " + "dim only, got " +
                                               values[0]->dims().text() + " and " + value->dims().text());
    splits.push_back(splits.back() + value->dims()[0]);
  }
  Dims dims = values[0]->dims();
  dims.set(0, splits.back());
  if (values[0]->dtype() == Bytes) {
    std::vector<std::string> texts;
    for (const Value *value : values)
      for (int64_t i = 0; i < value->count(); ++i)
        texts.emplace_back(value->bytes(i));
    return Value::ragged(Value::strings(texts, dims), splits);
  }
  int64_t size = sinter_dtype_bytes(values[0]->dtype()), at = 0;
  auto memory = allocate(dims.count() * size);
  for (const Value *value : values) {
    if (value->count())
      std::memcpy(memory.get() + at, value->data(), static_cast<size_t>(value->count() * size));
    at += value->count() * size;
  }
  return Value::ragged(Value(values[0]->dtype(), dims, std::move(memory)), splits);
}

/// What the records of one column become.
static Dims paddedDims(const std::vector<const Value *> &values, const Pad &pad, const std::string &column) {
  Dims dims = values[0]->dims();
  for (const Value *value : values) {
    if (value->dims().rank() != dims.rank() ||
        (!pad.dims.empty() && static_cast<int32_t>(pad.dims.size()) != dims.rank()))
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column + "' requires values of one rank to be padded, got " +
                                               dims.text() + " and " + value->dims().text());
    for (int32_t d = 0; d < dims.rank(); ++d)
      dims.set(d, std::max(dims[d], value->dims()[d]));
  }
  for (int32_t d = 0; d < static_cast<int32_t>(pad.dims.size()); ++d) {
    int64_t size = pad.dims[static_cast<size_t>(d)];
    if (size >= 0 && size < dims[d])
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column + "' requires sizes of at most " + std::to_string(size) +
                                               " to be padded, got " + dims.text());
    if (size >= 0)
      dims.set(d, size);
  }
  return dims;
}

Record sinter::data::stack(std::span<const Record> records, const std::map<std::string, Pad> &pads,
                           const std::set<std::string> &ragged) {
  std::vector<Value> columns;
  const Record &first = records[0];
  for (int64_t c = 0; c < first.size(); ++c) {
    const std::string &name = first.name(c);
    std::vector<const Value *> values;
    bool isEqual = true;
    for (const Record &record : records) {
      const Value &value = record.size() == first.size() && record.name(c) == name ? record.value(c) : record[name];
      if (value.isRagged() || value.dtype() != first.value(c).dtype())
        throw Error(SINTER_INVALID_ARGUMENT, "column '" + name +
                                                 "' requires dense values of one dtype in a batch, got " +
                                                 dtypeName(first.value(c).dtype()) + " and " +
                                                 (value.isRagged() ? "ragged " : "") + dtypeName(value.dtype()));
      isEqual &= value.dims() == first.value(c).dims();
      values.push_back(&value);
    }
    auto pad = pads.find(name);
    if (ragged.contains(name)) {
      columns.push_back(stackRagged(values, name));
    } else if (pad != pads.end()) {
      columns.push_back(stackPadded(values, paddedDims(values, pad->second, name), pad->second.number, name));
    } else if (isEqual) {
      columns.push_back(stackPadded(values, values[0]->dims(), 0, name));
    } else {
      auto other = std::ranges::find_if(values, [&](const Value *v) { return !(v->dims() == values[0]->dims()); });
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + name + "' requires equal dims in a batch, a pad or to be " +
                                               "ragged, got " + values[0]->dims().text() + " and " +
                                               (*other)->dims().text());
    }
  }
  return {first.names(), std::move(columns)};
}

//===- Stages ---------------------------------------------------------------------------------------===//

namespace {
class Batch : public Iterator {
public:
  Batch(std::unique_ptr<Iterator> input, const BatchOptions &options) : input(std::move(input)), options(options) {}
  /// An error in the middle keeps what was read, so that the next call goes on with it.
  bool next(Record &record) override {
    if (held.empty()) {
      input.mark();
      start = input.attempts();
      input.forgetBefore(start);
    }
    Record one;
    while (static_cast<int64_t>(held.size()) < options.size && input.next(one))
      held.push_back(std::move(one));
    if (held.empty() || (options.dropRemainder && static_cast<int64_t>(held.size()) < options.size))
      return false;
    std::vector<Record> records = std::move(held);
    held.clear();
    record = stack(records, options.pads, options.ragged);
    ++passed;
    return true;
  }
  void save(StateWriter &writer) const override {
    if (held.empty())
      input.saveHere(writer);
    else
      input.save(writer, start);
    writer.number(input.attempts());
  }
  void load(StateReader &reader) override {
    start = input.load(reader);
    int64_t attempts = reader.number(INT64_MAX);
    while (input.attempts() < attempts) {
      try {
        Record one;
        if (!input.next(one))
          return;
        held.push_back(std::move(one));
      } catch (const Error &error) {
        if (!error.skippable())
          throw;
      }
    }
  }
  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "batch", .records = passed});
  }

private:
  Upstream input;
  BatchOptions options;
  std::vector<Record> held;
  int64_t start = 0, passed = 0;
};

class Bucket : public Iterator {
public:
  Bucket(std::unique_ptr<Iterator> input, const BucketOptions &options)
      : input(std::move(input)), options(options), buckets(options.sizes.size()) {}

  bool next(Record &record) override {
    Record one;
    for (;;) {
      if (!isAtEnd) {
        if (input.attempts() % 64 == 0) {
          input.mark();
          input.forgetBefore(oldest());
          input.thin(64);
        }
        int64_t number = input.attempts();
        isAtEnd = !input.next(one);
        if (!isAtEnd) {
          size_t b = bucketOf(one);
          buckets[b].push_back({number, std::move(one)});
          if (static_cast<int64_t>(buckets[b].size()) == options.sizes[b])
            return give(b, record);
          continue;
        }
      }
      while (drained < buckets.size() && (buckets[drained].empty() || options.dropRemainder))
        ++drained;
      return drained < buckets.size() && give(drained, record);
    }
  }

  /// Where the records held are, not what they are.
  void save(StateWriter &writer) const override {
    input.save(writer, oldest());
    writer.number(input.attempts());
    writer.number(isAtEnd);
    for (const auto &bucket : buckets) {
      writer.number(static_cast<int64_t>(bucket.size()));
      for (const Held &held : bucket)
        writer.number(held.number);
    }
  }

  void load(StateReader &reader) override {
    input.load(reader);
    int64_t attempts = reader.number(INT64_MAX);
    isAtEnd = reader.number(1);
    std::map<int64_t, size_t> wanted;
    for (size_t b = 0; b < buckets.size(); ++b)
      for (int64_t i = 0, count = reader.number(options.sizes[b]); i < count; ++i)
        wanted[reader.number(attempts)] = b;
    while (input.attempts() < attempts) {
      int64_t number = input.attempts();
      auto found = wanted.find(number);
      if (found == wanted.end()) {
        skipOne(input);
        continue;
      }
      Record one;
      if (!input.next(one))
        break;
      buckets[found->second].push_back({number, std::move(one)});
    }
  }

  void report(std::vector<StageStatistics> &stages) const override {
    input.report(stages);
    stages.push_back({.stage = "bucket", .records = passed});
  }

private:
  struct Held {
    int64_t number;
    Record record;
  };

  size_t bucketOf(const Record &record) const {
    const Value &value = record[options.column];
    if (value.dims().rank() == 0 && value.dtype() != Bytes)
      throw Error(SINTER_INVALID_ARGUMENT,
                  "column '" + options.column + "' requires a length, got a scalar of " + dtypeName(value.dtype()));
    int64_t length = value.dims().rank() ? value.dims()[0] : static_cast<int64_t>(value.bytes().size());
    auto bound = std::ranges::upper_bound(options.boundaries, length);
    return static_cast<size_t>(bound - options.boundaries.begin());
  }

  int64_t oldest() const {
    int64_t number = input.attempts();
    for (const auto &bucket : buckets)
      if (!bucket.empty())
        number = std::min(number, bucket.front().number);
    return number;
  }

  bool give(size_t b, Record &record) {
    std::vector<Record> records;
    for (Held &held : buckets[b])
      records.push_back(std::move(held.record));
    buckets[b].clear();
    record = stack(records, options.pads, options.ragged);
    ++passed;
    return true;
  }

  Upstream input;
  BucketOptions options;
  std::vector<std::vector<Held>> buckets;
  bool isAtEnd = false;
  size_t drained = 0;
  int64_t passed = 0;
};
} // namespace

Dataset Dataset::batch(BatchOptions options) const {
  if (options.size < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "batch requires a size of 1 or more, got " + std::to_string(options.size));
  std::string text = "batch " + std::to_string(options.size) + (options.dropRemainder ? " whole" : "");
  return Dataset(std::make_shared<FunctionStage>(node, text, [=](const Node &input, int64_t epoch) {
    return std::make_unique<Batch>(input.begin(epoch), options);
  }));
}

Dataset Dataset::bucketByLength(BucketOptions options) const {
  if (options.sizes.size() != options.boundaries.size() + 1 || !std::ranges::is_sorted(options.boundaries) ||
      std::ranges::any_of(options.sizes, [](int64_t size) { return size < 1; }))
    throw Error(SINTER_INVALID_ARGUMENT,
                "bucketByLength requires rising boundaries and one batch size more than those, "
                "each 1 or more");
  std::string text = "bucket " + options.column;
  for (int64_t boundary : options.boundaries)
    text += " <" + std::to_string(boundary);
  for (int64_t size : options.sizes)
    text += " " + std::to_string(size);
  return Dataset(std::make_shared<FunctionStage>(
      node, text + (options.dropRemainder ? " whole" : ""),
      [=](const Node &input, int64_t epoch) { return std::make_unique<Bucket>(input.begin(epoch), options); }));
}
