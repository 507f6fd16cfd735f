// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of programs and of graphs whose products multiply in 16 bits: torch's numbers (Inputs/mixed.py has the same
// training through the command), scales and skipped steps, in calls that are compiled and op by op.

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <sinter/losses.hpp>
#include <sinter/nn.hpp>
#include <sinter/random.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;

namespace {

struct Net {
  nn::Linear up, down;
  sn::Tensor seen;
};

Net makeNet() { return {nn::linear(sn::key(1), 64, 72), nn::linear(sn::key(2), 72, 16), sn::zeros({64})}; }

sn::Tensor loss(Net &net, const sn::Tensor &x, const sn::Tensor &y) {
  net.seen = sn::sum(x, 0);
  return sn::mse_loss(net.down(sn::tanh(net.up(x))), y);
}

sn::Tensor batch(int t) { return sn::random::normal(sn::key(90 + t), {64, 64}); }
sn::Tensor target(int t) { return 20.f * sn::random::normal(sn::key(70 + t), {64, 16}); }

TEST(MixedPrecision, ScaleFollowsTheRuleAndSkippedStepsChangeNothing) {
  for (auto [eager, type] : {std::pair{false, sn::StateType::weight},
                             {false, sn::StateType::bf16},
                             {false, sn::StateType::int8},
                             {true, sn::StateType::weight}}) {
    auto step = sn::train_step(
        loss, makeNet(), sn::optim::adam({.lr = 0.01}).states(type),
        {.eager = eager, .precision = "f16", .loss_scale = "dynamic:init=4194304,growth=4,backoff=0.25,interval=3"});
    float scale = 4194304;
    int64_t successes = 0, skipped = 0;
    std::vector<std::vector<float>> before;
    for (int t = 0; t < 12; ++t) {
      sn::Tensor x = t == 7 ? batch(t) / 0.f : batch(t);
      (void)step(x, target(t));
      bool isSkipped = step.state("optimizer.skipped").item<int64_t>() > skipped;
      EXPECT_TRUE(t != 7 || isSkipped);
      std::vector<std::vector<float>> now;
      for (const std::string &name : step.states())
        if (name != "optimizer.loss_scale" && name != "optimizer.skipped" && name != "optimizer.loss_scale.successes")
          now.push_back(sn::astype(step.state(name), sn::DType::f32).to_vector<float>());
      if (t > 0)
        EXPECT_EQ(now == before, isSkipped) << t;
      before = now;
      skipped += isSkipped;
      successes = isSkipped ? 0 : successes + 1;
      scale *= isSkipped ? 0.25f : successes == 3 ? 4.f : 1.f;
      successes %= 3;
      EXPECT_EQ(step.state("optimizer.loss_scale").item<float>(), scale) << t;
      EXPECT_EQ(step.state("optimizer.step").item<int64_t>(), t + 1 - skipped);
    }
    EXPECT_GT(skipped, 1); // the scale overflows by itself, too
    EXPECT_LT(skipped, 8);
  }
}

TEST(MixedPrecision, FixedScaleOfAPowerOfTwoKeepsBits) {
  auto trained = [](const std::string &scale) {
    auto step =
        sn::train_step(loss, makeNet(), sn::optim::sgd({.lr = 0.01}), {.precision = "bf16", .loss_scale = scale});
    std::vector<float> losses;
    for (int t = 0; t < 4; ++t)
      losses.push_back(step(batch(t), target(t)).item<float>());
    return losses;
  };
  EXPECT_EQ(trained("256"), trained(""));
}

TEST(MixedPrecision, ScaleIsSavedAndGoesOn) {
  std::string path = testing::TempDir() + "mixed.safetensors";
  sn::StepOptions options{.precision = "f16", .loss_scale = "dynamic:interval=2"};
  auto first = sn::train_step(loss, makeNet(), sn::optim::sgd({.lr = 0.01}), options);
  for (int t = 0; t < 3; ++t)
    (void)first(batch(t), target(t));
  ASSERT_TRUE(first.save(path));
  auto second = sn::train_step(loss, makeNet(), sn::optim::sgd({.lr = 0.01}), options);
  ASSERT_TRUE(second.load(path));
  for (int t = 3; t < 6; ++t)
    EXPECT_EQ(first(batch(t), target(t)).item<float>(), second(batch(t), target(t)).item<float>());
  EXPECT_EQ(second.state("optimizer.loss_scale").item<float>(), 65536.f * 8);
}

TEST(MixedPrecision, JitMultipliesInTheTypeThatIsAsked) {
  sn::Tensor a = sn::random::normal(sn::key(3), {32, 64}), b = sn::random::normal(sn::key(4), {64, 32});
  auto product = [](sn::Tensor a, sn::Tensor b) { return sn::matmul(a, b); };
  std::vector<float> low = sn::jit(product, {.precision = "bf16"})(a, b).to_vector<float>();
  auto rounded = [](const sn::Tensor &t) { return sn::astype(sn::astype(t, sn::DType::bf16), sn::DType::f32); };
  std::vector<float> wanted = sn::matmul(rounded(a), rounded(b)).to_vector<float>(),
                     full = sn::matmul(a, b).to_vector<float>();
  double error = 0, difference = 0;
  for (size_t i = 0; i < low.size(); ++i) {
    error = std::max<double>(error, std::abs(low[i] - wanted[i]));
    difference = std::max<double>(difference, std::abs(low[i] - full[i]));
  }
  EXPECT_LT(error, 1e-4);
  EXPECT_GT(difference, 1e-3);
}

TEST(MixedPrecision, ErrorsSayWhatIsPossible) {
  auto messageOf = [](sn::StepOptions options) -> std::string {
    try {
      (void)sn::train_step(loss, makeNet(), sn::optim::sgd({.lr = 0.01}), std::move(options))(batch(0), target(0));
    } catch (const sn::Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(messageOf({.precision = "f8"}).find("a policy of precision requires f32, tf32, bf16 or f16, got 'f8'"),
            std::string::npos);
  EXPECT_NE(messageOf({.loss_scale = "-1"}).find("a loss scale requires none, a number above 0 or dynamic, got '-1'"),
            std::string::npos);
}

TEST(MixedPrecision, GraphsTakeThePolicy) {
  sn::Graph model = sn::Graph::load(SINTER_LINEAR);
  sn::Graph step = sn::train_step(model, {.loss = "mse", .optimizer = "sgd:lr=0.1", .precision = "f16"});
  ASSERT_FALSE(step.error());
  std::string text = step.text();
  EXPECT_NE(text.find("sinter.precision = {activation = bf16, attention = f16, convolution = f16, dot_general = f16}"),
            std::string::npos);
  EXPECT_NE(text.find("optimizer.loss_scale"), std::string::npos);
  sn::Graph plain =
      sn::train_step(model, {.loss = "mse", .optimizer = "sgd:lr=0.1", .precision = "f16", .loss_scale = "none"});
  EXPECT_EQ(plain.text().find("optimizer.loss_scale"), std::string::npos);
}

} // namespace
