// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Reduction.h"
#include "ir/Axes.h"
#include "ir/Constants.h"
#include "ir/Limits.h"
#include "ir/Shape.h"
#include "ir/reference/Loops.h"

#include <numeric>

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Reduction.cpp.inc"

void SinterDialect::registerReduction() {
  addOperations<
#define GET_OP_LIST
#include "ir/Reduction.cpp.inc"
      >();
}

static RankedTensorType tensor(ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }
static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }
static Type positionType(MLIRContext *context) { return IntegerType::get(context, 64); }

//===- shape ---------------------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, ReduceOp::Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxes(loc, "reduce", adaptor.getAxes(), operand.getRank()))) // C1
    return failure();
  Combiner combiner = adaptor.getCombiner();
  Type element = operand.getElementType();
  bool logical = combiner == Combiner::logical_and || combiner == Combiner::logical_or;
  if (combiner == Combiner::set || (logical && isa<FloatType>(element)) || (!logical && element.isInteger(1))) // C2
    return emitOptionalError(
        loc, "reduce requires add, mul, max or min of numbers, or and, or of integers and booleans, got ",
        stringifyCombiner(combiner), " of ", element);
  inferred.push_back(tensor(dropAxes(SmallVector<int64_t>(operand.getShape()), adaptor.getAxes()), element));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                            ArgReduceOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  auto axis = static_cast<int64_t>(adaptor.getAxis());
  if (failed(checkAxis(loc, "arg_reduce", axis, operand.getRank()))) // C1
    return failure();
  Combiner combiner = adaptor.getCombiner();
  if (combiner != Combiner::max && combiner != Combiner::min) // C2
    return emitOptionalError(loc, "arg_reduce requires max or min, got ", stringifyCombiner(combiner));
  if (operand.getDimSize(axis) == 0) // C3
    return emitOptionalError(loc, "arg_reduce requires a non-empty axis, got size 0 of axis ", axis);
  inferred.push_back(tensor(dropAxes(SmallVector<int64_t>(operand.getShape()), axis), positionType(context)));
  return success();
}

LogicalResult CumulativeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, CumulativeOp::Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxis(loc, "cumulative", adaptor.getAxis(), operand.getRank()))) // C1
    return failure();
  Combiner combiner = adaptor.getCombiner();
  if (combiner > Combiner::min) // C2
    return emitOptionalError(loc, "cumulative requires add, mul, max or min, got ", stringifyCombiner(combiner));
  inferred.push_back(operand);
  return success();
}

/// The result's shape after checks of the window attributes.
template <typename Adaptor>
static FailureOr<SmallVector<int64_t>> windowShape(std::optional<Location> loc, StringRef op, Adaptor adaptor) {
  ArrayRef<int64_t> shape = ranked(adaptor.getOperand().getType()).getShape();
  std::pair<StringRef, ArrayRef<int64_t>> arrays[] = {{"window", adaptor.getWindow()},
                                                      {"strides", adaptor.getStrides()},
                                                      {"low", adaptor.getLow()},
                                                      {"high", adaptor.getHigh()},
                                                      {"dilations", adaptor.getDilations()}};
  for (auto [name, array] : arrays) {
    if (array.size() != shape.size()) // C1
      return emitOptionalError(loc, op, " requires one entry per axis in ", name, ", got ", array.size(), " for rank ",
                               shape.size());
    for (int64_t value : array)
      if (value < 1 && name != "low" && name != "high") // C2
        return emitOptionalError(loc, op, " requires positive ", name, ", got ", value);
  }
  SmallVector<int64_t> result;
  for (auto [k, size] : llvm::enumerate(shape))
    result.push_back(WindowAxis{adaptor.getWindow()[k], adaptor.getStrides()[k], adaptor.getLow()[k],
                                adaptor.getHigh()[k], adaptor.getDilations()[k], 1}
                         .resultSize(size));
  return result;
}

LogicalResult ReduceWindowOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                               ReduceWindowOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  FailureOr<SmallVector<int64_t>> shape = windowShape(loc, "reduce_window", adaptor);
  if (failed(shape))
    return failure();
  Combiner combiner = adaptor.getCombiner();
  if (combiner > Combiner::min) // C3
    return emitOptionalError(loc, "reduce_window requires add, mul, max or min, got ", stringifyCombiner(combiner));
  inferred.push_back(tensor(*shape, ranked(adaptor.getOperand().getType()).getElementType()));
  return success();
}

