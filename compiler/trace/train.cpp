// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "train.hpp"
#include "Apply.h"
#include "Functions.h"
#include "Pattern.h"
#include "Trace.h"
#include "compiler/train/LossScale.h"
#include "ops.hpp"
#include <sinter/abi.h>

namespace sinter::inline SINTER_HOST {

Key nn::Mode::next(Where where) {
  if (!key.words.defined())
    return sinter::key(
        Operand(detail::fail(where, "random numbers in training require a key (Mode::key), got none"), where));
  return key.fold_in(Operand(draws++, where));
}

namespace detail {
namespace {

/// What a session keeps, in the order of a step's last arguments.
struct KeptState {
  std::string name;
  Tensor value; // before the first session
};

/// A step compiled for batches of one signature.
struct StepForm {
  std::vector<TensorType> batch;
  std::unique_ptr<Session> session; // of the step, null where the optimizer is eager
  std::unique_ptr<Session> runner;  // of loss and gradient, where it is
};

} // namespace

struct StepCore::State {
  std::shared_ptr<void> model;
  AnyTree tree;
  optim::Optimizer optimizer;
  StepOptions options;
  Where where;
  std::vector<std::string> names; // of the model's leaves
  std::vector<Tensor> leaves;     // while no session has them
  optim::State moments;           // the same
  optim::State loaded;            // what a file held before the moments were known
  bool known = false;             // which leaves are what
  std::vector<bool> changed, trained;
  bool draws = false;
  std::vector<std::unique_ptr<StepForm>> forms;
  StepForm *current = nullptr; // whose session has the states
  std::shared_ptr<Error> failure;

  State(const optim::Optimizer &optimizer, StepOptions options, Where where)
      : optimizer(optimizer), options(std::move(options)), where(where) {}

  std::vector<Tensor> weightsOf(std::span<const Tensor> all) const {
    std::vector<Tensor> result;
    for (size_t k = 0; k < all.size(); ++k)
      if (trained[k])
        result.push_back(all[k]);
    return result;
  }
  std::vector<std::string> weightNames() const {
    std::vector<std::string> result;
    for (size_t k = 0; k < names.size(); ++k)
      if (trained[k])
        result.push_back(names[k]);
    return result;
  }

