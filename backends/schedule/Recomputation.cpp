// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Recomputation.h"
#include "backends/schedule/RecomputeModel.h"
#include "backends/schedule/SchedulePlan.h"
#include "runtime/arena.h"
#include "llvm/Support/Regex.h"
#include <cmath>

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

using Outcome = RecomputeModel::Outcome;

/// Sizes of blocks that are tried, each smaller than the one before by the square root of 2.
static constexpr int kBlockSizes = 16;
/// How often a price is halved between these two, in bytes for a nanosecond.
static constexpr int kPrices = 12;
static constexpr double kLeastPrice = 1e-4, kMostPrice = 1e6;
/// Choices that are looked at more closely, and arenas that are planned until one fits.
static constexpr size_t kCandidates = 4, kTries = 6;

/// The first few of `all` by `key`, smallest first; of equal ones the earlier.
template <class T, class Key> static std::vector<T *> firstOf(std::vector<T> &all, size_t count, Key key) {
  std::vector<std::pair<decltype(key(all.front())), size_t>> order;
  for (size_t k = 0; k < all.size(); ++k)
    order.emplace_back(key(all[k]), k);
  llvm::sort(order);
  std::vector<T *> result;
  for (auto [value, k] : ArrayRef(order).take_front(count))
    result.push_back(&all[k]);
  return result;
}

/// Bytes of the arena that a plan takes, or nothing where sizes are open.
static std::optional<int64_t> arenaBytes(const SchedulePlan &plan) {
  SmallVector<sinter_buffer_life> lives;
  SmallVector<int64_t> bytes;
  for (int i = 0; i < plan.numSlots(); ++i) {
    const Slot &slot = plan.slot(i);
    if (slot.kind != Slot::Kind::Planned || slot.mergedInto >= 0 || slot.last < 0)
      continue;
    if (!slot.bytes.isConstant())
      return std::nullopt;
    lives.push_back({slot.first, slot.last});
    bytes.push_back(slot.bytes.constant());
  }
  int64_t total = 0;
  if (sinter_arena_bytes(lives.data(), static_cast<int64_t>(lives.size()), bytes.data(), &total) != SINTER_OK)
    return std::nullopt;
  return total;
}

/// Moves what only the function's results are made of (new weights and moments) behind what it is computed from, and
/// single numbers, which that may need, to the front: else all gradients of a step would wait for its last part. What
/// may not be written yet is put off again when memory is planned.
static void replaceStatesEarly(func::FuncOp function) {
  Block &block = function.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    bool isLast = !op->use_empty() &&
                  llvm::all_of(op->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    bool isNumber =
        llvm::all_of(op->getOperandTypes(), isOneElement) && llvm::all_of(op->getResultTypes(), isOneElement);
    if (!isa<KernelOp>(op) || !(isLast || isNumber))
      continue;
    Operation *after = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); producer && (!after || after->isBeforeInBlock(producer)))
        after = producer;
    if (after)
      op->moveAfter(after);
    else
      op->moveBefore(&block, block.begin());
  }
}

namespace {
class Search {
public:
  Search(func::FuncOp function, ShapeAnalysis &sizes, KernelLaunches &launches, bool registers, bool statesInPlace)
      : function(function), sizes(sizes), launches(launches), registers(registers), statesInPlace(statesInPlace),
        model(function, sizes, launches, registers), none(model.simulate(Flags(model.allSteps().size()))) {
    auto isOpen = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor && !tensor.hasStaticShape();
    };
    hasOpenSizes =
        llvm::any_of(function.getArgumentTypes(), isOpen) ||
        function
            .walk([&](Operation *op) {
              return llvm::any_of(op->getResultTypes(), isOpen) ? WalkResult::interrupt() : WalkResult::advance();
            })
            .wasInterrupted();
  }

