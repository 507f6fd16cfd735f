// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trainings in f64 against torch's (Inputs/torch_goldens.py), which no formula of this tree has made.

#include "Goldens.h"
#include <regex>
#include <sinter/nn.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
namespace optim = sinter::optim;
using goldens::expectNear;
using goldens::fill;

namespace {

constexpr int kSteps = 20;

template <class Model> void fillModel(Model &model) {
  std::vector<std::string> names = sn::leaf_paths(model);
  int k = 0;
  sn::detail::eachLeaf(model, [&](sn::Tensor &leaf) {
    bool isVariance = names[size_t(k)].ends_with("running_var");
    if (sn::is_float(leaf.dtype()))
      leaf = isVariance ? fill(leaf.known_shape(), k) + 1. : fill(leaf.known_shape(), k);
    ++k;
  });
}

const nn::LinearOptions f64{.dtype = sn::DType::f64};

struct Small {
  nn::Linear first, second;
  sn::Tensor operator()(const sn::Tensor &x) const { return second(sn::tanh(first(x))); }
};
Small makeSmall() {
  auto [a, b] = sn::key(1).split<2>();
  Small model{nn::linear(a, 3, 4, f64), nn::linear(b, 4, 2, f64)};
  fillModel(model);
  return model;
}
sn::Tensor squareLoss(Small &model, const sn::Tensor &x, const sn::Tensor &y) { return sn::mse_loss(model(x), y); }

/// Losses of the steps, then the sum of each weight.
std::vector<double> train(const optim::Optimizer &optimizer, bool eager) {
  auto step = sn::train_step(squareLoss, makeSmall(), optimizer, {.eager = eager});
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t)
    got.push_back(step(fill({5, 3}, 100 + t, 2), fill({5, 2}, 200 + t, 2)).template item<double>());
  bool averages = optimizer.settings().ema > 0;
  for (const std::string &name : step.trained())
    got.push_back(sn::sum(step.state(averages ? "optimizer.ema." + name : name)).item<double>());
  return got;
}

std::map<std::string, optim::Optimizer> optimizers() {
  optim::Optimizer adam = optim::adam({.lr = 0.05});
  return {
      {"sgd", optim::sgd({.lr = 0.1})},
      {"momentum", optim::sgd({.lr = 0.1, .momentum = 0.9, .dampening = 0.1, .weight_decay = 0.02})},
      {"nesterov", optim::sgd({.lr = 0.05, .momentum = 0.9, .nesterov = true})},
      {"adam", optim::adam({.lr = 0.05, .weight_decay = 0.02})},
      {"adamw", optim::adamw({.lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1})},
      {"adagrad", optim::adagrad({.lr = 0.1, .lr_decay = 0.1, .weight_decay = 0.01})},
      {"rmsprop", optim::rmsprop({.lr = 0.01, .alpha = 0.9, .weight_decay = 0.01, .momentum = 0.5})},
      {"adadelta", optim::adadelta({.lr = 1, .rho = 0.8, .weight_decay = 0.01})},
      {"adafactor", optim::adafactor({.lr = 0.05, .weight_decay = 0.1})},
      {"lamb", optim::lamb({.lr = 0.05})},
      {"lion", optim::lion({.lr = 0.01, .weight_decay = 0.1})},
      {"muon", optim::muon({.lr = 0.05})},
      {"groups", optim::adamw({.lr = 0.05, .weight_decay = 0.1})
                     .group("bias", optim::adamw({.lr = 0.02, .weight_decay = 0}))
                     .group("^second", optim::adamw({.lr = 0.001, .weight_decay = 0.3}))},
      {"clip_norm", adam.clip_norm(0.3)},
      {"clip_value", optim::sgd({.lr = 0.2}).clip_value(0.05)},
      {"accumulate", optim::adamw({.lr = 0.05}).accumulate(4)},
      {"ema", optim::sgd({.lr = 0.1}).ema(0.8)},
      {"step", adam.schedule(optim::step(6, 0.5))},
      {"exponential", adam.schedule(optim::exponential(0.9))},
      {"polynomial", adam.schedule(optim::polynomial(15, 2))},
      {"cosine", adam.schedule(optim::cosine(20, 0.1))},
      {"one_cycle", adam.schedule(optim::one_cycle(21))},
      {"warmup", adam.warmup(5)},
      {"plateau", optim::sgd({.lr = 0.3}).schedule(optim::plateau(0.5, 2, 1e-4, 1))},
  };
}

