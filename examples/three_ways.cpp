// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function, run as it is written, compiled in this process, and compiled ahead of time into an object that the C
// program three_ways_main.c links:
//
//   three_ways collatz.o collatz.h

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;

/// How many steps of n -> n / 2 or 3 n + 1 lead to 1, and the greatest number on the way.
static std::tuple<sn::Tensor, sn::Tensor> collatz(sn::Tensor n) {
  auto [last, steps, most] =
      sn::while_loop([](auto n, auto, auto) { return n > 1; },
                     [](auto n, auto steps, auto most) {
                       auto next = sn::cond(n % 2 == 0, [&] { return n / 2; }, [&] { return 3 * n + 1; });
                       return std::tuple{next, steps + 1, sn::maximum(most, next)};
                     },
                     n, sn::scalar(int64_t(0)), n);
  return {steps, most};
}

int main(int argc, char **argv) {
  auto jitted = sn::jit(collatz);
  for (int64_t n : {6, 27, 97}) {
    auto [steps, most] = collatz(sn::scalar(n));
    auto [jittedSteps, jittedMost] = jitted(sn::scalar(n));
    std::printf("%lld: %lld steps, at most %lld\n", static_cast<long long>(n),
                static_cast<long long>(steps.item<int64_t>()), static_cast<long long>(most.item<int64_t>()));
    if (steps.item<int64_t>() != jittedSteps.item<int64_t>() || most.item<int64_t>() != jittedMost.item<int64_t>())
      return std::puts("eager and jitted differ"), 1;
  }
  if (argc == 3 &&
      !sn::compile(
           collatz, {sn::spec<int64_t>({})},
           {.output = argv[1], .header = argv[2], .name = "collatz", .inputs = {"n"}, .outputs = {"steps", "most"}})
           .ok())
    return 1;
  return 0;
}
