// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's interfaces of control flow, from what Control says of an op. They are what MLIR's own passes ask: sccp,
// loop-invariant-code-motion, the liveness of values. Two things are peculiar:
//
// * Captures have no operand on the edge from one trip to the next: they just stay. That edge forwards carries alone,
//   so that an analysis that goes forward (sccp) knows nothing of a loop's captures. The same holds for all captures of
//   a scan, which are not next to its inits among the operands.
// * The first region of a while yields a condition, while its carries go to the body and the results as they are: no
//   operand of its terminator says so. Edges from before the loop and from the body therefore lead to both regions and
//   to the results. Along these each carry goes where it really arrives.

#include "ir/Constants.h"
#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace sinter;

//===- RegionBranchOpInterface ---------------------------------------------------------------===//

static Region &bodyOf(Operation *op) { return op->getRegions().back(); }

static Block::BlockArgListType carriesOf(Region &region, const Control &control) {
  return region.getArguments().slice(&region == &bodyOf(region.getParentOp()) ? control.firstCarry : 0,
                                     control.init.size());
}

static ResultRange finalCarries(Operation *op, const Control &control) {
  return op->getResults().slice(control.firstCarryResult, control.init.size());
}

/// Whether the captures follow the inits among the operands, as they do among the arguments.
static bool entersWithCaptures(Operation *op, const Control &control) {
  return control.firstInitOperand + control.init.size() + control.captures.size() == op->getNumOperands();
}

static void appendSuccessors(Operation *op, RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &regions) {
  Control control = *controlOf(op);
  MutableArrayRef<Region> all = op->getRegions();
  Operation *from = point.getTerminatorPredecessorOrNull();
  if (!control.isLoop) {
    if (from)
      regions.emplace_back(op, op->getResults());
    else
      for (Region &region : all)
        regions.emplace_back(&region, region.getArguments());
    return;
  }
  if (from && from->getParentRegion() != &bodyOf(op)) { // the condition of a while
    regions.emplace_back(&bodyOf(op));
    regions.emplace_back(op, op->getResults().take_front(0));
    return;
  }
  for (Region &region : all) {
    Block::BlockArgListType carries = carriesOf(region, control);
    bool withCaptures = !from && entersWithCaptures(op, control);
    regions.emplace_back(
        &region, withCaptures ? region.getArguments().take_back(carries.size() + control.captures.size()) : carries);
  }
  regions.emplace_back(op, finalCarries(op, control));
}

static OperandRange entryOperands(Operation *op, RegionSuccessor successor) {
  Control control = *controlOf(op);
  if (!control.isLoop)
    return op->getOperands().take_back(control.captures.size());
  bool withCaptures = !successor.isParent() && entersWithCaptures(op, control);
  return op->getOperands().slice(control.firstInitOperand,
                                 control.init.size() + (withCaptures ? control.captures.size() : 0));
}

/// The element of a constant of rank 0, where there is one.
static std::optional<int64_t> numberOf(Attribute operand) {
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(operand);
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  return (*elements.begin()).getSExtValue();
}

/// The region of a branch that runs, when the operand that chooses is known.
static std::optional<unsigned> chosenRegion(Operation *op, Attribute choice) {
  std::optional<int64_t> number = numberOf(choice);
  if (!number)
    return std::nullopt;
  if (isa<CondOp>(op))
    return *number ? 0 : 1;
  auto last = static_cast<int64_t>(op->getNumRegions()) - 1;
  return *number < 0 || *number > last ? last : *number;
}

static std::optional<APInt> staticTrips(Operation *op) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  return loop ? loop.getStaticTripCount() : std::nullopt;
}