TEST(Torch, optimizers_jitted) {
  for (const auto &[name, optimizer] : optimizers())
    expectNear(name, train(optimizer, false));
}

TEST(Torch, optimizers_eager) {
  auto all = optimizers();
  for (const char *name : {"adafactor", "muon", "groups", "accumulate", "one_cycle", "plateau"})
    expectNear(name, train(all.at(name), true));
}

struct Cnn {
  nn::Conv conv1;
  nn::BatchNorm norm;
  nn::Conv conv2;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &x, nn::Mode &mode) {
    sn::Tensor y = sn::max_pool(sn::relu(norm(conv1(x), mode)), {2, 2});
    return head(sn::flatten(sn::relu(conv2(y)), 1));
  }
};
Cnn makeCnn() {
  auto [a, b, c] = sn::key(2).split<3>();
  Cnn model{nn::conv2d(a, 1, 4, 3, {.padding = 1, .dtype = sn::DType::f64}), nn::batch_norm(4, sn::DType::f64),
            nn::conv2d(b, 4, 6, 3, {.stride = 2, .padding = 1, .dtype = sn::DType::f64}), nn::linear(c, 24, 3, f64)};
  fillModel(model);
  return model;
}
sn::Tensor cnnLoss(Cnn &model, nn::Mode &mode, const sn::Tensor &x, const sn::Tensor &labels) {
  return sn::cross_entropy(model(x, mode), labels);
}
sn::Tensor labelsOf(int first, int by) {
  std::vector<int64_t> labels;
  for (int i = 0; i < 6; ++i)
    labels.push_back((by * i + first) % 3);
  return sn::Tensor(labels);
}

std::vector<double> trainCnn(bool eager) {
  auto step =
      sn::train_step(cnnLoss, makeCnn(), optim::adamw({.lr = 0.01}).schedule(optim::cosine(kSteps)), {.eager = eager});
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t)
    got.push_back(step(fill({6, 1, 8, 8}, 300 + t, 2), labelsOf(t, 1)).template item<double>());
  Cnn trained = step.model();
  nn::Mode use;
  for (double score : trained(fill({1, 1, 8, 8}, 400, 2), use).to_vector<double>())
    got.push_back(score);
  return got;
}

TEST(Torch, cnn_jitted) { expectNear("cnn", trainCnn(false)); }
TEST(Torch, cnn_eager) { expectNear("cnn", trainCnn(true)); }

using Layers = nn::Sequential<nn::Linear, nn::GELU, nn::LayerNorm, nn::Linear>;
struct Mlp {
  Layers layers;
  sn::Tensor operator()(const sn::Tensor &x) const { return layers(x); }
};
Mlp makeMlp() {
  auto [a, b] = sn::key(3).split<2>();
  Mlp model{nn::sequential(nn::linear(a, 3, 8, f64), nn::GELU(), nn::layer_norm({8}, sn::DType::f64),
                           nn::linear(b, 8, 3, f64))};
  fillModel(model);
  return model;
}

TEST(Torch, mlp_of_layers) {
  auto step = sn::train_step(
      [](Mlp &model, const sn::Tensor &x, const sn::Tensor &labels) { return sn::cross_entropy(model(x), labels); },
      makeMlp(), optim::adamw({.lr = 0.02}).schedule(optim::cosine(kSteps)));
  std::vector<double> got;
  for (int t = 0; t < kSteps; ++t)
    got.push_back(step(fill({6, 3}, 500 + t, 2), labelsOf(t, 2)).template item<double>());
  for (double score : step.model()(fill({1, 3}, 600, 2)).to_vector<double>())
    got.push_back(score);
  expectNear("mlp", got);
}

