// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/LossCurve.h"
#include "tools/sinter/Command.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

using namespace sinter;
using namespace sinter::tool;

template <typename... Args> static std::string print(const char *format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

void LossCurve::requireFormat(const std::string &path) {
  if (!path.ends_with(".csv") && !path.ends_with(".svg"))
    throw Stop(Exit::Usage, "--curve requires a file with the suffix .csv or .svg, got '" + path + "'");
}

void LossCurve::readUpTo(const std::string &path, int64_t step) {
  if (!points.empty() || !path.ends_with(".csv"))
    return;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line); // the names of the columns
  long long at;
  double loss;
  while (std::getline(file, line) && std::sscanf(line.c_str(), "%lld,%lf", &at, &loss) == 2 && at <= step)
    add(at, loss);
}

void LossCurve::write(const std::string &path) const {
  requireFormat(path);
  writeText(path.ends_with(".csv") ? csv() : svg(), path);
}

std::string LossCurve::csv() const {
  std::string text = "step,loss\n";
  for (auto [step, loss] : points)
    text += print("%lld,%.9g\n", static_cast<long long>(step), loss);
  return text;
}

/// A step of 1, 2 or 5 times a power of ten that cuts `range` into five parts or so.
static double tickOf(double range) {
  double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (double factor : {1., 2., 5.})
    if (range / (factor * power) <= 6)
      return factor * power;
  return 10 * power;
}

std::string LossCurve::svg() const {
  const double width = 640, height = 360, left = 60, right = 20, top = 20, bottom = 40;
  double least = 0, greatest = 0;
  for (auto [step, loss] : points)
    if (std::isfinite(loss)) {
      least = std::min(least, loss);
      greatest = std::max(greatest, loss);
    }
  if (greatest <= least)
    greatest = least + 1;
  double first = points.empty() ? 0 : static_cast<double>(points.front().first);
  double last = points.empty() ? 1 : std::max(static_cast<double>(points.back().first), first + 1);
  auto x = [&](double step) { return left + (step - first) / (last - first) * (width - left - right); };
  auto y = [&](double loss) { return height - bottom - (loss - least) / (greatest - least) * (height - top - bottom); };

  std::string text = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      width, height);
  double tick = tickOf(greatest - least);
  for (double at = std::ceil(least / tick) * tick; at <= greatest * (1 + 1e-9); at += tick) {
    text += print("<path d=\"M%g %.2fH%g\" stroke=\"#ddd\"/>", left, y(at), width - right);
    text += print("<text x=\"%g\" y=\"%.2f\" text-anchor=\"end\">%g</text>\n", left - 6, y(at) + 4, at);
  }
  tick = std::max(1.0, tickOf(last - first));
  for (double at = std::ceil(first / tick) * tick; at <= last; at += tick)
    text += print("<text x=\"%.2f\" y=\"%g\" text-anchor=\"middle\">%g</text>\n", x(at), height - bottom + 18, at);
  text += print("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">step</text>\n", (left + width - right) / 2, height - 6);
  // What is not a number, or infinite, is a gap.
  text += "<path fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"1.5\" d=\"";
  bool isDown = false;
  for (auto [step, loss] : points) {
    if (!std::isfinite(loss)) {
      isDown = false;
      continue;
    }
    text += print("%c%.2f %.2f", isDown ? 'L' : 'M', x(static_cast<double>(step)), y(loss));
    isDown = true;
  }
  return text + "\"/>\n</svg>\n";
}
