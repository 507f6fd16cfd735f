// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowCache.h"
#include "../state_write.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace sinter::data {

/// Fewer rows than this are one thread's: they are read before another one has begun.
static constexpr int64_t leastPart = 64;
/// Counts end here: it matters which rows are needed seldom, not which are needed most.
static constexpr uint8_t mostNeeded = 31;
/// Counts are halved when each slot was needed so often on average.
static constexpr int64_t needsOfAge = 32;
/// Elements of a batch that are on their way from memory.
static constexpr size_t farther = 12;

/// Throws unless the state is of `slots` rows of the field.
static void requireRows(sinter_session *session, const RowField &field, int64_t slots) {
  sinter_tensor view;
  check(srtStateToWrite(session, field.name.c_str(), &view));
  if (view.dtype != SINTER_F32 || view.rank != 2 || view.dims[0] != slots || view.dims[1] != field.count)
    throw Error(SINTER_INVALID_ARGUMENT, "state '" + field.name + "' requires f32 [" + std::to_string(slots) + ", " +
                                             std::to_string(field.count) + "] for rows of a store");
  check(srtStateHoldsRows(session, field.name.c_str()));
}

static bool hasState(sinter_session *session, const std::string &name) {
  for (int32_t s = 0; s < sinter_session_num_states(session); ++s)
    if (sinter_session_state_name(session, s) == name)
      return true;
  return false;
}

/// The slots of rows whose gradients the step sums over several calls, if it does.
static std::function<std::span<int64_t>()> summedRows(sinter_session *session, const RowStore &store) {
  for (const RowField &field : store.options().fields)
    if (std::string list = "optimizer.rows." + field.name; hasState(session, list))
      return [session, list]() -> std::span<int64_t> {
        sinter_tensor view;
        check(srtStateToWrite(session, list.c_str(), &view));
        if (view.dtype != SINTER_I64 || view.rank != 1)
          throw Error(SINTER_INVALID_ARGUMENT, "state '" + list + "' requires i64 [n] for rows of a store");
        return {static_cast<int64_t *>(view.data), static_cast<size_t>(view.dims[0])};
      };
  return {};
}

RowMemory statesOf(sinter_session *session, const RowStore &store, int64_t slots) {
  std::vector<std::string> names; // empty: the session has no such state
  bool isAny = false;
  for (const RowField &field : store.options().fields) {
    bool isThere = store.writable() || hasState(session, field.name);
    if (isThere)
      requireRows(session, field, slots);
    names.push_back(isThere ? field.name : "");
    isAny |= isThere;
  }
  if (!isAny)
    throw Error(SINTER_INVALID_ARGUMENT, "a session requires a state for a field of the store, such as '" +
                                             store.options().fields[0].name + "', it has none");
  auto values = [session, names](size_t field) -> float * {
    if (names[field].empty())
      return nullptr;
    sinter_tensor view;
    check(srtStateToWrite(session, names[field].c_str(), &view));
    return static_cast<float *>(view.data);
  };
  return {values, summedRows(session, store)};
}

//===- Slots -----------------------------------------------------------------------------------------===//

RowCache::RowCache(RowStore &store, RowMemory memory, int64_t slots, int threads)
    : store(store), memory(std::move(memory)), slots(slots), threads(std::max(threads, 1)), queues(mostNeeded + 1),
      needed(static_cast<uint8_t *>(std::calloc(static_cast<size_t>(store.options().rows), 1)), std::free) {
  if (slots < 1 || slots > INT32_MAX)
    throw Error(SINTER_INVALID_ARGUMENT, "a row cache requires 1 to 2^31 - 1 slots, got " + std::to_string(slots));
  if (!needed)
    throw std::bad_alloc();
  slotOf.reserve(slots);
  held.resize(static_cast<size_t>(slots));
}

RowCache::~RowCache() {
  if (job.joinable())
    job.join();
}

/// Runs `body` on `count` threads, this one with them; on fewer where the system gives no more.
template <typename Body> static void onThreads(int64_t count, Body body) {
  std::vector<std::thread> others;
  try {
    for (int64_t i = 1; i < count; ++i)
      others.emplace_back([&body] { body(); });
  } catch (const std::system_error &) {
  }
  body();
  for (std::thread &other : others)
    other.join();
}

