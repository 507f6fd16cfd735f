// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Checks.h"
#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/External.h"
#include "ir/Limits.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Checks.cpp.inc"

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }

static std::string messageFor(StringRef what, StringRef axis) {
  // Braces of a name would be filled in.
  std::string name = what.str();
  llvm::replace(name, '{', '(');
  llvm::replace(name, '}', ')');
  return name + " requires positions inside of axis " + axis.str() + ", got {} for a size of {}";
}

//===- shape ---------------------------------------------------------------------------------===//

LogicalResult RequireOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

LogicalResult CheckPositionsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                                 SmallVectorImpl<Type> &types) {
  RankedTensorType positions = tensor(adaptor.getPositions());
  size_t axes = adaptor.getAxes().size(), sizes = adaptor.getSizes().size();
  if (axes != sizes) // C1
    return emitOptionalError(location, "check_positions requires a size for each of ", axes, " axes, got ", sizes);
  if (adaptor.getTuples() &&
      (positions.getRank() == 0 || positions.getShape().back() != static_cast<int64_t>(axes))) // C2
    return emitOptionalError(location, "check_positions requires positions whose last axis has ", axes,
                             " elements, one for each axis, got ", positions);
  if (!adaptor.getTuples() && axes != 1) // C2
    return emitOptionalError(location, "check_positions requires one axis without tuples, got ", axes);
  types.push_back(positions);
  return success();
}

LogicalResult CheckFiniteOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getOperand().getType());
  return success();
}

LogicalResult DebugPrintOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &) {
  constexpr size_t most = 64; // SINTER_MAX_OP_TENSORS of the C ABI
  size_t holes = adaptor.getFormat().count("{}"), count = adaptor.getOperands().size();
  if (holes != count || count > most) // C1
    return emitOptionalError(location, "debug_print requires a {} for each of ", count, " operands, at most ", most,
                             ", got ", holes);
  return success();
}

//===- fold: what is known to lie inside -------------------------------------------------------===//

namespace {
/// All elements lie in [low, high].
struct Bounds {
  int64_t low, high;
};
} // namespace

using KnownBounds = llvm::SmallDenseMap<Value, std::optional<Bounds>>;

static std::optional<Bounds> findBounds(Value value, int depth, KnownBounds &known);

/// The same, found once for a value that several read.
static std::optional<Bounds> boundsOf(Value value, int depth, KnownBounds &known) {
  constexpr int kMaxDepth = 32;
  if (depth > kMaxDepth)
    return std::nullopt;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<Bounds> bounds = findBounds(value, depth, known);
  known[value] = bounds;
  return bounds;
}

static std::optional<Bounds> boundsOf(Value value) {
  KnownBounds known;
  return boundsOf(value, 0, known);
}

