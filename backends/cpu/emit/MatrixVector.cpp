// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix times vector where the summed axis is contiguous in both: lanes run along it, as many rows at a time as there
// are lanes. One accumulator a row keeps as many independent chains of FMAs; at the end a tree of shuffles turns the
// accumulators into one vector of results, to which the pointwise ops that follow are applied in lanes. A product of
// two vectors is one row, of which several vectors are accumulated side by side.
//
//   chunk     a run of tiles
//   tile      as many rows as lanes; of a last one only the rows that exist

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/StridedView.h"
#include "ir/Contraction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Accumulators of a row that is alone.
constexpr int64_t kChains = 8;

namespace {
/// The matrix, the vector, and the sizes that are walked.
struct MatrixVector {
  DotGeneralOp dot;
  StridedView matrix, vector;
  MergedAxes rows, matrixK, vectorK;
  Type type;
  bool hasRowAxis = true;
};

class MatrixVectorEmitter : MatrixVector {
public:
  MatrixVectorEmitter(KernelFunction &fn, const MatrixVector &product)
      : MatrixVector(product), fn(fn), b(fn.b), dims(fn.spec.dims), lanes(fn.spec.schedule().getLanes()),
        vectorType(VectorType::get({lanes}, type)) {}
  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value zero(Type type) { return arith::ConstantOp::create(b, b.getZeroAttr(type)); }
  Value maskOf(Value count) {
    return vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{count});
  }
  SmallVector<Value> sumRows(Value row, int64_t count, Value lastRow);
  Value sumLongRow(Value base, Value end);
  Value combineRows(SmallVector<Value> sums);
  void finishRows(Value row, Value totals, int64_t elementLanes, Value mask);
  void emitTile(Value row, int64_t count, Value left);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  int64_t lanes;
  VectorType vectorType;
};
} // namespace

static SmallVector<int64_t> axesBut(int64_t rank, ArrayRef<int64_t> without) {
  SmallVector<int64_t> axes;
  for (int64_t k = 0; k < rank; ++k)
    if (!llvm::is_contained(without, k))
      axes.push_back(k);
  return axes;
}