TEST(Torch, names_are_those_of_state_dict) {
  std::vector<std::string> wanted = {"layers.0.weight", "layers.0.bias",   "layers.2.weight",
                                     "layers.2.bias",   "layers.3.weight", "layers.3.bias"};
  EXPECT_EQ(sn::detail::stateNames(sn::detail::anyTree(makeMlp())), wanted);
}

/// The same trainings by the step that `sinter train-step` makes of a graph.
TEST(Torch, optimizers_of_a_graphs_step) {
  Small model = makeSmall();
  auto forward = [](const sn::Tensor &x, const Small &model) { return model(x); };
  std::vector<std::string> names = sn::detail::stateNames(sn::detail::anyTree(model));
  std::vector<sn::Spec> specs{sn::spec<double>({5, 3})};
  for (const sn::Tensor &leaf : sn::flatten(model))
    specs.push_back(sn::spec_of(leaf));
  sn::Graph graph =
      sn::traceWith(forward, std::tuple(sn::Tensor(), model), specs, "main", {"x"}, {"y"}, sn::Where::current());
  int32_t k = 0;
  for (const sn::Tensor &leaf : sn::flatten(model)) {
    ASSERT_EQ(sinter_graph_state(graph.handle(), 0, 1 + k, -1, names[size_t(k)].c_str(), &leaf.view()), SINTER_OK);
    ++k;
  }
  const std::pair<const char *, const char *> texts[] = {
      {"sgd", "sgd:lr=0.1"},
      {"momentum", "sgd:lr=0.1,momentum=0.9,dampening=0.1,weight_decay=0.02"},
      {"nesterov", "sgd:lr=0.05,momentum=0.9,nesterov=1"},
      {"adam", "adam:lr=0.05,weight_decay=0.02"},
      {"adamw", "adamw:lr=0.05,beta1=0.8,beta2=0.95,weight_decay=0.1"},
      {"adagrad", "adagrad:lr=0.1,lr_decay=0.1,weight_decay=0.01"},
      {"rmsprop", "rmsprop:lr=0.01,alpha=0.9,momentum=0.5,weight_decay=0.01"},
      {"adadelta", "adadelta:lr=1,alpha=0.8,weight_decay=0.01"},
      {"adafactor", "adafactor:lr=0.05,weight_decay=0.1"},
      {"lamb", "lamb:lr=0.05"},
      {"lion", "lion:lr=0.01,weight_decay=0.1"},
      {"muon", "muon:lr=0.05"},
      {"clip_norm", "adam:lr=0.05,clip=0.3"},
      {"clip_value", "sgd:lr=0.2,clip_value=0.05"},
      {"accumulate", "adamw:lr=0.05,accumulate=4"},
      {"ema", "sgd:lr=0.1,ema=0.8"},
      {"step", "adam:lr=0.05,schedule=step,every=6,factor=0.5"},
      {"exponential", "adam:lr=0.05,schedule=exponential,factor=0.9"},
      {"polynomial", "adam:lr=0.05,schedule=polynomial,steps=15,power=2"},
      {"cosine", "adam:lr=0.05,schedule=cosine,steps=20,final=0.1"},
      {"one_cycle", "adam:lr=0.05,schedule=one_cycle,steps=21"},
      {"warmup", "adam:lr=0.05,warmup=5"},
      {"plateau", "sgd:lr=0.3,schedule=plateau,factor=0.5,patience=2,cooldown=1"},
  };
  for (auto [name, text] : texts) {
    sn::Session step(sn::build(sn::train_step(graph, {.loss = "mse", .optimizer = text})), "step");
    std::vector<double> got;
    for (int t = 0; t < kSteps; ++t)
      got.push_back(step({fill({5, 3}, 100 + t, 2), fill({5, 2}, 200 + t, 2)})[0].item<double>());
    for (const std::string &weight : names)
      got.push_back(sn::sum(step.state((std::string(name) == "ema" ? "optimizer.ema." : "") + weight)).item<double>());
    expectNear(name, got);
  }
}

