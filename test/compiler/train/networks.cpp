// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 20 steps in f64 with groups, clipping, two batches a step and a schedule, all at once, against torch's
// (Inputs/torch_goldens.py): by each optimizer, through each kind of layer and down each loss.

#include "Goldens.h"
#include <numeric>
#include <sinter/losses.hpp>
#include <sinter/nn_sequence.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
namespace optim = sinter::optim;
using goldens::expectNear;
using goldens::fill;
using sn::Tensor;

namespace {

constexpr int kSteps = 20;
constexpr sn::DType kWide = sn::DType::f64;
const nn::LinearOptions f64{.dtype = kWide};
const sn::Key kKey = sn::key(7);

struct Small {
  nn::Linear first, second;
  Tensor operator()(const Tensor &x) const { return second(sn::tanh(first(x))); }
};
Small makeSmall() { return {nn::linear(kKey, 3, 4, f64), nn::linear(kKey, 4, 2, f64)}; }

//===--- optimizers -----------------------------------------------------------------------------------------------===//

/// An optimizer of `kind` with one rate and decay for biases, one for the second weight, one for the first.
template <class Settings> optim::Optimizer everything(optim::Optimizer (*kind)(const Settings &), Settings settings) {
  auto with = [&](double lr, double decay) {
    settings.lr = lr;
    settings.weight_decay = decay;
    return kind(settings);
  };
  return with(0.05, 0.1)
      .group("bias", with(0.02, 0))
      .group("^second", with(0.01, 0.3))
      .clip_norm(0.3)
      .accumulate(2)
      .schedule(optim::cosine(7, 0.1))
      .warmup(3);
}

TEST(Torch, all_settings_of_an_optimizer_at_once) {
  const std::pair<const char *, optim::Optimizer> optimizers[] = {
      {"sgd", everything(optim::sgd, {})},
      {"momentum", everything(optim::sgd, {.momentum = 0.9, .dampening = 0.1})},
      {"nesterov", everything(optim::sgd, {.momentum = 0.9, .nesterov = true})},
      {"adam", everything(optim::adam, {})},
      {"adamw", everything(optim::adamw, {})},
      {"adagrad", everything(optim::adagrad, {})},
      {"rmsprop", everything(optim::rmsprop, {.momentum = 0.5})},
      {"adadelta", everything(optim::adadelta, {.rho = 0.8})},
      {"adafactor", everything(optim::adafactor, {})},
      {"lamb", everything(optim::lamb, {})},
      {"lion", everything(optim::lion, {})},
      {"muon", everything(optim::muon, {})},
  };
  for (const auto &[name, optimizer] : optimizers) {
    Small model = makeSmall();
    int k = 0;
    sn::detail::eachLeaf(model, [&](Tensor &leaf) { leaf = fill(leaf.known_shape(), k++); });
    auto step = sn::train_step([](Small &net, const Tensor &x, const Tensor &y) { return sn::mse_loss(net(x), y); },
                               model, optimizer);
    std::vector<double> got;
    for (int t = 0; t < kSteps; ++t)
      got.push_back(step(fill({5, 3}, 100 + t, 2), fill({5, 2}, 200 + t, 2)).template item<double>());
    for (const Tensor &leaf : sn::flatten(step.model()))
      got.push_back(sn::sum(leaf).item<double>());
    expectNear(std::string("all.") + name, got);
  }
}

//===--- layers and losses ----------------------------------------------------------------------------------------===//

/// Trains by `loss(model, mode, batch)`, where batch t is `batch(t)`; compares losses, and the sums of all leaves in
/// the order of their names. (By sgd, as Adam makes steps of what rounding leaves of a gradient that is 0: that of a
/// bias before a normalization.)
template <class Model, class Loss, class Batch>
void train(const std::string &name, Model model, Loss loss, Batch batch) {
  std::vector<std::string> names = sn::detail::stateNames(sn::detail::anyTree(model));
  size_t k = 0;
  sn::detail::eachLeaf(model, [&](Tensor &leaf) {
    const std::string &leafName = names[k++];
    if (sn::is_float(leaf.dtype()))
      leaf = fill(leaf.known_shape(), std::accumulate(leafName.begin(), leafName.end(), 0) % 29) +
             (leafName.ends_with("running_var") ? 1. : 0.);
  });
  auto step = sn::train_step(loss, model,
                             optim::sgd({.lr = 0.05, .momentum = 0.9, .weight_decay = 0.1})
                                 .no_decay("bias")
                                 .clip_norm(0.4)
                                 .accumulate(2)
                                 .schedule(optim::cosine(12)));
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t)
    got.push_back(step(batch(t)).template item<double>());
  std::vector<Tensor> leaves = sn::flatten(step.model());
  std::map<std::string, double> sums;
  for (size_t at = 0; at < leaves.size(); ++at)
    if (sn::is_float(leaves[at].dtype()))
      sums[names[at]] = sn::sum(leaves[at]).template item<double>();
  for (const auto &[leaf, sum] : sums)
    got.push_back(sum);
  expectNear("train." + name, got);
}

