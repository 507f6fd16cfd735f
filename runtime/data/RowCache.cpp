// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowCache.h"
#include "../state_write.h"
#include <algorithm>
#include <chrono>
#include <numeric>

namespace sinter::data {

/// Fewer rows than this are one thread's: they are read before another one has begun.
static constexpr int64_t leastPart = 64;
static constexpr uint8_t mostUses = 15;
/// Elements of a batch that are on their way from memory.
static constexpr size_t farther = 12;

RowMemory statesOf(sinter_session *session, const RowStore &store, int64_t slots) {
  std::vector<std::string> names;
  for (const RowField &field : store.options().fields) {
    sinter_tensor view;
    check(srtStateToWrite(session, field.name.c_str(), &view));
    if (view.dtype != SINTER_F32 || view.rank != 2 || view.dims[0] != slots || view.dims[1] != field.count)
      throw Error(SINTER_INVALID_ARGUMENT, "state '" + field.name + "' requires f32 [" + std::to_string(slots) + ", " +
                                               std::to_string(field.count) + "] for rows of a store");
    names.push_back(field.name);
  }
  return [session, names](size_t field) {
    sinter_tensor view;
    check(srtStateToWrite(session, names[field].c_str(), &view));
    return static_cast<float *>(view.data);
  };
}

//===- Slots -----------------------------------------------------------------------------------------===//

RowCache::RowCache(RowStore &store, RowMemory memory, int64_t slots, int threads)
    : store(store), memory(std::move(memory)), slots(slots), threads(std::max(threads, 1)) {
  if (slots < 1)
    throw Error(SINTER_INVALID_ARGUMENT, "a row cache requires a slot or more, got " + std::to_string(slots));
  slotOf.reserve(slots);
  held.resize(static_cast<size_t>(slots));
}

RowCache::~RowCache() {
  if (job.joinable())
    job.join();
}

template <typename Body> void RowCache::inParts(int64_t count, Body body) const {
  int64_t parts = std::clamp<int64_t>(count / leastPart, 1, threads);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(parts));
  auto run = [&](int64_t part) {
    try {
      body(count * part / parts, count * (part + 1) / parts);
    } catch (...) {
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (int64_t part = 1; part < parts; ++part)
    others.emplace_back(run, part);
  run(0);
  for (std::thread &other : others)
    other.join();
  for (const std::exception_ptr &error : errors)
    if (error)
      std::rethrow_exception(error);
}

void RowCache::touch(int64_t slot) {
  Slot &here = held[static_cast<size_t>(slot)];
  if (here.usedAt == now)
    return;
  here.usedAt = now;
  here.uses = std::min<uint8_t>(here.uses + 1, mostUses);
  ++pinned;
}

/// The slot of a row that leaves. There is one that this batch does not use.
int64_t RowCache::chooseSlot() {
  for (;; hand = hand + 1 == slots ? 0 : hand + 1) {
    Slot &here = held[static_cast<size_t>(hand)];
    if (here.usedAt == now)
      continue;
    if (here.row < 0 || here.uses == 0)
      return hand;
    here.uses /= 2;
  }
}

std::vector<float *> RowCache::memories() const {
  std::vector<float *> all;
  for (size_t f = 0; f < store.options().fields.size(); ++f)
    all.push_back(memory(f));
  return all;
}

/// What slots hold as records, before other rows come.
void RowCache::pack(std::span<const int64_t> from, Batch &batch) const {
  const std::vector<RowField> &fields = store.options().fields;
  std::vector<float *> values = memories();
  batch.records.resize(from.size() * static_cast<size_t>(store.recordBytes()));
  inParts(static_cast<int64_t>(from.size()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (size_t f = 0; f < fields.size(); ++f)
        store.pack(f, values[f] + from[static_cast<size_t>(i)] * fields[f].count,
                   batch.records.data() + i * store.recordBytes());
  });
}

void RowCache::writeAll(const Batch &batch) {
  std::vector<size_t> order(batch.rows.size()); // as they lie in the file
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return batch.rows[a] < batch.rows[b]; });
  inParts(static_cast<int64_t>(order.size()), [&](int64_t begin, int64_t end) {
    for (size_t i : std::span(order).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)))
      store.write(batch.rows[i], batch.records.data() + i * static_cast<size_t>(store.recordBytes()));
  });
}

void RowCache::finishJob() {
  if (job.joinable())
    job.join();
  else
    writeAll(leaving); // nothing was prefetched meanwhile
  leaving.clear();
  if (jobError)
    std::rethrow_exception(std::exchange(jobError, nullptr));
}