LogicalResult ArgReduceWindowOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                                  ArgReduceWindowOp::Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  FailureOr<SmallVector<int64_t>> shape = windowShape(loc, "arg_reduce_window", adaptor);
  if (failed(shape))
    return failure();
  inferred.push_back(tensor(*shape, positionType(context)));
  return success();
}

LogicalResult SortOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, SortOp::Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  if (failed(checkAxis(loc, "sort", adaptor.getAxis(), operand.getRank()))) // C1
    return failure();
  inferred.push_back(operand);
  inferred.push_back(tensor(operand.getShape(), positionType(context)));
  return success();
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, TopKOp::Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  RankedTensorType operand = ranked(adaptor.getOperand().getType());
  auto axis = static_cast<int64_t>(adaptor.getAxis());
  if (failed(checkAxis(loc, "top_k", axis, operand.getRank()))) // C1
    return failure();
  SmallVector<int64_t> shape(operand.getShape());
  std::optional<SmallVector<int64_t>> constant = constantInts(adaptor.getK());
  std::optional<int64_t> k = constant ? std::optional((*constant)[0]) : std::nullopt;
  if (k && *k < 0) // C2
    return emitOptionalError(loc, "top_k requires k >= 0, got ", *k);
  bool known = k && (*k == 0 || !ShapedType::isDynamic(shape[axis]));
  shape[axis] = known ? std::min(*k, std::max<int64_t>(shape[axis], 0)) : ShapedType::kDynamic;
  inferred.push_back(tensor(shape, operand.getElementType()));
  inferred.push_back(tensor(shape, positionType(context)));
  return success();
}

//===- fold ----------------------------------------------------------------------------------===//

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getAxes().empty() && getOperand().getType() == getType() ? OpFoldResult(getOperand()) : OpFoldResult();
}

namespace {
/// reduce over axes of size 1 -> reshape
struct ReduceOverUnitAxes : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = op.getOperand().getType().getShape();
    if (op.getAxes().empty() || !llvm::all_of(op.getAxes(), [&](int64_t axis) { return shape[axis] == 1; }))
      return rewriter.notifyMatchFailure(op, "an axis may have another size than 1");
    if (needsSizes(op.getType()))
      return rewriter.notifyMatchFailure(op, "a reshape would need sizes");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand(), Value(),
                                           cast<RankedTensorType>(op.getType()));
    return success();
  }
};
} // namespace

void ReduceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReduceOverUnitAxes>(context);
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> ReduceOp::resultDims(ShapeQuery &shapes) { return {dropAxes(shapes.dims(getOperand()), getAxes())}; }
SmallVector<Dims> ArgReduceOp::resultDims(ShapeQuery &shapes) {
  return {dropAxes(shapes.dims(getOperand()), static_cast<int64_t>(getAxis()))};
}
SmallVector<Dims> CumulativeOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

/// The window along axis k.
template <typename WindowOp> static WindowAxis windowAxis(WindowOp op, int64_t k) {
  return {op.getWindow()[k], op.getStrides()[k], op.getLow()[k], op.getHigh()[k], op.getDilations()[k], 1};
}

template <typename WindowOp> static Dims windowDims(WindowOp op, ShapeQuery &shapes) {
  Dims dims = shapes.dims(op.getOperand());
  for (auto [k, size] : llvm::enumerate(dims))
    size = windowAxis(op, k).resultSize(shapes.context(), size);
  return dims;
}
SmallVector<Dims> ReduceWindowOp::resultDims(ShapeQuery &shapes) { return {windowDims(*this, shapes)}; }
SmallVector<Dims> ArgReduceWindowOp::resultDims(ShapeQuery &shapes) { return {windowDims(*this, shapes)}; }

SmallVector<Dims> SortOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getOperand());
  return {dims, dims};
}

SmallVector<Dims> TopKOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  Dims dims = shapes.dims(getOperand());
  DimExpr &size = dims[getAxis()];
  if (std::optional<Dims> k = shapes.contents(getK()); k && k->size() == 1)
    size = context.min(size, context.max((*k)[0], context.constant(0)));
  else
    size = dimsOfResult(context, getValues())[getAxis()];
  return {dims, dims};
}

