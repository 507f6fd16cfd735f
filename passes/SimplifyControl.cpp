// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A back end that runs loops and branches by itself has two of them: `while` and `cond`. A counted loop becomes a while
// that carries the number of the trip, gathers the slices of its sequences there, and writes each per-trip output into
// a buffer that it carries. A switch becomes conds, one in the other.
//
//   scan(h) over(x) -> h', y         while(0, h, zeros) captures(x) {max_trip = n}
//                                      t, h, y  ->  t + 1, h', update(y, t)
//
// A counted loop of one trip is that trip.
//
// Per-trip outputs of a while that has a limit of trips are buffers, too, with room for that many; what the trips have
// written is cut off behind the loop:
//
//   n, h', y = while(h) {max_trip = m}      n, h', _, y' = while(h, 0, zeros) {max_trip = m};   y = y'[0:n]
//
// Without such a limit, or with one for which there is no room, trips are made in rounds. Each has twice the room of
// the one before and ends when that is full, so that there are as many rounds as the logarithm of the trips; the host
// looks between them whether there is another:
//
//   n, h', y = while(h)                     h', n, _, y' = while(h, 0, yes, zeros)
//                                             h, n, more, y  ->  r = [y, y];  h', n', r' = while(h, n, r) if n < room
//                                                                h', n', n' = room, r'
//                                           y = y'[0:n]
//
// How many trips there are is a limit of the while where it is known, so that a host that runs it after all need not
// look at a condition.

#include "passes/SimplifyControl.h"
#include "ir/CarrySizes.h"
#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/CountedLoops.h"
#include "ir/Regions.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/gradient/SteppedLoop.h"

using namespace mlir;
using namespace sinter;

static bool isStatic(Type type) { return cast<RankedTensorType>(type).hasStaticShape(); }

//===- for and scan --------------------------------------------------------------------------------===//

namespace {
/// What is known of a loop's sizes before it runs.
class SizesBefore {
public:
  explicit SizesBefore(const LoopView &loop) : loop(loop), sizes(context) {
    auto areStatic = [](TypeRange types) { return llvm::all_of(types, isStatic); };
    if (!areStatic(loop.op->getOperandTypes()) || !areStatic(loop.body->getArgumentTypes()))
      settleCarries(loop.op->getParentOfType<func::FuncOp>(), sizes);
  }

  bool areKnown(Value value) {
    return llvm::all_of(sizes.dims(value), [&](DimExpr size) { return isKnownOutside(loop.op, size, sizes); });
  }
  bool areEqualLengths() {
    auto length = [&](size_t k) { return sizes.dims(loop.sequence(k))[loop.sequenceAxis(k)]; };
    return llvm::all_of(llvm::seq<size_t>(0, loop.sequences), [&](size_t k) { return length(k) == length(0); });
  }
  /// The operand of the loop and its axis that have the size of `axis` of `value`.
  std::optional<std::pair<Value, int64_t>> find(Value value, int64_t axis) {
    DimExpr wanted = sizes.dims(value)[axis];
    for (Value operand : loop.op->getOperands())
      for (auto [k, size] : llvm::enumerate(sizes.dims(operand)))
        if (size == wanted)
          return std::pair(operand, static_cast<int64_t>(k));
    return std::nullopt;
  }
  bool hasAll(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return llvm::all_of(llvm::seq<int64_t>(0, type.getRank()),
                        [&](int64_t axis) { return !type.isDynamicDim(axis) || find(value, axis); });
  }

private:
  const LoopView &loop;
  DimContext context;
  ShapeAnalysis sizes;
};
} // namespace

