// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// bag_sum: lanes run along the slices' last axis, and as many vectors of it as registers hold go through a bag
// together, so that each row is visited once; plain code has a walk for each element. A bag is one thread's, its
// elements are added in order (by blocks, BlockSums.h): any number of threads gives the same bits.

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/LaneLoop.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Shapes.h"
#include "ir/Sparse.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Vectors that are summed together at most.
constexpr int64_t kTogether = 8;

namespace {
class BagEmitter {
public:
  BagEmitter(SingleKernel &k, BagSumOp op);
  EmittedKernel emit();

private:
  struct Column {
    KernelElements *elements;
    Value at;
  };
  void openBag(Value bag);
  void sumBag(Value bag);
  void sumElement(Value flat);
  void sumColumns(ArrayRef<Column> columns);
  SmallVector<LaneIndex> index(const Column &column, Value row);
  Value rowOf(Value i);
  int64_t together();

  SingleKernel &k;
  BagSumOp op;
  ImplicitLocOpBuilder &b;
  Type type, accumulator;
  Dims sizes, operandSizes;
  DimExpr count; // of positions
  int64_t lanes;
  // The bag at hand.
  Value bag, begin, end;
  SmallVector<Value> outer; // on the axes between the first and the last
};
} // namespace

BagEmitter::BagEmitter(SingleKernel &k, BagSumOp op)
    : k(k), op(op), b(k.b), type(getElementTypeOrSelf(op.getOperand())), accumulator(accumulatorType(type)),
      sizes(k.sizesOf(op.getResult())), operandSizes(k.sizesOf(op.getOperand())),
      count(k.sizesOf(op.getPositions()).front()), lanes(k.fn.spec.schedule().getLanes()) {}

/// The row that position number `i` reads.
Value BagEmitter::rowOf(Value i) {
  Value position = k.indexElement(op.getPositions(), {i}), rows = k.size(operandSizes.front()), zero = k.fn.index(0);
  Value fromStart = k.select(k.less(position, zero), k.add(position, rows), position);
  return k.max(k.min(fromStart, k.sub(rows, k.fn.index(1))), zero);
}

SmallVector<LaneIndex> BagEmitter::index(const Column &column, Value row) {
  SmallVector<LaneIndex> index = {column.elements->uniform(row)};
  index.append(column.elements->uniform(outer));
  if (sizes.size() > 1)
    index.push_back(LaneLoop::at(*column.elements, column.at));
  return index;
}

void BagEmitter::sumColumns(ArrayRef<Column> columns) {
  SmallVector<Value> none;
  for (const Column &column : columns)
    none.push_back(column.elements->lanes > 1 ? column.elements->splat(column.elements->floatConstant(accumulator, 0))
                                              : column.elements->floatConstant(accumulator, 0));
  auto join = [&](Value x, Value y) { return joinFloats(b, x, y); };
  auto inForm = [&](const Column &column, Value value) {
    bool isScalar = !isa<VectorType>(value.getType());
    return isScalar && column.elements->lanes > 1 ? column.elements->splat(value) : value;
  };
  SmallVector<Value> sums =
      sumRange(k.fn, k.fn.index(0), k.sub(end, begin), count, kSumBlock, none, none, join,
               [&](Value low, Value high, ValueRange sums) {
                 return k.fn.loop(low, high, 1, sums, [&](Value at, ValueRange carried) {
                   Value i = k.add(begin, at), row = rowOf(i), weight;
                   if (op.getWeights())
                     weight = widen(b, b.getLoc(), k.element(op.getWeights(), {i}), accumulator, false);
                   SmallVector<Value> next;
                   for (auto [column, sum] : llvm::zip(columns, carried)) {
                     Value value = inForm(column, column.elements->load(op.getOperand(), index(column, row)));
                     value = widen(b, b.getLoc(), value, accumulator, false);
                     if (weight)
                       value = arith::MulFOp::create(b, value, inForm(column, weight));
                     next.push_back(arith::AddFOp::create(b, sum, value));
                   }
                   return next;
                 });
               });
  for (auto [column, sum] : llvm::zip(columns, sums))
    for (unsigned i = 0; i < k.fn.spec.kernel.getNumResults(); ++i)
      column.elements->storeResult(i, narrow(b, b.getLoc(), sum, type), index(column, bag));
}

