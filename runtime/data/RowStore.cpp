// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowStore.h"
#include "../output.h"
#include "File.h"
#include "Random.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::data {

using Json = nlohmann::json;

static const char *const storedNames[] = {"f32", "bf16", "i8"};

int64_t RowField::bytes() const {
  switch (stored) {
  case Stored::BF16:
    return 2 * count;
  case Stored::I8:
    return 4 + count;
  case Stored::F32:
    break;
  }
  return 4 * count;
}

[[noreturn]] static void failAt(const std::string &path, const char *what) {
  throw Error(SINTER_IO, std::string(what) + ": " + std::strerror(errno), {path});
}

static void checkOptions(const RowStoreOptions &o) {
  auto require = [](bool holds, const std::string &message) {
    if (!holds)
      throw Error(SINTER_INVALID_ARGUMENT, message);
  };
  require(o.rows >= 1 && o.rows <= int64_t(1) << 40,
          "a row store requires 1 to 2^40 rows, got " + std::to_string(o.rows));
  require(o.shards >= 1 && o.shards <= 4096, "a row store requires 1 to 4096 shards, got " + std::to_string(o.shards));
  require(!o.fields.empty() && o.fields.size() <= 64,
          "a row store requires 1 to 64 fields, got " + std::to_string(o.fields.size()));
  for (const RowField &field : o.fields) {
    require(!field.name.empty() && field.name != "rows", "a field of a row store requires a name other than 'rows'");
    require(field.count >= 1 && field.count <= 1 << 20,
            "field '" + field.name + "' requires 1 to 2^20 elements, got " + std::to_string(field.count));
    require(field.bound >= 0 && std::isfinite(field.bound),
            "field '" + field.name + "' requires a finite bound of 0 or more");
    require(std::count_if(o.fields.begin(), o.fields.end(),
                          [&](const RowField &other) { return other.name == field.name; }) == 1,
            "a row store requires fields of different names, got '" + field.name + "' twice");
  }
}

RowStore::RowStore(const std::string &folder, RowStoreOptions options) : folder(folder), settings(std::move(options)) {
  checkOptions(settings);
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    failAt(folder, "cannot make the folder");
  if (access((folder + "/rows.json").c_str(), F_OK) == 0)
    throw Error(SINTER_INVALID_ARGUMENT, "the folder holds a row store already", {folder});
  written.resize(static_cast<size_t>((settings.rows + 63) / 64));
  describe(false);
  openShards(true);
}

RowStore::RowStore(const std::string &folder, bool writable) : folder(folder), mayWrite(writable) {
  std::string path = folder + "/rows.json";
  std::ifstream file(path);
  if (!file)
    failAt(path, "cannot be opened");
  Json all = Json::parse(file, nullptr, false);
  try {
    if (all.is_discarded())
      throw Error(SINTER_CORRUPT, "requires a row store's description in JSON", {path});
    settings.rows = all.at("rows");
    settings.shards = all.at("shards");
    settings.seed = all.at("seed");
    for (const Json &one : all.at("fields")) {
      RowField field{one.at("name"), one.at("count"), RowField::Stored::F32, one.at("bound")};
      std::string stored = one.at("stored");
      size_t kind = 0;
      while (kind < std::size(storedNames) && stored != storedNames[kind])
        ++kind;
      if (kind == std::size(storedNames))
        throw Error(SINTER_CORRUPT, "requires fields stored as f32, bf16 or i8, got '" + stored + "'", {path});
      field.stored = static_cast<RowField::Stored>(kind);
      settings.fields.push_back(field);
    }
    checkOptions(settings);
    if (!all.at("clean"))
      throw Error(SINTER_CORRUPT,
                  "rows were written after the last flush, and whoever wrote them is gone: make a store from snapshots",
                  {path});
  } catch (const Json::exception &error) {
    throw Error(SINTER_CORRUPT, error.what(), {path});
  }
  written.resize(static_cast<size_t>((settings.rows + 63) / 64));
  File bits(folder + "/written");
  auto wanted = static_cast<int64_t>(written.size() * sizeof written[0]);
  if (bits.size() != wanted)
    throw Error(SINTER_CORRUPT, "requires " + std::to_string(wanted) + " bytes, got " + std::to_string(bits.size()),
                {bits.path()});
  bits.readAt(0, reinterpret_cast<char *>(written.data()), wanted);
  openShards(false);
  if (mayWrite)
    describe(false);
}