TEST(Torch, losses_of_a_graphs_step) {
  // y = x w with w = 1: the loss of x itself.
  sn::Graph graph = sn::traceWith([](const sn::Tensor &x, const sn::Tensor &w) { return x * w; },
                                  std::tuple<sn::Tensor, sn::Tensor>(),
                                  std::vector<sn::Spec>{sn::spec<double>({6, 4}), sn::spec<double>({4})}, "main", {"x"},
                                  {"y"}, sn::Where::current());
  sn::Tensor one = sn::ones({4}, sn::DType::f64);
  ASSERT_EQ(sinter_graph_state(graph.handle(), 0, 1, -1, "w", &one.view()), SINTER_OK);
  sn::Tensor x = fill({6, 4}, 31, 2), t = fill({6, 4}, 32, 2);
  auto value = [&](const char *loss, const sn::Tensor &target) {
    return sn::Session(sn::build(sn::train_step(graph, {.loss = loss, .optimizer = "sgd:lr=0.1"})),
                       "step")({x, target})[0]
        .item<double>();
  };
  EXPECT_NEAR(value("mse", t), goldens::golden("loss.mse")[0], 1e-12);
  EXPECT_NEAR(value("l1", t), goldens::golden("loss.l1")[0], 1e-12);
  EXPECT_NEAR(value("huber:delta=0.4", t), goldens::golden("loss.huber")[0], 1e-12);
  EXPECT_NEAR(value("smooth_l1:beta=0.4", t), goldens::golden("loss.smooth_l1")[0], 1e-12);
  EXPECT_NEAR(value("bce", sn::sigmoid(t)), goldens::golden("loss.bce")[0], 1e-12);
  EXPECT_NEAR(value("kl", sn::softmax(t)) * 4, goldens::golden("loss.kl")[0], 1e-12); // torch's divides by rows
  sn::Tensor labels(std::vector<int64_t>{0, 3, 2, 1, 3, 0}), some(std::vector<int64_t>{0, -100, 2, 1, -100, 0});
  EXPECT_NEAR(value("cross_entropy", labels), goldens::golden("loss.cross_entropy")[0], 1e-12);
  for (const char *loss : {"cross_entropy", "cross_entropy:ignore=2"}) { // the same word, the same meaning
    sn::CrossEntropyOptions options;
    if (loss[13])
      options.ignore = 2;
    EXPECT_NEAR(value(loss, some), sn::cross_entropy(x, some, options).item<double>(), 1e-12) << loss;
  }
}

TEST(TrainStep, ahead_of_time_and_jitted_are_the_same_bits) {
  auto step = sn::train_step(cnnLoss, makeCnn(), optim::adamw({.lr = 0.01}).schedule(optim::cosine(kSteps)),
                             {.inputs = {"x", "labels"}});
  sn::Tensor x = fill({6, 1, 8, 8}, 300, 2), labels = labelsOf(0, 1), one = fill({1, 1, 8, 8}, 400, 2);
  step(x, labels); // first values are those of now
  std::string path = testing::TempDir() + "cnn_step.smod";
  auto use = [](Cnn &model, const sn::Tensor &x) {
    nn::Mode mode;
    return model(x, mode);
  };
  ASSERT_TRUE(step.compile({.output = path}, use, std::tuple(one), std::tuple(x, labels)).ok());
  sn::Module module = sn::Module::open(path);
  sn::Session ahead(module, "step"), infer(module, {.function = "infer", .states_of = &ahead});
  EXPECT_EQ(ahead.inputs(), (std::vector<std::string>{"x", "labels"}));
  for (int t = 1; t < kSteps; ++t) {
    sn::Tensor batch = fill({6, 1, 8, 8}, 300 + t, 2), of = labelsOf(t, 1);
    EXPECT_EQ(step(batch, of).item<double>(), ahead({batch, of})[0].item<double>()) << t;
  }
  for (const std::string &name : step.states())
    EXPECT_EQ(sn::to_string(step.state(name), true), sn::to_string(ahead.state(name), true)) << name;
  Cnn trained = step.model();
  sn::Tensor gap = sn::max(sn::abs(use(trained, one) - infer({one})[0]));
  EXPECT_LT(gap.item<double>(), 1e-13);
}