/// Bounds of the elements of an integer tensor, where ops that make positions tell them.
static std::optional<Bounds> findBounds(Value value, int depth, KnownBounds &known) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto of = [&](unsigned i) { return boundsOf(op->getOperand(i), depth + 1, known); };
  auto join = [](std::optional<Bounds> a, std::optional<Bounds> b) -> std::optional<Bounds> {
    return a && b ? std::optional(Bounds{std::min(a->low, b->low), std::max(a->high, b->high)}) : std::nullopt;
  };
  if (isa<ConstantOp>(op)) {
    if (std::optional<double> all = uniformValue(value); all && std::abs(*all) < 1e15)
      return Bounds{static_cast<int64_t>(*all), static_cast<int64_t>(*all)};
    std::optional<SmallVector<int64_t>> elements = constantInts(value);
    if (!elements || elements->empty())
      return std::nullopt;
    return Bounds{*llvm::min_element(*elements), *llvm::max_element(*elements)};
  }
  if (auto iota = dyn_cast<IotaOp>(op)) {
    int64_t size = iota.getType().getDimSize(static_cast<int64_t>(iota.getAxis()));
    return ShapedType::isDynamic(size) || size == 0 ? std::nullopt : std::optional(Bounds{0, size - 1});
  }
  if (auto arg = dyn_cast<ArgReduceOp>(op)) {
    int64_t size = tensor(arg.getOperand()).getDimSize(static_cast<int64_t>(arg.getAxis()));
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(Bounds{0, size - 1});
  }
  if (auto top = dyn_cast<TopKOp>(op); top && value == top->getResult(1)) {
    int64_t size = tensor(top.getOperand()).getDimSize(static_cast<int64_t>(top.getAxis()));
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(Bounds{0, size - 1});
  }
  if (isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp>(op))
    return of(0);
  if (auto convert = dyn_cast<ConvertOp>(op)) {
    auto from = dyn_cast<IntegerType>(getElementTypeOrSelf(op->getOperand(0)));
    std::optional<Bounds> bounds = from ? of(0) : std::nullopt;
    return bounds && bounds->low >= 0 && bounds->high <= std::numeric_limits<int32_t>::max() ? bounds : std::nullopt;
  }
  if (isa<ConcatenateOp>(op)) {
    std::optional<Bounds> all = of(0);
    for (unsigned i = 1; all && i < op->getNumOperands(); ++i)
      all = join(all, of(i));
    return all;
  }
  if (isa<SelectOp>(op))
    return join(of(1), of(2));
  if (isa<ClampOp>(op)) { // low, value, high
    std::optional<Bounds> low = of(0), high = of(2);
    return low && high && low->low <= high->high ? std::optional(Bounds{low->low, high->high}) : std::nullopt;
  }
  if (isa<RequireOp, CheckPositionsOp>(op))
    return boundsOf(isa<RequireOp>(op) ? cast<RequireOp>(op).getValue() : cast<CheckPositionsOp>(op).getPositions(),
                    depth + 1, known);
  return std::nullopt;
}

/// Elements k, k + count, ... of a list of tuples.
static std::optional<Bounds> boundsOfColumn(Value positions, size_t k, size_t count) {
  if (count == 1)
    return boundsOf(positions);
  if (std::optional<SmallVector<int64_t>> elements = constantInts(positions); elements && !elements->empty()) {
    Bounds bounds{(*elements)[k], (*elements)[k]};
    for (size_t i = k; i < elements->size(); i += count)
      bounds = {std::min(bounds.low, (*elements)[i]), std::max(bounds.high, (*elements)[i])};
    return bounds;
  }
  // Tuples that are put together from their columns.
  if (auto join = positions.getDefiningOp<ConcatenateOp>();
      join && join.getOperands().size() == count && join.getAxis() + 1 == static_cast<uint64_t>(tensor(join).getRank()))
    return boundsOf(join.getOperands()[k]);
  return boundsOf(positions);
}

static bool isInside(Value positions, size_t k, size_t count, std::optional<int64_t> size) {
  std::optional<Bounds> bounds = size ? boundsOfColumn(positions, k, count) : std::nullopt;
  return bounds && bounds->low >= -*size && bounds->high < *size;
}

OpFoldResult CheckPositionsOp::fold(FoldAdaptor) {
  if (getPositions().getType() != getType())
    return {};
  for (auto [k, value] : llvm::enumerate(getSizes())) {
    std::optional<SmallVector<int64_t>> size = constantInts(value);
    if (!size || !isInside(getPositions(), k, getSizes().size(), size->front()))
      return {};
  }
  return getPositions();
}

Value sinter::checkPositions(OpBuilder &builder, Location loc, Value positions, Value operand, ArrayRef<int64_t> axes,
                             bool tuples, StringRef what) {
  Composer c(loc, builder);
  RankedTensorType type = tensor(positions);
  if (axes.empty() || llvm::is_contained(type.getShape(), 0))
    return positions;
  bool inside = true;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    int64_t size = tensor(operand).getDimSize(axis);
    inside &= !ShapedType::isDynamic(size) && isInside(positions, k, axes.size(), size);
  }
  if (inside)
    return positions;
  SmallVector<Value> sizes;
  for (int64_t axis : axes)
    sizes.push_back(c.size(operand, axis));
  return c.make<CheckPositionsOp>(positions, sizes, axes, tuples, what);
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> RequireOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getValue())}; }
SmallVector<Dims> CheckPositionsOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getPositions())}; }
SmallVector<Dims> CheckFiniteOp::resultDims(ShapeQuery &shapes) { return {shapes.dims(getOperand())}; }

