// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What functions over tensors say of arguments that they cannot take.

#include "Agree.h"
#include <sinter/losses.hpp>

using namespace sinter;
using namespace sinter::test;

namespace {

struct Refusal {
  std::function<void()> call;
  const char *message;
};

void expectAll(const std::vector<Refusal> &refusals) {
  for (const Refusal &each : refusals)
    EXPECT_EQ(messageOf(each.call), each.message);
}

Tensor line() { return Tensor({1.f, 2.f, 3.f}); }
Tensor flags() { return line() > 1; }
Tensor square() { return Tensor({{1.f, 2.f}, {3.f, 4.f}}); }
Tensor image() { return ones({1, 1, 4, 4}); }

TEST(Refusals, OfShapes) {
  expectAll({
      {[] { broadcast_to(line(), {2, 2}); }, "broadcast_to requires sizes that [3] broadcasts to, got [2, 2]"},
      {[] { concatenate({}); }, "concatenate requires a tensor at least, got none"},
      {[] { concatenate({ones({2, 3}), square()}); },
       "concatenate requires equal sizes except along axis 0, got [2, 3] and [2, 2]"},
      {[] { stack({}); }, "stack requires a tensor at least, got none"},
      {[] { stack({line(), square()}); }, "stack requires tensors of one type, got f32[3] and f32[2, 2]"},
      {[] { split_at(line(), {2, 1}); }, "split_at requires ascending positions in [0, 3], got [2, 1]"},
      {[] { repeat(line(), -1); }, "repeat requires a number of at least 0, got -1"},
      {[] { diff(line(), -1); }, "diff requires an order of at least 0, got -1"},
      {[] { pad(square(), {{1, 1}, {1, 1}, {1, 1}}); }, "pad requires one width per axis, got 3 and rank 2"},
      {[] { pad(line(), {{3, 0}}, 0, PadMode::reflect); },
       "pad requires widths of at least 0 (and below the size to reflect), got 3 and 0 for size 3"},
      {[] { tril(line()); }, "tril requires rank 2 at least, got f32[3]"},
      {[] { triu(line()); }, "triu requires rank 2 at least, got f32[3]"},
      {[] { squeeze(line(), {0}); }, "squeeze requires axes of size 1, got 3 at axis 0"},
      {[] { zeros({-2}); }, "zeros requires sizes of at least 0, got -2 (sizes known at run time come from dim)"},
  });
}

TEST(Refusals, OfNumbersAlongAnAxis) {
  expectAll({
      {[] { iota({3}, 0, DType::boolean); }, "iota requires a dtype of numbers, got bool"},
      {[] { arange(0, 3, 0); }, "arange requires a step other than 0 that reaches the end, got 0"},
      {[] { linspace(0, 1, -1); }, "linspace requires a count of at least 0 and a float dtype, got -1 and f32"},
      {[] { searchsorted(square(), line()); },
       "searchsorted requires a sorted tensor of rank 1 and known size, got f32[2, 2]"},
      {[] { key(line() > 2); }, "key requires an integer dtype, got bool (convert with astype)"},
      {[] { key(Tensor({1, 2})); }, "key requires a seed of rank 0, got i32[2]"},
      {[] { dropout(key(1), line(), 1); }, "dropout requires a rate in [0, 1), got 1"},
  });
}

TEST(Refusals, OfProducts) {
  expectAll({
      {[] { matmul(flags(), flags()); }, "matmul requires a dtype of numbers, got bool"},
      {[] { matmul(ones({2, 2, 2}), ones({3, 2, 2})); },
       "matmul requires leading sizes that broadcast, got [2, 2, 2] and [3, 2, 2]"},
      {[] { tensordot(line(), line(), 2); },
       "tensordot requires at most as many axes as the ranks, got 2 of [3] and [3]"},
      {[] { einsum("ij->i", {line()}); }, "einsum requires one letter per axis, got 'ij' for f32[3] in 'ij->i'"},
      {[] { einsum("i->j", {line()}); },
       "einsum requires result letters that occur in the operands, each once, in 'i->j'"},
      {[] { einsum("ii->i", {ones({2, 3})}); }, "einsum requires equal sizes of axes with one letter, got [2, 3]"},
      {[] { einsum("i->i", {}); }, "einsum requires an operand at least, got none"},
      {[] { einsum("i,i->i", {line(), flags()}); },
       "einsum requires operands of one dtype of numbers, got f32[3] and bool[3]"},
      {[] { conv(image(), line()); },
       "conv requires an input and a filter of one rank in 3 to 5, got f32[1, 1, 4, 4] and f32[3]"},
      {[] { conv(image(), image(), {.strides = {1}}); }, "conv requires one of strides per spatial axis, got 1 for 2"},
      {[] { conv_transpose(image(), image(), {.layout = ConvLayout::channels_last}); },
       "conv_transpose requires channels_first, got channels_last"},
      {[] { conv_transpose(image(), image(), {.groups = 2}); },
       "conv_transpose requires a filter of known sizes whose first size is a multiple of groups, got f32[1, 1, 4, 4]"},
      {[] { max_pool(line(), {2}); },
       "max_pool requires one window size per spatial axis of [N, C, spatial...], got 1 for f32[3]"},
      {[] { attention(line(), line(), line()); },
       "attention requires operands of one rank of at least 2, got f32[3], f32[3] and f32[3]"},
      {[] { attention(square(), square(), square(), {}, 0, {.window = 3}); },
       "attention requires a window from 1 on (0: none) of causal attention, got 3"},
      {[] { gru_cell(line(), line(), square(), square()); }, "gru_cell requires weights [3H, I], got f32[2, 2]"},
      {[] { cross_entropy(square(), Tensor({{0, 1}})); },
       "cross_entropy requires labels of one rank less than the logits, got i32[1, 2] and f32[2, 2]"},
      {[] { cross_entropy(square(), Tensor({0, 1, 1})); },
       "cross_entropy requires labels of the shape of the logits without axis 1, got i32[3] and f32[2, 2]"},
      {[] { nll_loss(ones({2, 5, 3}), zeros({2, 4}, DType::i64), {.axis = 1}); },
       "nll_loss requires labels of the shape of the logits without axis 1, got i64[2, 4] and f32[2, 5, 3]"},
      {[] { cross_entropy(square(), Tensor({0, 1}), {.weight = line()}); },
       "cross_entropy requires a weight for each class, got f32[3] and f32[2, 2]"},
      {[] { triangular_solve(square(), ones({3, 1})); },
       "triangular_solve requires right-hand sides [..., n] or [..., n, k] for f32[2, 2], got f32[3, 1]"},
  });
}

TEST(Refusals, OfSubscripts) {
  expectAll({
      {[] { line()(ellipsis, ellipsis); }, "operator () requires one ellipsis at most, got two"},
      {[] { line()[slice(0, 3, 0)]; }, "operator [] requires slices with a step other than 0, got 0"},
      {[] { dynamic_slice(line(), {}, {2}); },
       "dynamic_slice requires one start and one size per axis of f32[3], got 0 and 1"},
      {[] { dynamic_update_slice(line(), line(), {}); },
       "dynamic_update_slice requires one start per axis and an update of the rank of f32[3], got 0 and f32[3]"},
  });
}

TEST(Refusals, OfWhatHasNoElements) {
  expectAll({
      {[] { (void)save_npy("x.npy", Tensor()); }, "save_npy requires a tensor, got a Tensor() without a value"},
  });
}

} // namespace
