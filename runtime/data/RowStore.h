// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a table that is larger than memory, in a folder:
//
//   rows.json     what a row is: its fields, one for the table and one for each moment that moves with it; how many
//                 records a segment has
//   0.rows ...    a log: segments, which lie in the files in turn. A segment is written at once when it is full: the
//                 numbers of its rows, then their records, all fields of a row side by side, so that one read brings
//                 all that a step needs of it
//   index         where the record of each row is, as of the last flush, which rows changed since the last snapshot,
//                 and which of them a step names by slots
//   index.next    the same of a flush that is staged
//
// A row that is written again goes to the end of the log. Its old record is dead, and so is a segment of dead records,
// which is then written anew. When the log has twice the room of the table, the segment with the most dead records is
// read and its others are written again: a row that leaves costs at most one that is moved, and both are parts of large
// writes. A row that nobody wrote has its first value, which takes no room on the disk.
//
// Segments that the last flush refers to are left as they are until the next one. So a folder whose process was killed
// opens as it was flushed last. The log may then take four times the room of the table.

#ifndef SINTER_RUNTIME_DATA_ROWSTORE_H
#define SINTER_RUNTIME_DATA_ROWSTORE_H

#include "Error.h"
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sinter::data {

/// A part of each row: a vector of f32, which is a state [rows, count] of a step.
struct RowField {
  /// How it lies in the file. BF16 is rounded to nearest even. I8 is a scale and bytes: the greatest magnitude is 127.
  enum class Stored { F32, BF16, I8 };
  std::string name;
  int64_t count = 0;
  Stored stored = Stored::F32;
  /// Rows that nobody wrote are numbers in [-bound, bound), which follow from seed, field and row.
  float bound = 0;

  /// Bytes of one in the file.
  int64_t bytes() const;
};

/// Rows that a step names from call to call, by slots: numbers from `slots` on are none.
struct NamedRows {
  struct InSlot {
    int64_t row = 0, slot = 0;
  };
  std::vector<InSlot> rows;
  int64_t slots = 0; // 0: the step names none

  /// As it lies in files: two numbers for each row, and the last two are those past the ends of table and slots.
  std::vector<int64_t> flat(int64_t tableRows) const;
  /// The other way round; nothing where the numbers cannot be that.
  static std::optional<NamedRows> fromFlat(std::span<const int64_t> numbers, int64_t tableRows);
};

struct RowStoreOptions {
  std::vector<RowField> fields;
  int64_t rows = 0;   // at most 2^36
  int64_t shards = 1; // files
  uint64_t seed = 0;
};

/// Throws what errno says of a file.
[[noreturn]] void failAt(const std::string &path, const char *what);

/// Where the record of each row is in the log: five bytes a row, of which those of rows that nobody wrote are never
/// touched.
class RowPlaces {
public:
  static constexpr size_t bytesEach = 5;

  /// All rows without a place. Throws std::bad_alloc.
  explicit RowPlaces(int64_t rows);
  /// -1: none.
  int64_t operator[](int64_t row) const {
    uint64_t place = 0;
    std::memcpy(&place, entries.get() + row * static_cast<int64_t>(bytesEach), bytesEach);
    return static_cast<int64_t>(place) - 1;
  }
  void set(int64_t row, int64_t place) {
    auto entry = static_cast<uint64_t>(place + 1);
    std::memcpy(entries.get() + row * static_cast<int64_t>(bytesEach), &entry, bytesEach);
  }
  /// All entries, for the file of the index.
  char *data() { return entries.get(); }

private:
  std::unique_ptr<char, void (*)(void *)> entries;
};

class RowStore {
public:
  /// Makes `folder`, which must not hold a store.
  RowStore(const std::string &folder, RowStoreOptions options);
  /// Opens what was flushed last. Several may read one folder, until who writes it flushes again; who writes it is
  /// alone.
  explicit RowStore(const std::string &folder, bool writable = false);
  ~RowStore();
  RowStore(const RowStore &) = delete;
  RowStore &operator=(const RowStore &) = delete;

  const RowStoreOptions &options() const { return settings; }
  bool writable() const { return mayWrite; }
  /// Bytes of a row in the file.
  int64_t recordBytes() const { return bytes; }
  /// Whether somebody wrote the row.
  bool isWritten(int64_t row) const { return places[row] >= 0; }
  /// Where the record of a row is: rows that are read in this order are read from the beginning of the files to their
  /// end. -1: nobody wrote it.
  int64_t placeOf(int64_t row) const { return places[row]; }

  /// The records of written rows, one behind the other. Threads may read at once, while nobody writes.
  void read(std::span<const int64_t> rows, char *records) const;
  /// A new record of a row, whose bytes the caller sets before any other call. Where this throws because a segment
  /// cannot be written, nothing was lost and nothing changed: it may be called again.
  char *append(int64_t row);
  /// Says that a row changes: it will be in the next snapshot.
  void mark(int64_t row) { changed[static_cast<size_t>(row / 64)] |= uint64_t(1) << (row % 64); }
  /// Gives a row its first value again.
  void forget(int64_t row);

  /// Field `field` of a record in f32, and the other way round; `record` null: its first value.
  void unpack(size_t field, int64_t row, const char *record, float *values) const;
  void pack(size_t field, const float *values, char *record) const;

  /// All that was written is on the disk, and is what the folder opens as. `mark` is kept with it: the step of a
  /// training, say.
  void flush(int64_t mark = 0);
  /// The two halves of a flush, for who saves something else with the rows, or several stores. What is staged is on
  /// the disk, and the folder opens as before; commit() makes it what the folder opens as, in one call that writes
  /// nothing. Rows that are written between the two undo the first.
  void stage(int64_t mark);
  void commit();
  /// Whether the rows are those of a flush with this mark: the last one, or one that was staged by a process that was
  /// killed before it could commit, which is committed then. To be called before rows are read or written.
  bool opensAt(int64_t mark);
  /// What the last flush was given; 0 before the first.
  int64_t flushedMark() const { return lastMark; }
  /// Rows that a step goes on to name are kept with what is flushed, staged or saved from now on.
  void keep(NamedRows rows) { kept = std::move(rows); }
  const NamedRows &keptRows() const { return kept; }
  /// Segments of the log, and how many records each has.
  int64_t segments() const { return static_cast<int64_t>(log.size()); }
  int64_t segmentRecords() const { return perSegment; }

  /// Writes the rows that changed since the last snapshot (at first: since the store was made) to
  /// PREFIX-00001-of-00003.safetensors ..., of at most `maxBytes` each: `rows`, i64 [n], ascending, and each field
  /// [n, count] in f32, with a checksum and what rows that are in no file follow from. Rows that were forgotten are in
  /// it with their first value. Returns the names.
  std::vector<std::string> snapshot(const std::string &prefix, int64_t maxBytes = int64_t(1) << 26);
  /// Writes all rows that somebody wrote to such files; the next snapshot has what it would have without.
  std::vector<std::string> saveAll(const std::string &prefix, int64_t maxBytes = int64_t(1) << 26) const;
  /// Takes the rows of a snapshot, or of any safetensors file like one, which need not be ascending.
  void apply(const std::string &file);
  /// Replaces all rows by those that saveAll wrote to files of this prefix; others have their first value again. The
  /// folder opens as before until the next flush. Throws where a file is missing or damaged, or of a table with other
  /// fields, first values or another number of rows; the rows are those of the last flush then.
  void restore(const std::string &prefix);
  /// Whether there are files of this prefix. Throws where some are missing.
  static bool areSaved(const std::string &prefix);

private:
  struct Segment {
    int32_t live = 0;       // records that are a row's newest
    bool isFlushed = false; // the last flush refers to it
    bool isFree = true;     // in `freed` or `waiting`
  };

  void openFiles(bool create);
  void describe() const;
  void readIndex(const std::string &path);
  void writeIndex(const std::string &path, int64_t mark);
  void dropStaged();
  void goBack();
  std::string indexPath() const { return folder + "/index"; }
  void dropLeftIndexes() const;
  std::string stagedPath() const { return folder + "/index.next"; }
  std::string pathOf(int64_t segment) const;
  int64_t offsetOf(int64_t segment) const { return segment / settings.shards * segmentBytes(); }
  int64_t segmentBytes() const { return perSegment * (8 + bytes); }
  int fileOf(int64_t segment) const { return files[static_cast<size_t>(segment % settings.shards)]; }
  void readAt(int64_t segment, int64_t offset, char *to, int64_t count) const;
  std::vector<std::string> writeRows(const std::string &prefix, const std::vector<int64_t> &rows, int64_t maxBytes,
                                     const NamedRows &named) const;
  void unpackRows(std::span<const int64_t> rows, std::vector<std::vector<float>> &values) const;
  void writeOpen();
  void beginSegment();
  int64_t fullest() const;
  void release(int64_t place);
  void giveBack(int64_t segment);
  char *put(int64_t row);

  std::string folder;
  RowStoreOptions settings;
  bool mayWrite = true;
  bool mayBeStaged = true;           // there may be an index that was staged
  std::optional<int64_t> stagedMark; // of the one that may be committed
  std::vector<int64_t> offsets;      // of the fields in a record
  int64_t bytes = 0, perSegment = 0, lastMark = 0;
  std::vector<int> files;
  RowPlaces places{0};
  std::vector<uint64_t> changed;
  NamedRows kept;
  std::vector<Segment> log;
  std::vector<int64_t> freed, waiting; // segments to write; those that are free with the next flush
  // The segment that is being filled, in memory. -1: none.
  int64_t open = -1, filled = 0;
  std::vector<char> buffer;
};

} // namespace sinter::data

#endif
