// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/OptimizerSpec.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"
#include <cmath>
#include <limits>

using namespace sinter;
using llvm::StringRef;
using Kind = MoveSettings::Kind;
using Schedule = ScheduleSettings::Kind;

namespace {
constexpr double kMost = std::numeric_limits<double>::max();

/// A key with a number, and the optimizers or schedules that it belongs to (all when empty).
struct Key {
  StringRef name;
  double least, greatest;
  bool isBelow; // `greatest` itself is none
  double &(*field)(OptimizerSpec &spec);
  llvm::SmallVector<Kind, 3> kinds;
  llvm::SmallVector<Schedule, 3> schedules = {};
};

struct Parser {
  StringRef name;
  OptimizerSpec &spec;
  std::string &error;
  llvm::StringSet<> seen = {};
  double clip = 0, clipValue = 0;
  StringRef noDecay = {};

  bool fail(const llvm::Twine &message) {
    error = ("optimizer " + name + " " + message).str();
    return false;
  }
  bool setNumber(StringRef key, StringRef value, double least, double greatest, bool isBelow, double &number);
  bool setOption(StringRef option);
  bool check();
};
} // namespace

#define SINTER_FIELD(FIELD) [](OptimizerSpec &spec) -> double & { return spec.FIELD; }

static const std::pair<StringRef, Kind> kKinds[] = {
    {"sgd", Kind::sgd},         {"adam", Kind::adam},           {"adamw", Kind::adamw}, {"adagrad", Kind::adagrad},
    {"rmsprop", Kind::rmsprop}, {"adadelta", Kind::adadelta},   {"lamb", Kind::lamb},   {"lion", Kind::lion},
    {"muon", Kind::muon},       {"adafactor", Kind::adafactor}, {"ftrl", Kind::ftrl}};

static const std::pair<StringRef, Schedule> kSchedules[] = {
    {"constant", Schedule::constant},     {"step", Schedule::step},     {"exponential", Schedule::exponential},
    {"polynomial", Schedule::polynomial}, {"cosine", Schedule::cosine}, {"one_cycle", Schedule::one_cycle},
    {"plateau", Schedule::plateau}};

static const std::pair<StringRef, StateType> kStateTypes[] = {
    {"weight", StateType::weight}, {"bf16", StateType::bf16}, {"int8", StateType::int8}};

static const llvm::SmallVector<Key> &keys() {
  static const llvm::SmallVector<Kind, 3> adams = {Kind::adam, Kind::adamw, Kind::lamb, Kind::lion, Kind::muon};
  static const llvm::SmallVector<Key> all = {
      {"lr", 0, kMost, false, SINTER_FIELD(lr), {}},
      {"momentum", 0, 1, false, SINTER_FIELD(momentum), {Kind::sgd, Kind::rmsprop, Kind::muon}},
      {"dampening", 0, 1, false, SINTER_FIELD(dampening), {Kind::sgd}},
      {"weight_decay", 0, kMost, false, SINTER_FIELD(weight_decay), {}},
      {"beta1", 0, 1, true, SINTER_FIELD(beta1), adams},
      {"beta2", 0, 1, true, SINTER_FIELD(beta2), adams},
      {"alpha", 0, 1, false, SINTER_FIELD(alpha), {Kind::rmsprop, Kind::adadelta}},
      {"lr_decay", 0, kMost, false, SINTER_FIELD(lr_decay), {Kind::adagrad}},
      {"eps",
       0,
       kMost,
       false,
       SINTER_FIELD(eps),
       {Kind::adam, Kind::adamw, Kind::lamb, Kind::rmsprop, Kind::adagrad, Kind::adadelta, Kind::adafactor,
        Kind::muon}},
      {"l1", 0, kMost, false, SINTER_FIELD(l1), {Kind::ftrl}},
      {"l2", 0, kMost, false, SINTER_FIELD(l2), {Kind::ftrl}},
      {"beta", 0, kMost, false, SINTER_FIELD(beta), {Kind::ftrl}},
      {"eps_weight", 0, kMost, false, SINTER_FIELD(eps_weight), {Kind::adafactor}},
      {"greatest", 0, kMost, false, SINTER_FIELD(greatest), {Kind::adafactor}},
      {"warmup", 0, 1e15, false, SINTER_FIELD(schedule.warmup), {}},
      {"steps",
       1,
       1e15,
       false,
       SINTER_FIELD(schedule.steps),
       {},
       {Schedule::cosine, Schedule::polynomial, Schedule::one_cycle}},
      {"final",
       0,
       1,
       false,
       SINTER_FIELD(schedule.final),
       {},
       {Schedule::cosine, Schedule::polynomial, Schedule::one_cycle, Schedule::plateau}},
      {"every", 1, 1e15, false, SINTER_FIELD(schedule.every), {}, {Schedule::step}},
      {"factor",
       0,
       1,
       false,
       SINTER_FIELD(schedule.factor),
       {},
       {Schedule::step, Schedule::exponential, Schedule::plateau}},
      {"power", 0, kMost, false, SINTER_FIELD(schedule.power), {}, {Schedule::polynomial}},
      {"start", 1, kMost, false, SINTER_FIELD(schedule.start), {}, {Schedule::one_cycle}},
      {"rise", 0, 1, true, SINTER_FIELD(schedule.rise), {}, {Schedule::one_cycle}},
      {"patience", 0, 1e15, false, SINTER_FIELD(schedule.patience), {}, {Schedule::plateau}},
      {"cooldown", 0, 1e15, false, SINTER_FIELD(schedule.cooldown), {}, {Schedule::plateau}},
      {"threshold", 0, 1, true, SINTER_FIELD(schedule.threshold), {}, {Schedule::plateau}},
      {"ema", 0, 1, true, SINTER_FIELD(ema), {}},
  };
  return all;
}

