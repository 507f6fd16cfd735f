// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Windows.h"
#include "backends/schedule/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

/// Tensors begin lines of a cache in their windows, too.
constexpr int64_t kLineBytes = 64;

/// Parts of a chain: as many as threads may share, fewer where parts would compute too much twice, but not so few that
/// threads have nothing to do.
constexpr int64_t kPartCounts[] = {24, 16, 12, 8};

/// Bytes of a tensor for which windows save a nanosecond: half of what was measured where nothing is repeated.
constexpr double kBytesOfNs = 16;

/// Windows pay for tensors so many times as large as they are: what two caches hold comes from there as fast.
constexpr int64_t kLeastWindows = 6;

namespace {
struct Link {
  mutable LaunchOp launch; // whose accessors are not const
  const KernelTraits *traits;

  const RowWalk &walk() const { return *traits->walk; }
};

/// Launches of which each writes a tensor that only the next one reads.
using Chain = SmallVector<Link, 4>;

/// Blocks that are done of each launch, and the first byte of each tensor that is in its window.
struct Progress {
  SmallVector<int64_t> done, starts;
};

struct ChainPlan {
  SmallVector<int64_t> parts{0}, begins, steps; // of a schedule.chain
  SmallVector<int64_t> windows;                 // bytes
  double repeatedNs = 0;                        // what parts compute that others compute, too, if no call has both

  int64_t bytes() const {
    int64_t bytes = 0;
    for (int64_t window : windows)
      bytes += static_cast<int64_t>(llvm::alignTo(window, kLineBytes));
    return bytes * static_cast<int64_t>(parts.size() - 1);
  }
};

class ChainPlanner {
public:
  ChainPlanner(const Chain &chain, int64_t mostBytes) : chain(chain), mostBytes(mostBytes) {}
  /// Nothing where no number of parts suits.
  std::optional<ChainPlan> plan();

private:
  size_t tensors() const { return chain.size() - 1; }
  const RowWalk &walk(size_t k) const { return chain[k].walk(); }
  ChainPlan planParts(int64_t count);
  Progress addPart(ChainPlan &plan, int64_t begin, int64_t end, const Progress &before);
  Progress beginAt(int64_t block);
  SmallVector<int64_t> continueFrom(const Progress &before, const Progress &fresh, ArrayRef<int64_t> step);
  SmallVector<int64_t> endsFor(ArrayRef<int64_t> atLeast, int64_t last);
  SmallVector<int64_t> chooseEnds(const Progress &at, int64_t end);

  const Chain &chain;
  int64_t mostBytes;
};
} // namespace

static int64_t bytesOf(const RowWalk &walk) { return walk.images * walk.rows * walk.rowBytes; }

/// Where the window of a tensor begins when these blocks of its writer and its reader are done.
static int64_t startOf(const RowWalk &writer, int64_t written, const RowWalk &reader, int64_t read) {
  return std::min(writer.firstWritten(written), reader.firstRead(read)) / kLineBytes * kLineBytes;
}

/// A part that begins with `block` of the last launch: whole blocks of the others before what it needs are left out.
Progress ChainPlanner::beginAt(int64_t block) {
  Progress at;
  at.done.assign(chain.size(), block);
  at.starts.assign(tensors(), 0);
  for (size_t k = tensors(); k-- > 0;) {
    int64_t first = walk(k + 1).firstRead(at.done[k + 1]), &done = at.done[k] = 0;
    while (walk(k).written(done + 1) <= first && done < walk(k).blocks())
      ++done;
    at.starts[k] = startOf(walk(k), done, walk(k + 1), at.done[k + 1]);
  }
  return at;
}

/// How many blocks of each launch give the first `last` blocks of the last one, `atLeast` so many.
SmallVector<int64_t> ChainPlanner::endsFor(ArrayRef<int64_t> atLeast, int64_t last) {
  SmallVector<int64_t> ends(atLeast);
  ends.back() = last;
  for (size_t k = tensors(); k-- > 0;)
    while (walk(k).written(ends[k]) < walk(k + 1).needed(ends[k + 1]))
      ++ends[k];
  return ends;
}

/// As many blocks of the last launch, up to `end`, as windows have room for.
SmallVector<int64_t> ChainPlanner::chooseEnds(const Progress &at, int64_t end) {
  SmallVector<int64_t> ends = endsFor(at.done, at.done.back() + 1);
  for (int64_t last = ends.back() + 1; last <= end; ++last) {
    SmallVector<int64_t> more = endsFor(ends, last);
    int64_t bytes = 0;
    for (size_t i = 0; i < tensors(); ++i)
      bytes += walk(i).written(more[i]) - at.starts[i];
    if (bytes > mostBytes)
      break;
    ends = more;
  }
  return ends;
}

