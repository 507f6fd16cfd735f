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
// Which row leaves: the one that the fewest batches needed, of those in slots; of equal ones the one that came first.
// Batches are counted for each row of the table, a byte each, so that a row which comes again is known. Where many rows
// are looked up once in a thousand batches, a cache that knows only what it holds takes the wrong ones. Counts are
// halved now and then, so that rows which nobody needs any more leave. The values of a row go to the end of the store's
// log before another row comes; where they cannot be written, it stays.
//
// A step that sums gradients over several batches (`accumulate`) keeps the slots of their rows from call to call, in
// the state optimizer.rows.TABLE. These rows keep their slots until the step has moved them. Which they are is flushed,
// too, so that a folder may be opened in between, for a step with other slots.
//
// What `prefetch` does beside the step: it looks up the ids, chooses slots that the step does not touch, writes what
// leaves and reads what comes. `prepare` then puts the values into the slots, which is all that the step waits for.

#ifndef SINTER_RUNTIME_DATA_ROWCACHE_H
#define SINTER_RUNTIME_DATA_ROWCACHE_H

#include "RowMap.h"
#include "RowStore.h"
#include <atomic>
#include <concepts>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

namespace sinter::data {

/// What a step has of a table.
struct RowMemory {
  /// Memory of field `field`: f32 [slots, count]. Null: nobody reads the field, whose rows are not to be moved then.
  std::function<float *(size_t field)> values;
  /// Slots that the step goes on to name; numbers of no slot are none. Null: it names none. May be written.
  std::function<std::span<int64_t>()> named{};

  template <std::invocable<size_t> Values>
  RowMemory(Values values, std::function<std::span<int64_t>()> named = {})
      : values(std::move(values)), named(std::move(named)) {}
};

/// The states of `session` that are called as the fields of `store`; sinter_session_load leaves them as they are from
/// then on. Throws when one is no f32 [`slots`, count], or is missing: of a store that is open for reading some may be.
/// The session must outlive it.
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

  /// `store` must outlive it. `threads` read, and move values to and from slots.
  RowCache(RowStore &store, RowMemory memory, int64_t slots, int threads = 4);
  ~RowCache(); // without flush, what moved since is lost
  RowCache(const RowCache &) = delete;
  RowCache &operator=(const RowCache &) = delete;

  /// Brings `rows` into slots and says where each lies. `moves`: a step will write them. All others may leave, but
  /// those that the step names. Fails when a row is outside of the table, there are more different ones than slots, or
  /// rows cannot be read or written. The cache can be used on then, and nothing that moved is lost: a row that could
  /// not be written keeps its slot.
  void prepare(std::span<const int64_t> rows, std::span<int64_t> slots, bool moves = true);
  /// Begins to bring those of `rows` that are in no slot, into slots that the last `prepare` did not give. The next
  /// one finds them.
  void prefetch(std::span<const int64_t> rows);
  /// Writes what moved, and flushes the store with this mark.
  void flush(int64_t mark = 0);
  /// The two halves of it, as of the store.
  void stage(int64_t mark);
  void commit() { store.commit(); }
  /// As RowStore::saveAll, with the rows in slots as they are now.
  std::vector<std::string> saveAll(const std::string &prefix);
  /// As RowStore::opensAt. Slots are empty then, unless it was open there and no row was kept.
  bool opensAt(int64_t mark);
  /// As RowStore::restore. Slots are empty then.
  void restore(const std::string &prefix);
  const RowStore &rows() const { return store; }
  /// Gives a row its first value again.
  void forget(int64_t row);

  Statistics statistics() const;

private:
  /// When a row was brought into its slot: before its last batch, or for a batch that `prepare` has not given yet.
  enum class Came : uint8_t { Before, Now, Ahead };
  struct Slot {
    int64_t row = -1;             // -1: none
    uint32_t usedAt = UINT32_MAX; // the number of the last batch that needed it
    uint32_t namedAt = 0;         // the number of the last look at what the step names, when it named the slot
    int32_t behind = -1;          // the next slot of the queue
    bool isDirty = false;
    Came came = Came::Before;
  };
  /// Slots that `behind` links. Each slot that ever held a row is in the queue for how often its row was needed, or
  /// `aside`. It may be in one for fewer: it moves on when it is at the front.
  struct Queue {
    int32_t first = -1, last = -1;
  };
  struct Arrival {            // a row that has a slot, whose values are not there yet
    int64_t row, slot, place; // place: in the store, -1 for one that nobody wrote
  };
  struct Batch {
    std::vector<int64_t> rows, places; // what was asked for, and its slots
    std::vector<int64_t> slots;        // the different ones
    uint32_t at = 0;                   // its number
    bool isWhole = false;              // each row has a place
  };

  void findNamed();
  void bringNamed(std::span<int64_t> list);
  [[noreturn]] void refuseNamed(int64_t slot);
  /// Whether the folder was opened while a step named rows, which it may still do.
  bool opensNamed() const { return wasOpened && store.keptRows().slots > 0; }
  bool isNamed(const Slot &slot) const { return slot.namedAt == looks; }
  void move(Slot &slot);
  int64_t chooseSlot(const Batch &batch);
  void append(Queue &queue, Queue more);
  void enqueue(int64_t slot);
  void empty(int64_t slot);
  void age();
  void touch(int64_t slot, Batch &batch);
  void assign(Batch &batch);
  void beginReading();
  void readParts();
  void bring(Batch &batch, int readers);
  void finishJob();
  void settle(bool isAhead);
  void clear();
  void writeSlot(int64_t slot);
  void writeAll();
  void findMemory();
  /// Runs body(begin, end), which must not throw, for parts of [0, count) on threads.
  template <typename Body> void inParts(int64_t count, Body body) const;

  RowStore &store;
  RowMemory memory;
  int64_t slots;
  int threads;
  RowMap slotOf;
  std::vector<Slot> held;
  std::vector<float *> values;                       // of the fields, as of the last findMemory
  std::vector<Queue> queues;                         // by how often a row was needed
  std::vector<int64_t> aside;                        // slots that were at the front and must stay
  std::unique_ptr<uint8_t, void (*)(void *)> needed; // of each row of the table: batches that needed it
  int64_t counted = 0;                               // since they were halved
  int64_t fresh = 0;                                 // slots that held a row once
  int64_t pinned = 0;                                // slots that must stay
  uint32_t batches = 0;                              // numbers of batches that were given out
  uint32_t looks = 1;                                // at what the step names
  bool hasLooked = false, wasOpened = true;          // since slots were empty, and no batch moved since
  std::vector<int64_t> namedSlots;                   // at the last one
  Batch current, next;                               // what `prepare` gave, and what `prefetch` brings
  std::vector<Arrival> arrivals;
  std::vector<int64_t> wanted; // of the arrivals, those that are read: the last ones
  std::vector<char> records;   // theirs
  std::atomic<int64_t> nextPart = 0;
  std::atomic<bool> isReading = false; // `wanted` is known, who waits may read some
  std::mutex errorMutex;
  std::exception_ptr readError, jobError;
  std::thread job;
  std::atomic<int64_t> written = 0; // rows
  Statistics numbers;
};

} // namespace sinter::data

#endif
