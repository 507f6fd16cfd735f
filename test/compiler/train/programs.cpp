// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs as people write them, against torch's (Inputs/torch_programs.py): each by a jitted step, by one whose
// optimizer runs op by op, as a module that was compiled ahead of time, and on the tape.

#include "Goldens.h"
#include <algorithm>
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

constexpr int kSteps = 6;
constexpr sn::DType kWide = sn::DType::f64;
const nn::LinearOptions f64{.dtype = kWide}, unbiased{.bias = false, .dtype = kWide};
const sn::Key kKey = sn::key(7);

nn::Linear linear(int64_t in, int64_t out) { return nn::linear(kKey, in, out, f64); }

/// Leaves get numbers by a formula, in the order of their names.
template <class Model> Model filled(Model model, int first = 0) {
  std::vector<std::string> names = sn::detail::stateNames(sn::detail::anyTree(model));
  std::vector<Tensor> leaves = sn::flatten(model);
  std::vector<std::string> sorted;
  for (size_t k = 0; k < names.size(); ++k)
    if (sn::is_float(leaves[k].dtype()))
      sorted.push_back(names[k]);
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 0; k < names.size(); ++k)
    if (sn::is_float(leaves[k].dtype())) {
      int at = int(std::find(sorted.begin(), sorted.end(), names[k]) - sorted.begin());
      leaves[k] = fill(leaves[k].known_shape(), first + at) + (names[k].ends_with("running_var") ? 1. : 0.);
    }
  sn::detail::anyTree(model).setLeaves(leaves);
  return model;
}

Tensor labels(int count, int t, int classes) {
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i)
    values.push_back((i * 5 + t * 3 + i * i) % classes);
  return Tensor(values);
}

void append(std::vector<double> &all, const Tensor &tensor) {
  for (double value : sn::reshape(tensor, {-1}).to_vector<double>())
    all.push_back(value);
}

/// One step on the tape: all leaves of `trained` whose gradient is defined move.
template <class Model> void descend(const optim::Optimizer &optimizer, Model &model, optim::State &state) {
  std::vector<Tensor> leaves = sn::flatten(model), slopes;
  for (const Tensor &leaf : leaves)
    slopes.push_back(leaf.grad());
  for (Tensor &leaf : leaves)
    leaf = leaf.detach();
  Model by = model;
  sn::detail::anyTree(by).setLeaves(slopes);
  sn::detail::anyTree(model).setLeaves(leaves);
  optim::update(optimizer, model, by, state);
}
template <class Model> void watch(Model &model) {
  std::vector<Tensor> leaves = sn::flatten(model);
  for (Tensor &leaf : leaves)
    leaf = leaf.detach().requires_grad();
  sn::detail::anyTree(model).setLeaves(leaves);
}

/// The step as a module that was compiled before it ran, whose states are first values.
template <class Step, class Batch, class Scores>
void aheadOfTime(const std::string &name, Step step, Batch batch, Scores scores) {
  std::string path = testing::TempDir() + "program_" + name + ".smod";
  auto use = [&](auto &model, const Tensor &unused) { return scores(model) + 0. * unused; };
  Tensor none = sn::zeros({}, kWide);
  ASSERT_TRUE(step.compile({.output = path}, use, std::tuple(none), batch(0)).ok());
  sn::Module module = sn::Module::open(path);
  sn::Session ahead(module, "step"), infer(module, {.function = "infer", .states_of = &ahead});
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t)
    got.push_back(ahead(sn::flatten(batch(t)))[0].template item<double>());
  append(got, infer({none})[0]);
  SCOPED_TRACE("ahead of time");
  expectNear("program." + name, got, 1e-11);
}

