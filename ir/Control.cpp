// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Control.h"
#include "ir/Axes.h"
#include "ir/ControlFlow.h"
#include "ir/Leaves.h"
#include "ir/Limits.h"
#include "ir/reference/Loops.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Control.cpp.inc"

void SinterDialect::registerControl() {
  addOperations<
#define GET_OP_LIST
#include "ir/Control.cpp.inc"
      >();
  attachControlInterfaces(*getContext());
}

void YieldOp::build(OpBuilder &, OperationState &) {}

//===- shape: regions agree with operands and results -----------------------------------------===//

static LogicalResult checkBranch(Operation *op, StringRef name, Region &region, TypeRange captures) {
  if (failed(checkLeaves(op, name + " argument", region.getArgumentTypes(), "capture", captures))) // C1
    return failure();
  return checkLeaves(op, name + " yield", yieldedTypes(region), "result", op->getResultTypes()); // C2
}

LogicalResult CondOp::verify() {
  if (failed(checkBranch(*this, "then", getThenRegion(), getCaptures().getTypes())))
    return failure();
  return checkBranch(*this, "else", getElseRegion(), getCaptures().getTypes());
}

LogicalResult SwitchOp::verify() {
  if (getBranches().empty()) // C3
    return emitOpError("requires at least one branch, got none");
  for (auto [k, region] : llvm::enumerate(getBranches()))
    if (failed(checkBranch(*this, "branch " + std::to_string(k), region, getCaptures().getTypes())))
      return failure();
  return success();
}

/// `type` with a new axis of `size`.
static RankedTensorType stackType(Type type, int64_t axis, int64_t size) {
  auto slice = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(slice.getShape());
  shape.insert(shape.begin() + axis, size);
  return RankedTensorType::get(shape, slice.getElementType());
}

/// Carries agree from init over arguments and yield to results; further yields stack along `outAxes`.
template <typename Loop>
static LogicalResult checkLoop(Loop op, TypeRange arguments, ArrayRef<int64_t> outAxes, int64_t trips) {
  size_t carries = op.getInit().size();
  if (op.getResults().size() < carries) // C1
    return op.emitOpError() << "requires a result per init, got " << op.getResults().size() << " and " << carries;
  if (failed(checkLeaves(op, "body argument", op.getBodyRegion().getArgumentTypes(), "operand", arguments))) // C2
    return failure();
  TypeRange yielded = yieldedTypes(op.getBodyRegion());
  if (yielded.size() != op.getResults().size()) // C3
    return op.emitOpError() << "requires as many body yields as results, got " << yielded.size() << " and "
                            << op.getResults().size();
  if (failed(checkLeaves(op, "body yield", yielded.take_front(carries), "init", op.getInit().getTypes())) || // C3
      failed(checkLeaves(op, "result", op.getCarries().getTypes(), "body yield", yielded.take_front(carries))))
    return failure();
  for (auto [k, pair] : llvm::enumerate(llvm::zip(yielded.drop_front(carries), op.getStacks().getTypes()))) {
    auto [slice, result] = pair;
    int64_t axis = outAxes.empty() ? 0 : outAxes[k];
    auto rank = cast<RankedTensorType>(slice).getRank();
    if (axis < 0 || axis > rank) // C4
      return op.emitOpError() << "requires out_axes in [0, " << rank << "], got " << axis << " for stack " << k;
    RankedTensorType wanted = stackType(slice, axis, trips);
    if (!agree(result, wanted)) // C4
      return op.emitOpError() << "requires stack " << k << " of type " << wanted << ", got " << result;
  }
  return success();
}

static SmallVector<Type> loopArguments(TypeRange first, TypeRange second, TypeRange third = {}) {
  SmallVector<Type> types(first.begin(), first.end());
  llvm::append_range(types, second);
  llvm::append_range(types, third);
  return types;
}

