// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture of the Mandelbrot set: all points at once, until none can leave any more, written as a PGM image.
//
//   mandelbrot picture.pgm

#include <cstdio>
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::Tensor;

constexpr int64_t Width = 480, Height = 320, MaxTrips = 255;

/// For each point c the number of steps of z = z^2 + c with |z| <= 2, at most MaxTrips.
static Tensor escapeTimes(Tensor real, Tensor imaginary) {
  auto [x, y, times, trip] = sn::while_loop(
      [](auto x, auto y, auto, auto trip) { return (trip < MaxTrips) & sn::any(x * x + y * y <= 4); },
      [&](auto x, auto y, auto times, auto trip) {
        Tensor xx = x * x, yy = y * y, stays = xx + yy <= 4;
        return std::tuple{sn::where(stays, xx - yy + real, x), sn::where(stays, 2 * x * y + imaginary, y),
                          times + sn::astype(stays, sn::DType::u8), trip + 1};
      },
      sn::zeros({Height, Width}), sn::zeros({Height, Width}), sn::zeros({Height, Width}, sn::DType::u8),
      sn::scalar(int64_t(0)));
  return times;
}

int main(int argc, char **argv) {
  Tensor real = sn::broadcast_to(sn::linspace(-2.2, 0.8, Width), {Height, Width});
  Tensor imaginary = sn::broadcast_to(sn::expand_dims(sn::linspace(1, -1, Height), 1), {Height, Width});
  Tensor times = sn::jit(escapeTimes)(real, imaginary);
  int64_t inside = sn::sum(times == MaxTrips).item<int64_t>();
  std::printf("%lld of %lld points stay\n", static_cast<long long>(inside), static_cast<long long>(Width * Height));
  Tensor picture = 255 - times;
  if (argc > 1) {
    std::FILE *file = std::fopen(argv[1], "wb");
    if (!file)
      return std::printf("%s cannot be written\n", argv[1]), 1;
    std::fprintf(file, "P5\n%d %d\n255\n", int(Width), int(Height));
    std::fwrite(picture.span<uint8_t>().data(), 1, size_t(picture.size()), file);
    std::fclose(file);
  }
  // the set's area is 1.5065918849 (by counting pixels); the picture shows all of it
  double area = double(inside) * 3.0 * 2.0 / double(Width * Height);
  std::printf("area about %.2f\n", area);
  return area > 1.4 && area < 1.65 ? 0 : 1;
}
