// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all forms of the forward part of attention do with a tile of scores: m, l and shares, results at the end.

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONFORWARD_H
#define SINTER_BACKENDS_CUDA_ATTENTIONFORWARD_H

#include "backends/cuda/AttentionTiles.h"

namespace sinter::cuda {

class ForwardTiles : protected AttentionTiles {
protected:
  using AttentionTiles::AttentionTiles;

  /// Of the rows that this thread holds, and what lies in registers of the result.
  struct State {
    Values greatest, total, result; // m, l, y
    Values all() const;
    static State of(mlir::ValueRange carried, int64_t rows);
  };
  struct Shares {
    Values held, factors; // p and c
  };
  Shares updateSoftmax(State &state, mlir::ValueRange scores);
  void finish(State state, Value head, Value first);
  /// The results so far, each times the factor of its row.
  void scaleResults(State &state, llvm::ArrayRef<Value> factors);

  std::unique_ptr<TileCore> products, results;
};

} // namespace sinter::cuda

#endif
