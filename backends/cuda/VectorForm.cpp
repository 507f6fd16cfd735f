// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointwise kernels of many elements: a thread computes `lanes` of them side by side, and reads and writes what lies in
// buffers as vectors of up to 16 bytes. Axes that all accesses walk contiguously are one, so that the flat index is the
// address. Elements behind the last whole vector go one by one, and all do where a buffer begins at no multiple of 16
// bytes, which is asked at run time.

#include "backends/cuda/VectorForm.h"
#include "backends/cpu/emit/AxisGroups.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "backends/cuda/BlockWalk.h"
#include "ir/Indexing.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

/// Fewer elements have a thread each: there are threads enough, and each is done sooner.
constexpr int64_t kManyElements = 1 << 16;
constexpr int64_t kMostLanes = 8;

static bool isOneElement(cuda::KernelSpec &spec, Value tensor) {
  DimExpr elements = spec.dims.resolve(spec.dims.product(spec.sizes->dims(tensor)));
  return elements.isConstant() && elements.constant() == 1;
}

/// Whether the last axis of a broadcast repeats one element.
static bool repeatsLast(cuda::KernelSpec &spec, BroadcastOp op) {
  int64_t last = cast<RankedTensorType>(op.getType()).getRank() - 1;
  if (op.getAxes().empty() || op.getAxes().back() != last)
    return true;
  DimExpr size = spec.dims.resolve(spec.sizes->dims(op.getOperand()).back());
  return size.isConstant() && size.constant() == 1;
}

/// What is read along the last axis of the results, each value once.
static llvm::SmallSetVector<Value, 16> readAlong(cuda::KernelSpec &spec) {
  llvm::SmallSetVector<Value, 16> values;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    values.insert(spec.yielded(i));
  for (size_t i = 0; i < values.size(); ++i) {
    Operation *op = values[i].getDefiningOp();
    if (!op)
      continue;
    auto broadcast = dyn_cast<BroadcastOp>(op);
    if (isa<GatherOp>(op) || (broadcast && !repeatsLast(spec, broadcast)))
      values.insert(op->getOperand(0));
    else if (!broadcast)
      values.insert_range(op->getOperands());
  }
  return values;
}

/// As many of the widest elements in memory as a vector has.
static int64_t lanesOf(cuda::KernelSpec &spec) {
  int64_t width = 1;
  for (Value value : readAlong(spec))
    if (isa<BlockArgument>(value) && !isOneElement(spec, value))
      width = std::max(width, byteWidth(getElementTypeOrSelf(value)));
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    width = std::max(width, byteWidth(getElementTypeOrSelf(spec.yielded(i))));
  return std::min(kMostLanes, kVectorBytes / width);
}

/// Whether neighbours along the last axis of the op's result are neighbours in what it reads, or one element of it.
static bool keepsLines(Operation *op) {
  int64_t last = cast<RankedTensorType>(op->getResult(0).getType()).getRank() - 1;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<Pointwise, ConstantOp, IotaOp, BroadcastOp>([](auto) { return true; })
      .Case([&](TransposeOp op) { return last < 0 || op.getPermutation()[last] == last; })
      .Case([&](SliceOp op) { return last < 0 || op.getSteps()[last] == 1; })
      .Case([&](ReverseOp op) { return !llvm::is_contained(op.getAxes(), last); })
      .Case([&](ConcatenateOp op) { return static_cast<int64_t>(op.getAxis()) != last; })
      .Case([&](GatherOp op) {
        return static_cast<int64_t>(op.getAxis()) + 1 < cast<RankedTensorType>(op.getOperand().getType()).getRank();
      })
      .Default([](Operation *) { return false; });
}

namespace {
/// The results' axes, merged: the last run in lanes.
struct Lines {
  explicit Lines(cuda::KernelSpec &spec)
      : sizes(spec.sizes->dims(spec.yielded(0))), groups(cpu::groupAxes(spec, sizes, cpu::mergeableAxes(spec, sizes))) {
    inner = groups.sizes.empty() ? spec.dims.constant(1) : spec.dims.resolve(groups.sizes.pop_back_val());
    rows = spec.dims.resolve(spec.dims.product(groups.sizes));
  }
  bool areOne() const { return rows.isConstant() && rows.constant() == 1; }

