// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A feature's column in a batch of tf.Examples: elements go where they stay, without a value for each record.

#ifndef SINTER_RUNTIME_DATA_EXAMPLECOLUMN_H
#define SINTER_RUNTIME_DATA_EXAMPLECOLUMN_H

#include "ExampleWire.h"
#include "Growing.h"

namespace sinter::data::wire {

/// The rows of one feature. Contents are those of a Feature; memory up to `limit` may be read.
class ExampleColumn {
public:
  virtual ~ExampleColumn() = default;
  /// Appends a row whose content is as writers make it and fits. False where it is not: the row may then be there in
  /// part.
  virtual bool addPlain(const char *content, const char *end, const char *limit) = 0;
  /// Appends any row, the default where `content` is nowhere or holds nothing. Throws where it does not fit.
  virtual void add(std::string_view content, const char *limit) = 0;
  virtual void addDefault() = 0;
  /// Keeps the first `rows` rows.
  virtual void cut(size_t rows) = 0;
  virtual Value finish(int64_t rows) = 0;
};

/// T is the type of the elements, std::string_view of strings.
template <typename T> class ColumnOf final : public ExampleColumn {
public:
  /// `batchBytes`: of all records, which tell what is worth reserving.
  ColumnOf(const Feature &feature, size_t rows, int64_t batchBytes) : feature(feature) {
    isOpen = !feature.dims.empty() && feature.dims[0] < 0;
    for (size_t d = isOpen; d < feature.dims.size(); ++d)
      inner *= feature.dims[d];
    if (isOpen)
      splits.reserve(rows + 1), splits.push_back(0);
    else if (int64_t most = batchBytes / (std::is_floating_point_v<T> ? 4 : 1); // elements that the records can hold
             !isText && inner <= most / static_cast<int64_t>(rows))
      elements.reserve(static_cast<int64_t>(rows) * inner * width);
  }

  bool addPlain(const char *content, const char *end, const char *limit) override {
    this->limit = limit;
    int64_t before = count;
    const char *list = onlyField(content, end, key);
    if (!list || !addList(list, end))
      return false;
    int64_t added = count - before;
    if (!isOpen)
      return added == inner;
    if (inner != 1 && (inner == 0 || added % inner))
      return false;
    splits.push_back(splits.back() + (inner == 1 ? added : added / inner));
    return true;
  }

  void add(std::string_view content, const char *limit) override {
    this->limit = limit;
    int64_t before = count;
    List list = listOf(content);
    if (!list.kind)
      return feature.hasDefault ? addDefault() : missing(feature);
    requireKind(feature, list);
    eachElement(
        list, [&](std::string_view text) { addText(text); }, [&](std::string_view bytes) { addFloats(bytes); },
        [&](int64_t integer) { addInteger(integer); }, [&](std::string_view packed) { addIntegers(packed); });
    int64_t added = count - before;
    if (isOpen && inner > 0 && added % inner == 0)
      splits.push_back(splits.back() + added / inner);
    else if (isOpen || added != inner)
      dimsFor(feature, feature.dims, added); // throws
  }

  void addDefault() override {
    if (isOpen) {
      splits.push_back(splits.back());
      return;
    }
    for (int64_t i = 0; i < inner; ++i)
      if constexpr (isText)
        texts.add({});
      else if constexpr (std::is_integral_v<T>)
        elements.put<T>(static_cast<T>(static_cast<int64_t>(feature.number)));
      else
        elements.put<T>(static_cast<T>(static_cast<float>(feature.number)));
    count += inner;
  }

  void cut(size_t rows) override {
    if (isOpen)
      splits.resize(rows + 1);
    count = isOpen ? splits.back() * inner : static_cast<int64_t>(rows) * inner;
    if constexpr (isText)
      texts.cut(count);
    else
      elements.cut(count * width);
  }

  Value finish(int64_t rows) override {
    std::vector<int64_t> sizes(feature.dims);
    if (isOpen)
      sizes[0] = splits.back();
    else
      sizes.insert(sizes.begin(), rows);
    Dims dims{std::span<const int64_t>(sizes)};
    Value value;
    if constexpr (isText)
      value = texts.take(dims);
    else
      value = Value(feature.dtype, dims, elements.take());
    return isOpen ? Value::ragged(value, splits) : value;
  }

private:
  static constexpr bool isText = std::is_same_v<T, std::string_view>;
  static constexpr int64_t width = sizeof(T);
  static constexpr char key = isText ? 10 : std::is_floating_point_v<T> ? 18 : 26;

  /// One packed field of numbers, or strings, each a field of its own; or nothing.
  [[gnu::always_inline]] bool addList(const char *list, const char *end) {
    if constexpr (isText) {
      while (list < end) {
        if (end - list < 2 || *list != 10 || static_cast<unsigned char>(list[1]) >= 128)
          return false;
        auto size = static_cast<int64_t>(list[1]);
        list += 2;
        if (size > end - list)
          return false;
        addText({list, static_cast<size_t>(size)});
        list += size;
      }
      return true;
    } else {
      if (list == end)
        return true;
      const char *values = onlyField(list, end, 10);
      if (!values)
        return false;
      std::string_view packed(values, static_cast<size_t>(end - values));
      if constexpr (std::is_floating_point_v<T>) {
        if (packed.size() % sizeof(float))
          return false;
        addFloats(packed);
        return true;
      } else {
        return addPacked(values, end);
      }
    }
  }

  void addText(std::string_view text) {
    if constexpr (isText) {
      texts.add(text, limit);
      ++count;
    }
  }

  void addFloats(std::string_view bytes) {
    if constexpr (std::is_floating_point_v<T>) {
      if (bytes.size() % sizeof(float))
        malformed("packed floats of 4 bytes");
      auto added = static_cast<int64_t>(bytes.size() / sizeof(float));
      if constexpr (std::is_same_v<T, float>) {
        elements.put(bytes, limit);
      } else {
        elements.reserve(added * width);
        for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
          float element;
          std::memcpy(&element, bytes.data() + i, sizeof element);
          elements.put<T>(element);
        }
      }
      count += added;
    }
  }

  /// Integers of up to 8 bytes that fit. False at the first that is another.
  [[gnu::always_inline]] bool addPacked(const char *at, const char *end) {
    if constexpr (std::is_integral_v<T>) {
      elements.reserve((end - at) * width); // a byte or more each
      char *begin = elements.end(), *to = begin;
      for (; at < end; to += width) {
        if (limit - at < 8) [[unlikely]]
          return false;
        uint64_t number;
        std::memcpy(&number, at, sizeof number);
        size_t size = shortVarint(number);
        at += size;
        if (size > 8 || at > end || (std::is_same_v<T, int32_t> && number > INT32_MAX)) [[unlikely]]
          return false;
        auto element = static_cast<T>(number);
        std::memcpy(to, &element, sizeof element);
      }
      elements.advance(to - begin);
      count += (to - begin) / width;
    }
    return true;
  }

  void addIntegers(std::string_view packed) {
    while (!packed.empty())
      addInteger(static_cast<int64_t>(varint(packed)));
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

  const Feature &feature;
  const char *limit = nullptr;
  bool isOpen;
  int64_t inner = 1, count = 0; // elements of a row, or behind the open dim; those so far
  Growing elements;
  GrowingStrings texts;
  std::vector<int64_t> splits;
};

} // namespace sinter::data::wire

#endif
