// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Apply.h"
#include "Functions.h"
#include "Pattern.h"
#include "Trace.h"
#include "TrainStep.h"
#include "compiler/train/LossScale.h"
#include "ops.hpp"
#include <sinter/abi.h>

namespace sinter::inline SINTER_HOST::detail {

std::vector<Spec> specsOf(std::span<const AnyTree> trees) {
  std::vector<Spec> specs;
  for (const AnyTree &tree : trees)
    for (const Tensor &leaf : tree.leaves())
      specs.push_back(spec_of(leaf));
  return specs;
}

std::vector<std::string> inputNames(const std::vector<std::string> &given, size_t count) {
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k)
    names.push_back(k < given.size() ? given[k] : "arg" + std::to_string(k));
  return names;
}

Tensor StepCore::State::lossOf(LossCall loss, std::vector<Tensor> &all, std::span<const Tensor> batch,
                               const Tensor &seed, const Tensor &before, bool *drew) const {
  std::shared_ptr<void> used = tree.clone();
  AnyTree here = tree.at(used.get());
  here.setLeaves(all);
  nn::Mode mode;
  mode.training = true;
  if (seed.defined())
    mode.key = sinter::key(Operand(seed, where)).fold_in(Operand(before, where));
  Tensor value = loss(used.get(), batch, mode);
  if (drew)
    *drew = mode.draws > 0;
  all = here.leaves();
  return value;
}

/// Takes the scale of the options, or what follows from the precision, into the optimizer. Undefined unless it is none.
Tensor StepCore::State::readLossScale() {
  OptimizerSettings settings = optimizer.settings();
  std::string error;
  if (options.loss_scale.empty()) {
    size_t at = options.precision.find("f16");
    while (at != std::string::npos && at > 0 && options.precision[at - 1] == 'b')
      at = options.precision.find("f16", at + 1);
    if (at != std::string::npos)
      settings.loss_scale.kind = LossScaleSettings::Kind::dynamic;
  } else if (!parseLossScale(options.loss_scale, settings.loss_scale, error)) {
    return problem("a loss scale " + error);
  }
  optimizer = optim::Optimizer::from(std::move(settings));
  return {};
}

