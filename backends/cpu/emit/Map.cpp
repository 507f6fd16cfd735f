// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels without a root: every result element is computed by itself. Adjacent axes that all accesses walk contiguously
// are merged, the innermost merged axis goes in lanes, everything else is the outer loop. Where joins are taken apart,
// the innermost axis is walked part by part (JoinParts.h).
//
// Where a transpose makes a last axis of two to four elements, as of an image whose channels become last, the axis
// before it goes in lanes: a vector for each of the few elements, which are stored interleaved.

#include "backends/cpu/emit/AxisGroups.h"
#include "backends/cpu/emit/Interleave.h"
#include "backends/cpu/emit/JoinParts.h"
#include "backends/cpu/emit/KernelElements.h"
#include "ir/Composer.h"
#include "ir/ElementCost.h"
#include "ir/Resampling.h"
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
  std::optional<JoinParts> joined; // along the innermost group
  DimExpr joinedStep;              // elements of the innermost group from one place of the joined axis to the next
  int64_t few = 1;                 // elements behind each of `inner`, which are stored interleaved
  int64_t fewCarrier = 0;

private:
  /// Returns where the innermost group begins.
  int64_t merge(KernelSpec &spec);
};
} // namespace

/// Elements that are stored interleaved at most.
constexpr int64_t kMostInterleaved = 4;

/// Whether elements of the kernel's results that are neighbours along axis `line` are so in what transposes read, while
/// neighbours along the axes behind it are not.
static bool turnsLines(KernelSpec &spec, int64_t line) {
  size_t rank = spec.sizes->dims(spec.yielded(0)).size();
  bool turns = false;
  for (Operation &op : spec.body().without_terminator()) {
    if (isa<Pointwise, ConstantOp, BroadcastOp, PadOp>(op))
      continue;
    auto transpose = dyn_cast<TransposeOp>(op);
    if (!transpose || transpose.getPermutation().size() != rank ||
        transpose.getPermutation()[line] + 1 != static_cast<int64_t>(rank))
      return false;
    turns = true;
  }
  return turns;
}

/// Whether a result is a part of a larger buffer.
static bool liesInParts(KernelSpec &spec) {
  return llvm::any_of(llvm::seq<unsigned>(0, spec.kernel.getNumResults()),
                      [&](unsigned i) { return !spec.kernel.stridesOf(spec.kernel.getNumOperands() + i).empty(); });
}

int64_t MapAxes::merge(KernelSpec &spec) {
  AxisGroups found = groupAxes(spec, sizes, mergeableAxes(spec, sizes, nullptr, joined ? &*joined : nullptr));
  groups = std::move(found.sizes);
  carriers = std::move(found.carriers);
  return found.innermost;
}