  FailureOr<KeepReport> run(const KeepPolicy &policy) {
    KeepReport report;
    std::optional<Outcome> chosen;
    bool isBudget = policy.kind == KeepPolicy::Kind::Bytes || policy.kind == KeepPolicy::Kind::Share;
    std::optional<int64_t> all = planned(nullptr);
    if (isBudget && !all)
      return function.emitError() << "a budget of bytes for checkpoints requires fixed sizes in '" << function.getName()
                                  << "', some are open",
             failure();
    report.arenaBytes = report.arenaBytesOfAll = all.value_or(-1);
    int64_t budget = policy.kind == KeepPolicy::Kind::Bytes || !isBudget
                         ? policy.bytes
                         : static_cast<int64_t>(policy.share * static_cast<double>(*all));
    if (isBudget && *all <= budget) {
      report.launches = static_cast<unsigned>(model.allSteps().size());
      return report;
    }
    replaceStatesEarly(function);
    model = RecomputeModel(function, sizes, launches, registers);
    none = model.simulate(Flags(model.allSteps().size()));
    if (std::optional<int64_t> bytes = planned(&none); bytes && none.peakBytes)
      ratio = static_cast<double>(*bytes) / static_cast<double>(none.peakBytes);
    if (policy.kind == KeepPolicy::Kind::Named) {
      FailureOr<Outcome> named = runNamed(policy.names);
      if (failed(named))
        return failure();
      chosen = *named;
    } else if (policy.kind == KeepPolicy::Kind::Full) {
      chosen = least();
    } else if (isBudget) {
      chosen = planned(&none).value_or(INT64_MAX) <= budget ? none : withinBudget(budget);
      if (!chosen)
        return function.emitError() << "a budget of " << budget << " bytes for checkpoints in '" << function.getName()
                                    << "' cannot be met: the least is " << planned(&least()).value_or(0) << ", and "
                                    << *all << " keeps all",
               failure();
    }
    if (!chosen || chosen->repeated == 0)
      chosen = none;
    report.arenaBytes = planned(&*chosen).value_or(-1);
    report.launches = static_cast<unsigned>(model.allSteps().size());
    report.repeated = chosen->repeated;
    report.addedWork = model.totalNs() > 0 ? chosen->addedNs / model.totalNs() : 0;
    if (chosen->repeated) {
      SmallVector<Operation *> ops;
      for (const RecomputeModel::Step &step : model.allSteps())
        ops.push_back(step.op);
      RecomputeModel::apply(model, *chosen, ops, launches);
    }
    return report;
  }

private:
  /// The arena as it will be, planned on a clone; without an outcome that of the function as it is.
  std::optional<int64_t> planned(const Outcome *outcome) {
    if (hasOpenSizes)
      return std::nullopt;
    OwningOpRef<func::FuncOp> clone(function.clone());
    DenseMap<Operation *, Operation *> places;
    SmallVector<Operation *> from, to;
    function->walk([&](Operation *op) { from.push_back(op); });
    (*clone)->walk([&](Operation *op) { to.push_back(op); });
    KernelLaunches copies;
    for (auto [a, c] : llvm::zip(from, to)) {
      places[a] = c;
      if (auto launch = launches.find(a); launch != launches.end())
        copies[c] = launch->second;
    }
    if (outcome && outcome->repeated) {
      SmallVector<Operation *> ops;
      for (const RecomputeModel::Step &step : model.allSteps())
        ops.push_back(places.lookup(step.op));
      RecomputeModel::apply(model, *outcome, ops, copies);
    }
    DimContext context;
    ShapeAnalysis sizes(context);
    settleSizes(*clone, sizes, /*runsControl=*/!statesInPlace);
    return arenaBytes(SchedulePlan(*clone, sizes, copies, registers, statesInPlace));
  }

  /// The boundaries of blocks of each size, without repetitions.
  const std::vector<Flags> &blocks() {
    if (allBlocks.empty()) {
      double all = 0;
      for (const RecomputeModel::Tensor &tensor : model.allTensors())
        if (tensor.step < model.split())
          all += static_cast<double>(tensor.bytes);
      for (int k = 0; k < kBlockSizes; ++k) {
        Flags boundaries = model.boundaries(static_cast<int64_t>(all / std::pow(2, k / 2.0)) + 1);
        if (!llvm::is_contained(allBlocks, boundaries))
          allBlocks.push_back(std::move(boundaries));
      }
    }
    return allBlocks;
  }

  Outcome outcomeOf(const Flags &boundaries, double price) {
    return model.simulate(model.repeated(model.cut(boundaries, price)));
  }

  /// The smallest arena.
  const Outcome &least() {
    if (smallest)
      return *smallest;
    std::vector<Outcome> outcomes{none};
    for (const Flags &boundaries : blocks())
      outcomes.push_back(outcomeOf(boundaries, kLeastPrice));
    std::optional<int64_t> best;
    for (Outcome *outcome : firstOf(outcomes, kCandidates, [](const Outcome &o) { return o.peakBytes; })) {
      std::optional<int64_t> bytes = planned(outcome);
      if (!smallest || (bytes && *bytes < *best)) {
        smallest = *outcome;
        best = bytes;
      }
    }
    return *smallest;
  }

  /// The fastest choice whose simulated bytes are at most `limit`: for each size of blocks the highest price that fits.
  std::optional<Outcome> fastest(double limit) {
    struct Candidate {
      Flags kept;
      Outcome outcome;
    };
    std::vector<Candidate> candidates;
    auto fits = [&](const Outcome &outcome) { return static_cast<double>(outcome.peakBytes) <= limit; };
    for (const Flags &boundaries : blocks()) {
      double low = std::log2(kLeastPrice), high = std::log2(kMostPrice);
      Candidate best{model.cut(boundaries, kLeastPrice), {}};
      best.outcome = model.simulate(model.repeated(best.kept));
      if (!fits(best.outcome))
        continue;
      for (int k = 0; k < kPrices; ++k) {
        double middle = (low + high) / 2;
        Flags kept = model.cut(boundaries, std::exp2(middle));
        Outcome outcome = model.simulate(model.repeated(kept));
        (fits(outcome) ? low : high) = middle;
        if (fits(outcome) && outcome.addedNs <= best.outcome.addedNs)
          best = {std::move(kept), std::move(outcome)};
      }
      candidates.push_back(std::move(best));
    }
    std::optional<Outcome> result;
    for (Candidate *candidate :
         firstOf(candidates, kCandidates, [](const Candidate &c) { return c.outcome.addedNs; })) {
      keepMore(candidate->kept, candidate->outcome, fits);
      if (!result || candidate->outcome.addedNs < result->addedNs)
        result = std::move(candidate->outcome);
    }
    return result;
  }

