// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers and losses in f64, with their gradients, against torch's (Inputs/torch_goldens.py).

#include "Goldens.h"
#include <numeric>
#include <sinter/losses.hpp>
#include <sinter/nn_sequence.hpp>
#include <sinter/optim.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
using goldens::expectNear;
using goldens::fill;
using sn::Tensor;

namespace {

constexpr sn::DType kWide = sn::DType::f64;

/// Leaves by their names, which torch's have in another order.
template <class Layer> std::vector<std::string> fillByName(Layer &layer) {
  std::vector<std::string> names = sn::detail::stateNames(sn::detail::anyTree(layer));
  size_t k = 0;
  sn::detail::eachLeaf(layer, [&](Tensor &leaf) {
    const std::string &name = names[k++];
    if (sn::is_float(leaf.dtype()))
      leaf = fill(leaf.known_shape(), std::accumulate(name.begin(), name.end(), 0) % 29) +
             (name.ends_with("running_var") ? 1. : 0.);
  });
  return names;
}

Tensor weighed(const Tensor &x, int seed) { return sn::sum(x * fill(x.known_shape(), seed)); }

template <class Layer, class Call> void check(const std::string &name, Layer layer, const Tensor &x, Call call) {
  std::vector<std::string> names = fillByName(layer);
  std::vector<Tensor> leaves = sn::flatten(layer);
  std::vector<Tensor> weights;
  std::vector<size_t> which;
  bool isFloat = sn::is_float(x.dtype());
  for (size_t k = 0; k < leaves.size(); ++k)
    if (sn::is_float(leaves[k].dtype()) && !names[k].starts_with("running")) {
      weights.push_back(leaves[k]);
      which.push_back(k);
    }
  if (isFloat)
    weights.push_back(x);
  auto run = [&](const std::vector<Tensor> &given) {
    std::vector<Tensor> all = leaves;
    for (size_t k = 0; k < which.size(); ++k)
      all[which[k]] = given[k];
    Layer used = sn::unflatten(layer, all);
    return weighed(call(used, isFloat ? given.back() : x), 7);
  };
  auto [value, gradients] = sn::value_and_grad(run)(weights);
  std::vector<double> got{value.template item<double>()};
  if (isFloat)
    got.push_back(weighed(gradients.back(), 8).template item<double>());
  std::map<std::string, double> sorted;
  for (size_t k = 0; k < which.size(); ++k)
    sorted[names[which[k]]] = weighed(gradients[k], 9).template item<double>();
  for (const auto &[key, sum] : sorted)
    got.push_back(sum);
  expectNear("layer." + name, got);
}
template <class Layer> void check(const std::string &name, const Layer &layer, const Tensor &x) {
  check(name, layer, x, [](Layer &used, const Tensor &given) { return std::as_const(used)(given); });
}

const sn::Key kKey = sn::key(7);
Tensor image() { return fill({2, 4, 7, 6}, 20, 2); }
Tensor words() { return fill({2, 5, 8}, 26, 2); }

TEST(Layers, convolutions) {
  check("conv1d", nn::conv1d(kKey, 4, 6, 3, {.stride = 2, .padding = 1, .groups = 2, .dtype = kWide}),
        fill({2, 4, 9}, 21, 2));
  check("conv2d", nn::conv2d(kKey, 4, 6, 3, {.stride = 2, .padding = 2, .dilation = 2, .dtype = kWide}), image());
  check("conv3d", nn::conv3d(kKey, 2, 3, 2, {.bias = false, .dtype = kWide}), fill({1, 2, 3, 4, 3}, 22, 2));
  check("conv_transpose1d",
        nn::conv_transpose1d(kKey, 4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1, .dtype = kWide}),
        fill({2, 4, 5}, 23, 2));
  check("conv_transpose2d", nn::conv_transpose2d(kKey, 4, 6, 3, {.stride = 2, .groups = 2, .dtype = kWide}),
        fill({2, 4, 3, 2}, 24, 2));
  check("conv_transpose3d", nn::conv_transpose3d(kKey, 2, 3, 2, {.dtype = kWide}), fill({1, 2, 2, 3, 2}, 25, 2));
}

TEST(Layers, normalizations) {
  auto trained = [](nn::BatchNorm &layer, const Tensor &x) {
    nn::Mode mode{.training = true};
    return layer(x, mode);
  };
  check("batch_norm", nn::batch_norm(4, kWide), image(), trained);
  check("batch_norm_rows", nn::batch_norm(6, kWide), fill({5, 6}, 27, 2), trained);
  check("batch_norm_volumes", nn::batch_norm(2, kWide), fill({2, 2, 3, 2, 2}, 28, 2), trained);
  check("batch_norm_eval", nn::batch_norm(4, kWide), image());
  check("layer_norm", nn::layer_norm({7, 6}, kWide), image());
  check("rms_norm", nn::rms_norm({6}, kWide), image());
  check("group_norm", nn::group_norm(2, 4, kWide), image());
  check("instance_norm", nn::instance_norm(4, kWide), image());
}

