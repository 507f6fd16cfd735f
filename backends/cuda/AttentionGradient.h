// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention in two passes (Dao, FlashAttention-2, 2023), each of which forms scores again from the
// sums of logarithms. A block owns some keys, or some rows; the others go by in slabs.
//
//     own keys (k, v):     for each slab of rows:  p = 2^(s - sums);  dv += p^T dy;
//                                                  ds = p (dy v^T - row_sums);  dk += ds^T q
//     own rows (q, dy):    for each slab of keys:  p, ds likewise;  dq += ds k
//
// Each result is summed by one block in the order of slabs: there are no atomics, and the bits are the same each time.
// Of keys a block goes over the rows of all heads that they serve. Where dk and dv do not fit into registers together,
// they are tasks of their own.

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONGRADIENT_H
#define SINTER_BACKENDS_CUDA_ATTENTIONGRADIENT_H

#include "backends/cuda/AttentionTiles.h"

namespace sinter::cuda {

class GradientTiles : protected AttentionTiles {
protected:
  using AttentionTiles::AttentionTiles;

  enum Operand : unsigned { kQuery, kKey, kValue, kCotangent, kLogSums, kRowSums };
  enum Result : unsigned { kQueryGradient, kKeyGradient, kValueGradient };

  /// One of the two passes: operands of which a block has rows of its own, and those that go by. `deep` ones are summed
  /// over for scores, `wide` ones for their slopes.
  struct Pass {
    bool ownsKeys;
    unsigned deep, wide, otherDeep, otherWide;
  };
  static constexpr Pass kKeys{true, kKey, kValue, kQuery, kCotangent}, kRows{false, kQuery, kCotangent, kKey, kValue};

  /// What a block adds up: own rows times others' wide rows by p, times others' deep rows by ds.
  struct Wanted {
    bool shares, slopes;
  };
  struct Task {
    Pass pass;
    Wanted wanted;
    DimExpr heads, blocks;
  };
  /// `isSplit`: dk and dv are tasks of their own.
  llvm::SmallVector<Task> tasks(bool isSplit);

  /// What a chunk of a task is: own positions from `first` on of a head.
  struct Place {
    Value head, first;
  };
  Place placeOf(const Task &task, Value number);

  /// The positions that go by: [begin, end) of each of `heads` heads from `head` on; whole slabs, but for the last.
  struct Others {
    Value head, begin, end;
    int64_t heads;
  };
  Others othersOf(const Pass &pass, const Place &at);

  /// A sum of logarithms or of dy y: operand `operand` at a row of a head.
  Value ofRow(unsigned operand, Value head, Value row);
  /// Writes what a chunk of a task has summed by shares, then by slopes.
  void storeSums(const Task &task, TileCore *byShares, TileCore *bySlopes, mlir::ValueRange sums, const Place &at);
};

} // namespace sinter::cuda

#endif
