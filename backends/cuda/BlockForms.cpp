// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms in which a block computes a chunk: one result of a reduction, one row of a softmax or layer norm. `lanes` of
// their schedules are the threads. Few results of long sums have `tile` = [parts]: a block reduces one part into the
// workspace, and a second kernel the parts. Results that lie side by side (sums of columns) are a block's 32 at once.

#include "backends/cuda/BlockForms.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "backends/cpu/emit/TakenForms.h"
#include "backends/cuda/Gpus.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Reductions with so many results or more, of which few lie side by side, have a thread for each.
constexpr int64_t kManyResults = 4096;
/// Results side by side that a block has at once, and the fewest for which it does so. So many have a thread for each,
/// which fill any GPU.
constexpr int64_t kSide = 32, kLeastSide = 8, kThreadsOfAll = 1 << 17;
constexpr int64_t kColumnThreads = 256;
/// What is taken for a length that only running tells.
constexpr int64_t kUsualLength = 4096;
/// Parts of a sum have at least so many elements for each thread.
constexpr int64_t kElementsOfPart = 16;
constexpr int64_t kMostReducedParts = 256;
constexpr int64_t kWorkspaceBytes = 64 << 20, kEnoughBlocks = 512;

int64_t cuda::threadsFor(DimExpr length, int64_t lanes, int64_t most) {
  if (!length.isConstant())
    return most;
  auto each = static_cast<uint64_t>(std::max<int64_t>(lanes, 4));
  int64_t wanted = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(length.constant()) / each));
  return std::clamp(wanted, kLeastThreads, most);
}

bool cuda::areThreads(int64_t threads, int64_t most) {
  return threads >= kLeastThreads && threads <= most && llvm::isPowerOf2_64(static_cast<uint64_t>(threads));
}

int64_t cuda::partsFor(cuda::KernelSpec &spec, DimExpr length, DimExpr results, int64_t leastElements, int64_t most) {
  if (!length.isConstant() || !results.isConstant() || results.constant() == 0)
    return 1;
  int64_t wanted = 2 * gpuOf(spec.target().name).multiprocessors / results.constant();
  return std::max<int64_t>(1, std::min({wanted, most, length.constant() / leastElements}));
}

ScheduleAttr cuda::blockSchedule(cuda::KernelSpec &spec, StringRef name, int64_t threads, int64_t several) {
  SmallVector<int64_t> tile;
  if (several > 1)
    tile.push_back(several);
  return ScheduleAttr::get(spec.kernel.getContext(), name, threads, tile, 0, {}, {});
}

int64_t cuda::partsOf(ScheduleAttr schedule) { return schedule.getTile().empty() ? 1 : schedule.getTile().front(); }

DimExpr cuda::blocksAtOnce(DimContext &dims, DimExpr bytes) {
  return dims.max(dims.floorDiv(dims.constant(kWorkspaceBytes), bytes), dims.constant(kEnoughBlocks));
}

std::string cuda::takeOnly(cuda::KernelSpec &spec, StringRef name, int64_t threads, ScheduleAttr &schedule) {
  ScheduleAttr chosen = blockSchedule(spec, name, threads);
  if (schedule && schedule != chosen)
    return "its `lanes`, the threads of a block, require " + std::to_string(threads) + ", and it has no other fields";
  schedule = chosen;
  return "";
}

/// Why a schedule that is given does not fit; `mostParts` of a sum.
static std::string misfit(cuda::KernelSpec &spec, StringRef name, ScheduleAttr schedule, int64_t mostParts) {
  int64_t threads = schedule.getLanes(), parts = partsOf(schedule);
  if (areThreads(threads, kMostGivenThreads) && parts <= mostParts &&
      schedule == blockSchedule(spec, name, threads, parts))
    return "";
  return "its `lanes`, the threads of a block, require a power of two from 32 to 512" +
         (mostParts > 1 ? ", and its tile is the number of parts, 2 to " + std::to_string(mostParts) + " or none"
                        : std::string(", and it has no other fields"));
}

/// Parts of sums of which a result has so many threads.
static int64_t partsOfSum(cuda::KernelSpec &spec, DimExpr length, int64_t threads, DimExpr results) {
  return partsFor(spec, length, results, threads * kElementsOfPart, kMostReducedParts);
}

