// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A network that tells pictures in a folder for each kind: train/KIND/*.png (or .jpg, .ppm, ...) and held_out/KIND/*,
// which draw_shapes.py draws. Pictures of any one size will do, in colours or gray; for other pictures only the folder
// changes.

#include "folders.h"

static constexpr int64_t kBatch = 32, kChannels = 24;

struct Teller {
  nn::Conv conv1;
  nn::BatchNorm norm1;
  nn::Conv conv2;
  nn::BatchNorm norm2;
  nn::Conv conv3;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &pictures, nn::Mode &mode) {
    sn::Tensor x = sn::max_pool(sn::relu(norm1(conv1(pictures), mode)), {2, 2});
    x = sn::max_pool(sn::relu(norm2(conv2(x), mode)), {2, 2});
    x = sn::relu(conv3(x));
    return head(nn::Dropout{0.2}(sn::max(x, {2, 3}), mode));
  }
};

static sn::Tensor loss(Teller &net, nn::Mode &mode, const sn::Tensor &x, const sn::Tensor &labels) {
  return sn::cross_entropy(net(x, mode), labels, {.smoothing = 0.05});
}
static sn::Tensor scores(Teller &net, const sn::Tensor &x) {
  nn::Mode use;
  return net(x, use);
}

/// A picture as the trainer reads it for an input [batch, 3, height, width]: colours in [0, 1], one behind the other.
static data::Value pictureOf(std::string_view bytes) {
  data::Value picture = data::decodePicture(bytes, 3);
  int64_t height = picture.dims()[0], width = picture.dims()[1], pixels = height * width;
  auto all = picture.as<uint8_t>();
  std::vector<float> values(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    values[i % 3 * size_t(pixels) + i / 3] = float(all[i]) / 255;
  return data::Value::of(std::span<const float>(values), {3, height, width});
}

int main(int argc, char **argv) try {
  FolderTraining training(argc, argv, kBatch, data::pictureSuffixes(), pictureOf);
  auto [first, second, third, fourth] = sn::key(1).split<4>();
  Teller net{nn::conv2d(first, 3, kChannels, 3, {.padding = 1}),
             nn::batch_norm(kChannels),
             nn::conv2d(second, kChannels, kChannels, 3, {.padding = 1}),
             nn::batch_norm(kChannels),
             nn::conv2d(third, kChannels, 2 * kChannels, 3, {.padding = 1}),
             nn::linear(fourth, 2 * kChannels, training.numKinds())};
  training.train(loss, net, sn::optim::adamw({.lr = 0.005}).schedule(sn::optim::one_cycle(training.steps() + 1)),
                 scores);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
