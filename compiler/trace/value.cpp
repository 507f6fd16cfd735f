// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "value.hpp"
#include "Tape.h"
#include <cstdlib>
#include <new>

namespace sinter::inline SINTER_HOST::detail {
namespace {

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

} // namespace

uint64_t &serialOfOpenTrace() {
  static thread_local uint64_t serial = 0;
  return serial;
}

Value *Value::create(size_t bytes) {
  int exponent = BlockPool::exponent(headBytes() + bytes);
  void *memory = BlockPool::take(exponent);
  if (!memory)
    return nullptr;
  auto *value = new (memory) Value;
  value->exponent = uint8_t(exponent);
  value->region = serialOfOpenTrace();
  value->tensor.data = static_cast<char *>(memory) + headBytes();
  return value;
}

void Value::destroy() {
  if (node)
    TapeNode::release(node);
  if (there)
    releaseThere(there);
  if (drop)
    drop(this);
  delete error;
  int size = exponent;
  this->~Value();
  BlockPool::give(this, size);
}

} // namespace sinter::inline SINTER_HOST::detail