/// Nothing where the product is not of this form.
static std::optional<MatrixVector> matrixVectorOf(KernelSpec &spec, DotGeneralOp dot) {
  MatrixVector p;
  p.dot = dot;
  p.type = cast<RankedTensorType>(dot.getType()).getElementType();
  auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  if (!(p.type.isF32() || p.type.isF64()) || elementOf(dot.getLhs()) != p.type || elementOf(dot.getRhs()) != p.type ||
      !dot.getLhsBatch().empty())
    return std::nullopt;
  std::optional<StridedView> lhs = viewOf(spec, dot.getLhs()), rhs = viewOf(spec, dot.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  p.matrix = *lhs;
  p.vector = *rhs;
  auto isOne = [&](DimExpr expr) { return spec.dims.resolve(expr) == spec.dims.constant(1); };
  SmallVector<int64_t> rowAxes = axesBut(p.matrix.sizes.size(), dot.getLhsContract());
  p.hasRowAxis = !rowAxes.empty();
  if (rowAxes.size() > 1 || !llvm::all_of(axesBut(p.vector.sizes.size(), dot.getRhsContract()),
                                          [&](int64_t axis) { return isOne(p.vector.sizes[axis]); }))
    return std::nullopt;
  std::optional<MergedAxes> m = mergeAxes(spec, p.matrix, rowAxes), k = mergeAxes(spec, p.matrix, dot.getLhsContract()),
                            v = mergeAxes(spec, p.vector, dot.getRhsContract());
  if (!m || !k || !v || !isOne(k->stride) || !isOne(v->stride))
    return std::nullopt;
  p.rows = {spec.dims.resolve(m->size), m->stride};
  p.matrixK = *k;
  p.vectorK = *v;
  return p;
}

/// The sum over [0, end), a multiple of the lanes, of the row at `base`.
Value MatrixVectorEmitter::sumLongRow(Value base, Value end) {
  Value a = fn.input(matrix.input), x = fn.input(vector.input);
  auto step = [&](Value k, int64_t count, ValueRange carried) {
    SmallVector<Value> next(carried);
    for (int64_t i = 0; i < count; ++i) {
      Value at = add(k, fn.index(i * lanes));
      Value left = vector::LoadOp::create(b, vectorType, a, ValueRange{add(base, at)});
      Value right = vector::LoadOp::create(b, vectorType, x, ValueRange{at});
      next[i] = vector::FMAOp::create(b, left, right, next[i]);
    }
    return next;
  };
  DimExpr together = dims.constant(kChains * lanes);
  Value whole = fn.materialize(dims.mul(dims.floorDiv(matrixK.size, together), together));
  SmallVector<Value> sums(kChains, zero(vectorType));
  auto join = [&](Value x, Value y) { return joinFloats(b, x, y); };
  sums = sumRange(fn, fn.index(0), whole, matrixK.size, kProductBlock * kChains * lanes, sums, sums, join,
                  [&](Value low, Value high, ValueRange start) {
                    return fn.loop(low, high, kChains * lanes, start,
                                   [&](Value k, ValueRange carried) { return step(k, kChains, carried); });
                  });
  for (int64_t half = kChains / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      sums[i] = join(sums[i], sums[i + half]);
  Value rest = fn.loop(whole, end, lanes, ValueRange{zero(vectorType)}, [&](Value k, ValueRange carried) {
                   return step(k, 1, carried);
                 }).front();
  return join(sums.front(), rest);
}

/// Per row a vector of partial sums; what is left of k without masks goes to its first lane. Rows past `lastRow` (null:
/// there are none) repeat it.
SmallVector<Value> MatrixVectorEmitter::sumRows(Value row, int64_t count, Value lastRow) {
  Value a = fn.input(matrix.input), x = fn.input(vector.input), stride = fn.materialize(rows.stride);
  SmallVector<Value> bases;
  for (int64_t i = 0; i < count; ++i) {
    Value at = add(row, fn.index(i));
    if (lastRow)
      at = arith::MinSIOp::create(b, at, lastRow);
    bases.push_back(mul(at, stride));
  }
  Value size = fn.materialize(matrixK.size);
  Value whole = fn.materialize(dims.mul(dims.floorDiv(matrixK.size, dims.constant(lanes)), dims.constant(lanes)));
  SmallVector<Value> sums(count, zero(vectorType));
  auto overLanes = [&](Value low, Value high, ValueRange start) {
    return fn.loop(low, high, lanes, start, [&](Value k, ValueRange carried) {
      Value right = vector::LoadOp::create(b, vectorType, x, ValueRange{k});
      SmallVector<Value> next;
      for (auto [base, sum] : llvm::zip(bases, carried)) {
        Value left = vector::LoadOp::create(b, vectorType, a, ValueRange{add(base, k)});
        next.push_back(vector::FMAOp::create(b, left, right, sum));
      }
      return next;
    });
  };
  if (rows.size == dims.constant(1))
    sums.front() = sumLongRow(bases.front(), whole);
  else
    sums = sumRange(
        fn, fn.index(0), whole, matrixK.size, kProductBlock * lanes, sums, sums,
        [&](Value x, Value y) { return joinFloats(b, x, y); }, overLanes);
  DimExpr known = dims.resolve(matrixK.size);
  if (known.isConstant() && known.constant() % lanes == 0)
    return sums;
  bool masked = fn.spec.target().hasMaskedMemory;
  return fn.loop(whole, size, masked ? lanes : 1, sums, [&](Value k, ValueRange carried) {
    Value mask, none, right;
    if (masked) {
      mask = maskOf(arith::SubIOp::create(b, size, k));
      none = zero(vectorType);
      right = vector::MaskedLoadOp::create(b, vectorType, x, ValueRange{k}, mask, none);
    } else {
      right = memref::LoadOp::create(b, x, ValueRange{k});
    }
    SmallVector<Value> next;
    for (auto [base, sum] : llvm::zip(bases, carried)) {
      Value at = add(base, k);
      if (masked) {
        Value left = vector::MaskedLoadOp::create(b, vectorType, a, ValueRange{at}, mask, none);
        next.push_back(vector::FMAOp::create(b, left, right, sum));
        continue;
      }
      Value left = memref::LoadOp::create(b, a, ValueRange{at});
      Value first = vector::ExtractOp::create(b, sum, ArrayRef<int64_t>{0});
      next.push_back(
          vector::InsertOp::create(b, math::FmaOp::create(b, left, right, first), sum, ArrayRef<int64_t>{0}));
    }
    return next;
  });
}

/// The sum over the lanes of vector i in lane i. Each step adds halves of groups of lanes, two vectors into one: after
/// it a vector holds the groups, half as long, of twice as many rows.
Value MatrixVectorEmitter::combineRows(SmallVector<Value> sums) {
  sums.resize(lanes, zero(vectorType));
  for (int64_t group = lanes; group > 1; group /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t from = 0; from < 2 * lanes; from += group)
      for (int64_t i = 0; i < group / 2; ++i) {
        low.push_back(from + i);
        high.push_back(from + group / 2 + i);
      }
    SmallVector<Value> next;
    for (size_t i = 0; i < sums.size(); i += 2) {
      Value lower = vector::ShuffleOp::create(b, sums[i], sums[i + 1], low);
      Value upper = vector::ShuffleOp::create(b, sums[i], sums[i + 1], high);
      next.push_back(arith::AddFOp::create(b, lower, upper));
    }
    sums = std::move(next);
  }
  return sums.front();
}

void MatrixVectorEmitter::finishRows(Value row, Value totals, int64_t elementLanes, Value mask) {
  KernelElements elements(fn, elementLanes);
  elements.mask = mask;
  elements.install(dot.getResult(), [totals](ArrayRef<LaneIndex>) { return totals; });
  auto rank = cast<RankedTensorType>(dot.getType()).getRank();
  SmallVector<LaneIndex> index(rank, elements.constant(0));
  if (hasRowAxis)
    index.front() = {row, elementLanes > 1 ? 1 : 0, nullptr};
  elements.storeResults(index);
}

/// `count` rows are computed; `left` of them exist, or all when null.
void MatrixVectorEmitter::emitTile(Value row, int64_t count, Value left) {
  Value lastRow;
  if (left)
    lastRow = arith::SubIOp::create(b, add(row, left), fn.index(1));
  SmallVector<Value> sums = sumRows(row, count, lastRow);
  Value totals = combineRows(sums);
  bool whole = count == lanes && !left;
  if (hasRowAxis && (whole || fn.spec.target().hasMaskedMemory))
    return finishRows(row, totals, lanes, whole ? Value() : maskOf(left ? left : fn.index(count)));
  for (int64_t i = 0; i < count; ++i)
    finishRows(add(row, fn.index(i)), vector::ExtractOp::create(b, totals, ArrayRef<int64_t>{i}), 1, nullptr);
}

EmittedKernel MatrixVectorEmitter::emit() {
  DimExpr one = dims.constant(1), perTile = dims.constant(lanes);
  DimExpr tiles =
      dims.max(one, dims.floorDiv(dims.constant(fn.spec.schedule().getChunk() / lanes), dims.max(matrixK.size, one)));
  DimExpr chunkRows = dims.mul(tiles, perTile);
  DimExpr rowCount = dims.resolve(rows.size);
  Value total = fn.materialize(rowCount), step = fn.materialize(chunkRows);
  bool masked = fn.spec.target().hasMaskedMemory;
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = mul(chunk, step), high = arith::MinSIOp::create(b, add(low, step), total);
    Value rest = arith::RemUIOp::create(b, arith::SubIOp::create(b, high, low), fn.index(lanes));
    Value wholeEnd = arith::SubIOp::create(b, high, rest);
    if (!rowCount.isConstant() || rowCount.constant() >= lanes)
      fn.loop(low, wholeEnd, lanes, [&](Value row) { emitTile(row, lanes, nullptr); });
    if (rowCount.isConstant()) {
      // Only the last chunk has a part of a tile, which is the same one each time.
      if (int64_t count = rowCount.constant() % lanes)
        fn.loop(wholeEnd, high, lanes, [&](Value row) { emitTile(row, count, nullptr); });
    } else if (masked) {
      fn.loop(wholeEnd, high, lanes, [&](Value row) { emitTile(row, lanes, arith::SubIOp::create(b, high, row)); });
    } else {
      fn.loop(wholeEnd, high, 1, [&](Value row) { emitTile(row, 1, nullptr); });
    }
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(rowCount, chunkRows);
  emitted.estimate(fn.spec, dims.mul(rows.size, matrixK.size), 1 / fn.spec.costs().streamedMacsPerNs);
  return emitted;
}

Plan sinter::cpu::planMatrixVector(KernelSpec &spec, ScheduleAttr) {
  auto dot = dyn_cast_or_null<DotGeneralOp>(findShapedRoot(spec));
  std::optional<MatrixVector> product = dot ? matrixVectorOf(spec, dot) : std::nullopt;
  if (!product || !canBuildAfter(spec, dot))
    return Plan::refuse("it is no product of a matrix and a vector that are contiguous along the sum");
  int64_t lanes = spec.target().lanes(byteWidth(product->type));
  DimExpr size = spec.dims.resolve(product->matrixK.size);
  while (size.isConstant() && lanes > size.constant())
    lanes /= 2;
  constexpr int64_t fewestLanes = 4;
  if (lanes < fewestLanes)
    return Plan::refuse("the sum is short, or the target's vectors");
  Plan plan;
  plan.setLanes(lanes, fewestLanes);
  plan.setChunk(spec.costs().streamedMacs);
  return plan;
}

EmittedKernel sinter::cpu::emitMatrixVector(KernelSpec &spec, ModuleOp module, StringRef name) {
  MatrixVector product = *matrixVectorOf(spec, cast<DotGeneralOp>(findShapedRoot(spec)));
  KernelFunction fn(spec, module, name, {});
  return MatrixVectorEmitter(fn, product).emit();
}
