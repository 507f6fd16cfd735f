// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps and gradients of programs that compute activations again: the same bits, or an error that names the least.

#include <gtest/gtest.h>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/random.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;

namespace {

struct Block {
  nn::Linear up, down;
};
struct Net {
  std::vector<Block> blocks;
  sn::Tensor operator()(sn::Tensor x) const {
    for (const Block &block : blocks)
      x = x + block.down(sn::tanh(block.up(x)));
    return x;
  }
};

Net makeNet() {
  Net net;
  for (int k = 0; k < 4; ++k)
    net.blocks.push_back({nn::linear(sn::key(2 * k), 16, 48), nn::linear(sn::key(2 * k + 1), 48, 16)});
  return net;
}

sn::Tensor loss(Net &net, const sn::Tensor &x, const sn::Tensor &y) { return sn::mse_loss(net(x), y); }

/// Losses and weights of three steps.
std::vector<std::vector<float>> trained(const std::string &policy, bool eager = false) {
  auto step = sn::train_step(loss, makeNet(), sn::optim::adam({.lr = 0.01}), {.eager = eager, .checkpoint = policy});
  std::vector<std::vector<float>> bits;
  for (int t = 0; t < 3; ++t)
    bits.push_back({step(sn::random::normal(sn::key(90 + t), {64, 16}), sn::random::normal(sn::key(80 + t), {64, 16}))
                        .item<float>()});
  for (const std::string &name : step.trained())
    bits.push_back(step.state(name).to_vector<float>());
  return bits;
}

TEST(Checkpoint, StepsKeepTheirBits) {
  auto bits = trained("");
  EXPECT_EQ(bits.size(), 3 + 4 * 4);
  for (const char *policy : {"full", "named:blocks\\.[0-9]+\\.", "budget:80%"})
    EXPECT_EQ(trained(policy), bits) << policy;
  EXPECT_EQ(trained("full", true), trained("", true));
}

TEST(Checkpoint, GradientsKeepTheirBits) {
  auto slope = sn::grad([](sn::Tensor x) {
    sn::Tensor y = x;
    for (int k = 0; k < 12; ++k)
      y = sn::sin(sn::matmul(y, y) / 16.f);
    return sn::sum(y);
  });
  sn::Tensor x = sn::random::normal(sn::key(5), {32, 32});
  EXPECT_EQ(sn::jit(slope, {.checkpoint = "full"})(x).to_vector<float>(), sn::jit(slope)(x).to_vector<float>());
}

TEST(Checkpoint, ErrorsSayWhatIsPossible) {
  auto messageOf = [](const std::string &policy) -> std::string {
    try {
      (void)trained(policy);
    } catch (const sn::Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(messageOf("budget:64").find("a budget of 64 bytes for checkpoints in 'step' cannot be met: the least is "),
            std::string::npos)
      << messageOf("budget:64");
  EXPECT_NE(messageOf("some").find("a checkpoint policy requires none, full, named:REGEX"), std::string::npos);
  EXPECT_NE(messageOf("named:layer").find("none matches 'layer'"), std::string::npos);
}

} // namespace
