// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions in lanes. When the innermost axis is reduced the lanes run along it and each result element is one
// accumulation; otherwise the lanes run along the innermost axis that stays, and each lane is a result element: a few
// vectors side by side and a few rows at a time, so that additions overlap. Sums go by blocks (BlockSums.h). Pointwise
// producers are computed as they are read, pointwise consumers on the result in registers.
//
//   chunk     a run of result elements, or of (row of results, a few vectors of it)
//
// Where few results are each of a long innermost axis, a chunk combines a part of that axis into the workspace, and a
// second step the parts of each result and what they leave of the axis. Where few rows of results are each of many rows
// that follow each other, a chunk combines a part of these for all columns, and a second step the parts: a thread reads
// the rows that it also reads and writes in kernels that compute element by element, which stay in its caches.

#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "ir/Composer.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Independent vectors of partial results across rows.
constexpr int64_t kPartials = 8;
/// Results, or rows of them, that are few, and the parts of all of them.
constexpr int64_t kFewResults = 16, kParts = 64;
/// Rows of a part at least, so that the second step has little to do, and parts that are worth a second step.
constexpr int64_t kPartRows = 32, kLeastParts = 4, kManyParts = 16;

namespace {
/// Parts of the innermost axis: `count` for each result, of `length` indices, and how many indices are left.
struct AxisParts {
  int64_t count = 0, length = 0, rest = 0;
};

/// Rows that are combined: `size` from `first` on (null: 0), at most `most`.
struct RowRange {
  Value first, size;
  DimExpr most;
};

/// What is reduced, along axes that are merged where they can be.
struct Reduction {
  Reduction(KernelSpec &spec, ReduceOp op);
  void mergeReducedAxes(KernelSpec &spec);
  /// Where lanes run.
  DimExpr laneAxis() const { return sizes[inner ? reduced.back() : kept.back()]; }
  /// Of few results of long axes, or few rows of results of many rows, whose sizes are known, where a chunk has so many
  /// elements; none otherwise.
  AxisParts parts(KernelSpec &spec, int64_t chunk) const;
  AxisParts runParts(KernelSpec &spec, int64_t chunk) const;
  /// The last part may be shorter.
  AxisParts rowParts(KernelSpec &spec, int64_t chunk) const;
  /// Rows of results.
  DimExpr resultRows(DimContext &dims) const;

  ReduceOp op;
  Dims sizes;
  int64_t rank;
  Type elementType, accumulator;
  SmallVector<int64_t> reduced, kept;
  bool inner;             // the innermost axis is reduced
  DimExpr units, perUnit; // results, and elements of the operand for each
};

class ReduceEmitter : Reduction {
public:
  ReduceEmitter(KernelFunction &fn, const Reduction &reduction) : Reduction(reduction), fn(fn), b(fn.b) {
    lanes = fn.spec.schedule().getLanes();
    if (!inner)
      vectors = fn.spec.schedule().getTile().front();
  }
  EmittedKernel emit();
  EmittedKernel emitParts(const AxisParts &parts);
  EmittedKernel emitRowParts(const AxisParts &parts);

private:
  /// The totals of `count` vectors of columns from `column` on.
  using CombineColumns = function_ref<SmallVector<Value>(Value column, int64_t count, int64_t columnLanes, Value mask)>;
  using TakeTotal = function_ref<void(KernelElements &, Value column, Value total)>;

