// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "train.hpp"
#include "Functions.h"
#include "There.h"
#include "Trace.h"
#include "TrainStep.h"
#include "compiler/train/LossScale.h"
#include <sinter/abi.h>

namespace sinter::inline SINTER_HOST {

Key nn::Mode::next(Where where) {
  if (!key.words.defined())
    return sinter::key(
        Operand(detail::fail(where, "random numbers in training require a key (Mode::key), got none"), where));
  return key.fold_in(Operand(draws++, where));
}

namespace detail {

StepCore::StepCore(AnyTree model, const optim::Optimizer &optimizer, StepOptions options, Where where)
    : state_(std::make_shared<State>(optimizer, std::move(options), where)) {
  State &s = *state_;
  s.model = model.clone();
  s.tree = model.at(s.model.get());
  s.names = stateNames(s.tree);
  s.leaves = s.tree.leaves();
}

const Error *StepCore::error() const { return state_->failure.get(); }

sinter_compile_options StepCore::State::compileOptions() const {
  sinter_compile_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.opt_level = int32_t(options.opt_level);
  lowered.fast_math = options.fast_math;
  lowered.kernel_cache = options.kernel_cache;
  return lowered;
}

static std::vector<Tensor> leavesOfAll(std::span<const AnyTree> trees) {
  std::vector<Tensor> all;
  for (const AnyTree &tree : trees)
    for (const Tensor &leaf : tree.leaves())
      all.push_back(leaf);
  return all;
}

/// Loss and gradient of batches of these types as a function that is compiled, for an optimizer that runs op by op.
/// Undefined unless something is wrong.
Tensor StepCore::State::compileGradient(LossCall loss, std::span<const Spec> batch, StepForm &form) {
  if (Tensor wrong = known ? requireRoom(loss, batch) : explore(loss, batch); wrong.defined())
    return wrong;
  std::shared_ptr<Error> error;
  std::shared_ptr<sinter_graph> graph = buildGradient(batch, loss, /*ofRows=*/false, error);
  if (!graph)
    return errorTensor(*error);
  BuildOptions build;
  build.opt_level = options.opt_level;
  build.fast_math = options.fast_math;
  build.kernel_cache = options.kernel_cache;
  Module module = sinter::build(Graph(graph), build, where);
  if (module.error())
    return errorTensor(*module.error());
  form.runner = std::make_unique<Session>(std::move(module), nullptr, options.threads, where);
  return form.runner->error() ? errorTensor(*form.runner->error()) : Tensor();
}

/// The whole step for batches of these types, compiled. Undefined unless something is wrong.
Tensor StepCore::State::compileStep(LossCall loss, std::span<const Spec> batch, StepForm &form) {
  std::shared_ptr<Error> error;
  std::shared_ptr<sinter_graph> graph = build(batch, loss, false, error);
  if (!graph)
    return errorTensor(*error);
  sinter_compile_options lowered = compileOptions();
  sinter_module *module = nullptr;
  if (sinter_graph_compile(graph.get(), &lowered, &module))
    return problem(sinter_last_error());
  SessionOptions session{.function = "step", .threads = options.threads, .folder = options.folder};
  form.session = std::make_unique<Session>(Module(module), session, where);
  return form.session->error() ? errorTensor(*form.session->error()) : Tensor();
}

/// Steps with the compiled gradient and the optimizer op by op; the loss.
Tensor StepCore::State::stepEagerly(const StepForm &form, std::vector<Tensor> inputs) {
  inputs.insert(inputs.end(), leaves.begin(), leaves.end());
  if (draws)
    inputs.insert(inputs.end(), {moments.at(SINTER_SEED_STATE), moments.at("optimizer.step")});
  if (hasScaleState())
    inputs.push_back(moments.at(kLossScaleState));
  std::vector<Tensor> parts = (*form.runner)(inputs, where);
  if (parts[0].error())
    return parts[0];
  std::vector<Tensor> weights = weightsOf(leaves);
  Tensor counts = moveWeights(optimizer.settings(), weights, std::span(parts).subspan(1 + leaves.size()), weightNames(),
                              moments, parts[0], where);
  bool isSkipped = counts.defined() && !counts.item<bool>();
  size_t weight = 0;
  for (size_t k = 0; k < leaves.size(); ++k)
    leaves[k] = trained[k] ? weights[weight++] : changed[k] && !isSkipped ? parts[1 + k] : leaves[k];
  return parts[0];
}

/// Gives the states to the session of `form`, which then has them. Undefined unless something is wrong.
Tensor StepCore::State::give(StepForm &form) {
  if (current == &form)
    return Tensor();
  fetch();
  for (const KeptState &state : kept())
    if (Status status = form.session->set_state(state.name, state.value, where); !status)
      return errorTensor(*status.error());
  current = &form;
  return Tensor();
}

StepForm *StepCore::State::formFor(std::span<const Tensor> batch) const {
  for (const std::unique_ptr<StepForm> &known : forms)
    if (std::equal(batch.begin(), batch.end(), known->batch.begin(), known->batch.end(),
                   [](const Tensor &leaf, const TensorType &type) { return leaf.type() == type; }))
      return known.get();
  return nullptr;
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
      else if (deviceOf(leaf))
        return stop(s.problem("a training step runs on the CPU and requires tensors of the host, got " + placed(leaf) +
                              " (copy them with to, or train op by op with backward)"));
  StepForm *form = s.formFor(given);
  if (!form) {
    auto made = std::make_unique<StepForm>();
    for (const Tensor &leaf : given)
      made->batch.push_back(leaf.type());
    s.fetch();
    s.current = nullptr;
    std::vector<Spec> specs = specsOf(batch);
    if (Tensor wrong = s.options.eager ? s.compileGradient(loss, specs, *made) : s.compileStep(loss, specs, *made);
        wrong.defined())
      return stop(wrong);
    form = s.forms.emplace_back(std::move(made)).get();
  }
  if (s.options.eager) {
    Tensor value = s.stepEagerly(*form, given);
    return value.error() ? stop(value) : value;
  }
  if (Tensor wrong = s.give(*form); wrong.defined())
    return stop(wrong);
  Tensor value;
  if (Status status = form->session->call(given, std::span(&value, 1), s.where); !status)
    return stop(errorTensor(*status.error()));
  return value;
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
  sinter_compile_options lowered = s.compileOptions();
  const char *text = nullptr;
  if (sinter_graph_dump(graph.get(), phase, &lowered, &text))
    return std::string("error: ") + s.problem(sinter_last_error()).error()->what();
  return text;
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