template <typename Body> void RowCache::inParts(int64_t count, Body body) const {
  std::atomic<int64_t> next = 0;
  onThreads(std::min<int64_t>(threads, count / leastPart), [&] {
    for (int64_t begin; (begin = next.fetch_add(leastPart)) < count;)
      body(begin, std::min(begin + leastPart, count));
  });
}

void RowCache::findMemory() {
  values.clear();
  for (size_t f = 0; f < store.options().fields.size(); ++f)
    values.push_back(memory.values(f));
}

/// Looks at what the step names: these rows stay where they are.
void RowCache::findNamed() {
  namedSlots.clear();
  ++looks;
  hasLooked = true;
  if (!memory.named)
    return;
  std::span<int64_t> list = memory.named();
  // A step that is new, or has moved all, is still waited for: states may be loaded after the folder was opened.
  if (opensNamed() && std::ranges::any_of(list, [&](int64_t slot) { return slot != slots; }))
    bringNamed(list);
  for (int64_t slot : list) {
    if (slot < 0 || slot >= slots || isNamed(held[static_cast<size_t>(slot)]))
      continue;
    Slot &here = held[static_cast<size_t>(slot)];
    if (here.row < 0)
      refuseNamed(slot);
    here.namedAt = looks;
    namedSlots.push_back(slot);
  }
}

void RowCache::refuseNamed(int64_t slot) {
  hasLooked = false;
  throw Error(SINTER_INVALID_ARGUMENT, "a step that sums gradients over batches names slot " + std::to_string(slot) +
                                           ", and the folder does not say which row it has: rows are required to be "
                                           "of the step that the states are of");
}

/// Brings the rows that the step named when they were flushed, and lets the step name them where they are now.
void RowCache::bringNamed(std::span<int64_t> list) {
  const NamedRows &kept = store.keptRows();
  RowMap at; // by the slot at that time, which of `kept`
  at.reserve(static_cast<int64_t>(kept.rows.size()) + 1);
  current.rows.clear();
  for (NamedRows::InSlot one : kept.rows) {
    at.insert(one.slot, static_cast<int64_t>(current.rows.size()));
    current.rows.push_back(one.row);
  }
  for (int64_t slot : list)
    if (slot >= 0 && slot < kept.slots && at.find(slot) < 0)
      refuseNamed(slot);
  next.isWhole = false;
  findMemory();
  bring(current, threads);
  settle(false);
  if (!current.isWhole)
    throw Error(SINTER_INVALID_ARGUMENT, "rows of batches whose gradients are summed require a slot each, " +
                                             std::to_string(kept.rows.size()) + ", got " + std::to_string(slots) +
                                             " slots");
  for (int64_t &slot : list)
    slot = slot >= 0 && slot < kept.slots ? current.places[static_cast<size_t>(at.find(slot))] : slots;
  wasOpened = false;
}

/// A step will write the row.
void RowCache::move(Slot &slot) {
  if (slot.isDirty)
    return;
  slot.isDirty = true;
  store.mark(slot.row);
}

/// `batch` needs the slot.
void RowCache::touch(int64_t slot, Batch &batch) {
  Slot &here = held[static_cast<size_t>(slot)];
  if (here.usedAt == batch.at)
    return;
  pinned += here.usedAt != current.at && !isNamed(here);
  here.usedAt = batch.at;
  uint8_t &times = needed.get()[here.row];
  times = std::min<uint8_t>(times + 1, mostNeeded);
  ++counted;
  batch.slots.push_back(slot);
}

/// Puts what `more` links, a slot or more, behind the queue.
void RowCache::append(Queue &queue, Queue more) {
  (queue.last < 0 ? queue.first : held[static_cast<size_t>(queue.last)].behind) = more.first;
  queue.last = more.last;
}

/// Puts a slot that is in no queue behind those whose rows are needed as often.
void RowCache::enqueue(int64_t slot) {
  Slot &here = held[static_cast<size_t>(slot)];
  here.behind = -1;
  auto only = static_cast<int32_t>(slot);
  append(queues[here.row < 0 ? 0 : needed.get()[here.row]], {only, only});
}

/// Takes the row of a slot away. The slot stays in its queue.
void RowCache::empty(int64_t slot) {
  Slot &here = held[static_cast<size_t>(slot)];
  here = {.behind = here.behind};
}