/// Why a counted loop stays one; empty when it need not.
static std::string refusal(const LoopView &loop, std::optional<int64_t> trips, SizesBefore &sizes) {
  bool isInside = loop.op->getParentOp() != loop.op->getParentOfType<func::FuncOp>();
  if (!trips && loop.stacks && !loop.sequences && isInside)
    return "its per-trip outputs have sizes that only running tells";
  if (trips == 0)
    return "it makes no trip, so nothing has the sizes of a trip";
  for (size_t k = 0; k < loop.carries; ++k)
    if (!sizes.areKnown(loop.carryArgument(k)) || !sizes.areKnown(loop.yieldedCarry(k)))
      return "a carry has sizes that are not known";
  if (!sizes.areEqualLengths())
    return "the lengths of its sequences are compared";
  for (size_t k = 0; k < loop.stacks; ++k)
    if (!sizes.hasAll(loop.yieldedStack(k)))
      return "its per-trip outputs have sizes that are not known";
  return "";
}

/// Zeros of these sizes; `sizes` has a number for each `?`.
static Value zeros(StepBuilder &b, RankedTensorType type, ValueRange sizes) {
  Value shape;
  if (!type.hasStaticShape()) {
    auto one = RankedTensorType::get({1}, b.getI64Type());
    SmallVector<Value> parts;
    for (int64_t size : type.getShape()) {
      bool isKnown = !ShapedType::isDynamic(size);
      parts.push_back(b.make<ReshapeOp>(isKnown ? b.number(size) : sizes.front(), Value(), one));
      sizes = sizes.drop_front(isKnown ? 0 : 1);
    }
    shape = parts.size() == 1 ? parts[0] : b.make<ConcatenateOp>(parts, 0);
  }
  return b.make<BroadcastOp>(b.scalar(type.getElementType(), 0), shape, ValueRange(), ArrayRef<int64_t>(), type);
}

/// Room for per-trip output `k` of all trips.
static Value makeRoom(StepBuilder &b, const LoopView &loop, size_t k, std::optional<int64_t> trips, Value count,
                      SizesBefore &before) {
  Value slice = loop.yieldedStack(k);
  int64_t place = loop.stackAxis(k);
  RankedTensorType type = stackType(slice.getType(), place, trips.value_or(ShapedType::kDynamic));
  SmallVector<Value> sizes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis))
      continue;
    if (axis == place) {
      sizes.push_back(count);
      continue;
    }
    auto [value, from] = *before.find(slice, axis < place ? axis : axis - 1);
    sizes.push_back(b.size(value, from));
  }
  return zeros(b, type, sizes);
}

static void countTrips(const LoopView &loop, std::optional<int64_t> trips, SizesBefore &before) {
  Operation *op = loop.op, *front = op->getPrevNode();
  OpBuilder builder(op);
  StepBuilder b(op->getLoc(), builder);
  SteppedLoop stepped(loop, b);
  SmallVector<Value> init = {b.number(0)}, captures = stepped.outside;
  for (size_t k = 0; k < loop.carries; ++k)
    init.push_back(loop.init(k));
  for (size_t k = 0; k < loop.stacks; ++k)
    init.push_back(makeRoom(b, loop, k, trips, stepped.count, before));
  if (!trips)
    captures.push_back(stepped.count);

  auto cond = [&](OpBuilder &at, Location loc, ValueRange arguments) -> SmallVector<Value> {
    StepBuilder c(loc, at);
    if (!trips)
      return {c.compare(CompareKind::lt, arguments.front(), arguments.back())};
    HostTensor yes(at.getI1Type(), {});
    yes.setInt(0, 1);
    return {c.make<ConstantOp>(yes.toAttr())};
  };
  auto body = [&](OpBuilder &at, Location loc, ValueRange arguments) {
    StepBuilder c(loc, at);
    Value t = arguments.front(), count = trips ? c.number(*trips) : arguments.back();
    ValueRange carries = arguments.slice(1, loop.carries), buffers = arguments.slice(1 + loop.carries, loop.stacks);
    SmallVector<Value> yields = stepped.step(at, t, carries, arguments.drop_front(init.size()), count);
    SmallVector<Value> next(yields.begin(), yields.begin() + static_cast<ptrdiff_t>(loop.carries));
    for (size_t k = 0; k < loop.stacks; ++k) {
      Value place = loop.stackReverse(k) ? c.sub(c.sub(count, 1), t) : t;
      next.push_back(c.store(buffers[k], yields[loop.carries + k], place, loop.stackAxis(k)));
    }
    next.insert(next.begin(), c.add(t, 1)); // last, when nothing reads the old number any more
    return next;
  };
  WhileOp counted = buildWhile(builder, op->getLoc(), init, captures, cond, body, trips);
  SmallVector<Value> results;
  for (auto [value, result] : llvm::zip(counted.getCarries().drop_front(), op->getResults()))
    results.push_back(b.retype(value, result.getType()));
  op->replaceAllUsesWith(results);
  op->erase();
  // A number of trips that is known was computed in vain.
  for (Operation *made = counted->getPrevNode(); made != front;) {
    Operation *unused = made;
    made = made->getPrevNode();
    if (isOpTriviallyDead(unused))
      unused->erase();
  }
}

