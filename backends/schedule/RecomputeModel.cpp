// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/RecomputeModel.h"
#include "backends/schedule/SchedulePlan.h"
#include "ir/Checks.h"
#include "ir/External.h"
#include "ir/FlowNetwork.h"
#include "ir/Shape.h"
#include "ir/Storage.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

/// Bytes that a size of unknown number counts as, and a byte's time where the back end tells none.
static constexpr int64_t kUnknownSize = 64;
static constexpr double kNsPerByte = 0.05;
/// A tensor that is read again within this part of the steps does not wait.
static constexpr int kPartOfSteps = 50;

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t count = 1;
  for (int64_t size : tensor.getShape())
    count *= ShapedType::isDynamic(size) ? kUnknownSize : size;
  return (storedBytes(tensor.getElementType(), count) + 63) / 64 * 64;
}

/// The value whose memory `value` has through views and checks.
static Value rootOf(Value value) {
  value = viewed(value);
  while (auto require = value.getDefiningOp<sinter::RequireOp>())
    value = viewed(require.getValue());
  return value;
}

static bool isRequired(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<sinter::RequireOp>(user) || (isView(user) && isRequired(user->getResult(0)));
  });
}

/// True when the sizes of `value` follow from those of the function's arguments: a copy has the same.
static bool isKnownAtEntry(Value value, ShapeAnalysis &sizes) {
  bool known = true;
  DimContext &context = sizes.context();
  for (DimExpr size : sizes.dims(value))
    DimContext::forEachSymbol(context.resolve(size), [&](unsigned symbol) {
      auto argument = dyn_cast<BlockArgument>(context.source(symbol).value);
      known &= argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
    });
  return known;
}

/// True when a second run gives the same and nobody outside sees it.
static bool isRepeatable(Operation *op, ShapeAnalysis &sizes, const KernelLaunches &launches) {
  if (isa<KernelOp>(op)) {
    auto launch = launches.find(op);
    return launch != launches.end() && !launch->second.traits.writesSizes &&
           llvm::all_of(op->getResults(), [&](Value result) { return isKnownAtEntry(result, sizes); });
  }
  auto isStatic = [](Type type) { return cast<RankedTensorType>(type).hasStaticShape(); };
  if (!llvm::all_of(op->getResultTypes(), isStatic) || !(isa<CondOp, SwitchOp>(op) || LoopView::isLoop(op)))
    return false;
  return !op->walk([&](Operation *inner) {
              return runsOnHost(inner) || isa<sinter::RequireOp>(inner) ? WalkResult::interrupt()
                                                                        : WalkResult::advance();
            }).wasInterrupted();
}

/// Time and further memory of one run.
static void measure(RecomputeModel::Step &step, const KernelLaunches &launches) {
  auto add = [&](Operation *op) {
    int64_t moved = 0;
    for (Type type : op->getOperandTypes())
      moved += bytesOf(type);
    for (Type type : op->getResultTypes())
      moved += bytesOf(type);
    auto launch = launches.find(op);
    double known = launch == launches.end() ? 0 : launch->second.traits.estimatedNs;
    step.ns += known > 0 ? known : static_cast<double>(moved) * kNsPerByte;
    if (launch != launches.end())
      if (DimExpr work = launch->second.traits.workspaceBytes; work && work.isConstant())
        step.workBytes += work.constant();
  };
  if (isa<KernelOp>(step.op))
    return add(step.op);
  // A loop's trips are not counted: it looks cheaper than it is, and its carries are there twice.
  step.op->walk([&](Operation *inner) {
    if (inner->getParentOp()->hasTrait<OpTrait::IsIsolatedFromAbove>() && isa<KernelOp>(inner->getParentOp()))
      return;
    if (inner != step.op)
      for (Type type : inner->getResultTypes())
        step.workBytes += bytesOf(type);
    add(inner);
  });
}

