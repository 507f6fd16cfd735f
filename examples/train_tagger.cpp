// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tagger: a bidirectional LSTM reads words of digits and letters and says of each character whether it stands between
// a `(` and its `)`, how often it came before, odd or even. It learns from sentences that a formula makes.

#include "training.h"
#include <sinter/nn_sequence.hpp>

static constexpr int64_t kLength = 24, kLetters = 12, kTags = 4, kBatch = 32;

struct Tagger {
  nn::Embedding letters;
  nn::LSTM lstm;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &x) const { return head(lstm(letters(x)).output); }
};

static sn::Tensor loss(Tagger &net, const sn::Tensor &x, const sn::Tensor &tags) {
  return sn::cross_entropy(sn::reshape(net(x), {-1, kTags}), sn::reshape(tags, {-1}));
}

int main(int argc, char **argv) try {
  Training training(argc, argv, kBatch);
  const int64_t samples = 20 * kBatch;
  std::vector<int64_t> text, tags;
  uint32_t random = 1;
  for (int64_t i = 0; i < samples; ++i) {
    int64_t counts[kLetters] = {};
    bool isInside = false;
    for (int64_t t = 0; t < kLength; ++t) { // letter 0 opens, 1 closes
      random = random * 1664525u + 1013904223u;
      int64_t letter = (random >> 16) % kLetters;
      isInside = letter == 0 || (isInside && letter != 1);
      text.push_back(letter);
      tags.push_back(2 * isInside + counts[letter]++ % 2);
    }
  }
  sn::Tensor x = training.data("x", sn::Tensor(text, {samples, kLength}));
  sn::Tensor y = training.data("tags", sn::Tensor(tags, {samples, kLength}));

  auto [first, second, third] = sn::key(1).split<3>();
  Tagger net{nn::embedding(first, kLetters, 16), nn::lstm(second, 16, 32, {.bidirectional = true}),
             nn::linear(third, 64, kTags)};
  auto optimizer = sn::optim::adamw({.lr = 0.01}).clip_norm(1);
  training.eager(sn::train_step(loss, net, optimizer, {.eager = true}), x, y);
  auto step = sn::train_step(loss, net, optimizer, {.inputs = {"x", "tags"}});
  auto use = [](Tagger &net, const sn::Tensor &x) { return net(x); };
  training.run(step, use, std::tuple(x[sn::slice(0, kBatch)]),
               ", \"metrics\": [\"accuracy\"], \"validation\": {\"x\": \"@x.npy\"}", x, y);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
