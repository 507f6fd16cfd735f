// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient through an ODE solver. A pendulum's length and friction follow from angles that were measured: between two
// measurements Runge-Kutta steps (Dormand & Prince 1980) adapt to the data, so how many there are is known at run time
// only. The program writes two objects, the pendulum and the misfit with its gradient, which fit_ode_main.c links:
//
//   fit_ode swing.o swing.h fit.o fit.h

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

static constexpr int64_t kTimes = 30;
static constexpr double kTolerance = 1e-9;

/// Row k: how the slopes before make the point where slope k is taken. The last point is the step's result.
static constexpr double kStages[7][6] = {{},
                                         {1. / 5},
                                         {3. / 40, 9. / 40},
                                         {44. / 45, -56. / 15, 32. / 9},
                                         {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                         {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                         {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
static constexpr double kError[7] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};

struct Motion {
  Tensor time, state, step; // the state is an angle and its speed
};

static Tensor slope(Tensor state, Tensor pendulum) {
  return sn::stack({state[1], -9.81 / pendulum[0] * sn::sin(state[0]) - pendulum[1] * state[1]});
}

/// One step, not beyond `end`; it stays where it is when the error is too large, and adapts the length of the next.
static Motion advance(Motion m, Tensor end, Tensor pendulum) {
  Tensor h = sn::minimum(m.step, end - m.time), next, error = sn::zeros_like(m.state);
  std::vector<Tensor> slopes;
  for (auto &row : kStages) {
    next = m.state;
    for (size_t k = 0; k < slopes.size(); ++k)
      next += h * row[k] * slopes[k];
    slopes.push_back(slope(next, pendulum));
    error += h * kError[slopes.size() - 1] * slopes.back();
  }
  Tensor size = sn::max(sn::abs(error)), isGood = size <= kTolerance;
  Tensor factor = sn::clip(0.9 * sn::power(kTolerance / sn::maximum(size, 1e-300), 0.2), 0.2, 5);
  return {sn::where(isGood, m.time + h, m.time), sn::where(isGood, next, m.state),
          sn::stop_gradient(h * factor)}; // where the steps end is a matter of accuracy
}

/// Angles at `times` of a pendulum {length in m, friction in 1/s} that is let go one radian from rest.
static Tensor swing(Tensor pendulum, Tensor times) {
  Motion start{sn::scalar(0.), Tensor({1., 0.}), sn::scalar(0.01)};
  auto [end, angles] = sn::scan(
      [&](Motion m, Tensor time) {
        m = sn::while_loop([&](Motion m) { return m.time < time; },
                           [&](Motion m) { return advance(m, time, pendulum); }, m);
        return std::pair{m, m.state[0]};
      },
      start, times);
  return angles;
}

static Tensor misfit(Tensor pendulum, Tensor times, Tensor measured) {
  return sn::mean(sn::square(swing(pendulum, times) - measured));
}

int main(int argc, char **argv) {
  if (argc != 5)
    return std::puts("usage: fit_ode swing.o swing.h fit.o fit.h"), 1;
  sn::Spec two = sn::spec<double>({2}), many = sn::spec<double>({kTimes});
  bool good =
      sn::compile(swing, {two, many}, {.output = argv[1], .header = argv[2], .name = "swing"}) &&
      sn::compile(sn::value_and_grad(misfit), {two, many, many}, {.output = argv[3], .header = argv[4], .name = "fit"});
  return good ? 0 : 1;
}