//===- evaluate ------------------------------------------------------------------------------===//

/// Two elements to one. `wide` compares as unsigned 64-bit.
static double combine(Combiner combiner, double a, double b, bool) {
  switch (combiner) {
  case Combiner::add:
    return a + b;
  case Combiner::mul:
    return a * b;
  case Combiner::max:
    return std::isnan(a) || a > b ? a : b;
  case Combiner::min:
    return std::isnan(a) || a < b ? a : b;
  default:
    return b;
  }
}
static int64_t combine(Combiner combiner, int64_t a, int64_t b, bool wide) {
  bool less = wide ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
  switch (combiner) {
  case Combiner::add:
    return wrappingAdd(a, b);
  case Combiner::mul:
    return wrappingMul(a, b);
  case Combiner::max:
    return less ? b : a;
  case Combiner::min:
    return less ? a : b;
  case Combiner::logical_and:
    return a & b;
  case Combiner::logical_or:
    return a | b;
  case Combiner::set:
    return b;
  }
  llvm_unreachable("all combiners handled");
}

/// The value of an empty combination.
template <typename T> static T identity(Combiner combiner, Type element) {
  bool largest = combiner == Combiner::min;
  if (combiner == Combiner::mul)
    return 1;
  if (combiner == Combiner::logical_and)
    return -1;
  if (combiner != Combiner::max && !largest)
    return 0;
  if constexpr (std::is_same_v<T, double>) {
    return largest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    if (isUnsigned(element))
      return largest ? static_cast<T>(llvm::APInt::getMaxValue(width).getZExtValue()) : 0;
    return largest ? llvm::APInt::getSignedMaxValue(width).getSExtValue()
                   : llvm::APInt::getSignedMinValue(width).getSExtValue();
  }
}

static bool isWide(Type element) { return element.isUnsignedInteger(64); }

/// Concrete sizes without `axes`.
static SmallVector<int64_t> without(const HostTensor &tensor, ArrayRef<int64_t> axes) {
  return dropAxes(SmallVector<int64_t>(tensor.shape()), axes);
}

template <typename T> static HostTensor reduce(ReduceOp op, const HostTensor &operand) {
  Combiner combiner = op.getCombiner();
  SmallVector<int64_t> shape = without(operand, op.getAxes()), strides(operand.rank(), 0);
  int64_t stride = 1;
  for (int64_t k = operand.rank() - 1; k >= 0; --k)
    if (!llvm::is_contained(op.getAxes(), k)) {
      strides[k] = stride;
      stride *= operand.size(k);
    }
  std::vector<T> totals(*countElements(shape), identity<T>(combiner, operand.elementType()));
  std::vector<T> values = elementsOf<T>(operand);
  bool wide = isWide(operand.elementType());
  auto next = values.begin();
  forEachOffset(operand.shape(), strides,
                [&](int64_t target) { totals[target] = combine(combiner, totals[target], *next++, wide); });
  return tensorOf(operand.elementType(), shape, totals);
}

FailureOr<SmallVector<HostTensor>> ReduceOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  return SmallVector<HostTensor>{operand.isFloat() ? reduce<double>(*this, operand) : reduce<int64_t>(*this, operand)};
}

/// True when `a` goes before `b` in the order that puts the wanted element first.
static bool before(double a, double b, bool descending, bool) { return descending ? a > b : a < b; }
static bool before(int64_t a, int64_t b, bool descending, bool wide) {
  if (wide)
    return descending ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b)
                      : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  return descending ? a > b : a < b;
}
static bool isNan(double value) { return std::isnan(value); }
static bool isNan(int64_t) { return false; }

template <typename T> static HostTensor argReduce(ArgReduceOp op, const HostTensor &operand) {
  auto axis = static_cast<int64_t>(op.getAxis());
  AxisView view(operand.shape(), axis);
  std::vector<T> values = elementsOf<T>(operand);
  std::vector<int64_t> positions(view.outer * view.inner);
  bool wide = isWide(operand.elementType()), max = op.getCombiner() == Combiner::max;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t n = 0; n < view.inner; ++n) {
      int64_t best = 0;
      for (int64_t i = 1; i < view.size; ++i) {
        T value = values[view.offset(o, i, n)], leader = values[view.offset(o, best, n)];
        bool wins = isNan(leader) ? false : isNan(value) || before(value, leader, max, wide);
        bool ties = isNan(leader) ? isNan(value) : value == leader;
        if (wins || (ties && op.getLast()))
          best = i;
      }
      positions[o * view.inner + n] = best;
    }
  return tensorOf(op.getType().getElementType(), without(operand, axis), positions);
}

