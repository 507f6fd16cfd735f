// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch of tf.Examples straight into columns: the elements of each feature go where they stay, without a value for
// each record.

#include "ExampleWire.h"
#include "Growing.h"
#include <algorithm>

using namespace sinter::data;
using namespace sinter::data::wire;

namespace {
/// One column of the batch. T is the type of its elements.
template <typename T> class Column {
public:
  Column(const Feature &feature, size_t records) : feature(feature), inner(1) {
    isOpen = !feature.dims.empty() && feature.dims[0] < 0;
    for (size_t d = isOpen; d < feature.dims.size(); ++d)
      inner *= feature.dims[d];
    if (isOpen)
      splits.reserve(records + 1), splits.push_back(0);
  }

  /// Memory for what `contents` hold at most, where that is known by their bytes.
  void reserve(std::span<const std::string_view> contents) {
    if constexpr (std::is_same_v<T, float>) {
      int64_t bytes = 32;
      for (std::string_view content : contents)
        bytes += static_cast<int64_t>(content.size());
      elements.reserve(bytes);
    }
  }

  /// Appends what a record has, or the default where it has nothing. Memory up to `limit` may be read.
  void add(std::string_view content, const char *limit) {
    this->limit = limit;
    int64_t before = count;
    const char *end = content.data() + content.size(), *list = onlyField(content.data(), end, key),
               *values = list ? onlyField(list, end, 10) : nullptr;
    if (values) [[likely]] // one list with one field: what writers make of packed numbers and single strings
      addField({values, static_cast<size_t>(end - values)});
    else if (!addGeneral(content))
      return addDefault();
    int64_t added = count - before;
    if (!isOpen && added == inner) [[likely]]
      return;
    if (isOpen && inner > 0 && added % inner == 0)
      splits.push_back(splits.back() + added / inner);
    else
      dimsFor(feature, feature.dims, added); // throws
  }

  Value finish(int64_t records) {
    std::vector<int64_t> sizes(feature.dims);
    if (isOpen)
      sizes[0] = splits.back();
    else
      sizes.insert(sizes.begin(), records);
    Dims dims{std::span<const int64_t>(sizes)};
    Value value;
    if constexpr (std::is_same_v<T, std::string_view>) {
      value = texts.take(dims);
    } else {
      value = Value(feature.dtype, dims, elements.take());
    }
    return isOpen ? Value::ragged(value, splits) : value;
  }

private:
  static constexpr char key = std::is_same_v<T, std::string_view> ? 10 : std::is_floating_point_v<T> ? 18 : 26;

  [[gnu::always_inline]] void addField(std::string_view bytes) {
    if constexpr (std::is_same_v<T, std::string_view>)
      addText(bytes);
    else if constexpr (std::is_floating_point_v<T>)
      addFloats(bytes);
    else
      addIntegers(bytes);
  }

  /// False where there is no list.
  [[gnu::noinline]] bool addGeneral(std::string_view content) {
    List list = listOf(content);
    if (!list.kind) {
      if (!feature.hasDefault)
        missing(feature);
      return false;
    }
    requireKind(feature, list);
    eachElement(
        list, [&](std::string_view text) { addText(text); }, [&](std::string_view bytes) { addFloats(bytes); },
        [&](int64_t integer) { addInteger(integer); }, [&](std::string_view packed) { addIntegers(packed); });
    return true;
  }

  void addText(std::string_view text) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      texts.add(text, limit);
      ++count;
    }
  }

  void addFloats(std::string_view bytes) {
    if constexpr (std::is_floating_point_v<T>) {
      if (bytes.size() % 4)
        malformed("packed floats of 4 bytes");
      auto added = static_cast<int64_t>(bytes.size() / sizeof(float));
      if constexpr (std::is_same_v<T, float>) {
        elements.put(bytes, limit);
      } else {
        elements.reserve(added * static_cast<int64_t>(sizeof(T)));
        for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
          float element;
          std::memcpy(&element, bytes.data() + i, sizeof element);
          elements.put<T>(element);
        }
      }
      count += added;
    }
  }

  void addIntegers(std::string_view packed) {
    if constexpr (std::is_integral_v<T>) {
      elements.reserve(static_cast<int64_t>(packed.size() * sizeof(T))); // a byte or more each
      char *begin = elements.end(), *to = begin;
      for (; !packed.empty(); to += sizeof(T)) {
        auto integer = static_cast<int64_t>(varint(packed, limit));
        if constexpr (std::is_same_v<T, int32_t>)
          if (integer != static_cast<int32_t>(integer))
            outOfRange(feature, integer);
        auto element = static_cast<T>(integer);
        std::memcpy(to, &element, sizeof element);
      }
      elements.advance(to - begin);
      count += (to - begin) / static_cast<int64_t>(sizeof(T));
    }
  }

  void addInteger(int64_t integer) {
    if constexpr (std::is_same_v<T, int32_t>)
      if (integer != static_cast<int32_t>(integer))
        outOfRange(feature, integer);
    if constexpr (std::is_integral_v<T>) {
      elements.put<T>(static_cast<T>(integer));
      ++count;
    }
  }

  void addDefault() {
    if (isOpen) {
      splits.push_back(splits.back());
      return;
    }
    for (int64_t i = 0; i < inner; ++i)
      if constexpr (std::is_same_v<T, std::string_view>)
        addText({});
      else if constexpr (std::is_integral_v<T>)
        elements.put<T>(static_cast<T>(static_cast<int64_t>(feature.number)));
      else
        elements.put<T>(static_cast<T>(static_cast<float>(feature.number)));
    count += std::is_same_v<T, std::string_view> ? 0 : inner;
  }

  const Feature &feature;
  const char *limit = nullptr;
  bool isOpen;
  int64_t inner, count = 0; // elements of a row, or behind the open dim; those so far
  Growing elements;
  GrowingStrings texts;
  std::vector<int64_t> splits;
};