static DimExpr reducedSize(cuda::KernelSpec &spec, ReduceOp op) {
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr product = spec.dims.constant(1);
  for (int64_t axis : op.getAxes())
    product = spec.dims.mul(product, sizes[axis]);
  return spec.dims.resolve(product);
}

/// Results that lie side by side in the operand, too: the product of the last sizes.
static DimExpr resultsSideBySide(cuda::KernelSpec &spec, ReduceOp op) {
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr product = spec.dims.constant(1);
  for (int64_t axis = static_cast<int64_t>(sizes.size()) - 1; axis >= 0 && !llvm::is_contained(op.getAxes(), axis);
       --axis)
    product = spec.dims.mul(product, sizes[axis]);
  return spec.dims.resolve(product);
}

static bool isInnermostReduced(ReduceOp op) {
  return llvm::is_contained(op.getAxes(), cast<RankedTensorType>(op.getOperand().getType()).getRank() - 1);
}

Columns cuda::columnsOfReduce(cuda::KernelSpec &spec, ReduceOp op) {
  int64_t lanes = 1;
  if (isInnermostReduced(op))
    lanes = vectorLanes(spec, spec.sizes->dims(op.getOperand()).back(), getElementTypeOrSelf(op.getOperand()));
  return {reducedSize(spec, op), lanes};
}

/// A kernel's reduction if blocks can compute it; null with the reason.
static ReduceOp reductionOf(cuda::KernelSpec &spec, std::string &refusal) {
  auto op = dyn_cast_or_null<ReduceOp>(cpu::findShapedRoot(spec));
  DimExpr each = op && !op.getAxes().empty() ? reducedSize(spec, op) : DimExpr();
  if (!op || op.getAxes().empty())
    refusal = "its root is no reduction, or its results several shapes";
  else if (!cpu::canBuild(op.getOperand(), [](Value) { return false; }) || !cpu::canBuildAfter(spec, op))
    refusal = "what surrounds the reduction cannot be built element by element";
  else if (each.isConstant() && each.constant() < kFewColumns)
    refusal = "each result is of few elements";
  return refusal.empty() ? op : nullptr;
}

std::string cuda::planBlockColumns(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  std::string refusal;
  ReduceOp op = reductionOf(spec, refusal);
  if (!op)
    return refusal;
  if (isInnermostReduced(op))
    return "its results do not lie side by side";
  if (schedule) // given
    return schedule.getLanes() == kColumnThreads
               ? misfit(spec, name, schedule, kMostReducedParts)
               : "its `lanes`, the threads of a block, require " + std::to_string(kColumnThreads);
  DimExpr side = resultsSideBySide(spec, op),
          results = spec.dims.resolve(spec.dims.product(spec.sizes->dims(op.getResult())));
  if (side.isConstant() && side.constant() < kLeastSide)
    return "few of its results lie side by side";
  if (results.isConstant() && results.constant() >= kThreadsOfAll)
    return "it has results enough for a thread for each";
  DimExpr each = reducedSize(spec, op);
  DimExpr length = each.isConstant() ? each : spec.dims.constant(kUsualLength);
  DimExpr blocks = spec.dims.resolve(spec.dims.ceilDiv(results, spec.dims.constant(kSide)));
  schedule = blockSchedule(spec, name, kColumnThreads, partsOfSum(spec, length, kColumnThreads / kSide, blocks));
  return "";
}

std::string cuda::planBlockReduce(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  std::string refusal;
  ReduceOp op = reductionOf(spec, refusal);
  if (!op)
    return refusal;
  DimExpr each = reducedSize(spec, op),
          results = spec.dims.resolve(spec.dims.product(spec.sizes->dims(op.getResult())));
  if (!isInnermostReduced(op) && (!results.isConstant() || results.constant() >= kManyResults))
    return "its results lie side by side, a thread for each";
  if (schedule) // given
    return misfit(spec, name, schedule, kMostReducedParts);
  int64_t threads = threadsFor(each, columnsOfReduce(spec, op).lanes);
  schedule = blockSchedule(spec, name, threads, partsOfSum(spec, each, threads, results));
  return "";
}

/// What the kernel yields where a reduction's result is `total`.
static void storeReduced(cpu::KernelFunction &fn, ReduceOp op, Value total, ArrayRef<Value> at) {
  Value value = cpu::narrow(fn.b, fn.b.getLoc(), total, getElementTypeOrSelf(op.getOperand()));
  cpu::KernelElements elements(fn, 1);
  elements.install(op.getResult(), [value](ArrayRef<LaneIndex>) { return value; });
  elements.storeResults(elements.uniform(at));
}