RecomputeModel::RecomputeModel(func::FuncOp function, ShapeAnalysis &sizes, const KernelLaunches &launches,
                               bool registers) {
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator()) {
    if (isView(&op) || isa<ConstantOp>(op))
      continue;
    int number = static_cast<int>(steps.size());
    Step step;
    step.op = &op;
    step.isRepeatable = isRepeatable(&op, sizes, launches);
    if (auto launch = launches.find(&op); launch != launches.end())
      step.mayOverwrite = launch->second.traits.inPlace;
    for (Value operand : op.getOperands())
      if (int tensor = tensorOf(operand); tensor >= 0 && !llvm::is_contained(step.reads, tensor)) {
        step.reads.push_back(tensor);
        tensors[tensor].readers.push_back(number);
      }
    if (!isa<sinter::RequireOp>(op))
      for (Value result : op.getResults()) {
        bool isRegister = registers && isOneElement(result.getType());
        Tensor tensor;
        tensor.bytes = isRegister ? 0 : bytesOf(result.getType());
        tensor.step = number;
        tensor.isKept = isRegister || !step.isRepeatable || isRequired(result);
        tensorOfRoot[result] = static_cast<int>(tensors.size());
        step.writes.push_back(static_cast<int>(tensors.size()));
        tensors.push_back(tensor);
      }
    measure(step, launches);
    ns += step.ns;
    steps.push_back(std::move(step));
  }
  // Results lie where the caller wants them.
  for (Value returned : block.getTerminator()->getOperands())
    if (int tensor = tensorOf(returned); tensor >= 0) {
      tensors[tensor].isKept = true;
      tensors[tensor].bytes = 0;
    }
  findWaiting();
}

int RecomputeModel::tensorOf(Value value) const {
  auto found = tensorOfRoot.find(rootOf(value));
  return found == tensorOfRoot.end() ? -1 : found->second;
}

void RecomputeModel::findWaiting() {
  int rest = static_cast<int>(steps.size()) / kPartOfSteps + 1;
  std::vector<int64_t> change(steps.size() + 2);
  for (const Tensor &tensor : tensors) {
    int last = tensor.step;
    for (int reader : tensor.readers) {
      if (!tensor.isKept && reader - last > rest) {
        change[last + 1] += tensor.bytes;
        change[reader + 1] -= tensor.bytes;
      }
      last = reader;
    }
  }
  int64_t bytes = 0, most = 0;
  for (int k = 0; k < static_cast<int>(steps.size()); ++k) {
    bytes += change[k];
    if (bytes > most) {
      most = bytes;
      place = k;
    }
  }
  isShort.assign(tensors.size(), 0);
  for (auto [t, tensor] : llvm::enumerate(tensors)) {
    if (tensor.step >= place)
      continue;
    int before = tensor.step;
    auto late = llvm::find_if(tensor.readers, [&](int reader) { return reader >= place; });
    if (late == tensor.readers.end())
      continue;
    if (late != tensor.readers.begin())
      before = *std::prev(late);
    isShort[t] = *late - before <= rest;
    if (!isAvailable(static_cast<int>(t)))
      awaited.push_back(static_cast<int>(t));
  }
}

Flags RecomputeModel::boundaries(int64_t bytes) const {
  // What the first part itself still reads at each place.
  std::vector<int64_t> alive(place + 1);
  for (const Tensor &tensor : tensors) {
    int last = -1;
    for (int reader : tensor.readers)
      if (reader < place)
        last = reader;
    for (int k = tensor.step + 1; k <= last; ++k)
      alive[k] += tensor.bytes;
  }
  SmallVector<int> cuts;
  int64_t written = 0;
  int start = 0;
  for (int k = 1; k < place; ++k) {
    for (int tensor : steps[k - 1].writes)
      written += tensors[tensor].isKept ? 0 : tensors[tensor].bytes;
    if (written < bytes)
      continue;
    int best = k;
    for (int other = k - 1; other > start; --other)
      if (alive[other] < alive[best])
        best = other;
    cuts.push_back(best);
    start = best;
    written = 0;
    for (int other = best; other < k; ++other)
      for (int tensor : steps[other].writes)
        written += tensors[tensor].isKept ? 0 : tensors[tensor].bytes;
  }
  Flags result(tensors.size());
  for (auto [t, tensor] : llvm::enumerate(tensors))
    for (int reader : tensor.readers)
      if (reader < place && llvm::any_of(cuts, [&](int at) { return tensor.step < at && at <= reader; }))
        result[t] = true;
  return result;
}