LogicalResult WhileOp::verify() {
  SmallVector<Type> arguments = loopArguments(getInit().getTypes(), getCaptures().getTypes());
  if (failed(checkLeaves(*this, "cond argument", getCondRegion().getArgumentTypes(), "operand", arguments))) // C2
    return failure();
  TypeRange condition = yieldedTypes(getCondRegion());
  Type boolean = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  if (condition.size() != 1 || condition.front() != boolean) // C5
    return emitOpError() << "requires cond to yield one " << boolean << ", got " << condition;
  if (getMaxTrip() && static_cast<int64_t>(*getMaxTrip()) < 0) // C6
    return emitOpError() << "requires max_trip >= 0, got " << static_cast<int64_t>(*getMaxTrip());
  auto message = (*this)->getAttrOfType<StringAttr>(kLimitMessage);
  Type index = RankedTensorType::get({}, IntegerType::get(getContext(), 64));
  if (message && message.getValue().contains("{}") && (getInit().empty() || getInit().front().getType() != index))
    return emitOpError() << "requires a first carry " << index << " for the {} of " << kLimitMessage;
  return checkLoop(*this, arguments, {}, ShapedType::kDynamic);
}

LogicalResult ForOp::verify() {
  return checkLoop(*this, loopArguments(getLower().getType(), getInit().getTypes(), getCaptures().getTypes()), {},
                   ShapedType::kDynamic);
}

LogicalResult ScanOp::verify() {
  if (getResults().size() < getInit().size()) // C1
    return emitOpError() << "requires a result per init, got " << getResults().size() << " and " << getInit().size();
  size_t sequences = getSequences().size(), stacks = getStacks().size();
  if (sequences == 0) // C5
    return emitOpError("requires at least one sequence, got none");
  if (getAxes().size() != sequences || getReverse().size() != sequences) // C6
    return emitOpError() << "requires one entry of axes and reverse per sequence, got " << getAxes().size() << " and "
                         << getReverse().size() << " for " << sequences;
  if (getOutAxes().size() != stacks || getOutReverse().size() != stacks) // C7
    return emitOpError() << "requires one entry of out_axes and out_reverse per stack, got " << getOutAxes().size()
                         << " and " << getOutReverse().size() << " for " << stacks;
  int64_t trips = ShapedType::kDynamic;
  SmallVector<Type> slices;
  for (auto [k, sequence] : llvm::enumerate(getSequences())) {
    auto type = cast<RankedTensorType>(sequence.getType());
    int64_t axis = getAxes()[k];
    if (axis < 0 || axis >= type.getRank()) // C6
      return emitOpError() << "requires axes in [0, " << type.getRank() << "), got " << axis << " for sequence " << k;
    std::optional<int64_t> met = meetSize(trips, type.getDimSize(axis));
    if (!met) // C8
      return emitOpError() << "requires walked axes of one size, got " << trips << " and " << type.getDimSize(axis)
                           << " of sequence " << k;
    trips = *met;
    slices.push_back(
        RankedTensorType::get(dropAxes(SmallVector<int64_t>(type.getShape()), axis), type.getElementType()));
  }
  return checkLoop(*this, loopArguments(getInit().getTypes(), slices, getCaptures().getTypes()), getOutAxes(), trips);
}

//===- sizes ---------------------------------------------------------------------------------===//

static Operation::operand_range yielded(Region &region) { return region.front().getTerminator()->getOperands(); }

/// A result of branches: the size that all of them give it, else one that only running tells.
static SmallVector<Dims> joinBranches(Operation *op, ShapeQuery &shapes) {
  SmallVector<Dims> results;
  for (OpResult result : op->getResults()) {
    Dims joined = dimsOfResult(shapes.context(), result);
    SmallVector<Dims> branches;
    for (Region &region : op->getRegions())
      branches.push_back(shapes.dims(yielded(region)[result.getResultNumber()]));
    for (auto [axis, size] : llvm::enumerate(joined))
      if (!size.isConstant() &&
          llvm::all_of(branches, [&](const Dims &dims) { return dims[axis] == branches[0][axis]; }))
        size = branches[0][axis];
    results.push_back(joined);
  }
  return results;
}

SmallVector<Dims> CondOp::resultDims(ShapeQuery &shapes) { return joinBranches(*this, shapes); }
SmallVector<Dims> SwitchOp::resultDims(ShapeQuery &shapes) { return joinBranches(*this, shapes); }

