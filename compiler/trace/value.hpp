// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tensor handle points to: elements in memory (eager), a value of the graph that is being traced, or an error.
// Values are counted, and one block of memory holds a value and its elements; blocks are kept by size and thread, so
// that a compiled call in a loop allocates nothing.

#ifndef SINTER_TRACE_VALUE_HPP
#define SINTER_TRACE_VALUE_HPP

#include "error.hpp"
#include "shape.hpp"
#include <atomic>
#include <new>

namespace sinter::detail {

/// Free blocks of this thread, by the exponent of their size.
class BlockPool {
public:
  static constexpr int minExponent = 8, maxExponent = 26;
  static constexpr size_t keptBytes = size_t(64) << 20;

  static int exponent(size_t bytes) {
    int result = minExponent;
    while ((size_t(1) << result) < bytes)
      ++result;
    return result;
  }

  /// 2^exponent bytes, 64-byte aligned; null when memory runs out.
  static void *take(int exponent) {
    BlockPool &pool = local();
    if (exponent <= maxExponent)
      if (Block *block = pool.free[exponent]) {
        pool.free[exponent] = block->next;
        pool.bytes -= size_t(1) << exponent;
        return block;
      }
    return std::aligned_alloc(64, size_t(1) << exponent);
  }
  static void give(void *memory, int exponent) {
    BlockPool &pool = local();
    size_t size = size_t(1) << exponent;
    if (pool.closed || exponent > maxExponent || pool.bytes + size > keptBytes)
      return std::free(memory);
    auto *block = static_cast<Block *>(memory);
    block->next = pool.free[exponent];
    pool.free[exponent] = block;
    pool.bytes += size;
  }

private:
  struct Block {
    Block *next;
  };
  Block *free[maxExponent + 1] = {};
  size_t bytes = 0;
  bool closed = false; // the thread is ending; the pool itself has no destructor, so that late values may still ask

  struct Closer {
    BlockPool *pool;
    ~Closer() {
      pool->closed = true;
      for (Block *&list : pool->free)
        while (list)
          std::free(std::exchange(list, list->next));
    }
  };
  static BlockPool &local() {
    static thread_local BlockPool pool;
    static thread_local Closer closer{&pool};
    (void)&closer;
    return pool;
  }
};

struct Value {
  enum class Kind : uint8_t { eager, traced, error };

  std::atomic<int32_t> references{1};
  Kind kind = Kind::eager;
  bool weak = false;  // a C++ literal, which takes the element type of what it meets
  bool large = false; // may become a constant of a graph however large it is
  uint8_t exponent = 0;
  sinter_tensor tensor{};          // traced and error: without data
  void (*drop)(Value *) = nullptr; // gives back what `owner` stands for
  void *owner = nullptr;
  // traced
  uint32_t id = 0;
  int32_t depth = 0;   // of the region that made it
  uint64_t region = 0; // its serial number, unique in the process
  Where where{};
  // error
  Error *error = nullptr;

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    if (drop)
      drop(this);
    delete error;
    int size = exponent;
    this->~Value();
    BlockPool::give(this, size);
  }

  /// Elements follow at the next multiple of 64 bytes.
  static constexpr size_t headBytes() { return (sizeof(Value) + 63) / 64 * 64; }

  /// A value with room for `bytes` of elements, not initialized. Null when memory runs out.
  static Value *create(size_t bytes) {
    int exponent = BlockPool::exponent(headBytes() + bytes);
    void *memory = BlockPool::take(exponent);
    if (!memory)
      return nullptr;
    auto *value = new (memory) Value;
    value->exponent = uint8_t(exponent);
    value->tensor.data = static_cast<char *>(memory) + headBytes();
    return value;
  }
};

} // namespace sinter::detail

#endif