MapAxes::MapAxes(KernelSpec &spec) : sizes(spec.sizes->dims(spec.yielded(0))), joined(findJoinParts(spec)) {
  int64_t innermost = merge(spec);
  if (joined && joined->axis != innermost) {
    joined.reset();
    merge(spec);
  }
  if (joined)
    joinedStep = spec.dims.product(ArrayRef(sizes).drop_front(joined->axis + 1));
  // The walk needs an inner axis; a rank-0 result has one of size 1.
  inner = groups.empty() ? spec.dims.constant(1) : groups.pop_back_val();
  auto isBool = [](Value value) { return getElementTypeOrSelf(value).isInteger(1); };
  if (!groups.empty() && inner.isConstant() && inner.constant() > 1 && inner.constant() <= kMostInterleaved &&
      turnsLines(spec, carriers[carriers.size() - 2]) && !liesInParts(spec) &&
      llvm::none_of(spec.body().getTerminator()->getOperands(), isBool)) {
    few = inner.constant();
    fewCarrier = carriers.pop_back_val();
    inner = groups.pop_back_val();
  }
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

/// Elements of the innermost group, or of the longest part of it where joins are taken apart.
static int64_t longestStretch(KernelSpec &spec, const MapAxes &axes) {
  if (!axes.joined)
    return axes.inner.constant();
  int64_t longest = 0;
  for (const JoinPart &part : axes.joined->parts) {
    DimExpr size = spec.dims.mul(part.size, axes.joinedStep);
    longest = std::max(longest, size.isConstant() ? size.constant() : axes.inner.constant());
  }
  return longest;
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

  // Lanes fit the widest element of the kernel into one vector register, and no more than the longest stretch that is
  // walked.
  MapAxes axes(spec);
  int64_t lanes = spec.target().lanes(widestElement(spec));
  if (axes.inner.isConstant())
    while (lanes > longestStretch(spec, axes) && lanes > 1)
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

namespace {
/// Writes the walk over the results.
class MapWalk {
public:
  MapWalk(KernelFunction &fn, const MapAxes &axes)
      : fn(fn), b(fn.b), spec(fn.spec), axes(axes), lanes(spec.schedule().getLanes()),
        chunkElements(
            static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(spec.schedule().getChunk(), axes.few), lanes))) {}

  /// Returns the number of chunks: of rows, or of parts of a row where rows are long. Both follow from the kernel and
  /// the sizes alone.
  DimExpr emit() {
    DimContext &dims = spec.dims;
    DimExpr inner = axes.inner, one = dims.constant(1), elements = dims.constant(chunkElements);
    DimExpr rowsPerChunk = dims.max(one, dims.floorDiv(elements, dims.max(inner, one)));
    DimExpr parts = dims.ceilDiv(inner, elements);
    DimExpr rowChunks = dims.ceilDiv(axes.rows, rowsPerChunk);
    Value innerSize = fn.materialize(inner);
    Value partCount = fn.materialize(parts), rowStep = fn.materialize(rowsPerChunk),
          rowCount = fn.materialize(axes.rows);
    bool isWhole = parts.isConstant() && parts.constant() <= 1;
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      Value block = arith::DivUIOp::create(b, chunk, partCount);
      Value part = arith::SubIOp::create(b, chunk, arith::MulIOp::create(b, block, partCount));
      Value rowBegin = arith::MulIOp::create(b, block, rowStep);
      Value rowEnd = arith::MinSIOp::create(b, arith::AddIOp::create(b, rowBegin, rowStep), rowCount);
      Value columnBegin = arith::MulIOp::create(b, part, fn.index(chunkElements));
      Value columnEnd =
          arith::MinSIOp::create(b, arith::AddIOp::create(b, columnBegin, fn.index(chunkElements)), innerSize);
      SmallVector<Stretch> stretches;
      if (!axes.joined)
        stretches.push_back(stretch(nullptr, columnBegin, columnEnd, isWhole));
      else
        for (const JoinPart &joined : axes.joined->parts)
          stretches.push_back(stretch(&joined, columnBegin, columnEnd, isWhole));
      fn.loop(rowBegin, rowEnd, 1, [&](Value row) {
        for (const Stretch &each : stretches)
          walk(row, each);
      });
    });
    return dims.mul(rowChunks, parts);
  }

