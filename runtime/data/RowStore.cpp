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
    require(!field.name.empty() && field.name != "rows" && !field.name.starts_with("rows."),
            "a field of a row store requires a name that does not begin with 'rows.' and is not 'rows'");
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
  dropLeftIndexes();
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
    struct stat there;
    if (create && stat(path.c_str(), &there) == 0 && there.st_size > 0)
      throw Error(SINTER_INVALID_ARGUMENT, "is there, and a new row store would write over it; remove it first",
                  {path});
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

} // namespace sinter::data