RowStore::~RowStore() {
  for (int file : files)
    close(file);
}

void RowStore::openShards(bool create) {
  for (const RowField &field : settings.fields) {
    offsets.push_back(bytes);
    bytes += field.bytes();
  }
  changed.resize(written.size());
  for (int64_t shard = 0; shard < settings.shards; ++shard) {
    std::string path = folder + "/" + std::to_string(shard) + ".rows";
    int file = open(path.c_str(), (mayWrite ? O_RDWR : O_RDONLY) | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0666);
    if (file < 0)
      failAt(path, "cannot be opened");
    files.push_back(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM); // what lies beside a row is other rows
  }
}

static void writeWhole(const std::string &path, const void *data, size_t count) {
  sinter_output *output;
  check(sinter_output_create(path.c_str(), 0, &output));
  check(sinter_output_finish(output, sinter_output_append(output, data, static_cast<int64_t>(count))));
}

void RowStore::describe(bool isClean) const {
  Json fields = Json::array();
  for (const RowField &field : settings.fields)
    fields.push_back({{"name", field.name},
                      {"count", field.count},
                      {"stored", storedNames[static_cast<int>(field.stored)]},
                      {"bound", field.bound}});
  std::string text = Json{{"rows", settings.rows},
                          {"shards", settings.shards},
                          {"seed", settings.seed},
                          {"fields", fields},
                          {"clean", isClean}}
                         .dump(1) +
                     "\n";
  writeWhole(folder + "/rows.json", text.data(), text.size());
}

//===- records ---------------------------------------------------------------------------------------===//