/// Where the sum of a part is in the workspace.
static Value placeOfPart(cpu::KernelFunction &fn, Type type) {
  auto buffer = MemRefType::get({cpu::kHuge}, cpu::storageType(type));
  return memref::ViewOp::create(fn.b, buffer, fn.workspace(), fn.index(0), ValueRange());
}

/// The results of a block: that of its chunk, or some side by side, of which this thread has one.
namespace {
struct OwnResult {
  Value number;  // clamped to the last one
  Value isThere; // null: it is
};
} // namespace

static OwnResult ownResult(cpu::KernelFunction &fn, DimExpr results, int64_t side, Value chunk) {
  if (side == 1)
    return {chunk, nullptr};
  ImplicitLocOpBuilder &b = fn.b;
  Value row = arith::RemUIOp::create(b, threadNumber(fn), fn.index(side));
  Value number = arith::AddIOp::create(b, arith::MulIOp::create(b, chunk, fn.index(side)), row);
  Value last = arith::SubIOp::create(b, fn.materialize(results), fn.index(1));
  return {arith::MinSIOp::create(b, number, last), arith::CmpIOp::create(b, arith::CmpIPredicate::sle, number, last)};
}

/// Where the sum of a part of a result is among all; those of results side by side are so, too.
static Value placeAmongParts(cpu::KernelFunction &fn, DimExpr results, int64_t side, int64_t parts, Value result,
                             Value part) {
  ImplicitLocOpBuilder &b = fn.b;
  Value outer = side == 1 ? result : part, inner = side == 1 ? part : result;
  Value pitch = side == 1 ? fn.index(parts) : fn.materialize(results);
  return arith::AddIOp::create(b, arith::MulIOp::create(b, outer, pitch), inner);
}

/// A kernel after the first one: the parts of each result.
static void emitReducedParts(cuda::KernelSpec &spec, ReduceOp op, ModuleOp module, StringRef symbol, int64_t parts,
                             int64_t side) {
  cpu::KernelFunction fn(spec, module, symbol, {.workspace = true});
  ImplicitLocOpBuilder &b = fn.b;
  Dims sizes = spec.sizes->dims(op.getResult());
  DimExpr results = spec.dims.product(sizes);
  Type elementType = getElementTypeOrSelf(op.getOperand()), accumulator = cpu::accumulatorType(elementType);
  auto join = [&](Value x, Value y) { return cpu::combine(b, b.getLoc(), op.getCombiner(), elementType, x, y); };
  Value sums = placeOfPart(fn, accumulator);
  Value end = fn.materialize(spec.dims.ceilDiv(results, spec.dims.constant(side)));
  // There are as many chunks as in the first kernel: one for each part.
  fn.loop(fn.begin(), arith::MinSIOp::create(b, fn.end(), end), 1, [&](Value chunk) {
    OwnResult result = ownResult(fn, results, side, chunk);
    BlockWalk walk(fn, spec.dims.constant(parts), {kJoinThreads, 1, side});
    Value total = walk.combine(cpu::identityOf(fn, op.getCombiner(), elementType), cpu::kNoBlocks, join,
                               [&](cpu::KernelElements &, Value part, Value total) {
                                 Value at = placeAmongParts(fn, results, side, parts, result.number, part);
                                 return join(total, fn.load(sums, at, accumulator));
                               });
    walk.once(
        [&] { fn.ifThen(result.isThere, [&] { storeReduced(fn, op, total, fn.delinearize(result.number, sizes)); }); });
  });
  fn.finish();
}

