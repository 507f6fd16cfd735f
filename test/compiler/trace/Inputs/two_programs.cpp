// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two programs in one file, whose cost to compile compile_cost.test bounds: a network of two layers with its training,
// and a differential equation with adaptive steps and its gradient.

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

struct Layer {
  Tensor weight, bias;
};
struct Network {
  Layer hidden, output;
};

static Tensor forward(Network n, Tensor x) {
  Tensor h = sn::relu(sn::matmul(x, n.hidden.weight) + n.hidden.bias);
  return sn::matmul(h, n.output.weight) + n.output.bias;
}
static Tensor loss(Network n, Tensor x, Tensor y) {
  Tensor logs = sn::log_softmax(forward(n, x));
  return -sn::mean(sn::sum(logs * sn::one_hot(y, 3), -1));
}
static std::pair<Tensor, Network> step(Network n, Tensor x, Tensor y) {
  auto [value, slope] = sn::value_and_grad(loss)(n, x, y);
  auto next = [](Tensor w, Tensor d) { return w - 0.1f * d; };
  return {value, Network{{next(n.hidden.weight, slope.hidden.weight), next(n.hidden.bias, slope.hidden.bias)},
                         {next(n.output.weight, slope.output.weight), next(n.output.bias, slope.output.bias)}}};
}

struct State {
  Tensor t, y, h;
};
static Tensor slope(Tensor y, Tensor k) { return sn::stack({y[1], -k * sn::sin(y[0])}); }
static Tensor swing(Tensor k, Tensor end) {
  State init{sn::zeros_like(end), Tensor({1., 0.}), end / 1000};
  State s = sn::while_loop([&](State s) { return s.t < end; },
                           [&](State s) {
                             Tensor h = sn::minimum(s.h, end - s.t);
                             Tensor a = slope(s.y, k), b = slope(s.y + h * a, k);
                             Tensor error = sn::max(sn::abs(h * (b - a) / 2)), good = error <= 1e-6;
                             Tensor factor = sn::clip(0.9 * sn::sqrt(1e-6 / sn::maximum(error, 1e-300)), 0.2, 5.);
                             return State{sn::where(good, s.t + h, s.t), sn::where(good, s.y + h * (a + b) / 2, s.y),
                                          sn::stop_gradient(h * factor)};
                           },
                           init);
  return s.y[0];
}

int main() {
  auto keys = sn::key(1).split<3>();
  auto layer = [](const sn::Key &key, int64_t in, int64_t out) {
    return Layer{sn::random::normal(key, {in, out}) / std::sqrt(float(in)), sn::zeros({out})};
  };
  Network network{layer(keys[0], 4, 16), layer(keys[1], 16, 3)};
  Tensor x = sn::random::normal(keys[2], {150, 4}), y = sn::remainder(sn::arange(150), 3);
  auto train = sn::jit(step);
  for (int k = 0; k < 100; ++k) {
    auto [value, next] = train(network, x, y);
    network = next;
    if (k == 80)
      std::printf("after 80 steps the loss is below 1.07: %d\n", int(value.item<double>() < 1.07));
  }
  auto gradient = sn::jit(sn::grad(swing));
  std::printf("slope by stiffness %.3f\n", gradient(sn::scalar(9.81), sn::scalar(1.)).item<double>());
}
