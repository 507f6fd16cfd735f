// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of some names a piece of a file is: a hash of its first and last 8 bytes, which are all of it where it has no
// more than 16, so that names are found in whatever order a writer put them.

#ifndef SINTER_RUNTIME_DATA_NAMETABLE_H
#define SINTER_RUNTIME_DATA_NAMETABLE_H

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::data {

class NameTable {
public:
  /// The names are distinct.
  explicit NameTable(const std::vector<std::string> &names)
      : names(names), shift(64 - std::bit_width(names.size() * 4 + 1)), slots(size_t(1) << (64 - shift)) {
    for (size_t i = 0; i < names.size(); ++i) {
      Key key = keyOf(names[i], nullptr);
      size_t at = slotOf(key, names[i].size());
      while (slots[at].index >= 0)
        at = next(at);
      slots[at] = {key, names[i].size(), static_cast<int64_t>(i)};
    }
  }

  /// The number of a name, or -1. 8 bytes from `name` on may be read if they end before `limit`.
  [[gnu::always_inline]] int64_t find(std::string_view name, const char *limit) const {
    Key key = keyOf(name, limit);
    for (size_t at = slotOf(key, name.size()); slots[at].index >= 0; at = next(at)) {
      const Slot &slot = slots[at];
      if (slot.key.first == key.first && slot.key.last == key.last && slot.size == name.size() &&
          (name.size() <= 16 || isSame(slot.index, name)))
        return slot.index;
    }
    return -1;
  }

private:
  struct Key {
    uint64_t first, last;
  };
  struct Slot {
    Key key;
    size_t size;
    int64_t index = -1;
  };

  [[gnu::always_inline]] static Key keyOf(std::string_view name, const char *limit) {
    Key key = {0, 0};
    if (name.size() >= 8) {
      std::memcpy(&key.first, name.data(), 8);
      std::memcpy(&key.last, name.data() + name.size() - 8, 8);
    } else if (!name.empty() && limit && limit - name.data() >= 8) {
      std::memcpy(&key.first, name.data(), 8);
      key.first &= (uint64_t(1) << (8 * name.size())) - 1;
    } else if (!name.empty()) {
      std::memcpy(&key.first, name.data(), name.size());
    }
    return key;
  }
  [[gnu::noinline]] bool isSame(int64_t index, std::string_view name) const {
    return names[static_cast<size_t>(index)] == name;
  }
  size_t slotOf(const Key &key, size_t size) const {
    return static_cast<size_t>(((key.first ^ std::rotl(key.last, 29) ^ size) * 0x9E3779B97F4A7C15u) >> shift);
  }
  size_t next(size_t at) const { return at + 1 == slots.size() ? 0 : at + 1; }

  std::vector<std::string> names;
  int shift;
  std::vector<Slot> slots;
};

} // namespace sinter::data

#endif