/// (3 i + t) modulo `classes`.
Tensor labelsOf(int count, int t, int classes) {
  std::vector<int64_t> labels;
  for (int i = 0; i < count; ++i)
    labels.push_back((i * 3 + t) % classes);
  return Tensor(labels);
}
using Pair = std::pair<Tensor, Tensor>;
Pair pictures(int t, sn::Shape in, sn::Shape out, double scale = 2) {
  return {fill(in, 100 + t, 2), fill(out, 200 + t, scale)};
}

struct Recurrent {
  nn::LSTM lstm;
  nn::GRU gru;
  nn::RNN rnn;
  Tensor operator()(const Tensor &x) const { return rnn(gru(lstm(x).output).output).output; }
};
struct Words {
  nn::Embedding embedding;
  nn::TransformerBlock block;
  nn::RMSNorm norm;
  nn::Linear head;
  Tensor operator()(const Tensor &x) const { return head(norm(block(embedding(x), {.causal = true}))); }
};
template <class... Layers> struct Stack {
  nn::Sequential<Layers...> layers;
  Tensor operator()(const Tensor &x, nn::Mode &mode) { return layers(x, mode); }
};
template <class... Layers> Stack<Layers...> stack(Layers... layers) { return {nn::sequential(std::move(layers)...)}; }

TEST(Torch, recurrence) {
  train(
      "recurrent",
      Recurrent{nn::lstm(kKey, 4, 3, {.layers = 2, .bidirectional = true, .dtype = kWide}),
                nn::gru(kKey, 6, 4, {.dtype = kWide}), nn::rnn(kKey, 4, 5, {.dtype = kWide})},
      [](Recurrent &net, const Pair &batch) {
        return sn::cross_entropy(net(batch.first), batch.second, {.smoothing = 0.1});
      },
      [](int t) { return Pair(fill({2, 6, 4}, 100 + t, 2), sn::reshape(labelsOf(12, t, 5), {2, 6})); });
}

TEST(Torch, transformer) {
  train(
      "words",
      Words{
          nn::embedding(kKey, 6, 8, kWide),
          nn::transformer_block(kKey, 8, 2, 12, {.norm_first = true, .use_gelu = true, .attention = {.dtype = kWide}}),
          nn::rms_norm({8}, kWide), nn::linear(kKey, 8, 6, f64)},
      [](Words &net, const Pair &batch) {
        return sn::cross_entropy(net(batch.first), batch.second, {.ignore = 2, .weight = fill({6}, 40) + 1.});
      },
      [](int t) { return Pair(sn::reshape(labelsOf(10, t, 6), {2, 5}), sn::reshape(labelsOf(10, t + 1, 6), {2, 5})); });
}

