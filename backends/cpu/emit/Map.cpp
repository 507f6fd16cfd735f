// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels without a root: every result element is computed by itself. Adjacent axes that all accesses walk contiguously
// are merged, the innermost merged axis goes in lanes, everything else is the outer loop.

#include "backends/cpu/emit/KernelElements.h"
#include "ir/Composer.h"
#include "ir/ElementCost.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// About how long one element of the results takes. An op of fewer elements counts for its part.
static double elementNs(KernelSpec &spec) {
  RankedTensorType whole = tensorTypeOf(spec.yielded(0));
  double ns = 0;
  for (Operation &op : spec.body().without_terminator()) {
    RankedTensorType type = tensorTypeOf(op.getResult(0));
    double part = 1;
    if (type.hasStaticShape() && whole.hasStaticShape() && whole.getNumElements() > 0)
      part = static_cast<double>(type.getNumElements()) / static_cast<double>(whole.getNumElements());
    ns += std::min(part, 1.0) * static_cast<double>(elementCost(&op)) * spec.costs().additionNs;
  }
  return std::max(ns, spec.costs().elementNs);
}

namespace {
/// The axes of the results, merged where all accesses allow it: each group has an original axis that carries its index.
struct MapAxes {
  explicit MapAxes(KernelSpec &spec);

  Dims sizes, groups; // groups but the innermost
  SmallVector<int64_t> carriers;
  DimExpr inner, rows;
};
} // namespace

MapAxes::MapAxes(KernelSpec &spec) : sizes(spec.sizes->dims(spec.yielded(0))) {
  SmallVector<bool> merges = mergeableAxes(spec, sizes);
  DimExpr size = spec.dims.constant(1);
  int64_t begin = 0;
  for (int64_t k = 0, rank = sizes.size(); k < rank; ++k) {
    size = spec.dims.mul(size, sizes[k]);
    if (k + 1 < rank && merges[k])
      continue;
    carriers.push_back(carrierAxis(spec, sizes, begin, k + 1));
    begin = k + 1;
    groups.push_back(size);
    size = spec.dims.constant(1);
  }
  // The walk needs an inner axis; a rank-0 result has one of size 1.
  inner = groups.empty() ? spec.dims.constant(1) : groups.pop_back_val();
  rows = spec.dims.product(groups);
}

/// The widest element of the kernel in bytes.
static int64_t widestElement(KernelSpec &spec) {
  int64_t width = 1;
  for (Operation &op : spec.body().without_terminator())
    for (Type type : op.getResultTypes())
      width = std::max(width, byteWidth(cast<RankedTensorType>(type).getElementType()));
  for (BlockArgument argument : spec.body().getArguments())
    width = std::max(width, byteWidth(cast<RankedTensorType>(argument.getType()).getElementType()));
  return width;
}

Plan sinter::cpu::planMap(KernelSpec &spec, ScheduleAttr given) {
  Value first = spec.yielded(0);
  for (unsigned i = 1; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(first, spec.yielded(i)))
      return Plan::refuse("its results have several shapes");
  for (Operation &op : spec.body().without_terminator())
    if (!isa<Pointwise, Elemental, ConstantOp>(op))
      return Plan::refuse((op.getName().getStringRef() + " is neither pointwise nor elemental").str());
  if (!canBuild(first, [](Value) { return false; }))
    return Plan::refuse("a constant in it is not one number");

  // Lanes fit the widest element of the kernel into one vector register.
  DimExpr inner = MapAxes(spec).inner;
  int64_t lanes = spec.target().lanes(widestElement(spec));
  if (inner.isConstant())
    while (lanes > inner.constant() && lanes > 1)
      lanes /= 2;
  Plan plan;
  plan.setLanes(lanes);
  // By time: fewer elements of dear ones.
  const CostModel &costs = spec.costs();
  auto elements = static_cast<int64_t>(static_cast<double>(costs.mapElements) * costs.elementNs / elementNs(spec));
  int64_t whole = lanesOr(given, lanes);
  plan.setChunk(static_cast<int64_t>(llvm::alignTo(std::max<int64_t>(elements, 1), whole)), whole);
  return plan;
}

