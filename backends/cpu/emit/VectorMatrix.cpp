// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector times matrix where the matrix's columns are contiguous: lanes run along the columns, and for each row of the
// matrix one element of the vector is broadcast. No sum crosses lanes, and the pointwise ops that follow are applied to
// the accumulators. Few columns have several chains of sums each, over every second, fourth or eighth row, so that
// enough FMAs are independent to hide their latency.
//
//   chunk     a run of blocks
//   block     up to 8 vectors of columns, all rows
//
// Rows that have room for whole vectors (AlignMatrices makes them so) are read without masks.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/StridedView.h"
#include "ir/Contraction.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Independent FMAs: latency 4 on two ports.
constexpr int64_t kSums = 8;

namespace {
/// The matrix, the vector, and the sizes that are walked.
struct VectorMatrix {
  DotGeneralOp dot;
  StridedView matrix, vector;
  DimExpr rowCount, rowStride, vectorStride;
  int64_t columns = 0;
  int64_t columnAxis = 0; // of the result
};

class VectorMatrixEmitter : VectorMatrix {
public:
  VectorMatrixEmitter(KernelFunction &fn, const VectorMatrix &product)
      : VectorMatrix(product), fn(fn), b(fn.b), dims(fn.spec.dims), lanes(fn.spec.schedule().getLanes()),
        vectorType(VectorType::get({lanes}, cast<RankedTensorType>(dot.getType()).getElementType())) {}
  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  SmallVector<Value> addRows(Value row, int64_t count, Value column, ValueRange sums, ArrayRef<Value> masks);
  void emitBlock(Value column, int64_t vectors, int64_t last);

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  int64_t lanes;
  VectorType vectorType;
};
} // namespace

/// With the matrix as operand `matrixOperand`; nothing where the product is not of this form.
static std::optional<VectorMatrix> vectorMatrixOf(KernelSpec &spec, DotGeneralOp dot, unsigned matrixOperand) {
  DimContext &dims = spec.dims;
  std::optional<StridedView> m = viewOf(spec, dot->getOperand(matrixOperand)),
                             v = viewOf(spec, dot->getOperand(1 - matrixOperand));
  // A constant is packed, and its product left to the contraction.
  if (!m || !v || packsContraction(spec, m->input))
    return std::nullopt;
  ArrayRef<int64_t> contracts[] = {dot.getLhsContract(), dot.getRhsContract()};
  ArrayRef<int64_t> summed = contracts[matrixOperand], vectorSummed = contracts[1 - matrixOperand];
  auto one = dims.constant(1);
  std::optional<int64_t> free;
  for (int64_t axis = 0; axis < static_cast<int64_t>(m->sizes.size()); ++axis) {
    if (llvm::is_contained(summed, axis))
      continue;
    if (free)
      return std::nullopt;
    free = axis;
  }
  auto vectorRank = static_cast<int64_t>(v->sizes.size());
  for (int64_t axis = 0; axis < vectorRank; ++axis)
    if (!llvm::is_contained(vectorSummed, axis) && dims.resolve(v->sizes[axis]) != one)
      return std::nullopt;
  if (!free || dims.resolve(m->strides[*free]) != one || !dims.resolve(m->sizes[*free]).isConstant())
    return std::nullopt;
  std::optional<MergedAxes> rows = mergeAxes(spec, *m, summed), elements = mergeAxes(spec, *v, vectorSummed);
  if (!rows || !elements)
    return std::nullopt;
  VectorMatrix p{dot, *m, *v, dims.resolve(rows->size), dims.resolve(rows->stride), dims.resolve(elements->stride)};
  p.columns = dims.resolve(m->sizes[*free]).constant();
  // The free axes of the left operand come first in the result.
  p.columnAxis = matrixOperand == 0 ? 0 : vectorRank - static_cast<int64_t>(vectorSummed.size());
  return p;
}

