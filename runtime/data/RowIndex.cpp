// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index of a row store, and flushes: what a folder opens as.

#include "Crc32c.h"
#include "File.h"
#include "RowStore.h"
#include "WholeFile.h"
#include <cerrno>
#include <unistd.h>

namespace sinter::data {

namespace {

/// What an index begins with. Behind it: the places of all rows, 5 bytes each, a bit for each row that changed since
/// the last snapshot, in words of 64, the rows that a step names, and the CRC-32C of all that.
struct IndexHeader {
  char magic[8] = {'s', 'n', 'r', 'o', 'w', 's', '0', '1'};
  int64_t rows = 0, segment = 0, segments = 0, mark = 0;
};

} // namespace

std::vector<int64_t> NamedRows::flat(int64_t tableRows) const {
  std::vector<int64_t> numbers;
  for (InSlot one : rows)
    numbers.insert(numbers.end(), {one.row, one.slot});
  if (slots > 0)
    numbers.insert(numbers.end(), {tableRows, slots});
  return numbers;
}

std::optional<NamedRows> NamedRows::fromFlat(std::span<const int64_t> numbers, int64_t tableRows) {
  if (numbers.empty())
    return NamedRows();
  size_t end = numbers.size() - 2;
  if (numbers.size() % 2 != 0 || numbers[end] != tableRows || numbers[end + 1] < 1 || numbers[end + 1] > INT32_MAX)
    return std::nullopt;
  NamedRows all{.rows = {}, .slots = numbers[end + 1]};
  for (size_t i = 0; i < end; i += 2) {
    int64_t row = numbers[i], slot = numbers[i + 1];
    if (row < 0 || row >= tableRows || slot < 0 || slot >= all.slots)
      return std::nullopt;
    all.rows.push_back({row, slot});
  }
  return all;
}

void RowStore::writeIndex(const std::string &path, int64_t mark) {
  IndexHeader header;
  header.rows = settings.rows;
  header.segment = perSegment;
  header.segments = segments();
  header.mark = mark;
  WholeFile output(path);
  uint32_t crc = 0;
  auto append = [&](const void *data, size_t count) {
    crc = crc32c({static_cast<const char *>(data), count}, crc);
    output.append(data, count);
  };
  append(&header, sizeof header);
  append(places.data(), static_cast<size_t>(settings.rows) * RowPlaces::bytesEach);
  append(changed.data(), changed.size() * sizeof changed[0]);
  std::vector<int64_t> named = kept.flat(settings.rows);
  append(named.data(), named.size() * sizeof named[0]);
  output.append(&crc, sizeof crc);
  output.finish();
}

/// Indexes of a store whose description is gone. Other files of these names are somebody else's.
void RowStore::dropLeftIndexes() const {
  for (const std::string &path : {indexPath(), stagedPath()}) {
    if (access(path.c_str(), F_OK) != 0)
      continue;
    IndexHeader header, own;
    File file(path);
    if (file.size() < static_cast<int64_t>(sizeof header.magic))
      std::memset(header.magic, 0, sizeof header.magic);
    else
      file.readAt(0, header.magic, sizeof header.magic);
    if (std::memcmp(header.magic, own.magic, sizeof own.magic) != 0)
      throw Error(SINTER_INVALID_ARGUMENT,
                  "is there and no index of rows, and a new row store would write over it; remove it first", {path});
    if (unlink(path.c_str()) != 0)
      failAt(path, "cannot be removed");
  }
}

void RowStore::readIndex(const std::string &path) {
  auto require = [&](bool holds, const std::string &message) {
    if (!holds)
      throw Error(SINTER_CORRUPT, message, {path});
  };
  require(access(path.c_str(), F_OK) == 0,
          "is missing: the rows were never flushed, and whoever wrote them is gone; make a store from snapshots");
  File file(path);
  // The size comes first: what the files claim takes memory only where they are as large.
  auto words = static_cast<size_t>((settings.rows + 63) / 64),
       entryBytes = static_cast<size_t>(settings.rows) * RowPlaces::bytesEach;
  auto wanted = static_cast<int64_t>(sizeof(IndexHeader) + entryBytes + words * 8 + 4);
  int64_t more = file.size() - wanted;
  require(more >= 0 && more % 16 == 0 && more / 16 <= settings.rows + 1,
          "requires " + std::to_string(wanted) + " bytes, got " + std::to_string(file.size()));
  IndexHeader header;
  uint32_t crc = 0, stated;
  int64_t at = 0;
  auto read = [&](void *to, size_t count) {
    file.readAt(at, static_cast<char *>(to), static_cast<int64_t>(count));
    crc = crc32c({static_cast<const char *>(to), count}, crc);
    at += static_cast<int64_t>(count);
  };
  read(&header, sizeof header);
  places = RowPlaces(settings.rows);
  changed.resize(words);
  read(places.data(), entryBytes);
  read(changed.data(), words * 8);
  std::vector<int64_t> named(static_cast<size_t>(more / 8));
  read(named.data(), static_cast<size_t>(more));
  file.readAt(at, reinterpret_cast<char *>(&stated), 4);
  require(crc == stated, "is damaged: its checksum differs");
  require(std::memcmp(header.magic, IndexHeader().magic, sizeof header.magic) == 0 && header.rows == settings.rows &&
              header.segment == perSegment,
          "is not the index of these rows");
  lastMark = header.mark;
  std::optional<NamedRows> all = NamedRows::fromFlat(named, settings.rows);
  require(all.has_value(), "has rows in slots that cannot be");
  kept = std::move(*all);
  // A log has at most four times the room of its table, and a few segments.
  require(header.segments >= 0 && header.segments <= 4 * (settings.rows / perSegment + 4),
          "has a log of " + std::to_string(header.segments) + " segments");
  log.assign(static_cast<size_t>(header.segments), {});
  std::vector<uint64_t> taken(static_cast<size_t>((header.segments * perSegment + 63) / 64));
  for (int64_t row = 0; row < settings.rows; ++row)
    if (int64_t place = places[row]; place >= 0) {
      require(place < header.segments * perSegment, "has a row that lies beyond the log");
      uint64_t &word = taken[static_cast<size_t>(place / 64)], bit = uint64_t(1) << (place % 64);
      require(!(word & bit), "has two rows in one place");
      word |= bit;
      Segment &segment = log[static_cast<size_t>(place / perSegment)];
      ++segment.live;
      segment.isFree = false;
      segment.isFlushed = true;
    }
  freed.clear();
  for (int64_t segment = segments(); segment-- > 0;)
    if (log[static_cast<size_t>(segment)].isFree)
      freed.push_back(segment);
}

//===- flushes ---------------------------------------------------------------------------------------===//

void RowStore::flush(int64_t mark) {
  if (!mayWrite)
    return;
  stage(mark);
  commit();
}

void RowStore::stage(int64_t mark) {
  if (!mayWrite)
    return;
  if (open >= 0)
    writeOpen();
  for (size_t shard = 0; shard < files.size(); ++shard)
    if (fdatasync(files[shard]) != 0)
      failAt(pathOf(static_cast<int64_t>(shard)), "cannot be written");
  mayBeStaged = true;
  writeIndex(stagedPath(), mark);
  stagedMark = mark;
}

void RowStore::commit() {
  if (!mayWrite)
    return;
  if (!stagedMark)
    throw Error(SINTER_INVALID_ARGUMENT, "committing requires a flush that was staged, with no row written since",
                {folder});
  if (rename(stagedPath().c_str(), indexPath().c_str()) != 0)
    failAt(indexPath(), "cannot be written");
  lastMark = *stagedMark;
  stagedMark.reset();
  mayBeStaged = false;
  for (Segment &segment : log)
    segment.isFlushed = segment.live > 0;
  freed.insert(freed.end(), waiting.begin(), waiting.end());
  waiting.clear();
}

/// Rows that are written from now on may lie where a flush that was staged has others.
void RowStore::dropStaged() {
  if (!mayBeStaged)
    return;
  if (unlink(stagedPath().c_str()) != 0 && errno != ENOENT)
    failAt(stagedPath(), "cannot be removed");
  stagedMark.reset();
  mayBeStaged = false;
}

/// Drops all that was written since the last flush.
void RowStore::goBack() {
  open = -1;
  waiting.clear();
  if (access(indexPath().c_str(), F_OK) == 0) {
    readIndex(indexPath());
    return;
  }
  places = RowPlaces(settings.rows);
  std::fill(changed.begin(), changed.end(), 0);
  kept = {};
  log.clear();
  freed.clear();
}

bool RowStore::opensAt(int64_t mark) {
  if (lastMark == mark)
    return true;
  IndexHeader staged;
  if (!mayWrite || !mayBeStaged || access(stagedPath().c_str(), F_OK) != 0)
    return false;
  File file(stagedPath());
  if (file.size() < static_cast<int64_t>(sizeof staged))
    return false;
  file.readAt(0, reinterpret_cast<char *>(&staged), sizeof staged);
  if (staged.mark != mark)
    return false;
  readIndex(stagedPath());
  if (rename(stagedPath().c_str(), indexPath().c_str()) != 0)
    failAt(indexPath(), "cannot be written");
  mayBeStaged = false;
  return true;
}

} // namespace sinter::data
