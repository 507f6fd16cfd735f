// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A keyword spotter: words in a folder each, which speak_words.py has espeak-ng say (train/WORD/*.wav and, by other
// voices, held_out/WORD/*.wav). A spectrogram by a product with waves, convolutions along time, a word. It is tried on
// voices of which it has heard nothing.

#include "folders.h"

// Sounds of 22,050 frames a second: 0.94 s of them, in windows of 23 ms, of which bands of 43 Hz up to 4.1 kHz are
// kept.
static constexpr int64_t kBatch = 32, kHop = 256, kWindow = 2 * kHop, kTimes = 80, kLength = (kTimes + 1) * kHop,
                         kBands = 96, kChannels = 48;
static constexpr double kPi = 3.14159265358979323846;

/// How loud each band is at each time, [sounds, kBands, kTimes], against the mean of the sound.
static sn::Tensor spectrogram(const sn::Tensor &sounds) {
  std::vector<float> waves(size_t(kWindow * 2 * kBands)); // cosines, then sines, under Hann's window
  for (int64_t t = 0; t < kWindow; ++t)
    for (int64_t f = 0; f < kBands; ++f) {
      double angle = 2 * kPi * double(t) / kWindow, hann = 0.5 - 0.5 * std::cos(angle);
      waves[size_t(t * 2 * kBands + f)] = float(hann * std::cos(angle * double(f)));
      waves[size_t((t * 2 + 1) * kBands + f)] = float(hann * std::sin(angle * double(f)));
    }
  sn::Tensor hops = sn::reshape(sounds, {-1, kTimes + 1, kHop});
  sn::Tensor windows =
      sn::concatenate({hops(sn::slice(), sn::slice(0, kTimes)), hops(sn::slice(), sn::slice(1, kTimes + 1))}, 2);
  sn::Tensor parts = sn::matmul(windows, sn::Tensor(waves, {kWindow, 2 * kBands}));
  sn::Tensor power = sn::square(parts(sn::ellipsis, sn::slice(0, kBands))) +
                     sn::square(parts(sn::ellipsis, sn::slice(kBands, 2 * kBands)));
  sn::Tensor level = sn::log(power + 1e-3f);
  return sn::transpose(level - sn::mean(level, {1, 2}, true), {0, 2, 1});
}

struct Spotter {
  nn::Conv conv1;
  nn::BatchNorm norm1;
  nn::Conv conv2;
  nn::BatchNorm norm2;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &sounds, nn::Mode &mode) {
    sn::Tensor x = sn::relu(norm1(conv1(spectrogram(sounds)), mode));
    x = sn::relu(norm2(conv2(sn::max_pool(x, {2})), mode));
    x = sn::concatenate({sn::mean(x, {2}), sn::max(x, {2})}, 1);
    return head(nn::Dropout{0.4}(x, mode));
  }
};

static sn::Tensor loss(Spotter &net, nn::Mode &mode, const sn::Tensor &x, const sn::Tensor &labels) {
  return sn::cross_entropy(net(x, mode), labels, {.smoothing = 0.1});
}
static sn::Tensor scores(Spotter &net, const sn::Tensor &x) {
  nn::Mode use;
  return net(x, use);
}

/// A sound as the trainer reads it: cut to kLength, or continued by silence.
static data::Value soundOf(std::string_view bytes) {
  data::Value sound = data::decodeWavF32(bytes);
  std::vector<float> values(size_t(kLength), 0.f);
  auto frames = sound.as<float>();
  std::copy_n(frames.begin(), std::min(frames.size(), values.size()), values.begin());
  return data::Value::of(values);
}

int main(int argc, char **argv) try {
  FolderTraining training(argc, argv, kBatch, {".wav"}, soundOf);
  auto [first, second, third] = sn::key(1).split<3>();
  Spotter net{nn::conv1d(first, kBands, kChannels, 5, {.padding = 2}), nn::batch_norm(kChannels),
              nn::conv1d(second, kChannels, kChannels, 5, {.padding = 2}), nn::batch_norm(kChannels),
              nn::linear(third, 2 * kChannels, training.numKinds())};
  training.train(loss, net, sn::optim::adamw({.lr = 0.004}).schedule(sn::optim::one_cycle(training.steps() + 1)),
                 scores);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