static std::optional<VectorMatrix> vectorMatrixOf(KernelSpec &spec, DotGeneralOp dot) {
  Type type = cast<RankedTensorType>(dot.getType()).getElementType();
  auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  if (!(type.isF32() || type.isF64()) || elementOf(dot.getLhs()) != type || elementOf(dot.getRhs()) != type ||
      !dot.getLhsBatch().empty())
    return std::nullopt;
  std::optional<VectorMatrix> product = vectorMatrixOf(spec, dot, 1);
  return product ? product : vectorMatrixOf(spec, dot, 0);
}

/// `sums` holds chains of vectors; `count` rows from `row` on are added, each to the chain of its number.
SmallVector<Value> VectorMatrixEmitter::addRows(Value row, int64_t count, Value column, ValueRange sums,
                                                ArrayRef<Value> masks) {
  SmallVector<Value> next(sums);
  auto vectors = static_cast<int64_t>(masks.size());
  Value a = fn.input(matrix.input), x = fn.input(vector.input);
  for (int64_t i = 0; i < count; ++i) {
    Value at = add(row, fn.index(i));
    Value scalar = memref::LoadOp::create(b, x, ValueRange{mul(at, fn.materialize(vectorStride))});
    Value spread = vector::BroadcastOp::create(b, vectorType, scalar);
    Value start = add(mul(at, fn.materialize(rowStride)), column);
    for (int64_t j = 0; j < vectors; ++j) {
      Value from = add(start, fn.index(j * lanes)), loaded;
      if (masks[j]) {
        Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
        loaded = vector::MaskedLoadOp::create(b, vectorType, a, ValueRange{from}, masks[j], zero);
      } else {
        loaded = vector::LoadOp::create(b, vectorType, a, ValueRange{from});
      }
      Value &sum = next[i * vectors + j];
      sum = vector::FMAOp::create(b, loaded, spread, sum);
    }
  }
  return next;
}

/// `vectors` from `column` on; `last` lanes of the last one exist.
void VectorMatrixEmitter::emitBlock(Value column, int64_t vectors, int64_t last) {
  Value mask;
  if (last < lanes)
    mask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{fn.index(last)});
  SmallVector<Value> masks(vectors);
  bool hasRoom = rowStride.isConstant() && rowStride.constant() >= (columns + lanes - 1) / lanes * lanes;
  if (!hasRoom)
    masks.back() = mask;

  int64_t chains = std::max<int64_t>(1, kSums / static_cast<int64_t>(llvm::PowerOf2Ceil(vectors)));
  if (rowCount.isConstant())
    while (chains > 1 && chains > rowCount.constant())
      chains /= 2;
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  SmallVector<Value> sums(chains * vectors, zero);
  DimExpr wholeSize = dims.mul(dims.floorDiv(rowCount, dims.constant(chains)), dims.constant(chains));
  Value whole = fn.materialize(wholeSize);
  auto join = [&](Value x, Value y) { return joinFloats(b, x, y); };
  sums = sumRange(fn, fn.index(0), whole, wholeSize, kProductBlock * chains, sums, sums, join,
                  [&](Value low, Value high, ValueRange start) {
                    return fn.loop(low, high, chains, start, [&](Value row, ValueRange carried) {
                      return addRows(row, chains, column, carried, masks);
                    });
                  });
  if (rowCount.isConstant()) {
    int64_t rest = rowCount.constant() % chains;
    sums = addRows(fn.index(rowCount.constant() - rest), rest, column, sums, masks);
  } else if (chains > 1) {
    // The rows that are left go to the first chain.
    SmallVector<Value> first(sums.begin(), sums.begin() + vectors);
    first = fn.loop(whole, fn.materialize(rowCount), 1, first,
                    [&](Value row, ValueRange carried) { return addRows(row, 1, column, carried, masks); });
    llvm::copy(first, sums.begin());
  }
  for (; chains > 1; chains /= 2)
    for (int64_t i = 0; i < chains / 2 * vectors; ++i)
      sums[i] = arith::AddFOp::create(b, sums[i], sums[i + chains / 2 * vectors]);

  auto rank = cast<RankedTensorType>(dot.getType()).getRank();
  for (int64_t j = 0; j < vectors; ++j) {
    KernelElements elements(fn, lanes);
    if (j + 1 == vectors)
      elements.mask = mask;
    elements.install(dot.getResult(), [&](ArrayRef<LaneIndex>) { return sums[j]; });
    SmallVector<LaneIndex> index(rank, elements.constant(0));
    index[columnAxis] = {add(column, fn.index(j * lanes)), 1, nullptr};
    elements.storeResults(index);
  }
}