/// `step`, the first one of a part that begins as `fresh`, where the windows still hold what the part before has made:
/// what both need is moved, or lies where it was. The same where that is not possible.
SmallVector<int64_t> ChainPlanner::continueFrom(const Progress &before, const Progress &fresh, ArrayRef<int64_t> step) {
  SmallVector<int64_t> continued(step);
  for (size_t i = 0; i < tensors(); ++i) {
    int64_t moved = fresh.starts[i] - before.starts[i];
    int64_t kept = moved == 0 ? 0 : std::max<int64_t>(walk(i).written(before.done[i]) - fresh.starts[i], 0);
    if (moved < 0 || kept > moved)
      return SmallVector<int64_t>(step);
    continued[3 * i] = moved;
    continued[3 * i + 1] = kept;
  }
  for (size_t k = 0; k < chain.size(); ++k) {
    int64_t &begin = continued[3 * tensors() + 2 * k], end = continued[3 * tensors() + 2 * k + 1];
    begin = std::max(begin, before.done[k] * walk(k).parts);
    if (begin > end)
      return SmallVector<int64_t>(step);
  }
  return continued;
}

/// The steps that give blocks [begin, end) of the last launch, and where they end; `before` is where the part before
/// does.
Progress ChainPlanner::addPart(ChainPlan &plan, int64_t begin, int64_t end, const Progress &before) {
  Progress at = beginAt(begin);
  int64_t numSteps = 0;
  for (; at.done.back() < end; ++numSteps) {
    SmallVector<int64_t> step;
    bool isFirst = numSteps == 0;
    for (size_t i = 0; i < tensors(); ++i) {
      int64_t start = startOf(walk(i), at.done[i], walk(i + 1), at.done[i + 1]), moved = start - at.starts[i];
      int64_t kept = std::max<int64_t>(walk(i).written(at.done[i]) - start, 0);
      bool slides = !isFirst && moved > 0 && kept <= moved;
      if (slides)
        at.starts[i] = start;
      step.append({slides ? moved : 0, slides ? kept : 0, at.starts[i]});
    }
    SmallVector<int64_t> ends = chooseEnds(at, end);
    for (size_t k = 0; k < chain.size(); ++k) {
      step.append({at.done[k] * walk(k).parts, ends[k] * walk(k).parts});
      plan.repeatedNs += chain[k].traits->estimatedNs * static_cast<double>(ends[k] - at.done[k]) / walk(k).blocks();
    }
    for (size_t i = 0; i < tensors(); ++i)
      plan.windows[i] = std::max(plan.windows[i], walk(i).written(ends[i]) - at.starts[i]);
    if (isFirst)
      plan.begins.append(step);
    plan.steps.append(isFirst && !before.done.empty() ? continueFrom(before, at, step) : step);
    at.done = ends;
  }
  plan.parts.push_back(plan.parts.back() + numSteps);
  return at;
}

ChainPlan ChainPlanner::planParts(int64_t count) {
  ChainPlan plan;
  plan.windows.assign(tensors(), 0);
  int64_t blocks = chain.back().walk().blocks();
  Progress before;
  for (int64_t part = 0; part < count; ++part)
    before = addPart(plan, part * blocks / count, (part + 1) * blocks / count, before);
  for (const Link &link : chain)
    plan.repeatedNs -= link.traits->estimatedNs;
  return plan;
}

std::optional<ChainPlan> ChainPlanner::plan() {
  double bytes = 0; // of the tensors
  for (const Link &link : ArrayRef(chain).drop_back())
    bytes += static_cast<double>(bytesOf(link.walk()));
  for (int64_t count : kPartCounts) {
    if (count > chain.back().walk().blocks())
      continue;
    ChainPlan plan = planParts(count);
    if (2 * plan.repeatedNs <= bytes / kBytesOfNs)
      return plan;
  }
  return std::nullopt;
}

namespace {
class Sliding {
public:
  Sliding(FunctionOp function, const KernelTable &kernels, int64_t mostBytes)
      : function(function), mostBytes(mostBytes) {
    for (const KernelTable::Entry &entry : kernels.entries())
      if (entry.backend == &kernels.host() && entry.traits.walk && entry.traits.estimatedNs > 0)
        traits[entry.symbol] = &entry.traits;
  }
  void run();

private:
  std::optional<Link> linkOf(LaunchOp launch);
  bool follows(const Link &first, const Link &second);
  Chain chainFrom(LaunchOp launch);
  void apply(const Chain &chain, const ChainPlan &plan);
  void placeWindows(const Chain &chain, int64_t bytes);
  Value number(int64_t value);

  FunctionOp function;
  int64_t mostBytes;
  llvm::StringMap<const KernelTraits *> traits;
};
} // namespace

static Value resultOf(const Link &link) { return link.launch.getArguments()[link.launch.getWrites().front()]; }

static int64_t inputBytesOf(const RowWalk &walk) { return walk.images * walk.inputRows * walk.inputRowBytes; }

/// The launch behind `op` with nothing between that touches memory.
static LaunchOp nextLaunch(Operation *op) {
  do
    op = op->getNextNode();
  while (op && isPure(op));
  return dyn_cast_or_null<LaunchOp>(op);
}

/// What a view is a part of.
static Value wholeOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getBuffer();
  return buffer;
}

