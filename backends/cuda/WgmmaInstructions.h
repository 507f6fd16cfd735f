// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions of sm_90a: mbarriers, copies of boxes by tensor maps, wgmma. What has several threads or registers at
// once is inline PTX: sums are tied to their registers from the first product to the wait, as nothing may move them
// while products are under way.

#ifndef SINTER_BACKENDS_CUDA_WGMMAINSTRUCTIONS_H
#define SINTER_BACKENDS_CUDA_WGMMAINSTRUCTIONS_H

#include "backends/cuda/TileMemory.h"

namespace sinter::cuda {

/// Bytes of a row of a slab, and of the pattern in which its chunks are swizzled.
inline constexpr int64_t kSwizzleBytes = 128, kPatternBytes = 1024;

/// Whether the PTX multiplies bytes with a sign by bytes without one, which PTX 8.4 is the first to have.
bool mixesSigns(llvm::StringRef ptx);

class WgmmaBuilder {
public:
  explicit WgmmaBuilder(TileBuilder &t) : t(t) {}

  /// The block's dynamic shared memory, which begins at a multiple of the pattern.
  mlir::Value dynamicShared();

  // Mbarriers are pointers to 8 bytes of shared memory.
  void initBarrier(mlir::Value barrier, int64_t arrivals);
  /// What was initialized is seen by copies from then on.
  void fenceBarriers();
  /// What this thread wrote to shared memory, copies it waited for as well, is seen by products that others ask for
  /// once they know of it.
  void fenceForProducts();
  /// Of threads where `condition` holds; no branch, which would part the warp.
  void arriveWhere(mlir::Value condition, mlir::Value barrier);
  /// The same at that barrier of the block of that rank in the cluster (an index), which learns what this thread knows.
  void arriveInClusterWhere(mlir::Value condition, mlir::Value barrier, mlir::Value rank);
  /// The threads of a warp together, which branches may have parted: products want them so.
  void joinWarp();
  void arriveAndExpect(mlir::Value barrier, int64_t bytes);
  /// Waits for the end of the phase of that parity (i32); `ofCluster`: other blocks may have arrived.
  void wait(mlir::Value barrier, mlir::Value parity, bool ofCluster = false);

  /// This block's number in its cluster, an index. It is read here and not before, so that no register holds it.
  mlir::Value rankInCluster();
  /// All threads of all blocks of the cluster meet.
  void meetCluster();

  /// Brings the box at the coordinates (indices, the innermost axis first) to `to`; its bytes arrive at `barrier`. With
  /// several `blocks`, to these places of the first so many of the cluster.
  void copyBox(mlir::Value map, llvm::ArrayRef<mlir::Value> coordinates, mlir::Value to, mlir::Value barrier,
               int64_t blocks = 1);
  /// Stores the box at `from` at the coordinates, where `condition` holds of a thread, as a group of its own.
  void storeBoxWhere(mlir::Value condition, mlir::Value map, llvm::ArrayRef<mlir::Value> coordinates, mlir::Value from);
  /// Waits until all but `underWay` of the boxes that this thread stores have been read from shared memory.
  void waitForBoxes(int64_t underWay);
  /// The registers of the calling warpgroup's threads from now on; fewer than before for `isLess`.
  void setRegisters(int64_t count, bool isLess);

  /// How an operand lies in its slab: rows of 128 bytes, swizzled, of k or of free positions.
  struct Operand {
    mlir::Value slab; // of the warpgroup's rows, or of all columns
    bool kInner;
  };
  /// Adds the product of two slabs of 128 bytes of k to the sums, as one group that is under way. Two types of 8-bit
  /// floats, or of bytes with their signs, whose k lie inside, or one of f16 and bf16. Sums are f32, of bytes i32.
  llvm::SmallVector<mlir::Value> multiply(std::array<mlir::Type, 2> elements, Operand a, Operand b, int64_t columns,
                                          mlir::ValueRange sums);
  /// The same with an operand a in registers, whose 64 k the thread has as it has sums of 64 columns.
  llvm::SmallVector<mlir::Value> multiplyHeld(mlir::Type element, mlir::ValueRange held, Operand b, int64_t columns,
                                              mlir::ValueRange sums);
  /// The sums when all but `underWay` groups are done.
  llvm::SmallVector<mlir::Value> settle(mlir::ValueRange sums, int64_t underWay);

private:
  llvm::SmallVector<mlir::Value> tied(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands,
                                      mlir::ValueRange sums);
  void inlinePtx(llvm::StringRef text, llvm::StringRef constraints, mlir::ValueRange operands);
  mlir::Value address(mlir::Value pointer);
  mlir::Value descriptor(const Operand &operand);

  TileBuilder &t;
};

} // namespace sinter::cuda

#endif