FailureOr<SmallVector<HostTensor>> ArgReduceOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  if (operand.size(getAxis()) == 0)
    return emitOpError() << "requires a non-empty axis, got size 0 of axis " << getAxis();
  return SmallVector<HostTensor>{operand.isFloat() ? argReduce<double>(*this, operand)
                                                   : argReduce<int64_t>(*this, operand)};
}

template <typename T> static HostTensor cumulate(CumulativeOp op, const HostTensor &operand) {
  AxisView view(operand.shape(), op.getAxis());
  std::vector<T> values = elementsOf<T>(operand);
  Combiner combiner = op.getCombiner();
  bool wide = isWide(operand.elementType());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t n = 0; n < view.inner; ++n) {
      T total = identity<T>(combiner, operand.elementType());
      for (int64_t k = 0; k < view.size; ++k) {
        T &element = values[view.offset(o, op.getReverse() ? view.size - 1 - k : k, n)];
        T next = combine(combiner, total, element, wide);
        element = op.getExclusive() ? total : next;
        total = next;
      }
    }
  return tensorOf(operand.elementType(), operand.shape(), values);
}

FailureOr<SmallVector<HostTensor>> CumulativeOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  return SmallVector<HostTensor>{operand.isFloat() ? cumulate<double>(*this, operand)
                                                   : cumulate<int64_t>(*this, operand)};
}

/// Walks the windows: `start()` for each result element, then `visit(offset)` for each operand element under it, in
/// row-major order, then `finish()`. False when the steps do not suffice.
template <typename WindowOp, typename Start, typename Visit, typename Finish>
static bool walkWindows(WindowOp op, const HostTensor &operand, ArrayRef<int64_t> shape, Evaluator &evaluator,
                        Start start, Visit visit, Finish finish) {
  SmallVector<int64_t> strides = operand.strides(), apart(strides), counts(operand.rank());
  for (auto [step, dilation] : llvm::zip(apart, op.getDilations()))
    step *= dilation;
  int64_t perResult = 1, results = countElements(shape).value_or(0), steps = 0;
  for (auto [taps, size] : llvm::zip(op.getWindow(), operand.shape()))
    perResult *= std::clamp<int64_t>(size, 1, taps); // what lies outside is skipped
  if (__builtin_mul_overflow(perResult, results, &steps))
    steps = std::numeric_limits<int64_t>::max();
  if (!evaluator.spend(steps))
    return false;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    start();
    // The part of the window that lies on the operand, per axis: `counts` taps from `origin` on.
    int64_t origin = 0;
    for (int64_t k = 0; k < operand.rank(); ++k) {
      int64_t dilation = op.getDilations()[k], first = index[k] * op.getStrides()[k] - op.getLow()[k];
      int64_t skipped = first < 0 ? llvm::divideCeil(-first, dilation) : 0;
      int64_t room = operand.size(k) - 1 - first;
      int64_t taps = room < 0 ? 0 : std::min(op.getWindow()[k], room / dilation + 1);
      counts[k] = std::max<int64_t>(taps - skipped, 0);
      origin += (first + skipped * dilation) * strides[k];
    }
    forEachOffset(counts, apart, [&](int64_t offset) { visit(origin + offset); });
    finish();
  });
  return true;
}

template <typename T>
static FailureOr<HostTensor> reduceWindows(ReduceWindowOp op, const HostTensor &operand, Evaluator &evaluator) {
  SmallVector<int64_t> shape;
  for (int64_t k = 0; k < operand.rank(); ++k)
    shape.push_back(windowAxis(op, k).resultSize(operand.size(k)));
  if (failed(requireRoom(op, evaluator, Float64Type::get(op.getContext()), shape))) // as computed
    return failure();
  std::vector<T> values = elementsOf<T>(operand), results;
  results.reserve(*countElements(shape));
  Combiner combiner = op.getCombiner();
  bool wide = isWide(operand.elementType());
  T total = 0, empty = identity<T>(combiner, operand.elementType());
  if (!walkWindows(
          op, operand, shape, evaluator, [&] { total = empty; },
          [&](int64_t offset) { total = combine(combiner, total, values[offset], wide); },
          [&] { results.push_back(total); }))
    return outOfSteps(op);
  return tensorOf(operand.elementType(), shape, results);
}