/// Fills slots.
void RowCache::load(std::vector<Load> &loads) {
  std::sort(loads.begin(), loads.end(), [](const Load &a, const Load &b) { return a.row < b.row; });
  const std::vector<RowField> &fields = store.options().fields;
  std::vector<float *> to = memories();
  inParts(static_cast<int64_t>(loads.size()), [&](int64_t begin, int64_t end) {
    std::vector<char> record(static_cast<size_t>(store.recordBytes()));
    for (int64_t i = begin; i < end; ++i) {
      const Load &one = loads[static_cast<size_t>(i)];
      const char *from = one.record;
      if (!from && store.isWritten(one.row)) {
        store.read(one.row, record.data());
        from = record.data();
      }
      for (size_t f = 0; f < fields.size(); ++f)
        store.unpack(f, one.row, from, to[f] + one.slot * fields[f].count);
    }
  });
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
  auto waited = std::chrono::steady_clock::now() - start;
  ++now;
  pinned = 0;
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
      touch(places[i]);
  }
  std::vector<Load> loads;
  std::vector<int64_t> from; // slots of rows that leave and moved
  bool isFull = false;
  for (size_t i = 0; i < rows.size() && !isFull; ++i) {
    if (places[i] >= 0 || (places[i] = slotOf.find(rows[i])) >= 0)
      continue;
    isFull = pinned == slots;
    if (isFull)
      break;
    int64_t slot = chooseSlot();
    Slot &here = held[static_cast<size_t>(slot)];
    if (here.row >= 0) {
      if (here.isDirty) {
        from.push_back(slot);
        leaving.rows.push_back(here.row);
      }
      slotOf.erase(here.row);
    }
    int64_t place = aheadOf.find(rows[i]);
    loads.push_back({rows[i], slot, place < 0 ? nullptr : ahead.records.data() + place * store.recordBytes()});
    here = {.row = rows[i]};
    slotOf.insert(rows[i], slot);
    touch(slot);
    places[i] = slot;
  }
  pack(from, leaving);
  start = std::chrono::steady_clock::now();
  load(loads);
  numbers.waited += std::chrono::duration<double>(waited + (std::chrono::steady_clock::now() - start)).count();
  for (const Load &one : loads) {
    numbers.prefetched += one.record != nullptr;
    numbers.read += store.isWritten(one.row);
  }
  ahead.clear();
  aheadOf.clear();
  numbers.lookups += static_cast<int64_t>(rows.size());
  numbers.distinct += pinned;
  numbers.missed += static_cast<int64_t>(loads.size());
  numbers.written += static_cast<int64_t>(leaving.rows.size());
  if (isFull)
    throw Error(SINTER_INVALID_ARGUMENT,
                "a batch requires a slot for each of its different rows, got " + std::to_string(slots) + " slots");
  if (moves)
    for (int64_t place : places)
      if (Slot &here = held[static_cast<size_t>(place)]; !here.isDirty) {
        here.isDirty = true;
        store.mark(here.row);
      }
}

/// Reads those of `rows` that are in no slot.
void RowCache::readAhead(std::span<const int64_t> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + farther < rows.size())
      slotOf.expect(rows[i + farther]);
    int64_t row = rows[i];
    if (row >= 0 && row < store.options().rows && store.isWritten(row) && slotOf.find(row) < 0)
      ahead.rows.push_back(row);
  }
  std::sort(ahead.rows.begin(), ahead.rows.end());
  ahead.rows.erase(std::unique(ahead.rows.begin(), ahead.rows.end()), ahead.rows.end());
  for (size_t i = 0; i < ahead.rows.size(); ++i)
    aheadOf.insert(ahead.rows[i], static_cast<int64_t>(i));
  ahead.records.resize(ahead.rows.size() * static_cast<size_t>(store.recordBytes()));
  inParts(static_cast<int64_t>(ahead.rows.size()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      store.read(ahead.rows[static_cast<size_t>(i)], ahead.records.data() + i * store.recordBytes());
  });
}

void RowCache::prefetch(std::span<const int64_t> rows) {
  if (job.joinable()) // for rows that nobody wants now
    finishJob();
  ahead.clear();
  aheadOf.clear();
  // Nothing else looks at the slots until `prepare` has waited for it.
  job = std::thread([this, wanted = std::vector<int64_t>(rows.begin(), rows.end())] {
    try {
      writeAll(leaving);
      readAhead(wanted);
    } catch (...) {
      jobError = std::current_exception();
      ahead.clear();
      aheadOf.clear();
    }
  });
}

void RowCache::flush() {
  finishJob();
  auto perBatch = std::max<size_t>((size_t(1) << 24) / static_cast<size_t>(store.recordBytes()), 1);
  Batch batch;
  std::vector<int64_t> from;
  auto write = [&] {
    pack(from, batch);
    writeAll(batch);
    numbers.written += static_cast<int64_t>(from.size());
    batch.clear();
    from.clear();
  };
  for (int64_t slot = 0; slot < slots; ++slot)
    if (Slot &here = held[static_cast<size_t>(slot)]; here.isDirty) {
      from.push_back(slot);
      batch.rows.push_back(here.row);
      here.isDirty = false;
      if (from.size() == perBatch)
        write();
    }
  write();
  store.flush();
}

void RowCache::forget(int64_t row) {
  finishJob();
  ahead.clear();
  aheadOf.clear();
  if (int64_t slot = slotOf.find(row); slot >= 0) {
    slotOf.erase(row);
    held[static_cast<size_t>(slot)] = {};
  }
  store.forget(row);
}

} // namespace sinter::data
