// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A neural differential equation: dx/dt = f(x), where f is a small network, learns the swings of a damped pendulum from
// pairs of states, the second half a second after the first. Eight steps of Runge and Kutta are a loop in the graph,
// and the gradient goes through it.

#include "training.h"
#include <cmath>

static constexpr int64_t kBatch = 32, kSteps = 8;
static constexpr float kTime = 0.5f;

struct Field {
  nn::Linear in, out;
  sn::Tensor operator()(const sn::Tensor &x) const { return out(sn::tanh(in(x))); }
};

/// Where states x [n, 2] are after kTime.
static sn::Tensor solve(const Field &f, const sn::Tensor &x) {
  const float h = kTime / kSteps;
  return sn::for_loop(
      0, kSteps,
      [&](auto, auto x) {
        sn::Tensor k1 = f(x), k2 = f(x + h / 2 * k1), k3 = f(x + h / 2 * k2), k4 = f(x + h * k3);
        return x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
      },
      x);
}

static sn::Tensor loss(Field &f, const sn::Tensor &x, const sn::Tensor &after) {
  return sn::mse_loss(solve(f, x), after);
}

int main(int argc, char **argv) try {
  Training training(argc, argv, kBatch);
  const int64_t samples = 20 * kBatch;
  std::vector<float> before, after;
  uint32_t random = 1;
  for (int64_t i = 0; i < samples; ++i) {
    double state[2];
    for (double &value : state) {
      random = random * 1664525u + 1013904223u;
      value = (random >> 8) / 8388608. - 1; // angle and speed
      before.push_back(float(value));
    }
    for (int k = 0; k < 5000; ++k) { // 100 us each: as good as exact here
      double turn = -4 * std::sin(state[0]) - 0.3 * state[1];
      state[1] += kTime / 5000 * turn;
      state[0] += kTime / 5000 * state[1];
    }
    after.insert(after.end(), {float(state[0]), float(state[1])});
  }
  sn::Tensor x = training.data("x", sn::Tensor(before, {samples, 2}));
  sn::Tensor y = training.data("after", sn::Tensor(after, {samples, 2}));

  auto [first, second] = sn::key(1).split<2>();
  Field net{nn::linear(first, 2, 32), nn::linear(second, 32, 2)};
  auto optimizer = sn::optim::adam({.lr = 0.01});
  training.eager(sn::train_step(loss, net, optimizer, {.eager = true}), x, y);
  auto step = sn::train_step(loss, net, optimizer, {.inputs = {"x", "after"}});
  auto use = [](Field &f, const sn::Tensor &x) { return solve(f, x); };
  training.run(step, use, std::tuple(x[sn::slice(0, kBatch)]),
               ", \"metrics\": [\"mse\"], \"validation\": {\"x\": \"@x.npy\"}", x, y);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
