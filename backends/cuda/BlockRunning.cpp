// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running combinations (cumulative sums and the like) of long rows. The threads of a block have four elements each,
// side by side, combine them, scan what they have, and then go over their elements again from what stands before them;
// so on with the next elements of the row. A scan is five exchanges in each warp, lane i with i - 1, 2, 4, 8, 16; the
// warps' totals go through shared memory.
//
// Few long rows have `tile` = [parts]: a block combines one part into the workspace. In a second kernel a block scans
// the totals of the parts before its own, and then its part.
//
// All orders follow from the sizes. Sums of f32 and narrower types are f64 inside, of f64 compensated (RunningTotal.h).

#include "backends/cuda/BlockRunning.h"
#include "backends/cpu/emit/RunningTotal.h"
#include "backends/cpu/emit/Single.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/Shuffles.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Elements side by side of a thread.
constexpr int64_t kElements = 4;
/// Rows that lie side by side have a thread each where there are so many.
constexpr int64_t kManyRows = 1 << 14;
/// Rounds of a block over a part, at least.
constexpr int64_t kRoundsOfPart = 2;

/// Parts of a row are the threads' of one block.
static std::string misfit(cuda::KernelSpec &spec, StringRef name, ScheduleAttr schedule) {
  int64_t threads = schedule.getLanes(), parts = partsOf(schedule);
  bool areParts = parts == 1 || (parts <= kJoinThreads && threads == kJoinThreads);
  if (areThreads(threads, kMostThreads) && areParts && schedule == blockSchedule(spec, name, threads, parts))
    return "";
  return "its `lanes`, the threads of a block, require a power of two from 32 to 256, and 256 where its tile has a "
         "number of parts, 2 to 256";
}

std::string cuda::planBlockRunning(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  auto op = dyn_cast_or_null<CumulativeOp>(cpu::singleRoot(spec));
  if (!op)
    return "it is no running combination alone";
  // A product of many factors may overflow where that of all before it makes up for it; f64 has no wider type.
  if (op.getCombiner() == Combiner::mul && getElementTypeOrSelf(op.getOperand()).isF64())
    return "products of f64 are in the order of the elements";
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr length = spec.dims.resolve(sizes[op.getAxis()]);
  if (length.isConstant() && length.constant() < kFewColumns)
    return "its rows are of few elements";
  if (schedule)
    return misfit(spec, name, schedule);
  DimExpr side = spec.dims.resolve(spec.dims.product(ArrayRef(sizes).drop_front(op.getAxis() + 1)));
  sizes.erase(sizes.begin() + op.getAxis());
  DimExpr rows = spec.dims.resolve(spec.dims.product(sizes));
  bool areSideBySide = !side.isConstant() || side.constant() != 1;
  if (areSideBySide && (!rows.isConstant() || rows.constant() >= kManyRows))
    return "its rows lie side by side, a thread for each";
  int64_t parts = partsFor(spec, length, rows, kJoinThreads * kElements * kRoundsOfPart, kJoinThreads);
  schedule = blockSchedule(spec, name, parts > 1 ? kJoinThreads : threadsFor(length, kElements), parts);
  return "";
}

