// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms in which a block computes a chunk: one result of a reduction, one row of a softmax or layer norm. `lanes` of
// their schedules are the threads.

#include "backends/cuda/BlockForms.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/TakenForms.h"
#include "backends/cuda/BlockWalk.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Rows of fewer columns are a thread's.
constexpr int64_t kFewColumns = 64;
/// Reductions with so many results or more, which lie side by side, have a thread for each.
constexpr int64_t kManyResults = 4096;
constexpr int64_t kMostThreads = 256;

/// As many threads as have four columns each; a power of two.
static int64_t threadsFor(DimExpr length) {
  if (!length.isConstant())
    return kMostThreads;
  int64_t wanted = static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(length.constant()) / 4));
  return std::min(std::max<int64_t>(wanted, 32), kMostThreads);
}

static ScheduleAttr scheduleOf(cuda::KernelSpec &spec, StringRef name, DimExpr length) {
  return ScheduleAttr::get(spec.kernel.getContext(), name, threadsFor(length), {}, 0, {}, {});
}

static DimExpr reducedSize(cuda::KernelSpec &spec, ReduceOp op) {
  Dims sizes = spec.sizes->dims(op.getOperand());
  DimExpr product = spec.dims.constant(1);
  for (int64_t axis : op.getAxes())
    product = spec.dims.mul(product, sizes[axis]);
  return spec.dims.resolve(product);
}

std::string cuda::planBlockReduce(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  auto op = dyn_cast_or_null<ReduceOp>(cpu::findShapedRoot(spec));
  if (!op || op.getAxes().empty())
    return "its root is no reduction, or its results several shapes";
  if (!cpu::canBuild(op.getOperand(), [](Value) { return false; }) || !cpu::canBuildAfter(spec, op))
    return "what surrounds the reduction cannot be built element by element";
  DimExpr each = reducedSize(spec, op),
          results = spec.dims.resolve(spec.dims.product(spec.sizes->dims(op.getResult())));
  if (each.isConstant() && each.constant() < kFewColumns)
    return "each result is of few elements";
  bool isInner = llvm::is_contained(op.getAxes(), cast<RankedTensorType>(op.getOperand().getType()).getRank() - 1);
  if (!isInner && (!results.isConstant() || results.constant() >= kManyResults))
    return "its results lie side by side, a thread for each";
  schedule = scheduleOf(spec, name, each);
  return "";
}

cpu::EmittedKernel cuda::emitBlockReduce(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  auto op = cast<ReduceOp>(cpu::findShapedRoot(spec));
  cpu::KernelFunction fn(spec, module, symbol, {});
  ImplicitLocOpBuilder &b = fn.b;
  Dims sizes = spec.sizes->dims(op.getOperand()), results = spec.sizes->dims(op.getResult()), reduced;
  for (int64_t axis : op.getAxes())
    reduced.push_back(sizes[axis]);
  Type elementType = getElementTypeOrSelf(op.getOperand()), accumulator = cpu::accumulatorType(elementType);
  auto join = [&](Value x, Value y) { return cpu::combine(b, b.getLoc(), op.getCombiner(), elementType, x, y); };
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    SmallVector<Value> outer = fn.delinearize(chunk, results);
    BlockWalk walk(fn, reducedSize(spec, op), spec.schedule().getLanes());
    Value total =
        walk.combine(cpu::identityOf(fn, op.getCombiner(), elementType), cpu::blockOf(op.getCombiner(), elementType),
                     join, [&](cpu::KernelElements &elements, Value flat, Value total) {
                       SmallVector<Value> inner = fn.delinearize(flat, reduced);
                       SmallVector<LaneIndex> index(sizes.size());
                       for (auto [axis, i] : llvm::zip(op.getAxes(), inner))
                         index[axis] = elements.uniform(i);
                       unsigned next = 0;
                       for (LaneIndex &i : index)
                         if (!i.base)
                           i = elements.uniform(outer[next++]);
                       Value value = cpu::widen(b, b.getLoc(), elements.load(op.getOperand(), index), accumulator,
                                                isUnsigned(elementType));
                       return join(total, value);
                     });
    walk.once([&] {
      Value value = cpu::narrow(b, b.getLoc(), total, elementType);
      cpu::KernelElements elements(fn, 1);
      elements.install(op.getResult(), [value](ArrayRef<LaneIndex>) { return value; });
      SmallVector<LaneIndex> index;
      for (Value i : outer)
        index.push_back(elements.uniform(i));
      for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
        elements.storeResult(i, elements.load(spec.yielded(i), index), index);
    });
  });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = spec.dims.product(results);
  return emitted;
}

static DimExpr rowLength(cuda::KernelSpec &spec) {
  bool several = false;
  return spec.dims.resolve(spec.sizes->dims(cpu::findRoot(spec, several)->getOperand(0)).back());
}

std::string cuda::planBlockRow(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  if (!cpu::isRow(spec))
    return "it is no softmax or layer norm of f32 or f64 along the last axis";
  DimExpr length = rowLength(spec);
  if (length.isConstant() && length.constant() < kFewColumns)
    return "its rows are of few elements";
  schedule = scheduleOf(spec, name, length);
  return "";
}

cpu::EmittedKernel cuda::emitBlockRow(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  cpu::KernelFunction fn(spec, module, symbol, {});
  cpu::EmittedKernel emitted = cpu::emitRows(fn, spec.dims.constant(1), [&](DimExpr length) {
    return std::make_unique<BlockWalk>(fn, length, spec.schedule().getLanes());
  });
  emitted.estimatedNs = 0;
  return emitted;
}