/// Finds out, in a graph that is dropped, which leaves the loss changes, whether it draws numbers, and what the
/// optimizer keeps. Undefined unless something is wrong.
Tensor StepCore::State::explore(LossCall loss, std::span<const Spec> batch) {
  if (Tensor wrong = readLossScale(); wrong.defined())
    return wrong;
  sinter_graph *raw = nullptr;
  if (sinter_graph_create(&raw))
    return problem(sinter_last_error());
  std::unique_ptr<sinter_graph, void (*)(sinter_graph *)> graph(raw, sinter_graph_destroy);
  std::vector<Spec> specs(batch.begin(), batch.end());
  for (const Tensor &leaf : leaves)
    specs.push_back(spec_of(leaf));
  Spec number{DType::i64, {}};
  specs.push_back(number);
  specs.push_back(number);
  changed.assign(leaves.size(), false);
  trained.assign(leaves.size(), false);
  Pattern chosen(options.trainable), left(options.frozen);
  if (!chosen.valid || !left.valid)
    return problem("a training step requires regular expressions, got '" +
                   (chosen.valid ? options.frozen : options.trainable) + "'");
  std::vector<Tensor> result;
  Tensor wrong;
  size_t count = leaves.size();
  auto traced =
      traceFunction(raw, "explore", specs, {}, {}, where, anyTree(result), [&](std::span<const Tensor> given) {
        std::vector<Tensor> before(given.begin() + std::ptrdiff_t(batch.size()),
                                   given.begin() + std::ptrdiff_t(batch.size() + count));
        std::vector<Tensor> all = before;
        bool drew = false;
        Tensor value = lossOf(loss, all, given.first(batch.size()), given[given.size() - 2], given.back(), &drew);
        draws = draws || drew;
        if (value.error()) {
          result = {value};
          return;
        }
        for (size_t k = 0; k < count; ++k)
          if (all[k].error())
            wrong = all[k];
          else if (!all[k].defined() || !all[k].traced() || all[k].value()->id != before[k].value()->id) {
            changed[k] = true;
            if (!all[k].defined() || !(all[k].type() == before[k].type()))
              wrong = problem("a training step requires that the loss keeps the type of " + names[k] + ", " +
                              before[k].type().str() + ", got " +
                              (all[k].defined() ? all[k].type().str() : std::string("none")));
          }
        if (!is_float(value.dtype()) || value.rank() != 0)
          wrong = problem("a training step requires a loss that is a float of rank 0, got " + value.type().str());
        result = {value};
      });
  if (wrong.defined())
    return wrong;
  if (traced.error)
    return errorTensor(*traced.error);
  std::string all;
  for (size_t k = 0; k < count; ++k) {
    trained[k] = is_float(leaves[k].dtype()) && !changed[k] && (options.trainable.empty() || chosen.finds(names[k])) &&
                 (options.frozen.empty() || !left.finds(names[k]));
    all += (all.empty() ? "" : ", ") + names[k];
  }
  if (std::find(trained.begin(), trained.end(), true) == trained.end())
    return problem("a training step requires weights" +
                   (options.trainable.empty() ? "" : " that match '" + options.trainable + "'") +
                   (options.frozen.empty() ? "" : " outside of those that '" + options.frozen + "' freezes") +
                   ", none of the model's tensors is one: " + (all.empty() ? "it has none" : all));
  if (!options.frozen.empty() && std::none_of(names.begin(), names.end(), [&](auto &name) { return left.finds(name); }))
    return problem("a training step requires the name of a tensor for frozen, none matches '" + options.frozen +
                   "'; they are " + all);
  if (std::string text = optimizer.problemOfNames(names); !text.empty())
    return problem(text);
  // What the optimizer keeps has the types that it makes in a trace.
  std::vector<Spec> weightSpecs;
  for (const Tensor &weight : weightsOf(leaves))
    weightSpecs.push_back(spec_of(weight));
  std::vector<Spec> both = weightSpecs;
  both.insert(both.end(), weightSpecs.begin(), weightSpecs.end());
  // Rows that are summed over several calls lie in lists, which have room for those of this batch.
  std::vector<int64_t> counts;
  std::vector<std::string> listed = listedTables();
  if (Tensor problem = countRows(loss, batch, counts); problem.defined())
    return problem;
  for (size_t k = 0; k < listed.size(); ++k) {
    Spec list = spec_of(leaves[size_t(std::find(names.begin(), names.end(), listed[k]) - names.begin())]);
    list.dims[0] = counts[k] * optimizer.settings().accumulate;
    both.push_back({DType::i64, {list.dims[0]}});
    both.push_back(list);
  }
  std::map<std::string, TensorType> types;
  std::vector<Tensor> moved;
  traced = traceFunction(raw, "moments", both, {}, {}, where, anyTree(moved), [&](std::span<const Tensor> given) {
    optim::State fresh;
    size_t weights = weightSpecs.size();
    moved.assign(given.begin(), given.begin() + std::ptrdiff_t(weights));
    for (size_t k = 0; k < listed.size(); ++k) {
      fresh["optimizer.rows." + listed[k]] = given[2 * weights + 2 * k];
      fresh["optimizer.gradient." + listed[k]] = given[2 * weights + 2 * k + 1];
    }
    moveWeights(optimizer.settings(), moved, given.subspan(weights, weights), weightNames(), fresh, scalar(0.0, where),
                where);
    for (const auto &[name, value] : fresh)
      types[name] = value.type();
  });
  if (traced.error)
    return errorTensor(*traced.error);
  for (const Tensor &leaf : moved)
    if (leaf.error())
      return leaf;
  moments.clear();
  for (const auto &[name, type] : types)
    moments[name] = zeros(type.shape, type.dtype, where);
  for (const std::string &table : listed) { // no row is to move
    const Tensor &whole = leaves[size_t(std::find(names.begin(), names.end(), table) - names.begin())];
    Tensor &rows = moments["optimizer.rows." + table];
    rows = full_like(rows, scalar(int64_t(whole.known_dim(0)), where));
  }
  if (draws)
    moments[SINTER_SEED_STATE] = scalar(int64_t(options.seed), where);
  if (hasScaleState())
    moments[kLossScaleState] = scalar(float(optimizer.settings().loss_scale.scale), where);
  for (auto &[name, value] : moments)
    if (auto found = loaded.find(name); found != loaded.end() && found->second.type() == value.type())
      value = found->second;
  loaded.clear();
  known = true;
  return Tensor();
}