int64_t BagEmitter::together() {
  DimExpr size = k.dims().resolve(sizes.back());
  return size.isConstant() ? std::min(kTogether, size.constant() / lanes) : kTogether / 2;
}

void BagEmitter::openBag(Value at) {
  bag = at;
  auto split = [&](Value i) { return k.indexElement(op.getSplits(), {i}); };
  begin = k.max(split(at), k.fn.index(0));
  end = k.max(k.min(split(k.add(at, k.fn.index(1))), k.size(count)), begin);
  // A table without rows gives nothing.
  end = k.select(k.less(k.fn.index(0), k.size(operandSizes.front())), end, begin);
  outer.clear();
}

void BagEmitter::sumElement(Value flat) {
  SmallVector<Value> at = k.fn.delinearize(flat, sizes);
  openBag(at.front());
  KernelElements scalars(k.fn, 1);
  Value column = sizes.size() > 1 ? at.pop_back_val() : Value();
  outer.assign(at.begin() + 1, at.end());
  sumColumns(Column{&scalars, column});
}

void BagEmitter::sumBag(Value at) {
  openBag(at);
  if (sizes.size() == 1) {
    KernelElements scalars(k.fn, 1);
    return sumColumns(Column{&scalars, nullptr});
  }
  k.nest(ArrayRef(sizes).drop_front().drop_back(), [&](ArrayRef<Value> between) {
    outer.assign(between.begin(), between.end());
    int64_t wide = together();
    Value rest;
    if (wide > 1) {
      DimContext &dims = k.dims();
      DimExpr step = dims.constant(wide * lanes);
      rest = k.size(dims.mul(dims.floorDiv(sizes.back(), step), step));
      k.fn.loop(k.fn.index(0), rest, wide * lanes, [&](Value first) {
        KernelElements vectors(k.fn, lanes);
        SmallVector<Column> columns;
        for (int64_t v = 0; v < wide; ++v)
          columns.push_back({&vectors, k.add(first, k.fn.index(v * lanes))});
        sumColumns(columns);
      });
    }
    LaneLoop(k.fn, sizes.back(), lanes)
        .forEach([&](KernelElements &elements, Value column) { sumColumns(Column{&elements, column}); }, rest);
  });
}

EmittedKernel BagEmitter::emit() {
  DimContext &dims = k.dims();
  if (k.fn.spec.options.optLevel == 0) { // one element after the other, on a GPU a thread for each
    k.chunkRows(dims.product(sizes), dims.constant(k.fn.spec.schedule().getChunk()),
                [&](Value flat, Value) { sumElement(flat); });
    return k.finish();
  }
  DimExpr slice = dims.product(ArrayRef(sizes).drop_front());
  DimExpr perChunk = dims.floorDiv(dims.constant(k.fn.spec.schedule().getChunk()), dims.max(slice, dims.constant(1)));
  k.chunkRows(sizes.front(), perChunk, [&](Value row, Value) { sumBag(row); });
  return k.finish();
}

Plan sinter::cpu::planBags(KernelSpec &spec, ScheduleAttr) {
  auto op = dyn_cast_or_null<BagSumOp>(singleRoot(spec));
  if (!op)
    return Plan::refuse("it is no bag_sum alone");
  Plan plan;
  RankedTensorType type = op.getOperand().getType();
  int64_t lanes = 1;
  if (spec.options.optLevel > 0 && type.getRank() > 1) {
    lanes = spec.target().lanes(byteWidth(accumulatorType(type.getElementType())));
    DimExpr last = spec.dims.resolve(spec.sizes->dims(op.getResult()).back());
    while (lanes > 1 && last.isConstant() && last.constant() < lanes)
      lanes /= 2;
  }
  plan.setLanes(lanes);
  plan.setChunk(spec.costs().baggedElements);
  return plan;
}

EmittedKernel sinter::cpu::emitBags(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto op = cast<BagSumOp>(singleRoot(spec));
  SingleKernel k(spec, module, name, op);
  return BagEmitter(k, op).emit();
}
