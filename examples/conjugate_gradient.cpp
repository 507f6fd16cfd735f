// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solves a x = b by conjugate gradients until the residual is small: matrix products in a compiled loop.

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

struct Solution {
  Tensor x, trips;
};

static Solution solve(Tensor a, Tensor b) {
  Tensor x = sn::zeros_like(b);
  auto [result, residual, direction, square, trips] = sn::while_loop(
      [&](auto, auto, auto, auto square, auto trips) { return (square > 1e-20 * sn::vdot(b, b)) & (trips < 1000); },
      [&](auto x, auto r, auto p, auto square, auto trips) {
        Tensor q = sn::matmul(a, p), alpha = square / sn::vdot(p, q);
        Tensor rest = r - alpha * q, next = sn::vdot(rest, rest);
        return std::tuple{x + alpha * p, rest, rest + (next / square) * p, next, trips + 1};
      },
      x, b, b, sn::vdot(b, b), sn::scalar(int64_t(0)));
  return {result, trips};
}

int main() {
  constexpr int64_t n = 128;
  auto [first, second] = sn::key(2024).split<2>();
  Tensor random = sn::random::normal(first, {n, n}, sn::DType::f64);
  Tensor a = sn::matmul(random, sn::transpose(random)) / double(n) + sn::eye(n, {}, 0, sn::DType::f64);
  Tensor b = sn::random::normal(second, {n}, sn::DType::f64);
  Solution s = sn::jit(solve)(a, b);
  double residual = sn::norm(sn::matmul(a, s.x) - b).item<double>() / sn::norm(b).item<double>();
  Tensor eliminated = sn::jit([](Tensor a, Tensor b) { return sn::solve(a, b); })(a, b);
  double distance = sn::max(sn::abs(s.x - eliminated)).item<double>();
  std::printf("%lld unknowns: %d steps, relative residual %.1e, %.1e from elimination\n", static_cast<long long>(n),
              s.trips.item<int>(), residual, distance);
  return residual < 1e-9 && distance < 1e-8 && s.trips.item<int>() < 100 ? 0 : 1;
}
