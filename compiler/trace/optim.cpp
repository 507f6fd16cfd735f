// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "optim.hpp"
#include "Apply.h"
#include "Pattern.h"
#include "TensorNumber.h"
#include "Walks.h"
#include "compiler/train/Formulas.h"
#include "runtime/decimal.h"

namespace sinter::inline SINTER_HOST {
namespace optim {

using Kind = MoveSettings::Kind;
using Schedule = ScheduleSettings::Kind;
using Change = OptimizerSettings::Change;

static Optimizer with(const Optimizer &from, detail::FunctionRef<void(OptimizerSettings &)> change) {
  OptimizerSettings settings = from.settings();
  change(settings);
  return Optimizer::from(std::move(settings));
}

Optimizer Optimizer::from(OptimizerSettings settings) {
  Optimizer optimizer{MoveSettings()};
  optimizer.numbers = std::move(settings);
  return optimizer;
}

Optimizer Optimizer::schedule(const ScheduleSettings &schedule) const {
  return with(*this, [&](OptimizerSettings &s) {
    double warmup = s.schedule.warmup;
    s.schedule = schedule;
    if (schedule.warmup == 0)
      s.schedule.warmup = warmup;
  });
}
Optimizer Optimizer::warmup(double steps) const {
  return with(*this, [&](OptimizerSettings &s) { s.schedule.warmup = steps; });
}
Optimizer Optimizer::clip_norm(double greatest) const {
  return with(*this, [&](OptimizerSettings &s) { s.changes.push_back({Change::Kind::clip_norm, greatest}); });
}
Optimizer Optimizer::clip_value(double greatest) const {
  return with(*this, [&](OptimizerSettings &s) { s.changes.push_back({Change::Kind::clip_value, greatest}); });
}
Optimizer Optimizer::scale(double factor) const {
  return with(*this, [&](OptimizerSettings &s) { s.changes.push_back({Change::Kind::scale, factor}); });
}
Optimizer Optimizer::group(const std::string &pattern, const Optimizer &other) const {
  return with(*this, [&](OptimizerSettings &s) { s.groups.push_back({pattern, other.numbers}); });
}
Optimizer Optimizer::no_decay(const std::string &pattern) const {
  return with(*this, [&](OptimizerSettings &s) {
    MoveSettings move = s;
    move.weight_decay = 0;
    s.groups.push_back({pattern, move});
  });
}
Optimizer Optimizer::ema(double keep) const {
  return with(*this, [&](OptimizerSettings &s) { s.ema = keep; });
}
Optimizer Optimizer::accumulate(int64_t batches) const {
  return with(*this, [&](OptimizerSettings &s) { s.accumulate = batches; });
}
Optimizer Optimizer::sparse(const std::string &pattern) const {
  return with(*this, [&](OptimizerSettings &s) { s.sparse = pattern; });
}
Optimizer Optimizer::states(StateType type) const {
  return with(*this, [&](OptimizerSettings &s) { s.states = type; });
}

static std::string problemOf(const MoveSettings &s) {
  if (!(s.lr >= 0))
    return "an optimizer requires a rate of 0 or more, got " + decimal(s.lr);
  if (!(s.weight_decay >= 0))
    return "an optimizer requires a decay of 0 or more, got " + decimal(s.weight_decay);
  for (double beta : {s.beta1, s.beta2})
    if (!(beta >= 0 && beta < 1))
      return "an optimizer requires betas from 0 to below 1, got " + decimal(beta);
  for (double share : {s.momentum, s.alpha, s.dampening})
    if (!(share >= 0 && share <= 1))
      return "an optimizer requires momentum, alpha and dampening from 0 to 1, got " + decimal(share);
  if (s.kind == Kind::sgd && s.nesterov && s.momentum == 0)
    return "sgd requires momentum above 0 with nesterov";
  return "";
}

using detail::Pattern;

std::string Optimizer::problem() const {
  std::string found = problemOf(numbers);
  for (const OptimizerSettings::Group &group : numbers.groups) {
    if (found.empty())
      found = problemOf(group.move);
    if (found.empty() && !Pattern(group.pattern).valid)
      found = "a group requires a regular expression, got '" + group.pattern + "'";
  }
  if (found.empty() && !Pattern(numbers.sparse).valid)
    found = "sparse requires a regular expression, got '" + numbers.sparse + "'";
  if (found.empty() && !numbers.sparse.empty())
    found = formulas::problemOfRows(numbers);
  if (found.empty() && numbers.accumulate < 1)
    found = "accumulate requires 1 batch or more, got " + std::to_string(numbers.accumulate);
  if (found.empty() && !(numbers.ema >= 0 && numbers.ema < 1))
    found = "ema requires a number from 0 to below 1";
  const ScheduleSettings &s = numbers.schedule;
  bool hasSteps = s.kind == Schedule::cosine || s.kind == Schedule::polynomial || s.kind == Schedule::one_cycle;
  if (found.empty() && ((hasSteps && !(s.steps >= 1)) || (s.kind == Schedule::step && !(s.every >= 1))))
    found = "a schedule requires 1 step or more";
  return found;
}

std::string Optimizer::problemOfNames(const std::vector<std::string> &names) const {
  if (numbers.groups.empty() && numbers.sparse.empty())
    return "";
  OptimizerSettings all = numbers;
  if (!numbers.sparse.empty()) // tables are looked for as groups are
    all.groups.push_back({numbers.sparse, numbers});
  return formulas::problemOfGroups(all, names, [](const std::string &text) {
    auto pattern = std::make_shared<Pattern>(text);
    // `problem` tells of a pattern that is none.
    return [pattern](const std::string &name) { return !pattern->valid || pattern->finds(name); };
  });
}

Optimizer sgd(const Sgd &o) {
  MoveSettings s = defaultMove(Kind::sgd);
  s.lr = o.lr;
  s.momentum = o.momentum;
  s.dampening = o.dampening;
  s.weight_decay = o.weight_decay;
  s.nesterov = o.nesterov;
  return s;
}

template <class Options> static MoveSettings withMoments(Kind kind, const Options &o) {
  MoveSettings s = defaultMove(kind);
  s.lr = o.lr;
  s.beta1 = o.beta1;
  s.beta2 = o.beta2;
  s.weight_decay = o.weight_decay;
  if constexpr (requires { o.eps; })
    s.eps = o.eps;
  return s;
}
Optimizer adam(const Adam &o) { return withMoments(Kind::adam, o); }
Optimizer adamw(const AdamW &o) { return withMoments(Kind::adamw, o); }
Optimizer lamb(const Lamb &o) { return withMoments(Kind::lamb, o); }
Optimizer lion(const Lion &o) { return withMoments(Kind::lion, o); }
Optimizer muon(const Muon &o) {
  MoveSettings s = withMoments(Kind::muon, o);
  s.momentum = o.momentum;
  s.nesterov = o.nesterov;
  return s;
}
Optimizer adagrad(const Adagrad &o) {
  MoveSettings s = defaultMove(Kind::adagrad);
  s.lr = o.lr;
  s.lr_decay = o.lr_decay;
  s.weight_decay = o.weight_decay;
  s.eps = o.eps;
  return s;
}
Optimizer rmsprop(const RmsProp &o) {
  MoveSettings s = defaultMove(Kind::rmsprop);
  s.lr = o.lr;
  s.alpha = o.alpha;
  s.eps = o.eps;
  s.weight_decay = o.weight_decay;
  s.momentum = o.momentum;
  return s;
}
Optimizer adadelta(const Adadelta &o) {
  MoveSettings s = defaultMove(Kind::adadelta);
  s.lr = o.lr;
  s.alpha = o.rho;
  s.eps = o.eps;
  s.weight_decay = o.weight_decay;
  return s;
}
Optimizer ftrl(const Ftrl &o) {
  MoveSettings s = defaultMove(Kind::ftrl);
  s.lr = o.lr;
  s.l1 = o.l1;
  s.l2 = o.l2;
  s.beta = o.beta;
  return s;
}
Optimizer adafactor(const Adafactor &o) {
  MoveSettings s = defaultMove(Kind::adafactor);
  s.lr = o.lr;
  s.beta2_decay = o.beta2_decay;
  s.eps = o.eps;
  s.eps_weight = o.eps_weight;
  s.greatest = o.greatest;
  s.weight_decay = o.weight_decay;
  return s;
}

static ScheduleSettings scheduleOf(Schedule kind, double steps, double final) {
  ScheduleSettings s;
  s.kind = kind;
  s.steps = steps;
  s.final = final;
  return s;
}
ScheduleSettings step(double every, double factor) {
  ScheduleSettings s = scheduleOf(Schedule::step, 0, 0);
  s.every = every;
  s.factor = factor;
  return s;
}
ScheduleSettings exponential(double factor) {
  ScheduleSettings s = scheduleOf(Schedule::exponential, 0, 0);
  s.factor = factor;
  return s;
}
ScheduleSettings polynomial(double steps, double power, double final) {
  ScheduleSettings s = scheduleOf(Schedule::polynomial, steps, final);
  s.power = power;
  return s;
}
ScheduleSettings cosine(double steps, double final) { return scheduleOf(Schedule::cosine, steps, final); }
ScheduleSettings one_cycle(double steps, double rise, double start, double end) {
  ScheduleSettings s = scheduleOf(Schedule::one_cycle, steps, 1 / (start * end));
  s.rise = rise;
  s.start = start;
  return s;
}
ScheduleSettings plateau(double factor, double patience, double threshold, double cooldown, double least) {
  ScheduleSettings s = scheduleOf(Schedule::plateau, 0, least);
  s.factor = factor;
  s.patience = patience;
  s.threshold = threshold;
  s.cooldown = cooldown;
  return s;
}

} // namespace optim

namespace detail {
namespace {
/// States in a map.
class MapStore {
public:
  MapStore(optim::State &state, Where where) : state(state), where(where) {}

