// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <sinter/sinter.hpp>
namespace sn = sinter;

int main() {
  auto f = sn::jit([](sn::Tensor x) { return x * x + 1.f; });
  std::vector<float> y = f(sn::Tensor(std::vector<float>{1, 2, 3})).to_vector<float>();
  std::printf("plain %g %g %g\n", double(y[0]), double(y[1]), double(y[2]));
  auto cube =
      sn::custom_vjp([](sn::Tensor x) { return x * x * x; }, [](sn::Tensor x) { return std::pair{x * x * x, x}; },
                     [](sn::Tensor x, sn::Tensor dy) { return 3.f * x * x * dy; });
  sn::GradientCheck check =
      sn::check_gradients([&](sn::Tensor x) { return sn::sum(cube(x)); },
                          std::tuple{sn::Tensor(std::vector<float>{1, 2, 3})}, {.forward_mode = false});
  std::printf("checked %d, by elements %d\n", check.passed, check.elements < 1e-6);
  // Writing a program needs the runtime's archives, which are found beside the library.
  sinter_graph *graph;
  sinter_value_type scalar = {SINTER_F32, 0, {}};
  sinter_value x;
  if (sinter_graph_create(&graph) || sinter_graph_begin(graph, "same", 1, &scalar, nullptr, &x) ||
      sinter_graph_end(graph, 1, &x, nullptr, nullptr) || sinter_graph_compile_file(graph, "made.so", nullptr))
    return std::puts(sinter_last_error());
  sinter_graph_destroy(graph);
}
