// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From ids to numbers, by open addressing with linear probing: a lookup is one line of the cache as a rule.

#ifndef SINTER_RUNTIME_DATA_ROWMAP_H
#define SINTER_RUNTIME_DATA_ROWMAP_H

#include "Random.h"
#include <algorithm>
#include <bit>
#include <vector>

namespace sinter::data {

class RowMap {
public:
  RowMap() : entries(16) {}

  int64_t size() const { return count; }
  /// Makes room for `most` ids.
  void reserve(int64_t most) {
    if (size_t room = std::bit_ceil(static_cast<size_t>(2 * most)); room > entries.size())
      rehash(room);
  }
  /// The number of `id`, or -1.
  int64_t find(int64_t id) const { return entries[placeOf(id)].number; }
  /// Begins to bring what `find` will read into the cache.
  void expect(int64_t id) const { __builtin_prefetch(&entries[homeOf(id)]); }
  /// Gives `id` a number of 0 or more.
  void insert(int64_t id, int64_t number) {
    size_t at = placeOf(id);
    if (entries[at].number < 0 && 2 * static_cast<size_t>(++count) > entries.size()) {
      rehash(2 * entries.size());
      at = placeOf(id);
    }
    entries[at] = {id, number};
  }
  void erase(int64_t id) {
    size_t hole = placeOf(id), mask = entries.size() - 1;
    if (entries[hole].number < 0)
      return;
    entries[hole] = {};
    --count;
    // Those behind it that could stand there must, or they would not be found.
    for (size_t at = (hole + 1) & mask; entries[at].number >= 0; at = (at + 1) & mask) {
      if (((at - homeOf(entries[at].id)) & mask) < ((at - hole) & mask))
        continue;
      entries[hole] = entries[at];
      entries[at] = {};
      hole = at;
    }
  }
  void clear() {
    std::fill(entries.begin(), entries.end(), Entry());
    count = 0;
  }
  /// Calls `body(id, number)` for each, in no stated order.
  template <typename Body> void each(Body body) const {
    for (const Entry &entry : entries)
      if (entry.number >= 0)
        body(entry.id, entry.number);
  }

private:
  struct Entry {
    int64_t id = 0, number = -1; // -1: nothing is here
  };

  size_t homeOf(int64_t id) const {
    return mix(static_cast<uint64_t>(id) + golden) >> (64 - std::countr_zero(entries.size()));
  }
  size_t placeOf(int64_t id) const {
    size_t at = homeOf(id);
    while (entries[at].number >= 0 && entries[at].id != id)
      at = (at + 1) & (entries.size() - 1);
    return at;
  }
  void rehash(size_t room) {
    std::vector<Entry> old(room);
    old.swap(entries);
    for (const Entry &entry : old)
      if (entry.number >= 0)
        entries[placeOf(entry.id)] = entry;
  }

  std::vector<Entry> entries; // a power of two, at most half of them taken
  int64_t count = 0;
};

} // namespace sinter::data

#endif
