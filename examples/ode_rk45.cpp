// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Runge-Kutta pair of Dormand and Prince (1980) with adaptive steps: the length of a step follows from the error of
// the one before, all of it inside of one compiled loop. The orbit is a Kepler ellipse, whose energy must stay.

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

/// Position and velocity (x, y, u, v) under the attraction of a mass at the origin.
static Tensor slope(Tensor y) {
  Tensor position = y(sn::slice(0, 2)), velocity = y(sn::slice(2, 4));
  Tensor distance = sn::norm(position);
  return sn::concatenate({velocity, -position / (distance * distance * distance)});
}

struct State {
  Tensor t, y, h, accepted, rejected;
};

static State integrate(Tensor start, Tensor end, Tensor tolerance) {
  State init{sn::zeros_like(end), start, end / 1000, sn::scalar(int64_t(0)), sn::scalar(int64_t(0))};
  return sn::while_loop(
      [&](State s) { return s.t < end; },
      [&](State s) {
        Tensor h = sn::minimum(s.h, end - s.t);
        Tensor k1 = slope(s.y);
        Tensor k2 = slope(s.y + h * (k1 / 5));
        Tensor k3 = slope(s.y + h * (k1 * (3. / 40) + k2 * (9. / 40)));
        Tensor k4 = slope(s.y + h * (k1 * (44. / 45) - k2 * (56. / 15) + k3 * (32. / 9)));
        Tensor k5 =
            slope(s.y + h * (k1 * (19372. / 6561) - k2 * (25360. / 2187) + k3 * (64448. / 6561) - k4 * (212. / 729)));
        Tensor k6 = slope(s.y + h * (k1 * (9017. / 3168) - k2 * (355. / 33) + k3 * (46732. / 5247) + k4 * (49. / 176) -
                                     k5 * (5103. / 18656)));
        Tensor next = s.y + h * (k1 * (35. / 384) + k3 * (500. / 1113) + k4 * (125. / 192) - k5 * (2187. / 6784) +
                                 k6 * (11. / 84));
        Tensor k7 = slope(next);
        Tensor error = sn::norm(h * (k1 * (71. / 57600) - k3 * (71. / 16695) + k4 * (71. / 1920) -
                                     k5 * (17253. / 339200) + k6 * (22. / 525) - k7 / 40));
        Tensor isGood = error <= tolerance;
        Tensor factor = sn::clip(0.9 * sn::power(tolerance / sn::maximum(error, 1e-300), 0.2), 0.2, 5.0);
        return State{sn::where(isGood, s.t + h, s.t), sn::where(isGood, next, s.y), h * factor,
                     s.accepted + sn::astype(isGood, sn::DType::i64), s.rejected + sn::astype(!isGood, sn::DType::i64)};
      },
      init);
}

static double energy(const std::vector<double> &y) {
  return 0.5 * (y[2] * y[2] + y[3] * y[3]) - 1 / std::hypot(y[0], y[1]);
}

int main() {
  std::vector<double> start = {0.4, 0, 0, 2}; // eccentricity 0.6, period 2 pi
  auto compiled = sn::jit(integrate);
  for (double tolerance : {1e-6, 1e-9, 1e-12}) {
    State s = compiled(Tensor(start), sn::scalar(4 * 3.14159265358979323846), sn::scalar(tolerance));
    std::vector<double> y = s.y.to_vector<double>();
    double distance = std::hypot(y[0] - start[0], y[1] - start[1]), drift = std::abs(energy(y) - energy(start));
    std::printf("tolerance %.0e: %4d steps, %3d rejected; after two orbits %.1e from the start, energy off by %.1e\n",
                tolerance, s.accepted.item<int>(), s.rejected.item<int>(), distance, drift);
    if (distance > 1e4 * tolerance || drift > 1e3 * tolerance)
      return std::puts("too far from where it started"), 1;
  }
  return 0;
}
