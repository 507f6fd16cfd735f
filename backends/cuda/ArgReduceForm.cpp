// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions of the greatest or least elements, with a block for each: a thread looks at every so-manieth element, then
// the lanes of a warp and the warps join what they found. Of two elements the later one is asked whether it takes the
// earlier one's place, so that ties and NaN are those of a walk from the first to the last.

#include "backends/cuda/ArgReduceForm.h"
#include "backends/cpu/emit/ArgReduce.h"
#include "backends/cpu/emit/General.h"
#include "backends/cuda/BlockForms.h"
#include "backends/cuda/Shuffles.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// So many results that lie side by side have a thread each.
constexpr int64_t kManyResults = 4096;

std::string cuda::planBlockArgReduce(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  auto op = dyn_cast_or_null<ArgReduceOp>(cpu::findShapedRoot(spec));
  if (!op)
    return "its root is no arg_reduce, or its results several shapes";
  if (!cpu::canBuild(op.getOperand(), [](Value) { return false; }) || !cpu::canBuildAfter(spec, op))
    return "what surrounds the reduction cannot be built element by element";
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr length = spec.dims.resolve(sizes[op.getAxis()]);
  if (schedule) {
    int64_t threads = schedule.getLanes();
    bool fits = areThreads(threads, kMostThreads) && schedule == blockSchedule(spec, name, threads);
    return fits ? ""
                : "its `lanes`, the threads of a block, require a power of two from 32 to 256, and it has no other "
                  "fields";
  }
  if (length.isConstant() && length.constant() < kFewColumns)
    return "each result is of few elements";
  DimExpr results = spec.dims.resolve(spec.dims.product(spec.sizes->dims(op.getResult())));
  bool isLast = op.getAxis() + 1 == sizes.size();
  if (!isLast && (!results.isConstant() || results.constant() >= kManyResults))
    return "its results lie side by side, a thread for each";
  schedule = blockSchedule(spec, name, threadsFor(length));
  return "";
}

namespace {
class ArgReduceEmitter {
public:
  ArgReduceEmitter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : spec(spec), fn(spec, module, symbol, {}), b(fn.b), op(cast<ArgReduceOp>(cpu::findShapedRoot(spec))),
        threads(spec.schedule().getLanes()), type(signless(getElementTypeOrSelf(op.getOperand()))),
        results(spec.sizes->dims(op.getResult())), thread(threadNumber(fn)),
        length(asInt64(fn.materialize(spec.sizes->dims(op.getOperand())[op.getAxis()]))) {
    values = sharedArray(fn, cpu::storageType(type), threads / kWarp);
    positions = sharedArray(fn, b.getI64Type(), threads / kWarp);
  }
  cpu::EmittedKernel emit();

private:
  /// An element and where it is; at `length` or behind it: none.
  struct Found {
    Value value, position;
  };
  Value asInt64(Value index) { return arith::IndexCastOp::create(b, b.getI64Type(), index); }
  Value less(Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y); }
  Found choose(Value condition, const Found &x, const Found &y) {
    return {arith::SelectOp::create(b, condition, x.value, y.value),
            arith::SelectOp::create(b, condition, x.position, y.position)};
  }
  Found join(const Found &x, const Found &y);
  Found find(ArrayRef<Value> outer);
  Found joinThreads(Found found);

  cuda::KernelSpec &spec;
  cpu::KernelFunction fn;
  ImplicitLocOpBuilder &b;
  ArgReduceOp op;
  int64_t threads;
  Type type;
  Dims results;
  Value thread, length;
  Value values, positions; // of warps, in shared memory
};
} // namespace

ArgReduceEmitter::Found ArgReduceEmitter::join(const Found &x, const Found &y) {
  Value isBefore = less(y.position, x.position);
  Found earlier = choose(isBefore, y, x), later = choose(isBefore, x, y);
  Value wins = arith::AndIOp::create(b, less(later.position, length), cpu::winsOver(b, op, later.value, earlier.value));
  return choose(wins, later, earlier);
}

/// Of this thread's elements.
ArgReduceEmitter::Found ArgReduceEmitter::find(ArrayRef<Value> outer) {
  auto element = [&](Value i) {
    cpu::KernelElements elements(fn, 1);
    SmallVector<LaneIndex> index = elements.uniform(outer);
    index.insert(index.begin() + static_cast<int64_t>(op.getAxis()), elements.uniform(i));
    return elements.load(op.getOperand(), index);
  };
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  Value end = arith::IndexCastOp::create(b, b.getIndexType(), length);
  SmallVector<Value> best =
      fn.loop(thread, end, threads, ValueRange{zero, length}, [&](Value i, ValueRange carried) -> SmallVector<Value> {
        Found next = join({carried[0], carried[1]}, {element(i), asInt64(i)});
        return {next.value, next.position};
      });
  return {best[0], best[1]};
}

/// Of all threads of the block; in all of them.
ArgReduceEmitter::Found ArgReduceEmitter::joinThreads(Found found) {
  for (int64_t mask = kWarp / 2; mask > 0; mask /= 2)
    found = join(found, {exchange(b, found.value, mask), exchange(b, found.position, mask)});
  if (threads == kWarp)
    return found;
  Value warp = arith::DivUIOp::create(b, thread, fn.index(kWarp)),
        lane = arith::RemUIOp::create(b, thread, fn.index(kWarp));
  NVVM::Barrier0Op::create(b); // what an earlier chunk left has been read
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, fn.index(0));
  fn.ifThen(isFirst, [&] {
    fn.store(found.value, values, warp);
    fn.store(found.position, positions, warp);
  });
  NVVM::Barrier0Op::create(b);
  for (int64_t i = 0; i < threads / kWarp; ++i) {
    Found other{fn.load(values, fn.index(i), type), fn.load(positions, fn.index(i), b.getI64Type())};
    found = i == 0 ? other : join(found, other);
  }
  return found;
}

cpu::EmittedKernel ArgReduceEmitter::emit() {
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    SmallVector<Value> outer = fn.delinearize(chunk, results);
    Found found = joinThreads(find(outer));
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, fn.index(0));
    fn.ifThen(isFirst, [&] {
      cpu::KernelElements elements(fn, 1);
      elements.install(op.getResult(), [&](ArrayRef<LaneIndex>) { return found.position; });
      elements.storeResults(elements.uniform(outer));
    });
  });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = spec.dims.product(results);
  return emitted;
}

cpu::EmittedKernel cuda::emitBlockArgReduce(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return ArgReduceEmitter(spec, module, symbol).emit();
}
