// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a store in safetensors files: snapshots, all rows, and the way back.

#include "../decimal.h"
#include "Crc32c.h"
#include "RowStore.h"
#include "Value.h"
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>

namespace sinter::data {

namespace fs = std::filesystem;

// What a file has beside the fields. `rows.table`, i64 [2], are the number of rows of the table and its seed, and
// `rows.bound.FIELD`, f32 [1], is that of a field: rows that are in no file follow from them. The first file of all
// rows may have `rows.kept`, i64 [2 n]: rows that a step names by slots, each with its slot.
static const char kRows[] = "rows", kTable[] = "rows.table", kBound[] = "rows.bound.", kNamed[] = "rows.named",
                  kChecksum[] = "rows.crc32c";

/// The fields of rows, one array each, read as they lie in the files and a few at a time.
void RowStore::unpackRows(std::span<const int64_t> rows, std::vector<std::vector<float>> &values) const {
  constexpr size_t most = 4096;
  std::vector<std::pair<int64_t, size_t>> order; // places, and which of the rows
  for (size_t i = 0; i < rows.size(); ++i)
    order.emplace_back(placeOf(rows[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<int64_t> written;
  std::vector<char> records;
  for (size_t from = 0; from < order.size(); from += most) {
    auto some = std::span(order).subspan(from, std::min(most, order.size() - from));
    written.clear();
    for (auto [place, i] : some)
      if (place >= 0)
        written.push_back(rows[i]);
    records.resize(written.size() * static_cast<size_t>(bytes));
    read(written, records.data());
    const char *record = records.data();
    for (auto [place, i] : some) {
      for (size_t f = 0; f < values.size(); ++f)
        unpack(f, rows[i], place < 0 ? nullptr : record,
               values[f].data() + static_cast<int64_t>(i) * settings.fields[f].count);
      record += place < 0 ? 0 : bytes;
    }
  }
}

std::vector<std::string> RowStore::snapshot(const std::string &prefix, int64_t maxBytes) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < settings.rows; ++row)
    if (uint64_t word = changed[static_cast<size_t>(row / 64)]; word == 0)
      row |= 63;
    else if (word >> (row % 64) & 1)
      rows.push_back(row);
  std::vector<std::string> names = writeRows(prefix, rows, maxBytes, NamedRows());
  std::fill(changed.begin(), changed.end(), 0);
  return names;
}

std::vector<std::string> RowStore::saveAll(const std::string &prefix, int64_t maxBytes) const {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < settings.rows; ++row)
    if (isWritten(row))
      rows.push_back(row);
  return writeRows(prefix, rows, maxBytes, kept);
}

/// A tensor over these elements, row by row where they have a `width`.
template <typename T> static sinter_tensor viewOf(std::span<const T> elements, int64_t width = 0) {
  auto count = static_cast<int64_t>(elements.size());
  sinter_tensor view = {.data = const_cast<T *>(elements.data()),
                        .dtype = dtypeOf<T>(),
                        .rank = width ? 2 : 1,
                        .dims = {width ? count / width : count, width},
                        .strides = nullptr};
  return view;
}

/// Writes the tensors with their checksum.
static void writeChecked(const std::string &path, std::map<std::string, sinter_tensor> tensors) {
  uint32_t crc = 0;
  for (const auto &[name, tensor] : tensors)
    crc = crc32c(name, tensor, crc);
  tensors[kChecksum] = viewOf(std::span<const uint32_t>(&crc, 1));
  std::vector<const char *> names;
  std::vector<sinter_tensor> views;
  for (const auto &[name, tensor] : tensors) {
    names.push_back(name.c_str());
    views.push_back(tensor);
  }
  check(sinter_safetensors_write(path.c_str(), names.data(), views.data(), static_cast<int32_t>(views.size())));
}

std::vector<std::string> RowStore::writeRows(const std::string &prefix, const std::vector<int64_t> &rows,
                                             int64_t maxBytes, const NamedRows &named) const {
  int64_t each = 8;
  for (const RowField &field : settings.fields)
    each += 4 * field.count;
  int64_t table[] = {settings.rows, static_cast<int64_t>(settings.seed)};
  int64_t perFile = std::max<int64_t>(maxBytes / each, 1), count = static_cast<int64_t>(rows.size());
  int64_t parts = std::max<int64_t>((count + perFile - 1) / perFile, 1);
  std::vector<int64_t> flat = named.flat(settings.rows);
  std::vector<std::string> names;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t begin = part * perFile, here = std::min(perFile, count - begin);
    auto some = std::span(rows).subspan(static_cast<size_t>(begin), static_cast<size_t>(here));
    std::vector<std::vector<float>> values;
    for (const RowField &field : settings.fields)
      values.emplace_back(static_cast<size_t>(here * field.count));
    unpackRows(some, values);
    std::map<std::string, sinter_tensor> tensors = {{kRows, viewOf(some)},
                                                    {kTable, viewOf(std::span<const int64_t>(table))}};
    for (size_t f = 0; f < values.size(); ++f) {
      const RowField &field = settings.fields[f];
      tensors[field.name] = viewOf(std::span<const float>(values[f]), field.count);
      tensors[kBound + field.name] = viewOf(std::span<const float>(&field.bound, 1));
    }
    if (part == 0 && !flat.empty())
      tensors[kNamed] = viewOf(std::span<const int64_t>(flat));
    char number[64];
    std::snprintf(number, sizeof number, "-%05lld-of-%05lld.safetensors", static_cast<long long>(part + 1),
                  static_cast<long long>(parts));
    names.push_back(prefix + number);
    writeChecked(names.back(), tensors);
  }
  return names;
}