/// Halves how often rows were needed.
void RowCache::age() {
  counted = 0;
  uint8_t *times = needed.get();
  int64_t rows = store.options().rows, row = 0;
  for (; row + 8 <= rows; row += 8) {
    uint64_t eight;
    std::memcpy(&eight, times + row, sizeof eight);
    if (!eight)
      continue; // pages that nobody wrote take no memory
    eight = eight >> 1 & 0x7F7F7F7F7F7F7F7F;
    std::memcpy(times + row, &eight, sizeof eight);
  }
  for (; row < rows; ++row)
    times[row] /= 2;
  // Each queue goes behind those of the one for half as often.
  for (size_t n = 1; n < queues.size(); ++n)
    if (Queue taken = std::exchange(queues[n], {}); taken.first >= 0)
      append(queues[n / 2], taken);
}

/// The slot of a row that leaves: one that neither `batch` needs nor the one that the step computes with. There is one.
/// It is `aside` then.
int64_t RowCache::chooseSlot(const Batch &batch) {
  if (fresh < slots) {
    aside.push_back(fresh);
    return fresh++;
  }
  for (size_t n = 0;;) {
    Queue &queue = queues[n];
    if (queue.first < 0) {
      ++n;
      continue;
    }
    int64_t slot = queue.first;
    const Slot &here = held[static_cast<size_t>(slot)];
    queue.first = here.behind;
    if (queue.first < 0)
      queue.last = -1;
    bool mustStay = here.usedAt == current.at || here.usedAt == batch.at || isNamed(here);
    if (!mustStay && here.row >= 0 && needed.get()[here.row] > n) {
      enqueue(slot);
      continue;
    }
    aside.push_back(slot);
    if (!mustStay)
      return slot;
  }
}

/// Puts the values of a slot into the store. They stay in the slot, too, where that fails.
void RowCache::writeSlot(int64_t slot) {
  Slot &here = held[static_cast<size_t>(slot)];
  char *record = store.append(here.row);
  for (size_t f = 0; f < values.size(); ++f)
    store.pack(f, values[f] + slot * store.options().fields[f].count, record);
  here.isDirty = false;
  ++written;
}

/// Finds a slot for each row of the batch, as long as there are any. Those that are to be filled are in `arrivals`.
void RowCache::assign(Batch &batch) {
  std::vector<int64_t> &rows = batch.rows, &places = batch.places;
  places.assign(rows.size(), -1);
  batch.slots.clear();
  batch.isWhole = false;
  batch.at = ++batches;
  for (int64_t slot : aside)
    enqueue(slot);
  aside.clear();
  if (counted / needsOfAge >= slots)
    age();
  pinned = &batch == &current ? 0 : static_cast<int64_t>(current.slots.size());
  pinned += std::ranges::count_if(namedSlots,
                                  [&](int64_t slot) { return held[static_cast<size_t>(slot)].usedAt != current.at; });
  // What is here stays, before anything leaves.
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + farther < rows.size())
      slotOf.expect(rows[i + farther]);
    places[i] = slotOf.find(rows[i]);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + farther < rows.size() && places[i + farther] >= 0)
      __builtin_prefetch(&held[static_cast<size_t>(places[i + farther])]);
    if (places[i] >= 0)
      touch(places[i], batch);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (places[i] >= 0 || (places[i] = slotOf.find(rows[i])) >= 0)
      continue;
    if (pinned == slots)
      return;
    int64_t slot = chooseSlot(batch);
    Slot &here = held[static_cast<size_t>(slot)];
    if (here.row >= 0) {
      if (here.isDirty)
        writeSlot(slot);
      slotOf.erase(here.row);
    }
    here = {.row = rows[i]}; // it is in no queue
    slotOf.insert(rows[i], slot);
    arrivals.push_back({rows[i], slot, -1});
    touch(slot, batch);
    places[i] = slot;
  }
  batch.isWhole = true;
}

//===- Reading ---------------------------------------------------------------------------------------===//