std::optional<Dims> RequireOp::resultContents(ShapeQuery &shapes) { return shapes.contents(getValue()); }
std::optional<Dims> CheckPositionsOp::resultContents(ShapeQuery &shapes) { return shapes.contents(getPositions()); }
std::optional<Dims> CheckFiniteOp::resultContents(ShapeQuery &) { return std::nullopt; }

//===- evaluate ------------------------------------------------------------------------------===//

static LogicalResult report(Operation *op, StringRef message, int64_t found, int64_t wanted) {
  auto [before, rest] = message.split("{}");
  auto [between, after] = rest.split("{}");
  InFlightDiagnostic error = emitError(op->getLoc()) << before;
  if (before.size() != message.size())
    error << found << between;
  if (between.size() != rest.size())
    error << wanted << after;
  return error;
}

FailureOr<SmallVector<HostTensor>> RequireOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  if (operands[0].getInt(0) == 0)
    return report(*this, getMessage(), operands[2].getInt(0), operands[3].getInt(0));
  return SmallVector<HostTensor>{operands[1]};
}

FailureOr<SmallVector<HostTensor>> CheckPositionsOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &positions = operands[0];
  size_t count = getAxes().size();
  for (int64_t i = 0; i < positions.numElements(); ++i) {
    size_t k = i % count;
    int64_t position = positions.getInt(i), size = operands[1 + k].getInt(0);
    if (position < -size || position >= size)
      return report(*this, messageFor(getWhat(), std::to_string(getAxes()[k])), position, size);
  }
  return SmallVector<HostTensor>{positions};
}

static std::string finiteMessage(StringRef what, int64_t rank) {
  std::string name = what.str(), place[] = {"", " at [{}]", " at [{}, {}]"};
  llvm::replace(name, '{', '(');
  llvm::replace(name, '}', ')');
  return "check_finite requires finite elements in '" + name + "', got one that is not" +
         (rank <= 2 ? place[rank] : " at position {} of {} in row-major order");
}

FailureOr<SmallVector<HostTensor>> CheckFiniteOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &x = operands[0];
  for (int64_t i = 0; i < x.numElements(); ++i) {
    if (std::isfinite(x.getFloat(i)))
      continue;
    int64_t columns = x.rank() == 2 ? x.size(1) : 1;
    bool isMatrix = x.rank() == 2;
    return report(*this, finiteMessage(getWhat(), x.rank()), isMatrix ? i / columns : i,
                  isMatrix ? i % columns : x.numElements());
  }
  return SmallVector<HostTensor>{x};
}

FailureOr<SmallVector<HostTensor>> DebugPrintOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  std::string problem = "there is nowhere to print to here";
  if (auto *print = hostCalls().print)
    problem = print(getFormat(), operands);
  if (!problem.empty())
    return mlir::emitError(getLoc()) << problem;
  return SmallVector<HostTensor>{};
}

//===- decompose -----------------------------------------------------------------------------===//

namespace {
struct Extreme {
  Value position, isInside;
};
} // namespace

/// True when positions of 32 bits are compared in as many: twice the size is below 2^31, so that a sum that is negative
/// or beyond 31 bits is no sum of a position inside, read without a sign.
static bool fitsInPositions(Value positions, Value size) {
  std::optional<SmallVector<int64_t>> known = constantInts(size);
  return getElementTypeOrSelf(positions).isSignlessInteger(32) && known && known->front() < int64_t(1) << 30;
}