Flags RecomputeModel::cut(const Flags &boundaries, double bytesPerNs) const {
  constexpr double scale = 16; // bytes are whole numbers, times may weigh less
  FlowNetwork network;
  int source = network.addNode(), sink = network.addNode();
  DenseMap<int, int> in, out, again; // by tensor, tensor, step
  SmallVector<int> work;
  auto outOf = [&](int tensor) {
    auto [it, isNew] = out.try_emplace(tensor, 0);
    if (isNew) {
      in[tensor] = network.addNode();
      it->second = network.addNode();
      network.addEdge(in[tensor], it->second, static_cast<int64_t>(scale) * tensors[tensor].bytes + 1);
      work.push_back(tensor);
    }
    return out[tensor];
  };
  for (int tensor : awaited)
    network.addEdge(outOf(tensor), sink, FlowNetwork::kUnlimited);
  while (!work.empty()) {
    int tensor = work.pop_back_val(), step = tensors[tensor].step;
    if (boundaries[tensor] || !steps[step].isRepeatable) {
      network.addEdge(source, in[tensor], FlowNetwork::kUnlimited);
      continue;
    }
    auto [it, isNew] = again.try_emplace(step, 0);
    if (isNew) {
      int node = it->second = network.addNode();
      double price = std::min(scale * bytesPerNs * steps[step].ns, 0x1p50);
      network.addEdge(source, node, static_cast<int64_t>(price) + 1);
      for (int read : steps[step].reads)
        if (!isAvailable(read)) {
          int from = outOf(read);
          network.addEdge(from, node, FlowNetwork::kUnlimited);
        }
    }
    network.addEdge(again[step], in[tensor], FlowNetwork::kUnlimited);
  }
  network.saturate(source, sink);
  std::vector<bool> reaching = network.reaching(sink);
  Flags kept(tensors.size());
  for (auto [tensor, node] : out)
    kept[tensor] = boundaries[tensor] || (reaching[node] && !reaching[in[tensor]]);
  return kept;
}

Flags RecomputeModel::repeated(const Flags &kept) const {
  Flags result(steps.size());
  SmallVector<int> work(awaited);
  while (!work.empty()) {
    int tensor = work.pop_back_val(), step = tensors[tensor].step;
    if (kept[tensor] || isAvailable(tensor) || result[step])
      continue;
    result[step] = true;
    llvm::append_range(work, steps[step].reads);
  }
  return result;
}

