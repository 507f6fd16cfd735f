// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the forms of attention know of a kernel, and how its rows and keys are cut into tiles. A schedule has the
// threads of a block as `lanes`, and three numbers:
//
//     #sinter.schedule<mma_attention, lanes = 128, tile = [64, 64, 16]>
//                      rows of a block, keys of a slab, rows of a warp (of a thread in block_attention)
//     #sinter.schedule<mma_attention_gradient, lanes = 128, tile = [64, 16, 16]>
//                      keys (or rows) of a block, rows (or keys) of a slab, keys (or rows) of a warp
//
// Few rows of queries and many keys, as where a text grows by a word, have a fourth number: into so many parts keys are
// cut, and the kernel NAME_join joins what the parts have found.

#ifndef SINTER_BACKENDS_CUDA_ATTENTIONSHAPE_H
#define SINTER_BACKENDS_CUDA_ATTENTIONSHAPE_H

#include "backends/cuda/ProductTile.h"

namespace sinter::cuda {

/// True for an attention or an attention_gradient that a kernel here computes, and so whole: of any number of rows and
/// keys, rows of up to 512 bytes (256 numbers of f16 and bf16, 128 of f32, 64 of f64) that are whole chunks of 16. f32
/// and f64 with few rows and few keys are better as two products and a softmax.
bool hasAttentionForm(mlir::Operation *op);
/// The same; a remark says why an attention is not kept.
bool keepsAttention(mlir::Operation *op);

/// How a block goes over its part of the scores.
struct AttentionTile {
  int64_t own = 0, other = 0, inner = 0, parts = 1;

  int64_t threads(Core core) const { return own / inner * (core == Core::Warps ? 32 : 8); }
};

struct AttentionShape {
  mlir::Operation *root = nullptr;
  Core core = Core::Warps;
  mlir::Type type; // of elements
  Dims batch;      // leading axes of queries
  DimExpr rows, keys, heads, keyHeads;
  int64_t depth = 0, width = 0, groups = 1; // groups: heads of queries to one of keys
  double scale = 1;
  std::optional<int64_t> before, after;

  /// Nothing with the reason in `refusal`.
  static std::optional<AttentionShape> of(KernelSpec &spec, Core core, bool isGradient, std::string &refusal);

  int64_t bytes() const { return static_cast<int64_t>(type.getIntOrFloatBitWidth() / 8); }
  /// Numbers of a row in shared memory: what is behind the row's own is zero.
  int64_t padded(int64_t size) const;
  mlir::Value bias() const; // null for none
  /// How many heads of queries a block takes as rows of one: all that share keys, where their rows are its own
  /// together.
  int64_t fold(const AttentionTile &tile) const;
  /// The gradients of keys and of values are tasks of their own, as their sums do not fit into registers together.
  bool isSplit(const AttentionTile &tile) const;
  /// Bytes of shared memory.
  int64_t sharedBytes(const AttentionTile &tile) const;
};

std::string planAttention(KernelSpec &spec, llvm::StringRef name, Core core, bool isGradient, ScheduleAttr &schedule);
AttentionTile attentionTileOf(ScheduleAttr schedule);
/// Whether the rows of all heads that share keys are so few that mma_attention may cut the keys into parts.
bool hasFewRows(const AttentionShape &shape);
/// The tile of mma_attention or block_attention where rows are many.
AttentionTile largestTile(const AttentionShape &shape);

} // namespace sinter::cuda

#endif