  Value identity() { return identityOf(fn, op.getCombiner(), elementType); }
  Value identity(int64_t columnLanes) {
    return columnLanes > 1 ? KernelElements(fn, columnLanes).splat(identity()) : identity();
  }
  Value combined(Value x, Value y) { return combine(b, b.getLoc(), op.getCombiner(), elementType, x, y); }
  Value read(KernelElements &elements, ArrayRef<LaneIndex> index) {
    Value value = elements.load(op.getOperand(), index);
    if (elements.lanes > 1 && !isa<VectorType>(value.getType()))
      value = elements.splat(value);
    return widen(b, b.getLoc(), value, accumulator, isUnsigned(elementType));
  }
  SmallVector<SummedAxis> outerAxes();
  SmallVector<Value> positionAlong(ArrayRef<int64_t> axes, Value flat);
  SmallVector<Value> positionOf(Value flat) { return positionAlong(kept, flat); }
  SmallVector<Value> rowPositionOf(Value row) { return positionAlong(ArrayRef(kept).drop_back(), row); }
  Value combineRun(ArrayRef<Value> outer, DimExpr length, Value first);
  void alongRow(Value flat);
  void acrossRows(Value row, Value firstColumn);
  /// Passes on the totals of the vectors of one group of columns, from `firstColumn` on.
  void acrossColumns(Value firstColumn, CombineColumns combine, TakeTotal take);
  /// Combines rows for `count` vectors of columns from `column` on.
  SmallVector<Value> combineRows(ArrayRef<Value> outer, const RowRange &range, Value column, int64_t count,
                                 int64_t columnLanes, Value mask);
  /// Groups of columns; the last has what the others leave.
  DimExpr groups() const;
  void storeAt(KernelElements &elements, ArrayRef<Value> outer, Value column, Value total);
  /// The two steps of a kernel that combines parts: of them, and what they left in the workspace.
  EmittedKernel emitSteps(const AxisParts &parts, DimExpr results, DimExpr partBytes,
                          function_ref<void(Value partials)> combineParts,
                          function_ref<void(Value partials)> combineResults);
  void store(KernelElements &elements, Value total, ArrayRef<LaneIndex> index);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  int64_t lanes = 1, vectors = 1;
};
} // namespace

Reduction::Reduction(KernelSpec &spec, ReduceOp op)
    : op(op), sizes(spec.sizes->dims(op.getOperand())), rank(sizes.size()), elementType(elementTypeOf(op.getOperand())),
      accumulator(accumulatorType(elementType)) {
  reduced.append(op.getAxes().begin(), op.getAxes().end());
  llvm::sort(reduced);
  kept = otherAxes(rank, reduced);
  inner = llvm::is_contained(reduced, rank - 1);
  units = perUnit = spec.dims.constant(1);
  for (int64_t axis : kept)
    units = spec.dims.mul(units, sizes[axis]);
  for (int64_t axis : reduced)
    perUnit = spec.dims.mul(perUnit, sizes[axis]);
  mergeReducedAxes(spec);
}

/// Adjacent reduced axes are walked as one when the operand is read in place: then the last one's index spans them all.
void Reduction::mergeReducedAxes(KernelSpec &spec) {
  for (Operation &other : spec.body().without_terminator()) {
    auto repeats = dyn_cast<BroadcastOp>(other);
    bool keepsRows =
        repeats && llvm::none_of(repeats.getAxes(), [&](int64_t axis) { return llvm::is_contained(reduced, axis); });
    if (&other != op && !keepsRows && !isa<Pointwise, ConstantOp>(other))
      return;
  }
  // Nothing lies between their elements.
  auto follow = [&](int64_t axis) {
    return llvm::all_of(llvm::seq<unsigned>(0, spec.kernel.getNumOperands()), [&](unsigned input) {
      ArrayRef<int64_t> strides = spec.kernel.stridesOf(input);
      return strides.empty() || (static_cast<int64_t>(strides.size()) == rank && strides[axis] < 0);
    });
  };
  int64_t first = reduced.back(); // of those that are walked as one
  for (size_t k = reduced.size(); k-- > 1;) {
    int64_t before = reduced[k - 1];
    if (before + 1 == first && follow(before)) {
      sizes[reduced[k]] = spec.dims.mul(sizes[before], sizes[reduced[k]]);
      reduced[k - 1] = reduced[k];
      reduced.erase(reduced.begin() + k);
    }
    first = before;
  }
}

/// The reduced axes but the innermost.
SmallVector<SummedAxis> ReduceEmitter::outerAxes() {
  return llvm::map_to_vector(ArrayRef(reduced).drop_back(), [&](int64_t axis) { return summedAxis(fn, sizes[axis]); });
}

void ReduceEmitter::store(KernelElements &elements, Value total, ArrayRef<LaneIndex> index) {
  Value value = narrow(b, b.getLoc(), total, elementType);
  elements.install(op.getResult(), [value](ArrayRef<LaneIndex>) { return value; });
  elements.storeResults(index);
}