/// Says what is to be read: `readParts` may be called then, by any number of threads.
void RowCache::beginReading() {
  try {
    for (Arrival &one : arrivals)
      one.place = store.placeOf(one.row); // not before: a segment may have been moved
    std::sort(arrivals.begin(), arrivals.end(), [](const Arrival &a, const Arrival &b) { return a.place < b.place; });
    for (const Arrival &one : arrivals)
      if (one.place >= 0)
        wanted.push_back(one.row);
    records.resize(wanted.size() * static_cast<size_t>(store.recordBytes()));
  } catch (...) {
    wanted.clear();
    readError = std::current_exception();
  }
  nextPart = 0;
  isReading = true;
  isReading.notify_all();
}

void RowCache::readParts() {
  auto count = static_cast<int64_t>(wanted.size());
  for (int64_t begin; (begin = nextPart.fetch_add(leastPart)) < count;)
    try {
      store.read(std::span(wanted).subspan(static_cast<size_t>(begin),
                                           static_cast<size_t>(std::min(leastPart, count - begin))),
                 records.data() + begin * store.recordBytes());
    } catch (...) {
      std::scoped_lock lock(errorMutex);
      readError = std::current_exception();
    }
}

/// Gives each row of `batch` a slot and reads those that come. `settle` must follow, on the thread of the caller.
void RowCache::bring(Batch &batch, int readers) {
  try {
    assign(batch);
  } catch (...) { // those that have a slot are brought
    jobError = std::current_exception();
  }
  beginReading();
  onThreads(std::min<int64_t>(readers, static_cast<int64_t>(wanted.size()) / leastPart), [this] { readParts(); });
}

/// Waits until what `prefetch` began is done, and does a part of it.
void RowCache::finishJob() {
  if (!job.joinable())
    return;
  isReading.wait(false);
  readParts();
  job.join();
}

/// Fills the slots of those that came. Throws what kept rows from being read or written; rows that were not read are
/// in no slot then.
void RowCache::settle(bool isAhead) {
  const std::vector<RowField> &fields = store.options().fields;
  auto unwritten = static_cast<int64_t>(arrivals.size() - wanted.size());
  if (readError) {
    for (const Arrival &one : arrivals) {
      slotOf.erase(one.row);
      empty(one.slot);
    }
  } else if (!arrivals.empty()) {
    findMemory();
    inParts(static_cast<int64_t>(arrivals.size()), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Arrival &one = arrivals[static_cast<size_t>(i)];
        const char *from = i < unwritten ? nullptr : records.data() + (i - unwritten) * store.recordBytes();
        for (size_t f = 0; f < fields.size(); ++f)
          if (values[f])
            store.unpack(f, one.row, from, values[f] + one.slot * fields[f].count);
        held[static_cast<size_t>(one.slot)].came = isAhead && from ? Came::Ahead : Came::Now;
      }
    });
    numbers.read += static_cast<int64_t>(wanted.size());
  }
  arrivals.clear();
  wanted.clear();
  isReading = false;
  std::exception_ptr error = readError ? readError : jobError;
  readError = jobError = nullptr;
  if (error) {
    next.isWhole = false;
    std::rethrow_exception(error);
  }
}

void RowCache::prepare(std::span<const int64_t> rows, std::span<int64_t> places, bool moves) {
  if (rows.size() != places.size())
    throw Error(SINTER_INVALID_ARGUMENT, "prepare requires a place for each of " + std::to_string(rows.size()) +
                                             " rows, got " + std::to_string(places.size()));
  if (moves && !store.writable())
    throw Error(SINTER_INVALID_ARGUMENT, "rows of a store that is open for reading cannot be moved");
  for (int64_t row : rows)
    if (row < 0 || row >= store.options().rows)
      throw Error(SINTER_INVALID_ARGUMENT, "a table requires rows from 0 to " +
                                               std::to_string(store.options().rows - 1) + ", got " +
                                               std::to_string(row));
  auto start = std::chrono::steady_clock::now();
  finishJob();
  settle(true);
  findNamed();
  if (next.isWhole && std::ranges::equal(next.rows, rows)) {
    std::swap(current, next);
  } else {
    current.rows.assign(rows.begin(), rows.end());
    findMemory();
    bring(current, threads);
    settle(false);
  }
  next.isWhole = false;
  next.rows.clear();
  numbers.waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  numbers.lookups += static_cast<int64_t>(rows.size());
  numbers.distinct += static_cast<int64_t>(current.slots.size());
  for (int64_t slot : current.slots) {
    Slot &here = held[static_cast<size_t>(slot)];
    numbers.missed += here.came != Came::Before;
    numbers.prefetched += here.came == Came::Ahead;
    here.came = Came::Before;
    if (moves && current.isWhole)
      move(here);
  }
  if (!current.isWhole)
    throw Error(SINTER_INVALID_ARGUMENT,
                "a batch requires a slot for each of its different rows" +
                    (namedSlots.empty() ? ""
                                        : " beside the " + std::to_string(namedSlots.size()) +
                                              " of batches whose gradients are summed with its") +
                    ", got " + std::to_string(slots) + " slots");
  for (size_t i = 0; moves && i < namedSlots.size(); ++i) // flushed since, maybe
    move(held[static_cast<size_t>(namedSlots[i])]);
  wasOpened &= !moves;
  std::copy(current.places.begin(), current.places.end(), places.begin());
}

