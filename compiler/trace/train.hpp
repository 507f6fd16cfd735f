// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training steps: a loss over a model and a batch, its gradient and an optimizer as one function whose weights and
// moments are states.
//
//   auto step = sinter::train_step([](Net &net, Tensor x, Tensor y) { return sinter::cross_entropy(net(x), y); },
//                                  net, sinter::optim::adamw({.lr = 1e-3}));
//   for (...) Tensor loss = step(x, y);
//   net = step.model();
//   step.compile({.output = "net.o"}, [](Net &net, Tensor x) { return net(x); }, std::tuple(x), std::tuple(x, y));

#ifndef SINTER_TRACE_TRAIN_HPP
#define SINTER_TRACE_TRAIN_HPP

#include "gradient.hpp"
#include "mode.hpp"
#include "optim.hpp"
#include <optional>

namespace sinter::inline SINTER_HOST {

struct StepOptions {
  /// The optimizer's ops run one by one, and only loss and gradient are compiled: for looking for errors.
  bool eager = false;
  /// Of random numbers in training: the first value of the state `random.seed`.
  uint64_t seed = 0;
  /// POSIX extended regular expressions: leaves whose names match are trained, are not; empty: all, none.
  std::string trainable = {}, frozen = {};
  OptLevel opt_level = OptLevel::standard;
  int threads = 0; // 0: all cores
  bool fast_math = false;
  bool kernel_cache = false; // as in JitOptions
  /// What the step keeps of activations, and what it computes again: none, full (the smallest arena), named:REGEX
  /// (blocks by the names of their leaves: "layers\\.[0-9]+\\."), budget:64M, budget:40%; empty: none. Results keep
  /// their bits. A budget that cannot be met is an error that tells the least.
  std::string checkpoint = {};
  /// What products and convolutions of f32 multiply in, gradients' too, as `sinter compile --precision` says it: bf16,
  /// f16, "bf16,convolution=f32"; empty: f32. Weights, the optimizer's states, sums and losses stay f32;
  /// what is kept for the backward part does not, unless it says activation=f32.
  std::string precision = {};
  /// What the loss is multiplied with while gradients are computed: none, a number, or
  /// dynamic[:init=65536,growth=2,backoff=0.5,interval=2000], as torch.amp.GradScaler. A step whose gradients are not
  /// finite changes no state but these: `optimizer.loss_scale`, and `optimizer.skipped`, which counts such steps.
  /// Empty: dynamic where `precision` names f16, else none.
  std::string loss_scale = {};
  /// A folder for states and activations: they lie in files that are mapped (sinter_session_options.folder), so that
  /// the step needs less memory than they are large. The same bits; not for `eager`. Empty: in memory.
  std::string folder = {};
  /// Names of what a step takes, in the order of leaves, for code that is compiled ahead of time.
  std::vector<std::string> inputs = {};
};

namespace detail {

/// `loss(model, batch)`: reads and may change the model at `model`; the batch as leaves.
using LossCall = FunctionRef<Tensor(void *model, std::span<const Tensor> batch, nn::Mode &mode)>;
/// A use of the model that fills `result`.
using UseCall = FunctionRef<void(void *model, std::span<const Tensor> inputs, void *result)>;

class StepCore {
public:
  StepCore(AnyTree model, const optim::Optimizer &optimizer, StepOptions options, Where where);
  Tensor call(std::span<const AnyTree> batch, LossCall loss);
  /// Writes `step` over `batch`, and `infer` over `inputs`, whose leaves are examples.
  Status compile(const CompileOptions &options, std::span<const AnyTree> batch, LossCall loss,
                 std::span<const AnyTree> inputs, AnyTree result, UseCall use);
  /// The text of a phase for such batches.
  std::string dump(const char *phase, std::span<const AnyTree> batch, LossCall loss);
  void model(AnyTree into) const;
  Status setModel(AnyTree from);
  std::vector<std::string> states() const;
  Tensor state(const std::string &name, Where where) const;
  Status setState(const std::string &name, const Tensor &value, Where where);
  Status save(const std::string &path, Where where) const;
  Status load(const std::string &path, Where where);
  std::vector<std::string> trained() const;
  const Error *error() const;

private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class... Trees> void setTuple(std::tuple<Trees...> &trees, std::span<const Tensor> leaves) {
  std::apply(
      [&](auto &...tree) {
        const AnyTree list[] = {anyTree(tree)..., {}};
        setLeaves(std::span(list, sizeof...(Trees)), leaves);
      },
      trees);
}

} // namespace detail

/// A training step, made by `train_step`. Copies share the states.
template <class Loss, class Model> class TrainStep {
public:
  TrainStep(Loss loss, const Model &model, const optim::Optimizer &optimizer, StepOptions options, Where where)
      : loss(std::move(loss)), core(detail::anyTree(model), optimizer, std::move(options), where), like(model) {}

  /// Moves the weights by one batch; returns the loss before. Compiled for each signature of the batch.
  template <class... Batch> Tensor operator()(const Batch &...batch) {
    std::tuple<detail::tree_t<Batch>...> trees(batch...);
    return std::apply(
        [&](auto &...tree) {
          const detail::AnyTree list[] = {detail::anyTree(tree)..., {}};
          return core.call(std::span(list, sizeof...(Batch)), lossOf(trees));
        },
        trees);
  }

  /// The model with the weights as they are now.
  Model model() const {
    Model result = like;
    core.model(detail::anyTree(result));
    return result;
  }
  Status set_model(const Model &model) { return core.setModel(detail::anyTree(model)); }

  /// Names of the states: leaves of the model as torch names them, moments, random.seed. Complete once a step was made.
  std::vector<std::string> states() const { return core.states(); }
  Tensor state(const std::string &name, Where where = Where::current()) const { return core.state(name, where); }
  Status set_state(const std::string &name, const Tensor &value, Where where = Where::current()) {
    return core.setState(name, value, where);
  }
  /// Names of the leaves that the step moves. Known once a step was made.
  std::vector<std::string> trained() const { return core.trained(); }
  /// All states to and from a safetensors file, with which `sinter train` and programs in C go on.
  Status save(const std::string &path, Where where = Where::current()) const { return core.save(path, where); }
  Status load(const std::string &path, Where where = Where::current()) { return core.load(path, where); }
  /// The error of the last step, in a program without exceptions.
  const Error *error() const { return core.error(); }

  /// Compiles ahead of time what `sinter train-step` writes: STEM_init, _step, _infer, _save, _load with their header,
  /// or a module, library or program, by the suffix of `options.output`. `infer(model, inputs...)` is how the model is
  /// used; `inputs` and `batch` are tuples of examples, whose elements do not matter. First values are the weights as
  /// they are now.
  template <class Infer, class... Inputs, class... Batch>
  Status compile(const CompileOptions &options, Infer &&infer, const std::tuple<Inputs...> &inputs,
                 const std::tuple<Batch...> &batch) {
    std::tuple<detail::tree_t<Inputs>...> used(inputs);
    std::tuple<detail::tree_t<Batch>...> trees(batch);
    using Result = detail::tree_t<std::invoke_result_t<Infer &, Model &, const detail::tree_t<Inputs> &...>>;
    Result result{};
    const detail::AnyTree batchTree[] = {detail::anyTree(trees)}, usedTree[] = {detail::anyTree(used)};
    return core.compile(
        options, batchTree, lossOf(trees), usedTree, detail::anyTree(result),
        [&](void *model, std::span<const Tensor> leaves, void *out) {
          auto given = used;
          detail::setTuple(given, leaves);
          *static_cast<Result *>(out) = detail::treeCast<Result>(
              std::apply([&](const auto &...input) { return infer(*static_cast<Model *>(model), input...); }, given));
        });
  }

  /// The text of a phase of the compiler for such a batch, as Jitted::dump gives it: what a call compiles, kernel by
  /// kernel. Nothing is kept.
  template <class... Batch> std::string dump(const char *phase, const Batch &...batch) {
    std::tuple<detail::tree_t<Batch>...> trees(batch...);
    const detail::AnyTree list[] = {detail::anyTree(trees)};
    return core.dump(phase, list, lossOf(trees));
  }

private:
  template <class... Trees> auto lossOf(const std::tuple<Trees...> &trees) {
    return [&trees, this](void *model, std::span<const Tensor> leaves, nn::Mode &mode) -> Tensor {
      auto given = trees;
      detail::setTuple(given, leaves);
      Model &of = *static_cast<Model *>(model);
      return std::apply(
          [&](const auto &...tree) -> Tensor {
            if constexpr (std::is_invocable_v<Loss &, Model &, nn::Mode &, decltype(tree)...>)
              return loss(of, mode, tree...);
            else
              return loss(of, tree...);
          },
          given);
    };
  }

  Loss loss;
  detail::StepCore core;
  Model like;
};

/// A step that trains `model` by `loss(model, batch...)`, a float of rank 0, or `loss(model, mode, batch...)` where
/// layers need the mode (nn::Mode). Leaves that the loss changes are statistics and are kept; all other float leaves
/// are weights.
template <class Loss, class Model>
auto train_step(Loss &&loss, const Model &model, const optim::Optimizer &optimizer, StepOptions options = {},
                Where where = Where::current()) {
  return TrainStep<std::decay_t<Loss>, Model>(std::forward<Loss>(loss), model, optimizer, std::move(options), where);
}

/// How the model of a graph is trained; texts as of `sinter train-step`.
struct GraphStepOptions {
  std::string loss, optimizer;              // --loss, --optimizer
  std::string labels = "i64";               // element type
  std::string trainable = {}, frozen = {};  // names of weights
  int64_t batch = 0;                        // size of first dims that an ONNX model leaves open; 0: they stay open
  std::optional<uint64_t> weight_seed = {}; // draws weights without a first value
  uint64_t seed = 0;                        // of random numbers
  std::string checkpoint = {};              // as in StepOptions, as are
  std::string precision = {};               // empty: as the model says, else f32
  std::string loss_scale = {};
};
/// A graph of the functions `step` and `infer` over the same states, from one that was loaded (ONNX: the file is read
/// again, and its float initializers are the weights) or recorded with states. `build` or `compile` it.
Graph train_step(const Graph &model, const GraphStepOptions &options, Where where = Where::current());

} // namespace sinter::inline SINTER_HOST

#endif
