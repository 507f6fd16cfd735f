// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowStore.h"
#include "Random.h"
#include "WholeFile.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/uio.h>
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

void failAt(const std::string &path, const char *what) {
  throw Error(SINTER_IO, std::string(what) + ": " + std::strerror(errno), {path});
}

/// A whole number of a description, also where JSON calls it another kind of number or it is too large.
static int64_t integerOf(const Json &object, const char *key) {
  const Json &value = object.at(key);
  return value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX ? INT64_MAX
         : value.is_number_integer()                                     ? value.get<int64_t>()
                                                                         : -1;
}

static void checkOptions(const RowStoreOptions &o) {
  auto require = [](bool holds, const std::string &message) {
    if (!holds)
      throw Error(SINTER_INVALID_ARGUMENT, message);
  };
  require(o.rows >= 1 && o.rows <= int64_t(1) << 36,
          "a row store requires 1 to 2^36 rows, got " + std::to_string(o.rows));
  require(o.shards >= 1 && o.shards <= 4096, "a row store requires 1 to 4096 shards, got " + std::to_string(o.shards));
  require(!o.fields.empty() && o.fields.size() <= 64,
          "a row store requires 1 to 64 fields, got " + std::to_string(o.fields.size()));
  int64_t bytes = 0;
  for (const RowField &field : o.fields) {
    require(!field.name.empty() && field.name != "rows", "a field of a row store requires a name other than 'rows'");
    require(field.count >= 1 && field.count <= 1 << 20,
            "field '" + field.name + "' requires 1 to 2^20 elements, got " + std::to_string(field.count));
    require(field.bound >= 0 && std::isfinite(field.bound),
            "field '" + field.name + "' requires a finite bound of 0 or more");
    require(std::count_if(o.fields.begin(), o.fields.end(),
                          [&](const RowField &other) { return other.name == field.name; }) == 1,
            "a row store requires fields of different names, got '" + field.name + "' twice");
    bytes += field.bytes();
  }
  require(o.rows <= (int64_t(1) << 59) / bytes, "a row store requires at most 2^59 bytes, got " +
                                                    std::to_string(o.rows) + " rows of " + std::to_string(bytes));
}

RowPlaces::RowPlaces(int64_t rows)
    : entries(static_cast<char *>(std::calloc(static_cast<size_t>(rows) + 1, bytesEach)), std::free) {
  if (!entries)
    throw std::bad_alloc();
}

/// About a MiB, which one call writes as quickly as it can be written; fewer records where the table is small, so that
/// its log has some segments to choose from.
static int64_t recordsOfSegment(int64_t rows, int64_t bytes) {
  auto most = std::clamp<int64_t>(std::min((int64_t(1) << 20) / bytes, rows / 16), 1, 1 << 16);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
}

RowStore::RowStore(const std::string &folder, RowStoreOptions options) : folder(folder), settings(std::move(options)) {
  checkOptions(settings);
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    failAt(folder, "cannot make the folder");
  if (access((folder + "/rows.json").c_str(), F_OK) == 0)
    throw Error(SINTER_INVALID_ARGUMENT, "the folder holds a row store already", {folder});
  places = RowPlaces(settings.rows);
  changed.resize(static_cast<size_t>((settings.rows + 63) / 64));
  for (const char *left : {"/index", "/index.next"}) // of a store whose description is gone
    unlink((folder + left).c_str());
  openFiles(true);
  perSegment = recordsOfSegment(settings.rows, bytes);
  describe();
}

RowStore::RowStore(const std::string &folder, bool writable) : folder(folder), mayWrite(writable) {
  std::string path = folder + "/rows.json";
  std::ifstream file(path);
  if (!file)
    failAt(path, "cannot be opened");
  Json all = Json::parse(file, nullptr, false);
  auto require = [&](bool holds, const std::string &message) {
    if (!holds)
      throw Error(SINTER_CORRUPT, message, {path});
  };
  require(!all.is_discarded(), "requires a row store's description in JSON");
  try {
    settings.rows = integerOf(all, "rows");
    settings.shards = integerOf(all, "shards");
    require(all.at("seed").is_number_unsigned(), "requires a seed of 0 to 2^64 - 1");
    settings.seed = all.at("seed").get<uint64_t>();
    perSegment = integerOf(all, "segment");
    for (const Json &one : all.at("fields")) {
      RowField field{one.at("name"), integerOf(one, "count"), RowField::Stored::F32, one.at("bound")};
      std::string stored = one.at("stored");
      size_t kind = 0;
      while (kind < std::size(storedNames) && stored != storedNames[kind])
        ++kind;
      require(kind < std::size(storedNames), "requires fields stored as f32, bf16 or i8, got '" + stored + "'");
      field.stored = static_cast<RowField::Stored>(kind);
      settings.fields.push_back(field);
    }
  } catch (const Json::exception &error) {
    throw Error(SINTER_CORRUPT, error.what(), {path});
  }
  try {
    checkOptions(settings);
  } catch (const Error &error) {
    throw Error(SINTER_CORRUPT, error.what(), {path});
  }
  openFiles(false);
  require(perSegment >= 1 && perSegment <= 1 << 16 && perSegment * bytes <= std::max(int64_t(1) << 20, bytes),
          "requires segments of 1 to 2^16 records and a MiB, got " + std::to_string(perSegment));
  readIndex(indexPath());
}

