// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pole on a cart is kept upright (Barto, Sutton, Anderson 1983) by a policy that learns from its own trials
// (REINFORCE, Williams 1992). The trials of a step are one loop in the graph, which ends when all poles have fallen;
// the random numbers are the step's, so that there are no data.

#include "training.h"

static constexpr int64_t kTrials = 32, kMost = 200;

struct Policy {
  nn::Linear in, out;
  sn::Tensor operator()(const sn::Tensor &state) const { return out(sn::tanh(in(state))); } // logits of left and right
};

/// Where carts [n, 4] (place, speed, angle, its speed) are a fiftieth of a second after a push to the left or right.
static sn::Tensor push(const sn::Tensor &state, const sn::Tensor &action) {
  sn::Tensor place = state(sn::slice(), 0), speed = state(sn::slice(), 1), angle = state(sn::slice(), 2),
             turn = state(sn::slice(), 3);
  sn::Tensor force = 20.f * sn::astype(action, sn::DType::f32) - 10.f, c = sn::cos(angle), s = sn::sin(angle);
  sn::Tensor pushed = (force + 0.05f * turn * turn * s) / 1.1f;
  sn::Tensor bend = (9.8f * s - c * pushed) / (0.5f * (4.f / 3 - 0.1f * c * c / 1.1f));
  sn::Tensor faster = pushed - 0.05f * bend * c / 1.1f;
  return sn::stack({place + 0.02f * speed, speed + 0.02f * faster, angle + 0.02f * turn, turn + 0.02f * bend}, 1);
}

/// Trials with random numbers from `key`: how long each took, and the sum of its actions' log probabilities.
static std::pair<sn::Tensor, sn::Tensor> play(const Policy &policy, const sn::Key &key) {
  sn::Tensor start = sn::random::uniform(key.fold_in(-1), {kTrials, 4}, -0.05, 0.05);
  auto [state, alive, steps, logs, t] = sn::while_loop(
      [](auto, auto alive, auto, auto, auto t) { return sn::any(alive) && t < kMost; },
      [&](auto state, auto alive, auto steps, auto logs, auto t) {
        sn::Tensor logits = policy(state), action = sn::random::categorical(key.fold_in(t), sn::stop_gradient(logits));
        sn::Tensor chosen = sn::sum(sn::log_softmax(logits, 1) * sn::one_hot(action, 2), {1});
        sn::Tensor moved = sn::stop_gradient(push(state, action)), lives = sn::astype(alive, sn::DType::f32);
        sn::Tensor stands = alive && sn::abs(moved(sn::slice(), 0)) < 2.4f && sn::abs(moved(sn::slice(), 2)) < 0.2095f;
        return std::tuple{moved, stands, steps + lives, logs + lives * chosen, t + 1};
      },
      start, sn::full({kTrials}, true), sn::zeros({kTrials}), sn::zeros({kTrials}), sn::Tensor(int64_t(0)));
  return {steps, logs};
}

static sn::Tensor loss(Policy &policy, nn::Mode &mode, const sn::Tensor &weight) {
  auto [steps, logs] = play(policy, mode.next());
  sn::Tensor above = steps - sn::mean(steps), better = above / (sn::sqrt(sn::mean(sn::square(above))) + 1.f);
  return -weight * sn::mean(better * logs) / sn::mean(steps);
}

int main(int argc, char **argv) try {
  Training training(argc, argv, 1);
  auto [first, second] = sn::key(1).split<2>();
  Policy policy{nn::linear(first, 4, 16), nn::linear(second, 16, 2)};
  auto optimizer = sn::optim::adam({.lr = 0.02});
  training.eagerSteps(sn::train_step(loss, policy, optimizer, {.eager = true}), sn::Tensor(1.f));
  auto step = sn::train_step(loss, policy, optimizer, {.inputs = {"weight"}});
  auto use = [](Policy &policy, const sn::Tensor &state) { return policy(state); };
  training.inputs = "\"weight\": 1";
  training.runSteps(step, use, std::tuple(sn::zeros({kTrials, 4})), "", sn::Tensor(1.f));
  auto stands =
      sn::jit([](Policy policy, sn::Tensor trial) { return sn::mean(play(policy, sn::key(7).fold_in(trial)).first); });
  std::fprintf(stderr, "stands for %.1f steps of %d\n", double(stands(step.model(), 0).item<float>()), int(kMost));
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
  return 1;
}