EmittedKernel sinter::cpu::emitMap(KernelSpec &spec, ModuleOp module, StringRef name) {
  MapAxes axes(spec);
  const Dims &sizes = axes.sizes, &groups = axes.groups;
  const SmallVector<int64_t> &carriers = axes.carriers;
  DimExpr inner = axes.inner, rows = axes.rows;
  int64_t lanes = spec.schedule().getLanes(), chunkElements = spec.schedule().getChunk();
  KernelFunction fn(spec, module, name, {});
  ImplicitLocOpBuilder &b = fn.b;

  // Chunks are rows, or parts of a row when rows are long; both follow from the kernel and the sizes alone.
  DimExpr rowsPerChunk =
      spec.dims.max(spec.dims.constant(1),
                    spec.dims.floorDiv(spec.dims.constant(chunkElements), spec.dims.max(inner, spec.dims.constant(1))));
  DimExpr parts = spec.dims.ceilDiv(inner, spec.dims.constant(chunkElements));
  DimExpr rowChunks = spec.dims.ceilDiv(rows, rowsPerChunk);

  auto element = [&](KernelElements &elements, Value row, Value column, int64_t lanesHere) {
    SmallVector<Value> outer = fn.delinearize(row, groups);
    SmallVector<LaneIndex> index(sizes.size(), elements.constant(0));
    for (auto [position, axis] : llvm::zip(outer, carriers))
      index[axis] = elements.uniform(position);
    if (!carriers.empty())
      index[carriers.back()] = {column, lanesHere > 1 ? 1 : 0, nullptr, lanesHere};
    // All reads before the first write: a result may lie where an input does.
    SmallVector<Value> values;
    for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
      values.push_back(elements.load(spec.yielded(i), index));
    for (auto [i, value] : llvm::enumerate(values))
      elements.storeResult(static_cast<unsigned>(i), value, index);
  };

  Value innerSize = fn.materialize(inner);
  Value partCount = fn.materialize(parts), rowStep = fn.materialize(rowsPerChunk), rowCount = fn.materialize(rows);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value block = arith::DivUIOp::create(b, chunk, partCount);
    Value part = arith::SubIOp::create(b, chunk, arith::MulIOp::create(b, block, partCount));
    Value rowBegin = arith::MulIOp::create(b, block, rowStep);
    Value rowEnd = arith::MinSIOp::create(b, arith::AddIOp::create(b, rowBegin, rowStep), rowCount);
    Value columnBegin = arith::MulIOp::create(b, part, fn.index(chunkElements));
    Value columnEnd =
        arith::MinSIOp::create(b, arith::AddIOp::create(b, columnBegin, fn.index(chunkElements)), innerSize);
    Value extent = arith::SubIOp::create(b, columnEnd, columnBegin);
    Value tail = arith::RemUIOp::create(b, extent, fn.index(lanes));
    Value vectorEnd = arith::SubIOp::create(b, columnEnd, tail);
    fn.loop(rowBegin, rowEnd, 1, [&](Value row) {
      fn.loop(columnBegin, vectorEnd, lanes, [&](Value column) {
        KernelElements elements(fn, lanes);
        element(elements, row, column, lanes);
      });
      if (lanes == 1 || (inner.isConstant() && inner.constant() % lanes == 0))
        return;
      if (spec.target().hasMaskedMemory) {
        // At most one masked step; a loop of zero or one trips instead of a branch.
        fn.loop(vectorEnd, columnEnd, lanes, [&](Value column) {
          KernelElements elements(fn, lanes);
          Value left = arith::SubIOp::create(b, columnEnd, column);
          elements.mask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
          element(elements, row, column, lanes);
        });
      } else {
        fn.loop(vectorEnd, columnEnd, 1, [&](Value column) {
          KernelElements elements(fn, 1);
          element(elements, row, column, 1);
        });
      }
    });
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = spec.dims.mul(rowChunks, parts);
  if (rows.isConstant() && inner.isConstant())
    emitted.estimatedNs = elementNs(spec) * static_cast<double>(rows.constant() * inner.constant());
  emitted.inPlace = true; // each element once, its loads before its stores
  return emitted;
}