RowStore::~RowStore() {
  for (int file : files)
    close(file);
}

std::string RowStore::pathOf(int64_t segment) const {
  return folder + "/" + std::to_string(segment % settings.shards) + ".rows";
}

void RowStore::openFiles(bool create) {
  for (const RowField &field : settings.fields) {
    offsets.push_back(bytes);
    bytes += field.bytes();
  }
  for (int64_t shard = 0; shard < settings.shards; ++shard) {
    std::string path = pathOf(shard);
    int file =
        ::open(path.c_str(), (mayWrite ? O_RDWR : O_RDONLY) | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0666);
    if (file < 0)
      failAt(path, "cannot be opened");
    files.push_back(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM); // what lies beside a row is other rows
  }
}

void RowStore::describe() const {
  Json fields = Json::array();
  for (const RowField &field : settings.fields)
    fields.push_back({{"name", field.name},
                      {"count", field.count},
                      {"stored", storedNames[static_cast<int>(field.stored)]},
                      {"bound", field.bound}});
  std::string text = Json{{"rows", settings.rows},
                          {"shards", settings.shards},
                          {"seed", settings.seed},
                          {"segment", perSegment},
                          {"fields", fields}}
                         .dump(1) +
                     "\n";
  WholeFile output(folder + "/rows.json");
  output.append(text.data(), text.size());
  output.finish();
}

//===- the log ---------------------------------------------------------------------------------------===//

void RowStore::readAt(int64_t segment, int64_t offset, char *to, int64_t count) const {
  int64_t at = offsetOf(segment) + offset;
  for (int64_t done = 0; done < count;) {
    ssize_t some = pread(fileOf(segment), to + done, static_cast<size_t>(count - done), at + done);
    if (some < 0 && errno == EINTR)
      continue;
    if (some < 0)
      failAt(pathOf(segment), "cannot be read");
    if (some == 0)
      throw Error(SINTER_CORRUPT, "the file ends before a row that was written", {pathOf(segment), -1, at});
    done += some;
  }
}

void RowStore::read(std::span<const int64_t> rows, char *records) const {
  std::vector<size_t> slow; // not in memory
  auto locate = [&](size_t i) {
    int64_t place = places[rows[i]];
    return std::pair(place / perSegment, perSegment * 8 + place % perSegment * bytes);
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    auto [segment, offset] = locate(i);
    char *to = records + static_cast<int64_t>(i) * bytes;
    if (segment == open) {
      std::memcpy(to, buffer.data() + offset, static_cast<size_t>(bytes));
      continue;
    }
    iovec whole = {to, static_cast<size_t>(bytes)};
    if (preadv2(fileOf(segment), &whole, 1, offsetOf(segment) + offset, RWF_NOWAIT) != bytes)
      slow.push_back(i);
  }
  // The disk gets all of them to read before anybody waits for the first.
  if (slow.size() > 1)
    for (size_t i : slow) {
      auto [segment, offset] = locate(i);
      posix_fadvise(fileOf(segment), offsetOf(segment) + offset, bytes, POSIX_FADV_WILLNEED);
    }
  for (size_t i : slow) {
    auto [segment, offset] = locate(i);
    readAt(segment, offset, records + static_cast<int64_t>(i) * bytes, bytes);
  }
}

/// Writes what the segment that is being filled has so far.
void RowStore::writeOpen() {
  int64_t count = perSegment * 8 + filled * bytes;
  for (int64_t done = 0; done < count;) {
    ssize_t some = pwrite(fileOf(open), buffer.data() + done, static_cast<size_t>(count - done), offsetOf(open) + done);
    if (some < 0 && errno == EINTR)
      continue;
    if (some < 0)
      failAt(pathOf(open), "cannot be written");
    done += some;
  }
}