/// Nothing for launches that do not walk, or that have a workspace, whose place depends on the chunk: parts may run the
/// same chunk at once.
std::optional<Link> Sliding::linkOf(LaunchOp launch) {
  const KernelTraits *of = traits.lookup(launch.getKernel());
  bool isPlain = !launch.getBackend() && !launch.getRunsInline() && !launch.getSteps();
  if (!of || !isPlain || launch.getWrites().size() != 1)
    return std::nullopt;
  return Link{launch, of};
}

/// Whether `second` alone reads what `first` writes, which is larger than a cache, and makes no more of it.
bool Sliding::follows(const Link &first, const Link &second) {
  Value tensor = resultOf(first);
  auto usesOnce = [&](const Link &link) { return llvm::count(link.launch.getArguments(), tensor) == 1; };
  return tensor.getDefiningOp<ArenaOp>() && bytesOf(first.walk()) > kLeastWindows * mostBytes && usesOnce(first) &&
         usesOnce(second) && llvm::range_size(tensor.getUsers()) == 2 &&
         second.launch.getArguments()[second.walk().input] == tensor &&
         bytesOf(first.walk()) == inputBytesOf(second.walk()) && bytesOf(second.walk()) <= bytesOf(first.walk());
}

/// Whether nobody but the last launch of a chain touches what it writes.
static bool isSafe(const Chain &chain) {
  Value written = wholeOf(resultOf(chain.back()));
  return llvm::none_of(ArrayRef(chain).drop_back(), [&](const Link &link) {
    return llvm::any_of(link.launch.getArguments(), [&](Value argument) { return wholeOf(argument) == written; });
  });
}

Chain Sliding::chainFrom(LaunchOp launch) {
  Chain chain;
  for (; launch; launch = nextLaunch(launch)) {
    std::optional<Link> link = linkOf(launch);
    if (!link || (!chain.empty() && !follows(chain.back(), *link)))
      break;
    chain.push_back(*link);
  }
  while (chain.size() > 1 && !isSafe(chain))
    chain.pop_back();
  return chain;
}

Value Sliding::number(int64_t value) {
  OpBuilder b(function.getContext());
  b.setInsertionPointToStart(&function.getBody().front());
  return arith::ConstantOp::create(b, function.getLoc(), b.getI64IntegerAttr(value));
}

/// Windows lie where the first tensor has its place in the arena. What the launches use is all there from the first one
/// on until the last one is done.
void Sliding::placeWindows(const Chain &chain, int64_t bytes) {
  auto arena = resultOf(chain.front()).getDefiningOp<ArenaOp>();
  auto positionOf = [](Value buffer) { return cast<OpResult>(buffer).getResultNumber(); };
  SmallVector<int32_t> lives(arena.getLives());
  unsigned place = positionOf(resultOf(chain.front()));
  int32_t first = lives[2 * place], last = lives[2 * positionOf(resultOf(chain[chain.size() - 2])) + 1];
  for (const Link &link : chain)
    for (Value argument : link.launch.getArguments())
      if (Value buffer = wholeOf(argument); buffer.getDefiningOp() == arena) {
        int32_t &from = lives[2 * positionOf(buffer)], &to = lives[2 * positionOf(buffer) + 1];
        from = std::min(from, first);
        to = std::max(to, last);
      }
  arena.setLives(lives);
  if (bytes > bytesOf(chain.front().walk()))
    arena.getSizesMutable()[place].set(number(bytes));
}

void Sliding::apply(const Chain &chain, const ChainPlan &plan) {
  OpBuilder b(chain.back().launch);
  SmallVector<Value> arguments;
  SmallVector<Attribute> kernels;
  SmallVector<int64_t> counts, places;
  for (auto [k, link] : llvm::enumerate(chain)) {
    auto begin = static_cast<int64_t>(arguments.size());
    if (k > 0)
      places.push_back(begin + link.walk().input);
    if (k + 1 < chain.size())
      places.push_back(begin + link.launch.getWrites().front());
    llvm::append_range(arguments, link.launch.getArguments());
    kernels.push_back(link.launch.getKernelAttr());
    counts.push_back(static_cast<int64_t>(link.launch.getArguments().size()));
  }
  placeWindows(chain, plan.bytes());
  ChainOp::create(b, chain.front().launch.getLoc(), b.getArrayAttr(kernels), arguments, resultOf(chain.front()), counts,
                  plan.windows, places, plan.parts, plan.begins, plan.steps);
  for (const Link &link : chain)
    link.launch.erase();
}

void Sliding::run() {
  SmallVector<LaunchOp> launches(function.getBody().front().getOps<LaunchOp>());
  for (size_t i = 0; i < launches.size();) {
    Chain chain = chainFrom(launches[i]);
    std::optional<ChainPlan> found;
    if (chain.size() > 1)
      found = ChainPlanner(chain, mostBytes).plan();
    if (found)
      apply(chain, *found);
    i += found ? chain.size() : 1;
  }
}

void schedule::slideWindows(ModuleOp schedules, const KernelTable &kernels) {
  int64_t bytes = kernels.host().windowBytes();
  if (bytes == 0)
    return;
  for (auto function : schedules.getOps<FunctionOp>())
    Sliding(function, kernels, bytes).run();
}