/// Loss, all leaves of the model after it, gradients of the weights, multiplied with the scale. `scale` is the state of
/// a dynamic one.
std::vector<Tensor> StepCore::State::gradientOf(LossCall loss, std::span<const Tensor> batch,
                                                std::span<const Tensor> model, const Tensor &seed, const Tensor &before,
                                                const Tensor &scale) const {
  std::vector<Tensor> args(batch.begin(), batch.end()), value;
  args.insert(args.end(), model.begin(), model.end());
  size_t first = batch.size(), count = model.size();
  if (seed.defined())
    args.insert(args.end(), {seed, before});
  if (scale.defined())
    args.push_back(scale);
  std::vector<int32_t> wrt;
  for (size_t k = 0; k < count; ++k)
    if (trained[k])
      wrt.push_back(int32_t(first + k));
  value.assign(1 + count + isScaled(), Tensor());
  bool isRandom = seed.defined();
  auto f = [&](const void *given, void *out) {
    const auto &all = *static_cast<const std::vector<Tensor> *>(given);
    std::vector<Tensor> leaves(all.begin() + std::ptrdiff_t(first), all.begin() + std::ptrdiff_t(first + count));
    Tensor result = lossOf(loss, leaves, std::span(all).first(first), isRandom ? all[first + count] : Tensor(),
                           isRandom ? all[first + count + 1] : Tensor(), nullptr);
    if (isScaled())
      leaves.push_back(result);
    if (hasScaleState())
      result = result * astype(all.back(), result.dtype());
    else if (isScaled())
      result = result * optimizer.settings().loss_scale.scale;
    leaves.insert(leaves.begin(), result);
    *static_cast<std::vector<Tensor> *>(out) = std::move(leaves);
  };
  Gradients made =
      recordGradient("train_step", SINTER_VALUE_AND_GRAD, f, anyTree(args), anyTree(value), wrt, {}, {}, where);
  if (made.problem.defined())
    return {made.problem};
  if (isScaled()) {
    value[0] = value.back();
    value.pop_back();
  }
  value.insert(value.end(), made.results.end() - std::ptrdiff_t(wrt.size()), made.results.end());
  return value;
}

/// The loss, changed leaves (all, in order), states.
std::vector<Tensor> StepCore::State::stepOf(LossCall loss, std::span<const Tensor> batch, std::span<const Tensor> model,
                                            std::span<const Tensor> states) const {
  optim::State now;
  size_t next = 0;
  for (const auto &[name, value] : moments)
    now[name] = states[next++];
  Tensor seed, before, scale;
  if (draws) {
    seed = now.at(SINTER_SEED_STATE);
    before = now.at("optimizer.step");
  }
  if (hasScaleState())
    scale = now.at(kLossScaleState);
  std::vector<Tensor> parts = gradientOf(loss, batch, model, seed, before, scale);
  if (parts.size() == 1)
    return parts;
  size_t count = model.size();
  std::vector<Tensor> weights = weightsOf(model);
  Tensor counts = moveWeights(optimizer.settings(), weights, std::span(parts).subspan(1 + count), weightNames(), now,
                              parts[0], where);
  std::vector<Tensor> result{parts[0]};
  size_t weight = 0;
  for (size_t k = 0; k < count; ++k) {
    if (!trained[k] && !changed[k])
      continue;
    result.push_back(trained[k]         ? weights[weight++]
                     : counts.defined() ? sinter::where(counts, parts[1 + k], model[k])
                                        : parts[1 + k]);
  }
  for (const auto &[name, value] : moments)
    if (name != SINTER_SEED_STATE)
      result.push_back(now.at(name));
  return result;
}

