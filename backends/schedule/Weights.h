// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All constants of a module in one block of bytes, each once, 64-byte aligned. Code for several targets shares one
// block: what they pack alike is there once, and each knows the parts that it reads. Places are given out at once, from
// what constants hold and how they are packed; the bytes are written at the end, by all threads.

#ifndef SINTER_BACKENDS_SCHEDULE_WEIGHTS_H
#define SINTER_BACKENDS_SCHEDULE_WEIGHTS_H

#include "backends/schedule/KernelLaunch.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <vector>

namespace sinter::schedule {

/// 64-byte aligned memory, as compiled code relies on; much of it in huge pages, where the system has them.
char *allocateBuffer(size_t bytes);
void freeBuffer(char *buffer, size_t bytes);

/// Memory that whoever makes a vector writes: its elements begin with no value.
template <typename T> struct BufferAllocator {
  using value_type = T;
  BufferAllocator() = default;
  template <typename U> BufferAllocator(const BufferAllocator<U> &) {}
  T *allocate(size_t count) { return reinterpret_cast<T *>(allocateBuffer(count * sizeof(T))); }
  void deallocate(T *pointer, size_t count) { freeBuffer(reinterpret_cast<char *>(pointer), count * sizeof(T)); }
  template <typename U> void construct(U *) {}
  template <typename U, typename... Arguments> void construct(U *at, Arguments &&...arguments) {
    ::new (at) U(std::forward<Arguments>(arguments)...);
  }
  bool operator==(const BufferAllocator &) const = default;
};

using WeightBytes = std::vector<char, BufferAllocator<char>>;

/// A part of the block.
struct WeightRange {
  int64_t offset, bytes;
  bool operator==(const WeightRange &) const = default;
};

class Weights {
public:
  /// Byte offset of a constant's elements as they are; fails on attributes other than `dense` and `dense_resource`.
  llvm::FailureOr<int64_t> add(mlir::ElementsAttr value);
  /// Byte offset of its packed form.
  llvm::FailureOr<int64_t> add(mlir::ElementsAttr value, const Packing &packing);

  /// What was added, newly or again, since the last call: ascending, parts that touch (but for their alignment) as one.
  std::vector<WeightRange> takeUsed();
  /// The block, written by up to `threads` threads. What was added is there until then.
  WeightBytes take(unsigned threads);

private:
  /// The elements of a constant, row-major; of the attribute's own memory where they are there as they are.
  struct Elements {
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
  };
  struct Piece {
    WeightRange range;
    Elements from;
    mlir::Attribute key; // type and tag of what is packed; null for elements as they are
    std::function<void(const char *from, char *to)> write;
  };
  static llvm::FailureOr<Elements> elementsOf(mlir::ElementsAttr value);
  /// The place of a piece, which may be one with equal elements, packed alike.
  WeightRange place(Piece piece);
  int64_t use(WeightRange range);

  int64_t size = 0;
  std::vector<Piece> pieces;
  std::vector<WeightRange> used;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::StringAttr>, WeightRange> known;
  llvm::DenseMap<uint64_t, llvm::SmallVector<unsigned, 1>> byContent; // pieces by the hash of their elements
};

} // namespace sinter::schedule

#endif
