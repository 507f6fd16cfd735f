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

LaneLoop::LaneLoop(KernelFunction &fn, DimExpr size, int64_t lanes)
    : fn(fn), lanes(lanes), unroll(kAccumulators), masked(fn.spec.target().hasMaskedMemory) {
  size = fn.spec.dims.resolve(size);
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

SmallVector<Value> LaneLoop::accumulate(ValueRange accumulators,
                                        function_ref<Value(KernelElements &, Value, Value)> step) {
  SmallVector<Value> values(accumulators), vectors(values.begin(), values.begin() + unroll);
  if (unroll > 1)
    vectors = fn.loop(fn.index(0), unrolledEnd, lanes * unroll, vectors,
                      [&](Value column, ValueRange carried) -> SmallVector<Value> {
                        SmallVector<Value> next;
                        for (int64_t u = 0; u < unroll; ++u) {
                          KernelElements elements(fn, lanes);
                          Value here = arith::AddIOp::create(fn.b, column, fn.index(u * lanes));
                          next.push_back(step(elements, here, carried[u]));
                        }
                        return next;
                      });
  vectors[0] = fn.loop(unroll > 1 ? unrolledEnd : fn.index(0), vectorEnd, lanes, ValueRange{vectors[0]},
                       [&](Value column, ValueRange carried) -> SmallVector<Value> {
                         KernelElements elements(fn, lanes);
                         return {step(elements, column, carried[0])};
                       })[0];
  std::copy(vectors.begin(), vectors.end(), values.begin());
  if (!hasTail)
    return values;
  Value &last = masked ? values[0] : values.back();
  last = fn.loop(vectorEnd, end, masked ? lanes : 1, ValueRange{last},
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

Value LaneLoop::finish(ValueRange accumulators, function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> vectors(accumulators.begin(), accumulators.begin() + unroll);
  while (vectors.size() > 1) {
    size_t half = vectors.size() / 2;
    for (size_t k = 0; k < half; ++k)
      vectors[k] = combine(vectors[k], vectors[k + half]);
    vectors.truncate(half);
  }
  Value total = vectors.front();
  if (lanes > 1) {
    for (int64_t width = lanes; width > 1; width /= 2) {
      auto low = llvm::to_vector(llvm::seq<int64_t>(0, width / 2));
      auto high = llvm::to_vector(llvm::seq<int64_t>(width / 2, width));
      Value lower = vector::ShuffleOp::create(fn.b, total, total, low);
      Value upper = vector::ShuffleOp::create(fn.b, total, total, high);
      total = combine(lower, upper);
    }
    total = vector::ExtractOp::create(fn.b, total, ArrayRef<int64_t>{0});
  }
  return hasScalarTail() ? combine(total, accumulators.back()) : total;
}