//===- reading ---------------------------------------------------------------------------------------===//

namespace {

/// The rows of a file for a store. All that the file says is checked.
class RowFile {
public:
  RowFile(const std::string &path, const RowStoreOptions &settings);
  /// Throws unless rows that are in no file have the values that they had in the table that was saved.
  void requireSameTable() const;
  NamedRows named() const;

  std::span<const int64_t> rows;
  std::vector<const float *> values; // of the fields

private:
  [[noreturn]] void refuse(const std::string &message, int64_t record = -1) const {
    throw Error(SINTER_INVALID_ARGUMENT, message, {path, record});
  }
  const Value &tensor(const std::string &name, int32_t dtype, int64_t width) const;

  std::string path;
  const RowStoreOptions &settings;
  std::map<std::string, Value> tensors; // those that are used
};

} // namespace

/// The tensors of a file that `isUsed` names, all with their checksum.
template <typename IsUsed> static std::map<std::string, Value> readChecked(const std::string &path, IsUsed isUsed) {
  sinter_safetensors *opened;
  check(sinter_safetensors_open(path.c_str(), &opened));
  std::unique_ptr<sinter_safetensors, void (*)(sinter_safetensors *)> file(opened, sinter_safetensors_close);
  std::vector<std::string> names;
  for (int32_t t = 0; t < sinter_safetensors_count(opened); ++t)
    names.emplace_back(sinter_safetensors_name(opened, t));
  std::sort(names.begin(), names.end());
  bool isChecked = std::binary_search(names.begin(), names.end(), kChecksum);
  std::map<std::string, Value> used;
  uint32_t crc = 0;
  for (const std::string &name : names) {
    if (!isChecked && !isUsed(name))
      continue;
    sinter_tensor found = {};
    check(sinter_safetensors_read(opened, name.c_str(), &found));
    Value value = Value::take(found);
    if (name != kChecksum)
      crc = crc32c(name, value.tensor(), crc);
    if (isUsed(name) || name == kChecksum)
      used.emplace(name, std::move(value));
  }
  if (!isChecked) // another program wrote it
    return used;
  const Value &sum = used.at(kChecksum);
  if (sum.dtype() != SINTER_U32 || sum.count() != 1 || sum.as<uint32_t>()[0] != crc)
    throw Error(SINTER_CORRUPT, "is damaged: its checksum differs", {path});
  return used;
}

RowFile::RowFile(const std::string &path, const RowStoreOptions &settings) : path(path), settings(settings) {
  tensors = readChecked(path, [&](const std::string &name) {
    return name == kRows || name == kTable || name == kNamed || name.starts_with(kBound) ||
           std::ranges::any_of(settings.fields, [&](const RowField &field) { return field.name == name; });
  });
  rows = tensor(kRows, SINTER_I64, 0).as<int64_t>();
  auto count = static_cast<int64_t>(rows.size());
  for (const RowField &field : settings.fields) {
    const Value &found = tensor(field.name, SINTER_F32, field.count);
    if (found.rows() != count)
      refuse("tensor '" + field.name + "' requires " + std::to_string(count) + " rows, got " +
             std::to_string(found.rows()));
    values.push_back(found.as<float>().data());
  }
  for (int64_t i = 0; i < count; ++i)
    if (int64_t row = rows[static_cast<size_t>(i)]; row < 0 || row >= settings.rows)
      refuse("requires rows from 0 to " + std::to_string(settings.rows - 1) + ", got " + std::to_string(row), i);
}

/// i64 [n], or f32 [n, width].
const Value &RowFile::tensor(const std::string &name, int32_t dtype, int64_t width) const {
  auto found = tensors.find(name);
  if (found == tensors.end())
    refuse("has no tensor '" + name + "'");
  const Dims &dims = found->second.dims();
  if (found->second.dtype() != dtype || dims.rank() != (width ? 2 : 1) || (width && dims[1] != width))
    refuse("tensor '" + name + "' requires " + (width ? "f32 [n, " + std::to_string(width) + "]" : "i64 [n]"));
  return found->second;
}