/// `loss(model, batch...)`, `batch(t)` a tuple, `scores(model)` what the model says in the end.
template <class Model, class Loss, class Batch, class Scores>
void program(const std::string &name, Model model, const optim::Optimizer &optimizer, Loss loss, Batch batch,
             Scores scores, sn::StepOptions options = {}) {
  for (bool eager : {false, true}) {
    options.eager = eager;
    auto step = sn::train_step(loss, model, optimizer, options);
    std::vector<double> got;
    for (int t = 0; t < kSteps; ++t)
      got.push_back(std::apply([&](auto... x) { return step(x...); }, batch(t)).template item<double>());
    Model trained = step.model();
    append(got, scores(trained));
    SCOPED_TRACE(eager ? "op by op" : "jitted");
    expectNear("program." + name, got, 1e-11);
  }
  options.eager = false;
  aheadOfTime(name, sn::train_step(loss, model, optimizer, options), batch, scores);
}
/// The same, and on the tape.
template <class Model, class Loss, class Batch, class Scores>
void everywhere(const std::string &name, Model model, const optim::Optimizer &optimizer, Loss loss, Batch batch,
                Scores scores) {
  program(name, model, optimizer, loss, batch, scores);
  optim::State state;
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t) {
    watch(model);
    Tensor value = std::apply([&](auto... x) { return loss(model, x...); }, batch(t));
    ASSERT_TRUE(sn::backward(value).ok());
    got.push_back(value.item<double>());
    descend(optimizer, model, state);
  }
  append(got, scores(model));
  SCOPED_TRACE("on the tape");
  expectNear("program." + name, got, 1e-11);
}
const auto kNoScores = [](auto &) { return sn::zeros({0}, kWide); };

TEST(Programs, two_networks_against_each_other) {
  auto makeG = [] { return filled(nn::sequential(linear(3, 6), nn::Tanh(), linear(6, 2))); };
  auto makeD = [] { return filled(nn::sequential(linear(2, 6), nn::LeakyReLU{0.2}, linear(6, 1)), 10); };
  auto forG = optim::adam({.lr = 0.02, .beta1 = 0.5}), forD = optim::adam({.lr = 0.03, .beta1 = 0.5});
  Tensor yes = sn::ones({5, 1}, kWide), no = sn::zeros({5, 1}, kWide);
  using G = decltype(makeG());
  using D = decltype(makeD());
  {
    G g = makeG();
    D d = makeD();
    optim::State ofG, ofD;
    std::vector<double> got;
    for (int t = 0; t < kSteps; ++t) {
      Tensor real = fill({5, 2}, 100 + t, 2), z = fill({5, 3}, 200 + t, 2);
      watch(g), watch(d);
      Tensor one = sn::bce_with_logits(d(real), yes) + sn::bce_with_logits(d(g(z).detach()), no);
      ASSERT_TRUE(sn::backward(one).ok());
      descend(forD, d, ofD);
      watch(d);
      Tensor two = sn::bce_with_logits(d(g(z)), yes);
      ASSERT_TRUE(sn::backward(two).ok());
      descend(forG, g, ofG);
      got.push_back(one.item<double>());
      got.push_back(two.item<double>());
    }
    expectNear("program.gan", got, 1e-11);
  }
  // Each step has the other network as an argument.
  auto stepD = sn::train_step(
      [&](D &d, const G &g, const Tensor &real, const Tensor &z) {
        return sn::bce_with_logits(d(real), yes) + sn::bce_with_logits(d(sn::stop_gradient(g(z))), no);
      },
      makeD(), forD);
  auto stepG = sn::train_step([&](G &g, const D &d, const Tensor &z) { return sn::bce_with_logits(d(g(z)), yes); },
                              makeG(), forG);
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t) {
    Tensor real = fill({5, 2}, 100 + t, 2), z = fill({5, 3}, 200 + t, 2);
    got.push_back(stepD(stepG.model(), real, z).item<double>());
    got.push_back(stepG(stepD.model(), z).item<double>());
  }
  expectNear("program.gan", got, 1e-11);
}

struct Tied {
  nn::Embedding embedding;
  nn::Linear mix;
  Tensor operator()(const Tensor &words) const {
    return sn::matmul(sn::tanh(mix(embedding(words))), sn::transpose(embedding.weight));
  }
};

