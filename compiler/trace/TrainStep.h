// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a training step is made of: the model, the optimizer and what it keeps, and the sessions that have them while it
// runs. train_graph.cpp traces its graphs, train.cpp runs and compiles them, train_states.cpp reads and writes what is
// kept.

#ifndef SINTER_TRACE_TRAINSTEP_H
#define SINTER_TRACE_TRAINSTEP_H

#include "train.hpp"

namespace sinter::inline SINTER_HOST::detail {

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
  std::vector<std::string> listedTables() const;
  Tensor countRows(LossCall loss, std::span<const Spec> batch, std::vector<int64_t> &counts) const;
  Tensor requireRoom(LossCall loss, std::span<const Spec> batch) const;
  Tensor say(sinter_graph *graph, int32_t function) const;
  std::vector<Tensor> stepOf(LossCall loss, std::span<const Tensor> batch, std::span<const Tensor> model,
                             std::span<const Tensor> states) const;
  std::vector<Tensor> gradientOf(LossCall loss, std::span<const Tensor> batch, std::span<const Tensor> model,
                                 const Tensor &seed, const Tensor &before, const Tensor &scale) const;
  std::shared_ptr<sinter_graph> build(std::span<const Spec> batch, LossCall loss, bool holdsValues,
                                      std::shared_ptr<Error> &error);
  std::shared_ptr<sinter_graph> buildGradient(std::span<const Spec> batch, LossCall loss, bool ofRows,
                                              std::shared_ptr<Error> &error) const;
  sinter_compile_options compileOptions() const;
  Tensor compileGradient(LossCall loss, std::span<const Spec> batch, StepForm &form);
  Tensor compileStep(LossCall loss, std::span<const Spec> batch, StepForm &form);
  /// The form that was compiled for batches like this one, null if none was.
  StepForm *formFor(std::span<const Tensor> batch) const;
  Tensor stepEagerly(const StepForm &form, std::vector<Tensor> inputs);
  Tensor give(StepForm &form);
  std::vector<KeptState> kept() const;
  void fetch();
};

/// The types of all leaves.
std::vector<Spec> specsOf(std::span<const AnyTree> trees);
/// Names for `count` leaves: those given, else arg0...
std::vector<std::string> inputNames(const std::vector<std::string> &given, size_t count);

} // namespace sinter::inline SINTER_HOST::detail

#endif