namespace {
/// The first, or the only, kernel of a reduction.
class ReduceEmitter {
public:
  ReduceEmitter(cuda::KernelSpec &spec, ReduceOp op, Walkers walkers, int64_t parts)
      : spec(spec), op(op), walkers(walkers), parts(parts), lanes(columnsOfReduce(spec, op).lanes),
        sizes(spec.sizes->dims(op.getOperand())), elementType(getElementTypeOrSelf(op.getOperand())),
        accumulator(cpu::accumulatorType(elementType)) {
    for (int64_t axis : op.getAxes())
      reduced.push_back(sizes[axis]);
    all = reducedSize(spec, op);
    // Parts begin with a whole vector.
    DimExpr step = spec.dims.constant(lanes);
    each =
        parts == 1 ? all : spec.dims.mul(spec.dims.ceilDiv(all, spec.dims.mul(step, spec.dims.constant(parts))), step);
    each = spec.dims.resolve(each);
  }
  cpu::EmittedKernel emit(ModuleOp module, StringRef symbol, bool hasWorkspace);

private:
  Value combine(cpu::KernelFunction &fn, BlockWalk &walk, ArrayRef<Value> outer, Value first, int64_t lanes);
  Value element(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> outer, Value flat);

  cuda::KernelSpec &spec;
  ReduceOp op;
  Walkers walkers;
  int64_t parts, lanes;
  Dims sizes, reduced;
  Type elementType, accumulator;
  DimExpr all, each; // elements of a result, and of a part
};
} // namespace

/// Elements of the operand from number `flat` of those that a result is made of, as accumulators.
Value ReduceEmitter::element(cpu::KernelFunction &fn, cpu::KernelElements &elements, ArrayRef<Value> outer,
                             Value flat) {
  SmallVector<Value> inner = fn.delinearize(flat, reduced);
  SmallVector<LaneIndex> index(sizes.size());
  for (auto [axis, i] : llvm::zip(op.getAxes(), inner))
    index[axis] = axis + 1 == static_cast<int64_t>(sizes.size()) ? cpu::LaneLoop::at(elements, i) : elements.uniform(i);
  unsigned next = 0;
  for (LaneIndex &i : index)
    if (!i.base)
      i = elements.uniform(outer[next++]);
  Value value =
      cpu::widen(fn.b, fn.b.getLoc(), elements.load(op.getOperand(), index), accumulator, isUnsigned(elementType));
  return elements.lanes > 1 && !isa<VectorType>(value.getType()) ? elements.splat(value) : value;
}

cpu::EmittedKernel ReduceEmitter::emit(ModuleOp module, StringRef symbol, bool hasWorkspace) {
  cpu::KernelFunction fn(spec, module, symbol, {.workspace = hasWorkspace});
  ImplicitLocOpBuilder &b = fn.b;
  Dims resultSizes = spec.sizes->dims(op.getResult());
  DimExpr results = spec.dims.product(resultSizes);
  Value end = fn.end();
  if (hasWorkspace && parts == 1) // there are chunks for parts that it does not have
    end = arith::MinSIOp::create(b, end, fn.materialize(results));
  Value sums = parts > 1 ? placeOfPart(fn, accumulator) : Value(), aligned = lanes > 1 ? areAligned(fn) : Value();
  fn.loop(fn.begin(), end, 1, [&](Value chunk) {
    Value group = chunk, part, first;
    if (parts > 1) {
      group = arith::DivUIOp::create(b, chunk, fn.index(parts));
      part = arith::SubIOp::create(b, chunk, arith::MulIOp::create(b, group, fn.index(parts)));
      first = arith::MulIOp::create(b, part, fn.materialize(each));
    }
    OwnResult result = ownResult(fn, results, walkers.side, group);
    SmallVector<Value> outer = fn.delinearize(result.number, resultSizes);
    auto reduce = [&](int64_t lanes) {
      BlockWalk walk(fn, each, walkers, lanes);
      Value total = combine(fn, walk, outer, first, lanes);
      walk.once([&] {
        fn.ifThen(result.isThere, [&] {
          if (parts > 1)
            fn.store(total, sums, placeAmongParts(fn, results, walkers.side, parts, result.number, part));
          else
            storeReduced(fn, op, total, outer);
        });
      });
    };
    if (aligned)
      fn.branch(aligned, [&] { reduce(lanes); }, [&] { reduce(1); });
    else
      reduce(1);
  });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks =
      spec.dims.mul(spec.dims.ceilDiv(results, spec.dims.constant(walkers.side)), spec.dims.constant(parts));
  if (parts > 1)
    emitted.workspaceBytes =
        spec.dims.mul(spec.dims.mul(results, spec.dims.constant(parts)),
                      spec.dims.constant(cpu::storageType(accumulator).getIntOrFloatBitWidth() / 8));
  return emitted;
}