FailureOr<SmallVector<HostTensor>> ReduceWindowOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  FailureOr<HostTensor> result = operands[0].isFloat() ? reduceWindows<double>(*this, operands[0], evaluator)
                                                       : reduceWindows<int64_t>(*this, operands[0], evaluator);
  if (failed(result))
    return failure();
  return SmallVector<HostTensor>{*result};
}

template <typename T>
static FailureOr<HostTensor> argReduceWindows(ArgReduceWindowOp op, const HostTensor &operand, Evaluator &evaluator) {
  SmallVector<int64_t> shape;
  for (int64_t k = 0; k < operand.rank(); ++k)
    shape.push_back(windowAxis(op, k).resultSize(operand.size(k)));
  if (failed(requireRoom(op, evaluator, Float64Type::get(op.getContext()), shape))) // as computed
    return failure();
  std::vector<T> values = elementsOf<T>(operand);
  std::vector<int64_t> results;
  bool wide = isWide(operand.elementType());
  int64_t best = -1;
  if (!walkWindows(
          op, operand, shape, evaluator, [&] { best = -1; },
          [&](int64_t offset) {
            if (best < 0 ||
                (!isNan(values[best]) && (isNan(values[offset]) || before(values[offset], values[best], true, wide))))
              best = offset;
          },
          [&] { results.push_back(std::max<int64_t>(best, 0)); }))
    return outOfSteps(op);
  return tensorOf(op.getType().getElementType(), shape, results);
}

FailureOr<SmallVector<HostTensor>> ArgReduceWindowOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  FailureOr<HostTensor> result = operands[0].isFloat() ? argReduceWindows<double>(*this, operands[0], evaluator)
                                                       : argReduceWindows<int64_t>(*this, operands[0], evaluator);
  if (failed(result))
    return failure();
  return SmallVector<HostTensor>{*result};
}

/// The first `count` elements of an axis in stable order (NaN last) and their positions.
template <typename T>
static SmallVector<HostTensor> order(const HostTensor &operand, int64_t axis, bool descending, int64_t count) {
  AxisView view(operand.shape(), axis);
  std::vector<T> values = elementsOf<T>(operand), sorted(view.outer * count * view.inner);
  std::vector<int64_t> positions(sorted.size()), lane(view.size);
  bool wide = isWide(operand.elementType());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t n = 0; n < view.inner; ++n) {
      std::iota(lane.begin(), lane.end(), 0);
      std::sort(lane.begin(), lane.end(), [&](int64_t i, int64_t j) {
        T a = values[view.offset(o, i, n)], b = values[view.offset(o, j, n)];
        if (isNan(a) || isNan(b))
          return isNan(a) == isNan(b) ? i < j : isNan(b);
        return a == b ? i < j : before(a, b, descending, wide);
      });
      for (int64_t i = 0; i < count; ++i) {
        int64_t target = (o * count + i) * view.inner + n;
        sorted[target] = values[view.offset(o, lane[i], n)];
        positions[target] = lane[i];
      }
    }
  SmallVector<int64_t> shape(operand.shape());
  shape[axis] = count;
  Type i64 = IntegerType::get(operand.elementType().getContext(), 64);
  return {tensorOf(operand.elementType(), shape, sorted), tensorOf(i64, shape, positions)};
}

FailureOr<SmallVector<HostTensor>> SortOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  auto axis = static_cast<int64_t>(getAxis());
  return operand.isFloat() ? order<double>(operand, axis, getDescending(), operand.size(axis))
                           : order<int64_t>(operand, axis, getDescending(), operand.size(axis));
}

FailureOr<SmallVector<HostTensor>> TopKOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &operand = operands[0];
  auto axis = static_cast<int64_t>(getAxis());
  int64_t count = std::clamp<int64_t>(operands[1].getInt(0), 0, operand.size(axis));
  return operand.isFloat() ? order<double>(operand, axis, getLargest(), count)
                           : order<int64_t>(operand, axis, getLargest(), count);
}