/// A carry keeps init's size where each trip surely yields the size that it was given. `firstCarry` is the number of
/// body arguments before the carries.
template <typename Loop> static SmallVector<Dims> carryDims(Loop op, size_t firstCarry, ShapeQuery &shapes) {
  SmallVector<Dims> results;
  Region &body = op.getBodyRegion();
  for (auto [k, init] : llvm::enumerate(op.getInit())) {
    Dims dims = dimsOfResult(shapes.context(), op.getCarries()[k]), before = shapes.dims(init);
    Dims given = shapes.dims(body.getArgument(firstCarry + k)), next = shapes.dims(yielded(body)[k]);
    for (auto [axis, size] : llvm::enumerate(dims))
      if (!size.isConstant() && given[axis] == next[axis])
        size = before[axis];
    results.push_back(dims);
  }
  return results;
}

/// A stack: `trips` along `axis`, then the slice's sizes where they cannot differ between trips, that is
/// where they do not depend on a symbol of the body.
static bool dependsOnBody(DimContext &context, DimExpr size, Region &body) {
  if (size.isConstant())
    return false;
  if (size.kind() == DimExpr::Kind::Symbol) {
    Value value = context.source(size.symbol()).value;
    return value && body.isAncestor(value.getParentRegion());
  }
  return llvm::any_of(size.operands(), [&](DimExpr part) { return dependsOnBody(context, part, body); });
}

template <typename Loop>
static void appendStackDims(Loop op, ArrayRef<int64_t> outAxes, DimExpr trips, ShapeQuery &shapes,
                            SmallVector<Dims> &results) {
  Region &body = op.getBodyRegion();
  size_t carries = op.getInit().size();
  for (auto [k, stack] : llvm::enumerate(op.getStacks())) {
    int64_t outAxis = outAxes.empty() ? 0 : outAxes[k];
    Dims dims = dimsOfResult(shapes.context(), stack), slice = shapes.dims(yielded(body)[carries + k]);
    slice.insert(slice.begin() + outAxis, trips);
    for (auto [axis, size] : llvm::enumerate(dims)) {
      bool known = slice[axis] && !dependsOnBody(shapes.context(), slice[axis], body);
      if (!size.isConstant() && known)
        size = slice[axis];
    }
    results.push_back(dims);
  }
}

SmallVector<Dims> WhileOp::resultDims(ShapeQuery &shapes) {
  SmallVector<Dims> results{Dims{}};
  llvm::append_range(results, carryDims(*this, 0, shapes));
  // All stacks have as many slices as there are trips.
  DimExpr trips = getStacks().empty() ? DimExpr() : dimsOfResult(shapes.context(), getStacks().front())[0];
  appendStackDims(*this, {}, trips, shapes, results);
  return results;
}

/// max(0, ceil((upper - lower) / step)) for a constant step other than 0; nothing where a bound is not known as an
/// expression.
static DimExpr tripCount(ForOp op, ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  std::optional<Dims> lower = shapes.contents(op.getLower()), upper = shapes.contents(op.getUpper()),
                      step = shapes.contents(op.getStep());
  if (!lower || !upper || !step || !(*step)[0].isConstant())
    return DimExpr();
  int64_t stride = (*step)[0].constant();
  if (stride == 0)
    return context.constant(0);
  DimExpr distance = stride > 0 ? context.sub((*upper)[0], (*lower)[0]) : context.sub((*lower)[0], (*upper)[0]);
  return context.max(context.ceilDiv(distance, context.constant(std::abs(stride))), context.constant(0));
}

SmallVector<Dims> ForOp::resultDims(ShapeQuery &shapes) {
  SmallVector<Dims> results = carryDims(*this, 1, shapes);
  if (!getStacks().empty())
    appendStackDims(*this, {}, tripCount(*this, shapes), shapes, results);
  return results;
}

SmallVector<Dims> ScanOp::resultDims(ShapeQuery &shapes) {
  SmallVector<Dims> results = carryDims(*this, 0, shapes);
  DimExpr trips;
  for (auto [sequence, axis] : llvm::zip(getSequences(), getAxes()))
    if (DimExpr size = shapes.dims(sequence)[axis]; !trips || size.isConstant())
      trips = size;
  appendStackDims(*this, getOutAxes(), trips, shapes, results);
  return results;
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> CondOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return evaluator.run(operands[0].getInt(0) ? getThenRegion() : getElseRegion(), operands.drop_front());
}