EmittedKernel VectorMatrixEmitter::emit() {
  int64_t perBlock = fn.spec.schedule().getTile().front(), blockColumns = perBlock * lanes;
  int64_t blocks = llvm::divideCeil(columns, blockColumns);
  int64_t wholeBlocks = columns / blockColumns, rest = columns - wholeBlocks * blockColumns;
  DimExpr blocksPerChunk =
      dims.max(dims.constant(1), dims.floorDiv(dims.constant(fn.spec.schedule().getChunk() / blockColumns),
                                               dims.max(rowCount, dims.constant(1))));
  Value step = fn.materialize(dims.mul(blocksPerChunk, dims.constant(blockColumns)));
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = mul(chunk, step);
    Value high = arith::MinSIOp::create(b, add(low, step), fn.index(columns));
    if (wholeBlocks > 0) {
      Value wholeEnd = arith::MinSIOp::create(b, high, fn.index(wholeBlocks * blockColumns));
      fn.loop(low, wholeEnd, blockColumns, [&](Value column) { emitBlock(column, perBlock, lanes); });
    }
    if (rest > 0) {
      // Only the last chunk has it.
      Value from = arith::MaxSIOp::create(b, low, fn.index(wholeBlocks * blockColumns));
      int64_t last = rest % lanes == 0 ? lanes : rest % lanes;
      fn.loop(from, high, blockColumns, [&](Value column) { emitBlock(column, llvm::divideCeil(rest, lanes), last); });
    }
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(dims.constant(blocks), blocksPerChunk);
  if (rowCount.isConstant())
    emitted.estimatedNs = static_cast<double>(rowCount.constant() * columns) / fn.spec.costs().streamedMacsPerNs;
  return emitted;
}

Plan sinter::cpu::planVectorMatrix(KernelSpec &spec, ScheduleAttr given) {
  auto dot = dyn_cast_or_null<DotGeneralOp>(findShapedRoot(spec));
  if (!dot || spec.target().vectorBytes < 16)
    return Plan::refuse("its root is no product, its results have several shapes, or the target no vectors");
  std::optional<VectorMatrix> product = vectorMatrixOf(spec, dot);
  if (!product || !canBuildAfter(spec, dot))
    return Plan::refuse("it is no product of a vector and a matrix whose columns are contiguous and known");
  int64_t lanes = spec.target().lanes(byteWidth(cast<RankedTensorType>(dot.getType()).getElementType()));
  while (lanes > product->columns)
    lanes /= 2;
  constexpr int64_t fewestLanes = 4;
  if (lanes < fewestLanes)
    return Plan::refuse("the matrix has few columns, or the target short vectors");
  Plan plan;
  plan.setLanes(lanes, fewestLanes);
  int64_t vectors = llvm::divideCeil(product->columns, lanesOr(given, lanes)),
          blocks = llvm::divideCeil(vectors, kSums);
  plan.addTile(llvm::divideCeil(vectors, blocks), std::min(vectors, kSums));
  plan.setChunk(spec.costs().streamedMacs);
  return plan;
}

EmittedKernel sinter::cpu::emitVectorMatrix(KernelSpec &spec, ModuleOp module, StringRef name) {
  VectorMatrix product = *vectorMatrixOf(spec, cast<DotGeneralOp>(findShapedRoot(spec)));
  KernelFunction fn(spec, module, name, {});
  return VectorMatrixEmitter(fn, product).emit();
}