private:
  /// Columns [low, high) that are walked by the same code; they count from where the part begins.
  struct Stretch {
    const JoinPart *part; // null: all of the results
    DimExpr begin;        // in the innermost group
    Value low, vectorEnd, high;
    bool hasTail;
    std::optional<int64_t> tail; // columns from `vectorEnd` on, where they are known
  };

  Stretch stretch(const JoinPart *part, Value columnBegin, Value columnEnd, bool isWhole) {
    DimContext &dims = spec.dims;
    Stretch result{part, dims.constant(0), columnBegin, nullptr, columnEnd, lanes > 1, std::nullopt};
    DimExpr size = axes.inner;
    if (part) {
      result.begin = dims.mul(part->begin, axes.joinedStep);
      size = dims.mul(part->size, axes.joinedStep);
      Value zero = fn.index(0), begin = fn.materialize(result.begin);
      if (isWhole) {
        result.low = zero;
        result.high = fn.materialize(size);
      } else {
        result.low = arith::MaxSIOp::create(b, arith::SubIOp::create(b, columnBegin, begin), zero);
        Value high = arith::MinSIOp::create(b, arith::SubIOp::create(b, columnEnd, begin), fn.materialize(size));
        result.high = arith::MaxSIOp::create(b, high, result.low);
      }
    }
    bool beginsWhole = isWhole || (result.begin.isConstant() && result.begin.constant() % lanes == 0);
    if (size.isConstant() && beginsWhole)
      result.hasTail &= size.constant() % lanes != 0;
    if (size.isConstant() && isWhole && part)
      result.tail = size.constant() % lanes;
    if (result.tail) {
      result.vectorEnd = fn.index(size.constant() - *result.tail);
    } else {
      Value extent = arith::SubIOp::create(b, result.high, result.low);
      Value tail = arith::RemUIOp::create(b, extent, fn.index(lanes));
      result.vectorEnd = arith::SubIOp::create(b, result.high, tail);
    }
    return result;
  }

  void walk(Value row, const Stretch &stretch) {
    auto vectors = [&](Value column, int64_t count) {
      KernelElements elements(fn, lanes);
      SmallVector<Value> columns;
      for (int64_t i = 0; i < count; ++i)
        columns.push_back(arith::AddIOp::create(b, column, fn.index(i * lanes)));
      element(elements, row, columns, stretch);
    };
    Value low = stretch.low;
    if (int64_t together = vectorsTogether(); together > 1)
      low = fn.wholeSteps(low, stretch.vectorEnd, together * lanes, [&](Value column) { vectors(column, together); });
    loopOfParts(fn, low, stretch.vectorEnd, lanes, lanes > 1 ? functionsTogether() : 1, /*partsOfStep=*/1,
                [&](Value column) { vectors(column, 1); });
    if (!stretch.hasTail)
      return;
    auto masked = [&](Value column, Value left) {
      KernelElements elements(fn, lanes);
      elements.mask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{left});
      element(elements, row, column, stretch);
    };
    bool hasMasks = spec.target().hasMaskedMemory && axes.few == 1;
    if (stretch.tail && hasMasks) {
      masked(stretch.vectorEnd, fn.index(*stretch.tail));
    } else if (stretch.tail) {
      Value column = stretch.vectorEnd;
      for (int64_t width = lanes / 2; width > 0; width /= 2)
        if (*stretch.tail & width) {
          KernelElements elements(fn, width);
          element(elements, row, column, stretch);
          column = arith::AddIOp::create(b, column, fn.index(width));
        }
    } else if (hasMasks) {
      // At most one masked step; a loop of zero or one trips instead of a branch.
      fn.loop(stretch.vectorEnd, stretch.high, lanes,
              [&](Value column) { masked(column, arith::SubIOp::create(b, stretch.high, column)); });
    } else {
      fn.loop(stretch.vectorEnd, stretch.high, 1, [&](Value column) {
        KernelElements elements(fn, 1);
        element(elements, row, column, stretch);
      });
    }
  }

  /// Vectors of a row that are computed before the first of them is stored: what grid samples find out from the places
  /// that they load is then found out once for several vectors of channels.
  int64_t vectorsTogether() {
    constexpr int64_t most = 4;
    auto isSample = [](Operation &op) { return samplesChannels(&op); };
    if (axes.few > 1 || !axes.inner.isConstant() || llvm::none_of(spec.body(), isSample))
      return 1;
    return std::clamp<int64_t>(axes.inner.constant() / lanes, 1, most);
  }

  /// Vectors whose functions are computed side by side, where that is not much code.
  int64_t functionsTogether() {
    constexpr int64_t most = 4, fewOps = 12, functionCost = 12;
    auto isFunction = [](Operation &op) {
      return isa<FloatType>(elementTypeOf(op.getResult(0))) && elementCost(&op) >= functionCost;
    };
    auto ops = spec.body().without_terminator();
    bool isWorthIt =
        axes.few == 1 && llvm::count_if(ops, llvm::IsaPred<Pointwise>) <= fewOps && llvm::any_of(ops, isFunction);
    return isWorthIt ? most : 1;
  }

  /// Where the elements at `column`, or from there on as many as there are lanes, lie in the results.
  SmallVector<LaneIndex> indexOf(KernelElements &elements, Value row, Value column, const Stretch &stretch) {
    SmallVector<Value> outer = fn.delinearize(row, axes.groups);
    SmallVector<LaneIndex> index(axes.sizes.size(), elements.constant(0));
    for (auto [position, axis] : llvm::zip(outer, axes.carriers))
      index[axis] = elements.uniform(position);
    if (!axes.carriers.empty()) {
      LaneIndex along{column, elements.lanes > 1 ? 1 : 0, nullptr, elements.lanes};
      if (stretch.part)
        along = elements.add(along, elements.uniform(fn.materialize(stretch.begin)));
      index[axes.carriers.back()] = along;
    }
    return index;
  }

  /// The elements of all results at one place of each column, or at as many as there are lanes.
  void element(KernelElements &elements, Value row, ArrayRef<Value> columns, const Stretch &stretch) {
    SmallVector<SmallVector<LaneIndex>> indices;
    for (Value column : columns)
      indices.push_back(indexOf(elements, row, column, stretch));
    if (stretch.part)
      for (const JoinPart::Taken &taken : stretch.part->taken)
        elements.install(taken.join->getResult(0), [this, &elements, &taken](ArrayRef<LaneIndex> at) {
          SmallVector<LaneIndex> source(at);
          Value begin = fn.materialize(spec.dims.mul(taken.begin, axes.joinedStep));
          source[axes.carriers.back()] = elements.sub(source[axes.carriers.back()], elements.uniform(begin));
          return elements.load(taken.join->getOperand(taken.operand), source);
        });
    // All reads before the first write: a result may lie where an input does.
    unsigned results = spec.kernel.getNumResults();
    SmallVector<SmallVector<Value>> values(columns.size() * results);
    for (auto [column, index] : llvm::enumerate(indices))
      for (int64_t place = 0; place < axes.few; ++place) {
        if (axes.few > 1)
          index[axes.fewCarrier] = elements.constant(place);
        for (unsigned i = 0; i < results; ++i)
          values[column * results + i].push_back(elements.load(spec.yielded(i), index));
      }
    for (auto [column, index] : llvm::enumerate(indices))
      for (unsigned i = 0; i < results; ++i)
        store(elements, i, values[column * results + i], index);
  }

  void store(KernelElements &elements, unsigned i, MutableArrayRef<Value> few, SmallVector<LaneIndex> &index) {
    if (axes.few > 1 && elements.lanes > 1)
      return storeInterleaved(elements, i, few, index);
    for (auto [place, value] : llvm::enumerate(few)) {
      if (axes.few > 1)
        index[axes.fewCarrier] = elements.constant(static_cast<int64_t>(place));
      elements.storeResult(i, value, index);
    }
  }

  /// Stores lane l of the vectors, one after the other, then lane l + 1.
  void storeInterleaved(KernelElements &elements, unsigned i, MutableArrayRef<Value> few, ArrayRef<LaneIndex> index) {
    for (Value &value : few)
      if (!isa<VectorType>(value.getType()))
        value = elements.splat(value);
    auto count = static_cast<int64_t>(few.size());
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
    Value low = few[0], high = few[1]; // of what the last vectors are shuffled with
    if (count > 2)
      low = vector::ShuffleOp::create(b, few[0], few[1], all);
    if (count > 2) // as long as the other, or elements would be moved one by one
      high = vector::ShuffleOp::create(b, few[2], few.back(), all);
    SmallVector<LaneIndex> at(index);
    at[axes.fewCarrier] = elements.constant(0);
    Value base = elements.offsetOf(i, at);
    for (int64_t part = 0; part < count; ++part) {
      SmallVector<int64_t> taken;
      for (int64_t k = part * lanes; k < (part + 1) * lanes; ++k)
        taken.push_back(k % count * lanes + k / count);
      Value stored = vector::ShuffleOp::create(b, low, high, taken);
      vector::StoreOp::create(b, stored, fn.result(i),
                              ValueRange{arith::AddIOp::create(b, base, fn.index(part * lanes))});
    }
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  KernelSpec &spec;
  const MapAxes &axes;
  int64_t lanes, chunkElements;
};
} // namespace

EmittedKernel sinter::cpu::emitMap(KernelSpec &spec, ModuleOp module, StringRef name) {
  MapAxes axes(spec);
  KernelFunction fn(spec, module, name, {});
  EmittedKernel emitted;
  emitted.chunks = MapWalk(fn, axes).emit();
  fn.finish();
  emitted.function = fn.function;
  DimContext &dims = spec.dims;
  emitted.estimate(spec, dims.mul(dims.mul(axes.rows, axes.inner), dims.constant(axes.few)), elementNs(spec));
  emitted.inPlace = true; // each element once, its loads before its stores
  return emitted;
}