TEST(Torch, convolutions) {
  auto pictureNet =
      stack(nn::conv2d(kKey, 2, 4, 3, {.stride = 2, .padding = 1, .dtype = kWide}), nn::group_norm(2, 4, kWide),
            nn::SiLU(), nn::conv_transpose2d(kKey, 4, 2, 2, {.stride = 2, .dtype = kWide}), nn::instance_norm(2, kWide),
            nn::LeakyReLU(), nn::AvgPool{{2, 2}});
  train(
      "pictures", pictureNet,
      [](decltype(pictureNet) &net, nn::Mode &mode, const Pair &batch) {
        return sn::huber_loss(net(batch.first, mode), batch.second, 0.3);
      },
      [](int t) { return pictures(t, {2, 2, 8, 6}, {2, 2, 4, 3}); });
  auto soundNet = stack(nn::conv1d(kKey, 2, 4, 3, {.padding = 1, .dtype = kWide}), nn::batch_norm(4, kWide),
                        nn::GLU{.axis = 1}, nn::conv_transpose1d(kKey, 2, 3, 3, {.stride = 2, .dtype = kWide}));
  train(
      "sounds", soundNet,
      [](decltype(soundNet) &net, nn::Mode &mode, const Pair &batch) {
        return sn::bce_with_logits(net(batch.first, mode), sn::sigmoid(batch.second));
      },
      [](int t) { return pictures(t, {3, 2, 5}, {3, 3, 11}, 0.6); });
  auto volumeNet = stack(nn::conv3d(kKey, 1, 3, 2, {.dtype = kWide}), nn::batch_norm(3, kWide), nn::ELU(),
                         nn::conv_transpose3d(kKey, 3, 1, 2, {.dtype = kWide}), nn::Softplus());
  train(
      "volumes", volumeNet,
      [](decltype(volumeNet) &net, nn::Mode &mode, const Pair &batch) {
        return sn::smooth_l1_loss(net(batch.first, mode), batch.second);
      },
      [](int t) { return pictures(t, {2, 1, 3, 4, 3}, {2, 1, 3, 4, 3}); });
}

using Lists = std::vector<Tensor>;

/// Rows of three batches, and a target.
Lists rowsOf(int t) {
  return {fill({5, 3}, 100 + t, 2), fill({5, 3}, 150 + t, 2), fill({5, 3}, 200 + t, 2), fill({5, 2}, 200 + t, 2)};
}

TEST(Torch, losses) {
  Tensor sign{1., -1., 1., -1., 1.};
  auto check = [](const std::string &name, auto loss) { train(name, makeSmall(), loss, rowsOf); };
  check("kl", [](Small &net, const Lists &x) {
    return sn::kl_div(sn::log_softmax(net(x[0])), sn::softmax(x[3]), false, sn::Reduction::batch_mean);
  });
  check("cosine",
        [&](Small &net, const Lists &x) { return sn::cosine_embedding_loss(net(x[0]), net(x[1]), sign, -0.5); });
  check("ranking", [&](Small &net, const Lists &x) {
    return sn::margin_ranking_loss(sn::sum(net(x[0]), 1), sn::sum(net(x[1]), 1), sign, 0.3);
  });
  check("triplet", [](Small &net, const Lists &x) { return sn::triplet_margin_loss(net(x[0]), net(x[1]), net(x[2])); });
  check("info_nce", [](Small &net, const Lists &x) {
    auto unit = [](const Tensor &rows) { return rows / sn::sqrt(sn::sum(rows * rows, 1, true)); };
    return sn::info_nce(unit(net(x[0])), unit(net(x[1])), 0.5);
  });
  check("l1", [](Small &net, const Lists &x) { return sn::l1_loss(net(x[0]), x[3], sn::Reduction::sum); });
  train(
      "nll", makeSmall(),
      [](Small &net, const Pair &batch) { return sn::nll_loss(sn::log_softmax(net(batch.first)), batch.second); },
      [](int t) { return Pair(fill({5, 3}, 100 + t, 2), labelsOf(5, t, 2)); });
  Tensor targets(std::vector<int64_t>{1, 1, 1, 0, 1, 1}, {3, 2});
  Tensor inputLengths(std::vector<int64_t>{4, 4, 3}), targetLengths(std::vector<int64_t>{2, 1, 2});
  train(
      "ctc", makeSmall(),
      [&](Small &net, const Tensor &x) {
        return sn::ctc_loss(sn::log_softmax(net(x)), targets, inputLengths, targetLengths);
      },
      [](int t) { return fill({4, 3, 3}, 100 + t, 2); });
}

} // namespace
