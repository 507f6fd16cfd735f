// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long sums by blocks. A chain of n additions in one accumulator is off by up to n / 4 roundings when all terms are
// equal (each rounds the same way), so no chain is longer than a block; the sums of blocks are joined pairwise, which
// adds one rounding for each doubling.
//
// The sums that wait for their partner lie on a stack in memory, the longest at the bottom, as the ones of a binary
// counter of finished blocks do: block number `i` takes as many sums from the stack as `i` ends in ones.
//
//   blocks  0  1  2  3  4 ...        stack after block 2: (0 + 1), 2;   after 3: ((0 + 1) + (2 + 3))
//
// What is shorter than a block is one chain in registers, as if there were no blocks. Where blocks begin depends on the
// sizes alone.

#ifndef SINTER_BACKENDS_CPU_EMIT_BLOCKSUMS_H
#define SINTER_BACKENDS_CPU_EMIT_BLOCKSUMS_H

#include "backends/cpu/emit/Emitter.h"
#include "ir/Reduction.h"

namespace sinter::cpu {

/// Additions in one chain of a sum: errors stay below 1e-6 of the sum of all magnitudes in f32 (17 roundings).
inline constexpr int64_t kSumBlock = 32;
/// Multiply-adds in one chain of a product, where 1e-5 will do: a tile's accumulators go through memory once a block.
inline constexpr int64_t kProductBlock = 512;
/// One chain however long.
inline constexpr int64_t kNoBlocks = std::numeric_limits<int64_t>::max();

/// `kSumBlock` for sums of floats, else none: the order of other combinations does not matter, or not so much.
int64_t blockOf(Combiner combiner, mlir::Type elementType);

using Join = llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)>;

/// Adds vectors or scalars of floats.
mlir::Value joinFloats(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);

/// Passes accumulators through `body(begin, end, accumulators)` over [low, high), where `low` is at least 0. Blocks
/// begin at multiples of `block`, the first with `init`, the others with `fresh`. `size` bounds `high`, and is a
/// constant if that is known.
llvm::SmallVector<mlir::Value>
sumRange(KernelFunction &fn, mlir::Value low, mlir::Value high, DimExpr size, int64_t block, mlir::ValueRange init,
         mlir::ValueRange fresh, Join join,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::Value, mlir::ValueRange)> body);

/// [low, high), `most` positions (ShapedType::kDynamic: unknown).
struct SummedAxis {
  mlir::Value low, high;
  int64_t most = mlir::ShapedType::kDynamic;
};
SummedAxis summedAxis(KernelFunction &fn, DimExpr size);

/// How sumNest walks axes of `most` positions each: the first of them by blocks, the others inside of one.
struct NestBlocks {
  NestBlocks(llvm::ArrayRef<int64_t> most, int64_t length, int64_t block);

  size_t outside;       // axes, of which the last is walked `perBlock` positions at a time; 0: all is one chain
  int64_t perBlock = 1; // a block has so many positions of it
  int64_t blocks = 1;   // or ShapedType::kDynamic
  /// Of those axes, how many are walked one position at a time.
  size_t single() const { return outside - (perBlock > 1); }
  /// Sums on the stack at most.
  int64_t levels() const;
};

/// A part of a sum, where others are computed before the next part of it. What waits for its partner, or for the next
/// part, lies in `memory` from element `place` on: NestBlocks::levels() times all accumulators.
struct SumPart {
  mlir::Value memory, place;
  /// [first, second) of the first axes, all of them NestBlocks::single(): one position of each but the last.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> positions;

  /// Whether the sum over `axes` ends in this part, which has all of it then. One part does, of sums of nothing too.
  mlir::Value isLast(KernelFunction &fn, llvm::ArrayRef<SummedAxis> axes) const;
};

/// Passes accumulators through `step(position, accumulators)` for all positions of `axes`, outermost first. One step is
/// a chain of `length` additions, no more than `block`. With a `part`, for those that lie in it: the sums have the bits
/// of a walk at once, and are whole in the last part.
llvm::SmallVector<mlir::Value>
sumNest(KernelFunction &fn, llvm::ArrayRef<SummedAxis> axes, int64_t length, int64_t block, mlir::ValueRange fresh,
        Join join,
        llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<mlir::Value>, mlir::ValueRange)> step,
        const SumPart *part = nullptr);

} // namespace sinter::cpu

#endif