/// The ops of a loop's only trip in its place: what it would check, is checked.
static void makeOnlyTrip(const LoopView &loop) {
  Operation *op = loop.op;
  OpBuilder builder(op);
  StepBuilder b(op->getLoc(), builder);
  SteppedLoop stepped(loop, b);
  SmallVector<Value> init;
  for (size_t k = 0; k < loop.carries; ++k)
    init.push_back(loop.init(k));
  SmallVector<Value> results = stepped.step(builder, b.number(0), init, stepped.outside, b.number(1));
  for (size_t k = 0; k < loop.stacks; ++k) {
    Value &slice = results[loop.carries + k];
    SmallVector<Value> sizes;
    for (int64_t axis = 0; axis < tensorTypeOf(slice).getRank(); ++axis)
      sizes.push_back(b.size(slice, axis));
    sizes.insert(sizes.begin() + loop.stackAxis(k), b.number(1));
    slice = b.reshape(slice, stackType(slice.getType(), loop.stackAxis(k), 1), sizes);
  }
  for (auto [value, result] : llvm::zip(results, op->getResults()))
    value = b.retype(value, result.getType());
  op->replaceAllUsesWith(results);
  op->erase();
}

//===- while ---------------------------------------------------------------------------------------===//

/// Room for per-trip outputs that a while may take before it runs.
constexpr int64_t kMostStackBytes = int64_t(64) << 20;
/// The same where nobody knows how many trips there will be, and how many of them that is.
constexpr int64_t kFirstStackBytes = int64_t(1) << 20, kFewestFirstTrips = 16, kMostFirstTrips = 4096;

static OperandRange slicesOf(WhileOp loop) {
  return loop.getBodyRegion().front().getTerminator()->getOperands().drop_front(loop.getInit().size());
}

/// Bytes of a trip's outputs; nothing where they are not known.
static std::optional<int64_t> bytesOfTrip(WhileOp loop) {
  int64_t bytes = 0;
  for (Value slice : slicesOf(loop)) {
    if (!isStatic(slice.getType()))
      return std::nullopt;
    bytes += tensorTypeOf(slice).getNumElements() * byteWidth(getElementTypeOrSelf(slice.getType()));
  }
  return bytes;
}

static bool hasBoundedStacks(WhileOp loop) {
  if (loop.getStacks().empty() || !loop.getMaxTrip())
    return false;
  auto most = static_cast<int64_t>(*loop.getMaxTrip());
  std::optional<int64_t> bytes = bytesOfTrip(loop);
  return bytes && most > 0 && *bytes <= kMostStackBytes / most;
}