[[noreturn, gnu::cold]] void failIn(size_t record, const Error &error) {
  throw Error(error.code(), "record " + std::to_string(record) + " of the batch: " + error.what(), {}, true);
}

/// The rows of one feature from all records: one loop for each type of elements.
template <typename T>
Value columnOf(const Feature &feature, std::span<const std::string_view> contents,
               std::span<const char *const> limits) {
  Column<T> column(feature, contents.size());
  column.reserve(contents);
  for (size_t r = 0; r < contents.size(); ++r) {
    try {
      column.add(contents[r], limits[r]);
    } catch (const Error &error) {
      failIn(r, error);
    }
  }
  return column.finish(static_cast<int64_t>(contents.size()));
}

Value columnOf(const Feature &feature, std::span<const std::string_view> contents,
               std::span<const char *const> limits) {
  switch (feature.dtype) {
  case Bytes:
    return columnOf<std::string_view>(feature, contents, limits);
  case SINTER_F32:
    return columnOf<float>(feature, contents, limits);
  case SINTER_F64:
    return columnOf<double>(feature, contents, limits);
  case SINTER_I32:
    return columnOf<int32_t>(feature, contents, limits);
  case SINTER_I1:
    return columnOf<bool>(feature, contents, limits);
  default:
    return columnOf<int64_t>(feature, contents, limits);
  }
}
} // namespace

/// Shuffled records lie in no order that a CPU could foresee: their memory is asked for some records before they are
/// read.
static constexpr size_t ahead = 6;
static void prefetch(const Span &span) {
  constexpr int64_t line = 64, most = 32 * line;
  for (int64_t at = 0; at < std::min(span.size, most); at += line)
    __builtin_prefetch(span.data + at);
}

Dataset::Map sinter::data::parseExamples(std::vector<Feature> features, const std::string &column) {
  Names names = checkFeatures(features);
  auto table = std::make_shared<const NameTable>(*names);
  for (const Feature &feature : features) {
    auto behind = std::span(feature.dims).subspan(std::min<size_t>(1, feature.dims.size()));
    if (feature.isSequence || std::ranges::any_of(behind, [](int64_t size) { return size < 0; }))
      throw Error(SINTER_INVALID_ARGUMENT,
                  "feature '" + feature.name + "' of a batch requires known dims, or the first one open");
  }
  return [=](const Record &batch) {
    const Value &records = batch[column];
    if (records.dtype() != Bytes || records.dims().rank() != 1)
      throw Error(SINTER_INVALID_ARGUMENT, "column '" + column + "' requires a vector of bytes, got " +
                                               dtypeName(records.dtype()) + " " + records.dims().text());
    auto count = static_cast<size_t>(records.count());
    std::vector<std::string_view> contents(features.size() * count); // by feature, then by record
    std::vector<const char *> limits(count);
    Finder finder(features, *table, false);
    for (size_t r = 0; r < count; ++r) {
      try {
        if (r + ahead < count)
          prefetch(records.span(static_cast<int64_t>(r + ahead)));
        Span span = records.span(static_cast<int64_t>(r));
        limits[r] = span.limit;
        finder.find({span.data, static_cast<size_t>(span.size)}, span.limit);
      } catch (const Error &error) {
        failIn(r, error);
      }
      for (size_t f = 0; f < features.size(); ++f)
        contents[f * count + r] = finder.contents[f];
    }
    std::vector<Value> values;
    for (size_t f = 0; f < features.size(); ++f)
      values.push_back(columnOf(features[f], std::span(contents).subspan(f * count, count), limits));
    return Record(names, std::move(values));
  };
}