  TensorNumber get(const std::string &name, const TensorNumber &like) {
    auto found = state.find(name);
    return found == state.end() ? TensorNumber(zeros_like(like.tensor)) : TensorNumber(found->second);
  }
  void put(const std::string &name, const TensorNumber &value) { state[name] = value.tensor; }
  TensorNumber number(double value) { return scalar(value, where); }
  TensorNumber counter(const std::string &name) {
    auto found = state.find(name);
    return found == state.end() ? TensorNumber(scalar(int64_t(0), where)) : TensorNumber(found->second);
  }
  TensorNumber start(const std::string &name, double value) {
    auto found = state.find(name);
    return found == state.end() ? TensorNumber(scalar(float(value), where)) : TensorNumber(found->second);
  }
  TensorNumber rateInput() { return number(0); } // a program gives rates as numbers
  TensorNumber list(const std::string &name, const TensorNumber &, int64_t, int64_t) { return state.at(name); }
  std::pair<TensorNumber, TensorNumber> sumRows(const TensorNumber &rows, const TensorNumber &values, int64_t size) {
    auto [distinct, splits, order] = apply_many<3>("group_rows", {rows.tensor}, {{"size", size}}, where);
    return {distinct, apply("bag_sum", {values.tensor, order, splits}, {}, where)};
  }
  bool matches(const std::string &pattern, const std::string &name) { return Pattern(pattern).finds(name); }
  // Rows are no positions that a user gave: an index policy does not look at them.
  TensorNumber readRows(const TensorNumber &table, const TensorNumber &rows) {
    return apply("gather", {table.tensor, rows.tensor}, {{"axis", 0}}, where);
  }
  TensorNumber writeRows(const TensorNumber &table, const TensorNumber &rows, const TensorNumber &values) {
    return apply("scatter_nd", {table.tensor, expand_dims(rows.tensor, 1), values.tensor}, {{"combiner", "set"}},
                 where);
  }

private:
  optim::State &state;
  Where where;
};
} // namespace

Tensor moveWeights(const OptimizerSettings &settings, std::span<Tensor> weights, std::span<const Tensor> gradients,
                   const std::vector<std::string> &names, optim::State &state, const Tensor &loss, Where where) {
  auto stop = [&](const Tensor &problem) {
    for (Tensor &weight : weights)
      weight = problem;
    return problem;
  };
  auto refuse = [&](const std::string &message) { return stop(fail(where, message)); };
  if (std::string problem = optim::Optimizer::from(settings).problem(); !problem.empty())
    return refuse(problem);
  if (weights.size() != gradients.size())
    return refuse("an optimizer requires a gradient for each of " + std::to_string(weights.size()) + " tensors, got " +
                  std::to_string(gradients.size()));
  if (settings.schedule.kind == ScheduleSettings::Kind::plateau && !loss.defined())
    return refuse("a plateau requires the loss, got none");
  std::vector<formulas::Moved<TensorNumber>> moved;
  Pattern tables(settings.sparse);
  for (size_t k = 0; k < weights.size(); ++k) {
    if (!is_float(weights[k].dtype()))
      continue;
    if (weights[k].error() || gradients[k].error())
      return stop(weights[k].error() ? weights[k] : gradients[k]);
    if (!gradients[k].defined() || !(weights[k].type() == gradients[k].type()))
      return refuse("an optimizer requires a gradient of type " + weights[k].type().str() + " for " + names[k] +
                    ", got " + (gradients[k].defined() ? gradients[k].type().str() : "none"));
    if (settings.sparse.empty() || !tables.finds(names[k])) {
      moved.push_back({names[k], weights[k], gradients[k]});
      continue;
    }
    if (weights[k].rank() == 0)
      return refuse("a table that moves by rows requires rank 1 or more, got '" + names[k] + "' of rank 0");
    auto [rows, values] = gradients[k].traced()
                              ? apply_many<2>("gradient_rows", {gradients[k]}, {{"table", names[k].c_str()}}, where)
                              : apply_many<2>("gradient_rows", {gradients[k]}, {}, where);
    if (rows.error())
      return refuse(rows.error()->message());
    // How many rows a batch may have is said by the step, which knows batches (StepCore::State::explore).
    if (settings.accumulate > 1 && !state.contains("optimizer.rows." + names[k]))
      return refuse("gradients of table '" + names[k] +
                    "', which moves by rows, are summed over several calls in train_step alone");
    moved.push_back({names[k], weights[k], values, TensorNumber(rows)});
  }
  MapStore store(state, where);
  TensorNumber seen = loss.defined() ? loss : scalar(0.0, where);
  std::optional<TensorNumber> counts =
      formulas::Optimizer<TensorNumber, MapStore>(settings, store).run(std::move(moved), &seen);
  for (size_t k = 0; k < weights.size(); ++k)
    if (auto found = state.find(names[k]); found != state.end()) {
      weights[k] = found->second;
      state.erase(found);
    }
  return counts ? counts->tensor : Tensor();
}

void updateWeights(const optim::Optimizer &optimizer, std::span<Tensor> weights, std::span<const Tensor> gradients,
                   const std::vector<std::string> &names, optim::State &state, const Tensor &loss, Where where) {
  std::string problem = optimizer.problemOfNames(names);
  if (problem.empty())
    moveWeights(optimizer.settings(), weights, gradients, names, state, loss, where);
  else
    for (Tensor &weight : weights)
      weight = fail(where, problem);
}

std::vector<std::string> stateNames(AnyTree tree) {
  std::vector<std::string> names;
  for (const std::string &path : tree.paths()) {
    std::string name;
    for (char letter : path)
      if (letter == '[' || letter == '.')
        name += name.empty() ? "" : ".";
      else if (letter != ']' && letter != '"')
        name += letter;
    names.push_back(name.empty() ? "value" : name);
  }
  return names;
}

} // namespace detail
} // namespace sinter::inline SINTER_HOST
