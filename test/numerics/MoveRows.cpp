// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

namespace sinter::numerics {

using S = sinter::slice;

/// Positions in [0, size) out of an operand's elements.
static Tensor place(const Tensor &x, int64_t size) {
  return astype(abs(astype(x, DType::f32)) * 7.f, DType::i64) % std::max<int64_t>(size, 1);
}

std::vector<Row> shapeRows() {
  const Cases none = {{}},
              two = {{{1, 1}, {1, 1}}, {{0, 2}, {3, 2}}, {{3, 2}, {1, 2}}, {{2, 3}, {2, 3}}, {{4, 1}, {0, 1}}};
  const Cases pairs = {{{}, {}}, {{0}, {0}}, {{1}, {1}}, {{3, 2}, {3, 2}}, {{2, 1, 3}, {2, 1, 3}}};
  return {
      {"size", kAll, kUnary, 0, 1, 0,
       [](const Tensors &x) { return x[0].rank() ? as_tensor(size(x[0], -1)) : as_tensor(1); }},
      {"sizes", kAll, kUnary, 0, 1, 0, [](const Tensors &x) { return zeros(sizes(x[0])); }},
      {"as_tensor", kAll, kAxis, 0, 1, 0, [](const Tensors &x) { return as_tensor(size(x[0], 0)); }},
      {"full",
       kAll,
       {{{}}},
       -4,
       4,
       0,
       [](const Tensors &x) {
         return Tensors{
             full({}, x[0]), full({0}, x[0]), full({1}, x[0]), full({2, 3}, x[0]), full({2, 3}, 1.5, DType::f64),
             full({2}, 7)};
       }},
      {"zeros", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         return Tensors{zeros({}), zeros({0}), zeros({1}), zeros({2, 3}, DType::i8), zeros({3}, DType::boolean)};
       }},
      {"ones", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         return Tensors{ones({}), ones({0}), ones({1}), ones({2, 3}, DType::u16), ones({3}, DType::bf16)};
       }},
      {"full_like", kAll, kUnary, 0, 1, 0,
       [](const Tensors &x) { return full_like(x[0], x[0].dtype() == DType::boolean ? Tensor(true) : Tensor(3)); }},
      {"zeros_like", kAll, kUnary, 0, 1, 0, [](const Tensors &x) { return zeros_like(x[0]); }},
      {"ones_like", kAll, kUnary, 0, 1, 0, [](const Tensors &x) { return ones_like(x[0]); }},
      {"iota", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         return Tensors{iota({0}), iota({1}), iota({2, 3}, 0), iota({2, 3}, -1, DType::f32),
                        iota({2, 0}, 1, DType::u8)};
       }},
      {"arange", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         return Tensors{arange(0),        arange(1),         arange(5),
                        arange(2, 11, 3), arange(5, -5, -2), arange(0, 1, 0.25, DType::f32),
                        arange(3, 2)};
       }},
      {"linspace", kOne, none, 0, 0, 0,
       [](const Tensors &) {
         return Tensors{linspace(0, 1, 0), linspace(2, 3, 1), linspace(0, 1, 11), linspace(1, 2, 4, false),
                        linspace(-1, 1, 7, true, DType::f64)};
       }},
      {"eye", kOne, none, 0, 0, 0,
       [](const Tensors &) { return Tensors{eye(0), eye(1), eye(3), eye(2, 4, 1), eye(3, 2, -1, DType::i32)}; }},
      {"reshape", kAll, kUnary, -4, 4, 0,
       [](const Tensors &x) {
         return x[0].size() ? Tensors{reshape(x[0], {-1}), reshape(x[0], {1, -1, 1}), reshape(x[0], {x[0].size()})}
                            : Tensors{reshape(x[0], {0}), reshape(x[0], {3, 0, 2})};
       }},
      {"ravel", kAll, kUnary, -4, 4, 0, [](const Tensors &x) { return ravel(x[0]); }},
      {"flatten", kAll, kUnary, -4, 4, 0,
       [](const Tensors &x) { return x[0].size() ? flatten(x[0], 0, -1) : ravel(x[0]); }},
      {"transpose", kAll, kUnary, -4, 4, 0, [](const Tensors &x) { return transpose(x[0]); }},
      {"permute_dims",
       kAll,
       {{{1, 1, 1}}, {{0, 2, 3}}, {{2, 3, 4}}, {{2, 1, 5}}, {{4, 4, 1}}},
       -4,
       4,
       0,
       [](const Tensors &x) { return permute_dims(x[0], {1, -1, 0}); }},
      {"swapaxes", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return swapaxes(x[0], 0, -1); }},
      {"matrix_transpose", kAll, kMatrix, -4, 4, 0, [](const Tensors &x) { return matrix_transpose(x[0]); }},
      {"moveaxis", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return moveaxis(x[0], 0, -1); }},
      {"squeeze", kAll, kUnary, -4, 4, 0, [](const Tensors &x) { return squeeze(x[0]); }},
      {"expand_dims", kAll, kUnary, -4, 4, 0, [](const Tensors &x) { return expand_dims(expand_dims(x[0], 0), {-1}); }},
      {"broadcast_to",
       kAll,
       {{{}}, {{0}}, {{1}}, {{4, 1}}, {{1, 5}}, {{4, 5}}},
       -4,
       4,
       0,
       [](const Tensors &x) { return x[0].size() ? broadcast_to(x[0], {2, 4, 5}) : broadcast_to(x[0], {3, 0}); }},
      {"broadcast_arrays", kAll, kTernary, -4, 4, 0, [](const Tensors &x) { return broadcast_arrays(x); }},
      {"concatenate", kAll, two, -4, 4, 0, [](const Tensors &x) { return concatenate({x[0], x[1], x[0]}, 0); }},
      {"stack", kAll, pairs, -4, 4, 0, [](const Tensors &x) { return Tensors{stack(x), stack(x, -1)}; }},
      {"split_at",
       kAll,
       {{{1}}, {{5}}, {{4, 3}}, {{6, 0}}, {{3, 1, 2}}},
       -4,
       4,
       0,
       [](const Tensors &x) { return split_at(x[0], {0, 1}); }},
      {"split",
       kAll,
       {{{2}}, {{0}}, {{4, 3}}, {{6, 0}}, {{2, 1, 2}}},
       -4,
       4,
       0,
       [](const Tensors &x) { return split(x[0], 2); }},
      {"tile", kAll, kUnary, -4, 4, 0, [](const Tensors &x) { return tile(x[0], {2, 3}); }},
      {"repeat", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return repeat(x[0], 3, -1); }},
      {"flip", kAll, kUnary, -4, 4, 0, [](const Tensors &x) { return flip(x[0]); }},
      {"roll", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return Tensors{roll(x[0], 1), roll(x[0], -5, -1)}; }},
      {"diff", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return Tensors{diff(x[0]), diff(x[0], 2, 0)}; }},
      {"pad", kNumbers, kAxis, -4, 4, 0, [](const Tensors &x) { return pad(x[0], {{1, 2}}, 3); }},
      {"tril", kAll, kMatrix, -4, 4, 0, [](const Tensors &x) { return Tensors{tril(x[0]), tril(x[0], 1)}; }},
      {"triu", kAll, kMatrix, -4, 4, 0, [](const Tensors &x) { return Tensors{triu(x[0]), triu(x[0], -1)}; }},
      {"diag",
       kAll,
       {{{0}}, {{1}}, {{4}}, {{3, 4}}, {{4, 3}}, {{2, 3, 3}}},
       -4,
       4,
       0,
       [](const Tensors &x) { return diag(x[0]); }},
  };
}