/// Where number `flat` of the positions on `axes` is.
SmallVector<Value> ReduceEmitter::positionAlong(ArrayRef<int64_t> axes, Value flat) {
  Dims counts;
  for (int64_t axis : axes)
    counts.push_back(sizes[axis]);
  return fn.delinearize(flat, counts);
}

/// Combines what the result element at `outer` is of, at `length` indices of the innermost axis, from `first` on or
/// from 0 (null): lanes along that axis.
Value ReduceEmitter::combineRun(ArrayRef<Value> outer, DimExpr length, Value first) {
  LaneLoop row(fn, length, lanes);
  return row.combine(
      outerAxes(), identity(), blockOf(op.getCombiner(), elementType), [&](Value x, Value y) { return combined(x, y); },
      [&](ArrayRef<Value> at, KernelElements &elements, Value column, Value total) {
        SmallVector<LaneIndex> index(rank, elements.constant(0));
        for (auto [axis, i] : llvm::zip(kept, outer))
          index[axis] = elements.uniform(i);
        for (auto [k, i] : llvm::enumerate(at))
          index[reduced[k]] = elements.uniform(i);
        Value inAxis = first ? arith::AddIOp::create(b, first, column).getResult() : column;
        index[reduced.back()] = LaneLoop::at(elements, inAxis);
        return combined(total, read(elements, index));
      });
}

/// One result element.
void ReduceEmitter::alongRow(Value flat) {
  SmallVector<Value> outer = positionOf(flat);
  Value total = combineRun(outer, sizes[reduced.back()], nullptr);
  KernelElements elements(fn, 1);
  store(elements, total, elements.uniform(outer));
}

AxisParts Reduction::parts(KernelSpec &spec, int64_t chunk) const {
  if (elementType.isInteger(1) || spec.options.optLevel == 0)
    return {};
  chunk = std::max<int64_t>(chunk, 1);
  return inner ? runParts(spec, chunk) : rowParts(spec, chunk);
}

AxisParts Reduction::runParts(KernelSpec &spec, int64_t chunk) const {
  int64_t results = constantOr(spec.dims, units, 0), each = constantOr(spec.dims, perUnit, 0);
  if (results == 0 || results > kFewResults)
    return {};
  int64_t axis = constantOr(spec.dims, laneAxis(), 0);
  int64_t count = std::min(kParts / results, each / chunk);
  // Whole vectors of all partial results.
  int64_t together = kPartials * spec.schedule().getLanes(),
          length = count > 1 ? axis / count / together * together : 0;
  return length > 0 ? AxisParts{count, length, axis - count * length} : AxisParts{};
}

DimExpr Reduction::resultRows(DimContext &dims) const {
  return dims.product(
      ArrayRef(llvm::map_to_vector(ArrayRef(kept).drop_back(), [&](int64_t axis) { return sizes[axis]; })));
}

AxisParts Reduction::rowParts(KernelSpec &spec, int64_t chunk) const {
  if (reduced.size() != 1)
    return {};
  int64_t results = constantOr(spec.dims, resultRows(spec.dims), 0), rows = constantOr(spec.dims, sizes[reduced[0]], 0),
          columns = constantOr(spec.dims, laneAxis(), 0), elements = 0;
  if (results == 0 || results > kFewResults || llvm::MulOverflow(rows, columns, elements))
    return {};
  int64_t count = std::min({kParts / results, elements / chunk, rows / kPartRows});
  // What columns would be split into.
  int64_t groups = columns * std::min(rows, chunk) / chunk;
  if (count < kLeastParts || (count < kManyParts && count < groups))
    return {};
  int64_t length = llvm::alignTo(llvm::divideCeil(rows, count), kPartials);
  return {static_cast<int64_t>(llvm::divideCeil(rows, length)), length, 0};
}