TEST(Programs, a_weight_that_is_used_twice) {
  everywhere(
      "tied", filled(Tied{nn::embedding(kKey, 7, 5, kWide), linear(5, 5)}),
      optim::adamw({.lr = 0.05, .weight_decay = 0.1}),
      [](Tied &net, const Tensor &words, const Tensor &next) { return sn::cross_entropy(net(words), next); },
      [](int t) { return std::tuple(labels(8, t, 7), labels(8, t + 1, 7)); },
      [](Tied &net) { return net(labels(2, 9, 7)); });
}

TEST(Programs, gradients_in_the_loss) {
  auto make = [] { return filled(nn::sequential(linear(3, 6), nn::Tanh(), linear(6, 1))); };
  auto batch = [](int t) { return std::tuple(fill({4, 3}, 100 + t, 2)); };
  auto penalized = [](const Tensor &y, const Tensor &slope) {
    return sn::mean(y) + 10. * sn::mean(sn::square(sn::norm(slope, {1}) - 1.));
  };
  auto optimizer = optim::sgd({.lr = 0.05, .momentum = 0.9});
  program(
      "penalty", make(), optimizer,
      [&](auto &net, const Tensor &x) {
        return penalized(net(x), sn::grad([&](const Tensor &x) { return sn::sum(net(x)); })(x));
      },
      batch, kNoScores);
  auto net = make();
  optim::State state;
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t) {
    watch(net);
    Tensor x = std::get<0>(batch(t)).requires_grad(), y = net(x);
    Tensor slope = sn::gradients({sn::sum(y)}, {x}, {}, {.create_graph = true})[0], loss = penalized(y, slope);
    ASSERT_TRUE(sn::backward(loss).ok());
    got.push_back(loss.item<double>());
    descend(optimizer, net, state);
  }
  expectNear("program.penalty", got, 1e-11);
}

TEST(Programs, learning_to_learn) {
  auto make = [] { return filled(nn::sequential(linear(2, 5), nn::Tanh(), linear(5, 1))); };
  using Net = decltype(make());
  auto inner = optim::sgd({.lr = 0.1});
  // x, y to learn from and x, y to be judged by, for two tasks: gradients go through the inner optimizer's steps.
  auto loss = [&](Net &net, const std::vector<Tensor> &tasks) {
    Tensor total;
    for (size_t task = 0; task < 2; ++task) {
      const Tensor *of = &tasks[4 * task];
      Net learnt = net;
      for (int step = 0; step < 2; ++step) {
        Net slope = sn::grad([&](const Net &net) { return sn::mse_loss(net(of[0]), of[1]); })(learnt);
        optim::State state;
        optim::update(inner, learnt, slope, state);
      }
      Tensor value = sn::mse_loss(learnt(of[2]), of[3]);
      total = total.defined() ? total + value : value;
    }
    return total;
  };
  program(
      "maml", make(), optim::adam({.lr = 0.02}), loss,
      [](int t) {
        std::vector<Tensor> tasks;
        for (int task = 0; task < 2; ++task)
          for (int kind : {100, 300, 500, 700})
            tasks.push_back(fill({4, kind == 100 || kind == 500 ? 2 : 1}, kind + 10 * t + task, 2));
        return std::tuple(tasks);
      },
      kNoScores);
}

struct Experts {
  nn::Linear gate;
  std::vector<nn::Linear> experts;
  Tensor operator()(const Tensor &x) const {
    auto [scores, chosen] = sn::top_k(gate(x), 2);
    std::vector<Tensor> outputs;
    for (const nn::Linear &expert : experts)
      outputs.push_back(expert(x));
    Tensor picked =
        sn::take_along_axis(sn::stack(outputs, 1), sn::broadcast_to(sn::expand_dims(chosen, 2), {x.dim(0), 2, 3}), 1);
    return sn::sum(picked * sn::expand_dims(sn::softmax(scores), 2), {1});
  }
};

