// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a store in safetensors files: snapshots, all rows, and the way back.

#include "RowStore.h"
#include <algorithm>
#include <cstdio>

namespace sinter::data {

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
  std::vector<std::string> names = writeRows(prefix, rows, maxBytes);
  std::fill(changed.begin(), changed.end(), 0);
  return names;
}

std::vector<std::string> RowStore::saveAll(const std::string &prefix, int64_t maxBytes) const {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < settings.rows; ++row)
    if (isWritten(row))
      rows.push_back(row);
  return writeRows(prefix, rows, maxBytes);
}

std::vector<std::string> RowStore::writeRows(const std::string &prefix, const std::vector<int64_t> &rows,
                                             int64_t maxBytes) const {
  int64_t each = 8;
  for (const RowField &field : settings.fields)
    each += 4 * field.count;
  int64_t perFile = std::max<int64_t>(maxBytes / each, 1), count = static_cast<int64_t>(rows.size());
  int64_t parts = std::max<int64_t>((count + perFile - 1) / perFile, 1);
  std::vector<std::string> names;
  for (int64_t part = 0; part < parts; ++part) {
    int64_t begin = part * perFile, here = std::min(perFile, count - begin);
    std::vector<std::vector<float>> values;
    std::vector<const char *> tensors = {"rows"};
    std::vector<sinter_tensor> views = {{.data = const_cast<int64_t *>(rows.data()) + begin,
                                         .dtype = SINTER_I64,
                                         .rank = 1,
                                         .dims = {here},
                                         .strides = nullptr}};
    for (const RowField &field : settings.fields)
      values.emplace_back(static_cast<size_t>(here * field.count));
    unpackRows(std::span(rows).subspan(static_cast<size_t>(begin), static_cast<size_t>(here)), values);
    for (size_t f = 0; f < values.size(); ++f) {
      tensors.push_back(settings.fields[f].name.c_str());
      views.push_back({.data = values[f].data(),
                       .dtype = SINTER_F32,
                       .rank = 2,
                       .dims = {here, settings.fields[f].count},
                       .strides = nullptr});
    }
    char number[64];
    std::snprintf(number, sizeof number, "-%05lld-of-%05lld.safetensors", static_cast<long long>(part + 1),
                  static_cast<long long>(parts));
    names.push_back(prefix + number);
    check(sinter_safetensors_write(names.back().c_str(), tensors.data(), views.data(),
                                   static_cast<int32_t>(views.size())));
  }
  return names;
}

void RowStore::apply(const std::string &path) {
  sinter_safetensors *opened;
  check(sinter_safetensors_open(path.c_str(), &opened));
  std::unique_ptr<sinter_safetensors, void (*)(sinter_safetensors *)> file(opened, sinter_safetensors_close);
  auto tensor = [&](const std::string &name, int32_t dtype, int32_t rank, int64_t width) {
    sinter_tensor found = {};
    check(sinter_safetensors_read(opened, name.c_str(), &found));
    std::shared_ptr<const void> data(found.data, [found](const void *) mutable { sinter_tensor_free(&found); });
    if (found.dtype != dtype || found.rank != rank || (rank == 2 && found.dims[1] != width))
      throw Error(SINTER_INVALID_ARGUMENT,
                  "tensor '" + name + "' requires " +
                      (rank == 1 ? "i64 [n]" : "f32 [n, " + std::to_string(width) + "]"),
                  {path});
    return std::pair(std::move(data), found.dims[0]);
  };
  auto [rows, count] = tensor("rows", SINTER_I64, 1, 0);
  std::vector<std::shared_ptr<const void>> values;
  for (const RowField &field : settings.fields) {
    auto [data, n] = tensor(field.name, SINTER_F32, 2, field.count);
    if (n != count)
      throw Error(SINTER_INVALID_ARGUMENT,
                  "tensor '" + field.name + "' requires " + std::to_string(count) + " rows, got " + std::to_string(n),
                  {path});
    values.push_back(std::move(data));
  }
  auto *numbers = static_cast<const int64_t *>(rows.get());
  for (int64_t i = 0; i < count; ++i)
    if (numbers[i] < 0 || numbers[i] >= settings.rows)
      throw Error(SINTER_INVALID_ARGUMENT,
                  "requires rows from 0 to " + std::to_string(settings.rows - 1) + ", got " +
                      std::to_string(numbers[i]),
                  {path, i});
  for (int64_t i = 0; i < count; ++i) {
    char *record = append(numbers[i]);
    for (size_t f = 0; f < values.size(); ++f)
      pack(f, static_cast<const float *>(values[f].get()) + i * settings.fields[f].count, record);
  }
}

} // namespace sinter::data