EmittedKernel ReduceEmitter::emitSteps(const AxisParts &parts, DimExpr results, DimExpr partBytes,
                                       function_ref<void(Value partials)> combineParts,
                                       function_ref<void(Value partials)> combineResults) {
  DimContext &dims = fn.spec.dims;
  Value partials =
      memref::ViewOp::create(b, MemRefType::get({kHuge}, accumulator), fn.workspace(), fn.index(0), ValueRange{});
  fn.branch(
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, fn.step(), fn.index(0)), [&] { combineParts(partials); },
      [&] { combineResults(partials); });
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.steps = dims.constant(2);
  emitted.chunks = dims.mul(results, dims.constant(parts.count));
  emitted.workspaceBytes = dims.mul(emitted.chunks, partBytes);
  emitted.estimate(fn.spec, dims.mul(units, perUnit), fn.spec.costs().reducedNs);
  return emitted;
}

/// Chunks of a first step combine a part of the innermost axis each, those of a second one the parts of one result.
EmittedKernel ReduceEmitter::emitParts(const AxisParts &parts) {
  DimContext &dims = fn.spec.dims;
  Value count = fn.index(parts.count);
  auto combineParts = [&](Value partials) {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      Value result = arith::DivUIOp::create(b, chunk, count), part = arith::RemUIOp::create(b, chunk, count);
      Value first = arith::MulIOp::create(b, part, fn.index(parts.length));
      Value total = combineRun(positionOf(result), dims.constant(parts.length), first);
      memref::StoreOp::create(b, total, partials, ValueRange{chunk});
    });
  };
  auto combineResults = [&](Value partials) {
    fn.loop(fn.begin(), arith::MinSIOp::create(b, fn.end(), fn.materialize(units)), 1, [&](Value result) {
      SmallVector<Value> outer = positionOf(result);
      Value total =
          parts.rest ? combineRun(outer, dims.constant(parts.rest), fn.index(parts.count * parts.length)) : identity();
      Value from = arith::MulIOp::create(b, result, count), to = arith::AddIOp::create(b, from, count);
      total = fn.loop(from, to, 1, ValueRange{total}, [&](Value part, ValueRange carried) -> SmallVector<Value> {
        return {combined(carried[0], memref::LoadOp::create(b, partials, ValueRange{part}))};
      })[0];
      KernelElements elements(fn, 1);
      store(elements, total, elements.uniform(outer));
    });
  };
  return emitSteps(parts, units, dims.constant(byteWidth(accumulator)), combineParts, combineResults);
}

