// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/LaneLoop.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Vectors of partial results of one axis.
constexpr int64_t kAccumulators = 4;

int64_t sinter::cpu::lanesOfKernel(KernelSpec &spec, DimExpr axis, int64_t width) {
  auto consider = [&](Type type) { width = std::max(width, byteWidth(cast<RankedTensorType>(type).getElementType())); };
  for (Operation &op : spec.body().without_terminator())
    llvm::for_each(op.getResultTypes(), consider);
  for (BlockArgument argument : spec.body().getArguments())
    consider(argument.getType());
  int64_t lanes = spec.target().lanes(width);
  axis = spec.dims.resolve(axis);
  if (axis.isConstant())
    while (lanes > axis.constant() && lanes > 1)
      lanes /= 2;
  return std::max<int64_t>(lanes, 1);
}

Value sinter::cpu::joinLanes(ImplicitLocOpBuilder &b, Value vector, Join join) {
  for (int64_t width = cast<VectorType>(vector.getType()).getNumElements(); width > 1; width /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, width / 2));
    auto high = llvm::to_vector(llvm::seq<int64_t>(width / 2, width));
    Value lower = vector::ShuffleOp::create(b, vector, vector, low);
    Value upper = vector::ShuffleOp::create(b, vector, vector, high);
    vector = join(lower, upper);
  }
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
}

LaneLoop::LaneLoop(KernelFunction &fn, DimExpr extent, int64_t lanes)
    : fn(fn), size(fn.spec.dims.resolve(extent)), lanes(lanes), unroll(kAccumulators),
      masked(fn.spec.target().hasMaskedMemory) {
  hasTail = lanes > 1 && !(size.isConstant() && size.constant() % lanes == 0);
  if (size.isConstant() && size.constant() < kAccumulators * lanes)
    unroll = 1;
  auto wholeSteps = [&](int64_t step) {
    DimExpr steps = fn.spec.dims.floorDiv(size, fn.spec.dims.constant(step));
    return fn.materialize(fn.spec.dims.mul(steps, fn.spec.dims.constant(step)));
  };
  end = fn.materialize(size);
  vectorEnd = wholeSteps(lanes);
  unrolledEnd = wholeSteps(lanes * unroll);
}

LaneIndex LaneLoop::at(const KernelElements &elements, Value column) {
  return {column, elements.lanes > 1 ? 1 : 0, nullptr, elements.lanes};
}

Value LaneLoop::maskFrom(Value column) {
  Value left = arith::SubIOp::create(fn.b, end, column);
  return vector::CreateMaskOp::create(fn.b, VectorType::get({lanes}, fn.b.getI1Type()), ValueRange{left});
}

void LaneLoop::forEach(function_ref<void(KernelElements &, Value)> body, Value begin) {
  fn.loop(begin ? begin : fn.index(0), vectorEnd, lanes, [&](Value column) {
    KernelElements elements(fn, lanes);
    body(elements, column);
  });
  if (!hasTail)
    return;
  fn.loop(vectorEnd, end, masked ? lanes : 1, [&](Value column) {
    KernelElements elements(fn, masked ? lanes : 1);
    if (masked)
      elements.mask = maskFrom(column);
    body(elements, column);
  });
}

SmallVector<Value> LaneLoop::accumulators(Value identity) {
  Value start = identity;
  if (lanes > 1)
    start = vector::BroadcastOp::create(fn.b, VectorType::get({lanes}, identity.getType()), identity);
  SmallVector<Value> values(unroll, start);
  if (hasScalarTail())
    values.push_back(identity);
  return values;
}

SmallVector<Value> LaneLoop::accumulate(ValueRange accumulators, Value begin, Value stop, ElementStep step) {
  SmallVector<Value> values(accumulators), vectors(values.begin(), values.begin() + unroll);
  auto before = [&](Value bound) -> Value { return stop ? arith::MinSIOp::create(fn.b, stop, bound) : bound; };
  Value unrolledStop = before(unrolledEnd), vectorStop = before(vectorEnd);
  if (unroll > 1)
    vectors = fn.loop(begin, unrolledStop, lanes * unroll, vectors,
                      [&](Value column, ValueRange carried) -> SmallVector<Value> {
                        SmallVector<Value> next;
                        for (int64_t u = 0; u < unroll; ++u) {
                          KernelElements elements(fn, lanes);
                          Value here = arith::AddIOp::create(fn.b, column, fn.index(u * lanes));
                          next.push_back(step(elements, here, carried[u]));
                        }
                        return next;
                      });
  vectors[0] = fn.loop(unroll > 1 ? unrolledStop : begin, vectorStop, lanes, ValueRange{vectors[0]},
                       [&](Value column, ValueRange carried) -> SmallVector<Value> {
                         KernelElements elements(fn, lanes);
                         return {step(elements, column, carried[0])};
                       })[0];
  std::copy(vectors.begin(), vectors.end(), values.begin());
  if (!hasTail)
    return values;
  Value &last = masked ? values[0] : values.back();
  last = fn.loop(vectorStop, before(end), masked ? lanes : 1, ValueRange{last},
                 [&](Value column, ValueRange carried) -> SmallVector<Value> {
                   KernelElements elements(fn, masked ? lanes : 1);
                   if (masked)
                     elements.mask = maskFrom(column);
                   Value next = step(elements, column, carried[0]);
                   if (masked)
                     next = arith::SelectOp::create(fn.b, elements.mask, next, carried[0]);
                   return {next};
                 })[0];
  return values;
}

Value LaneLoop::combine(ArrayRef<SummedAxis> outer, Value identity, int64_t block, Join join, Step step) {
  SmallVector<SummedAxis> axes(outer);
  SmallVector<Value> totals;
  int64_t together = lanes * unroll;
  int64_t length = 1;
  bool isOneBlock = block == kNoBlocks;
  if (!isOneBlock && size.isConstant()) {
    length = std::max<int64_t>((size.constant() + together - 1) / together, 1);
    isOneBlock = length <= block;
  }
  if (isOneBlock) {
    totals =
        sumNest(fn, axes, length, block, accumulators(identity), join, [&](ArrayRef<Value> at, ValueRange carried) {
          return accumulate(carried, fn.index(0), nullptr,
                            [&](KernelElements &e, Value i, Value total) { return step(at, e, i, total); });
        });
  } else {
    // The axis itself is walked by blocks.
    int64_t elements = block * together;
    axes.push_back(summedAxis(fn, fn.spec.dims.ceilDiv(size, fn.spec.dims.constant(elements))));
    totals = sumNest(fn, axes, block, block, accumulators(identity), join, [&](ArrayRef<Value> at, ValueRange carried) {
      Value begin = arith::MulIOp::create(fn.b, at.back(), fn.index(elements));
      Value stop = arith::AddIOp::create(fn.b, begin, fn.index(elements));
      return accumulate(carried, begin, stop,
                        [&](KernelElements &e, Value i, Value total) { return step(at.drop_back(), e, i, total); });
    });
  }
  return finish(totals, join);
}

Value LaneLoop::finish(ValueRange accumulators, Join join) {
  SmallVector<Value> vectors(accumulators.begin(), accumulators.begin() + unroll);
  while (vectors.size() > 1) {
    size_t half = vectors.size() / 2;
    for (size_t k = 0; k < half; ++k)
      vectors[k] = join(vectors[k], vectors[k + half]);
    vectors.truncate(half);
  }
  Value total = vectors.front();
  if (lanes > 1)
    total = joinLanes(fn.b, total, join);
  return hasScalarTail() ? join(total, accumulators.back()) : total;
}
