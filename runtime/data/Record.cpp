// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Record.h"
#include <algorithm>

using namespace sinter::data;

Record::Record(std::initializer_list<std::pair<std::string, Value>> given) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (const auto &[name, value] : given) {
    if (std::ranges::find(*names, name) != names->end())
      throw Error(SINTER_INVALID_ARGUMENT, "a record requires distinct names, got '" + name + "' twice");
    names->push_back(name);
    columns.push_back(value);
  }
  columnNames = std::move(names);
}

int64_t Record::find(std::string_view name) const {
  for (int64_t i = 0; i < size(); ++i)
    if (this->name(i) == name)
      return i;
  return -1;
}

const Value &Record::operator[](std::string_view name) const {
  int64_t i = find(name);
  if (i >= 0)
    return value(i);
  std::string known;
  for (int64_t c = 0; c < size(); ++c)
    known += (c ? ", " : "") + this->name(c);
  throw Error(SINTER_INVALID_ARGUMENT,
              "column '" + std::string(name) + "' is required, the record has " + (known.empty() ? "none" : known));
}

void Record::set(const std::string &name, Value value) {
  int64_t i = find(name);
  if (i >= 0) {
    columns[static_cast<size_t>(i)] = std::move(value);
    return;
  }
  auto names = columnNames ? std::make_shared<std::vector<std::string>>(*columnNames)
                           : std::make_shared<std::vector<std::string>>();
  names->push_back(name);
  columnNames = std::move(names);
  columns.push_back(std::move(value));
}

Record Record::select(std::span<const std::string> names) const {
  std::vector<Value> chosen;
  for (const std::string &name : names)
    chosen.push_back((*this)[name]);
  return {std::make_shared<std::vector<std::string>>(names.begin(), names.end()), std::move(chosen)};
}

int64_t Record::memoryBytes() const {
  int64_t bytes = 0;
  for (const Value &value : columns)
    bytes += value.memoryBytes();
  return bytes;
}

bool Record::operator==(const Record &other) const {
  if (size() != other.size())
    return false;
  for (int64_t i = 0; i < size(); ++i)
    if (name(i) != other.name(i) || !(value(i) == other.value(i)))
      return false;
  return true;
}

//===- As bytes -------------------------------------------------------------------------------------===//

static void put(std::string &bytes, int64_t number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

static void putText(std::string &bytes, std::string_view text) {
  put(bytes, static_cast<int64_t>(text.size()));
  bytes += text;
}

static std::string_view takeBytes(std::string_view &bytes, int64_t count) {
  if (count < 0 || static_cast<uint64_t>(count) > bytes.size())
    throw Error(SINTER_CORRUPT, "a stored record requires " + std::to_string(count) + " more bytes, got " +
                                    std::to_string(bytes.size()));
  std::string_view taken = bytes.substr(0, static_cast<size_t>(count));
  bytes.remove_prefix(static_cast<size_t>(count));
  return taken;
}

static int64_t takeNumber(std::string_view &bytes) {
  int64_t number;
  std::memcpy(&number, takeBytes(bytes, sizeof number).data(), sizeof number);
  return number;
}

void Record::encode(std::string &bytes) const {
  put(bytes, size());
  for (int64_t i = 0; i < size(); ++i) {
    const Value &value = columns[static_cast<size_t>(i)];
    putText(bytes, name(i));
    put(bytes, value.dtype());
    put(bytes, value.dims().rank());
    for (int64_t dim : value.dims().all())
      put(bytes, dim);
    put(bytes, value.isRagged() ? value.rows() : -1);
    for (int64_t split : value.splits())
      put(bytes, split);
    if (value.dtype() == Bytes)
      for (int64_t s = 0; s < value.count(); ++s)
        putText(bytes, value.bytes(s));
    else if (value.count())
      bytes.append(value.data(), static_cast<size_t>(value.count() * sinter_dtype_bytes(value.dtype())));
  }
}

Record Record::decode(std::string_view &bytes) {
  Record record;
  int64_t count = takeNumber(bytes);
  auto names = std::make_shared<std::vector<std::string>>();
  for (int64_t i = 0; i < count; ++i) {
    names->emplace_back(takeBytes(bytes, takeNumber(bytes)));
    int64_t dtype = takeNumber(bytes), rank = takeNumber(bytes);
    if ((dtype != Bytes && !sinter_dtype_bytes(static_cast<int32_t>(dtype))) || rank < 0 || rank > SINTER_MAX_RANK)
      throw Error(SINTER_CORRUPT, "a stored record requires a known dtype and rank");
    std::vector<int64_t> sizes, splits;
    for (int64_t d = 0; d < rank; ++d)
      sizes.push_back(takeNumber(bytes));
    int64_t rows = takeNumber(bytes);
    if (rows >= static_cast<int64_t>(bytes.size() / 8))
      throw Error(SINTER_CORRUPT, "a stored record requires its row splits");
    for (int64_t r = 0; rows >= 0 && r <= rows; ++r)
      splits.push_back(takeNumber(bytes));
    Dims dims{std::span<const int64_t>(sizes)};
    Value value;
    if (dtype == Bytes) {
      std::vector<std::string> texts;
      for (int64_t s = 0, total = dims.count(); s < total; ++s)
        texts.emplace_back(takeBytes(bytes, takeNumber(bytes)));
      value = Value::strings(texts, dims);
    } else {
      int64_t total;
      if (__builtin_mul_overflow(dims.count(), sinter_dtype_bytes(static_cast<int32_t>(dtype)), &total))
        throw Error(SINTER_CORRUPT, "a stored record requires less than 2^63 bytes");
      std::string_view elements = takeBytes(bytes, total);
      auto memory = allocate(total);
      std::memcpy(memory.get(), elements.data(), elements.size());
      value = Value(static_cast<int32_t>(dtype), dims, std::move(memory));
    }
    record.columns.push_back(rows >= 0 ? Value::ragged(value, splits) : value);
  }
  record.columnNames = std::move(names);
  return record;
}