namespace {

template <typename OpT> struct Branching : RegionBranchOpInterface::ExternalModel<Branching<OpT>, OpT> {
  void getSuccessorRegions(Operation *op, RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &regions) const {
    appendSuccessors(op, point, regions);
  }
  OperandRange getEntrySuccessorOperands(Operation *op, RegionSuccessor successor) const {
    return entryOperands(op, successor);
  }
  void getEntrySuccessorRegions(Operation *op, ArrayRef<Attribute> operands,
                                SmallVectorImpl<RegionSuccessor> &regions) const {
    std::optional<unsigned> chosen = isLoop(op) ? std::nullopt : chosenRegion(op, operands.front());
    if (!chosen)
      return appendSuccessors(op, RegionBranchPoint::parent(), regions);
    Region &region = op->getRegion(*chosen);
    regions.emplace_back(&region, region.getArguments());
  }
  void getRegionInvocationBounds(Operation *op, ArrayRef<Attribute> operands,
                                 SmallVectorImpl<InvocationBounds> &bounds) const {
    if (isLoop(op)) {
      std::optional<APInt> trips = staticTrips(op);
      bool isKnown = trips && trips->isIntN(31);
      auto number = static_cast<unsigned>(isKnown ? trips->getZExtValue() : 0);
      bounds.append(op->getNumRegions(), isKnown ? InvocationBounds(number, number) : InvocationBounds::getUnknown());
      return;
    }
    std::optional<unsigned> chosen = chosenRegion(op, operands.front());
    for (unsigned k = 0; k < op->getNumRegions(); ++k)
      bounds.emplace_back(/*lb=*/chosen == k, /*ub=*/!chosen || *chosen == k);
  }
  /// Sizes may differ by a `?`.
  bool areTypesCompatible(Operation *, Type lhs, Type rhs) const { return agree(lhs, rhs); }

  // What upstream derives from these. Its own definitions ask the op's class, which has none of the methods; and it is
  // upstream's generator that numbers overloads.
  void getSuccessorRegions_3(Operation *op, Region &region, SmallVectorImpl<RegionSuccessor> &regions) const {
    appendSuccessors(op, cast<RegionBranchTerminatorOpInterface>(region.front().getTerminator()), regions);
  }
  void getPredecessors(Operation *op, RegionSuccessor successor, SmallVectorImpl<RegionBranchPoint> &points) const {
    for (RegionBranchPoint point : cast<RegionBranchOpInterface>(op).getAllRegionBranchPoints()) {
      SmallVector<RegionSuccessor> its;
      appendSuccessors(op, point, its);
      if (llvm::any_of(its, [&](RegionSuccessor other) { return other.getSuccessor() == successor.getSuccessor(); }))
        points.push_back(point);
    }
  }
  void getPredecessorValues(Operation *op, RegionSuccessor successor, int index, SmallVectorImpl<Value> &values) const {
    SmallVector<RegionBranchPoint> points;
    getPredecessors(op, successor, points);
    for (RegionBranchPoint point : points) {
      OperandRange given = cast<RegionBranchOpInterface>(op).getSuccessorOperands(point, successor);
      if (static_cast<size_t>(index) < given.size()) // a while's condition gives none
        values.push_back(given[index]);
    }
  }
};

} // namespace

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  MutableOperandRange operands = getOperandsMutable();
  Operation *parent = (*this)->getParentOp();
  std::optional<Control> control = controlOf(parent);
  if (!control || !control->isLoop)
    return operands;
  return operands.slice(0, (*this)->getParentRegion() == &bodyOf(parent) ? control->init.size() : 0);
}

//===- LoopLikeOpInterface -------------------------------------------------------------------===//

/// Upstream wants one type of each carry before the loop, in it and behind it, where ours may differ by a `?`. The
/// carries of other loops are not shown.
static bool showsCarries(Operation *op, const Control &control) {
  TypeRange types = ValueRange(control.init).getTypes();
  auto hasTypes = [&](ValueRange values) { return TypeRange(values) == types; };
  return hasTypes(bodyOf(op).front().getTerminator()->getOperands().take_front(types.size())) &&
         hasTypes(finalCarries(op, control)) &&
         llvm::all_of(op->getRegions(), [&](Region &region) { return hasTypes(carriesOf(region, control)); });
}

/// Moves `inner`, which stands in a region of the loop, before it, where it reads what is captured, and captures its
/// results.
static void moveBeforeLoop(Operation *loop, Operation *inner) {
  Control control = *controlOf(loop);
  Region &region = *inner->getParentRegion();
  inner->moveBefore(loop);
  inner->walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand.get()); argument && argument.getParentRegion() == &region)
        operand.set(control.captures[argument.getArgNumber() - control.firstCapture]);
  });
  for (Value result : inner->getResults()) {
    if (result.use_empty())
      continue;
    BlockArgument inside = addCapture(loop, result)[region.getRegionNumber()];
    result.replaceUsesWithIf(inside, [&](OpOperand &use) { return use.getOwner() != loop; });
  }
}