/// Functions of an assembly text by name, without what says where they are: labels without their numbers, constants in
/// place of their labels, names without `prefix`.
std::map<std::string, std::string> functionsOf(const std::string &assembly, const std::string &prefix) {
  std::map<std::string, std::vector<std::string>> blocks;
  std::string current;
  const std::regex label(R"(^([\w.$]+):.*)"),
      place(R"(\s*\.(section|p2align|type|size|globl|hidden|text|file|ident)\b.*)");
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    std::smatch match;
    if (std::regex_match(line, match, label) && line.rfind(".LBB", 0) && line.rfind(".Ltmp", 0))
      blocks[current = match[1]] = {};
    else if (!current.empty() && !std::regex_match(line, place))
      blocks[current].push_back(line);
  }
  auto replaceAll = [](std::string text, const std::regex &what, auto by) {
    std::string result;
    std::smatch match;
    for (; std::regex_search(text, match, what); text = match.suffix())
      result += match.prefix().str() + by(match.str());
    return result + text;
  };
  const std::regex constant(R"(\.LCPI(_?\d+)+)"), local(R"(\.L(BB|tmp|JTI)(_?\d+)+)"), own(prefix);
  std::map<std::string, std::string> functions;
  for (const auto &[name, body] : blocks) {
    if (name.starts_with(".L") || !name.starts_with(prefix))
      continue;
    std::string &text = functions[name.substr(prefix.size())];
    for (std::string line : body) {
      line = replaceAll(line, own, [](const std::string &) { return std::string(); });
      line = replaceAll(line, local, [](const std::string &) { return std::string(".L"); });
      text += replaceAll(line, constant,
                         [&](const std::string &key) {
                           std::string data;
                           for (const std::string &part : blocks[key])
                             data += part + ";";
                           return data;
                         }) +
              "\n";
    }
  }
  return functions;
}

TEST(TrainStep, has_the_kernels_of_the_step_ahead_of_time) {
  auto step = sn::train_step(cnnLoss, makeCnn(), optim::adamw({.lr = 0.01}).clip_norm(1));
  sn::Tensor x = fill({6, 1, 8, 8}, 300, 2), labels = labelsOf(0, 1), one = fill({1, 1, 8, 8}, 400, 2);
  step(x, labels);
  std::string path = testing::TempDir() + "cnnstep.s";
  auto use = [](Cnn &model, const sn::Tensor &x) {
    nn::Mode mode;
    return model(x, mode);
  };
  ASSERT_TRUE(step.compile({.output = path}, use, std::tuple(one), std::tuple(x, labels)).ok());
  std::ifstream file(path);
  std::stringstream ahead;
  ahead << file.rdbuf();
  auto jitted = functionsOf(step.dump("asm", x, labels), "sinter_"), written = functionsOf(ahead.str(), "cnnstep_");
  EXPECT_GT(jitted.size(), 2u);
  EXPECT_GT(written.size(), jitted.size()); // infer, too
  size_t bytes = 0;
  for (const auto &[name, text] : jitted) {
    bytes += text.size();
    EXPECT_TRUE(written.contains(name)) << name;
    EXPECT_EQ(text, written[name]) << name;
  }
  EXPECT_GT(bytes, 10000u); // they are bodies, not names
  EXPECT_NE(step.dump("graph", x, labels).find("sinter.convolution"), std::string::npos);
}

TEST(TrainStep, saves_and_goes_on) {
  std::string path = testing::TempDir() + "small_step.safetensors";
  auto first = sn::train_step(squareLoss, makeSmall(), optim::adam({.lr = 0.05}));
  auto second = sn::train_step(squareLoss, makeSmall(), optim::adam({.lr = 0.05}));
  sn::Tensor x = fill({5, 3}, 1, 2), y = fill({5, 2}, 2, 2);
  for (int t = 0; t < 3; ++t)
    first(x, y);
  ASSERT_TRUE(first.save(path).ok());
  ASSERT_TRUE(second.load(path).ok());
  for (int t = 0; t < 3; ++t)
    EXPECT_EQ(first(x, y).item<double>(), second(x, y).item<double>());
  // Batches of another size go on with the same states.
  sn::Tensor few = fill({2, 3}, 3, 2), wanted = fill({2, 2}, 4, 2);
  EXPECT_EQ(first(few, wanted).item<double>(), second(few, wanted).item<double>());
  EXPECT_EQ(first(x, y).item<double>(), second(x, y).item<double>());
  EXPECT_EQ(first.state("optimizer.step").item<int64_t>(), 8);
}