/// Chunks of a first step combine a part of the rows of one row of results each, those of a second one the parts of
/// some columns of it.
EmittedKernel ReduceEmitter::emitRowParts(const AxisParts &parts) {
  DimContext &dims = fn.spec.dims;
  DimExpr length = dims.constant(parts.length), rows = resultRows(dims);
  Value count = fn.index(parts.count);
  int64_t width = llvm::alignTo(dims.resolve(laneAxis()).constant(), lanes); // whole vectors of a part's totals
  auto placeOf = [&](Value chunk, Value column) -> Value {
    return arith::AddIOp::create(b, arith::MulIOp::create(b, chunk, fn.index(width)), column);
  };
  auto combineParts = [&](Value partials) {
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      SmallVector<Value> outer = rowPositionOf(arith::DivUIOp::create(b, chunk, count));
      Value first = arith::MulIOp::create(b, arith::RemUIOp::create(b, chunk, count), fn.index(parts.length));
      Value left = arith::SubIOp::create(b, fn.materialize(sizes[reduced.back()]), first);
      RowRange range{first, arith::MinSIOp::create(b, left, fn.index(parts.length)), length};
      fn.loop(fn.index(0), fn.materialize(groups()), 1, [&](Value group) {
        acrossColumns(
            arith::MulIOp::create(b, group, fn.index(vectors * lanes)),
            [&](Value column, int64_t number, int64_t columnLanes, Value mask) {
              return combineRows(outer, range, column, number, columnLanes, mask);
            },
            [&](KernelElements &, Value column, Value total) {
              Value place = placeOf(chunk, column);
              if (isa<VectorType>(total.getType()))
                vector::StoreOp::create(b, total, partials, ValueRange{place});
              else
                memref::StoreOp::create(b, total, partials, ValueRange{place});
            });
      });
    });
  };
  auto combineResults = [&](Value partials) {
    DimExpr all = dims.mul(rows, groups());
    Value each = fn.materialize(dims.ceilDiv(all, dims.mul(rows, dims.constant(parts.count))));
    Value low = arith::MinSIOp::create(b, arith::MulIOp::create(b, fn.begin(), each), fn.materialize(all));
    Value high = arith::MinSIOp::create(b, arith::MulIOp::create(b, fn.end(), each), fn.materialize(all));
    Value perRow = fn.materialize(groups());
    fn.loop(low, high, 1, [&](Value unit) {
      Value row = arith::DivUIOp::create(b, unit, perRow), group = arith::RemUIOp::create(b, unit, perRow);
      SmallVector<Value> outer = rowPositionOf(row);
      Value from = arith::MulIOp::create(b, row, count), to = arith::AddIOp::create(b, from, count);
      acrossColumns(
          arith::MulIOp::create(b, group, fn.index(vectors * lanes)),
          [&](Value column, int64_t number, int64_t columnLanes, Value) {
            Value start = identity(columnLanes);
            return fn.loop(from, to, 1, SmallVector<Value>(number, start),
                           [&](Value part, ValueRange carried) -> SmallVector<Value> {
                             SmallVector<Value> totals;
                             for (auto [j, total] : llvm::enumerate(carried)) {
                               Value offset = fn.index(static_cast<int64_t>(j) * columnLanes);
                               Value place = arith::AddIOp::create(b, placeOf(part, column), offset), value;
                               if (auto type = dyn_cast<VectorType>(start.getType()))
                                 value = vector::LoadOp::create(b, type, partials, ValueRange{place});
                               else
                                 value = memref::LoadOp::create(b, partials, ValueRange{place});
                               totals.push_back(combined(total, value));
                             }
                             return totals;
                           });
          },
          [&](KernelElements &elements, Value column, Value total) { storeAt(elements, outer, column, total); });
    });
  };
  return emitSteps(parts, rows, dims.constant(width * byteWidth(accumulator)), combineParts, combineResults);
}

SmallVector<Value> ReduceEmitter::combineRows(ArrayRef<Value> outer, const RowRange &range, Value column, int64_t count,
                                              int64_t columnLanes, Value mask) {
  DimContext &dims = fn.spec.dims;
  int64_t together = std::max<int64_t>(1, kPartials / count);
  DimExpr rows = range.most, step = dims.constant(together);
  Value whole, end = range.size;
  if (range.first)
    whole = arith::SubIOp::create(b, end, arith::RemUIOp::create(b, end, fn.index(together)));
  else
    whole = fn.materialize(dims.mul(dims.floorDiv(rows, step), step));
  SmallVector<Value> fresh(count * together, identity(columnLanes));
  /// Adds row `row + r` to the partial results from r * count on.
  auto addRow = [&](ArrayRef<Value> at, Value row, int64_t r, MutableArrayRef<Value> sums) {
    for (int64_t j = 0; j < count; ++j) {
      KernelElements elements(fn, columnLanes);
      elements.mask = mask;
      SmallVector<LaneIndex> index(rank, elements.constant(0));
      for (auto [axis, i] : llvm::zip(kept, outer))
        index[axis] = elements.uniform(i);
      for (auto [k, i] : llvm::enumerate(at))
        index[reduced[k]] = elements.uniform(i);
      Value place = arith::AddIOp::create(b, row, fn.index(r));
      index[reduced.back()] =
          elements.uniform(range.first ? arith::AddIOp::create(b, range.first, place).getResult() : place);
      index[kept.back()] =
          LaneLoop::at(elements, arith::AddIOp::create(b, column, fn.index(j * columnLanes)).getResult());
      Value &sum = sums[r * count + j];
      sum = combined(sum, read(elements, index));
    }
  };
  auto walk = [&](ArrayRef<Value> at, Value begin, Value stop, ValueRange carried) -> SmallVector<Value> {
    Value wholeStop = stop ? arith::MinSIOp::create(b, stop, whole).getResult() : whole;
    Value endStop = stop ? arith::MinSIOp::create(b, stop, end).getResult() : end;
    SmallVector<Value> sums =
        fn.loop(begin, wholeStop, together, carried, [&](Value row, ValueRange partial) -> SmallVector<Value> {
          SmallVector<Value> next(partial);
          for (int64_t r = 0; r < together; ++r)
            addRow(at, row, r, next);
          return next;
        });
    // The rows that are left. A block of a range that is shorter than most has none.
    Value rest = range.first ? arith::MaxSIOp::create(b, begin, wholeStop).getResult() : wholeStop;
    SmallVector<Value> first(sums.begin(), sums.begin() + count);
    first = fn.loop(rest, endStop, 1, first, [&](Value row, ValueRange partial) -> SmallVector<Value> {
      SmallVector<Value> next(partial);
      addRow(at, row, 0, next);
      return next;
    });
    llvm::copy(first, sums.begin());
    return sums;
  };
  SmallVector<SummedAxis> axes = outerAxes();
  auto join = [&](Value x, Value y) { return combined(x, y); };
  int64_t block = blockOf(op.getCombiner(), elementType);
  DimExpr known = dims.resolve(rows);
  SmallVector<Value> totals;
  int64_t length = 1;
  bool isOneBlock = block == kNoBlocks;
  if (!isOneBlock && known.isConstant()) {
    length = std::max<int64_t>((known.constant() + together - 1) / together, 1);
    isOneBlock = length <= block;
  }
  if (isOneBlock) {
    totals = sumNest(fn, axes, length, block, fresh, join,
                     [&](ArrayRef<Value> at, ValueRange carried) { return walk(at, fn.index(0), nullptr, carried); });
  } else {
    int64_t blockRows = block * together;
    axes.push_back(summedAxis(fn, dims.ceilDiv(rows, dims.constant(blockRows))));
    totals = sumNest(fn, axes, block, block, fresh, join, [&](ArrayRef<Value> at, ValueRange carried) {
      Value begin = arith::MulIOp::create(b, at.back(), fn.index(blockRows));
      return walk(at.drop_back(), begin, arith::AddIOp::create(b, begin, fn.index(blockRows)), carried);
    });
  }
  for (int64_t half = together / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half * count; ++k)
      totals[k] = combined(totals[k], totals[k + half * count]);
  totals.truncate(count);
  return totals;
}