  Tensor problem(std::string message) const { return fail(where, std::move(message)); }
  /// The loss with `all` as leaves; `all` becomes what the model is after it.
  Tensor lossOf(LossCall loss, std::vector<Tensor> &all, std::span<const Tensor> batch, const Tensor &seed,
                const Tensor &before, bool *drew) const;
  bool isScaled() const { return optimizer.settings().loss_scale.kind != LossScaleSettings::Kind::none; }
  bool hasScaleState() const { return optimizer.settings().loss_scale.kind == LossScaleSettings::Kind::dynamic; }
  Tensor readLossScale();
  Tensor explore(LossCall loss, std::span<const Spec> batch);
  Tensor say(sinter_graph *graph, int32_t function) const;
  std::vector<Tensor> stepOf(LossCall loss, std::span<const Tensor> batch, std::span<const Tensor> model,
                             std::span<const Tensor> states, std::vector<std::string> *stateNames) const;
  std::vector<Tensor> gradientOf(LossCall loss, std::span<const Tensor> batch, std::span<const Tensor> model,
                                 const Tensor &seed, const Tensor &before, const Tensor &scale) const;
  std::shared_ptr<sinter_graph> build(std::span<const Spec> batch, LossCall loss, bool holdsValues,
                                      std::shared_ptr<Error> &error);
  std::vector<KeptState> kept() const;
  void fetch();
};

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
    return problem("a training step requires weights, none of the model's tensors is one: " +
                   (all.empty() ? "it has none" : all));
  // What the optimizer keeps has the types that it makes in a trace.
  std::vector<Spec> weightSpecs;
  for (const Tensor &weight : weightsOf(leaves))
    weightSpecs.push_back(spec_of(weight));
  std::vector<Spec> both = weightSpecs;
  both.insert(both.end(), weightSpecs.begin(), weightSpecs.end());
  std::map<std::string, TensorType> types;
  std::vector<Tensor> moved;
  traced = traceFunction(raw, "moments", both, {}, {}, where, anyTree(moved), [&](std::span<const Tensor> given) {
    optim::State fresh;
    moved.assign(given.begin(), given.begin() + std::ptrdiff_t(weightSpecs.size()));
    moveWeights(optimizer.settings(), moved, given.subspan(weightSpecs.size()), weightNames(), fresh,
                scalar(0.0, where), where);
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
                                            std::span<const Tensor> states, std::vector<std::string> *outputs) const {
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
    if (outputs)
      outputs->push_back(names[k]);
  }
  for (const auto &[name, value] : moments)
    if (name != SINTER_SEED_STATE) {
      result.push_back(now.at(name));
      if (outputs)
        outputs->push_back(name);
    }
  return result;
}

std::vector<KeptState> StepCore::State::kept() const {
  std::vector<KeptState> result;
  for (size_t k = 0; k < leaves.size(); ++k)
    result.push_back({names[k], leaves[k]});
  for (const auto &[name, value] : moments)
    result.push_back({name, value});
  return result;
}

/// Takes the states out of the session that has them.
void StepCore::State::fetch() {
  if (!current || !current->session)
    return;
  for (size_t k = 0; k < leaves.size(); ++k)
    leaves[k] = current->session->state(names[k], where);
  for (auto &[name, value] : moments)
    value = current->session->state(name, where);
}

static std::vector<Spec> specsOf(std::span<const AnyTree> trees) {
  std::vector<Spec> specs;
  for (const AnyTree &tree : trees)
    for (const Tensor &leaf : tree.leaves())
      specs.push_back(spec_of(leaf));
  return specs;
}

/// Names for `count` leaves: those given, else arg0...
static std::vector<std::string> inputNames(const std::vector<std::string> &given, size_t count) {
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k)
    names.push_back(k < given.size() ? given[k] : "arg" + std::to_string(k));
  return names;
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
  if (!known)
    if (Tensor wrong = explore(loss, batch); wrong.defined())
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
        result = stepOf(loss, given.first(first), given.subspan(first, count), given.subspan(first + count), nullptr);
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

StepCore::StepCore(AnyTree model, const optim::Optimizer &optimizer, StepOptions options, Where where)
    : state_(std::make_shared<State>(optimizer, std::move(options), where)) {
  State &s = *state_;
  s.model = model.clone();
  s.tree = model.at(s.model.get());
  s.names = stateNames(s.tree);
  s.leaves = s.tree.leaves();
}

const Error *StepCore::error() const { return state_->failure.get(); }

static std::vector<Tensor> leavesOfAll(std::span<const AnyTree> trees) {
  std::vector<Tensor> all;
  for (const AnyTree &tree : trees)
    for (const Tensor &leaf : tree.leaves())
      all.push_back(leaf);
  return all;
}

Tensor StepCore::call(std::span<const AnyTree> batch, LossCall loss) {
  State &s = *state_;
  auto stop = [&](const Tensor &problem) {
    s.failure = std::make_shared<Error>(*problem.error());
    return problem;
  };
  if (tracing())
    return stop(s.problem("a training step keeps states and is not part of a trace; use optim::update there"));
  std::vector<Tensor> given = leavesOfAll(batch);
  for (const std::vector<Tensor> *list : {&given, &s.leaves})
    for (const Tensor &leaf : *list)
      if (!leaf.defined() || leaf.traced() || leaf.error())
        return stop(leaf.error() ? leaf : s.problem("a training step requires tensors with elements, got one without"));
  StepForm *form = nullptr;
  for (const std::unique_ptr<StepForm> &known : s.forms) {
    bool same = known->batch.size() == given.size();
    for (size_t k = 0; same && k < given.size(); ++k)
      same = known->batch[k] == given[k].type();
    if (same)
      form = known.get();
  }
  if (!form) {
    auto made = std::make_unique<StepForm>();
    for (const Tensor &leaf : given)
      made->batch.push_back(leaf.type());
    s.fetch();
    s.current = nullptr;
    std::shared_ptr<Error> error;
    std::vector<Spec> specs = specsOf(batch);
    BuildOptions build;
    build.opt_level = s.options.opt_level;
    build.fast_math = s.options.fast_math;
    if (s.options.eager) {
      if (!s.known)
        if (Tensor wrong = s.explore(loss, specs); wrong.defined())
          return stop(wrong);
      sinter_graph *raw = nullptr;
      if (sinter_graph_create(&raw))
        return stop(s.problem(sinter_last_error()));
      Graph graph(raw);
      std::vector<Spec> all = specs;
      for (const Tensor &leaf : s.leaves)
        all.push_back(spec_of(leaf));
      if (s.draws)
        all.insert(all.end(), 2, Spec{DType::i64, {}});
      if (s.hasScaleState())
        all.push_back(Spec{DType::f32, {}});
      std::vector<Tensor> result;
      auto traced =
          traceFunction(raw, "gradient", all, {}, {}, s.where, anyTree(result), [&](std::span<const Tensor> leaves) {
            size_t first = specs.size(), count = s.leaves.size();
            result = s.gradientOf(
                loss, leaves.first(first), leaves.subspan(first, count), s.draws ? leaves[first + count] : Tensor(),
                s.draws ? leaves[first + count + 1] : Tensor(), s.hasScaleState() ? leaves.back() : Tensor());
          });
      if (traced.error)
        return stop(errorTensor(*traced.error));
      if (Tensor wrong = s.say(raw, traced.function); wrong.defined())
        return stop(wrong);
      Module module = sinter::build(graph, build, s.where);
      if (module.error())
        return stop(errorTensor(*module.error()));
      made->runner = std::make_unique<Session>(std::move(module), nullptr, s.options.threads, s.where);
    } else {
      std::shared_ptr<sinter_graph> raw = s.build(specs, loss, false, error);
      if (!raw)
        return stop(errorTensor(*error));
      sinter_compile_options lowered{};
      lowered.struct_size = sizeof(lowered);
      lowered.opt_level = int32_t(build.opt_level);
      lowered.fast_math = build.fast_math;
      sinter_module *module = nullptr;
      if (sinter_graph_compile(raw.get(), &lowered, &module))
        return stop(s.problem(sinter_last_error()));
      made->session = std::make_unique<Session>(
          Module(module), SessionOptions{.function = "step", .threads = s.options.threads, .folder = s.options.folder},
          s.where);
    }
    Session *session = made->session ? made->session.get() : made->runner.get();
    if (session->error())
      return stop(errorTensor(*session->error()));
    form = made.get();
    s.forms.push_back(std::move(made));
  }
  if (s.options.eager) {
    std::vector<Tensor> inputs = given;
    inputs.insert(inputs.end(), s.leaves.begin(), s.leaves.end());
    if (s.draws)
      inputs.insert(inputs.end(), {s.moments.at(SINTER_SEED_STATE), s.moments.at("optimizer.step")});
    if (s.hasScaleState())
      inputs.push_back(s.moments.at(kLossScaleState));
    std::vector<Tensor> parts = (*form->runner)(inputs, s.where);
    if (parts[0].error())
      return stop(parts[0]);
    std::vector<Tensor> weights = s.weightsOf(s.leaves);
    Tensor counts = moveWeights(s.optimizer.settings(), weights, std::span(parts).subspan(1 + s.leaves.size()),
                                s.weightNames(), s.moments, parts[0], s.where);
    bool isSkipped = counts.defined() && !counts.item<bool>();
    size_t weight = 0;
    for (size_t k = 0; k < s.leaves.size(); ++k)
      s.leaves[k] = s.trained[k] ? weights[weight++] : s.changed[k] && !isSkipped ? parts[1 + k] : s.leaves[k];
    return parts[0];
  }
  if (s.current != form) {
    s.fetch();
    for (const KeptState &state : s.kept())
      if (Status status = form->session->set_state(state.name, state.value, s.where); !status)
        return stop(errorTensor(*status.error()));
    s.current = form;
  }
  Tensor loss0;
  if (Status status = form->session->call(given, std::span(&loss0, 1), s.where); !status)
    return stop(errorTensor(*status.error()));
  return loss0;
}

Status StepCore::compile(const CompileOptions &options, std::span<const AnyTree> batch, LossCall loss,
                         std::span<const AnyTree> inputs, AnyTree result, UseCall use) {
  State &s = *state_;
  s.fetch();
  std::shared_ptr<Error> error;
  std::vector<Spec> specs = specsOf(batch);
  std::shared_ptr<sinter_graph> graph = s.build(specs, loss, true, error);
  if (!graph)
    return report(*error);
  // The same states, of which it reads the model's.
  std::vector<Spec> all = specsOf(inputs);
  size_t first = all.size();
  std::vector<std::string> names = inputNames(options.inputs, first);
  for (size_t k = 0; k < s.leaves.size(); ++k) {
    all.push_back(spec_of(s.leaves[k]));
    names.push_back(s.names[k]);
  }
  auto traced = traceFunction(graph.get(), "infer", all, names, options.outputs, s.where, result,
                              [&](std::span<const Tensor> given) {
                                std::shared_ptr<void> used = s.tree.clone();
                                s.tree.at(used.get()).setLeaves(given.subspan(first));
                                use(used.get(), given.first(first), result.tree);
                              });
  if (traced.error)
    return report(*traced.error);
  for (size_t k = 0; k < s.leaves.size(); ++k)
    if (sinter_graph_state(graph.get(), traced.function, int32_t(first + k), -1, s.names[k].c_str(),
                           &s.leaves[k].view()))
      return report(Error(sinter_last_error(), s.where));
  return writeGraph(Graph(graph), options);
}

std::string StepCore::dump(const char *phase, std::span<const AnyTree> batch, LossCall loss) {
  State &s = *state_;
  s.fetch();
  std::shared_ptr<Error> error;
  std::shared_ptr<sinter_graph> graph = s.build(specsOf(batch), loss, false, error);
  if (!graph)
    return std::string("error: ") + error->what();
  sinter_compile_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.opt_level = int32_t(s.options.opt_level);
  lowered.fast_math = s.options.fast_math;
  const char *text = nullptr;
  if (sinter_graph_dump(graph.get(), phase, &lowered, &text))
    return std::string("error: ") + s.problem(sinter_last_error()).error()->what();
  return text;
}

void StepCore::model(AnyTree into) const {
  state_->fetch();
  into.setLeaves(state_->leaves);
}
Status StepCore::setModel(AnyTree from) {
  State &s = *state_;
  s.fetch();
  std::vector<Tensor> leaves = from.leaves();
  for (size_t k = 0; k < leaves.size(); ++k)
    if (k >= s.leaves.size() || !leaves[k].defined() || leaves[k].error() || !(leaves[k].type() == s.leaves[k].type()))
      return report(Error("set_model requires a model like the one that the step was made for", s.where));
  s.leaves = std::move(leaves);
  s.current = nullptr;
  return {};
}

std::vector<std::string> StepCore::states() const {
  std::vector<std::string> names;
  for (const KeptState &state : state_->kept())
    names.push_back(state.name);
  return names;
}
Tensor StepCore::state(const std::string &name, Where where) const {
  state_->fetch();
  for (const KeptState &state : state_->kept())
    if (state.name == name)
      return state.value;
  return fail(where, "a training step requires the name of a state, got '" + name + "'");
}
Status StepCore::setState(const std::string &name, const Tensor &value, Where where) {
  State &s = *state_;
  s.fetch();
  auto set = [&](Tensor &held) -> Status {
    if (!value.defined() || value.traced() || value.error() || !(value.type() == held.type()))
      return report(Error("set_state requires a tensor of type " + held.type().str() + " for '" + name + "', got " +
                              (value.defined() ? value.type().str() : std::string("none")),
                          where));
    held = value;
    s.current = nullptr;
    return {};
  };
  for (size_t k = 0; k < s.names.size(); ++k)
    if (s.names[k] == name)
      return set(s.leaves[k]);
  if (auto found = s.moments.find(name); found != s.moments.end())
    return set(found->second);
  return report(Error("a training step requires the name of a state, got '" + name + "'", where));
}
std::vector<std::string> StepCore::trained() const {
  return state_->known ? state_->weightNames() : std::vector<std::string>();
}

Status StepCore::save(const std::string &path, Where where) const {
  state_->fetch();
  std::vector<KeptState> all = state_->kept();
  std::vector<const char *> names;
  std::vector<sinter_tensor> views;
  for (const KeptState &state : all) {
    names.push_back(state.name.c_str());
    views.push_back(state.value.view());
  }
  if (sinter_status_code code = sinter_safetensors_write(path.c_str(), names.data(), views.data(), int32_t(all.size())))
    return report(Error(sinter_last_error(), where, StatusCode(code)));
  return {};
}

Status StepCore::load(const std::string &path, Where where) {
  State &s = *state_;
  s.fetch();
  sinter_safetensors *raw = nullptr;
  if (sinter_status_code code = sinter_safetensors_open(path.c_str(), &raw))
    return report(Error(sinter_last_error(), where, StatusCode(code)));
  std::unique_ptr<sinter_safetensors, void (*)(sinter_safetensors *)> file(raw, sinter_safetensors_close);
  std::vector<Tensor> values;
  std::vector<KeptState> all = s.kept();
  for (const KeptState &state : all) {
    sinter_tensor read{};
    if (sinter_status_code code = sinter_safetensors_read(raw, state.name.c_str(), &read))
      return report(Error(sinter_last_error(), where, StatusCode(code)));
    values.push_back(adoptTensor(read, where));
    if (!(values.back().type() == state.value.type()))
      return report(Error("'" + path + "' requires type " + state.value.type().str() + " for '" + state.name +
                              "', got " + values.back().type().str(),
                          where, StatusCode::corrupt));
  }
  if (!s.known)
    for (int32_t k = 0; k < sinter_safetensors_count(raw); ++k) {
      std::string name = sinter_safetensors_name(raw, k);
      sinter_tensor read{};
      if (sinter_status_code code = sinter_safetensors_read(raw, name.c_str(), &read))
        return report(Error(sinter_last_error(), where, StatusCode(code)));
      s.loaded[name] = adoptTensor(read, where);
    }
  for (size_t k = 0; k < s.leaves.size(); ++k)
    s.leaves[k] = values[k];
  size_t next = s.leaves.size();
  for (auto &[name, value] : s.moments)
    value = values[next++];
  s.current = nullptr;
  return {};
}

} // namespace detail

Graph train_step(const Graph &model, const GraphStepOptions &options, Where where) {
  if (model.error())
    return model;
  sinter_train_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.loss = options.loss.c_str();
  lowered.optimizer = options.optimizer.c_str();
  lowered.labels = options.labels.c_str();
  lowered.trainable = options.trainable.c_str();
  lowered.frozen = options.frozen.c_str();
  lowered.batch = options.batch;
  lowered.draws_weights = options.weight_seed.has_value();
  lowered.weight_seed = options.weight_seed.value_or(0);
  lowered.seed = options.seed;
  lowered.checkpoint = options.checkpoint.c_str();
  lowered.precision = options.precision.c_str();
  lowered.loss_scale = options.loss_scale.c_str();
  sinter_graph *step = nullptr;
  if (sinter_status_code code = sinter_graph_train_step(model.handle(), &lowered, &step))
    return Graph::failed(Error(sinter_last_error(), where, StatusCode(code)));
  return Graph(step);
}

} // namespace sinter::inline SINTER_HOST