void RowFile::requireSameTable() const {
  if (!tensors.contains(kTable)) // another program wrote it
    return;
  std::span<const int64_t> table = tensor(kTable, SINTER_I64, 0).as<int64_t>();
  if (table.size() != 2)
    refuse("tensor '" + std::string(kTable) + "' requires the number of rows and the seed, got " +
           std::to_string(table.size()) + " numbers");
  auto [rows, seed] = std::pair(table[0], static_cast<uint64_t>(table[1]));
  if (rows != settings.rows)
    refuse("requires a table of " + std::to_string(rows) + " rows, got one of " + std::to_string(settings.rows));
  for (const RowField &field : settings.fields) {
    auto found = tensors.find(kBound + field.name);
    if (found == tensors.end() || found->second.dtype() != SINTER_F32 || found->second.count() != 1)
      refuse("requires the bound of field '" + field.name + "'");
    if (float bound = found->second.as<float>()[0]; bound != field.bound)
      refuse("requires a table whose field '" + field.name + "' has the bound " + decimal(bound) + ", got " +
             decimal(field.bound));
    if (field.bound > 0 && seed != settings.seed)
      refuse("requires a table with the seed " + std::to_string(seed) + ", got " + std::to_string(settings.seed));
  }
}

NamedRows RowFile::named() const {
  if (!tensors.contains(kNamed))
    return {};
  std::optional<NamedRows> all = NamedRows::fromFlat(tensor(kNamed, SINTER_I64, 0).as<int64_t>(), settings.rows);
  if (!all)
    refuse("tensor '" + std::string(kNamed) + "' has rows in slots that cannot be");
  return *all;
}

static void append(RowStore &store, const RowFile &file) {
  const std::vector<RowField> &fields = store.options().fields;
  for (size_t i = 0; i < file.rows.size(); ++i) {
    char *record = store.append(file.rows[i]);
    for (size_t f = 0; f < fields.size(); ++f)
      store.pack(f, file.values[f] + static_cast<int64_t>(i) * fields[f].count, record);
  }
}

void RowStore::apply(const std::string &file) { sinter::data::append(*this, RowFile(file, settings)); }

/// The number behind `text`'s first `at` characters, which end there. -1: there is none.
static int64_t numberAt(const std::string &text, size_t &at) {
  int64_t number = -1;
  auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  at = static_cast<size_t>(end - text.data());
  return error == std::errc() ? number : -1;
}

/// The files PREFIX-00001-of-00003.safetensors ... in order; empty where there are none. Throws unless they are all
/// there.
static std::vector<std::string> findFiles(const std::string &prefix) {
  fs::path folder = fs::path(prefix).parent_path();
  std::string front = fs::path(prefix).filename().string() + "-";
  std::map<int64_t, std::map<int64_t, std::string>> found; // by how many there are, and the number of each
  std::error_code error;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    size_t place = front.size();
    if (!name.starts_with(front))
      continue;
    int64_t part = numberAt(name, place);
    if (part < 1 || name.compare(place, 4, "-of-") != 0)
      continue;
    place += 4;
    int64_t parts = numberAt(name, place);
    if (parts >= part && name.substr(place) == ".safetensors")
      found[parts][part] = (folder / name).string();
  }
  if (found.empty())
    return {};
  auto &[parts, files] = *found.begin();
  if (found.size() > 1)
    throw Error(SINTER_INVALID_ARGUMENT,
                "files of rows require to be of one table, some are of " + std::to_string(parts) + " and some of " +
                    std::to_string(found.rbegin()->first),
                {prefix});
  std::vector<std::string> names;
  for (const auto &[part, name] : files) {
    if (part != static_cast<int64_t>(names.size()) + 1)
      break;
    names.push_back(name);
  }
  if (static_cast<int64_t>(names.size()) != parts)
    throw Error(SINTER_INVALID_ARGUMENT,
                "files of rows require all of " + std::to_string(parts) + ", number " +
                    std::to_string(names.size() + 1) + " is missing",
                {prefix});
  return names;
}

bool RowStore::areSaved(const std::string &prefix) { return !findFiles(prefix).empty(); }

void RowStore::restore(const std::string &prefix) {
  if (!mayWrite)
    throw Error(SINTER_INVALID_ARGUMENT, "rows of a store that is open for reading cannot be restored", {folder});
  try {
    std::vector<std::string> names = findFiles(prefix);
    if (names.empty())
      throw Error(SINTER_INVALID_ARGUMENT,
                  "restoring rows requires files " + prefix + "-00001-of-NNNNN.safetensors ..., there are none");
    for (int64_t row = 0; row < settings.rows; ++row)
      if (isWritten(row))
        forget(row);
    kept = {};
    for (const std::string &name : names) {
      RowFile file(name, settings);
      file.requireSameTable();
      if (NamedRows named = file.named(); named.slots > 0)
        kept = std::move(named);
      sinter::data::append(*this, file);
    }
  } catch (...) {
    goBack();
    throw;
  }
}

} // namespace sinter::data
