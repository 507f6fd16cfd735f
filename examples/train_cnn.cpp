// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolutional network trained in C++: its step runs with the optimizer's ops one by one, jitted, and compiled ahead
// of time into an object that the C program train_cnn_main.c links:
//
//   train_cnn pictures_net.o

#include "pictures.h"
#include <cmath>
#include <cstdio>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/sinter.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;

struct Net {
  nn::Conv conv1;
  nn::BatchNorm norm;
  nn::Conv conv2;
  nn::Linear head;

  sn::Tensor operator()(const sn::Tensor &x, nn::Mode &mode) {
    sn::Tensor y = sn::max_pool(sn::relu(norm(conv1(x), mode)), {2, 2});
    return head(sn::mean(sn::relu(conv2(y)), {2, 3}));
  }
};

static sn::Tensor loss(Net &net, nn::Mode &mode, const sn::Tensor &pictures, const sn::Tensor &kinds) {
  return sn::cross_entropy(net(pictures, mode), kinds);
}

static sn::Tensor scores(Net &net, const sn::Tensor &pictures) {
  nn::Mode use; // as it is used, not as it is trained
  return net(pictures, use);
}

static std::pair<sn::Tensor, sn::Tensor> batch(uint32_t number) {
  std::vector<float> pictures(size_t(kPictures * kSide * kSide));
  std::vector<int64_t> kinds(kPictures);
  makePictures(number, pictures.data(), kinds.data());
  return {sn::Tensor(pictures, {kPictures, 1, kSide, kSide}), sn::Tensor(kinds)};
}

int main(int argc, char **argv) try {
  auto [first, second, third] = sn::key(1).split<3>();
  Net net{nn::conv2d(first, 1, 8, 3, {.padding = 1}), nn::batch_norm(8), nn::conv2d(second, 8, 16, 3, {.padding = 1}),
          nn::linear(third, 16, kKinds)};
  auto optimizer = sn::optim::adamw({.lr = 0.01}).no_decay("bias|norm").schedule(sn::optim::cosine(200));
  auto jitted = sn::train_step(loss, net, optimizer, {.inputs = {"pictures", "kinds"}});
  auto eager = sn::train_step(loss, net, optimizer, {.eager = true});

  // The object begins with the weights of now.
  if (argc == 2) {
    auto [x, kinds] = batch(0);
    if (!jitted.compile({.output = argv[1], .outputs = {"scores"}}, scores, std::tuple(x), std::tuple(x, kinds)).ok())
      return 1;
  }
  for (uint32_t number = 0; number < 200; ++number) {
    auto [x, kinds] = batch(number);
    float value = jitted(x, kinds).item<float>();
    if (number < 5 && std::abs(value - eager(x, kinds).item<float>()) > 1e-4f)
      return std::puts("eager and jitted differ"), 1;
    if (number % 50 == 49)
      std::printf("step %u: loss %.6a\n", number + 1, double(value));
  }
  auto [x, kinds] = batch(1000);
  Net trained = jitted.model();
  sn::Tensor right = sn::astype(sn::argmax(scores(trained, x), 1) == kinds, sn::DType::f32);
  std::printf("right: %.0f of %d\n", double(sn::sum(right).item<float>()), kPictures);
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
