// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/OptimizerSpec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <limits>

using namespace sinter;
using llvm::StringRef;

namespace {
constexpr double kMost = std::numeric_limits<double>::max();

/// A key with a number, and the optimizers that it belongs to (all when empty).
struct Key {
  StringRef name;
  double OptimizerSpec::*field;
  double least, greatest;
  llvm::SmallVector<OptimizerSpec::Kind, 3> kinds;
  bool isBelow = false; // `greatest` itself is none
};
} // namespace

static llvm::ArrayRef<std::pair<StringRef, OptimizerSpec::Kind>> kinds() {
  using Kind = OptimizerSpec::Kind;
  static const std::pair<StringRef, Kind> all[] = {{"sgd", Kind::Sgd},         {"adam", Kind::Adam},
                                                   {"adamw", Kind::AdamW},     {"adagrad", Kind::Adagrad},
                                                   {"rmsprop", Kind::RmsProp}, {"lamb", Kind::Lamb}};
  return all;
}

static const llvm::SmallVector<Key> &keys() {
  using Kind = OptimizerSpec::Kind;
  static const llvm::SmallVector<Kind, 3> adams = {Kind::Adam, Kind::AdamW, Kind::Lamb};
  static const llvm::SmallVector<Key> all = {
      {"lr", &OptimizerSpec::rate, 0, kMost, {}},
      {"momentum", &OptimizerSpec::momentum, 0, 1, {Kind::Sgd, Kind::RmsProp}},
      {"dampening", &OptimizerSpec::dampening, 0, 1, {Kind::Sgd}},
      {"weight_decay", &OptimizerSpec::decay, 0, kMost, {}},
      {"beta1", &OptimizerSpec::beta1, 0, 1, adams, true},
      {"beta2", &OptimizerSpec::beta2, 0, 1, adams, true},
      {"alpha", &OptimizerSpec::alpha, 0, 1, {Kind::RmsProp}},
      {"lr_decay", &OptimizerSpec::rateDecay, 0, kMost, {Kind::Adagrad}},
      {"eps", &OptimizerSpec::epsilon, 0, kMost, {Kind::Adam, Kind::AdamW, Kind::Lamb, Kind::RmsProp, Kind::Adagrad}},
      {"clip", &OptimizerSpec::clip, 0, kMost, {}},
      {"warmup", &OptimizerSpec::warmup, 0, 1e15, {}},
      {"steps", &OptimizerSpec::steps, 1, 1e15, {}},
      {"final", &OptimizerSpec::final, 0, 1, {}},
      {"every", &OptimizerSpec::every, 1, 1e15, {}},
      {"factor", &OptimizerSpec::factor, 0, 1, {}},
  };
  return all;
}

static bool setOption(StringRef name, StringRef option, OptimizerSpec &spec, llvm::StringSet<> &seen,
                      std::string &error) {
  auto [key, value] = option.split('=');
  auto fail = [&](const llvm::Twine &message) {
    error = ("optimizer " + name + " " + message).str();
    return false;
  };
  if (!option.contains('='))
    return fail("requires options KEY=VALUE, got '" + option + "'");
  if (!seen.insert(key).second)
    return fail("requires each option once, got '" + key + "' twice");
  if (key == "lr" && value == "input") {
    spec.rateIsInput = true;
    return true;
  }
  if (key == "schedule") {
    if (value != "constant" && value != "cosine" && value != "step")
      return fail("requires schedule constant, cosine or step, got '" + value + "'");
    spec.schedule = value == "cosine" ? OptimizerSpec::Schedule::Cosine
                    : value == "step" ? OptimizerSpec::Schedule::Step
                                      : OptimizerSpec::Schedule::Constant;
    return true;
  }
  if (key == "nesterov" && spec.kind == OptimizerSpec::Kind::Sgd) {
    if (value != "0" && value != "1")
      return fail("requires nesterov 0 or 1, got '" + value + "'");
    spec.nesterov = value == "1";
    return true;
  }
  llvm::SmallVector<StringRef> known;
  for (const Key &entry : keys()) {
    if (!entry.kinds.empty() && !llvm::is_contained(entry.kinds, spec.kind))
      continue;
    known.push_back(entry.name);
    if (entry.name != key)
      continue;
    double number;
    if (value.getAsDouble(number) || !(number >= entry.least && number <= entry.greatest) ||
        (entry.isBelow && number == entry.greatest)) {
      std::string range = entry.greatest == kMost
                              ? "of " + llvm::utostr(static_cast<uint64_t>(entry.least)) + " or more"
                          : entry.isBelow       ? "from 0 to below 1"
                          : entry.greatest == 1 ? "from 0 to 1"
                                                : "of " + llvm::utostr(static_cast<uint64_t>(entry.least)) + " to 1e15";
      return fail("requires a number " + range + " for " + key + ", got '" + value + "'");
    }
    spec.*entry.field = number;
    return true;
  }
  return fail("has no option '" + key + "'; it has " + llvm::join(known, ", ") + ", schedule" +
              (spec.kind == OptimizerSpec::Kind::Sgd ? ", nesterov" : ""));
}

bool OptimizerSpec::parse(StringRef text, OptimizerSpec &spec, std::string &error) {
  auto [name, options] = text.split(':');
  spec = OptimizerSpec();
  auto found = llvm::find_if(kinds(), [&](const auto &entry) { return entry.first == name; });
  if (found == kinds().end()) {
    error = ("optimizer requires sgd, adam, adamw, adagrad, rmsprop or lamb, got '" + name + "'").str();
    return false;
  }
  spec.kind = found->second;
  spec.epsilon = spec.kind == Kind::Adagrad ? 1e-10 : spec.kind == Kind::Lamb ? 1e-6 : 1e-8;
  spec.decay = spec.kind == Kind::AdamW || spec.kind == Kind::Lamb ? 0.01 : 0;
  llvm::StringSet<> seen;
  llvm::SmallVector<StringRef> parts;
  if (!options.empty())
    options.split(parts, ',');
  for (StringRef part : parts)
    if (!setOption(name, part, spec, seen, error))
      return false;
  auto require = [&](StringRef key, const llvm::Twine &why) {
    if (seen.contains(key))
      return true;
    error = ("optimizer " + name + " requires " + key + "=..." + why).str();
    return false;
  };
  if (spec.nesterov && spec.momentum == 0) {
    error = "optimizer sgd requires momentum above 0 with nesterov=1";
    return false;
  }
  // A key that another schedule has would be ignored.
  auto belongs = [&](StringRef key, Schedule schedule, StringRef text) {
    if (!seen.contains(key) || spec.schedule == schedule)
      return true;
    error = ("optimizer " + name + " requires schedule=" + text + " with " + key).str();
    return false;
  };
  return require("lr", ", a number or 'input'") && belongs("steps", Schedule::Cosine, "cosine") &&
         belongs("final", Schedule::Cosine, "cosine") && belongs("every", Schedule::Step, "step") &&
         belongs("factor", Schedule::Step, "step") &&
         (spec.schedule != Schedule::Cosine || require("steps", " with schedule=cosine")) &&
         (spec.schedule != Schedule::Step || require("every", " with schedule=step"));
}