namespace {

template <typename Derived, typename OpT> struct Looping : LoopLikeOpInterface::ExternalModel<Derived, OpT> {
  bool isDefinedOutsideOfLoop(Operation *op, Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner()->getParentOp() == op)
      return argument.getArgNumber() >= controlOf(op)->firstCapture;
    return !op->isAncestor(value.getParentRegion()->getParentOp());
  }
  SmallVector<Region *> getLoopRegions(Operation *op) const {
    return llvm::map_to_vector(op->getRegions(), [](Region &region) { return &region; });
  }
  void moveOutOfLoop(Operation *op, Operation *inner) const { moveBeforeLoop(op, inner); }
  MutableArrayRef<OpOperand> getInitsMutable(Operation *op) const {
    Control control = *controlOf(op);
    if (!showsCarries(op, control))
      return {};
    return op->getOpOperands().slice(control.firstInitOperand, control.init.size());
  }
  Block::BlockArgListType getRegionIterArgs(Operation *op) const {
    Control control = *controlOf(op);
    if (!showsCarries(op, control))
      return {};
    return carriesOf(op->getRegion(0), control);
  }
  std::optional<MutableArrayRef<OpOperand>> getYieldedValuesMutable(Operation *op) const {
    Control control = *controlOf(op);
    if (!showsCarries(op, control))
      return std::nullopt;
    return bodyOf(op).front().getTerminator()->getOpOperands().take_front(control.init.size());
  }
  std::optional<ResultRange> getLoopResults(Operation *op) const {
    Control control = *controlOf(op);
    if (!showsCarries(op, control))
      return std::nullopt;
    return finalCarries(op, control);
  }
};

struct WhileLoop : Looping<WhileLoop, WhileOp> {};

struct ScanLoop : Looping<ScanLoop, ScanOp> {
  std::optional<APInt> getStaticTripCount(Operation *op) const {
    auto scan = cast<ScanOp>(op);
    for (auto [sequence, axis] : llvm::zip(scan.getSequences(), scan.getAxes()))
      if (int64_t size = cast<RankedTensorType>(sequence.getType()).getDimSize(axis); !ShapedType::isDynamic(size))
        return APInt(64, size);
    return std::nullopt;
  }
};

/// Upstream takes a step that it does not know for a positive one, while ours may go down: bounds are shown of loops
/// that surely go up.
struct ForLoop : Looping<ForLoop, ForOp> {
  using Bounds = std::optional<SmallVector<OpFoldResult>>;

  std::optional<SmallVector<Value>> getLoopInductionVars(Operation *op) const {
    return goesUp(op) ? std::optional(SmallVector<Value>{bodyOf(op).getArgument(0)}) : std::nullopt;
  }
  Bounds getLoopLowerBounds(Operation *op) const { return bound(op, cast<ForOp>(op).getLower()); }
  Bounds getLoopUpperBounds(Operation *op) const { return bound(op, cast<ForOp>(op).getUpper()); }
  Bounds getLoopSteps(Operation *op) const { return bound(op, cast<ForOp>(op).getStep()); }

  std::optional<APInt> getStaticTripCount(Operation *op) const {
    auto loop = cast<ForOp>(op);
    std::optional<int64_t> lower = known(loop.getLower()), upper = known(loop.getUpper()), step = known(loop.getStep());
    if (!lower || !upper || !step)
      return std::nullopt;
    // Differences of 64-bit numbers have 65 bits.
    APInt from(66, *lower, /*isSigned=*/true), to(66, *upper, true), by(66, *step, true);
    APInt distance = by.isNegative() ? from - to : to - from;
    if (by.isZero() || !distance.isStrictlyPositive())
      return APInt(64, 0);
    APInt trips = (distance + by.abs() - 1).udiv(by.abs());
    return trips.isIntN(64) ? std::optional(trips.trunc(64)) : std::nullopt;
  }

private:
  static std::optional<int64_t> known(Value value) {
    std::optional<SmallVector<int64_t>> number = constantInts(value);
    return number ? std::optional(number->front()) : std::nullopt;
  }
  static bool goesUp(Operation *op) {
    std::optional<int64_t> step = known(cast<ForOp>(op).getStep());
    return step && *step > 0;
  }
  /// A constant as a number, else the value, a tensor of rank 0.
  static Bounds bound(Operation *op, Value value) {
    if (!goesUp(op))
      return std::nullopt;
    if (std::optional<int64_t> number = known(value))
      return SmallVector<OpFoldResult>{IntegerAttr::get(getElementTypeOrSelf(value.getType()), *number)};
    return SmallVector<OpFoldResult>{value};
  }
};

} // namespace

template <typename... Ops> static void attachBranching(MLIRContext &context) {
  (Ops::template attachInterface<Branching<Ops>>(context), ...);
}

void sinter::attachControlInterfaces(MLIRContext &context) {
  attachBranching<CondOp, SwitchOp, WhileOp, ForOp, ScanOp>(context);
  WhileOp::attachInterface<WhileLoop>(context);
  ForOp::attachInterface<ForLoop>(context);
  ScanOp::attachInterface<ScanLoop>(context);
}
