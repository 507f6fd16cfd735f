// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns whose size is not known before their last element.

#ifndef SINTER_RUNTIME_DATA_GROWING_H
#define SINTER_RUNTIME_DATA_GROWING_H

#include "Value.h"
#include <algorithm>

namespace sinter::data {

/// Memory that is written from the front and grows.
class Growing {
public:
  void reserve(int64_t more) {
    if (used + more > capacity)
      grow(more);
  }
  char *end() { return memory.get() + used; }
  void advance(int64_t bytes) { used += bytes; }
  int64_t size() const { return used; }
  std::shared_ptr<char> take() {
    reserve(1);
    return std::move(memory);
  }

  template <typename T> void put(T element) {
    reserve(sizeof element);
    std::memcpy(end(), &element, sizeof element);
    advance(sizeof element);
  }
  /// 32 bytes from `bytes` on may be read at once if they end before `limit`.
  void put(std::string_view bytes, const char *limit = nullptr) {
    auto size = static_cast<int64_t>(bytes.size());
    reserve(size + 32);
    if (!size)
      return; // the bytes may be nowhere
    if (size <= 32 && limit && limit - bytes.data() >= 32)
      std::memcpy(end(), bytes.data(), 32); // without a call
    else
      std::memcpy(end(), bytes.data(), bytes.size());
    advance(size);
  }

private:
  [[gnu::noinline]] void grow(int64_t more) {
    capacity = std::max<int64_t>({4096, 2 * capacity, used + more});
    auto grown = allocate(capacity);
    if (used)
      std::memcpy(grown.get(), memory.get(), static_cast<size_t>(used));
    memory = std::move(grown);
  }

  std::shared_ptr<char> memory;
  int64_t used = 0, capacity = 0;
};

/// A column of strings.
class GrowingStrings {
public:
  void add(std::string_view text, const char *limit = nullptr) {
    if (offsets.size() == 0)
      offsets.put<int64_t>(0);
    texts.put(text, limit);
    offsets.put<int64_t>(texts.size());
    ++count;
  }
  int64_t size() const { return count; }
  Value take(const Dims &dims) {
    if (offsets.size() == 0)
      offsets.put<int64_t>(0);
    auto memory = offsets.take();
    return Value::strings(dims, texts.take(), {memory, reinterpret_cast<const int64_t *>(memory.get())});
  }

private:
  Growing texts, offsets;
  int64_t count = 0;
};

} // namespace sinter::data

#endif