TEST(Programs, two_of_five_experts) {
  Experts model{linear(4, 5), std::vector<nn::Linear>(5, linear(4, 3))};
  everywhere(
      "experts", filled(model), optim::adam({.lr = 0.03}),
      [](Experts &net, const Tensor &x, const Tensor &y) { return sn::mse_loss(net(x), y); },
      [](int t) { return std::tuple(fill({6, 4}, 100 + t, 2), fill({6, 3}, 200 + t, 2)); },
      [](Experts &net) { return net(fill({2, 4}, 400, 2)); });
}

TEST(Programs, three_pictures_one_network) {
  auto model = filled(nn::sequential(linear(4, 6), nn::ReLU(), linear(6, 3)));
  everywhere(
      "siamese", model, optim::rmsprop({.lr = 0.01}),
      [](auto &net, const Tensor &a, const Tensor &b, const Tensor &c) {
        return sn::triplet_margin_loss(net(a), net(b), net(c), 0.7);
      },
      [](int t) { return std::tuple(fill({5, 4}, 100 + t, 2), fill({5, 4}, 200 + t, 2), fill({5, 4}, 300 + t, 2)); },
      kNoScores);
}

struct Recognizer {
  nn::GRU gru;
  nn::Linear head;
  Tensor operator()(const Tensor &x) const { return sn::transpose(sn::log_softmax(head(gru(x).output)), {1, 0, 2}); }
};

TEST(Programs, texts_without_alignment) {
  Recognizer model{nn::gru(kKey, 3, 4, {.bidirectional = true, .dtype = kWide}), linear(8, 5)};
  everywhere(
      "recognizer", filled(model), optim::adam({.lr = 0.02}),
      [](Recognizer &net, const Tensor &x, const Tensor &text) {
        return sn::ctc_loss(net(x), text, Tensor(std::vector<int64_t>{9, 7}), Tensor(std::vector<int64_t>{3, 2}));
      },
      [](int t) { return std::tuple(fill({2, 9, 3}, 100 + t, 2), sn::reshape(labels(6, t, 4), {2, 3}) + int64_t(1)); },
      kNoScores);
}

struct Writer {
  nn::LSTM lstm;
  nn::Linear head;
};
/// A network whose state goes from batch to batch, as a running mean does.
struct Going {
  Writer net;
  Tensor h, c;
};

TEST(Programs, a_state_that_goes_from_batch_to_batch) {
  Writer net = filled(Writer{nn::lstm(kKey, 3, 4, {.layers = 2, .dtype = kWide}), linear(4, 2)});
  auto optimizer = optim::sgd({.lr = 0.1}).clip_norm(0.2);
  Tensor zero = sn::zeros({2, 2, 4}, kWide);
  auto batch = [](int t) { return std::tuple(fill({2, 5, 3}, 100 + t, 2), fill({2, 5, 2}, 200 + t, 2)); };
  program(
      "truncated", Going{net, zero, zero}, optimizer,
      [](Going &model, const Tensor &x, const Tensor &y) {
        nn::RecurrentResult made = model.net.lstm(x, model.h, model.c);
        model.h = sn::stop_gradient(made.h);
        model.c = sn::stop_gradient(made.c);
        return sn::mse_loss(model.net.head(made.output), y);
      },
      batch, [](Going &model) { return model.h; });
  optim::State state;
  Tensor h = zero, c = zero;
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t) {
    watch(net);
    auto [x, y] = batch(t);
    nn::RecurrentResult made = net.lstm(x, h, c);
    Tensor loss = sn::mse_loss(net.head(made.output), y);
    ASSERT_TRUE(sn::backward(loss).ok());
    got.push_back(loss.item<double>());
    h = made.h.detach();
    c = made.c.detach();
    descend(optimizer, net, state);
  }
  append(got, h);
  expectNear("program.truncated", got, 1e-11);
}