void RowCache::prefetch(std::span<const int64_t> rows) {
  finishJob(); // for rows that nobody wants now
  settle(true);
  next.isWhole = false;
  if (!hasLooked)
    findNamed();
  if (!next.rows.empty()) // what it shares with the step is the step's again
    for (int64_t slot : current.slots)
      held[static_cast<size_t>(slot)].usedAt = current.at;
  next.rows.clear();
  for (int64_t row : rows)
    if (row >= 0 && row < store.options().rows) // `prepare` names the others
      next.rows.push_back(row);
  // A step may run meanwhile: its slots are not touched, and no others are written before `settle`.
  findMemory();
  try {
    job = std::thread([this] { bring(next, threads); });
  } catch (const std::system_error &) { // no thread is to be had: `prepare` does it
  }
}

void RowCache::flush(int64_t mark) {
  if (store.writable()) {
    stage(mark);
    commit();
  }
}

/// Puts the values of all slots that moved into the store.
void RowCache::writeAll() {
  finishJob();
  settle(true);
  findNamed();
  findMemory();
  for (int64_t slot = 0; slot < slots; ++slot)
    if (held[static_cast<size_t>(slot)].isDirty)
      writeSlot(slot);
  if (!memory.named || opensNamed())
    return;
  NamedRows kept{.rows = {}, .slots = slots};
  for (int64_t slot : namedSlots)
    kept.rows.push_back({held[static_cast<size_t>(slot)].row, slot});
  store.keep(std::move(kept));
}

void RowCache::stage(int64_t mark) {
  writeAll();
  store.stage(mark);
}

std::vector<std::string> RowCache::saveAll(const std::string &prefix) {
  writeAll();
  return store.saveAll(prefix);
}

bool RowCache::opensAt(int64_t mark) {
  finishJob();
  settle(true);
  bool isOpen = store.flushedMark() == mark;
  if (!isOpen && !store.opensAt(mark))
    return false;
  if (!isOpen || store.keptRows().slots > 0) // whose rows come back to slots that may have others
    clear();
  return true;
}

void RowCache::restore(const std::string &prefix) {
  finishJob();
  settle(true);
  clear(); // where it fails, too: rows are those of the last flush then
  store.restore(prefix);
}

/// Empties all slots, whatever they hold.
void RowCache::clear() {
  slotOf.clear();
  held.assign(held.size(), {});
  std::fill(queues.begin(), queues.end(), Queue());
  aside.clear();
  namedSlots.clear();
  hasLooked = false;
  wasOpened = true;
  fresh = 0;
  current = next = {};
}

void RowCache::forget(int64_t row) {
  finishJob();
  settle(true);
  next.isWhole = false;
  if (!hasLooked || opensNamed())
    findNamed();
  if (int64_t slot = slotOf.find(row); slot >= 0) {
    const Slot &here = held[static_cast<size_t>(slot)];
    if (memory.named && (isNamed(here) || here.usedAt == current.at || here.usedAt == next.at))
      std::ranges::replace(memory.named(), slot, slots); // what was summed for it is dropped
    slotOf.erase(row);
    empty(slot);
  }
  needed.get()[row] = 0;
  store.forget(row);
}

RowCache::Statistics RowCache::statistics() const {
  Statistics all = numbers;
  all.written = written;
  return all;
}

} // namespace sinter::data
