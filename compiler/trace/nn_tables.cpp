// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nn_tables.hpp"
#include "ops.hpp"
#include <numeric>

namespace sinter::inline SINTER_HOST::nn {

static int64_t sumOf(const std::vector<int64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t(0));
}

/// Positions within tables that begin at `first` and have `count` rows, as positions of all rows together; what is
/// outside of its table becomes `all`, the first one that is outside of all.
static Tensor moved(const Tensor &given, const Tensor &first, const Tensor &count, int64_t all, Where where) {
  Tensor positions = astype(Operand(given, where), DType::i64);
  Tensor forward = sinter::where(positions < int64_t(0), positions + count, positions);
  Tensor isInside = logical_and(forward >= int64_t(0), forward < count);
  return sinter::where(isInside, forward + first, full_like(forward, all));
}

static bool isPosition(const Tensor &tensor) { return tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32; }

static bool isKnown(const Tensor &tensor) {
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (tensor.known_dim(axis) < 0)
      return false;
  return true;
}

Tensor EmbeddingBags::operator()(const Operand &positions) const {
  const Tensor &given = positions.tensor;
  auto tables = int64_t(counts.size());
  if (!given.defined() || given.error())
    return take(Operand(weight, positions.where), given, 0);
  bool fits = (given.rank() == 2 || given.rank() == 3) && isKnown(given) && given.known_dim(1) == tables;
  if (!fits || !isPosition(given))
    return detail::fail(positions.where, "embedding bags without splits require i64 or i32 [bags, " +
                                             std::to_string(tables) + "] or [bags, " + std::to_string(tables) +
                                             ", n] of known sizes, got " + given.type().str());
  std::vector<int64_t> first(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), first.begin(), int64_t(0));
  Shape sizes = given.rank() == 2 ? Shape{tables} : Shape{tables, 1};
  Tensor all = moved(given, Tensor(first, sizes), Tensor(counts, sizes), sumOf(counts), positions.where);
  int64_t bags = given.known_dim(0) * tables, each = given.rank() == 2 ? 1 : given.known_dim(2);
  Tensor rows = EmbeddingBag{weight, combine}(Operand(reshape(all, {bags, each}), positions.where));
  return rows.error() ? rows : reshape(rows, {given.known_dim(0), tables * weight.known_dim(1)});
}

Tensor EmbeddingBags::operator()(const std::vector<Tensor> &positions, const std::vector<Tensor> &splits,
                                 const std::vector<Tensor> &weights, Where where) const {
  auto tables = int64_t(counts.size());
  if (positions.size() != counts.size() || splits.size() != counts.size() ||
      (!weights.empty() && weights.size() != counts.size()))
    return detail::fail(where, "embedding bags require positions and splits for each of " + std::to_string(tables) +
                                   " tables, got " + std::to_string(positions.size()) + " and " +
                                   std::to_string(splits.size()));
  std::vector<Tensor> rows, ends;
  int64_t first = 0, before = 0;
  for (size_t t = 0; t < counts.size(); ++t) {
    const Tensor &at = positions[t], &split = splits[t];
    for (const Tensor *tensor : {&at, &split})
      if (!tensor->defined() || tensor->error())
        return bag_sum(Operand(weight, where), at, split);
    bool areVectors = at.rank() == 1 && split.rank() == 1 && isKnown(at) && isKnown(split);
    if (!areVectors || !isPosition(at) || !isPosition(split) || split.known_dim(0) != splits[0].known_dim(0))
      return detail::fail(where, "embedding bags require vectors of i64 or i32 of known sizes, and as many splits for "
                                 "each table, got " +
                                     at.type().str() + " and " + split.type().str() + " of table " + std::to_string(t));
    rows.push_back(moved(at, scalar(first), scalar(counts[t]), sumOf(counts), where));
    Tensor placed = astype(Operand(split, where), DType::i64) + before;
    ends.push_back(placed);
    first += counts[t];
    before += at.known_dim(0);
  }
  // One bag more of each table, which nobody asked for: what its splits leave out.
  int64_t bags = splits[0].known_dim(0) - 1, width = weight.known_dim(1);
  ends.push_back(ends.back()[slice(bags, bags + 1)]);
  Tensor all = weights.empty() ? Tensor() : concatenate(weights, 0, where);
  Tensor sums =
      EmbeddingBag{weight, combine}(Operand(concatenate(rows, 0, where), where), concatenate(ends, 0, where), all);
  if (sums.error())
    return sums;
  Tensor asked = reshape(sums, {tables, bags + 1, width})(slice(), slice(0, bags));
  return reshape(transpose(asked, {1, 0, 2}), {bags, tables * width});
}

EmbeddingBags embedding_bags(const Key &key, const std::vector<int64_t> &counts, int64_t width, Bag combine,
                             DType dtype, Where where) {
  return {random::normal(key, Shape{sumOf(counts), width}, dtype, where), counts, combine};
}

} // namespace sinter::inline SINTER_HOST::nn
