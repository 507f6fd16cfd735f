// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All constants of a module in one block of bytes, each once, 64-byte aligned. Code for several targets shares one
// block: what they pack alike is there once, and each knows the parts that it reads.

#ifndef SINTER_BACKENDS_SCHEDULE_WEIGHTS_H
#define SINTER_BACKENDS_SCHEDULE_WEIGHTS_H

#include "backends/schedule/KernelLaunch.h"
#include "ir/reference/HostTensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <new>
#include <vector>

namespace sinter::schedule {

/// Allocates at the alignment that compiled code relies on.
template <typename T> struct BufferAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};
  BufferAllocator() = default;
  template <typename U> BufferAllocator(const BufferAllocator<U> &) {}
  T *allocate(size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), alignment)); }
  void deallocate(T *pointer, size_t) { ::operator delete(pointer, alignment); }
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

  const WeightBytes &bytes() const { return blob; }
  /// What was added, newly or again, since the last call: ascending, parts that touch (but for their alignment) as one.
  std::vector<WeightRange> takeUsed();
  WeightBytes take() { return std::move(blob); }

private:
  WeightRange place(llvm::ArrayRef<char> content);
  int64_t use(WeightRange range);

  WeightBytes blob;
  std::vector<WeightRange> used;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::StringAttr>, WeightRange> known;
  /// Content hash -> (offset, bytes).
  llvm::DenseMap<uint64_t, llvm::SmallVector<std::pair<int64_t, int64_t>, 1>> byContent;
};

} // namespace sinter::schedule

#endif