namespace {
using State = SmallVector<Value>;

/// What both kernels of a running combination share: one row, or part of it, of a block.
class RunningEmitter {
public:
  RunningEmitter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol, int64_t threads)
      : k(spec, module, symbol, cpu::singleRoot(spec), {.workspace = partsOf(spec.schedule()) > 1}), b(k.b),
        op(cast<CumulativeOp>(k.root)), threads(threads), parts(partsOf(spec.schedule())),
        sizes(k.sizesOf(op.getOperand())), others(sizes), length(k.dims().resolve(sizes[op.getAxis()])),
        total(k.fn, op.getCombiner(), getElementTypeOrSelf(op.getOperand())) {
    others.erase(others.begin() + op.getAxis());
    thread = threadNumber(k.fn);
    lane = arith::RemUIOp::create(b, thread, k.fn.index(kWarp));
    warp = arith::DivUIOp::create(b, thread, k.fn.index(kWarp));
    for (Value value : total.start)
      totals.push_back(sharedArray(k.fn, cpu::storageType(value.getType()), threads / kWarp));
  }
  cpu::EmittedKernel emitTotals();
  cpu::EmittedKernel emitRows();

private:
  /// A part of a row: which elements, and the row's position on the other axes.
  struct Part {
    Value number, low, high; // its number in the row
    SmallVector<Value> outer;
  };
  void forEachPart(function_ref<void(Value chunk, const Part &)> body);
  SmallVector<Value> at(const Part &part, Value position);
  Value element(const Part &part, Value position) { return k.element(op.getOperand(), at(part, position)); }
  /// The state with an element more where `isThere`.
  State next(const State &state, Value element, Value isThere) {
    return choose(isThere, total.next(state, element), state);
  }
  State choose(Value condition, const State &x, const State &y) {
    State chosen;
    for (auto [first, second] : llvm::zip(x, y))
      chosen.push_back(k.select(condition, first, second));
    return chosen;
  }
  State fromLane(const State &state, Value other) {
    return llvm::map_to_vector(state, [&](Value value) { return cuda::fromLane(b, value, other); });
  }
  /// What the threads before this one have, and what all have.
  std::pair<State, State> scan(const State &own);
  /// What the parts before this one have.
  State before(Value chunk, const Part &part);
  State emitRound(const Part &part, Value first, const State &carried);
  Value partBuffer(unsigned value);

  cpu::SingleKernel k;
  ImplicitLocOpBuilder &b;
  CumulativeOp op;
  int64_t threads, parts;
  Dims sizes, others;
  DimExpr length;
  cpu::RunningTotal total;
  Value thread, lane, warp;
  SmallVector<Value> totals; // of warps, in shared memory
};
} // namespace

SmallVector<Value> RunningEmitter::at(const Part &part, Value position) {
  if (op.getReverse())
    position = k.sub(k.sub(k.size(length), k.fn.index(1)), position);
  SmallVector<Value> index(part.outer);
  index.insert(index.begin() + static_cast<int64_t>(op.getAxis()), position);
  return index;
}

std::pair<State, State> RunningEmitter::scan(const State &own) {
  auto laneBefore = [&](int64_t distance) { return k.max(k.sub(lane, k.fn.index(distance)), k.fn.index(0)); };
  auto isBehind = [&](int64_t distance) { return k.less(k.fn.index(distance - 1), lane); };
  State here = own;
  for (int64_t distance = 1; distance < kWarp; distance *= 2)
    here = choose(isBehind(distance), total.join(fromLane(here, laneBefore(distance)), here), here);
  State earlier = choose(isBehind(1), fromLane(here, laneBefore(1)), total.start);
  if (threads == kWarp)
    return {earlier, fromLane(here, k.fn.index(kWarp - 1))};
  NVVM::Barrier0Op::create(b); // what the scan before left has been read
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, k.fn.index(kWarp - 1));
  k.ifThen(isLast, [&] {
    for (auto [value, buffer] : llvm::zip(here, totals))
      k.fn.store(value, buffer, warp);
  });
  NVVM::Barrier0Op::create(b);
  State all = total.start, warpsBefore = total.start;
  for (int64_t i = 0; i < threads / kWarp; ++i) {
    State ofWarp;
    for (auto [value, buffer] : llvm::zip(own, totals))
      ofWarp.push_back(k.fn.load(buffer, k.fn.index(i), value.getType()));
    all = total.join(all, ofWarp);
    warpsBefore = choose(k.less(k.fn.index(i), warp), all, warpsBefore);
  }
  return {total.join(warpsBefore, earlier), all};
}

void RunningEmitter::forEachPart(function_ref<void(Value, const Part &)> body) {
  DimContext &dims = k.dims();
  k.chunks = dims.mul(dims.product(others), dims.constant(parts));
  Value each = k.size(dims.ceilDiv(length, dims.constant(parts))), end = k.size(length);
  k.fn.loop(k.fn.begin(), k.fn.end(), 1, [&](Value chunk) {
    Value row = chunk;
    Part part{k.fn.index(0), k.fn.index(0), end, {}};
    if (parts > 1) {
      row = arith::DivUIOp::create(b, chunk, k.fn.index(parts));
      part.number = k.sub(chunk, k.mul(row, k.fn.index(parts)));
      part.low = k.min(k.mul(part.number, each), end);
      part.high = k.min(k.add(part.low, each), end);
    }
    part.outer = k.fn.delinearize(row, others);
    body(chunk, part);
  });
}