/// "a, b or c".
static std::string listed(llvm::ArrayRef<StringRef> names) {
  return llvm::join(names.drop_back(), ", ") + (names.size() > 1 ? " or " : "") + names.back().str();
}
template <class Range> static std::string listedNames(const Range &pairs) {
  llvm::SmallVector<StringRef> names;
  for (const auto &[name, value] : pairs)
    names.push_back(name);
  return listed(names);
}

static StringRef nameOf(Schedule schedule) {
  return llvm::find_if(kSchedules, [&](const auto &entry) { return entry.second == schedule; })->first;
}

bool Parser::setNumber(StringRef key, StringRef value, double least, double greatest, bool isBelow, double &number) {
  if (!value.getAsDouble(number) && number >= least && number <= greatest && !(isBelow && number == greatest))
    return true;
  std::string from = llvm::utostr(static_cast<uint64_t>(least));
  std::string range = greatest == kMost ? "of " + from + " or more"
                      : isBelow         ? "from 0 to below 1"
                      : greatest == 1   ? "from 0 to 1"
                                        : "of " + from + " to 1e15";
  return fail("requires a number " + range + " for " + key + ", got '" + value + "'");
}

bool Parser::setOption(StringRef option) {
  auto [key, value] = option.split('=');
  if (!option.contains('='))
    return fail("requires options KEY=VALUE, got '" + option + "'");
  if (!seen.insert(key).second)
    return fail("requires each option once, got '" + key + "' twice");
  if (key == "lr" && value == "input") {
    spec.lr_is_input = true;
    return true;
  }
  if (key == "schedule") {
    auto *found = llvm::find_if(kSchedules, [&, given = value](const auto &entry) { return entry.first == given; });
    if (found == std::end(kSchedules))
      return fail("requires schedule " + listedNames(kSchedules) + ", got '" + value + "'");
    spec.schedule.kind = found->second;
    return true;
  }
  bool hasNesterov = spec.kind == Kind::sgd || spec.kind == Kind::muon;
  if (key == "nesterov" && hasNesterov) {
    if (value != "0" && value != "1")
      return fail("requires nesterov 0 or 1, got '" + value + "'");
    spec.nesterov = value == "1";
    return true;
  }
  if (key == "states") {
    auto *found = llvm::find_if(kStateTypes, [&, given = value](const auto &entry) { return entry.first == given; });
    if (found == std::end(kStateTypes))
      return fail("requires states " + listedNames(kStateTypes) + ", got '" + value + "'");
    spec.states = found->second;
    return true;
  }
  if (key == "no_decay") {
    std::string reason;
    if (!llvm::Regex(value).isValid(reason))
      return fail("requires a regular expression for no_decay, got '" + value + "'");
    noDecay = value;
    return true;
  }
  if (key == "clip")
    return setNumber(key, value, 0, kMost, false, clip);
  if (key == "clip_value")
    return setNumber(key, value, 0, kMost, false, clipValue);
  if (key == "accumulate") {
    if (value.getAsInteger(10, spec.accumulate) || spec.accumulate < 1)
      return fail("requires a number of 1 or more for accumulate, got '" + value + "'");
    return true;
  }
  llvm::SmallVector<StringRef> known;
  for (const Key &entry : keys()) {
    if (!entry.kinds.empty() && !llvm::is_contained(entry.kinds, spec.kind))
      continue;
    known.push_back(entry.name);
    if (entry.name == key)
      return setNumber(key, value, entry.least, entry.greatest, entry.isBelow, entry.field(spec));
  }
  return fail("has no option '" + key + "'; it has " + llvm::join(known, ", ") +
              ", clip, clip_value, no_decay, accumulate, states, schedule" + (hasNesterov ? ", nesterov" : ""));
}