TEST(Layers, without_numbers) {
  check("embedding", nn::embedding(kKey, 7, 3, kWide), Tensor(std::vector<int64_t>{1, 2, 6, 0, 2, 2}, {2, 3}));
  check("max_pool", nn::MaxPool{{3, 3}, {2, 2}, {1, 1}}, image());
  check("avg_pool", nn::AvgPool{{3, 2}, {2, 1}, {1, 1}}, image());
  check("avg_pool_inside", nn::AvgPool{{3, 3}, {2, 2}, {1, 1}, false}, image());
  check("global_avg_pool", nn::GlobalAvgPool(), image());
  check("relu", nn::ReLU(), image());
  check("leaky_relu", nn::LeakyReLU{0.1}, image());
  check("elu", nn::ELU{0.7}, image());
  check("gelu", nn::GELU(), image());
  check("gelu_tanh", nn::GELU{true}, image());
  check("silu", nn::SiLU(), image());
  check("sigmoid", nn::Sigmoid(), image());
  check("tanh", nn::Tanh(), image());
  check("softplus", nn::Softplus(), image());
  check("glu", nn::GLU{.axis = 1}, image());
  check("reglu", nn::GLU{nn::Gate::relu, 1}, image());
  check("geglu", nn::GLU{nn::Gate::gelu, 1}, image());
  check("swiglu", nn::GLU{nn::Gate::silu, 1}, image());
}

TEST(Layers, attention) {
  nn::AttentionSettings wide{.dtype = kWide};
  auto layer = nn::multi_head_attention(kKey, 8, 2, wide);
  using Attention = nn::MultiHeadAttention;
  check("attention", layer, words());
  check("causal", layer, words(), [](Attention &used, const Tensor &x) { return used(x, {.causal = true}); });
  auto grouped = nn::multi_head_attention(kKey, 8, 4, {.key_heads = 2, .rotary = true, .dtype = kWide});
  check("grouped", grouped, words(), [](Attention &used, const Tensor &x) { return used(x, {.causal = true}); });
  check("transformer", nn::transformer_block(kKey, 8, 2, 16, {.attention = wide}), words());
  check("transformer_norm_first",
        nn::transformer_block(kKey, 8, 2, 16, {.norm_first = true, .use_gelu = true, .attention = wide}), words());
}

TEST(Layers, cache_gives_what_all_positions_at_once_give) {
  auto layer = nn::multi_head_attention(kKey, 8, 4, {.key_heads = 2, .rotary = true, .dtype = kWide});
  Tensor x = words(), all = layer(x, {.causal = true});
  nn::KeyValueCache cache;
  for (int t = 0; t < 5; ++t) {
    Tensor one = layer(x(sn::ellipsis, sn::slice(t, t + 1), sn::slice()), {.causal = true, .cache = &cache});
    Tensor gap = sn::max(sn::abs(one - all(sn::ellipsis, sn::slice(t, t + 1), sn::slice())));
    EXPECT_LT(gap.item<double>(), 1e-14) << t;
  }
}

TEST(Layers, recurrence) {
  auto parts = [](auto &layer, const Tensor &x) {
    nn::RecurrentResult made = layer(x);
    std::vector<Tensor> all{sn::ravel(made.output), sn::ravel(made.h)};
    if (made.c.defined())
      all.push_back(sn::ravel(made.c));
    return sn::concatenate(all);
  };
  check("lstm", nn::lstm(kKey, 8, 3, {.layers = 2, .bidirectional = true, .dtype = kWide}), words(), parts);
  check("gru", nn::gru(kKey, 8, 3, {.layers = 2, .dtype = kWide}), words(), parts);
  check("rnn", nn::rnn(kKey, 8, 3, {.bidirectional = true, .dtype = kWide}), words(), parts);
  check("rnn_relu", nn::rnn(kKey, 8, 3, {.layers = 2, .bias = false, .dtype = kWide}, true), words(), parts);
}

/// The sum of a loss, and a sum of its gradient by the first tensor.
template <class Loss> void loss(const std::string &name, std::vector<sn::Shape> shapes, Loss f) {
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < shapes.size(); ++k)
    inputs.push_back(fill(shapes[k], 31 + int(k), 2));
  auto run = [&](const Tensor &x) {
    std::vector<Tensor> given = inputs;
    given[0] = x;
    return sn::sum(f(given));
  };
  auto [value, gradient] = sn::value_and_grad(run)(inputs[0]);
  expectNear("loss." + name, {value.template item<double>(), weighed(gradient, 7).template item<double>()});
}

