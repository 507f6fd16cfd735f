// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many elements to one, and running sums.

#include "compiler/onnx/OpImport.h"

using namespace mlir;

namespace sinter::onnx {

namespace {
/// How one of ONNX's reductions is built over axes that are known.
using ReduceFn = Value (*)(OpImport &, Value, ArrayRef<int64_t>, bool);
} // namespace

template <Combiner combiner> static Value reduceBy(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return n.reduce(combiner, x, axes, keep);
}
static Value reduceMean(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) { return n.mean(x, axes, keep); }
static Value reduceL1(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return n.reduce(Combiner::add, n.elem(x).isUnsignedInteger() ? x : n.make<AbsOp>(x), axes, keep);
}
/// Roots and logarithms of integers are taken in f64.
template <typename Build> static Value inFloats(OpImport &n, Value x, Build build) {
  if (n.isFloat(x))
    return n.inWiderFloats(x, build);
  return n.convert(build(n.convert(x, n.b.getF64Type())), n.elem(x));
}
static Value reduceSumSquare(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return n.inWiderFloats(x, [&](Value f) { return n.reduce(Combiner::add, n.mul(f, f), axes, keep); });
}
static Value reduceL2(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return inFloats(n, x, [&](Value f) { return n.make<SqrtOp>(reduceSumSquare(n, f, axes, keep)); });
}
static Value reduceLogSum(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return inFloats(n, x, [&](Value f) { return n.make<LogOp>(n.reduce(Combiner::add, f, axes, keep)); });
}
static Value reduceLogSumExp(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return inFloats(n, x, [&](Value f) -> Value {
    Value top = n.reduce(Combiner::max, f, axes, true);
    if (n.failed())
      return {};
    top = n.select(n.make<IsInfOp>(top), 0, top); // infinities stay what they are
    Value sum = n.reduce(Combiner::add, n.make<ExpOp>(n.sub(f, top)), axes, true);
    Value result = n.add(n.make<LogOp>(sum), top);
    return keep ? result : n.squeeze(result, axes);
  });
}
/// Maximum and minimum of booleans are or and and.
template <Combiner combiner, Combiner ofBooleans>
static Value reduceExtreme(OpImport &n, Value x, ArrayRef<int64_t> axes, bool keep) {
  return n.reduce(n.elem(x).isInteger(1) ? ofBooleans : combiner, x, axes, keep);
}

/// `reduce` with axes from the attribute, or from `inputSince` on from the second input.
template <ReduceFn reduce, int64_t inputSince> static LogicalResult importReduce(OpImport &n) {
  Value x = n.in(0);
  bool keep = n.intAttr("keepdims", 1) != 0;
  std::optional<SmallVector<int64_t>> axes;
  if (n.version < inputSince) {
    axes = n.intsAttr("axes");
  } else if (n.in(1)) {
    Value given = n.convert(n.in(1), n.b.getI64Type());
    axes = n.knownInts(given);
    if (!axes && n.size(given, 0) == 0)
      axes.emplace();
    if (!axes && n.size(given, 0) == 1) // one axis, chosen at run time
      return n.out(n.switchOver(n.reshape(given, {}), n.rank(x), {x}, [&](int64_t axis, ValueRange inside) {
        return reduce(n, inside.front(), {axis}, keep);
      }));
    if (!axes)
      return n.unsupported("more than one axis that is known only at run time");
  }
  if (!axes || axes->empty()) {
    if (n.version >= inputSince && n.intAttr("noop_with_empty_axes", 0) != 0)
      return n.out(x);
    axes = n.allAxes(x);
  }
  if (failed(n.normalizeAxes(*axes, n.rank(x))))
    return failure();
  llvm::sort(*axes);
  return n.out(reduce(n, x, *axes, keep));
}

template <Combiner combiner> static LogicalResult importArg(OpImport &n) {
  Value x = n.in(0);
  int64_t axis = n.axisAttr("axis", 0, n.rank(x));
  if (axis < 0)
    return failure();
  Value result = n.make<ArgReduceOp>(x, axis, combiner, n.intAttr("select_last_index", 0) != 0);
  return n.out(n.intAttr("keepdims", 1) ? n.unsqueeze(result, {axis}) : result);
}

template <Combiner combiner> static LogicalResult importCumulative(OpImport &n) {
  Value x = n.in(0);
  bool exclusive = n.intAttr("exclusive", 0) != 0, reverse = n.intAttr("reverse", 0) != 0;
  if (std::optional<SmallVector<int64_t>> axis = n.knownInts(n.in(1))) {
    if (axis->size() != 1)
      return n.error("requires one axis, found " + Twine(axis->size()));
    if (failed(n.normalizeAxes(*axis, n.rank(x))))
      return failure();
    return n.out(n.make<CumulativeOp>(x, axis->front(), combiner, exclusive, reverse));
  }
  Value axis = n.reshape(n.convert(n.in(1), n.b.getI64Type()), {});
  return n.out(n.switchOver(axis, n.rank(x), {x}, [&](int64_t k, ValueRange inside) {
    return n.make<CumulativeOp>(inside.front(), k, combiner, exclusive, reverse);
  }));
}

void registerReduction(Registry &r) {
  r.add("ReduceSum", 1, 1, importReduce<reduceBy<Combiner::add>, 13>);
  r.add("ReduceProd", 1, 1, importReduce<reduceBy<Combiner::mul>, 18>);
  r.add("ReduceMax", 1, 1, importReduce<reduceExtreme<Combiner::max, Combiner::logical_or>, 18>);
  r.add("ReduceMin", 1, 1, importReduce<reduceExtreme<Combiner::min, Combiner::logical_and>, 18>);
  r.add("ReduceMean", 1, 1, importReduce<reduceMean, 18>);
  r.add("ReduceL1", 1, 1, importReduce<reduceL1, 18>);
  r.add("ReduceL2", 1, 1, importReduce<reduceL2, 18>);
  r.add("ReduceLogSum", 1, 1, importReduce<reduceLogSum, 18>);
  r.add("ReduceLogSumExp", 1, 1, importReduce<reduceLogSumExp, 18>);
  r.add("ReduceSumSquare", 1, 1, importReduce<reduceSumSquare, 18>);
  r.add("ArgMax", 1, 1, importArg<Combiner::max>);
  r.add("ArgMin", 1, 1, importArg<Combiner::min>);
  r.add("CumSum", 11, 2, importCumulative<Combiner::add>);
  r.add("CumProd", 26, 2, importCumulative<Combiner::mul>);
}

} // namespace sinter::onnx
