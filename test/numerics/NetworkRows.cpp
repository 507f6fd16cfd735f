// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Functions.h"

namespace sinter::numerics {

std::vector<Row> contractRows() {
  const std::vector<DType> numbers = {DType::f32, DType::f64, DType::f16, DType::i32};
  const Cases images = {{{1, 1, 1, 1}, {1, 1, 1, 1}},
                        {{1, 2, 5, 6}, {3, 2, 3, 2}},
                        {{0, 2, 5, 6}, {3, 2, 3, 2}},
                        {{2, 2, 5, 5}, {2, 2, 1, 1}},
                        {{2, 1, 4, 7}, {2, 1, 3, 3}}};
  const Cases planes = {{{1, 1, 2, 2}}, {{2, 3, 6, 4}}, {{0, 1, 4, 4}}, {{1, 1, 5, 7}}, {{1, 2, 2, 8}}};
  return {
      {"matmul",
       numbers,
       {{{3}, {3}},
        {{1, 1}, {1, 1}},
        {{2, 3}, {3, 4}},
        {{2, 0}, {0, 3}},
        {{5, 2, 3}, {3, 4}},
        {{2, 1, 2, 3}, {5, 3, 2}},
        {{3}, {2, 3, 4}},
        {{2, 3}, {3}}},
       -2,
       2,
       64,
       [](const Tensors &x) { return matmul(x[0], x[1]); }},
      {"dot",
       numbers,
       {{{}, {}}, {{3}, {3}}, {{2, 3}, {3}}, {{2, 3}, {4, 3, 2}}, {{}, {2, 2}}, {{0}, {0}}},
       -2,
       2,
       64,
       [](const Tensors &x) { return dot(x[0], x[1]); }},
      {"tensordot",
       numbers,
       {{{2, 3, 4}, {3, 4, 5}}, {{1, 1}, {1, 1}}, {{0, 2, 2}, {2, 2, 3}}, {{2, 3}, {2, 3}}, {{3, 4}, {3, 4, 1}}},
       -2,
       2,
       64,
       [](const Tensors &x) { return Tensors{tensordot(x[0], x[1], 2), tensordot(x[0], x[1], {-1, -2}, {1, 0})}; }},
      {"vdot",
       numbers,
       {{{}, {}}, {{0}, {0}}, {{1}, {1}}, {{3, 4}, {3, 4}}, {{2, 1, 5}, {2, 1, 5}}},
       -2,
       2,
       64,
       [](const Tensors &x) { return vdot(x[0], x[1]); }},
      {"inner",
       numbers,
       {{{}, {3}}, {{3}, {3}}, {{2, 3}, {4, 3}}, {{0, 3}, {3}}, {{1}, {1}}},
       -2,
       2,
       64,
       [](const Tensors &x) { return inner(x[0], x[1]); }},
      {"outer",
       numbers,
       {{{}, {}}, {{3}, {4}}, {{0}, {3}}, {{1}, {1}}, {{2, 2}, {3}}},
       -2,
       2,
       4,
       [](const Tensors &x) { return outer(x[0], x[1]); }},
      {"einsum",
       numbers,
       {{{3, 3}, {3, 3}}, {{1, 1}, {1, 1}}, {{0, 0}, {0, 0}}, {{2, 2}, {2, 2}}, {{4, 4}, {4, 4}}},
       -2,
       2,
       64,
       [](const Tensors &x) {
         return Tensors{einsum("ij,jk->ik", x),      einsum("ij,kj->", x),
                        einsum("ii", {x[0]}),        einsum("ii->i", {x[0]}),
                        einsum("ij->ji", {x[0]}),    einsum("ij,ij->ij", x),
                        einsum("...i,...i->...", x), einsum("ij,jk,kl->li", {x[0], x[1], x[0]}),
                        einsum("ij,k...->ik...", x)};
       }},
      {"conv",
       {DType::f32, DType::f64},
       images,
       -2,
       2,
       64,
       [](const Tensors &x) {
         return Tensors{conv(x[0], x[1]), conv(x[0], x[1], {.strides = {2, 1}, .padding = {1, 2}})};
       }},
      {"conv_transpose",
       {DType::f32, DType::f64},
       {{{1, 1, 1, 1}, {1, 1, 1, 1}},
        {{1, 3, 3, 2}, {3, 2, 3, 2}},
        {{0, 3, 3, 2}, {3, 2, 3, 2}},
        {{2, 2, 5, 5}, {2, 2, 1, 1}},
        {{2, 1, 2, 3}, {1, 2, 3, 3}}},
       -2,
       2,
       64,
       [](const Tensors &x) {
         return Tensors{conv_transpose(x[0], x[1]),
                        conv_transpose(x[0], x[1], {.strides = {2, 3}, .output_padding = {1, 0}})};
       }},
      {"max_pool",
       {DType::f32, DType::f64},
       planes,
       -2,
       2,
       0,
       [](const Tensors &x) {
         return Tensors{max_pool(x[0], {2, 2}), max_pool(x[0], {2, 2}, {.strides = {1, 1}, .padding = {1, 1}})};
       }},
      {"avg_pool",
       {DType::f32, DType::f64},
       planes,
       -2,
       2,
       16,
       [](const Tensors &x) {
         return Tensors{avg_pool(x[0], {2, 2}),
                        avg_pool(x[0], {2, 2}, {.strides = {1, 1}, .padding = {1, 1}, .count_padding = false})};
       }},
  };
}

std::vector<Row> networkRows() {
  const Cases attended = {{{1, 1}, {1, 1}, {1, 1}},
                          {{3, 4}, {5, 4}, {5, 2}},
                          {{2, 3, 4}, {2, 5, 4}, {2, 5, 4}},
                          {{0, 4}, {5, 4}, {5, 2}},
                          {{2, 2, 3, 4}, {2, 2, 3, 4}, {2, 2, 3, 4}}};
  const Cases cells = {{{1, 1}, {1, 1}}, {{2, 3}, {2, 4}}, {{0, 3}, {0, 4}}, {{3, 1}, {3, 2}}, {{5, 4}, {5, 4}}};
  const Cases sequences = {
      {{1, 1, 1}, {1, 1}}, {{3, 2, 3}, {2, 4}}, {{5, 1, 2}, {1, 3}}, {{2, 3, 1}, {3, 1}}, {{4, 2, 2}, {2, 2}}};
  auto weights = [](int64_t rows, const Tensor &like) {
    return reshape(sin(iota({rows * like.dim(-1)}, 0, like.dtype())), {rows, like.dim(-1)});
  };
  return {
      {"softmax", kFloats, kAxis, -4, 4, 64, [](const Tensors &x) { return Tensors{softmax(x[0]), softmax(x[0], 0)}; }},
      {"log_softmax", kFloats, kAxis, -4, 4, 64, [](const Tensors &x) { return log_softmax(x[0]); }},
      {"layer_norm",
       kWideFloats,
       {{{1}}, {{7}}, {{3, 4}}, {{0, 3}}, {{2, 3, 5}}},
       -4,
       4,
       256,
       [](const Tensors &x) { return Tensors{layer_norm(x[0]), layer_norm(x[0], 2, 1, 0, 0.5)}; }},
      {"rms_norm",
       kWideFloats,
       {{{1}}, {{7}}, {{3, 4}}, {{0, 3}}, {{2, 3, 5}}},
       -4,
       4,
       256,
       [](const Tensors &x) { return rms_norm(x[0], 2); }},
      {"batch_norm",
       kWideFloats,
       {{{1, 1}, {1}}, {{2, 3}, {3}}, {{2, 3, 4}, {3}}, {{0, 3, 4}, {3}}, {{2, 1, 2, 2}, {1}}},
       0.5,
       4,
       64,
       [](const Tensors &x) { return batch_norm(x[0], x[1], x[1], x[1], x[1]); }},
      {"group_norm",
       kWideFloats,
       {{{1, 2, 1}, {2}}, {{2, 4, 3}, {4}}, {{1, 4, 2, 3}, {4}}, {{3, 2, 5}, {2}}, {{1, 6, 4}, {6}}},
       -4,
       4,
       256,
       [](const Tensors &x) { return group_norm(x[0], x[1], x[1], 2); }},
      {"attention", kWideFloats, attended, -2, 2, 64, [](const Tensors &x) { return attention(x[0], x[1], x[2]); }},
      {"lstm_cell", kWideFloats, cells, -2, 2, 64,
       [=](const Tensors &x) {
         LstmState next =
             lstm_cell(x[0], {x[1], x[1] * 0.5}, weights(4 * x[1].dim(1), x[0]), weights(4 * x[1].dim(1), x[1]));
         return Tensors{next.h, next.c};
       }},
      {"gru_cell", kWideFloats, cells, -2, 2, 64,
       [=](const Tensors &x) {
         return gru_cell(x[0], x[1], weights(3 * x[1].dim(1), x[0]), weights(3 * x[1].dim(1), x[1]));
       }},
      {"lstm", kWideFloats, sequences, -2, 2, 64,
       [=](const Tensors &x) {
         auto [all, last] =
             lstm(x[0], {x[1], x[1] * 0.5}, weights(4 * x[1].dim(1), x[0]), weights(4 * x[1].dim(1), x[1]));
         return Tensors{all, last.h, last.c};
       }},
      {"gru", kWideFloats, sequences, -2, 2, 64,
       [=](const Tensors &x) {
         return gru(x[0], x[1], weights(3 * x[1].dim(1), x[0]), weights(3 * x[1].dim(1), x[1]));
       }},
      {"mse_loss",
       kFloats,
       {{{}, {}}, {{1}, {1}}, {{3}, {3}}, {{2, 3}, {3}}, {{2, 1, 5}, {2, 1, 5}}},
       -2,
       2,
       64,
       [](const Tensors &x) { return mse_loss(x[0], x[1]); }},
      {"cross_entropy",
       kWideFloats,
       {{{1}}, {{7}}, {{3, 4}}, {{1, 2}}, {{2, 3, 5}}},
       -4,
       4,
       64,
       [](const Tensors &x) { return cross_entropy(x[0], argmin(x[0], -1)); }},
  };
}

std::vector<Row> linalgRows() {
  const Cases systems = {{{1, 1}, {1}}, {{3, 3}, {3}}, {{3, 3}, {3, 2}}, {{2, 4, 4}, {2, 4}}, {{5, 5}, {5, 1}}};
  const Cases squares = {{{1, 1}}, {{0, 0}}, {{3, 3}}, {{2, 4, 4}}, {{5, 5}}};
  auto dominant = [](const Tensor &x) { return x + 4 * eye(x.dim(-1), {}, 0, x.dtype()); };
  return {
      {"cholesky", kWideFloats, squares, -0.5, 0.5, 256,
       [=](const Tensors &x) {
         Tensor a = matmul(dominant(x[0]), matrix_transpose(dominant(x[0])));
         return Tensors{cholesky(a), cholesky(a, true)};
       }},
      {"triangular_solve", kWideFloats, systems, -1, 1, 64,
       [=](const Tensors &x) {
         return Tensors{triangular_solve(dominant(x[0]), x[1]), triangular_solve(dominant(x[0]), x[1], false, true),
                        triangular_solve(dominant(x[0]), x[1], true, false, true)};
       }},
      {"cho_solve", kWideFloats, systems, -1, 1, 64,
       [=](const Tensors &x) {
         return Tensors{cho_solve(dominant(x[0]), x[1]), cho_solve(dominant(x[0]), x[1], true)};
       }},
      {"solve", kWideFloats, systems, -1, 1, 256, [=](const Tensors &x) { return solve(dominant(x[0]), x[1]); }},
      {"inv", kWideFloats, squares, -1, 1, 256, [=](const Tensors &x) { return inv(dominant(x[0])); }},
      {"det", kWideFloats, squares, -1, 1, 4096, [](const Tensors &x) { return det(x[0]); }},
  };
}

} // namespace sinter::numerics