  Dims sizes;
  cpu::AxisGroups groups; // but the last
  DimExpr inner, rows;
};
} // namespace

std::string cuda::planVectors(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  Value first = spec.yielded(0);
  bool several = false;
  if (cpu::findRoot(spec, several))
    return "it does more than compute elements one by one";
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(first, spec.yielded(i)) || !cpu::canBuild(spec.yielded(i), [](Value) { return false; }))
      return "its ops have no scalar form, or its results several shapes";
  for (Operation &op : spec.body().without_terminator())
    if (!keepsLines(&op))
      return (op.getName().getStringRef() + " reads no neighbours").str();
  int64_t lanes = lanesOf(spec);
  Lines lines(spec);
  bool isWhole = lines.inner.isConstant() && lines.inner.constant() % lanes == 0;
  if (!isWhole && !lines.areOne())
    return "its rows are no whole vectors, or of unknown length";
  auto chosen = ScheduleAttr::get(spec.kernel.getContext(), name, lanes, {}, 0, {}, {});
  if (schedule)
    return schedule == chosen ? ""
                              : "its `lanes` require " + std::to_string(lanes) +
                                    ", the elements of a vector, and it has no other fields";
  if (lines.inner.isConstant() && lines.rows.isConstant() &&
      lines.inner.constant() * lines.rows.constant() < kManyElements)
    return "it has few elements";
  schedule = chosen;
  return "";
}

namespace {
class VectorEmitter {
public:
  VectorEmitter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : spec(spec), fn(spec, module, symbol, {}), b(fn.b), lanes(spec.schedule().getLanes()), lines(spec) {}
  cpu::EmittedKernel emit();

private:
  void emitAt(int64_t lanes, Value row, Value column);

  cuda::KernelSpec &spec;
  cpu::KernelFunction fn;
  ImplicitLocOpBuilder &b;
  int64_t lanes;
  Lines lines;
};
} // namespace

void VectorEmitter::emitAt(int64_t lanes, Value row, Value column) {
  cpu::KernelElements elements(fn, lanes);
  if (lanes > 1)
    elements.bufferAlignment = kVectorBytes;
  SmallVector<LaneIndex> index(lines.sizes.size(), elements.constant(0));
  for (auto [axis, i] : llvm::zip(lines.groups.carriers, fn.delinearize(row, lines.groups.sizes)))
    index[axis] = elements.uniform(i);
  if (!index.empty())
    index[lines.groups.carriers.back()] = cpu::LaneLoop::at(elements, column);
  elements.storeResultsAfterReads(index);
}

cpu::EmittedKernel VectorEmitter::emit() {
  DimContext &dims = spec.dims;
  DimExpr vectors = dims.resolve(dims.ceilDiv(lines.inner, dims.constant(lanes)));
  Value end = fn.materialize(lines.inner), perRow = fn.materialize(vectors), aligned = areAligned(fn);
  bool hasTail = !(lines.inner.isConstant() && lines.inner.constant() % lanes == 0);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value row = fn.index(0), vector = chunk;
    if (!lines.areOne()) {
      row = arith::DivUIOp::create(b, chunk, perRow);
      vector = arith::SubIOp::create(b, chunk, arith::MulIOp::create(b, row, perRow));
    }
    Value low = arith::MulIOp::create(b, vector, fn.index(lanes));
    Value high = arith::AddIOp::create(b, low, fn.index(lanes)), isWhole = aligned;
    if (hasTail)
      isWhole = arith::AndIOp::create(b, isWhole, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, high, end));
    fn.branch(
        isWhole, [&] { emitAt(lanes, row, low); },
        [&] { fn.loop(low, arith::MinSIOp::create(b, high, end), 1, [&](Value column) { emitAt(1, row, column); }); });
  });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.inPlace = true; // each element once, its loads before its stores
  emitted.chunks = dims.mul(lines.rows, vectors);
  if (lines.rows.isConstant() && lines.inner.isConstant())
    emitted.estimatedNs = spec.costs().scalarNs * static_cast<double>(lines.rows.constant() * lines.inner.constant());
  return emitted;
}

cpu::EmittedKernel cuda::emitVectors(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return VectorEmitter(spec, module, symbol).emit();
}
