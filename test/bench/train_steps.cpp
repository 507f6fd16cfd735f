// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The networks of train_models.py in C++, whose training step runs jitted or as a module that is compiled ahead of
// time. train.py starts it as a worker and tells it for how many seconds to run (the protocol is in its `worker`).
//
//   sinter_train_steps jitted|ahead NAME THREADS MODULE.smod

#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <sched.h>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/nn_sequence.hpp>
#include <sinter/sinter.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
using Clock = std::chrono::steady_clock;

namespace {

struct Mlp {
  nn::Sequential<nn::Linear, nn::ReLU, nn::Linear, nn::ReLU, nn::Linear> layers;
  sn::Tensor operator()(const sn::Tensor &x, nn::Mode &) const { return layers(x); }
};

struct Residual {
  nn::Conv conv1;
  nn::BatchNorm norm1;
  nn::Conv conv2;
  nn::BatchNorm norm2;
  std::optional<nn::Sequential<nn::Conv, nn::BatchNorm>> shortcut;
  sn::Tensor operator()(const sn::Tensor &x, nn::Mode &mode) {
    sn::Tensor y = norm2(conv2(sn::relu(norm1(conv1(x), mode))), mode);
    return sn::relu(y + (shortcut ? (*shortcut)(x, mode) : x));
  }
};
struct ResNet {
  nn::Conv conv;
  nn::BatchNorm norm;
  std::vector<Residual> blocks;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &x, nn::Mode &mode) {
    sn::Tensor y = nn::MaxPool{{3, 3}, {2, 2}, {1, 1}}(sn::relu(norm(conv(x), mode)));
    for (Residual &block : blocks)
      y = block(y, mode);
    return head(sn::mean(y, {2, 3}));
  }
};

struct Gpt {
  nn::Embedding word;
  sn::Tensor place;
  std::vector<nn::TransformerBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &ids, nn::Mode &) const {
    sn::Tensor x = word(ids) + place;
    for (const nn::TransformerBlock &block : blocks)
      x = block(x, {.causal = true});
    return head(norm(x));
  }
};

/// Keys one after the other.
struct Keys {
  sn::Key key = sn::key(5);
  int64_t used = 0;
  sn::Key next() { return key.fold_in(used++); }
};

Mlp makeMlp(Keys &keys) {
  return {nn::sequential(nn::linear(keys.next(), 784, 512), nn::ReLU(), nn::linear(keys.next(), 512, 512), nn::ReLU(),
                         nn::linear(keys.next(), 512, 10))};
}

ResNet makeResNet(Keys &keys) {
  auto conv = [&](int64_t in, int64_t out, int64_t window, int64_t stride) {
    return nn::conv2d(keys.next(), in, out, window, {.stride = stride, .padding = window / 2, .bias = false});
  };
  ResNet net{conv(3, 64, 7, 2), nn::batch_norm(64), {}, nn::linear(keys.next(), 512, 10)};
  int64_t in = 64;
  for (int64_t out : {64, 64, 128, 128, 256, 256, 512, 512}) {
    int64_t stride = out == in ? 1 : 2;
    Residual block{conv(in, out, 3, stride), nn::batch_norm(out), conv(out, out, 3, 1), nn::batch_norm(out), {}};
    if (stride != 1)
      block.shortcut = nn::sequential(conv(in, out, 1, stride), nn::batch_norm(out));
    net.blocks.push_back(std::move(block));
    in = out;
  }
  return net;
}

constexpr int64_t kWidth = 384, kLength = 256, kWords = 96;
Gpt makeGpt(Keys &keys) {
  Gpt net{nn::embedding(keys.next(), kWords, kWidth),
          0.02f * sn::random::normal(keys.next(), {kLength, kWidth}),
          {},
          nn::layer_norm({kWidth}),
          nn::linear(keys.next(), kWidth, kWords, {.bias = false})};
  for (int k = 0; k < 6; ++k)
    net.blocks.push_back(
        nn::transformer_block(keys.next(), kWidth, 6, 4 * kWidth, {.norm_first = true, .use_gelu = true}));
  return net;
}

