// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An autoencoder: pictures of bars (pictures.h) through eight numbers and back.

#include "pictures.h"
#include "training.h"

static constexpr int64_t kPixels = kSide * kSide;

struct Autoencoder {
  nn::Linear in, code, back, out;
  sn::Tensor encode(const sn::Tensor &x) const { return code(sn::relu(in(x))); }
  sn::Tensor operator()(const sn::Tensor &x) const { return out(sn::relu(back(encode(x)))); }
};

static sn::Tensor loss(Autoencoder &net, const sn::Tensor &x) { return sn::mse_loss(net(x), x); }

int main(int argc, char **argv) try {
  Training training(argc, argv, kPictures);
  const int64_t batches = 20;
  std::vector<float> pictures(size_t(batches * kPictures * kPixels));
  std::vector<int64_t> kinds(kPictures);
  for (int64_t k = 0; k < batches; ++k)
    makePictures(uint32_t(k), pictures.data() + k * kPictures * kPixels, kinds.data());
  sn::Tensor x = training.data("x", sn::Tensor(pictures, {batches * kPictures, kPixels}));

  auto [first, second, third, fourth] = sn::key(1).split<4>();
  Autoencoder net{nn::linear(first, kPixels, 64), nn::linear(second, 64, 8), nn::linear(third, 8, 64),
                  nn::linear(fourth, 64, kPixels)};
  auto optimizer = sn::optim::adam({.lr = 0.003});
  training.eager(sn::train_step(loss, net, optimizer, {.eager = true}), x);
  auto step = sn::train_step(loss, net, optimizer, {.inputs = {"x"}});
  auto use = [](Autoencoder &net, const sn::Tensor &x) { return net(x); };
  training.run(step, use, std::tuple(x[sn::slice(0, int64_t(kPictures))]),
               ", \"metrics\": [\"mse:y,x\"], \"validation\": {\"x\": \"@x.npy\"}", x);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