FailureOr<SmallVector<HostTensor>> SwitchOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  auto last = static_cast<int64_t>(getBranches().size()) - 1;
  int64_t index = operands[0].getInt(0);
  return evaluator.run(getBranches()[index < 0 || index > last ? last : index], operands.drop_front());
}

/// What a loop carries from trip to trip, and the slices that it stacks.
namespace {
struct LoopState {
  Operation *op;
  Region &body;
  SmallVector<HostTensor> carries;
  SmallVector<std::vector<HostTensor>> slices;

  template <typename Loop>
  LoopState(Loop op, ArrayRef<HostTensor> init)
      : op(op), body(op.getBodyRegion()), carries(init), slices(op.getStacks().size()) {}

  /// One trip of the body on `before`, the carries, `after`.
  LogicalResult run(ArrayRef<HostTensor> before, ArrayRef<HostTensor> after, Evaluator &evaluator) {
    if (!evaluator.spend(1))
      return outOfSteps(op);
    SmallVector<HostTensor> arguments(before);
    llvm::append_range(arguments, carries);
    llvm::append_range(arguments, after);
    for (auto [k, tensor] : llvm::enumerate(arguments))
      if (Type wanted = body.getArgument(k).getType(); !agree(tensor.tensorType(), wanted))
        return op->emitOpError() << "requires body argument " << k << " of type " << wanted << ", got "
                                 << tensor.tensorType();
    FailureOr<SmallVector<HostTensor>> yields = evaluator.run(body, arguments);
    if (failed(yields))
      return failure();
    for (auto [k, tensor] : llvm::enumerate(*yields)) {
      if (k < carries.size())
        carries[k] = std::move(tensor);
      else
        slices[k - carries.size()].push_back(std::move(tensor));
    }
    return success();
  }

  /// The slices of stack `k` along a new axis. Without a trip the sizes are those of the type, and 0 for `?`.
  FailureOr<HostTensor> stack(size_t k, int64_t axis, bool reverse, const Evaluator &evaluator) const {
    ArrayRef<HostTensor> parts = slices[k];
    auto type = cast<RankedTensorType>(body.front().getTerminator()->getOperand(carries.size() + k).getType());
    SmallVector<int64_t> shape(parts.empty() ? type.getShape() : parts.front().shape());
    for (const HostTensor &part : parts)
      if (part.shape() != ArrayRef(shape))
        return op->emitOpError() << "requires slices of one shape in stack " << k << ", got " << printShape(shape)
                                 << " and " << printShape(part.shape());
    for (int64_t &size : shape)
      size = ShapedType::isDynamic(size) ? 0 : size;
    shape.insert(shape.begin() + axis, parts.size());
    if (failed(requireRoom(op, evaluator, type.getElementType(), shape)))
      return failure();
    HostTensor result(type.getElementType(), shape);
    AxisView view(shape, axis);
    int64_t bytes = view.inner * byteWidth(type.getElementType());
    char *target = result.data();
    for (auto [i, part] : llvm::enumerate(parts))
      for (int64_t o = 0; o < view.outer; ++o) {
        int64_t place = reverse ? view.size - 1 - static_cast<int64_t>(i) : i;
        std::copy_n(part.data() + o * bytes, bytes, target + (o * view.size + place) * bytes);
      }
    return result;
  }

  FailureOr<SmallVector<HostTensor>> finish(const Evaluator &evaluator, ArrayRef<int64_t> outAxes = {},
                                            ArrayRef<bool> outReverse = {}) const {
    SmallVector<HostTensor> results(carries);
    for (size_t k = 0; k < slices.size(); ++k) {
      FailureOr<HostTensor> stacked =
          stack(k, outAxes.empty() ? 0 : outAxes[k], outReverse.empty() ? false : outReverse[k], evaluator);
      if (failed(stacked))
        return failure();
      results.push_back(*stacked);
    }
    return results;
  }
};
} // namespace

