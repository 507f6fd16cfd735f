// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, pooling, running sums and orders, out to ONNX.

#include "compiler/onnx/OpExport.h"

using namespace mlir;

namespace sinter::onnx {

static LogicalResult writeReduce(ReduceOp op, OpExport &n) {
  if (op.getAxes().empty())
    return n.out("Identity", {n.in(0)});
  Type element = n.elem(op.getOperand());
  Combiner combiner = op.getCombiner();
  bool isLogical = combiner == Combiner::logical_and || combiner == Combiner::logical_or;
  bool isBool = element.isInteger(1);
  if (isLogical && !isBool)
    return n.reject("ONNX reduces booleans by and, or; integers not");
  const char *name = combiner == Combiner::add                                       ? "ReduceSum"
                     : combiner == Combiner::mul                                     ? "ReduceProd"
                     : combiner == Combiner::max || combiner == Combiner::logical_or ? "ReduceMax"
                                                                                     : "ReduceMin";
  std::string axes = n.ints(op.getAxes());
  if (!isBool)
    return n.out(name, {n.in(0), axes}, {{"keepdims", 0}});
  std::string wide = n.cast(n.in(0), IntegerType::get(op.getContext(), 32));
  return n.out("Cast", {n.emit(name, {wide, axes}, {{"keepdims", 0}})}, {{"to", int64_t(onnxfile::BOOL)}});
}

static LogicalResult writeArgReduce(ArgReduceOp op, OpExport &n) {
  return n.out(op.getCombiner() == Combiner::max ? "ArgMax" : "ArgMin", {n.in(0)},
               {{"axis", int64_t(op.getAxis())}, {"keepdims", 0}, {"select_last_index", op.getLast()}});
}

static LogicalResult writeCumulative(CumulativeOp op, OpExport &n) {
  if (op.getCombiner() != Combiner::add)
    return n.reject("ONNX has running sums only");
  return n.out("CumSum", {n.in(0), n.scalar64(op.getAxis())},
               {{"exclusive", op.getExclusive()}, {"reverse", op.getReverse()}});
}

namespace {
/// A window as ONNX's pooling takes it: over all axes but the first two.
struct Pool {
  SmallVector<int64_t> window, strides, pads, dilations;
  SmallVector<int64_t> added; // axes of size 1 that the operand gets in front
};
} // namespace

/// Nothing, with the reason told, where ONNX has no such pooling.
template <typename OpT> static std::optional<Pool> poolOf(OpT op, OpExport &n) {
  Pool pool;
  size_t rank = op.getWindow().size(), first = 2;
  auto trivial = [&](size_t k) {
    return op.getWindow()[k] == 1 && op.getStrides()[k] == 1 && op.getLow()[k] == 0 && op.getHigh()[k] == 0;
  };
  if (rank < 3 || !trivial(0) || !trivial(1)) {
    pool.added = {0, 1};
    first = 0;
  }
  if (rank - first > 3) {
    (void)n.reject("ONNX pools over at most 3 axes");
    return std::nullopt;
  }
  for (size_t k = first; k < rank; ++k) {
    int64_t reach = op.getDilations()[k] * (op.getWindow()[k] - 1) + 1;
    if (op.getLow()[k] < 0 || op.getHigh()[k] < 0 || op.getLow()[k] >= reach || op.getHigh()[k] >= reach) {
      (void)n.reject("ONNX pools with padding of less than the window and at least 0");
      return std::nullopt;
    }
    pool.window.push_back(op.getWindow()[k]);
    pool.strides.push_back(op.getStrides()[k]);
    pool.dilations.push_back(op.getDilations()[k]);
  }
  pool.pads.assign(op.getLow().begin() + first, op.getLow().end());
  pool.pads.append(op.getHigh().begin() + first, op.getHigh().end());
  return pool;
}

static LogicalResult writeReduceWindow(ReduceWindowOp op, OpExport &n) {
  std::optional<Pool> pool = poolOf(op, n);
  if (!pool)
    return failure();
  Type element = n.elem(op.getOperand());
  Combiner combiner = op.getCombiner();
  if (!isa<FloatType>(element) && !(combiner == Combiner::max && element.getIntOrFloatBitWidth() == 8))
    return n.reject("ONNX pools floats, and 8-bit integers by their greatest");
  std::string value = pool->added.empty() ? n.in(0) : n.unsqueeze(n.in(0), pool->added);
  SmallVector<NodeAttr> attrs = {{"kernel_shape", ArrayRef<int64_t>(pool->window)},
                                 {"strides", ArrayRef<int64_t>(pool->strides)},
                                 {"pads", ArrayRef<int64_t>(pool->pads)},
                                 {"dilations", ArrayRef<int64_t>(pool->dilations)}};
  switch (combiner) {
  case Combiner::max:
    value = n.emit("MaxPool", {value}, attrs);
    break;
  case Combiner::min:
    value = n.emit("Neg", {n.emit("MaxPool", {n.emit("Neg", {value})}, attrs)});
    break;
  case Combiner::add: {
    attrs.push_back({"count_include_pad", 1});
    int64_t count = 1;
    for (int64_t size : pool->window)
      count *= size;
    value = n.emit("Mul", {n.emit("AveragePool", {value}, attrs), n.scalar(element, double(count))});
    break;
  }
  default:
    return n.reject("ONNX does not pool by " + stringifyCombiner(combiner));
  }
  if (!pool->added.empty())
    return n.out("Squeeze", {value, n.ints(pool->added)});
  return n.out("Identity", {value});
}

static LogicalResult writeArgReduceWindow(ArgReduceWindowOp op, OpExport &n) {
  std::optional<Pool> pool = poolOf(op, n);
  if (!pool)
    return failure();
  if (!pool->added.empty())
    return n.reject("MaxPool gives positions for windows over all axes but the first two");
  n.node("MaxPool", {n.in(0)}, {n.emit("Identity", {n.in(0)}) + "_max", n.result(0)},
         {{"kernel_shape", ArrayRef<int64_t>(pool->window)},
          {"strides", ArrayRef<int64_t>(pool->strides)},
          {"pads", ArrayRef<int64_t>(pool->pads)},
          {"dilations", ArrayRef<int64_t>(pool->dilations)}});
  return success();
}

/// The size of an axis as a list of one.
static std::string sizeList(OpExport &n, std::string value, int64_t axis) {
  return n.emit("Shape", {value}, {{"start", axis}, {"end", axis + 1}});
}

static LogicalResult writeSort(SortOp op, OpExport &n) {
  return n.out("TopK", {n.in(0), sizeList(n, n.in(0), op.getAxis())},
               {{"axis", int64_t(op.getAxis())}, {"largest", op.getDescending()}});
}

static LogicalResult writeTopK(TopKOp op, OpExport &n) {
  std::string count =
      n.emit("Min", {n.unsqueeze(n.of(op.getK()), {0}), sizeList(n, n.of(op.getOperand()), op.getAxis())});
  return n.out("TopK", {n.of(op.getOperand()), count}, {{"axis", int64_t(op.getAxis())}, {"largest", op.getLargest()}});
}

void exportReduction(ExportTable &t) {
  t.add<ReduceOp>(writeReduce);
  t.add<ArgReduceOp>(writeArgReduce);
  t.add<CumulativeOp>(writeCumulative);
  t.add<ReduceWindowOp>(writeReduceWindow);
  t.add<ArgReduceWindowOp>(writeArgReduceWindow);
  t.add<SortOp>(writeSort);
  t.add<TopKOp>(writeTopK);
}

} // namespace sinter::onnx
