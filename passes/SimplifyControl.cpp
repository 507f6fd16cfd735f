// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A back end that runs loops and branches by itself has two of them: `while` and `cond`. A counted loop becomes a while
// that carries the number of the trip, gathers the slices of its sequences there, and writes each per-trip output into
// a buffer that it carries. A switch becomes conds, one in the other.
//
//   scan(h) over(x) -> h', y         while(0, h, zeros) captures(x) {max_trip = n}
//                                      t, h, y  ->  t + 1, h', update(y, t)
//
// Per-trip outputs of a while that has a limit of trips are buffers, too, with room for that many; what the trips have
// written is cut off behind the loop:
//
//   n, h', y = while(h) {max_trip = m}      n, h', _, y' = while(h, 0, zeros) {max_trip = m};   y = y'[0:n]
//
// How many trips there are is a limit of the while where it is known, so that a host that runs it after all need not
// look at a condition.

#include "passes/SimplifyControl.h"
#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/CountedLoops.h"
#include "ir/Regions.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/gradient/SteppedLoop.h"

using namespace mlir;
using namespace sinter;

static bool isStatic(Type type) { return cast<RankedTensorType>(type).hasStaticShape(); }

/// Why a counted loop stays one; empty when it need not.
static std::string refusal(const LoopView &loop, std::optional<int64_t> trips) {
  if (!trips && loop.stacks)
    return "its per-trip outputs have sizes that only running tells";
  if (trips == 0)
    return "it makes no trip, so nothing has the sizes of a trip";
  for (size_t k = 0; k < loop.carries; ++k)
    if (!isStatic(loop.init(k).getType()) || loop.carryArgument(k).getType() != loop.init(k).getType() ||
        loop.carry(k).getType() != loop.init(k).getType())
      return "a carry has sizes that are not known";
  for (size_t k = 0; k < loop.sequences; ++k) {
    if (!isStatic(loop.sequenceArgument(k).getType()))
      return "slices of a sequence have sizes that are not known";
    if (!isStatic(loop.sequence(k).getType()) && loop.sequenceReverse(k))
      return "it walks a sequence from its end, whose length is not known";
  }
  for (size_t k = 0; k < loop.stacks; ++k)
    if (!isStatic(loop.stack(k).getType()))
      return "its per-trip outputs have sizes that are not known";
  return "";
}

/// Trips in order of `t`, or from the last one on.
static Value placeOf(StepBuilder &b, Value t, int64_t trips, bool isReversed) {
  return isReversed ? b.sub(b.number(trips - 1), t) : t;
}

static void countTrips(const LoopView &loop, std::optional<int64_t> trips) {
  Operation *op = loop.op, *before = op->getPrevNode();
  OpBuilder builder(op);
  StepBuilder b(op->getLoc(), builder);
  SteppedLoop stepped(loop, b);
  SmallVector<Value> init = {b.number(0)}, captures = stepped.outside;
  for (size_t k = 0; k < loop.carries; ++k)
    init.push_back(loop.init(k));
  for (size_t k = 0; k < loop.stacks; ++k) {
    auto type = cast<RankedTensorType>(loop.stack(k).getType());
    init.push_back(
        b.make<BroadcastOp>(b.scalar(type.getElementType(), 0), Value(), ValueRange(), ArrayRef<int64_t>(), type));
  }
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
    Value t = arguments.front();
    ValueRange carries = arguments.slice(1, loop.carries), buffers = arguments.slice(1 + loop.carries, loop.stacks);
    SmallVector<Value> yields = stepped.step(at, t, carries, arguments.drop_front(init.size()));
    SmallVector<Value> next(yields.begin(), yields.begin() + static_cast<ptrdiff_t>(loop.carries));
    for (size_t k = 0; k < loop.stacks; ++k)
      next.push_back(c.store(buffers[k], yields[loop.carries + k], placeOf(c, t, *trips, loop.stackReverse(k)),
                             loop.stackAxis(k)));
    next.insert(next.begin(), c.add(t, 1)); // last, when nothing reads the old number any more
    return next;
  };
  WhileOp counted = buildWhile(builder, op->getLoc(), init, captures, cond, body, trips);
  op->replaceAllUsesWith(counted.getCarries().drop_front());
  op->erase();
  // A number of trips that is known was computed in vain.
  for (Operation *made = counted->getPrevNode(); made != before;) {
    Operation *unused = made;
    made = made->getPrevNode();
    if (isOpTriviallyDead(unused))
      unused->erase();
  }
}

