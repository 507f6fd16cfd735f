// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers, losses and initializers as rows for ReferenceTest.cpp, which traces them. Their values and gradients are
// compared with torch's in test/compiler/train.

#include "Functions.h"

#include <sinter/init.hpp>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/nn_sequence.hpp>
#include <sinter/nn_tables.hpp>

namespace sinter::numerics {

/// The element type of a layer's weights: that of what it is called with, where it may be.
static DType weightsFor(const Tensor &x) { return is_float(x.dtype()) ? x.dtype() : DType::f32; }

static Tensors results(const nn::RecurrentResult &result) {
  return result.c.defined() ? Tensors{result.output, result.h, result.c} : Tensors{result.output, result.h};
}

/// A layer that `make` makes for a tensor.
template <class Make> static Row layer(const char *name, Cases cases, Make make) {
  return {name, kWideFloats, std::move(cases), -1, 1, 64, [make](const Tensors &x) -> Results {
            auto made = make(x[0]);
            if constexpr (std::is_same_v<decltype(made(x[0])), nn::RecurrentResult>)
              return results(made(x[0]));
            else
              return made(x[0]);
          }};
}

template <class Loss> static Row loss(const char *name, Cases cases, Loss loss) {
  return {name, kWideFloats, std::move(cases), -1, 1, 64, [loss](const Tensors &x) { return loss(x); }};
}

template <class Initialize> static Row initializer(const char *name, Initialize initialize) {
  return {name, kOne, {{}}, -1, 1, 64, [initialize](const Tensors &) { return initialize(key(1), Shape{6, 4}); }};
}

std::vector<Row> layerRows() {
  const Cases rows = {{{5, 4}}, {{2, 3, 4}}}, images = {{{1, 4, 6, 6}}, {{2, 4, 5, 7}}};
  const Cases lines = {{{2, 4, 9}}}, volumes = {{{1, 4, 3, 4, 5}}}, any = {{{3, 4}}, {{}}, {{2, 1, 4}}};
  const Cases steps = {{{2, 5, 4}}}, pairs = {{{5}, {5}}, {{3, 4}, {3, 4}}}, vectors = {{{3, 4}, {3, 4}}};
  const Key k = key(1);
  auto recurrent = [](const Tensor &x) { return nn::RecurrentSettings{.dtype = weightsFor(x)}; };
  auto settings = [](const Tensor &x) { return nn::ConvSettings{.dtype = weightsFor(x)}; };
  return {
      layer("nn::Linear", rows, [k](const Tensor &x) { return nn::linear(k, 4, 3, {.dtype = weightsFor(x)}); }),
      layer("nn::Conv", lines, [=](const Tensor &x) { return nn::conv1d(k, 4, 3, 3, settings(x)); }),
      layer("nn::Conv", images, [=](const Tensor &x) { return nn::conv2d(k, 4, 3, 3, settings(x)); }),
      layer("nn::Conv", volumes, [=](const Tensor &x) { return nn::conv3d(k, 4, 3, 2, settings(x)); }),
      layer("nn::ConvTranspose", lines, [=](const Tensor &x) { return nn::conv_transpose1d(k, 4, 3, 3, settings(x)); }),
      layer("nn::ConvTranspose", images,
            [=](const Tensor &x) { return nn::conv_transpose2d(k, 4, 3, 3, settings(x)); }),
      layer("nn::ConvTranspose", volumes,
            [=](const Tensor &x) { return nn::conv_transpose3d(k, 4, 3, 2, settings(x)); }),
      layer("nn::BatchNorm", images, [](const Tensor &x) { return nn::batch_norm(4, weightsFor(x)); }),
      layer("nn::LayerNorm", rows, [](const Tensor &x) { return nn::layer_norm({4}, weightsFor(x)); }),
      layer("nn::RMSNorm", rows, [](const Tensor &x) { return nn::rms_norm({4}, weightsFor(x)); }),
      layer("nn::GroupNorm", images, [](const Tensor &x) { return nn::group_norm(2, 4, weightsFor(x)); }),
      layer("nn::InstanceNorm", images, [](const Tensor &x) { return nn::instance_norm(4, weightsFor(x)); }),
      {"nn::Embedding",
       {DType::i64, DType::i32},
       {{{5}}, {{2, 3}}},
       0,
       9,
       0,
       [k](const Tensors &x) { return nn::embedding(k, 10, 4)(x[0]); }},
      {"nn::EmbeddingBag",
       {DType::i64, DType::i32},
       {{{2, 3}}},
       0,
       9,
       0,
       [k](const Tensors &x) { return nn::embedding_bag(k, 10, 4)(x[0]); }},
      {"nn::EmbeddingBags",
       {DType::i64, DType::i32},
       {{{2, 3}}, {{2, 3, 2}}},
       0,
       9,
       0,
       [k](const Tensors &x) { return nn::embedding_bags(k, {10, 12, 10}, 4)(x[0]); }},
      layer("nn::Dropout", any, [](const Tensor &) { return nn::Dropout{}; }),
      layer("nn::MaxPool", images, [](const Tensor &) { return nn::MaxPool{{2, 2}}; }),
      layer("nn::AvgPool", images, [](const Tensor &) { return nn::AvgPool{{2, 2}}; }),
      layer("nn::GlobalAvgPool", images, [](const Tensor &) { return nn::GlobalAvgPool{}; }),
      layer("nn::Flatten", images, [](const Tensor &) { return nn::Flatten{}; }),
      layer("nn::ReLU", any, [](const Tensor &) { return nn::ReLU{}; }),
      layer("nn::LeakyReLU", any, [](const Tensor &) { return nn::LeakyReLU{}; }),
      layer("nn::ELU", any, [](const Tensor &) { return nn::ELU{}; }),
      layer("nn::GELU", any, [](const Tensor &) { return nn::GELU{}; }),
      layer("nn::SiLU", any, [](const Tensor &) { return nn::SiLU{}; }),
      layer("nn::Sigmoid", any, [](const Tensor &) { return nn::Sigmoid{}; }),
      layer("nn::Tanh", any, [](const Tensor &) { return nn::Tanh{}; }),
      layer("nn::Softplus", any, [](const Tensor &) { return nn::Softplus{}; }),
      layer("nn::GLU", rows, [](const Tensor &) { return nn::GLU{}; }),
      layer("nn::MultiHeadAttention", steps,
            [k](const Tensor &x) { return nn::multi_head_attention(k, 4, 2, {.dtype = weightsFor(x)}); }),
      layer(
          "nn::TransformerBlock", steps,
          [k](const Tensor &x) { return nn::transformer_block(k, 4, 2, 8, {.attention = {.dtype = weightsFor(x)}}); }),
      layer("nn::rotary", {{{1, 2, 3, 4}}},
            [](const Tensor &) { return [](const Tensor &x) { return nn::rotary(x); }; }),
      layer("nn::RNN", steps, [=](const Tensor &x) { return nn::rnn(k, 4, 3, recurrent(x)); }),
      layer("nn::LSTM", steps, [=](const Tensor &x) { return nn::lstm(k, 4, 3, recurrent(x)); }),
      layer("nn::GRU", steps, [=](const Tensor &x) { return nn::gru(k, 4, 3, recurrent(x)); }),
      loss("l1_loss", pairs, [](const Tensors &x) { return l1_loss(x[0], x[1]); }),
      loss("huber_loss", pairs, [](const Tensors &x) { return huber_loss(x[0], x[1]); }),
      loss("smooth_l1_loss", pairs, [](const Tensors &x) { return smooth_l1_loss(x[0], x[1]); }),
      loss("bce_with_logits", pairs, [](const Tensors &x) { return bce_with_logits(x[0], x[1]); }),
      loss("kl_div", pairs, [](const Tensors &x) { return kl_div(x[0], x[1]); }),
      loss("nll_loss", {{{3, 4}}}, [](const Tensors &x) { return nll_loss(x[0], zeros({3}, DType::i64)); }),
      loss("cosine_embedding_loss", {{{3, 4}, {3, 4}, {3}}},
           [](const Tensors &x) { return cosine_embedding_loss(x[0], x[1], x[2]); }),
      loss("info_nce", vectors, [](const Tensors &x) { return info_nce(x[0], x[1]); }),
      loss("margin_ranking_loss", {{{5}, {5}, {5}}},
           [](const Tensors &x) { return margin_ranking_loss(x[0], x[1], x[2]); }),
      loss("triplet_margin_loss", {{{3, 4}, {3, 4}, {3, 4}}},
           [](const Tensors &x) { return triplet_margin_loss(x[0], x[1], x[2]); }),
      loss("ctc_loss", {{{6, 2, 5}}},
           [](const Tensors &x) {
             return ctc_loss(x[0], ones({2, 3}, DType::i64), full({2}, 6, DType::i64), full({2}, 3, DType::i64));
           }),
      initializer("nn::xavier_uniform", [](const Key &k, const Shape &shape) { return nn::xavier_uniform(k, shape); }),
      initializer("nn::xavier_normal", [](const Key &k, const Shape &shape) { return nn::xavier_normal(k, shape); }),
      initializer("nn::he_uniform", [](const Key &k, const Shape &shape) { return nn::he_uniform(k, shape); }),
      initializer("nn::he_normal", [](const Key &k, const Shape &shape) { return nn::he_normal(k, shape); }),
      initializer("nn::truncated_normal",
                  [](const Key &k, const Shape &shape) { return nn::truncated_normal(k, shape); }),
      initializer("nn::orthogonal", [](const Key &k, const Shape &shape) { return nn::orthogonal(k, shape); }),
  };
}

} // namespace sinter::numerics
