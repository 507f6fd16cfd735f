// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer that solves an equation. Where a planet is follows from Kepler's equation M = E - e sin E, which Newton's
// method solves for all observations at once. The policy `implicit` gives the gradient of the solution instead of that
// of the steps: none of them is stored. An orbit is then fitted to observations. Writes two objects for kepler_main.c:
//
//   kepler orbit.o orbit.h fit.o fit.h

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

static constexpr int64_t kObservations = 24;

/// E for each of `anomalies`.
static Tensor eccentricAnomaly(Tensor anomalies, Tensor e) {
  auto [solution, step] = sn::while_loop(
      {.max_trip = 50, .memory = "implicit"}, [](auto, auto step) { return sn::max(sn::abs(step)) > 1e-13; },
      [&](auto x, auto) { // `anomalies` and `e` are captured by themselves
        Tensor next = (x - e * sn::sin(x) - anomalies) / (1 - e * sn::cos(x));
        return std::tuple{x - next, next};
      },
      anomalies, sn::ones_like(anomalies));
  return solution;
}

/// Positions [2, n] in an orbit {eccentricity, direction of its long axis, half of that axis}.
static Tensor positions(Tensor orbit, Tensor anomalies) {
  Tensor e = orbit[0], angle = orbit[1], size = orbit[2];
  Tensor anomaly = eccentricAnomaly(anomalies, e);
  Tensor along = size * (sn::cos(anomaly) - e), across = size * sn::sqrt(1 - e * e) * sn::sin(anomaly);
  return sn::stack(
      {along * sn::cos(angle) - across * sn::sin(angle), along * sn::sin(angle) + across * sn::cos(angle)});
}

static Tensor misfit(Tensor orbit, Tensor anomalies, Tensor observed) {
  return sn::mean(sn::square(positions(orbit, anomalies) - observed));
}

int main(int argc, char **argv) {
  if (argc != 5)
    return std::puts("usage: kepler orbit.o orbit.h fit.o fit.h"), 1;
  sn::Spec three = sn::spec<double>({3}), many = sn::spec<double>({kObservations}),
           plane = sn::spec<double>({2, kObservations});
  bool good = sn::compile(positions, {three, many}, {.output = argv[1], .header = argv[2], .name = "orbit"}) &&
              sn::compile(sn::value_and_grad(misfit), {three, many, plane},
                          {.output = argv[3], .header = argv[4], .name = "fit"});
  return good ? 0 : 1;
}