TEST(Programs, a_recurrent_state_of_another_shape_is_refused) {
  nn::LSTM lstm = nn::lstm(kKey, 3, 4, {.layers = 2, .dtype = kWide});
  try {
    (void)lstm(fill({2, 5, 3}, 1), sn::zeros({1, 2, 4}, kWide)).output.to_vector<double>();
    FAIL();
  } catch (const sn::Error &error) {
    EXPECT_EQ(error.message(), "lstm requires h [2, N, 4] of the type of x, f64[2, 5, 3], got f64[1, 2, 4]");
  }
}

struct Adapted {
  nn::Linear base, down, up, head;
  Tensor operator()(const Tensor &x) const { return head(sn::tanh(base(x) + 0.5 * up(down(x)))); }
};

TEST(Programs, a_frozen_trunk_with_adapters) {
  Adapted model{linear(4, 6), nn::linear(kKey, 4, 2, unbiased), nn::linear(kKey, 2, 6, unbiased), linear(6, 3)};
  program(
      "adapted", filled(model), optim::adamw({.lr = 0.05, .weight_decay = 0.01}),
      [](Adapted &net, const Tensor &x, const Tensor &y) { return sn::cross_entropy(net(x), y); },
      [](int t) { return std::tuple(fill({6, 4}, 100 + t, 2), labels(6, t, 3)); },
      [](Adapted &net) { return net(fill({2, 4}, 400, 2)); }, {.trainable = "down|up"});
}

struct Normalized {
  nn::Conv conv;
  nn::BatchNorm norm;
  nn::Linear head;
  Tensor operator()(const Tensor &x, nn::Mode &mode) { return head(nn::Flatten()(sn::relu(norm(conv(x), mode)))); }
};

TEST(Programs, statistics_of_batches) {
  Normalized model{nn::conv2d(kKey, 2, 4, 3, {.padding = 1, .dtype = kWide}), nn::batch_norm(4, kWide), linear(64, 3)};
  // torch's modules have numbers for names.
  std::vector<Tensor> leaves = sn::flatten(model);
  std::vector<std::string> names = sn::detail::stateNames(sn::detail::anyTree(model));
  const char *sorted[] = {"conv.bias",        "conv.weight", "norm.bias", "norm.running_mean",
                          "norm.running_var", "norm.weight", "head.bias", "head.weight"};
  for (size_t k = 0; k < names.size(); ++k)
    for (int at = 0; at < 8; ++at)
      if (names[k] == sorted[at])
        leaves[k] = fill(leaves[k].known_shape(), at) + (at == 4 ? 1. : 0.);
  sn::detail::anyTree(model).setLeaves(leaves);
  program(
      "normalized", model, optim::sgd({.lr = 0.05}),
      [](Normalized &net, nn::Mode &mode, const Tensor &x, const Tensor &y) {
        return sn::cross_entropy(net(x, mode), y);
      },
      [](int t) { return std::tuple(fill({3, 2, 4, 4}, 100 + t, 2), labels(3, t, 3)); },
      [](Normalized &net) {
        nn::Mode use;
        return sn::concatenate(
            {sn::reshape(net(fill({2, 2, 4, 4}, 400, 2), use), {-1}), net.norm.running_mean, net.norm.running_var});
      });
}

struct Vae {
  nn::Linear body, mean, spread, back;
};

TEST(Programs, noise_in_the_middle) {
  Vae model{linear(5, 6), linear(6, 2), linear(6, 2), linear(2, 5)};
  everywhere(
      "vae", filled(model), optim::adam({.lr = 0.02}),
      [](Vae &net, const Tensor &x, const Tensor &noise) {
        Tensor h = sn::gelu(net.body(x)), mean = net.mean(h), spread = net.spread(h);
        Tensor z = mean + sn::exp(0.5 * spread) * noise;
        Tensor divergence = -0.5 * sn::mean(sn::sum(1. + spread - mean * mean - sn::exp(spread), {1}));
        return sn::bce_with_logits(net.back(z), sn::sigmoid(x), {.reduction = sn::Reduction::sum}) / 4. + divergence;
      },
      [](int t) { return std::tuple(fill({4, 5}, 100 + t, 2), fill({4, 2}, 200 + t, 2)); }, kNoScores);
}

} // namespace