TEST(TrainStep, trains_what_names_say) {
  auto step = sn::train_step(squareLoss, makeSmall(), optim::sgd({.lr = 0.1}), {.frozen = "^first"});
  step(fill({5, 3}, 1, 2), fill({5, 2}, 2, 2));
  EXPECT_EQ(step.trained(), (std::vector<std::string>{"second.weight", "second.bias"}));
  EXPECT_EQ(sn::to_string(step.model().first.weight, true), sn::to_string(makeSmall().first.weight, true));
}

TEST(TrainStep, dropout_draws_other_numbers_in_each_step) {
  auto make = [](uint64_t seed) {
    return sn::train_step([](nn::Linear &model, nn::Mode &mode,
                             const sn::Tensor &x) { return sn::mean(nn::Dropout{0.5}(model(x), mode)); },
                          nn::linear(sn::key(1), 3, 4, f64), optim::sgd({.lr = 0}), {.seed = seed});
  };
  sn::Tensor x = fill({5, 3}, 1, 2);
  auto first = make(1), again = make(1), other = make(2);
  double one = first(x).item<double>(), two = first(x).item<double>();
  EXPECT_NE(one, two);
  EXPECT_EQ(one, again(x).item<double>());
  EXPECT_NE(one, other(x).item<double>());
}

TEST(TrainStep, says_what_is_wrong) {
  auto message = [](auto f) -> std::string {
    try {
      f();
    } catch (const sn::Error &error) {
      return error.message();
    }
    return "";
  };
  sn::Tensor x = fill({5, 3}, 1, 2), y = fill({5, 2}, 2, 2);
  auto with = [&](const optim::Optimizer &optimizer, sn::StepOptions options = {}) {
    return message([&] { sn::train_step(squareLoss, makeSmall(), optimizer, options)(x, y); });
  };
  EXPECT_EQ(with(optim::sgd({.lr = -1})), "an optimizer requires a rate of 0 or more, got -1");
  EXPECT_EQ(with(optim::adam({.beta2 = 1})), "an optimizer requires betas from 0 to below 1, got 1");
  EXPECT_EQ(with(optim::sgd({.lr = 1, .nesterov = true})), "sgd requires momentum above 0 with nesterov");
  EXPECT_EQ(with(optim::sgd({.lr = 1}).group("(", optim::sgd({.lr = 1}))),
            "a group requires a regular expression, got '('");
  const std::string others = "; they are first.weight, first.bias, second.weight, second.bias";
  EXPECT_EQ(with(optim::sgd({.lr = 1}).no_decay("biases")),
            "a group of weights requires the name of one, none matches 'biases'" + others);
  EXPECT_EQ(with(optim::sgd({.lr = 1}).sparse("table")),
            "a group of weights requires the name of one, none matches 'table'" + others);
  EXPECT_EQ(with(optim::sgd({.lr = 1}), {.frozen = "trunk"}),
            "a training step requires the name of a tensor for frozen, none matches 'trunk'" + others);
  EXPECT_EQ(with(optim::sgd({.lr = 1}).group("first", optim::sgd({.lr = 2})), {.frozen = "first"}), "");
  EXPECT_EQ(message([&] {
              auto model = makeSmall(), slopes = makeSmall();
              optim::State state;
              optim::update(optim::sgd({.lr = 1}).no_decay("biases"), model, slopes, state);
              (void)model.first.weight.item<float>(); // an error that is read
            }),
            "a group of weights requires the name of one, none matches 'biases'" + others);
  EXPECT_EQ(with(optim::sgd({.lr = 1}), {.frozen = "."}),
            "a training step requires weights outside of those that '.' freezes, none of the model's tensors is one: "
            "first.weight, first.bias, second.weight, second.bias");
  EXPECT_EQ(with(optim::sgd({.lr = 1}), {.trainable = "third"}),
            "a training step requires weights that match 'third', none of the model's tensors is one: first.weight, "
            "first.bias, second.weight, second.bias");
  EXPECT_EQ(with(optim::sgd({.lr = 1}), {.trainable = "("}), "a training step requires regular expressions, got '('");
  EXPECT_EQ(message([&] {
              sn::train_step([](Small &model, const sn::Tensor &x) { return model(x); }, makeSmall(),
                             optim::sgd({.lr = 1}))(x);
            }),
            "a training step requires a loss that is a float of rank 0, got f64[5, 2]");
}

