// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient through conjugate gradients. Temperatures along a heated rod solve a system of equations; what its sections
// conduct follows from temperatures that were measured. The solver stops when the residual is small, and the gradient
// goes back through all of its steps, of which eight are kept at a time and the others computed again. Writes two
// objects for heat_rod_main.c:
//
//   heat_rod rod.o rod.h fit.o fit.h

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

static constexpr int64_t kSections = 4, kCells = 63;

/// Temperatures in the cells when both ends are held at 0 and heat comes in, more at the right. Each section
/// of the rod conducts as `conductivity` says.
static Tensor temperatures(Tensor conductivity) {
  constexpr int64_t kFaces = kCells + 1;
  Tensor faces = sn::repeat(conductivity, kFaces / kSections) * double(kFaces * kFaces);
  auto outflow = [&](Tensor x) { return -sn::diff(faces * sn::diff(sn::pad(x, {{1, 1}}))); };
  Tensor heat = sn::linspace(4, 12, kCells, true, sn::DType::f64), x = sn::zeros_like(heat),
         square = sn::vdot(heat, heat);
  auto [result, residual, direction, rest] = sn::while_loop(
      {.max_trip = 1000, .memory = "binomial(8)"}, [&](auto, auto, auto, auto rest) { return rest > 1e-20 * square; },
      [&](auto x, auto r, auto p, auto rest) {
        Tensor q = outflow(p), alpha = rest / sn::vdot(p, q);
        r = r - alpha * q;
        Tensor next = sn::vdot(r, r);
        return std::tuple{x + alpha * p, r, r + (next / rest) * p, next};
      },
      x, heat, heat, square);
  return result;
}

static Tensor misfit(Tensor conductivity, Tensor measured) {
  return sn::mean(sn::square(temperatures(conductivity) - measured));
}

int main(int argc, char **argv) {
  if (argc != 5)
    return std::puts("usage: heat_rod rod.o rod.h fit.o fit.h"), 1;
  sn::Spec sections = sn::spec<double>({kSections}), cells = sn::spec<double>({kCells});
  bool good =
      sn::compile(temperatures, {sections}, {.output = argv[1], .header = argv[2], .name = "rod"}) &&
      sn::compile(sn::value_and_grad(misfit), {sections, cells}, {.output = argv[3], .header = argv[4], .name = "fit"});
  return good ? 0 : 1;
}