/// A position outside of [-size, size) if there is one: of those that are too low the highest, else the highest of all.
/// Two operations an element: position + size as a number without sign is below 2 * size just inside.
static Extreme findExtreme(Composer &c, Value positions, Value size) {
  RankedTensorType type = tensor(positions);
  if (type.hasStaticShape() && type.getNumElements() == 1 && type.getRank() > 0)
    positions = c.reshape(positions, RankedTensorType::get({}, type.getElementType()));
  unsigned width = fitsInPositions(positions, size) ? 32 : 64;
  Type natural = c.getIntegerType(width, /*isSigned=*/false), integer = c.getIntegerType(width);
  positions = c.convert(positions, integer);
  size = c.convert(size, integer);
  int64_t rank = tensor(positions).getRank();
  Value most = c.convert(c.make<AddOp>(positions, rank == 0 ? size : c.spread(size, positions, {})), natural);
  if (rank > 0)
    most = c.reduce(most, llvm::to_vector(llvm::seq<int64_t>(0, rank)), Combiner::max);
  Value limit = c.convert(c.make<AddOp>(size, size), natural);
  Value inside = c.make<CompareOp>(most, limit, CompareKind::lt);
  // No positions are inside of no elements.
  for (int64_t axis = 0; axis < rank; ++axis)
    if (tensor(positions).isDynamicDim(axis)) {
      Value count = c.size(positions, axis), zero = c.make<SubOp>(count, count);
      inside = c.make<OrOp>(inside, c.make<CompareOp>(count, zero, CompareKind::eq));
    }
  return {c.convert(c.make<SubOp>(c.convert(most, integer), size), c.getI64Type()), inside};
}

FailureOr<SmallVector<Value>> CheckPositionsOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  Value result = getPositions();
  if (llvm::is_contained(tensor(result).getShape(), 0))
    return SmallVector<Value>{c.retype(result, getType())};
  for (auto [k, size] : llvm::enumerate(getSizes())) {
    Value column = getPositions();
    if (getSizes().size() > 1)
      column = c.slice(column, tensor(column).getRank() - 1, static_cast<int64_t>(k), static_cast<int64_t>(k) + 1);
    auto [found, holds] = findExtreme(c, column, size);
    result = c.make<RequireOp>(holds, result, found, size, messageFor(getWhat(), std::to_string(getAxes()[k])));
  }
  return SmallVector<Value>{c.retype(result, getType())};
}

/// Least position of an element that is not finite, else their number: one minimum an element.
static Value firstOutside(Composer &c, Value finite, Value count) {
  RankedTensorType type = tensor(finite);
  bool isSmall = type.hasStaticShape() && type.getNumElements() < std::numeric_limits<int32_t>::max();
  Type integer = c.getIntegerType(isSmall ? 32 : 64);
  auto flat = RankedTensorType::get({type.hasStaticShape() ? type.getNumElements() : ShapedType::kDynamic},
                                    c.getIntegerType(1));
  Value all = c.reshape(finite, flat);
  auto positions = RankedTensorType::get(flat.getShape(), integer);
  Value index = c.make<IotaOp>(type.hasStaticShape() ? Value() : Value(c.make<ShapeOp>(all)), int64_t(0), positions);
  Value none = c.spread(c.convert(count, integer), index, {});
  Value least = c.reduce(c.make<SelectOp>(all, none, index), {0}, Combiner::min);
  return c.convert(least, c.getI64Type());
}

FailureOr<SmallVector<Value>> CheckFiniteOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  Value x = getOperand();
  RankedTensorType type = tensor(x);
  if (llvm::is_contained(type.getShape(), 0))
    return SmallVector<Value>{c.retype(x, getType())};
  // Comparisons with NaN are false.
  Value infinity = c.scalar(type.getElementType(), std::numeric_limits<double>::infinity());
  Value size = c.make<AbsOp>(x);
  Value finite = c.make<CompareOp>(size, type.getRank() == 0 ? infinity : c.spread(infinity, x, {}), CompareKind::lt);
  Value zero = c.scalar(c.getI64Type(), 0), found = zero, other = zero, holds = finite;
  if (type.getRank() > 0) {
    Value count = c.scalar(c.getI64Type(), 1);
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      count = c.make<MulOp>(count, c.size(x, axis));
    found = firstOutside(c, finite, count);
    holds = c.make<CompareOp>(found, count, CompareKind::ge); // the least of none is above all
    other = count;
    if (type.getRank() == 2) {
      Value columns = c.make<MaxOp>(c.size(x, 1), c.scalar(c.getI64Type(), 1));
      other = c.make<RemOp>(found, columns);
      found = c.make<DivOp>(found, columns);
    }
  }
  Value checked = c.make<RequireOp>(holds, x, found, other, finiteMessage(getWhat(), type.getRank()));
  return SmallVector<Value>{c.retype(checked, getType())};
}