/// What only all options together tell.
bool Parser::check() {
  if (spec.kind == Kind::sgd && spec.nesterov && spec.momentum == 0)
    return fail("requires momentum above 0 with nesterov=1");
  if (!seen.contains("lr"))
    return fail("requires lr=..., a number or 'input'");
  for (const Key &entry : keys()) { // a key that another schedule has would be ignored
    if (!seen.contains(entry.name) || entry.schedules.empty() ||
        llvm::is_contained(entry.schedules, spec.schedule.kind))
      continue;
    llvm::SmallVector<StringRef> names;
    for (Schedule schedule : entry.schedules)
      names.push_back(nameOf(schedule));
    return fail("requires schedule=" + listed(names) + " with " + entry.name);
  }
  auto require = [&](StringRef key) {
    return seen.contains(key) || fail("requires " + key + "=... with schedule=" + nameOf(spec.schedule.kind));
  };
  switch (spec.schedule.kind) {
  case Schedule::cosine:
  case Schedule::polynomial:
    return require("steps");
  case Schedule::one_cycle:
    if (!seen.contains("final")) // torch's
      spec.schedule.final = 1 / (spec.schedule.start * 1e4);
    return require("steps");
  case Schedule::step:
    return require("every");
  case Schedule::exponential:
    return require("factor");
  case Schedule::constant:
  case Schedule::plateau:
    return true;
  }
  return true;
}

void OptimizerSpec::clipNorm(double greatest) { changes.insert(changes.begin(), {Change::Kind::clip_norm, greatest}); }
bool OptimizerSpec::clipsNorm() const {
  return llvm::any_of(changes, [](const Change &change) { return change.kind == Change::Kind::clip_norm; });
}

bool OptimizerSpec::parse(StringRef text, OptimizerSpec &spec, std::string &error) {
  auto [name, options] = text.split(':');
  spec = OptimizerSpec();
  auto *found = llvm::find_if(kKinds, [given = name](const auto &entry) { return entry.first == given; });
  if (found == std::end(kKinds)) {
    error = "optimizer requires " + listedNames(kKinds) + ", got '" + name.str() + "'";
    return false;
  }
  static_cast<MoveSettings &>(spec) = defaultMove(found->second);
  llvm::SmallVector<StringRef> parts;
  if (!options.empty())
    options.split(parts, ',');
  Parser parser{name, spec, error};
  for (StringRef part : parts)
    if (!parser.setOption(part))
      return false;
  if (!parser.check())
    return false;
  if (parser.clip > 0)
    spec.clipNorm(parser.clip);
  if (parser.clipValue > 0)
    spec.changes.push_back({Change::Kind::clip_value, parser.clipValue});
  if (!parser.noDecay.empty()) {
    MoveSettings move = spec;
    move.weight_decay = 0;
    spec.groups.push_back({parser.noDecay.str(), move});
  }
  return true;
}
