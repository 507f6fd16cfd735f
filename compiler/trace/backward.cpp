// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk back over a tape. A node runs when all nodes that it gets cotangents from have run; of those that are ready,
// the latest goes first. What a node gets is added up in the order of time backwards, whichever thread ran first: so
// bits do not depend on threads, and are those of a gradient of the same ops as a graph.

#include "Apply.h"
#include "There.h"
#include <condition_variable>
#include <deque>
#include <functional>
#include <queue>
#include <thread>

namespace sinter::inline SINTER_HOST {
namespace detail {
namespace {

/// Threads that help; never destroyed, and waiting when nobody walks.
class Helpers {
public:
  static Helpers &get() {
    static Helpers &instance = *new Helpers();
    return instance;
  }
  void run(std::function<void()> job) {
    std::lock_guard guard(lock);
    jobs.push_back(std::move(job));
    if (idle < int(jobs.size()) && threads < most) {
      ++threads;
      std::thread([this] { work(); }).detach();
    }
    changed.notify_one();
  }
  const int most = std::max(1, int(std::thread::hardware_concurrency())) - 1;

private:
  void work() {
    std::unique_lock guard(lock);
    for (;;) {
      ++idle;
      changed.wait(guard, [&] { return !jobs.empty(); });
      --idle;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      guard.unlock();
      job();
      job = nullptr;
      guard.lock();
    }
  }
  std::mutex lock;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  int threads = 0, idle = 0;
};

struct Contribution {
  uint64_t from; // the number of the node that gave it
  size_t edge;
  Tensor cotangent;
};

class Walk {
public:
  Walk(const BackwardOptions &options, Where where) : options(options), where(where) {}

  /// `targets`: nodes whose cotangents are asked for, all leaves when there is none.
  void plan(std::span<const Tensor> outputs, std::span<const Tensor> targets);
  void run();

  std::shared_ptr<Error> error;
  /// The cotangents of `targets`.
  std::vector<Tensor> found;

private:
  struct State {
    TapeNode *node;
    int pending = 0; // nodes that still give it cotangents
    bool isNeeded = false;
    std::vector<std::vector<Contribution>> got; // by output
  };
  struct Earlier {
    bool operator()(const State *a, const State *b) const { return a->node->number < b->node->number; }
  };

  void work(bool isCaller);
  void runNode(State &state, std::vector<Tensor> &gradients);
  Tensor sum(std::vector<Contribution> &list);
  bool watched(TapeNode *node, uint32_t output, Tensor &gradient);
  void invite();
  void failWith(const Tensor &problem) {
    std::lock_guard guard(lock);
    if (!error)
      error = std::make_shared<Error>(*problem.error());
  }

  const BackwardOptions &options;
  Where where;
  std::unordered_map<TapeNode *, State> states;
  std::vector<NodeRef> held;
  std::vector<std::pair<TapeNode *, uint32_t>> asked;
  bool keepsLeaves = true;

