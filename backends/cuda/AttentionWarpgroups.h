// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both parts of attention by wgmma share. A thread of warpgroup 0 asks for rows by tensor maps; warpgroups 1 (and
// 2) multiply, each 64 rows of the block's own. A slab of rows of a head is boxes of 64 numbers of 64 rows, one behind
// the other:
//
//     own rows      [64 numbers][warpgroup][64 rows]
//     others        [64 numbers][64 rows]

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONWARPGROUPS_H
#define SINTER_BACKENDS_CUDA_ATTENTIONWARPGROUPS_H

#include "backends/cuda/AttentionShape.h"
#include "backends/cuda/TileCore.h"
#include "backends/cuda/WgmmaInstructions.h"

namespace sinter::cuda {

constexpr int64_t kWarpgroupThreads = 128, kWarpgroupRows = 64, kBoxNumbers = 64;
constexpr int64_t kOtherRows = 64; // of a slab
constexpr int64_t kBoxBytes = kWarpgroupRows * kSwizzleBytes;
/// Registers of a thread that asks for slabs, and of one that multiplies, where two warpgroups multiply: 65,536 in all.
constexpr int64_t kAskerRegisters = 40, kMultiplierRegisters = 232;

/// Warpgroups that multiply.
inline int64_t consumersOf(const AttentionTile &tile) { return tile.own / kWarpgroupRows; }

/// Warp w of a warpgroup has rows 16 w to 16 w + 15; a lane rows l / 4 and l / 4 + 8 of these, two columns of each 8.
class WarpgroupCore final : public TileCore {
public:
  WarpgroupCore(TileBuilder &t, mlir::Value warpgroup, int64_t columns)
      : TileCore(t), warpgroup(warpgroup), columns(columns) {}
  llvm::SmallVector<Run> runs() override;
  int64_t numSums() const override { return kWarpgroupRows * columns / kWarpgroupThreads; }
  int64_t numRows() const override { return 2; }
  int64_t threadsOfRow() const override { return 4; }
  llvm::SmallVector<mlir::Value> multiply(mlir::Value, mlir::Value, mlir::ValueRange) override;
  llvm::SmallVector<mlir::Value> multiplyHeld(mlir::ValueRange, mlir::Value, mlir::ValueRange) override;

private:
  mlir::Value warpgroup;
  int64_t columns;
};

class AttentionWarpgroups {
  using Value = mlir::Value;
  using Values = llvm::SmallVector<mlir::Value>;

public:
  /// `slabBytes`: of dynamic shared memory before the mbarriers.
  AttentionWarpgroups(TileBuilder &t, const AttentionShape &shape, const AttentionTile &tile, int64_t slabBytes)
      : w(t), t(t), shape(shape), consumers(consumersOf(tile)), slabBytes(slabBytes) {}

  /// The schedule of a part of attention, or the check of one that is there (KernelForms.h): why there is none, or
  /// nothing.
  struct Part {
    bool isGradient;
    llvm::StringRef otherForm; // which has more blocks where these are fewer than multiprocessors
    llvm::function_ref<std::string(const AttentionShape &, const AttentionTile &)> misfit;
    llvm::function_ref<DimExpr(DimContext &, const AttentionShape &, const AttentionTile &)> blocks;
  };
  static std::string plan(KernelSpec &spec, llvm::StringRef name, ScheduleAttr &schedule, const Part &part);
  static AttentionTile tileOf(ScheduleAttr schedule);

  /// Blocks of `own` positions, of all heads.
  static DimExpr blocksOf(DimContext &dims, DimExpr heads, DimExpr positions, const AttentionTile &tile);
  /// Where only running tells how many blocks there are, the kernel runs from so many chunks of the one beside on,
  /// whose tile is `beside`; 0: always.
  static int64_t leastChunks(ScheduleAttr schedule, const AttentionTile &beside);

  /// A map whose axes are numbers of a row, rows of a head, heads.
  Value addMap(WideKernel &wide, unsigned operand, DimExpr rows, DimExpr heads, int64_t size);
  /// Some mbarriers, all full ones before all empty ones: `arrivals` make one full, each warp that multiplies one
  /// empty.
  struct Barriers {
    int64_t stages, arrivals = 1;
  };
  /// Begins the kernel: shared memory, mbarriers, then `ask` for warpgroup 0 and `multiply` for the others.
  void emit(WideKernel &wide, llvm::ArrayRef<Barriers> barriers, llvm::function_ref<void()> ask,
            llvm::function_ref<void(Value warpgroup)> multiply);
  /// Bytes that `emit` has behind slabs.
  static int64_t barrierBytes(llvm::ArrayRef<Barriers> barriers);

  /// `bytes` behind the beginning of shared memory.
  Value at(int64_t bytes) { return t.behind(memory, t.fn.index(bytes)); }
  Value at(Value bytes) { return t.behind(memory, bytes); }
  /// An mbarrier by its number, and one of several stages.
  Value barrier(int64_t number) { return at(slabBytes + 8 * number); }
  Value barrier(int64_t first, Value stage) { return t.behind(barrier(first), t.mul(stage, 8)); }
  /// Of the phase in which something comes for the `count`th time, from 0.
  Value parityOf(Value count);
  /// A fresh mbarrier is at the end of the phase of this parity.
  Value parityBefore(Value count);
  /// Says, of each warp, that what a barrier stands for has been read.
  void give(Value barrier) { w.arriveWhere(t.less(t.rem(t.threadNumber(), 32), t.fn.index(1)), barrier); }

  /// Asks for rows from `first` on, 64 of them or 64 of each warpgroup.
  void bring(Value map, int64_t size, Value head, Value first, int64_t groups, Value to, Value barrier);
  /// Own rows of a warpgroup times others' over `size` numbers, which are so many groups under way: size / 64.
  Values multiplyRows(Value own, Value warpgroup, Value others, int64_t size, mlir::ValueRange sums);

  WgmmaBuilder w;

private:
  static int64_t leastBlocksOf(ScheduleAttr schedule);

  TileBuilder &t;
  const AttentionShape &shape;
  const int64_t consumers, slabBytes;
  Value memory;
};

} // namespace sinter::cuda

#endif