using Given = const std::vector<Tensor> &;

TEST(Losses, cross_entropy) {
  Tensor labels(std::vector<int64_t>{0, 3, 2, 1, 3, 0}), some(std::vector<int64_t>{0, -100, 2, 1, -100, 0});
  Tensor weight = fill({4}, 40) + 1.;
  using sn::CrossEntropyOptions;
  using sn::Reduction;
  loss("cross_entropy", {{6, 4}}, [&](Given x) { return sn::cross_entropy(x[0], labels); });
  auto with = [](CrossEntropyOptions options, const Tensor &at) {
    return [=](Given x) { return sn::cross_entropy(x[0], at, options); };
  };
  loss("cross_entropy_ignore", {{6, 4}}, with({.weight = weight}, some));
  loss("cross_entropy_ignore", {{6, 4}}, with({.ignore = 3, .weight = weight}, sn::where(some < 0, 3, some)));
  loss("cross_entropy_smooth", {{6, 4}}, with({.smoothing = 0.1, .weight = weight}, some));
  loss("cross_entropy_sum", {{6, 4}}, with({.reduction = Reduction::sum}, labels));
  loss("cross_entropy_none", {{6, 4}},
       [&](Given x) { return sn::cross_entropy(x[0], labels, {.reduction = Reduction::none}) * fill({6}, 41); });
  loss("cross_entropy_space", {{2, 4, 3}}, with({.axis = 1}, sn::reshape(labels, {2, 3})));
  loss("cross_entropy_distribution", {{6, 4}, {6, 4}},
       [&](Given x) { return sn::cross_entropy(x[0], sn::softmax(x[1]), {.smoothing = 0.1, .weight = weight}); });
  loss("nll", {{6, 4}}, [&](Given x) { return sn::nll_loss(x[0], some, {.weight = weight}); });
}

TEST(Losses, elements) {
  Tensor weight = fill({4}, 40) + 1.;
  auto pair = [](const std::string &name, auto f) { loss(name, {{6, 4}, {6, 4}}, f); };
  pair("bce", [](Given x) { return sn::bce_with_logits(x[0], sn::sigmoid(x[1])); });
  pair("bce_weights",
       [&](Given x) { return sn::bce_with_logits(x[0], sn::sigmoid(x[1]), {.weight = weight, .pos_weight = weight}); });
  pair("mse", [](Given x) { return sn::mse_loss(x[0], x[1]); });
  pair("l1", [](Given x) { return sn::l1_loss(x[0], x[1]); });
  pair("huber", [](Given x) { return sn::huber_loss(x[0], x[1], 0.4); });
  pair("smooth_l1", [](Given x) { return sn::smooth_l1_loss(x[0], x[1], 0.4); });
  pair("kl", [](Given x) { return sn::kl_div(x[0], sn::softmax(x[1]), false, sn::Reduction::batch_mean); });
  pair("kl_log", [](Given x) { return sn::kl_div(x[0], x[1], true, sn::Reduction::sum); });
}

TEST(Losses, pairs) {
  Tensor y{1., -1., 1., -1., -1., 1.};
  loss("cosine", {{6, 4}, {6, 4}}, [&](Given x) { return sn::cosine_embedding_loss(x[0], x[1], y, -0.5); });
  loss("ranking", {{6}, {6}}, [&](Given x) { return sn::margin_ranking_loss(x[0], x[1], y, 0.3); });
  loss("triplet", {{6, 4}, {6, 4}, {6, 4}}, [](Given x) { return sn::triplet_margin_loss(x[0], x[1], x[2]); });
  loss("info_nce", {{6, 4}, {6, 4}}, [](Given x) { return sn::info_nce(x[0], x[1], 0.5); });
}

TEST(Losses, alignments) {
  Tensor targets(std::vector<int64_t>{1, 2, 2, 3, 1, 0, 2, 0, 0}, {3, 3});
  Tensor inputLengths(std::vector<int64_t>{8, 7, 5}), targetLengths(std::vector<int64_t>{3, 2, 1});
  for (auto [name, reduction] : {std::pair("ctc", sn::Reduction::mean), std::pair("ctc_sum", sn::Reduction::sum)})
    loss(name, {{8, 3, 4}}, [&, reduction = reduction](Given x) {
      return sn::ctc_loss(sn::log_softmax(x[0]), targets, inputLengths, targetLengths, 0, reduction);
    });
}

TEST(Losses, a_label_past_the_classes_is_an_error) {
  EXPECT_THROW(sn::cross_entropy(fill({2, 3}, 1), Tensor(std::vector<int64_t>{0, 3})), sn::Error);
}

} // namespace
