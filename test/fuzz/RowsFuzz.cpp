// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders of rows and vocabularies. The first byte says which:
//
//   0, 1   a folder: what stands in rows.json, index and 0.rows, each but the last behind its size in two bytes. 1: the
//          checksum of the index is made right, since hardly any change would get past it, and now and then the same
//          index lies there as that of a flush that is staged
//   2      a vocabulary
//
// What opens is used: what rows hold afterwards must be what was written.

#include "HeldFiles.h"
#include "runtime/data/Crc32c.h"
#include "runtime/data/Random.h"
#include "runtime/data/RowStore.h"
#include "runtime/data/RowVocabulary.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

using namespace sinter::data;

/// In memory where it can be: each flush asks for the disk.
static const std::string &folder() {
  static const std::string path = [] {
    for (std::string name : {"/dev/shm/sinter-fuzz-XXXXXX", "/tmp/sinter-fuzz-XXXXXX"})
      if (mkdtemp(name.data()))
        return name;
    abort();
  }();
  static const bool isSwept = std::atexit([] {
                                std::error_code ignored;
                                std::filesystem::remove_all(folder(), ignored);
                              }) == 0;
  (void)isSwept;
  return path;
}

static void put(const char *name, std::string_view content) {
  FILE *file = fopen((folder() + "/" + name).c_str(), "wb");
  if (!file || fwrite(content.data(), 1, content.size(), file) != content.size() || fclose(file) != 0)
    abort();
}

static std::string recordOf(const RowStore &store, int64_t row) {
  std::string record(static_cast<size_t>(store.recordBytes()), '\0');
  if (!store.isWritten(row))
    return "";
  store.read({&row, 1}, record.data());
  return record;
}

/// Makes the checksum of an index right.
static void fixChecksum(std::string &index) {
  uint32_t crc;
  if (index.size() < sizeof crc)
    return;
  crc = crc32c(std::string_view(index).substr(0, index.size() - sizeof crc));
  std::memcpy(index.data() + index.size() - sizeof crc, &crc, sizeof crc);
}

/// Beside an index the same with the next mark, as a flush that was staged leaves it.
static void stage(std::string index) {
  constexpr size_t markAt = 32;
  if (index.size() < markAt + 12)
    return;
  int64_t mark;
  std::memcpy(&mark, index.data() + markAt, sizeof mark);
  mark = mark == INT64_MAX ? 0 : mark + 1;
  std::memcpy(index.data() + markAt, &mark, sizeof mark);
  fixChecksum(index);
  put("index.next", index);
}

static void useRows(bool isStaged) {
  std::map<int64_t, std::string> wanted;
  std::vector<std::string> parts;
  try {
    RowStore store(folder(), true);
    int64_t mark = store.flushedMark();
    if (isStaged && mark != INT64_MAX && (!store.opensAt(mark + 1) || store.flushedMark() != mark + 1))
      abort();
    int64_t rows = std::min<int64_t>(store.options().rows, 300);
    if (store.recordBytes() > 4096)
      return;
    for (int64_t row = 0; row < rows; ++row) {
      wanted[row] = recordOf(store, row);
      for (size_t f = 0; f < store.options().fields.size(); ++f) {
        std::vector<float> values(static_cast<size_t>(store.options().fields[f].count));
        store.unpack(f, row, wanted[row].empty() ? nullptr : wanted[row].data(), values.data());
        std::string record(static_cast<size_t>(store.recordBytes()), '\0');
        store.pack(f, values.data(), record.data());
      }
    }
    // As often as it takes for segments to be moved.
    int64_t times = std::min<int64_t>(5 * store.options().rows / rows, 40);
    for (int64_t i = 0; i < times * rows; ++i) {
      auto row = static_cast<int64_t>(mix(static_cast<uint64_t>(i)) % static_cast<uint64_t>(rows));
      if (i % 11 == 3) {
        store.forget(row);
        wanted[row].clear();
        continue;
      }
      std::string record(static_cast<size_t>(store.recordBytes()), static_cast<char>(i));
      std::memcpy(store.append(row), record.data(), record.size());
      wanted[row] = record;
      if (i % (rows * 3) == 1)
        store.flush();
    }
    store.flush();
    parts = store.snapshot(folder() + "/part", 1 << 16);
    for (const std::string &part : parts)
      store.apply(part);
  } catch (const Error &) {
    return;
  }
  RowStore again(folder()); // what was flushed opens; `apply` did not
  for (const auto &[row, record] : wanted)
    if (recordOf(again, row) != record)
      abort();
  std::string copied = folder() + "/copy"; // as is a store of the snapshot, where nothing is rounded
  std::filesystem::remove_all(copied);
  RowStore copy(copied, again.options());
  for (const std::string &part : parts)
    copy.apply(part);
  if (std::ranges::all_of(again.options().fields, [](const RowField &f) { return f.stored == RowField::Stored::F32; }))
    for (const auto &[row, record] : wanted)
      if (!record.empty() && recordOf(copy, row) != record)
        abort();
}

static void useVocabulary(const uint8_t *data, size_t size) {
  try {
    RowVocabulary vocabulary(givenFile(data, size));
    std::vector<int64_t> ids, rows(40), again(40);
    for (int64_t id = 0; id < 20; ++id)
      ids.insert(ids.end(), {id, id * id * id});
    vocabulary.rowsOf(ids, rows);
    int64_t known = vocabulary.size();
    if (static_cast<int64_t>(vocabulary.evict({.age = 1, .count = 4}).size()) != known - vocabulary.size())
      abort();
    vocabulary.rowsOf(ids, rows);
    std::string path = folder() + "/vocabulary";
    vocabulary.save(path);
    RowVocabulary other(path);
    vocabulary.rowsOf(ids, rows);
    other.rowsOf(ids, again);
    if (rows != again || other.size() != vocabulary.size())
      abort();
    std::map<int64_t, int64_t> idOf; // no two ids have a row
    for (size_t i = 0; i < ids.size(); ++i)
      if (rows[i] != 0 && idOf.try_emplace(rows[i], ids[i]).first->second != ids[i])
        abort();
  } catch (const Error &) {
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0 || data[0] > 2)
    return -1;
  if (data[0] == 2) {
    useVocabulary(data + 1, size - 1);
    return 0;
  }
  bool isRight = data[0] == 1;
  std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  auto take = [&] {
    size_t count = 0;
    if (rest.size() >= 2)
      count = static_cast<size_t>(static_cast<uint8_t>(rest[0]) | static_cast<uint8_t>(rest[1]) << 8);
    rest.remove_prefix(std::min<size_t>(rest.size(), 2));
    std::string part(rest.substr(0, count));
    rest.remove_prefix(part.size());
    return part;
  };
  put("rows.json", take());
  std::string index = take();
  if (isRight)
    fixChecksum(index);
  put("index", index);
  put("0.rows", rest);
  bool isStaged = isRight && size % 4 == 0;
  if (isStaged)
    stage(index);
  useRows(isStaged);
  return 0;
}
