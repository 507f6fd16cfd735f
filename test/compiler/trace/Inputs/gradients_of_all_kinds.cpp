// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of each template that differentiates, over a struct of parameters, for compilers' warnings.

#include <sinter/sinter.hpp>

using namespace sinter;

struct Layer {
  Tensor w, b;
};

int main() {
  auto loss = [](Layer layer, Tensor x) { return sum(tanh(layer.w * x + layer.b)); };
  Layer layer{Tensor({1.f, 2.f}), Tensor({0.f, 1.f})};
  Tensor x({3.f, 4.f});
  auto [value, gradient] = value_and_grad(loss)(layer, x);
  Layer step = jit(grad(loss))(layer, x);
  auto square = [](Tensor x) { return x * x; };
  auto [out, pulled] = vjp(square, std::tuple{x}, x);
  auto [same, pushed] = jvp(square, std::tuple{x}, std::tuple{x});
  auto kept = grad([&](Tensor x) { return sum(checkpoint(square)(x)); });
  auto own = custom_vjp(square, [](Tensor x) { return std::pair{x * x, x}; },
                        [](Tensor x, Tensor g) { return std::tuple{g * x * 2}; });
  auto looped = grad([](Tensor x) { return sum(for_loop(0, 3, [](auto, auto y) { return y * 2; }, x)); });
  return (value + sum(gradient.w) + sum(step.b) + sum(out + std::get<0>(pulled) + same + pushed) + sum(kept(x)) +
          sum(own(x)) + sum(looped(x)))
                 .error()
             ? 1
             : 0;
}