/// True when nothing within the loop is known to be the host's, as checks of values and other loops with per-trip
/// outputs are, so that its trips can be the device's.
static bool hasOwnTrips(WhileOp loop) {
  return !loop->walk([&](Operation *op) {
                std::optional<LoopView> inner = LoopView::of(op);
                bool isHosts = inner
                                   ? op != loop && inner->stacks
                                   : op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() && !isPure(op);
                return isHosts || op->hasAttr(kCountedByHost) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

/// A while and its per-trip outputs as carries: the loop's own first, then the number of trips, then the buffers.
namespace {
class StackedLoop {
public:
  explicit StackedLoop(WhileOp loop) : loop(loop), carries(loop.getInit().size()) {}

  /// The same loop on buffers, as long as `isBelow` says.
  WhileOp build(OpBuilder &builder, ValueRange init, ValueRange captures, std::optional<int64_t> most,
                LimitPolicy onLimit, function_ref<Value(StepBuilder &, ValueRange arguments)> isBelow);
  /// Makes the loop's results of what is carried in the end, and removes it.
  void replace(StepBuilder &b, Value trips, ValueRange carried, ValueRange buffers);

private:
  SmallVector<Value> asBefore(ValueRange arguments) {
    SmallVector<Value> all(arguments.take_front(carries));
    llvm::append_range(
        all, arguments.drop_front(carries + 1 + loop.getStacks().size()).take_front(loop.getCaptures().size()));
    return all;
  }

  WhileOp loop;
  size_t carries;
};
} // namespace

WhileOp StackedLoop::build(OpBuilder &builder, ValueRange init, ValueRange captures, std::optional<int64_t> most,
                           LimitPolicy onLimit, function_ref<Value(StepBuilder &, ValueRange arguments)> isBelow) {
  Location loc = loop.getLoc();
  auto cond = [&](OpBuilder &at, Location, ValueRange arguments) -> SmallVector<Value> {
    StepBuilder c(loc, at);
    SmallVector<Value> holds = inlineBody(at, loc, loop.getCondRegion(), asBefore(arguments));
    Value below = isBelow(c, arguments);
    return {below ? c.both(below, holds.front()) : holds.front()};
  };
  auto body = [&](OpBuilder &at, Location, ValueRange arguments) {
    StepBuilder c(loc, at);
    Value t = arguments[carries];
    SmallVector<Value> yields = inlineBody(at, loc, loop.getBodyRegion(), asBefore(arguments));
    SmallVector<Value> next(yields.begin(), yields.begin() + static_cast<ptrdiff_t>(carries)), buffers;
    for (size_t k = carries; k < yields.size(); ++k)
      buffers.push_back(c.store(arguments[k + 1], yields[k], t));
    next.push_back(c.add(t, 1)); // when nothing reads the old number any more
    llvm::append_range(next, buffers);
    return next;
  };
  return buildWhile(builder, loc, init, captures, cond, body, most, onLimit);
}

void StackedLoop::replace(StepBuilder &b, Value trips, ValueRange carried, ValueRange buffers) {
  SmallVector<Value> results = {trips};
  llvm::append_range(results, carried);
  Value count = b.make<ReshapeOp>(trips, Value(), RankedTensorType::get({1}, b.getI64Type()));
  for (auto [buffer, slice, stack] : llvm::zip(buffers, slicesOf(loop), loop.getStacks())) {
    ArrayRef<int64_t> shape = tensorTypeOf(slice).getShape();
    auto constant = [&](ArrayRef<int64_t> numbers) -> Value {
      return b.make<ConstantOp>(HostTensor::ofInts(b.getI64Type(), numbers).toAttr());
    };
    SmallVector<int64_t> zeros(shape.size() + 1, 0), ones(shape.size() + 1, 1);
    Value ends = shape.empty() ? count : b.make<ConcatenateOp>(ValueRange{count, constant(shape)}, 0);
    results.push_back(b.retype(b.make<RangeSliceOp>(buffer, constant(zeros), ends, constant(ones)), stack.getType()));
  }
  for (auto [value, result] : llvm::zip(results, loop->getResults()))
    value = b.retype(value, result.getType());
  loop->replaceAllUsesWith(results);
  loop->erase();
}

static Value roomForTrips(StepBuilder &b, Value slice, int64_t trips) {
  return zeros(b, stackType(slice.getType(), 0, trips), {});
}

static void boundStacks(WhileOp loop) {
  OpBuilder builder(loop);
  StepBuilder b(loop.getLoc(), builder);
  auto most = static_cast<int64_t>(*loop.getMaxTrip());
  size_t carries = loop.getInit().size();
  SmallVector<Value> init(loop.getInit());
  init.push_back(b.number(0));
  for (Value slice : slicesOf(loop))
    init.push_back(roomForTrips(b, slice, most));
  StackedLoop stacked(loop);
  WhileOp made = stacked.build(builder, init, loop.getCaptures(), most, loop.getOnLimit(),
                               [](StepBuilder &, ValueRange) { return Value(); });
  if (auto message = loop->getAttr(kLimitMessage))
    made->setAttr(kLimitMessage, message);
  stacked.replace(b, made.getTrips(), made.getCarries().take_front(carries), made.getCarries().drop_front(carries + 1));
}

/// Fails at run time where the loop's condition still holds for `carried`; else gives that.
static SmallVector<Value> requireEnd(OpBuilder &builder, WhileOp loop, ValueRange carried) {
  Location loc = loop.getLoc();
  size_t carries = loop.getInit().size();
  auto cond = [&](OpBuilder &at, Location, ValueRange arguments) {
    SmallVector<Value> all(arguments.take_front(carries));
    llvm::append_range(all, arguments.drop_front(carried.size()));
    return inlineBody(at, loc, loop.getCondRegion(), all);
  };
  auto body = [&](OpBuilder &, Location, ValueRange arguments) {
    return SmallVector<Value>(arguments.take_front(carried.size()));
  };
  WhileOp made = buildWhile(builder, loc, carried, loop.getCaptures(), cond, body, 0, LimitPolicy::trap);
  auto message = loop->getAttrOfType<StringAttr>(kLimitMessage);
  std::string most = std::to_string(*loop.getMaxTrip());
  made->setAttr(kLimitMessage, message ? message
                                       : builder.getStringAttr("a loop requires at most " + most +
                                                               " trips, its condition still holds after " + most));
  return llvm::to_vector_of<Value>(made.getCarries());
}

static void growStacks(WhileOp loop) {
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  StepBuilder b(loc, builder);
  size_t carries = loop.getInit().size(), stacks = loop.getStacks().size();
  int64_t first =
      std::clamp(kFirstStackBytes / std::max<int64_t>(*bytesOfTrip(loop), 1), kFewestFirstTrips, kMostFirstTrips);
  std::optional<int64_t> most = loop.getMaxTrip();
  HostTensor yes(b.getI1Type(), {});
  yes.setInt(0, 1);
  SmallVector<Value> init(loop.getInit());
  init.append({b.number(0), b.make<ConstantOp>(yes.toAttr())});
  for (Value slice : slicesOf(loop))
    init.push_back(roomForTrips(b, slice, first / 2));

  StackedLoop stacked(loop);
  auto goesOn = [&](OpBuilder &, Location, ValueRange arguments) { return SmallVector<Value>{arguments[carries + 1]}; };
  auto round = [&](OpBuilder &at, Location, ValueRange arguments) {
    StepBuilder c(loc, at);
    SmallVector<Value> start(arguments.take_front(carries + 1)), captures(arguments.drop_front(init.size()));
    for (Value buffer : arguments.slice(carries + 2, stacks)) // nobody reads the second half before it is written
      start.push_back(c.make<ConcatenateOp>(ValueRange{buffer, buffer}, 0));
    Value room = c.size(start.back(), 0);
    if (most)
      room = c.make<MinOp>(room, c.number(*most));
    captures.push_back(room);
    WhileOp trips =
        stacked.build(at, start, captures, std::nullopt, LimitPolicy::stop, [&](StepBuilder &d, ValueRange inside) {
          return d.compare(CompareKind::lt, inside[carries], inside.back());
        });
    SmallVector<Value> next(trips.getCarries().take_front(carries + 1));
    Value isFull = c.compare(CompareKind::ge, trips.getCarries()[carries], room);
    if (most)
      isFull = c.both(isFull, c.compare(CompareKind::lt, trips.getCarries()[carries], c.number(*most)));
    next.push_back(isFull);
    llvm::append_range(next, trips.getCarries().drop_front(carries + 1));
    return next;
  };
  WhileOp rounds = buildWhile(builder, loc, init, loop.getCaptures(), goesOn, round);
  rounds->setAttr(kCountedByHost,
                  builder.getStringAttr("the memory of its per-trip outputs grows between rounds of trips"));
  SmallVector<Value> last(rounds.getCarries().take_front(carries + 1));
  if (most && loop.getOnLimit() == LimitPolicy::trap)
    last = requireEnd(builder, loop, last);
  stacked.replace(b, last.back(), ArrayRef(last).drop_back(), rounds.getCarries().drop_front(carries + 2));
}

//===- switch --------------------------------------------------------------------------------------===//

/// cond(index = 0) { branch 0 } else { cond(index = 1) ... }; the last branch is that of all other numbers.
static SmallVector<Value> buildBranches(OpBuilder &builder, SwitchOp op, unsigned first, Value index,
                                        ValueRange captures) {
  Location loc = op->getLoc();
  auto take = [&](unsigned k) {
    return [&, k](OpBuilder &at, Location, ValueRange arguments) {
      return inlineBody(at, loc, op.getBranches()[k], arguments.drop_front());
    };
  };
  if (first + 1 == op.getBranches().size())
    return inlineBody(builder, loc, op.getBranches()[first], captures);
  StepBuilder b(loc, builder);
  Value isFirst = b.compare(CompareKind::eq, index, b.number(first));
  SmallVector<Value> all = {index};
  llvm::append_range(all, captures);
  CondOp choice =
      buildCond(builder, loc, isFirst, all, take(first), [&](OpBuilder &at, Location, ValueRange arguments) {
        return buildBranches(at, op, first + 1, arguments.front(), arguments.drop_front());
      });
  return llvm::to_vector_of<Value>(choice.getResults());
}

namespace {
class SimplifyControl : public PassWrapper<SimplifyControl, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyControl)
  StringRef getArgument() const override { return "sinter-simplify-control"; }
  StringRef getDescription() const override { return "counted loops and switches as while and cond"; }

  void runOnOperation() override {
    // What is inside comes first: a loop's copy has it in its simple form.
    SmallVector<Operation *> work;
    getOperation()->walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (controlOf(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (auto choice = dyn_cast<SwitchOp>(op)) {
        OpBuilder builder(op);
        op->replaceAllUsesWith(buildBranches(builder, choice, 0, choice.getIndex(), choice.getCaptures()));
        op->erase();
        continue;
      }
      std::optional<LoopView> loop = LoopView::of(op);
      if (!loop || !countsTrips(*loop))
        continue;
      std::optional<int64_t> trips = knownTrips(*loop);
      if (trips == 1) {
        makeOnlyTrip(*loop);
        continue;
      }
      SizesBefore sizes(*loop);
      std::string reason = refusal(*loop, trips, sizes);
      if (reason.empty())
        countTrips(*loop, trips, sizes);
      else
        op->setAttr(kCountedByHost, StringAttr::get(&getContext(), reason));
    }
    SmallVector<WhileOp> stacking; // those inside of others first, as above
    getOperation()->walk([&](WhileOp loop) {
      if (!loop.getStacks().empty())
        stacking.push_back(loop);
    });
    for (WhileOp loop : stacking)
      if (hasBoundedStacks(loop))
        boundStacks(loop);
      else if (bytesOfTrip(loop) && hasOwnTrips(loop))
        growStacks(loop);
  }
};
} // namespace

std::unique_ptr<Pass> sinter::createSimplifyControl() { return std::make_unique<SimplifyControl>(); }
void sinter::registerSimplifyControl() { PassRegistration<SimplifyControl>(); }