/// linear.onnx is y = x w + b with w [[.5, -.25], [1, .75], [-.5, .125]] and b [.25, -.5].
TEST(TrainStep, fine_tunes_an_onnx_model) {
  std::string folder = std::string(SINTER_GOLDENS).substr(0, std::string(SINTER_GOLDENS).rfind('/'));
  sn::Graph model = sn::Graph::load(folder + "/linear.onnx");
  sn::Tensor x({{1.f, 2.f, -1.f}, {.5f, -1.f, 2.f}}), target({{1.f, 0.f}, {0.f, 1.f}});
  sn::Tensor w({{.5f, -.25f}, {1.f, .75f}, {-.5f, .125f}}), b{.25f, -.5f};
  for (const char *frozen : {"", "^w"}) {
    sn::Graph graph = sn::train_step(model, {.loss = "mse", .optimizer = "sgd:lr=0.1", .frozen = frozen});
    sn::Session step(sn::build(graph), "step");
    sn::Tensor gap = sn::matmul(x, w) + b - target, slope = gap * .5f;
    EXPECT_NEAR(step({x, target})[0].item<float>(), sn::mean(gap * gap).item<float>(), 1e-6);
    sn::Tensor moved = b - .1f * sn::sum(slope, 0);
    EXPECT_LT(sn::max(sn::abs(step.state("b") - moved)).item<float>(), 1e-6);
    std::vector<std::string> states = step.states();
    bool isState = std::find(states.begin(), states.end(), "w") != states.end();
    EXPECT_EQ(isState, !*frozen);
    if (isState) {
      sn::Tensor by = w - .1f * sn::matmul(sn::matrix_transpose(x), slope);
      EXPECT_LT(sn::max(sn::abs(step.state("w") - by)).item<float>(), 1e-6);
    }
  }
  EXPECT_THROW(sn::train_step(model, {.loss = "mse", .optimizer = "sgt:lr=1"}), sn::Error);
  EXPECT_THROW(sn::train_step(model, {.loss = "no", .optimizer = "sgd:lr=1"}), sn::Error);
  EXPECT_THROW(sn::train_step(model, {.loss = "mse", .optimizer = "sgd:lr=1", .frozen = "("}), sn::Error);
}

TEST(TrainStep, states_of_a_graph_are_checked) {
  sn::Graph graph = sn::trace([](const sn::Tensor &x, const sn::Tensor &w) { return x + w; },
                              {sn::spec<float>({2}), sn::spec<float>({2})});
  sn::Tensor wrong = sn::zeros({3}), right = sn::zeros({2});
  auto state = [&](int function, int input, int output, const char *name, const sn::Tensor &initial) {
    return sinter_graph_state(graph.handle(), function, input, output, name, &initial.view()) == SINTER_OK
               ? std::string()
               : std::string(sinter_last_error());
  };
  EXPECT_EQ(state(1, 0, -1, "w", right), "state requires a finished function, got 1");
  EXPECT_EQ(state(0, 2, -1, "w", right), "state 'w' of 'main' requires an input below 2, got 2");
  EXPECT_EQ(state(0, 1, 1, "w", right), "state 'w' of 'main' requires an output below 1, got 1");
  EXPECT_EQ(state(0, 1, -1, "w", wrong), "state 'w' of 'main' requires a first value of type f32[2], got f32[3]");
  EXPECT_EQ(state(0, 1, 0, "w", right), "");
  EXPECT_EQ(state(0, 1, 0, "v", right), "state 'v' of 'main' requires an input that is no state yet, got 1");
  EXPECT_EQ(state(0, 1, 0, "", right), "state requires a graph and a name, got null");
  sn::Session sum(sn::build(graph));
  sum({sn::Tensor{1.f, 2.f}});
  sum({sn::Tensor{1.f, 2.f}});
  EXPECT_EQ(sum.state("w").to_vector<float>(), (std::vector<float>{2, 4}));
}

