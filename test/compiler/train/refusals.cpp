// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What layers and losses say of arguments that they cannot take: their name, shapes and the user's line.

#include <functional>
#include <gtest/gtest.h>
#include <sinter/losses.hpp>
#include <sinter/nn_sequence.hpp>
#include <sinter/sinter.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
using sn::Tensor;

namespace {

struct Refusal {
  std::function<Tensor()> call;
  const char *message;
};

void expectAll(const std::vector<Refusal> &refusals) {
  for (const Refusal &each : refusals)
    try {
      Tensor made = each.call();
      (void)made.bytes();
      ADD_FAILURE() << "accepted, wanted: " << each.message;
    } catch (const sn::Error &error) {
      EXPECT_EQ(error.message(), each.message);
      EXPECT_TRUE(std::string(error.where().file_name()).ends_with("refusals.cpp")) << error.what();
    }
}

Tensor f32(const sn::Shape &shape) { return sn::ones(shape); }
Tensor f64(const sn::Shape &shape) { return sn::ones(shape, sn::DType::f64); }
Tensor ints(const std::vector<int64_t> &values) { return Tensor(values); }
Tensor y() { return f32({4, 3}); }

TEST(Refusals, OfLossesOfElements) {
  expectAll({
      {[] { return sn::mse_loss(f32({4, 1}), f32({4})); },
       "mse_loss requires operands of which one broadcasts to the other, got f32[4, 1] and f32[4]"},
      {[] { return sn::mse_loss(y(), f32({4, 2})); }, "mse_loss requires shapes that broadcast, got [4, 3] and [4, 2]"},
      {[] { return sn::mse_loss(y(), f64({4, 3})); },
       "mse_loss requires operands of one dtype, got f32 and f64 (convert one with astype)"},
      {[] { return sn::mse_loss(ints({1}), ints({1})); },
       "mse_loss requires a float dtype, got i64 (convert with astype)"},
      {[] { return sn::l1_loss(f32({1, 3}), f32({4, 1})); },
       "l1_loss requires operands of which one broadcasts to the other, got f32[1, 3] and f32[4, 1]"},
      {[] { return sn::huber_loss(y(), y(), 0); }, "huber_loss requires delta above 0, got 0"},
      {[] { return sn::smooth_l1_loss(y(), y(), -1); }, "smooth_l1_loss requires beta of 0 or more, got -1"},
      {[] { return sn::kl_div(f32({4, 1}), f32({4})); },
       "kl_div requires operands of which one broadcasts to the other, got f32[4, 1] and f32[4]"},
      {[] { return sn::bce_with_logits(f32({4, 1}), f32({4})); },
       "bce_with_logits requires operands of which one broadcasts to the other, got f32[4, 1] and f32[4]"},
      {[] { return sn::bce_with_logits(y(), y(), {.weight = f32({4})}); },
       "bce_with_logits requires a weight that broadcasts to f32[4, 3], got f32[4]"},
      {[] { return sn::bce_with_logits(f32({4}), f32({4}), {.weight = f32({3, 4})}); },
       "bce_with_logits requires a weight that broadcasts to f32[4], got f32[3, 4]"},
      {[] { return sn::bce_with_logits(y(), y(), {.pos_weight = f64({3})}); },
       "bce_with_logits requires pos_weight that broadcasts to f32[4, 3], got f64[3]"},
  });
  // One that broadcasts is not a mistake.
  EXPECT_EQ(sn::mse_loss(y(), f32({3})).item<float>(), 0);
  EXPECT_EQ(sn::mse_loss(f32({}), y()).item<float>(), 0);
  EXPECT_EQ(sn::mse_loss(y(), 1).item<float>(), 0);
  EXPECT_EQ(sn::kl_div(sn::scalar(1.f), sn::scalar(1.f), false, sn::Reduction::batch_mean).item<float>(), -1);
}

TEST(Refusals, OfLossesOfPairs) {
  expectAll({
      {[] { return sn::cosine_embedding_loss(y(), f32({4, 2}), f32({4})); },
       "cosine_embedding_loss requires shapes that broadcast, got [4, 3] and [4, 2]"},
      {[] { return sn::cosine_embedding_loss(y(), y(), f32({3})); },
       "cosine_embedding_loss requires rows [N, D] and y [N], got f32[4, 3] and f32[3]"},
      {[] { return sn::cosine_embedding_loss(y(), y(), f32({4, 1})); },
       "cosine_embedding_loss requires rows [N, D] and y [N], got f32[4, 3] and f32[4, 1]"},
      {[] { return sn::info_nce(y(), f32({4, 2})); },
       "info_nce requires queries [N, D] and keys [N or more, D], got f32[4, 3] and f32[4, 2]"},
      {[] { return sn::info_nce(y(), f32({3, 3})); },
       "info_nce requires queries [N, D] and keys [N or more, D], got f32[4, 3] and f32[3, 3]"},
      {[] { return sn::info_nce(y(), y(), 0); }, "info_nce requires a temperature above 0, got 0"},
      {[] { return sn::margin_ranking_loss(f32({4, 1}), f32({4}), f32({4})); },
       "margin_ranking_loss requires operands of which one broadcasts to the other, got f32[4, 1] and f32[4]"},
      {[] { return sn::margin_ranking_loss(f32({4}), f32({4}), ints({1, 1, 1, 1})); },
       "margin_ranking_loss requires operands of one dtype, got f32 and i64 (convert one with astype)"},
      {[] { return sn::triplet_margin_loss(y(), y(), f32({3})); },
       "triplet_margin_loss requires operands of one rank of at least 1, got f32[4, 3], f32[4, 3] and f32[3]"},
      {[] { return sn::triplet_margin_loss(y(), f32({4, 2}), y()); },
       "triplet_margin_loss requires shapes that broadcast, got [4, 3] and [4, 2] and [4, 3]"},
  });
}

Tensor ctc(const std::vector<int64_t> &targets, const std::vector<int64_t> &steps, const std::vector<int64_t> &counts,
           int64_t blank = 0) {
  return sn::ctc_loss(sn::log_softmax(f32({5, 2, 4})), sn::reshape(ints(targets), {2, 2}), ints(steps), ints(counts),
                      blank);
}

TEST(Refusals, OfAlignments) {
  expectAll({
      {[] { return ctc({1, 2, 3, 1}, {9, 5}, {2, 2}); },
       "ctc_loss requires input lengths from 0 to T, got 9 for T = 5"},
      {[] { return ctc({1, 2, 3, 1}, {-1, 5}, {2, 2}); },
       "ctc_loss requires input lengths from 0 to T, got -1 for T = 5"},
      {[] { return ctc({1, 2, 3, 1}, {5, 5}, {3, 2}); },
       "ctc_loss requires target lengths from 0 to S, got 3 for S = 2"},
      {[] { return ctc({1, 4, 3, 1}, {5, 5}, {2, 2}); },
       "ctc_loss requires targets that are classes, got 4 for 4 classes"},
      {[] { return ctc({1, -1, 3, 1}, {5, 5}, {2, 2}); },
       "ctc_loss requires targets that are classes, got -1 for 4 classes"},
      {[] { return ctc({1, 2, 3, 1}, {5, 5}, {2, 2}, 4); },
       "ctc_loss requires a blank that is a class, got 4 and f32[5, 2, 4]"},
      {[] { return ctc({1, 2, 3, 1}, {5}, {2, 2}); },
       "ctc_loss requires as many rows of targets and lengths as log_probabilities [T, N, C] have, got f32[5, 2, 4], "
       "i64[2, 2], i64[1] and i64[2]"},
  });
  // What lies behind a target's length may be anything.
  EXPECT_EQ(ctc({1, -1, 3, 9}, {5, 5}, {1, 1}).item<float>(), ctc({1, 0, 3, 0}, {5, 5}, {1, 1}).item<float>());
  // Compiled code says it when it runs.
  auto jitted = sn::jit([](const Tensor &x, const Tensor &steps) {
    return sn::ctc_loss(x, sn::reshape(ints({1, 2, 3, 1}), {2, 2}), steps, ints({2, 2}));
  });
  Tensor x = sn::log_softmax(f32({5, 2, 4}));
  EXPECT_EQ(jitted(x, ints({5, 4})).item<float>(), ctc({1, 2, 3, 1}, {5, 4}, {2, 2}).item<float>());
  try {
    (void)jitted(x, ints({5, 6})).item<float>();
    FAIL();
  } catch (const sn::Error &error) {
    EXPECT_NE(error.message().find("ctc_loss requires input lengths from 0 to T, got 6 for T = 5"), std::string::npos)
        << error.message();
  }
}

//===--- layers ---------------------------------------------------------------------------------------------------===//

const sn::Key kKey = sn::key(1);
nn::Mode training() { return {.training = true, .key = kKey}; }

/// `layer` with another tensor in place of one of its own.
template <class Layer, class Field> Layer with(Layer layer, Field Layer::*field, const Tensor &tensor) {
  layer.*field = tensor;
  return layer;
}

TEST(Refusals, OfLinearAndConvolutions) {
  auto line = nn::linear(kKey, 4, 3);
  auto flat = nn::conv2d(kKey, 3, 8, 3);
  expectAll({
      {[=] { return line(f32({2, 5})); }, "linear requires x [..., 4] of f32 for its weight f32[3, 4], got f32[2, 5]"},
      {[=] { return line(f64({2, 4})); }, "linear requires x [..., 4] of f32 for its weight f32[3, 4], got f64[2, 4]"},
      {[=] { return line(f32({})); }, "linear requires x [..., 4] of f32 for its weight f32[3, 4], got f32[]"},
      {[=] { return line(Tensor()); }, "linear requires a tensor, got none"},
      {[=] { return nn::Linear()(f32({2, 4})); }, "linear requires a weight, got none"},
      {[=] { return with(line, &nn::Linear::bias, f32({1}))(f32({2, 4})); },
       "linear requires a bias f32[3] for its weight f32[3, 4], got f32[1]"},
      {[=] { return with(line, &nn::Linear::bias, f32({2, 3}))(f32({2, 4})); },
       "linear requires a bias f32[3] for its weight f32[3, 4], got f32[2, 3]"},
      {[=] { return flat(f32({1, 4, 8, 8})); },
       "conv2d requires x [N, 3, H, W] of f32 for its weight f32[8, 3, 3, 3], got f32[1, 4, 8, 8]"},
      {[=] { return flat(f32({3, 8, 8})); },
       "conv2d requires x [N, 3, H, W] of f32 for its weight f32[8, 3, 3, 3], got f32[3, 8, 8]"},
      {[=] { return flat(f32({1, 3, 8, 2})); },
       "conv2d requires a padded x of at least the window, got 2 for 3 along axis 3 of f32[1, 3, 8, 2]"},
      {[=] { return with(flat, &nn::Conv::bias, f32({5}))(f32({1, 3, 8, 8})); },
       "conv2d requires a bias f32[8] for its weight f32[8, 3, 3, 3], got f32[5]"},
      {[=] { return nn::conv1d(kKey, 3, 8, 3)(f32({1, 3, 8, 8})); },
       "conv1d requires x [N, 3, L] of f32 for its weight f32[8, 3, 3], got f32[1, 3, 8, 8]"},
      {[=] { return nn::conv2d(kKey, 4, 7, 3, {.groups = 2}).weight; },
       "conv2d requires groups that divide its channels, got 2 for 4 and 7"},
      {[=] { return nn::conv3d(kKey, 3, 3, 0).weight; }, "conv3d requires a window of at least 1, got 0"},
      {[=] { return nn::conv_transpose2d(kKey, 3, 8, 3)(f32({1, 4, 8, 8})); },
       "conv_transpose2d requires x [N, 3, H, W] of f32 for its weight f32[3, 8, 3, 3], got f32[1, 4, 8, 8]"},
      {[=] { return nn::conv_transpose2d(kKey, 3, 8, 3, {.output_padding = 1})(f32({1, 3, 4, 4})); },
       "conv_transpose2d requires output_padding below the stride or the dilation, got 1 and 1"},
  });
}

TEST(Refusals, OfNormalizations) {
  auto norm = nn::batch_norm(3);
  expectAll({
      {[=] { return norm(f32({2, 4, 5})); },
       "batch_norm requires x [N, 3, space...] of f32 for its weight f32[3], got f32[2, 4, 5]"},
      {[=] { return norm(f64({2, 3})); },
       "batch_norm requires x [N, 3, space...] of f32 for its weight f32[3], got f64[2, 3]"},
      {[=] { return with(norm, &nn::BatchNorm::running_var, f32({4}))(f32({2, 3})); },
       "batch_norm requires a running_var f32[3] for its weight f32[3], got f32[4]"},
      {[=]() mutable {
         nn::Mode mode = training();
         return norm(f32({1, 3, 1}), mode); // its running variance would be NaN
       },
       "batch_norm requires more than one element of each channel in training, got f32[1, 3, 1]"},
      {[=] { return nn::layer_norm({4})(f32({2, 5})); },
       "layer_norm requires x [..., 4] of f32 for its weight f32[4], got f32[2, 5]"},
      {[=] { return nn::layer_norm({1})(f32({2, 5})); },
       "layer_norm requires x [..., 1] of f32 for its weight f32[1], got f32[2, 5]"},
      {[=] { return nn::rms_norm({3, 4})(f32({4})); },
       "rms_norm requires x [..., 3, 4] of f32 for its weight f32[3, 4], got f32[4]"},
      {[=] { return nn::group_norm(2, 4)(f32({2, 6, 3})); },
       "group_norm requires x [N, 4, space...] of f32 for its weight f32[4], got f32[2, 6, 3]"},
      {[=] { return nn::group_norm(3, 4)(f32({2, 4, 3})); },
       "group_norm requires groups that divide its channels, got 3 for 4"},
      {[=] { return nn::instance_norm(4)(f32({2, 4})); },
       "instance_norm requires x [N, 4, space...] of f32 for its weight f32[4], got f32[2, 4]"},
  });
}

TEST(Refusals, OfLayersOverSequences) {
  auto attention = nn::multi_head_attention(kKey, 8, 2);
  auto lstm = nn::lstm(kKey, 3, 4);
  expectAll({
      {[=] { return attention(f32({1, 3, 6})); },
       "attention requires x [N, T, 8] of f32 for its in_proj_weight f32[24, 8], got f32[1, 3, 6]"},
      {[=] { return attention(f32({3, 8})); },
       "attention requires x [N, T, 8] of f32 for its in_proj_weight f32[24, 8], got f32[3, 8]"},
      {[=] { return attention(f32({1, 3, 8}), {.mask = f32({4, 4})}); },
       "attention requires a bias that broadcasts to f32[1, 2, 3, 3], got f32[1, 1, 4, 4]"},
      {[=] { return lstm(f32({2, 5, 2})).output; },
       "lstm requires x [N, T, 3] of f32 for its weight_ih_l0 f32[16, 3], got f32[2, 5, 2]"},
      {[=] { return lstm(f32({2, 5, 3}), f32({1, 3, 4})).h; },
       "lstm requires h [1, N, 4] of the type of x, f32[2, 5, 3], got f32[1, 3, 4]"},
      {[=] { return nn::gru(kKey, 3, 4)(f64({2, 5, 3})).output; },
       "gru requires x [N, T, 3] of f32 for its weight_ih_l0 f32[12, 3], got f64[2, 5, 3]"},
      {[=] { return nn::rnn(kKey, 3, 4)(f32({2, 5, 3}), f32({1, 3, 4})).output; },
       "rnn requires h [1, N, 4] of the type of x, f32[2, 5, 3], got f32[1, 3, 4]"},
      {[=] { return nn::lstm(kKey, 3, 4, {.layers = 0})(f32({2, 5, 3})).output; },
       "lstm requires 1 layer at least, got 0"},
      {[=] { return nn::embedding(kKey, 5, 3)(f32({2})); }, "embedding requires positions of integers, got f32[2]"},
  });
  // Batches and sequences without elements are none.
  EXPECT_EQ(lstm(f32({0, 5, 3})).output.known_shape(), sn::Shape({0, 5, 4}));
  EXPECT_EQ(lstm(f32({2, 0, 3})).h.known_shape(), sn::Shape({1, 2, 4}));
  EXPECT_EQ(attention(f32({0, 3, 8})).known_shape(), sn::Shape({0, 3, 8}));
}

TEST(Refusals, OfLayersWithoutTensors) {
  nn::Mode mode = training();
  expectAll({
      {[&] { return nn::Dropout{1.5}(f32({3}), mode); }, "dropout requires a rate in [0, 1), got 1.5"},
      {[&] { return nn::Dropout{-1}(f32({3}), mode); }, "dropout requires a rate in [0, 1), got -1"},
      {[] { return nn::MaxPool{{2, 2}, {}, {2, 2}}(f32({1, 1, 4, 4})); },
       "max_pool requires padding of at most half of the window, got 2 for 2"},
      {[] { return nn::AvgPool{{5, 2}}(f32({1, 1, 4, 4})); },
       "avg_pool requires a padded x of at least the window, got 4 for 5 along axis 2 of f32[1, 1, 4, 4]"},
      {[] { return nn::GlobalAvgPool{}(f32({2, 3})); }, "global_avg_pool requires x [N, C, space...], got f32[2, 3]"},
      {[] { return nn::GLU{}(f32({2, 3})); }, "glu requires an even size along axis -1, got f32[2, 3]"},
  });
}

} // namespace