/// A segment of dead records: it may be written, unless the last flush refers to it.
void RowStore::giveBack(int64_t segment) {
  Segment &here = log[static_cast<size_t>(segment)];
  here.isFree = true;
  (here.isFlushed ? waiting : freed).push_back(segment);
}

/// The record at `place` is dead.
void RowStore::release(int64_t place) {
  if (place < 0)
    return;
  int64_t segment = place / perSegment;
  if (--log[static_cast<size_t>(segment)].live == 0 && segment != open)
    giveBack(segment);
}

/// The segment in use with the most dead records.
int64_t RowStore::fullest() const {
  int64_t best = -1;
  for (int64_t segment = 0; segment < segments(); ++segment)
    if (const Segment &here = log[static_cast<size_t>(segment)];
        !here.isFree && segment != open && (best < 0 || here.live < log[static_cast<size_t>(best)].live))
      best = segment;
  return best;
}

/// Finds room for the next segment. The one before is written.
void RowStore::beginSegment() {
  // Twice the room of the table, so that some segment is at most half alive.
  int64_t most = 2 * ((settings.rows + perSegment - 1) / perSegment) + 4;
  std::vector<char> moved;
  std::vector<int64_t> alive; // places in `moved`
  if (segments() - static_cast<int64_t>(freed.size() + waiting.size()) >= most) {
    int64_t victim = fullest();
    moved.resize(static_cast<size_t>(segmentBytes()));
    // A segment that a flush wrote before it was full ends early, and so may the file.
    const Segment &old = log[static_cast<size_t>(victim)];
    readAt(victim, 0, moved.data(), perSegment * 8);
    auto *rows = reinterpret_cast<const int64_t *>(moved.data());
    for (int64_t i = 0; i < perSegment; ++i)
      if (rows[i] >= 0 && rows[i] < settings.rows && places[rows[i]] == victim * perSegment + i)
        alive.push_back(i);
    if (static_cast<int32_t>(alive.size()) != old.live)
      throw Error(SINTER_CORRUPT,
                  "requires a segment with " + std::to_string(old.live) + " rows, got " + std::to_string(alive.size()),
                  {pathOf(victim), -1, offsetOf(victim)});
    readAt(victim, perSegment * 8, moved.data() + perSegment * 8, (alive.back() + 1) * bytes);
    // Nothing fails from here on.
    for (int64_t i : alive)
      places.set(rows[i], -1);
    log[static_cast<size_t>(victim)].live = 0;
    giveBack(victim);
  }
  if (freed.empty()) {
    freed.push_back(segments());
    log.emplace_back();
  }
  open = freed.back();
  freed.pop_back();
  log[static_cast<size_t>(open)] = {.live = 0, .isFlushed = false, .isFree = false};
  filled = 0;
  buffer.assign(static_cast<size_t>(segmentBytes()), 0);
  std::fill_n(reinterpret_cast<int64_t *>(buffer.data()), perSegment, -1);
  for (int64_t i : alive)
    std::memcpy(put(reinterpret_cast<const int64_t *>(moved.data())[i]), moved.data() + perSegment * 8 + i * bytes,
                static_cast<size_t>(bytes));
}

/// The next record of the segment that is being filled, which has room, for a row.
char *RowStore::put(int64_t row) {
  release(places[row]);
  places.set(row, open * perSegment + filled);
  ++log[static_cast<size_t>(open)].live;
  reinterpret_cast<int64_t *>(buffer.data())[filled] = row;
  return buffer.data() + perSegment * 8 + filled++ * bytes;
}

char *RowStore::append(int64_t row) {
  dropStaged();
  if (open >= 0 && filled == perSegment) {
    writeOpen();
    // The disk begins now: where memory is short, who needs a page waits for none that is still to be written.
    sync_file_range(fileOf(open), offsetOf(open), segmentBytes(), SYNC_FILE_RANGE_WRITE);
    int64_t written = std::exchange(open, -1);
    if (log[static_cast<size_t>(written)].live == 0)
      giveBack(written);
  }
  if (open < 0)
    beginSegment();
  mark(row);
  return put(row);
}

void RowStore::forget(int64_t row) {
  dropStaged();
  release(places[row]);
  places.set(row, -1);
  mark(row);
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

//===- snapshots -------------------------------------------------------------------------------------===//

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