TEST(Files, trees_save_and_load_by_the_names_of_state_dict) {
  for (const char *suffix : {".safetensors", ".npz"}) {
    std::string path = testing::TempDir() + "mlp" + suffix;
    Mlp model = makeMlp(), other = makeMlp();
    sn::detail::eachLeaf(other, [](sn::Tensor &leaf) { leaf = leaf * 0.; });
    ASSERT_TRUE(nn::save(path, model).ok());
    ASSERT_TRUE(nn::load(path, other).ok());
    for (size_t k = 0; k < sn::flatten(model).size(); ++k)
      EXPECT_EQ(sn::to_string(sn::flatten(model)[k], true), sn::to_string(sn::flatten(other)[k], true));
    Small small = makeSmall();
    EXPECT_THROW((void)nn::load(path, small), sn::Error);
  }
}

TEST(Files, floats_are_converted_where_that_is_asked_for) {
  std::string path = testing::TempDir() + "half.safetensors";
  for (sn::DType type : {sn::DType::f16, sn::DType::bf16}) {
    nn::Linear net = nn::linear(sn::key(1), 3, 2), half = net;
    sn::detail::eachLeaf(half, [&](sn::Tensor &leaf) { leaf = sn::astype(leaf, type); });
    ASSERT_TRUE(nn::save(path, half).ok());
    nn::Linear other = nn::linear(sn::key(2), 3, 2);
    std::string before = sn::to_string(other.weight, true);
    EXPECT_THROW((void)nn::load(path, other), sn::Error);
    EXPECT_EQ(sn::to_string(other.weight, true), before);
    ASSERT_TRUE(nn::load(path, other, {.convert = true}).ok());
    EXPECT_EQ(other.weight.dtype(), sn::DType::f32);
    EXPECT_EQ(sn::to_string(other.weight, true), sn::to_string(sn::astype(half.weight, sn::DType::f32), true));
    nn::Linear wide = nn::linear(sn::key(2), 4, 2);
    EXPECT_THROW((void)nn::load(path, wide, {.convert = true}), sn::Error);
  }
}

TEST(Init, first_values) {
  sn::Tensor q = nn::orthogonal(sn::key(3), {4, 3, 2}, 2, sn::DType::f64), flat = sn::reshape(q, {4, 6});
  sn::Tensor gap = sn::matmul(flat, sn::matrix_transpose(flat)) - 4. * sn::eye(4, {}, 0, sn::DType::f64);
  EXPECT_LT(sn::max(sn::abs(gap)).item<double>(), 1e-13);
  sn::Tensor x = nn::xavier_uniform(sn::key(1), {200, 100}), h = nn::he_normal(sn::key(2), {200, 100});
  EXPECT_LE(sn::max(sn::abs(x)).item<float>(), std::sqrt(6. / 300));
  EXPECT_NEAR(sn::stddev(h).item<float>(), std::sqrt(2. / 100), 2e-3);
  EXPECT_NEAR(sn::stddev(nn::xavier_normal(sn::key(2), {200, 100})).item<float>(), std::sqrt(2. / 300), 2e-3);
  EXPECT_LE(sn::max(sn::abs(nn::he_uniform(sn::key(1), {200, 100}))).item<float>(), std::sqrt(6. / 100));
  EXPECT_LE(sn::max(sn::abs(nn::truncated_normal(sn::key(1), {200, 100}, 0.02))).item<float>(), 0.04);
  EXPECT_THROW(nn::orthogonal(sn::key(1), {3}), sn::Error);
}

} // namespace