void RowStore::read(int64_t row, char *record) const {
  int64_t shard = row % settings.shards, at = row / settings.shards * bytes;
  for (int64_t done = 0; done < bytes;) {
    ssize_t count =
        pread(files[static_cast<size_t>(shard)], record + done, static_cast<size_t>(bytes - done), at + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      failAt(folder + "/" + std::to_string(shard) + ".rows", "cannot be read");
    if (count == 0)
      throw Error(SINTER_CORRUPT, "the file ends before a row that was written",
                  {folder + "/" + std::to_string(shard) + ".rows", row, at});
    done += count;
  }
}

void RowStore::write(int64_t row, const char *record) {
  int64_t shard = row % settings.shards, at = row / settings.shards * bytes;
  for (int64_t done = 0; done < bytes;) {
    ssize_t count =
        pwrite(files[static_cast<size_t>(shard)], record + done, static_cast<size_t>(bytes - done), at + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      failAt(folder + "/" + std::to_string(shard) + ".rows", "cannot be written");
    done += count;
  }
}

void RowStore::mark(int64_t row) {
  written[static_cast<size_t>(row / 64)] |= uint64_t(1) << (row % 64);
  changed[static_cast<size_t>(row / 64)] |= uint64_t(1) << (row % 64);
}

void RowStore::forget(int64_t row) {
  written[static_cast<size_t>(row / 64)] &= ~(uint64_t(1) << (row % 64));
  changed[static_cast<size_t>(row / 64)] |= uint64_t(1) << (row % 64);
}

/// The nearest bf16, ties to even; NaN stays one.
static uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void RowStore::unpack(size_t f, int64_t row, const char *record, float *values) const {
  const RowField &field = settings.fields[f];
  if (!record && field.bound == 0) {
    std::fill_n(values, field.count, 0.f);
    return;
  }
  if (!record) {
    for (int64_t k = 0; k < field.count; ++k) {
      uint64_t bits = draw(settings.seed + f, row, k);
      values[k] =
          field.bound == 0 ? 0 : static_cast<float>((static_cast<double>(bits >> 11) * 0x1p-52 - 1) * field.bound);
    }
    return;
  }
  record += offsets[f];
  switch (field.stored) {
  case RowField::Stored::F32:
    std::memcpy(values, record, static_cast<size_t>(4 * field.count));
    return;
  case RowField::Stored::BF16:
    for (int64_t k = 0; k < field.count; ++k) {
      uint16_t half;
      std::memcpy(&half, record + 2 * k, sizeof half);
      uint32_t bits = static_cast<uint32_t>(half) << 16;
      std::memcpy(values + k, &bits, sizeof bits);
    }
    return;
  case RowField::Stored::I8: {
    float scale;
    std::memcpy(&scale, record, sizeof scale);
    for (int64_t k = 0; k < field.count; ++k)
      values[k] = scale * static_cast<float>(static_cast<int8_t>(record[4 + k]));
    return;
  }
  }
}

void RowStore::pack(size_t f, const float *values, char *record) const {
  const RowField &field = settings.fields[f];
  record += offsets[f];
  switch (field.stored) {
  case RowField::Stored::F32:
    std::memcpy(record, values, static_cast<size_t>(4 * field.count));
    return;
  case RowField::Stored::BF16:
    for (int64_t k = 0; k < field.count; ++k) {
      uint16_t half = toBf16(values[k]);
      std::memcpy(record + 2 * k, &half, sizeof half);
    }
    return;
  case RowField::Stored::I8: {
    float most = 0;
    for (int64_t k = 0; k < field.count; ++k)
      most = std::max(most, std::abs(values[k]));
    float scale = most / 127;
    std::memcpy(record, &scale, sizeof scale);
    for (int64_t k = 0; k < field.count; ++k) {
      float quotient = scale > 0 ? std::nearbyint(values[k] / scale) : 0;
      record[4 + k] = static_cast<char>(static_cast<int8_t>(std::fmin(127.f, std::fmax(-127.f, quotient))));
    }
    return;
  }
  }
}

void RowStore::flush() {
  if (!mayWrite)
    return;
  for (size_t shard = 0; shard < files.size(); ++shard)
    if (fdatasync(files[shard]) != 0)
      failAt(folder + "/" + std::to_string(shard) + ".rows", "cannot be written");
  writeWhole(folder + "/written", written.data(), written.size() * sizeof written[0]);
  describe(true);
}

//===- snapshots -------------------------------------------------------------------------------------===//

std::vector<std::string> RowStore::snapshot(const std::string &prefix, int64_t maxBytes) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < settings.rows; ++row)
    if (uint64_t word = changed[static_cast<size_t>(row / 64)]; word == 0)
      row |= 63;
    else if (word >> (row % 64) & 1)
      rows.push_back(row);
  int64_t each = 8;
  for (const RowField &field : settings.fields)
    each += 4 * field.count;
  int64_t perFile = std::max<int64_t>(maxBytes / each, 1), count = static_cast<int64_t>(rows.size());
  int64_t parts = std::max<int64_t>((count + perFile - 1) / perFile, 1);
  std::vector<std::string> names;
  std::vector<char> record(static_cast<size_t>(bytes));
  for (int64_t part = 0; part < parts; ++part) {
    int64_t begin = part * perFile, here = std::min(perFile, count - begin);
    std::vector<std::vector<float>> values;
    std::vector<const char *> tensors = {"rows"};
    std::vector<sinter_tensor> views = {
        {.data = rows.data() + begin, .dtype = SINTER_I64, .rank = 1, .dims = {here}, .strides = nullptr}};
    for (const RowField &field : settings.fields)
      values.emplace_back(static_cast<size_t>(here * field.count));
    for (int64_t i = 0; i < here; ++i) {
      int64_t row = rows[static_cast<size_t>(begin + i)];
      if (isWritten(row))
        read(row, record.data());
      for (size_t f = 0; f < values.size(); ++f)
        unpack(f, row, isWritten(row) ? record.data() : nullptr, values[f].data() + i * settings.fields[f].count);
    }
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
  std::fill(changed.begin(), changed.end(), 0);
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
  std::vector<char> record(static_cast<size_t>(bytes));
  for (int64_t i = 0; i < count; ++i) {
    for (size_t f = 0; f < values.size(); ++f)
      pack(f, static_cast<const float *>(values[f].get()) + i * settings.fields[f].count, record.data());
    mark(numbers[i]);
    write(numbers[i], record.data());
  }
}

} // namespace sinter::data