void ReduceEmitter::storeAt(KernelElements &elements, ArrayRef<Value> outer, Value column, Value total) {
  SmallVector<LaneIndex> index = elements.uniform(outer);
  index.push_back(LaneLoop::at(elements, column));
  store(elements, total, index);
}

/// The vectors of one row of results from `firstColumn` on: lanes along the innermost axis, which stays.
void ReduceEmitter::acrossRows(Value row, Value firstColumn) {
  SmallVector<Value> outer = rowPositionOf(row);
  DimExpr rows = sizes[reduced.back()];
  RowRange all{nullptr, fn.materialize(rows), rows};
  acrossColumns(
      firstColumn,
      [&](Value column, int64_t count, int64_t columnLanes, Value mask) {
        return combineRows(outer, all, column, count, columnLanes, mask);
      },
      [&](KernelElements &elements, Value column, Value total) { storeAt(elements, outer, column, total); });
}

void ReduceEmitter::acrossColumns(Value firstColumn, CombineColumns combine, TakeTotal take) {
  DimExpr columnCount = sizes[kept.back()];
  auto oneByOne = [&] {
    LaneLoop columns(fn, columnCount, lanes);
    columns.forEach([&](KernelElements &elements,
                        Value column) { take(elements, column, combine(column, 1, elements.lanes, elements.mask)[0]); },
                    firstColumn);
  };
  if (vectors == 1)
    return oneByOne();
  Value last = arith::AddIOp::create(b, firstColumn, fn.index(vectors * lanes));
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, last, fn.materialize(columnCount));
  bool always = columnCount.isConstant() && columnCount.constant() % (vectors * lanes) == 0;
  OpBuilder::InsertionGuard guard(b);
  if (!always) {
    auto branch = scf::IfOp::create(b, fits, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.elseBlock());
    oneByOne();
    b.setInsertionPointToStart(branch.thenBlock());
  }
  SmallVector<Value> totals = combine(firstColumn, vectors, lanes, nullptr);
  for (int64_t j = 0; j < vectors; ++j) {
    KernelElements elements(fn, lanes);
    take(elements, arith::AddIOp::create(b, firstColumn, fn.index(j * lanes)), totals[j]);
  }
}