/// The elements of one result, or those from `first` on (null: all) that are a part.
Value ReduceEmitter::combine(cpu::KernelFunction &fn, BlockWalk &walk, ArrayRef<Value> outer, Value first,
                             int64_t lanes) {
  ImplicitLocOpBuilder &b = fn.b;
  auto join = [&](Value x, Value y) { return cpu::combine(b, b.getLoc(), op.getCombiner(), elementType, x, y); };
  return walk.combine(cpu::identityOf(fn, op.getCombiner(), elementType), cpu::blockOf(op.getCombiner(), elementType),
                      join, [&](cpu::KernelElements &elements, Value flat, Value total) {
                        if (!first)
                          return join(total, element(fn, elements, outer, flat));
                        // The last parts may be shorter, or have nothing.
                        Value last = arith::SubIOp::create(b, fn.materialize(all), fn.index(lanes));
                        flat = arith::AddIOp::create(b, flat, first);
                        Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, flat, last);
                        flat = arith::MinSIOp::create(b, flat, last);
                        Value joined = join(total, element(fn, elements, outer, flat));
                        return arith::SelectOp::create(b, isThere, joined, total).getResult();
                      });
}

cpu::EmittedKernel cuda::emitReduceLoops(cuda::KernelSpec &spec, ReduceOp op, ModuleOp module, StringRef symbol,
                                         Walkers walkers, int64_t parts, bool hasWorkspace) {
  return ReduceEmitter(spec, op, walkers, parts).emit(module, symbol, hasWorkspace);
}

/// The first kernel of a reduction and, where there are parts, the second one.
static cpu::EmittedKernel emitReduceOf(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, ScheduleAttr schedule,
                                       int64_t side) {
  auto op = cast<ReduceOp>(cpu::findShapedRoot(spec));
  int64_t parts = partsOf(schedule);
  if (parts > 1)
    emitReducedParts(spec, op, module, (symbol + kJoinSuffix).str(), parts, side);
  return emitReduceLoops(spec, op, module, symbol, {schedule.getLanes(), 1, side}, parts, parts > 1);
}

cpu::EmittedKernel cuda::emitReduceBy(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol,
                                      ScheduleAttr schedule) {
  return emitReduceOf(spec, module, symbol, schedule, /*side=*/1);
}

cpu::EmittedKernel cuda::emitBlockReduce(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return emitReduceBy(spec, module, symbol, spec.schedule());
}

cpu::EmittedKernel cuda::emitBlockColumns(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return emitReduceOf(spec, module, symbol, spec.schedule(), kSide);
}

Value cuda::rowOperand(cuda::KernelSpec &spec) {
  bool several = false;
  return cpu::findRoot(spec, several)->getOperand(0);
}

Columns cuda::columnsOfRow(cuda::KernelSpec &spec) {
  DimExpr length = spec.dims.resolve(spec.sizes->dims(rowOperand(spec)).back());
  return {length, vectorLanes(spec, length, getElementTypeOrSelf(rowOperand(spec)))};
}

std::string cuda::planBlockRow(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  if (!cpu::isRow(spec))
    return "it is no softmax or layer norm along the last axis";
  auto [length, lanes] = columnsOfRow(spec);
  if (length.isConstant() && length.constant() < kFewColumns)
    return "its rows are of few elements";
  if (schedule) // given
    return misfit(spec, name, schedule, 1);
  schedule = blockSchedule(spec, name, threadsFor(length, lanes));
  return "";
}

cpu::EmittedKernel cuda::emitBlockRow(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return emitRowLoops(spec, module, symbol, {spec.schedule().getLanes()});
}

cpu::EmittedKernel cuda::emitRowLoops(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, Walkers walkers) {
  cpu::KernelFunction fn(spec, module, symbol, {});
  int64_t lanes = columnsOfRow(spec).lanes;
  Value aligned = lanes > 1 ? areAligned(fn) : Value();
  cpu::EmittedKernel emitted =
      cpu::emitRows(fn, spec.dims.constant(1), [&](DimExpr length, function_ref<void(cpu::RowWalk &)> body) {
        auto walkRow = [&](int64_t lanes) {
          BlockWalk walk(fn, length, walkers, lanes);
          body(walk);
        };
        if (aligned)
          fn.branch(aligned, [&] { walkRow(lanes); }, [&] { walkRow(1); });
        else
          walkRow(1);
      });
  emitted.estimatedNs = 0;
  return emitted;
}