std::vector<Row> indexRows() {
  const Cases lists = {{{1}, {}}, {{5}, {3}}, {{3, 4}, {0}}, {{3, 4}, {2, 2}}, {{2, 1, 5}, {1}}};
  const Cases rows = {{{1}, {1}}, {{0}, {0}}, {{7}, {4}}, {{3, 4}, {2, 4}}, {{2, 3, 5}, {2, 3, 5}}};
  const Cases tuples = {{{3}, {1, 1}}, {{3, 4}, {5, 2}}, {{3, 4}, {0, 2}}, {{3, 4}, {2, 1}}, {{2, 3, 4}, {2, 2, 3}}};
  const Cases windows = {{{1}}, {{5}}, {{3, 4}}, {{1, 1, 1}}, {{2, 3, 5}}};
  return {
      {"operator()",
       kAll,
       {{{5, 4, 3}}, {{5, 4, 0}}, {{5, 4, 1}}, {{6, 7, 2}}, {{5, 4, 3, 2}}},
       -4,
       4,
       0,
       [](const Tensors &x) {
         Tensor t = x[0], i = scalar(int64_t(2)), list = Tensor(std::vector<int64_t>{3, 0, -1});
         return Tensors{t(1),
                        t(-1, S(1, 3)),
                        t(ellipsis, S(std::nullopt, std::nullopt, -1)),
                        t(S(4, 0, -2), newaxis, S(1, std::nullopt)),
                        t(i, 0),
                        t(list),
                        t(S(1, 4), list),
                        t(list, list),
                        t(S(3, 3), 2)};
       }},
      {"operator[]", kAll, kAxis, -4, 4, 0,
       [](const Tensors &x) { return x[0].dim(0) ? Tensors{x[0][0], x[0][-1], x[0][S(1, 3)]} : Tensors{x[0][S(1)]}; }},
      {"index", kAll, kAxis, -4, 4, 0, [](const Tensors &x) { return index(x[0], {ellipsis, S(0, 2)}); }},
      {"at",
       kNumbers,
       {{{5, 4}}, {{5, 4, 1}}, {{6, 4, 3}}, {{5, 5}}, {{5, 4, 0}}},
       -4,
       4,
       0,
       [](const Tensors &x) {
         Tensor t = x[0], i = scalar(int64_t(2)), list = Tensor(std::vector<int64_t>{3, 0, -1});
         return Tensors{t.at(1).set(3),          t.at(S(1, 3), 2).add(1),
                        t.at(i).multiply(2),     t.at(i, S(0, 2)).set(t(0, S(0, 2))),
                        t.at(list).add(t(list)), t.at(S(0, 5, 2), list).max(2),
                        t.at(list, list).min(1), t.at(S(4, 0, -2)).set(t(S(0, 2))),
                        at(t, {S(1, 2)}).set(5)};
       }},
      {"take", kAll, lists, -4, 4, 0, [](const Tensors &x) { return take(x[0], place(x[1], x[0].dim(0))); }},
      {"bag_sum",
       kFloats,
       {{{5, 4}, {6}}, {{5}, {6}}, {{3, 2, 2}, {6}}, {{5, 40}, {6}}, {{5, 0}, {6}}},
       -4,
       4,
       4,
       [](const Tensors &x) {
         Tensor at = place(x[1], x[0].dim(0)), splits = Tensor(std::vector<int64_t>{0, 2, 2, 6});
         return Tensors{bag_sum(x[0], at, splits), bag_sum(x[0], at, splits, x[1])};
       }},
      {"take_along_axis", kAll, rows, -4, 4, 0,
       [](const Tensors &x) { return take_along_axis(x[0], place(x[1], x[0].dim(0)), 0); }},
      {"gather", kAll, tuples, -4, 4, 0, [](const Tensors &x) { return gather(x[0], place(x[1], 2)); }},
      {"scatter", kNumbers, tuples, -4, 4, 0,
       [](const Tensors &x) {
         Tensor at = place(x[1], 2), updates = gather(x[0], at);
         return Tensors{scatter(x[0], at, updates + 1), scatter(x[0], at, updates, Combine::add)};
       }},
      {"put_along_axis", kNumbers, rows, -4, 4, 0,
       [](const Tensors &x) {
         Tensor at = place(x[1], x[0].dim(0));
         return Tensors{put_along_axis(x[0], at, 1, 0), put_along_axis(x[0], at, x[1], 0, Combine::max)};
       }},
      {"dynamic_slice", kAll, windows, -4, 4, 0,
       [](const Tensors &x) {
         Tensors starts(size_t(x[0].rank()), astype(sum(astype(x[0], DType::f32)), DType::i64) % 2);
         return dynamic_slice(x[0], starts, std::vector<int64_t>(size_t(x[0].rank()), 1));
       }},
      {"dynamic_update_slice", kAll, windows, -4, 4, 0,
       [](const Tensors &x) {
         Tensors starts(size_t(x[0].rank()), astype(sum(astype(x[0], DType::f32)), DType::i64) % 2);
         return dynamic_update_slice(x[0], zeros(std::vector<int64_t>(size_t(x[0].rank()), 1), x[0].dtype()), starts);
       }},
      {"nonzero", kAll, kAxis, -1, 1, 0, [](const Tensors &x) { return nonzero(x[0]); }},
      {"compress", kAll, kAxis, -4, 4, 0,
       [](const Tensors &x) { return compress(x[0], iota({size(x[0], 0)}) % 2 == 0); }},
      {"one_hot", kIntegers, kUnary, 0, 6, 0,
       [](const Tensors &x) { return Tensors{one_hot(x[0], 5), one_hot(x[0], 0, DType::i8)}; }},
  };
}

} // namespace sinter::numerics