/// Room for per-trip outputs that a while may take before it runs.
constexpr int64_t kMostStackBytes = int64_t(64) << 20;

static bool hasBoundedStacks(WhileOp loop) {
  if (loop.getStacks().empty() || !loop.getMaxTrip())
    return false;
  auto most = static_cast<int64_t>(*loop.getMaxTrip());
  int64_t bytes = 0;
  for (Value slice : loop.getBodyRegion().front().getTerminator()->getOperands().drop_front(loop.getInit().size())) {
    if (!isStatic(slice.getType()))
      return false;
    bytes += tensorTypeOf(slice).getNumElements() * byteWidth(getElementTypeOrSelf(slice.getType()));
  }
  return most > 0 && bytes <= kMostStackBytes / most;
}

static void boundStacks(WhileOp loop) {
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  StepBuilder b(loc, builder);
  auto most = static_cast<int64_t>(*loop.getMaxTrip());
  size_t carries = loop.getInit().size();
  SmallVector<Value> init(loop.getInit());
  init.push_back(b.number(0));
  for (Value slice : loop.getBodyRegion().front().getTerminator()->getOperands().drop_front(carries)) {
    RankedTensorType type = tensorTypeOf(slice);
    SmallVector<int64_t> shape = {most};
    llvm::append_range(shape, type.getShape());
    init.push_back(b.make<BroadcastOp>(b.scalar(type.getElementType(), 0), Value(), ValueRange(), ArrayRef<int64_t>(),
                                       RankedTensorType::get(shape, type.getElementType())));
  }
  auto asBefore = [&](ValueRange arguments) {
    SmallVector<Value> all(arguments.take_front(carries));
    llvm::append_range(all, arguments.drop_front(init.size()));
    return all;
  };
  auto cond = [&](OpBuilder &at, Location, ValueRange arguments) {
    return inlineBody(at, loc, loop.getCondRegion(), asBefore(arguments));
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
  WhileOp made = buildWhile(builder, loc, init, loop.getCaptures(), cond, body, most, loop.getOnLimit());
  if (auto message = loop->getAttr(kLimitMessage))
    made->setAttr(kLimitMessage, message);
  SmallVector<Value> results = {made.getTrips()};
  llvm::append_range(results, made.getCarries().take_front(carries));
  Value count = b.make<ReshapeOp>(made.getTrips(), Value(), RankedTensorType::get({1}, b.getI64Type()));
  for (auto [buffer, stack] : llvm::zip(made.getCarries().drop_front(carries + 1), loop.getStacks())) {
    ArrayRef<int64_t> shape = tensorTypeOf(buffer).getShape();
    auto constant = [&](ArrayRef<int64_t> numbers) -> Value {
      return b.make<ConstantOp>(HostTensor::ofInts(b.getI64Type(), numbers).toAttr());
    };
    SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
    Value ends = shape.size() == 1 ? count : b.make<ConcatenateOp>(ValueRange{count, constant(shape.drop_front())}, 0);
    Value cut = b.make<RangeSliceOp>(buffer, constant(zeros), ends, constant(ones));
    results.push_back(b.retype(cut, stack.getType()));
  }
  loop->replaceAllUsesWith(results);
  loop->erase();
}

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
      std::string reason = refusal(*loop, trips);
      if (reason.empty())
        countTrips(*loop, trips);
      else
        op->setAttr(kCountedByHost, StringAttr::get(&getContext(), reason));
    }
    SmallVector<WhileOp> bounded; // those inside of others first, as above
    getOperation()->walk([&](WhileOp loop) {
      if (hasBoundedStacks(loop))
        bounded.push_back(loop);
    });
    for (WhileOp loop : bounded)
      boundStacks(loop);
  }
};
} // namespace

std::unique_ptr<Pass> sinter::createSimplifyControl() { return std::make_unique<SimplifyControl>(); }
void sinter::registerSimplifyControl() { PassRegistration<SimplifyControl>(); }
