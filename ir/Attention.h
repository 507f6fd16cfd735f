// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention in steps: what its decomposition and its gradient rule both build.

#ifndef SINTER_IR_ATTENTION_H
#define SINTER_IR_ATTENTION_H

#include "ir/Composer.h"
#include "ir/Normalization.h"

namespace sinter {

/// How many heads of queries each head of keys serves: 1 where one of the numbers is not known, or there are no heads.
int64_t headGroups(mlir::Type query, mlir::Type key);

/// The steps of an attention in one float type (f32 for shorter ones). Heads of queries that share keys are rows of one
/// matrix, so that no key is repeated: q [..., h, m, d] is read as [..., h / groups, groups * m, d].
class AttentionSteps {
public:
  /// `op` is an attention or an attention_gradient.
  AttentionSteps(Composer &c, mlir::Operation *op);

  mlir::Value query, key, value, bias; // bias is null if there is none
  int64_t rank;
  double scale;

  /// Values in the type that is computed in; null stays null.
  mlir::Value widen(mlir::Value x) const;
  /// [..., h, m, x] as [..., h / groups, groups * m, x], and back.
  mlir::Value fold(mlir::Value x) const;
  mlir::Value unfold(mlir::Value x) const;
  /// The product over axis `aAxis` of `a` and `bAxis` of `b`, where leading axes go along; as wide as `query`.
  mlir::Value product(mlir::Value a, int64_t aAxis, mlir::Value b, int64_t bAxis) const;
  /// x [..., m, d] times y [..., n, d] of fewer heads: [..., m, n].
  mlir::Value timesKeys(mlir::Value x, mlir::Value y) const;
  /// Rows of `fold(query)`, if they are known.
  std::optional<int64_t> foldedRows() const;
  /// scale q k^T + bias, -inf where a row does not count a key: [..., m, n].
  mlir::Value scores() const;
  /// `x` [..., m, n], `otherwise` where a row does not count a key.
  mlir::Value counted(mlir::Value x, double otherwise) const;
  /// The softmax of `scores()`.
  mlir::Value shares() const;

private:
  Composer &c;
  mlir::Value givenQuery, givenKey;
  std::optional<int64_t> before, after;
  int64_t groups;
};

/// True for an attention and for its gradient.
bool isAttention(mlir::Operation *op);

/// How many operands of such an op its products multiply, and how many results have their type: the first ones.
struct MultipliedParts {
  unsigned operands, results;
};
MultipliedParts multipliedParts(mlir::Operation *op);

/// Rows of keys or values that a table picks out of a cache: what a gather of any axis but the last one gives, whose
/// axes but the last one may be in another order. So a row is one run of the cache.
struct GatheredRows {
  mlir::Operation *gather = nullptr, *order = nullptr; // a transpose, or null

  /// Nothing where `rows` are something else.
  static std::optional<GatheredRows> of(mlir::Value rows);
  mlir::Value cache() const { return gather->getOperand(0); }
};

/// True when `op` gives attention alone keys or values that are rows of a cache, or is the gather in that: a kernel
/// that reads them where they are does without it.
bool givesRowsOfCache(mlir::Operation *op);

/// True when `op` only says where rows of its first operand lie: a transpose that keeps the last axis last, a slice
/// that takes neighbours of the last axis, or a gather of one constant position of another axis. Of known sizes, but
/// for that of the first axis.
bool movesWholeRows(mlir::Operation *op);

/// True when an attention reads queries, keys or values by `use`: a kernel of it may read their rows where they lie.
bool readsByRows(mlir::OpOperand &use);

/// The transpose of whole rows that alone reads the result of `op`, an attention: a kernel of it may write rows where
/// they go. Null where there is none.
mlir::Operation *orderOfRows(mlir::Operation *op);

/// Asks whether an attention, which stands outside of any function, is better than the ops that it would replace. Null:
/// always.
using AttentionFilter = llvm::function_ref<bool(mlir::Operation *)>;

/// What is known, or still to come, of the graph in which attention is looked for.
struct AttentionMatching {
  /// Else a bias that depends on no input is left for later: as a constant it may be a band.
  bool areConstantsKnown = true;
  /// Queries, keys and values that are cut out of one tensor are read as positions of an axis of it, which kernels
  /// address by strides. Their gradients would be sums of as many tensors as large; those of slices are one join.
  bool straightens = true;
};

/// Makes an attention of `op` and what it reads where `op` is the second product of one: a product whose left operand
/// is the softmax of a scaled product, with masks that are added or selected, and with keys that may be repeated for
/// groups of heads. Sizes are known, but for that of the first axis, types f32 or f64, and nobody else reads what lies
/// between. False leaves `op` as it was.
bool recognizeAttention(mlir::Operation *op, AttentionFilter isKept, const AttentionMatching &matching = {});

} // namespace sinter

#endif
