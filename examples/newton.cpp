// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Newton's method for x = cos(a x): a loop that ends when the step is small, eager and compiled.

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;

static std::tuple<sn::Tensor, sn::Tensor> fixedPoint(sn::Tensor a) {
  auto [x, step, trips] = sn::while_loop([](auto, auto step, auto) { return sn::abs(step) > 1e-12; },
                                         [&](auto x, auto, auto trips) { // `a` is captured by itself
                                           auto next = (x - sn::cos(a * x)) / (1 + a * sn::sin(a * x));
                                           return std::tuple{x - next, next, trips + 1};
                                         },
                                         sn::full_like(a, 0.5), sn::full_like(a, 1), sn::scalar(int64_t(0)));
  return {x, trips};
}

int main() {
  auto compiled = sn::jit(fixedPoint);
  for (double a : {0.5, 0.7, 1.0, 2.0}) {
    auto [x, trips] = compiled(sn::scalar(a));
    auto [same, sameTrips] = fixedPoint(sn::scalar(a)); // every operation at once
    double root = x.item<double>(), residual = root - std::cos(a * root);
    std::printf("x = cos(%.1f x): x = %.15f after %lld steps, residual %.0e\n", a, root,
                static_cast<long long>(trips.item<int64_t>()), std::abs(residual));
    if (std::abs(residual) > 1e-14 || std::abs(same.item<double>() - root) > 1e-14 ||
        trips.item<int64_t>() != sameTrips.item<int64_t>())
      return std::puts("eager and compiled differ"), 1;
  }
  return 0;
}