double statusBytes(const char *field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field))
      return std::stod(line.substr(line.find(':') + 1)) * 1024;
  return 0;
}

[[noreturn]] void fail(const sn::Error &error) {
  std::cerr << error.what() << "\n";
  std::exit(1);
}

/// Answers each number of seconds on the standard input with the times of steps.
void serve(const std::function<float()> &step, double before) {
  std::cout << "{\"losses\": [" << step();
  for (int k = 0; k < 2; ++k)
    std::cout << ", " << step();
  std::cout << "]}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    auto end = Clock::now() + std::chrono::duration<double>(std::stod(line));
    std::cout << "{\"ms\": [";
    for (const char *separator = ""; !*separator || Clock::now() < end; separator = ", ") {
      auto start = Clock::now();
      step();
      std::cout << separator << std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    }
    std::cout << "], \"bytes\": " << statusBytes("VmHWM") - before << "}" << std::endl;
  }
}

template <class Net>
void run(const char *way, int threads, const char *path, const Net &net, const sn::optim::Optimizer &optimizer,
         const sn::Tensor &x, const sn::Tensor &labels) {
  double before = statusBytes("VmRSS");
  auto loss = [](Net &net, nn::Mode &mode, const sn::Tensor &x, const sn::Tensor &labels) {
    sn::Tensor scores = net(x, mode);
    return sn::cross_entropy(sn::reshape(scores, {-1, scores.dim(-1)}), sn::reshape(labels, {-1}));
  };
  auto step = sn::train_step(loss, net, optimizer, {.threads = threads, .inputs = {"x", "labels"}});
  if (way == std::string_view("jitted"))
    return serve([&] { return step(x, labels).template item<float>(); }, before);
  auto use = [](Net &net, const sn::Tensor &x) {
    nn::Mode mode;
    return net(x, mode);
  };
  if (sn::Status status = step.compile({.output = path, .inputs = {"x"}}, use, std::tuple(x), std::tuple(x, labels));
      !status)
    fail(*status.error());
  sn::Session session(sn::Module::open(path), {.function = "step", .threads = threads});
  if (session.error())
    fail(*session.error());
  serve([&] { return session({x, labels})[0].item<float>(); }, before);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: sinter_train_steps jitted|ahead mlp|gpt|resnet18 THREADS MODULE.smod\n";
    return 1;
  }
  std::string_view name = argv[2];
  int threads = std::atoi(argv[3]);
  if (threads == 1) { // bound to the last core that it may use, as the other workers
    cpu_set_t cores, last;
    sched_getaffinity(0, sizeof cores, &cores);
    int core = CPU_SETSIZE - 1;
    while (core > 0 && !CPU_ISSET(core, &cores))
      --core;
    CPU_ZERO(&last);
    CPU_SET(core, &last);
    sched_setaffinity(0, sizeof last, &last);
  }
  Keys keys;
  auto drawn = [&](const sn::Shape &shape, int64_t most) {
    return sn::random::randint(keys.next(), shape, 0, most, sn::DType::i64);
  };
  sn::optim::Optimizer momentum = sn::optim::sgd({.lr = 0.01, .momentum = 0.9});
  if (name == "mlp")
    run(argv[1], threads, argv[4], makeMlp(keys), momentum, sn::random::normal(keys.next(), {128, 784}),
        drawn({128}, 10));
  else if (name == "resnet18")
    run(argv[1], threads, argv[4], makeResNet(keys), momentum, sn::random::normal(keys.next(), {8, 3, 32, 32}),
        drawn({8}, 10));
  else if (name == "gpt")
    run(argv[1], threads, argv[4], makeGpt(keys), sn::optim::adamw({.lr = 0.001}), drawn({4, kLength}, kWords),
        drawn({4, kLength}, kWords));
  else {
    std::cerr << "sinter_train_steps has the networks mlp, gpt and resnet18, got " << name << "\n";
    return 1;
  }
}
