// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/TriangularForm.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

Value TriangularForm::root(Value pivot) {
  Value positive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, pivot, number(0));
  Value nan = number(std::numeric_limits<double>::quiet_NaN());
  return k.select(positive, math::SqrtOp::create(b, pivot), nan);
}

SmallVector<Value> TriangularForm::sumDone(Value end, int64_t together, ValueRange init,
                                           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> step) {
  SmallVector<Value> zeros = llvm::map_to_vector(
      init, [&](Value value) -> Value { return arith::ConstantOp::create(b, b.getZeroAttr(value.getType())); });
  return sumRange(
      k.fn, index(0), end, order, kProductBlock * together, init, zeros,
      [&](Value x, Value y) { return joinFloats(b, x, y); },
      [&](Value low, Value high, ValueRange start) { return k.fn.loop(low, high, together, start, step); });
}

MatrixView TriangularForm::reversed(MatrixView view, Value n, bool columns) {
  Value last = k.sub(n, index(1)), zero = index(0);
  view.base = at(view, last, columns ? last : zero);
  view.row = k.sub(zero, view.row);
  if (columns)
    view.column = k.sub(zero, view.column);
  return view;
}

TriangularForm::Factor TriangularForm::factorOf(CholeskyOp op, Value number, Value n) {
  Value base = k.mul(number, k.mul(n, n));
  Factor result{viewOf(inputOf(op.getOperand()), base, n), viewOf(k.fn.result(0), base, n)};
  if (!op.getLower())
    for (MatrixView *view : {&result.matrix, &result.factor})
      std::swap(view->row, view->column);
  return result;
}
