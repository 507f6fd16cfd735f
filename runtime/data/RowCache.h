// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table larger than memory, for a step that is compiled for a small one: the step's table and moments have `slots`
// rows, and the cache brings the rows that a batch looks up into them.
//
//   RowStore store("table", {.fields = {{"table", 64, RowField::Stored::F32, 0.1f}, {"optimizer.sum.table", 64}},
//                            .rows = 16'000'000});
//   RowCache cache(store, statesOf(session, store), 500'000);
//   while (...) {
//     cache.prepare(ids, slots);        // `slots` is what the step gets as ids
//     cache.prefetch(idsOfTheNextBatch);// read on threads while the step runs
//     sinter_session_call(...);
//   }
//   cache.flush();
//
// Each row computes what it would in a table of all rows, bit by bit: rows of a table move by themselves, and in which
// order lookups of a row are added does not depend on where it lies. So neither results depend on the number of slots,
// on threads or on what was prefetched.
//
// Which row leaves: a hand goes round the slots, halves how often each was used and takes the first that is at zero, so
// that rows which many batches look up stay.

#ifndef SINTER_RUNTIME_DATA_ROWCACHE_H
#define SINTER_RUNTIME_DATA_ROWCACHE_H

#include "RowMap.h"
#include "RowStore.h"
#include <exception>
#include <functional>
#include <span>
#include <thread>

namespace sinter::data {

/// Memory of field `field`: f32 [slots, count].
using RowMemory = std::function<float *(size_t field)>;

/// The states of `session` that are called as the fields of `store`. Throws when one is missing, or is no f32
/// [`slots`, count]. The session must outlive it.
RowMemory statesOf(sinter_session *session, const RowStore &store, int64_t slots);

class RowCache {
public:
  struct Statistics {
    int64_t lookups = 0;           // ids given to prepare
    int64_t distinct = 0;          // different ones in each batch
    int64_t missed = 0;            // of these, not in a slot
    int64_t prefetched = 0;        // of those missed, read before prepare
    int64_t read = 0, written = 0; // rows, from and to the store
    double waited = 0;             // seconds for reading and writing in prepare
    /// The share of lookups that found their row in a slot, without the first of each missed row.
    double hitRate() const { return lookups ? 1 - static_cast<double>(missed) / static_cast<double>(lookups) : 1; }
  };

  /// `store` must outlive it. `threads` read and write.
  RowCache(RowStore &store, RowMemory memory, int64_t slots, int threads = 4);
  ~RowCache(); // without flush, what moved since is lost
  RowCache(const RowCache &) = delete;
  RowCache &operator=(const RowCache &) = delete;

  /// Brings `rows` into slots and says where each lies. `moves`: a step will write them. All others may leave. Fails
  /// when a row is outside of the table, or there are more different ones than slots; the cache can be used on then.
  void prepare(std::span<const int64_t> rows, std::span<int64_t> slots, bool moves = true);
  /// Begins to read those of `rows` that are in no slot. The next `prepare` finds them, and forgets those that it does
  /// not ask for.
  void prefetch(std::span<const int64_t> rows);
  /// Writes what moved, and flushes the store.
  void flush();
  /// Gives a row its first value again.
  void forget(int64_t row);

  Statistics statistics() const { return numbers; }

private:
  struct Slot {
    int64_t row = -1; // -1: none
    uint32_t usedAt = 0;
    uint8_t uses = 0;
    bool isDirty = false;
  };
  struct Load {
    int64_t row, slot;
    const char *record; // read before; null: in the store
  };
  struct Batch { // records of rows
    std::vector<int64_t> rows;
    std::vector<char> records;
    void clear() { // and keep the memory
      rows.clear();
      records.clear();
    }
  };

  int64_t chooseSlot();
  void touch(int64_t slot);
  void load(std::vector<Load> &loads);
  std::vector<float *> memories() const;
  void pack(std::span<const int64_t> from, Batch &batch) const;
  void readAhead(std::span<const int64_t> rows);
  void writeAll(const Batch &batch);
  void finishJob();
  /// Runs body(begin, end) for parts of [0, count) on threads; throws what one of them threw.
  template <typename Body> void inParts(int64_t count, Body body) const;

  RowStore &store;
  RowMemory memory;
  int64_t slots;
  int threads;
  RowMap slotOf;
  std::vector<Slot> held;
  int64_t hand = 0, pinned = 0;
  uint32_t now = 0;
  Batch leaving, ahead; // what the job writes, and what it reads
  RowMap aheadOf;       // places in `ahead`
  std::thread job;
  std::exception_ptr jobError;
  Statistics numbers;
};

} // namespace sinter::data

#endif
