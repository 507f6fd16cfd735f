// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Curve.h"
#include "../data/Error.h"
#include "../decimal.h"
#include "../output.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace sinter;
using namespace sinter::train;

template <typename... Args> static std::string print(const char *format, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, format, args...);
  return text;
}

static double withoutSign(double value) { return std::isnan(value) ? std::abs(value) : value; } // nan, not -nan

void Curve::requireFormat(const std::string &path) {
  if (!path.ends_with(".csv") && !path.ends_with(".svg"))
    throw data::Error(SINTER_INVALID_ARGUMENT,
                      "a curve requires a file with the suffix .csv or .svg, got '" + path + "'");
}

void Curve::add(int64_t step, double loss) { rows.push_back({step, withoutSign(loss)}); }

void Curve::measure(std::span<const double> measured) {
  if (rows.empty() || measured.empty())
    return;
  if (rows.back().measured < 0) {
    rows.back().measured = static_cast<int64_t>(values.size());
    values.resize(values.size() + metrics.size());
  }
  std::transform(measured.begin(), measured.end(), values.begin() + rows.back().measured, withoutSign);
}

static std::string header(const std::vector<std::string> &metrics) {
  std::string text = "step,loss";
  for (const std::string &name : metrics)
    text += "," + name;
  return text;
}

void Curve::readUpTo(const std::string &path, int64_t step) {
  PlainNumbers plain;
  if (!rows.empty() || !path.ends_with(".csv"))
    return;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || line != header(metrics))
    return;
  while (std::getline(file, line)) {
    const char *at = line.c_str();
    char *end;
    long long number = std::strtoll(at, &end, 10);
    if (end == at || *end != ',' || number > step)
      return;
    at = end + 1;
    double loss = std::strtod(at, &end);
    if (end == at)
      return;
    add(number, loss);
    std::vector<double> measured;
    while (*end == ',' && end[1] && end[1] != ',') {
      at = end + 1;
      measured.push_back(std::strtod(at, &end));
    }
    if (measured.size() == metrics.size())
      measure(measured);
  }
}

void Curve::write(const std::string &path) const {
  requireFormat(path);
  PlainNumbers plain;
  std::string text = path.ends_with(".csv") ? csv() : svg();
  sinter_output *output;
  data::check(sinter_output_create(path.c_str(), 0, &output));
  sinter_status_code status = sinter_output_append(output, text.data(), static_cast<int64_t>(text.size()));
  data::check(sinter_output_finish(output, status));
}

std::string Curve::csv() const {
  std::string text = header(metrics) + "\n";
  for (const Row &row : rows) {
    text += print("%lld,%.9g", static_cast<long long>(row.step), row.loss);
    for (size_t k = 0; k < metrics.size(); ++k)
      text += row.measured < 0 ? "," : print(",%.9g", values[static_cast<size_t>(row.measured) + k]);
    text += "\n";
  }
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

namespace {
struct Point {
  int64_t step;
  double value;
};
} // namespace

static constexpr double width = 640, height = 360;

/// One picture, from `offset` down. What is not a number, or infinite, is a gap.
static std::string panel(const std::string &name, const std::vector<Point> &points, double first, double last,
                         double offset) {
  const double left = 60, right = 20, top = 20 + offset, bottom = offset + height - 40;
  double least = 0, greatest = 0;
  for (const Point &point : points)
    if (std::isfinite(point.value)) {
      least = std::min(least, point.value);
      greatest = std::max(greatest, point.value);
    }
  if (greatest <= least)
    greatest = least + 1;
  auto x = [&](double step) { return left + (step - first) / (last - first) * (width - left - right); };
  auto y = [&](double value) { return bottom - (value - least) / (greatest - least) * (bottom - top); };

  std::string text;
  double tick = tickOf(greatest - least);
  for (double at = std::ceil(least / tick) * tick; at <= greatest * (1 + 1e-9); at += tick) {
    text += print("<path d=\"M%g %.2fH%g\" stroke=\"#ddd\"/>", left, y(at), width - right);
    text += print("<text x=\"%g\" y=\"%.2f\" text-anchor=\"end\">%g</text>\n", left - 6, y(at) + 4, at);
  }
  tick = std::max(1.0, tickOf(last - first));
  for (double at = std::ceil(first / tick) * tick; at <= last; at += tick)
    text += print("<text x=\"%.2f\" y=\"%g\" text-anchor=\"middle\">%g</text>\n", x(at), bottom + 18, at);
  text += print("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s by step</text>\n", (left + width - right) / 2,
                bottom + 34, name.c_str());
  text += "<path fill=\"none\" stroke=\"#1f77b4\" stroke-width=\"1.5\" d=\"";
  bool isDown = false;
  for (const Point &point : points) {
    if (!std::isfinite(point.value)) {
      isDown = false;
      continue;
    }
    text += print("%c%.2f %.2f", isDown ? 'L' : 'M', x(static_cast<double>(point.step)), y(point.value));
    isDown = true;
  }
  return text + "\"/>\n";
}

std::string Curve::svg() const {
  double first = rows.empty() ? 0 : static_cast<double>(rows.front().step);
  double last = rows.empty() ? 1 : std::max(static_cast<double>(rows.back().step), first + 1);
  std::string text = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      width, height * static_cast<double>(metrics.size() + 1));
  std::vector<Point> points;
  for (const Row &row : rows)
    points.push_back({row.step, row.loss});
  text += panel("loss", points, first, last, 0);
  for (size_t k = 0; k < metrics.size(); ++k) {
    points.clear();
    for (const Row &row : rows)
      if (row.measured >= 0)
        points.push_back({row.step, values[static_cast<size_t>(row.measured) + k]});
    text += panel(metrics[k], points, first, last, height * static_cast<double>(k + 1));
  }
  return text + "</svg>\n";
}
