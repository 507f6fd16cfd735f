// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moments in fewer bits, in programs. What codes are, state_types.py says.

#include "Goldens.h"
#include <sinter/nn.hpp>
#include <sinter/train.hpp>

namespace sn = sinter;
namespace nn = sinter::nn;
namespace optim = sinter::optim;
using goldens::fill;

namespace {

struct Net {
  nn::Linear wide, narrow;
  sn::Tensor operator()(const sn::Tensor &x) const { return narrow(sn::tanh(wide(x))); }
};

Net makeNet() {
  auto [a, b] = sn::key(1).split<2>();
  return {nn::linear(a, 41, 101), nn::linear(b, 101, 2)}; // 4,141 elements are no whole blocks
}

auto stepOf(const optim::Optimizer &optimizer, sn::StepOptions options = {}) {
  return sn::train_step([](Net &net, const sn::Tensor &x, const sn::Tensor &y) { return sn::mse_loss(net(x), y); },
                        makeNet(), optimizer, std::move(options));
}

template <class Step> std::vector<double> train(Step &step, int count = 12) {
  std::vector<double> losses;
  for (int t = 0; t < count; ++t)
    losses.push_back(step(sn::astype(fill({16, 41}, 10 + t, 2), sn::DType::f32),
                          sn::astype(fill({16, 2}, 30 + t, 2), sn::DType::f32))
                         .template item<float>());
  return losses;
}

TEST(StateTypes, optimizers_stay_near_their_moments_in_f32) {
  std::map<std::string, optim::Optimizer> all = {{"adagrad", optim::adagrad({.lr = 0.02})},
                                                 {"lamb", optim::lamb({.lr = 0.01}).accumulate(3)},
                                                 {"adafactor", optim::adafactor()},
                                                 {"muon", optim::muon({.lr = 0.01}).ema(0.9)}};
  for (const auto &[name, optimizer] : all) {
    auto exact = stepOf(optimizer), coded = stepOf(optimizer.states(sn::StateType::int8));
    std::vector<double> wanted = train(exact), got = train(coded);
    EXPECT_NE(wanted.front(), wanted.back()) << name;
    for (size_t t = 0; t < wanted.size(); ++t)
      EXPECT_NEAR(got[t], wanted[t], 0.02 * wanted[t]) << name << " " << t;
  }
}

TEST(StateTypes, op_by_op_and_jitted_agree) {
  for (sn::StateType type : {sn::StateType::bf16, sn::StateType::int8}) {
    optim::Optimizer optimizer = optim::adamw({.lr = 0.01}).states(type);
    auto jitted = stepOf(optimizer), eager = stepOf(optimizer, {.eager = true});
    std::vector<double> got = train(jitted), wanted = train(eager);
    for (size_t t = 0; t < got.size(); ++t)
      EXPECT_NEAR(got[t], wanted[t], 1e-4 * wanted[t]) << int(type) << " " << t;
    EXPECT_EQ(jitted.states(), eager.states());
  }
}

TEST(StateTypes, large_moments_alone_are_coded) {
  auto step = stepOf(optim::adam({.lr = 0.01}).states(sn::StateType::int8).ema(0.9));
  train(step, 2);
  EXPECT_EQ(step.state("optimizer.mean.wide.weight").dtype(), sn::DType::i8);
  EXPECT_EQ(step.state("optimizer.mean.wide.weight").known_shape(), (sn::Shape{101, 41}));
  EXPECT_EQ(step.state("optimizer.mean_scale.wide.weight").known_shape(), (sn::Shape{17}));
  EXPECT_EQ(step.state("optimizer.mean.narrow.weight").dtype(), sn::DType::f32);
  EXPECT_EQ(step.state("optimizer.ema.wide.weight").dtype(), sn::DType::f32);
}

TEST(StateTypes, averages_follow_changes_below_a_step_of_the_code) {
  // 0.999 of a number is the number again in bf16, if it is rounded to the nearest.
  optim::Optimizer optimizer = optim::adam({.lr = 0}).states(sn::StateType::bf16);
  std::vector<sn::Tensor> weight{sn::zeros({4096})}, none = weight;
  std::vector<sn::Tensor> once{(sn::astype(sn::arange(4096), sn::DType::f32) + 1.f) / 4096.f};
  optim::State state;
  optim::update(optimizer, weight, once, state);
  for (int t = 0; t < 300; ++t)
    optim::update(optimizer, weight, none, state);
  std::string name = "optimizer.square." + sn::detail::stateNames(sn::detail::anyTree(weight))[0];
  std::vector<float> squares = sn::astype(state.at(name), sn::DType::f32).to_vector<float>();
  for (int k : {0, 1000, 4095}) {
    double first = 0.001 * std::pow((k + 1) / 4096., 2), wanted = first * std::pow(0.999, 300);
    EXPECT_NEAR(squares[size_t(k)], wanted, 0.02 * wanted) << k;
    EXPECT_LT(squares[size_t(k)], 0.8 * first) << k;
  }
}

TEST(StateTypes, says_what_is_wrong) {
  std::string problem = optim::adam().sparse("table").states(sn::StateType::int8).problem();
  EXPECT_EQ(problem, "a table moves by rows; moments in 8 bits share scales among rows (bf16 does not)");
  EXPECT_EQ(optim::adam().sparse("table").states(sn::StateType::bf16).problem(), "");
}

} // namespace