/// A vector at a time: the rest of a row is one group.
DimExpr ReduceEmitter::groups() const {
  DimContext &dims = fn.spec.dims;
  return vectors > 1 ? dims.ceilDiv(laneAxis(), dims.constant(vectors * lanes)) : dims.constant(1);
}

EmittedKernel ReduceEmitter::emit() {
  DimContext &dims = fn.spec.dims;
  DimExpr one = dims.constant(1), work = dims.mul(units, perUnit);
  if (!inner) {
    units = dims.mul(resultRows(dims), groups());
    perUnit = dims.mul(perUnit, vectors > 1 ? dims.constant(vectors * lanes) : laneAxis());
  }
  DimExpr perChunk = dims.max(one, dims.floorDiv(dims.constant(fn.spec.schedule().getChunk()), dims.max(perUnit, one)));
  Value step = fn.materialize(perChunk), count = fn.materialize(units);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = arith::MulIOp::create(b, chunk, step);
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, step), count);
    Value groupCount = inner ? Value() : fn.materialize(groups());
    fn.loop(low, high, 1, [&](Value unit) {
      if (inner)
        return alongRow(unit);
      Value row = arith::DivUIOp::create(b, unit, groupCount);
      Value group = arith::SubIOp::create(b, unit, arith::MulIOp::create(b, row, groupCount));
      acrossRows(row, arith::MulIOp::create(b, group, fn.index(vectors * lanes)));
    });
  });
  fn.finish();
  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(units, perChunk);
  emitted.estimate(fn.spec, work, fn.spec.costs().reducedNs);
  return emitted;
}

/// Vectors side by side where a chunk has all `count` of them: groups of one size, which read a row's lines together.
static int64_t vectorsOfParts(int64_t count) {
  for (int64_t vectors = std::min(count, kPartials); vectors > 2; --vectors)
    if (count % vectors == 0)
      return vectors;
  return std::clamp<int64_t>(count, 1, kPartials);
}

Plan sinter::cpu::planReduce(KernelSpec &spec, ScheduleAttr given) {
  auto op = dyn_cast_or_null<ReduceOp>(findShapedRoot(spec));
  if (!op || op.getAxes().empty())
    return Plan::refuse("its root is no reduction, or its results several shapes");
  if (!canBuild(op.getOperand(), [](Value) { return false; }) || !canBuildAfter(spec, op))
    return Plan::refuse("what surrounds the reduction cannot be built element by element");
  Reduction reduction(spec, op);
  Plan plan;
  plan.setLanes(lanesOfKernel(spec, reduction.laneAxis(), byteWidth(reduction.accumulator)));
  plan.setChunk(spec.costs().reducedElements);
  if (!reduction.inner) {
    DimExpr columns = spec.dims.resolve(reduction.laneAxis());
    int64_t lanes = lanesOr(given, plan.lanes.chosen), vectors = 1;
    int64_t count = columns.isConstant() ? columns.constant() / lanes : kPartials;
    if (lanes > 1 && reduction.parts(spec, given ? given.getChunk() : plan.chunk.chosen).count > 0) {
      vectors = vectorsOfParts(count);
    } else {
      // As many vectors side by side as leave some groups to other threads.
      while (lanes > 1 && 2 * vectors <= std::min(count / 2, kPartials))
        vectors *= 2;
    }
    plan.addTile(vectors, kPartials);
  }
  return plan;
}

EmittedKernel sinter::cpu::emitReduce(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto op = cast<ReduceOp>(findShapedRoot(spec));
  Reduction reduction(spec, op);
  AxisParts parts = reduction.parts(spec, spec.schedule().getChunk());
  bool inParts = parts.count > 0;
  KernelFunction fn(spec, module, name, {.workspace = inParts, .step = inParts});
  ReduceEmitter emitter(fn, reduction);
  if (!inParts)
    return emitter.emit();
  return reduction.inner ? emitter.emitParts(parts) : emitter.emitRowParts(parts);
}
