// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/LossScale.h"
#include "runtime/decimal.h"
#include <algorithm>
#include <cmath>

using namespace sinter;

static bool readNumber(std::string_view word, double &value) {
  return readDecimal(word, value) && std::isfinite(value);
}

/// Takes `KEY=VALUE`; false where it is none.
static bool readOption(std::string_view word, LossScaleSettings &settings) {
  size_t equals = std::min(word.find('='), word.size());
  std::string_view key = word.substr(0, equals);
  double value = 0;
  if (equals == word.size() || !readNumber(word.substr(equals + 1), value))
    return false;
  if (key == "init" && value > 0)
    settings.scale = value;
  else if (key == "growth" && value >= 1)
    settings.growth = value;
  else if (key == "backoff" && value > 0 && value < 1)
    settings.backoff = value;
  else if (key == "interval" && value >= 1 && value < 1e15 && value == std::floor(value))
    settings.interval = static_cast<int64_t>(value);
  else
    return false;
  return true;
}

bool sinter::parseLossScale(std::string_view text, LossScaleSettings &settings, std::string &error) {
  using Kind = LossScaleSettings::Kind;
  constexpr std::string_view dynamic = "dynamic";
  LossScaleSettings read;
  if (text == "none") {
    settings = read;
    return true;
  }
  if (!text.starts_with(dynamic)) {
    read.kind = Kind::fixed;
    if (!readNumber(text, read.scale) || !(read.scale > 0)) {
      error = "requires none, a number above 0 or dynamic, got '" + std::string(text) + "'";
      return false;
    }
    settings = read;
    return true;
  }
  read.kind = Kind::dynamic;
  bool isRead = text.size() == dynamic.size() || text[dynamic.size()] == ':';
  for (size_t at = dynamic.size(); isRead && at < text.size();) {
    size_t end = std::min(text.find(',', at + 1), text.size());
    isRead = readOption(text.substr(at + 1, end - at - 1), read);
    at = end;
  }
  if (!isRead) {
    error =
        "requires dynamic[:init=N,growth=G,backoff=B,interval=K] with N above 0, G of 1 or more, B between 0 and 1 and "
        "a whole K of 1 or more, got '" +
        std::string(text) + "'";
    return false;
  }
  settings = read;
  return true;
}
