// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a table that is larger than memory, in a folder:
//
//   rows.json     what a row is: its fields, one for the table and one for each moment that moves with it
//   0.rows ...    the shards: row r is record r / shards of shard r mod shards, all fields of it side by side, so that
//                 one read brings all that a step needs of a row
//   written       a bit for each row: one that nobody wrote has its first value, which takes no room on the disk
//
// What is in the folder is a table only after flush; a process that ends before leaves a folder that says so. What
// survives that are snapshots, which are safetensors files of the rows that changed since the last one.

#ifndef SINTER_RUNTIME_DATA_ROWSTORE_H
#define SINTER_RUNTIME_DATA_ROWSTORE_H

#include "Error.h"
#include <memory>
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

struct RowStoreOptions {
  std::vector<RowField> fields;
  int64_t rows = 0; // at most 2^40
  int64_t shards = 1;
  uint64_t seed = 0;
};

class RowStore {
public:
  /// Makes `folder`, which must not hold a store.
  RowStore(const std::string &folder, RowStoreOptions options);
  /// Opens one that was flushed. Several may read one folder; who may write it is alone.
  explicit RowStore(const std::string &folder, bool writable = false);
  ~RowStore();
  RowStore(const RowStore &) = delete;
  RowStore &operator=(const RowStore &) = delete;

  const RowStoreOptions &options() const { return settings; }
  bool writable() const { return mayWrite; }
  /// Bytes of a row in the file.
  int64_t recordBytes() const { return bytes; }
  /// Whether somebody wrote the row.
  bool isWritten(int64_t row) const { return written[row / 64] >> (row % 64) & 1; }

  /// The record of a written row. Threads may read and write different rows at once.
  void read(int64_t row, char *record) const;
  void write(int64_t row, const char *record);
  /// Says that rows were or will be written, before `write`; one thread at a time. So for `forget`, which gives a row
  /// its first value again.
  void mark(int64_t row);
  void forget(int64_t row);

  /// Field `field` of a record in f32, and the other way round; `record` null: its first value.
  void unpack(size_t field, int64_t row, const char *record, float *values) const;
  void pack(size_t field, const float *values, char *record) const;

  /// All that was written is on the disk, and the folder may be opened.
  void flush();

  /// Writes the rows that changed since the last snapshot (at first: since the store was made) to
  /// PREFIX-00001-of-00003.safetensors ..., of at most `maxBytes` each: `rows`, i64 [n], ascending, and each field
  /// [n, count] in f32. Rows that were forgotten are in it with their first value. Returns the names.
  std::vector<std::string> snapshot(const std::string &prefix, int64_t maxBytes = int64_t(1) << 26);
  /// Takes the rows of a snapshot, or of any safetensors file like one, which need not be ascending.
  void apply(const std::string &file);

private:
  void openShards(bool create);
  void describe(bool isClean) const;

  std::string folder;
  RowStoreOptions settings;
  bool mayWrite = true;
  std::vector<int64_t> offsets; // of the fields in a record
  int64_t bytes = 0;
  std::vector<int> files;
  std::vector<uint64_t> written, changed;
};

} // namespace sinter::data

#endif