/// The tables whose rows are listed from call to call: those that move by rows, where gradients are summed.
std::vector<std::string> StepCore::State::listedTables() const {
  const OptimizerSettings &settings = optimizer.settings();
  std::vector<std::string> all = weightNames(), tables;
  Pattern pattern(settings.sparse);
  if (settings.accumulate > 1 && !settings.sparse.empty())
    std::copy_if(all.begin(), all.end(), std::back_inserter(tables),
                 [&](const std::string &name) { return pattern.finds(name); });
  return tables;
}

/// How many rows of each of these tables a batch of these types looks up at most, as the compiler finds out from what
/// looks rows up; little else of the graph is left then. Undefined unless something is wrong.
Tensor StepCore::State::countRows(LossCall loss, std::span<const Spec> batch, std::vector<int64_t> &counts) const {
  std::vector<std::string> tables = listedTables();
  if (tables.empty())
    return {};
  std::shared_ptr<Error> error;
  std::shared_ptr<sinter_graph> graph = buildGradient(batch, loss, /*ofRows=*/true, error);
  if (!graph)
    return errorTensor(*error);
  Module module = sinter::build(Graph(graph), {}, where);
  if (module.error())
    return errorTensor(*module.error());
  const sinter_function *function = sinter_module_function(module.handle(), 0);
  for (size_t k = 0; k < tables.size(); ++k) {
    counts.push_back(function->outputs[k].dims[0]);
    if (counts.back() < 0)
      return problem("gradients of table '" + tables[k] +
                     "', which moves by rows, are summed over several calls, which requires batches of known sizes");
  }
  return {};
}

/// Undefined unless batches of these types look up more rows than those that the lists were made for.
Tensor StepCore::State::requireRoom(LossCall loss, std::span<const Spec> batch) const {
  std::vector<int64_t> counts;
  if (Tensor wrong = countRows(loss, batch, counts); wrong.defined())
    return wrong;
  std::vector<std::string> tables = listedTables();
  for (size_t k = 0; k < tables.size(); ++k)
    if (int64_t room = moments.at("optimizer.rows." + tables[k]).known_dim(0) / optimizer.settings().accumulate;
        counts[k] > room)
      return problem("gradients of table '" + tables[k] + "', which moves by rows, are summed over several calls, " +
                     "which requires batches that look up at most " + std::to_string(room) +
                     " rows as the first one, got one of " + std::to_string(counts[k]));
  return {};
}

/// Says in the graph how the function is compiled. Undefined unless something is wrong.
Tensor StepCore::State::say(sinter_graph *graph, int32_t function) const {
  if ((!options.checkpoint.empty() && sinter_graph_keep(graph, function, options.checkpoint.c_str())) ||
      (!options.precision.empty() && sinter_graph_precision(graph, options.precision.c_str())))
    return problem(sinter_last_error());
  return {};
}