Value RunningEmitter::partBuffer(unsigned value) {
  Type type = cpu::storageType(total.start[value].getType());
  DimContext &dims = k.dims();
  DimExpr bytes = dims.mul(k.chunks, dims.constant(8 * value)); // no value is wider
  return memref::ViewOp::create(b, MemRefType::get({cpu::kHuge}, type), k.fn.workspace(), k.size(bytes), ValueRange());
}

/// The first of two kernels: a thread combines every so-manieth element.
cpu::EmittedKernel RunningEmitter::emitTotals() {
  forEachPart([&](Value chunk, const Part &part) {
    State own = k.fn.loop(
        k.add(part.low, thread), part.high, threads, total.start,
        [&](Value position, ValueRange carried) -> State { return total.next(carried, element(part, position)); });
    State all = scan(own).second;
    k.ifThen(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, k.fn.index(0)), [&] {
      for (auto [i, value] : llvm::enumerate(all))
        k.fn.store(value, partBuffer(static_cast<unsigned>(i)), chunk);
    });
  });
  DimContext &dims = k.dims();
  k.workspaceBytes = dims.mul(k.chunks, dims.constant(8 * static_cast<int64_t>(total.start.size())));
  return k.finish();
}

State RunningEmitter::before(Value chunk, const Part &part) {
  if (parts == 1)
    return total.start;
  Value isBefore = k.less(thread, part.number), own = k.add(k.sub(chunk, part.number), thread);
  State state;
  for (auto [i, start] : llvm::enumerate(total.start)) {
    Value buffer = partBuffer(static_cast<unsigned>(i));
    state.push_back(k.fn.load(buffer, k.select(isBefore, own, chunk), start.getType()));
  }
  return scan(choose(isBefore, state, total.start)).second;
}

/// The elements from `first` on that the block has at once; returns what there is behind them.
State RunningEmitter::emitRound(const Part &part, Value first, const State &carried) {
  Value last = k.sub(part.high, k.fn.index(1)), begin = k.add(first, k.mul(thread, k.fn.index(kElements)));
  SmallVector<Value> positions, elements, areThere;
  State own = total.start;
  for (int64_t i = 0; i < kElements; ++i) {
    Value position = k.add(begin, k.fn.index(i));
    areThere.push_back(k.less(position, part.high));
    positions.push_back(k.min(position, last));
    elements.push_back(element(part, positions.back()));
    own = next(own, elements.back(), areThere.back());
  }
  auto [earlier, all] = scan(own);
  State running = total.join(carried, earlier);
  for (int64_t i = 0; i < kElements; ++i) {
    State after = next(running, elements[i], areThere[i]);
    Value value = total.value(op.getExclusive() ? running : after);
    k.ifThen(areThere[i], [&] { k.store(0, value, k.fn.offset(at(part, positions[i]), sizes)); });
    running = after;
  }
  return total.join(carried, all);
}

cpu::EmittedKernel RunningEmitter::emitRows() {
  forEachPart([&](Value chunk, const Part &part) {
    k.fn.loop(part.low, part.high, threads * kElements, before(chunk, part),
              [&](Value first, ValueRange carried) -> State { return emitRound(part, first, State(carried)); });
  });
  return k.finish();
}

cpu::EmittedKernel cuda::emitBlockRunning(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  int64_t threads = spec.schedule().getLanes();
  if (partsOf(spec.schedule()) == 1)
    return RunningEmitter(spec, module, symbol, threads).emitRows();
  RunningEmitter(spec, module, (symbol + kJoinSuffix).str(), kJoinThreads).emitRows();
  return RunningEmitter(spec, module, symbol, threads).emitTotals();
}