  /// A price is one for all: keeps more where there is still room, dear steps first.
  void keepMore(Flags &kept, Outcome &outcome, llvm::function_ref<bool(const Outcome &)> fits) {
    SmallVector<std::pair<double, int>> steps;
    Flags repeated = model.repeated(kept);
    for (int k = 0; k < static_cast<int>(repeated.size()); ++k)
      if (repeated[k])
        steps.emplace_back(-model.allSteps()[k].ns, k);
    llvm::sort(steps);
    for (auto [ns, step] : steps) {
      Flags more = kept;
      for (int tensor : model.allSteps()[step].writes)
        more[tensor] = true;
      Outcome other = model.simulate(model.repeated(more));
      if (fits(other) && other.addedNs < outcome.addedNs) {
        kept = std::move(more);
        outcome = std::move(other);
      }
    }
  }

  std::optional<Outcome> withinBudget(int64_t budget) {
    double target = static_cast<double>(budget) / ratio;
    for (size_t k = 0; k < kTries; ++k) {
      std::optional<Outcome> outcome = fastest(target);
      if (!outcome)
        break;
      int64_t bytes = planned(&*outcome).value_or(INT64_MAX);
      if (bytes <= budget)
        return outcome;
      target = std::min(target, static_cast<double>(outcome->peakBytes)) * static_cast<double>(budget) /
               static_cast<double>(bytes);
    }
    if (planned(&least()).value_or(INT64_MAX) <= budget)
      return least();
    return std::nullopt;
  }

  /// Blocks by the names of what they read, each from its first reader to the last before another block's.
  FailureOr<Outcome> runNamed(StringRef pattern) {
    llvm::Regex regex(pattern);
    llvm::StringMap<int> blockOf; // by what the expression found
    DenseMap<Value, int> blocks;  // -1: another name
    std::string names;
    unsigned listed = 0;
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      auto name = function.getArgAttrOfType<StringAttr>(number, "sinter.state");
      if (!name)
        name = function.getArgAttrOfType<StringAttr>(number, "sinter.name");
      if (!name)
        continue;
      SmallVector<StringRef> found;
      bool isFound = regex.match(name.getValue(), &found);
      blocks[argument] =
          isFound ? blockOf.try_emplace(found.front(), static_cast<int>(blockOf.size())).first->second : -1;
      if (++listed <= 8)
        names += (names.empty() ? "" : ", ") + name.str();
    }
    if (blockOf.empty())
      return function.emitError() << "checkpoints of named blocks require a name of an input or state of '"
                                  << function.getName() << "', none matches '" << pattern << "'; they are " << names
                                  << (listed > 8 ? ", ..." : ""),
             failure();

    ArrayRef<RecomputeModel::Step> steps = model.allSteps();
    int end = model.split();
    std::vector<int> member(steps.size(), -1);
    int current = -1;
    for (int k = 0; k < end; ++k) {
      int read = -2; // nothing of a name
      for (Value operand : steps[k].op->getOperands()) {
        while (Operation *view = operand.getDefiningOp())
          if (view->getNumOperands() == 1 && view->getNumRegions() == 0)
            operand = view->getOperand(0);
          else
            break;
        auto found = blocks.find(operand);
        if (found != blocks.end() && isa<FloatType>(getElementTypeOrSelf(operand.getType())))
          read = std::max(read, found->second);
      }
      current = read == -2 ? current : read;
      member[k] = current;
    }
    // What blocks begin with is there: a tensor of another block that one reads.
    Flags kept(model.allTensors().size());
    for (auto [t, tensor] : llvm::enumerate(model.allTensors())) {
      if (tensor.step >= end)
        continue;
      int own = member[tensor.step];
      kept[t] =
          own < 0 || llvm::any_of(tensor.readers, [&](int reader) { return reader < end && member[reader] != own; });
    }
    return model.simulate(model.repeated(model.cut(kept, kLeastPrice)));
  }

  func::FuncOp function;
  ShapeAnalysis &sizes;
  KernelLaunches &launches;
  bool registers, statesInPlace, hasOpenSizes;
  RecomputeModel model;
  Outcome none;
  double ratio = 1; // a planned arena over the simulated bytes
  std::vector<Flags> allBlocks;
  std::optional<Outcome> smallest;
};
} // namespace

FailureOr<KeepReport> schedule::recompute(func::FuncOp function, const KeepPolicy &policy, ShapeAnalysis &sizes,
                                          KernelLaunches &launches, bool registers, bool statesInPlace) {
  if (policy.kind == KeepPolicy::Kind::None)
    return KeepReport();
  Search search(function, sizes, launches, registers, statesInPlace);
  return search.run(policy);
}
