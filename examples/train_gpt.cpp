// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transformer over characters learns to write like text files: nine tenths of their lines of 64 characters are for
// training, the rest says how well it does (nats a character), and then it writes.
//
//   example_train_gpt FOLDER EPOCHS FILES...

#include "training.h"
#include <iostream>
#include <iterator>
#include <sinter/nn_sequence.hpp>

static constexpr int64_t kLength = 64, kCharacters = 96, kWidth = 96, kHeads = 4, kBatch = 32;

struct Gpt {
  nn::Embedding characters;
  std::vector<nn::TransformerBlock> blocks;
  nn::LayerNorm norm;
  nn::Linear head;
  sn::Tensor operator()(const sn::Tensor &x) const {
    sn::Tensor y = characters(x);
    for (const nn::TransformerBlock &block : blocks)
      y = block(y, {.causal = true});
    return head(norm(y));
  }
};

static sn::Tensor loss(Gpt &net, const sn::Tensor &x, const sn::Tensor &next) {
  return sn::cross_entropy(sn::reshape(net(x), {-1, kCharacters}), sn::reshape(next, {-1}));
}

static int64_t encode(char c) { return c == '\n' ? 0 : c >= ' ' && c <= '~' ? c - ' ' + 1 : 1; }
static char decode(int64_t id) { return id ? char(id - 1 + ' ') : '\n'; }

/// Pieces of the text, and each moved by one character.
static std::pair<sn::Tensor, sn::Tensor> pieces(const std::vector<int64_t> &text, const std::vector<int64_t> &starts,
                                                int64_t count) {
  std::vector<int64_t> x, next;
  for (int64_t i = 0; i < count; ++i) {
    auto at = text.begin() + starts[size_t(i)];
    x.insert(x.end(), at, at + kLength);
    next.insert(next.end(), at + 1, at + 1 + kLength);
  }
  return {sn::Tensor(x, {count, kLength}), sn::Tensor(next, {count, kLength})};
}

int main(int argc, char **argv) try {
  std::vector<int64_t> text;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    for (auto at = std::istreambuf_iterator<char>(file); at != std::istreambuf_iterator<char>(); ++at)
      text.push_back(encode(*at));
  }
  Training training(std::min(argc, 3), argv, kBatch);
  std::vector<int64_t> starts, held;
  uint32_t random = 1;
  for (int64_t at = 0; at + kLength < int64_t(text.size()); at += kLength)
    (at / kLength % 10 == 9 ? held : starts).push_back(at);
  for (size_t i = starts.size(); i > 1; --i) {
    random = random * 1664525u + 1013904223u;
    std::swap(starts[i - 1], starts[(random >> 8) % i]);
  }
  auto count = int64_t(starts.size()) / kBatch * kBatch,
       heldCount = std::min<int64_t>(int64_t(held.size()), 512) / kBatch * kBatch;
  if (count == 0 || heldCount == 0)
    return std::fprintf(stderr, "usage: example_train_gpt FOLDER EPOCHS FILES..., with 20 KB of text at least\n"), 1;
  auto [x, next] = pieces(text, starts, count);
  auto [heldX, heldNext] = pieces(text, held, heldCount);
  training.data("held_x", heldX), training.data("held_next", heldNext);
  training.inputs.clear();
  training.data("x", x), training.data("next", next);

  std::vector<sn::Key> keys = sn::key(1).split(5);
  Gpt net{nn::embedding(keys[0], kCharacters, kWidth),
          {},
          nn::layer_norm({kWidth}),
          nn::linear(keys[1], kWidth, kCharacters)};
  net.characters.weight = 0.1f * net.characters.weight;
  for (int k = 2; k < 5; ++k)
    net.blocks.push_back(nn::transformer_block(keys[size_t(k)], kWidth, kHeads, 4 * kWidth,
                                               {.norm_first = true, .use_gelu = true, .attention = {.rotary = true}}));
  auto optimizer = sn::optim::adamw({.lr = 2e-3}).no_decay("bias|norm").clip_norm(1);
  training.eager(sn::train_step(loss, net, optimizer, {.eager = true}), x, next);
  auto step = sn::train_step(loss, net, optimizer, {.inputs = {"x", "next"}});
  auto use = [](Gpt &net, const sn::Tensor &x) { return net(x); };
  training.run(
      step, use, std::tuple(x[sn::slice(0, kBatch)]),
      ", \"metrics\": [\"cross_entropy\"], \"validation\": {\"x\": \"@held_x.npy\", \"next\": \"@held_next.npy\"}", x,
      next);

  Gpt trained = step.model();
  auto scores = sn::jit([&](sn::Tensor x) { return trained(x); });
  std::vector<int64_t> seen(text.begin(), text.begin() + kLength);
  for (int k = 0; k < 200; ++k) { // the next character by its probability, a little sharpened
    sn::Tensor last = scores(sn::Tensor(seen, {1, kLength}))(0, kLength - 1);
    seen.erase(seen.begin());
    seen.push_back(sn::random::categorical(sn::key(uint64_t(k)), last / 0.8f).item<int32_t>());
    std::cerr << decode(seen.back());
  }
  std::cerr << "\n";
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