static LogicalResult reportLimit(WhileOp op, ArrayRef<HostTensor> carries) {
  auto message = op->getAttrOfType<StringAttr>(kLimitMessage);
  if (!message)
    return op.emitOpError() << "requires at most " << *op.getMaxTrip() << " trips, but the condition still holds";
  auto [before, after] = message.getValue().split("{}");
  InFlightDiagnostic error = op.emitError() << before;
  if (before.size() != message.size())
    error << carries.front().getInt(0) << after;
  return error;
}

FailureOr<SmallVector<HostTensor>> WhileOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  LoopState state(*this, operands.take_front(getInit().size()));
  ArrayRef<HostTensor> captures = operands.drop_front(getInit().size());
  int64_t trips = 0;
  while (true) {
    SmallVector<HostTensor> arguments(state.carries);
    llvm::append_range(arguments, captures);
    FailureOr<SmallVector<HostTensor>> condition = evaluator.run(getCondRegion(), arguments);
    if (failed(condition))
      return failure();
    if (!condition->front().getInt(0))
      break;
    if (getMaxTrip() && trips >= static_cast<int64_t>(*getMaxTrip())) {
      if (getOnLimit() == LimitPolicy::trap)
        return reportLimit(*this, state.carries);
      break;
    }
    if (failed(state.run({}, captures, evaluator)))
      return failure();
    ++trips;
  }
  FailureOr<SmallVector<HostTensor>> results = state.finish(evaluator);
  if (failed(results))
    return failure();
  HostTensor count(getTrips().getType().getElementType(), {});
  count.setInt(0, trips);
  results->insert(results->begin(), count);
  return results;
}

FailureOr<SmallVector<HostTensor>> ForOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  int64_t lower = operands[0].getInt(0), upper = operands[1].getInt(0), step = operands[2].getInt(0);
  LoopState state(*this, operands.slice(3, getInit().size()));
  ArrayRef<HostTensor> captures = operands.drop_front(3 + getInit().size());
  HostTensor index(operands[0].elementType(), {});
  // The distance fits in 64 unsigned bits whatever the bounds are.
  bool runs = step > 0 ? lower < upper : step < 0 && lower > upper;
  uint64_t stride = step > 0 ? step : -static_cast<uint64_t>(step);
  uint64_t distance = step > 0 ? static_cast<uint64_t>(upper) - lower : static_cast<uint64_t>(lower) - upper;
  uint64_t trips = runs ? (distance - 1) / stride + 1 : 0;
  for (uint64_t k = 0; k < trips; ++k) {
    index.setInt(0, wrappingAdd(lower, wrappingMul(static_cast<int64_t>(k), step)));
    if (failed(state.run(index, captures, evaluator)))
      return failure();
  }
  return state.finish(evaluator);
}

/// Slice i of an axis, without that axis.
static HostTensor sliceAt(const HostTensor &tensor, int64_t axis, int64_t i) {
  AxisView view(tensor.shape(), axis);
  HostTensor result(tensor.elementType(), dropAxes(SmallVector<int64_t>(tensor.shape()), axis));
  int64_t bytes = view.inner * byteWidth(tensor.elementType());
  char *target = result.data();
  for (int64_t o = 0; o < view.outer; ++o)
    std::copy_n(tensor.data() + (o * view.size + i) * bytes, bytes, target + o * bytes);
  return result;
}

FailureOr<SmallVector<HostTensor>> ScanOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  LoopState state(*this, operands.take_front(getInit().size()));
  ArrayRef<HostTensor> sequences = operands.slice(getInit().size(), getSequences().size());
  ArrayRef<HostTensor> captures = operands.drop_front(getInit().size() + sequences.size());
  int64_t trips = sequences[0].size(getAxes()[0]);
  for (auto [sequence, axis] : llvm::zip(sequences, getAxes()))
    if (sequence.size(axis) != trips) // C8
      return emitOpError() << "requires walked axes of one size, got " << trips << " and " << sequence.size(axis);
  for (int64_t t = 0; t < trips; ++t) {
    SmallVector<HostTensor> after;
    for (auto [k, sequence] : llvm::enumerate(sequences))
      after.push_back(sliceAt(sequence, getAxes()[k], getReverse()[k] ? trips - 1 - t : t));
    llvm::append_range(after, captures);
    if (failed(state.run({}, after, evaluator)))
      return failure();
  }
  return state.finish(evaluator, getOutAxes(), getOutReverse());
}
