// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record is what a pipeline hands on: named columns, each a value. The names are shared by all records of a source.

#ifndef SINTER_RUNTIME_DATA_RECORD_H
#define SINTER_RUNTIME_DATA_RECORD_H

#include "Value.h"

namespace sinter::data {

using Names = std::shared_ptr<const std::vector<std::string>>;

class Record {
public:
  Record() = default;
  /// As many values as names. The names are distinct.
  Record(Names names, std::vector<Value> values) : columnNames(std::move(names)), columns(std::move(values)) {}
  /// Throws where a name comes twice.
  Record(std::initializer_list<std::pair<std::string, Value>> columns);

  int64_t size() const { return static_cast<int64_t>(columns.size()); }
  const std::string &name(int64_t i) const { return (*columnNames)[static_cast<size_t>(i)]; }
  const Names &names() const { return columnNames; }
  const Value &value(int64_t i) const { return columns[static_cast<size_t>(i)]; }
  Value &value(int64_t i) { return columns[static_cast<size_t>(i)]; }
  /// The index of a column, or -1.
  int64_t find(std::string_view name) const;
  /// The column called `name`. Throws with the names that there are.
  const Value &operator[](std::string_view name) const;
  /// Sets a column, or adds it behind the others.
  void set(const std::string &name, Value value);
  /// The columns called so, in that order.
  Record select(std::span<const std::string> names) const;
  int64_t memoryBytes() const;
  bool operator==(const Record &other) const;

  /// Appends the record as bytes that `decode` reads: what stages put into files of their own.
  void encode(std::string &bytes) const;
  /// Reads one record from the front of `bytes` and moves that on. Throws when they are no record.
  static Record decode(std::string_view &bytes);

private:
  Names columnNames;
  std::vector<Value> columns;
};

} // namespace sinter::data

#endif
