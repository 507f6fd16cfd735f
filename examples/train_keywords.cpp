// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A keyword spotter: files of sound in a folder for each word, their spectrogram by a product with waves, a convolution
// along time, a word. The words are whistles that rise, fall, or do both, with noise, by a formula.

#include "training.h"
#include <cmath>
#include <filesystem>

static constexpr int64_t kWords = 3, kEach = 16, kSamples = kWords * kEach, kFrame = 64, kFrames = 24;
static constexpr double kPi = 3.14159265358979323846;

struct Spotter {
  nn::Conv conv;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &sound) const {
    std::vector<float> waves(size_t(kFrame * kFrame)); // cosines, then sines, of 32 frequencies
    for (int64_t t = 0; t < kFrame; ++t)
      for (int64_t f = 0; f < kFrame; ++f) {
        double angle = 2 * kPi * double(t * (f % 32)) / kFrame;
        waves[size_t(t * kFrame + f)] = float(f < 32 ? std::cos(angle) : std::sin(angle));
      }
    sn::Tensor parts = sn::matmul(sn::reshape(sound, {-1, kFrames, kFrame}), sn::Tensor(waves, {kFrame, kFrame}));
    sn::Tensor power =
        sn::square(parts(sn::ellipsis, sn::slice(0, 32))) + sn::square(parts(sn::ellipsis, sn::slice(32, 64)));
    sn::Tensor features = sn::relu(conv(sn::transpose(sn::log(power + 1e-3f), {0, 2, 1})));
    return head(sn::mean(features, {2}));
  }
};

static sn::Tensor loss(Spotter &net, const sn::Tensor &x, const sn::Tensor &labels) {
  return sn::cross_entropy(net(x), labels);
}

/// A WAVE file of 16 bits, one channel.
static void writeWave(const std::string &path, const std::vector<int16_t> &samples) {
  auto bytes = uint32_t(2 * samples.size()), size = bytes + 36, rate = uint32_t(8000), perSecond = 2 * rate,
       sixteen = uint32_t(16);
  uint16_t format[] = {1, 1}, width[] = {2, 16};
  std::ofstream file(path, std::ios::binary);
  auto put = [&](const void *data, size_t count) {
    file.write(static_cast<const char *>(data), std::streamsize(count));
  };
  put("RIFF", 4), put(&size, 4), put("WAVEfmt ", 8), put(&sixteen, 4), put(format, 4), put(&rate, 4),
      put(&perSecond, 4);
  put(width, 4), put("data", 4), put(&bytes, 4), put(samples.data(), bytes);
}

int main(int argc, char **argv) {
  Training training(argc, argv, kSamples);
  const char *names[] = {"both", "fall", "rise"}; // labels are numbers in the order of the names
  std::vector<float> sounds;
  std::vector<int64_t> words;
  uint32_t random = 1;
  for (int64_t word = 0; word < kWords; ++word) {
    std::string folder = training.folder + "/sounds/" + names[word];
    std::filesystem::create_directories(folder);
    for (int64_t i = 0; i < kEach; ++i) {
      std::vector<int16_t> sound;
      double angle = 0;
      for (int64_t t = 0; t < kFrames * kFrame; ++t) {
        random = random * 1664525u + 1013904223u;
        double at = double(t) / (kFrames * kFrame), shape = word == 2   ? at
                                                            : word == 1 ? 1 - at
                                                                        : 1 - std::abs(2 * at - 1);
        angle += 2 * kPi * (0.05 + 0.002 * double(i) + 0.3 * shape);
        sound.push_back(int16_t(8000 * std::sin(angle) + 4000 * ((random >> 8) / 8388608. - 1)));
        sounds.push_back(float(sound.back()) / 32768);
      }
      char file[32];
      std::snprintf(file, sizeof file, "/%02d.wav", int(i));
      writeWave(folder + file, sound);
      words.push_back(word);
    }
  }
  // The trainer reads the folder; here are the same numbers.
  sn::Tensor x(sounds, {kSamples, kFrames * kFrame}), y(words, {kSamples});
  training.inputs = "\"x\": \"@sounds\", \"labels\": \"@sounds\"";
  training.samples = kSamples;

  auto [first, second] = sn::key(1).split<2>();
  Spotter net{nn::conv1d(first, 32, 16, 5, {.padding = 2}), nn::linear(second, 16, kWords)};
  auto optimizer = sn::optim::adam({.lr = 0.02});
  training.eagerSteps(sn::train_step(loss, net, optimizer, {.eager = true}), x, y);
  auto step = sn::train_step(loss, net, optimizer, {.inputs = {"x", "labels"}});
  auto use = [](Spotter &net, const sn::Tensor &x) { return net(x); };
  training.run(step, use, std::tuple(x), ", \"metrics\": [\"accuracy\"], \"validation\": {\"x\": \"@sounds\"}", x, y);
}