/// A graph with the function `step`, which may hold the states as first values.
std::shared_ptr<sinter_graph> StepCore::State::build(std::span<const Spec> batch, LossCall loss, bool holdsValues,
                                                     std::shared_ptr<Error> &error) {
  auto stop = [&](const Tensor &problem) {
    error = std::make_shared<Error>(*problem.error());
    return nullptr;
  };
  if (Tensor wrong = known ? requireRoom(loss, batch) : explore(loss, batch); wrong.defined())
    return stop(wrong);
  sinter_graph *raw = nullptr;
  if (sinter_graph_create(&raw))
    return stop(problem(sinter_last_error()));
  std::shared_ptr<sinter_graph> graph(raw, sinter_graph_destroy);
  std::vector<KeptState> all = kept();
  std::vector<Spec> specs(batch.begin(), batch.end());
  std::vector<std::string> inputs = inputNames(options.inputs, batch.size()), outputs{"loss"}, replaced;
  for (const KeptState &state : all) {
    specs.push_back(spec_of(state.value));
    inputs.push_back(state.name);
  }
  std::vector<Tensor> result;
  size_t first = batch.size(), count = leaves.size();
  // Names of what comes out are known without a trace.
  for (size_t k = 0; k < count; ++k)
    if (trained[k] || changed[k])
      replaced.push_back(names[k]);
  for (const auto &[name, value] : moments)
    if (name != SINTER_SEED_STATE)
      replaced.push_back(name);
  for (const std::string &name : replaced)
    outputs.push_back(name + ".new");
  auto traced =
      traceFunction(raw, "step", specs, inputs, outputs, where, anyTree(result), [&](std::span<const Tensor> given) {
        result = stepOf(loss, given.first(first), given.subspan(first, count), given.subspan(first + count));
      });
  if (traced.error) {
    error = traced.error;
    return nullptr;
  }
  if (Tensor wrong = say(raw, traced.function); wrong.defined())
    return stop(wrong);
  for (size_t k = 0; k < all.size(); ++k) {
    auto found = std::find(replaced.begin(), replaced.end(), all[k].name);
    int32_t output = found == replaced.end() ? -1 : int32_t(1 + (found - replaced.begin()));
    if (sinter_graph_state(raw, traced.function, int32_t(first + k), output, all[k].name.c_str(),
                           holdsValues ? &all[k].value.view() : nullptr))
      return stop(problem(sinter_last_error()));
  }
  return graph;
}

/// A graph with one function of the batch, the leaves and what random numbers and scale depend on: what gradientOf
/// gives, or only which rows of the listed tables their gradients are of.
std::shared_ptr<sinter_graph> StepCore::State::buildGradient(std::span<const Spec> batch, LossCall loss, bool ofRows,
                                                             std::shared_ptr<Error> &error) const {
  auto stop = [&](const Tensor &problem) {
    error = std::make_shared<Error>(*problem.error());
    return nullptr;
  };
  sinter_graph *raw = nullptr;
  if (sinter_graph_create(&raw))
    return stop(problem(sinter_last_error()));
  std::shared_ptr<sinter_graph> graph(raw, sinter_graph_destroy);
  std::vector<Spec> all(batch.begin(), batch.end());
  for (const Tensor &leaf : leaves)
    all.push_back(spec_of(leaf));
  if (draws)
    all.insert(all.end(), 2, Spec{DType::i64, {}});
  if (hasScaleState())
    all.push_back(Spec{DType::f32, {}});
  std::vector<Tensor> result;
  size_t first = batch.size(), count = leaves.size();
  auto traced = traceFunction(raw, "gradient", all, {}, {}, where, anyTree(result), [&](std::span<const Tensor> given) {
    result = gradientOf(loss, given.first(first), given.subspan(first, count), draws ? given[first + count] : Tensor(),
                        draws ? given[first + count + 1] : Tensor(), hasScaleState() ? given.back() : Tensor());
    if (!ofRows || result.size() == 1)
      return;
    std::vector<Tensor> rows;
    std::vector<std::string> weights = weightNames();
    for (const std::string &table : listedTables()) {
      size_t at = size_t(std::find(weights.begin(), weights.end(), table) - weights.begin());
      rows.push_back(apply_many<2>("gradient_rows", {result[1 + count + at]}, {{"table", table.c_str()}}, where)[0]);
    }
    result = rows;
  });
  if (traced.error) {
    error = traced.error;
    return nullptr;
  }
  if (Tensor wrong = say(raw, traced.function); wrong.defined())
    return stop(wrong);
  return graph;
}

} // namespace sinter::inline SINTER_HOST::detail
