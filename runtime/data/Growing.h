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
  /// Keeps the first `bytes`.
  void cut(int64_t bytes) { used = bytes; }
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
  /// Memory up to `limit` may be read.
  void put(std::string_view bytes, const char *limit = nullptr) {
    constexpr int64_t piece = 32, most = 4 * piece; // copied without a call
    auto size = static_cast<int64_t>(bytes.size());
    reserve(size + piece);
    if (!size)
      return; // the bytes may be nowhere
    if (size <= most && limit && limit - bytes.data() >= size + piece)
      for (int64_t at = 0; at < size; at += piece)
        std::memcpy(end() + at, bytes.data() + at, piece);
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
  /// The same for at most `most` bytes; so many are read, and may be written behind what is reserved for it.
  template <int64_t most> void putReserved(const char *text, int64_t size) {
    std::memcpy(texts.end(), text, most);
    texts.advance(size);
    int64_t end = texts.size();
    std::memcpy(offsets.end(), &end, sizeof end);
    offsets.advance(sizeof end);
    ++count;
  }
  void reserve(int64_t strings, int64_t bytes) {
    if (offsets.size() == 0)
      offsets.put<int64_t>(0);
    offsets.reserve(strings * static_cast<int64_t>(sizeof(int64_t)));
    texts.reserve(bytes);
  }
  int64_t size() const { return count; }
  /// Keeps the first `strings`.
  void cut(int64_t strings) {
    if (offsets.size() == 0)
      return;
    offsets.cut((strings + 1) * static_cast<int64_t>(sizeof(int64_t)));
    int64_t last;
    std::memcpy(&last, offsets.end() - sizeof last, sizeof last);
    texts.cut(last);
    count = strings;
  }
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