RecomputeModel::Outcome RecomputeModel::simulate(const Flags &repeated) const {
  Outcome result;
  std::vector<Run> &order = result.order;
  // The tensor that a late reader reads: that of the second run where there is one.
  int count = static_cast<int>(tensors.size());
  auto isCopied = [&](int tensor) { return !isAvailable(tensor) && repeated[tensors[tensor].step]; };
  std::vector<int> first(2 * count, -1), last(2 * count, -1);
  Flags done(steps.size());
  auto run = [&](int step, bool isAgain) {
    int at = static_cast<int>(order.size());
    order.push_back({step, isAgain});
    for (int tensor : steps[step].reads) {
      bool reads = (isAgain || step >= place) && isCopied(tensor);
      last[reads ? count + tensor : tensor] = at;
    }
    for (int tensor : steps[step].writes)
      first[isAgain ? count + tensor : tensor] = last[isAgain ? count + tensor : tensor] = at;
    if (isAgain) {
      result.addedNs += steps[step].ns;
      ++result.repeated;
    }
  };
  SmallVector<int> stack;
  for (int k = 0; k < static_cast<int>(steps.size()); ++k) {
    if (k >= place) {
      // What it reads of steps that run again, operands first.
      auto push = [&](int step) {
        for (int tensor : llvm::reverse(steps[step].reads))
          if (isCopied(tensor) && !done[tensors[tensor].step])
            stack.push_back(tensors[tensor].step);
      };
      push(k);
      while (!stack.empty()) {
        int step = stack.back();
        size_t before = stack.size();
        if (!done[step])
          push(step);
        if (stack.size() > before)
          continue;
        stack.pop_back();
        if (!done[step]) {
          done[step] = true;
          run(step, true);
        }
      }
    }
    run(k, false);
  }

  // Twice a place: what a step writes over an input begins after it.
  std::vector<int64_t> change(2 * order.size() + 2);
  for (size_t at = 0; at < order.size(); ++at) {
    const Step &step = steps[order[at].step];
    change[2 * at] += step.workBytes;
    change[2 * at + 1] -= step.workBytes;
    SmallVector<int> taken;
    for (int tensor : step.writes) {
      int instance = order[at].isAgain ? count + tensor : tensor;
      if (first[instance] != static_cast<int>(at))
        continue;
      int64_t bytes = tensors[tensor].bytes;
      bool isOver = false;
      if (step.mayOverwrite)
        for (int read : step.reads)
          for (int from : {read, count + read})
            if (!isOver && last[from] == static_cast<int>(at) && first[from] >= 0 && tensors[read].bytes == bytes &&
                !llvm::is_contained(taken, from)) {
              taken.push_back(from);
              isOver = true;
            }
      change[2 * at + (isOver ? 1 : 0)] += bytes;
      change[2 * last[instance] + 1] -= bytes;
    }
  }
  int64_t alive = 0;
  for (int64_t bytes : change) {
    alive += bytes;
    result.peakBytes = std::max(result.peakBytes, alive);
  }
  return result;
}

void RecomputeModel::apply(const RecomputeModel &model, const Outcome &outcome, ArrayRef<Operation *> ops,
                           KernelLaunches &launches) {
  IRMapping copies; // values of first runs to those of second ones
  // A view of a copy is a copy of the view.
  auto mapped = [&](OpBuilder &b, Value value) {
    SmallVector<Operation *> views;
    Value root = value;
    while (Operation *op = root.getDefiningOp()) {
      if (copies.contains(root) || !isView(op))
        break;
      views.push_back(op);
      root = op->getOperand(0);
    }
    if (!copies.contains(root))
      return value;
    for (Operation *view : llvm::reverse(views))
      b.clone(*view, copies);
    return copies.lookup(value);
  };
  size_t begin = 0;
  for (size_t at = 0; at < outcome.order.size(); ++at) {
    if (outcome.order[at].isAgain)
      continue;
    int number = outcome.order[at].step;
    Operation *next = ops[number]; // what the copies come before
    OpBuilder b(next);
    for (size_t k = begin; k < at; ++k) {
      const Run &run = outcome.order[k];
      Operation *op = ops[run.step];
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(mapped(b, operand));
      Operation *copy = b.clone(*op);
      copy->setOperands(operands);
      for (auto [result, tensor] : llvm::zip(op->getResults(), model.steps[run.step].writes))
        if (!model.isAvailable(tensor))
          copies.map(result, copy->getResult(static_cast<OpResult>(result).getResultNumber()));
      // Launches of the op, and of those within it.
      SmallVector<Operation *> from, to;
      op->walk([&](Operation *inner) { from.push_back(inner); });
      copy->walk([&](Operation *inner) { to.push_back(inner); });
      for (auto [a, c] : llvm::zip(from, to))
        if (auto launch = launches.find(a); launch != launches.end()) {
          KernelLaunch same = launch->second;
          launches[c] = std::move(same);
        }
    }
    begin = at + 1;
    if (number >= model.place)
      for (OpOperand &operand : next->getOpOperands())
        operand.set(mapped(b, operand.get()));
  } // A view that nothing reads any more would be a use of what it looks at.
  Block &block = *ops.front()->getBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isView(&op) && op.use_empty())
      op.erase();
}