  std::mutex lock;
  std::condition_variable changed;
  std::priority_queue<State *, std::vector<State *>, Earlier> ready;
  size_t remaining = 0;
  int helpers = 0;

public:
  std::vector<std::pair<NodeRef, Contribution>> seeds; // in the order of outputs; `edge` is the output's number
};

} // namespace

void Walk::plan(std::span<const Tensor> outputs, std::span<const Tensor> targets) {
  std::vector<TapeNode *> order;
  auto reach = [&](TapeNode *node) {
    auto [at, isNew] = states.try_emplace(node);
    if (isNew) {
      at->second.node = node;
      order.push_back(node);
    }
  };
  for (const Tensor &output : outputs)
    reach(output.value()->node);
  for (size_t k = 0; k < order.size(); ++k)
    for (const TapeEdge &edge : order[k]->edges)
      reach(edge.node.get());
  keepsLeaves = targets.empty();
  for (const Tensor &target : targets) {
    asked.emplace_back(target.value()->node, target.value()->output);
    if (auto at = states.find(target.value()->node); at != states.end())
      at->second.isNeeded = true;
  }
  found.resize(targets.size());
  std::sort(order.begin(), order.end(), [](TapeNode *a, TapeNode *b) { return a->number < b->number; });
  for (TapeNode *node : order) {
    State &state = states[node];
    state.isNeeded |= keepsLeaves;
    for (const TapeEdge &edge : node->edges)
      state.isNeeded |= states[edge.node.get()].isNeeded;
    state.got.resize(node->outputs.size());
    if (state.isNeeded)
      ++remaining;
  }
  for (TapeNode *node : order)
    if (states[node].isNeeded)
      for (const TapeEdge &edge : node->edges)
        ++states[edge.node.get()].pending;
  for (size_t k = 0; k < seeds.size(); ++k)
    states[seeds[k].first.get()].got[seeds[k].second.edge].push_back({~uint64_t(0), k, seeds[k].second.cotangent});
  for (TapeNode *node : order)
    if (State &state = states[node]; state.isNeeded && state.pending == 0)
      ready.push(&state);
}

Tensor Walk::sum(std::vector<Contribution> &list) {
  std::sort(list.begin(), list.end(), [](const Contribution &a, const Contribution &b) {
    return a.from != b.from ? a.from > b.from : a.edge < b.edge;
  });
  Tensor total;
  for (Contribution &each : list)
    total = total.defined() ? apply("add", {total, each.cotangent}, {}, where) : each.cotangent;
  list.clear();
  return total;
}

/// Calls hooks and keeps the gradient where that was asked; false after an error, which is noted.
bool Walk::watched(TapeNode *node, uint32_t output, Tensor &gradient) {
  std::vector<std::pair<int64_t, HookCall>> hooks;
  {
    std::lock_guard guard(TapeNode::watchLock());
    GradientWatch *watch = node->watch(output, false);
    if (!watch)
      return true;
    hooks = watch->hooks;
  }
  static std::mutex &hookLock = *new std::mutex();
  if (!hooks.empty()) {
    std::lock_guard guard(hookLock);
    for (auto &[number, hook] : hooks) {
      Tensor replaced = hook.call(hook.function.get(), gradient);
      if (!replaced.defined())
        continue;
      if (!replaced.error() && !(replaced.type() == gradient.type()))
        replaced = fail(where, "a hook requires a gradient of type " + gradient.type().str() + ", got " +
                                   replaced.type().str());
      if (replaced.error())
        return failWith(replaced), false;
      gradient = replaced;
    }
  }
  if (node->isLeaf() && !keepsLeaves)
    return true;
  Tensor before;
  {
    std::lock_guard guard(TapeNode::watchLock());
    GradientWatch *watch = node->watch(output, false);
    if (!watch->keeps)
      return true;
    before = watch->gradient;
  }
  Tensor total = before.defined() && node->isLeaf() ? apply("add", {before, gradient}, {}, where) : gradient;
  if (total.error())
    return failWith(total), false;
  std::lock_guard guard(TapeNode::watchLock());
  node->watch(output, false)->gradient = total;
  return true;
}

void Walk::runNode(State &state, std::vector<Tensor> &gradients) {
  TapeNode *node = state.node;
  std::vector<Tensor> cotangents(state.got.size());
  bool isReached = false;
  for (size_t k = 0; k < cotangents.size(); ++k) {
    cotangents[k] = sum(state.got[k]);
    if (!cotangents[k].defined())
      continue;
    if (cotangents[k].error())
      return failWith(cotangents[k]);
    isReached = true;
    if (!watched(node, uint32_t(k), cotangents[k]))
      return;
    for (size_t target = 0; target < asked.size(); ++target)
      if (asked[target] == std::pair(node, uint32_t(k)))
        found[target] = cotangents[k];
  }
  if (node->isLeaf() || !isReached)
    return;
  bool leads = false;
  for (const TapeEdge &edge : node->edges)
    leads |= states.find(edge.node.get())->second.isNeeded;
  if (!leads)
    return;
  if (node->forgotten)
    return failWith(
        errorTensor(Error("backward requires what was recorded, got " + node->name + " at " + place(node->where) +
                              ", which was walked before and given back; pass retain_graph to the first walk",
                          where)));
  Tensor problem;
  gradients.resize(node->edges.size());
  if (!node->backward(cotangents, gradients, options.create_graph, problem))
    return failWith(problem);
  if (!options.retain_graph && !options.create_graph)
    node->forget();
}

/// Under the lock: asks for help when several large nodes are ready.
void Walk::invite() {
  constexpr int64_t largeWork = 1 << 14;
  int most = options.threads ? options.threads - 1 : Helpers::get().most;
  if (ready.size() < 2 || helpers >= std::min(most, Helpers::get().most) || ready.top()->node->work() < largeWork)
    return;
  ++helpers;
  Helpers::get().run([this] { work(false); });
}

void Walk::work(bool isCaller) {
  bool before = std::exchange(recording(), options.create_graph);
  std::unique_lock guard(lock);
  for (;;) {
    if (error || remaining == 0 || (ready.empty() && !isCaller))
      break;
    if (ready.empty()) {
      changed.wait(guard);
      continue;
    }
    State *state = ready.top();
    ready.pop();
    invite();
    guard.unlock();
    std::vector<Tensor> gradients;
#if SINTER_HAS_EXCEPTIONS
    std::shared_ptr<Error> thrown;
    try {
      runNode(*state, gradients);
    } catch (const Error &caught) {
      thrown = std::make_shared<Error>(caught);
    } catch (const std::exception &caught) {
      thrown = std::make_shared<Error>(caught.what(), where);
    }
#else
    runNode(*state, gradients);
#endif
    guard.lock();
#if SINTER_HAS_EXCEPTIONS
    if (thrown && !error)
      error = thrown;
#endif
    --remaining;
    for (size_t k = 0; k < state->node->edges.size() && !error; ++k) {
      const TapeEdge &edge = state->node->edges[k];
      State &next = states.find(edge.node.get())->second;
      if (k < gradients.size() && gradients[k].defined() && next.isNeeded)
        next.got[edge.output].push_back({state->node->number, k, std::move(gradients[k])});
      if (--next.pending == 0 && next.isNeeded)
        ready.push(&next);
    }
    changed.notify_all();
  }
  if (!isCaller) {
    --helpers;
    changed.notify_all();
  } else {
    changed.wait(guard, [&] { return helpers == 0; });
  }
  guard.unlock();
  recording() = before;
}

void Walk::run() { work(true); }

/// Checks outputs and seeds and walks; false with the error in `walk`.
static bool walkBack(Walk &walk, const char *function, std::span<const Tensor> outputs, std::span<const Tensor> seeds,
                     std::span<const Tensor> targets, Where where) {
  auto refuse = [&](const std::string &message) {
    walk.error = std::make_shared<Error>(std::string(function) + " requires " + message, where);
    return false;
  };
  if (!seeds.empty() && seeds.size() != outputs.size())
    return refuse("a seed for each output or none, got " + std::to_string(seeds.size()) + " for " +
                  std::to_string(outputs.size()));
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Tensor &output = outputs[k];
    if (output.error()) {
      walk.error = std::make_shared<Error>(*output.error());
      return false;
    }
    if (!output.defined() || output.traced())
      return refuse(output.traced() ? "tensors with elements, got one of a trace; use grad inside of a trace"
                                    : "tensors, got a Tensor() without a value");
    if (!output.needs_grad())
      return refuse("a tensor that was computed from one with requires_grad, got " + output.type().str() +
                    " that was not");
    Tensor seed = k < seeds.size() ? seeds[k] : Tensor();
    if (seed.error()) {
      walk.error = std::make_shared<Error>(*seed.error());
      return false;
    }
    if (!seed.defined() && output.known_size() != 1)
      return refuse("a tensor of one element or a seed, got " + output.type().str());
    if (!seed.defined()) {
      seed = zerosOf(output.type(), where, nullptr);
      visitDType(output.dtype(), [&]<class T>(T) { *static_cast<T *>(seed.view().data) = convertNumber<T>(1.0); });
      seed = moved(seed, deviceOf(output), where);
    } else if (seed.weak() && !seed.traced()) {
      seed = convert(seed, output.dtype(), where);
    }
    if (seed.rank() == 0 && !seed.error() && !seed.traced())
      seed = moved(seed, deviceOf(output), where);
    if (seed.error()) {
      walk.error = std::make_shared<Error>(*seed.error());
      return false;
    }
    if (deviceOf(seed) != deviceOf(output))
      return refuse("a seed on " + output.device() + ", got one on " + seed.device() + " (move it with to)");
    if (!(seed.type() == output.type()))
      return refuse("a seed of type " + output.type().str() + ", got " + seed.type().str());
    walk.seeds.push_back({NodeRef(output.value()->node), {0, output.value()->output, seed}});
  }
  for (const Tensor &target : targets)
    if (!target.needs_grad())
      return refuse("inputs that need a gradient, got " +
                    (target.defined() ? target.type().str() + " that does not" : "a Tensor() without a value"));
  walk.plan(outputs, targets);
  walk.run();
  return !walk.error;
}

} // namespace detail

Status backward(std::span<const Tensor> outputs, std::span<const Tensor> seeds, const BackwardOptions &options,
                Where where) {
  detail::Walk walk(options, where);
  if (!detail::walkBack(walk, "backward", outputs, seeds, {}, where))
    return detail::report(*walk.error);
  return {};
}

Status backward(const Tensor &output, const Tensor &seed, const BackwardOptions &options, Where where) {
  return backward(std::span(&output, 1), std::span(&seed, seed.defined() ? 1 : 0), options, where);
}

std::vector<Tensor> gradients(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                              const std::vector<Tensor> &seeds, const BackwardOptions &options, Where where) {
  if (inputs.empty())
    return {};
  detail::Walk walk(options, where);
  if (!detail::walkBack(walk, "gradients", outputs, seeds, inputs, where)) {
    (void)detail::report(*walk.error);
    return std::vector<Tensor>(inputs.size(), detail::errorTensor(*walk.error));
  }
  for (size_t k = 0; k < inputs.size(); ++k)
    if (!walk.found[k].defined())
      walk.found[k] = detail::zerosOf(inputs[k].type(), where, detail::deviceOf(inputs[k]));
  return std::move(walk.found);
}

} // namespace sinter::inline SINTER_HOST
