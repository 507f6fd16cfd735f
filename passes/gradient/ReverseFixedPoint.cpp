// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A while that has come to a fixed point c = body(c, w) has the gradient of that equation, whatever its trips were:
//
//   l = dc + (d body / dc)^T l   by iteration from l = dc,   dw = (d body / dw)^T l      (Christianson 1994)
//
// It needs the final carries only.

#include "ir/Composer.h"
#include "ir/Elementwise.h"
#include "ir/Gradient.h"
#include "ir/Shape.h"
#include "passes/gradient/Reverse.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

/// Iterations after which it is taken as it is, and changes below which it has converged (relative to the largest
/// element).
constexpr int64_t kMaxTrips = 10000;
static double tolerance(Type type) { return type.isF64() ? 1e-13 : type.isF32() ? 1e-6 : 1e-3; }

namespace {
/// The body once more, at the fixed point. Its inputs stand for themselves: what gets to them is not part of the rest.
struct Trip {
  SmallVector<Value> carries, captures, yields;
  SmallVector<Operation *> ops;

  Trip(const LoopView &loop, OpBuilder &b) {
    IRMapping map;
    Composer composer(loop.op->getLoc(), b);
    auto input = [&](Value value, BlockArgument argument, SmallVector<Value> &inputs) {
      Value copy = composer.make<StopGradientOp>(composer.retype(value, argument.getType()));
      map.map(argument, copy);
      inputs.push_back(copy);
    };
    for (size_t k = 0; k < loop.carries; ++k)
      input(loop.carry(k), loop.carryArgument(k), carries);
    for (size_t k = 0; k < loop.captures; ++k)
      input(loop.capture(k), loop.captureArgument(k), captures);
    for (Operation &op : loop.body->front().without_terminator())
      ops.push_back(b.clone(op, map));
    for (size_t k = 0; k < loop.carries; ++k)
      yields.push_back(map.lookupOrDefault(loop.yieldedCarry(k)));
  }

  Value original(Value value) const {
    bool isCopy = llvm::is_contained(carries, value) || llvm::is_contained(captures, value);
    return isCopy ? value.getDefiningOp()->getOperand(0) : value;
  }
  /// The inputs are what they stand for, now that this trip has been reversed: further derivatives go through them.
  void join() {
    for (Value copy : llvm::concat<Value>(carries, captures)) {
      Operation *op = copy.getDefiningOp();
      copy.replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  }

  /// What depends on those of `inputs` that are active in the loop.
  Activity from(ArrayRef<Value> inputs, llvm::function_ref<bool(size_t)> isActive) const {
    Activity activity;
    for (auto [k, input] : llvm::enumerate(inputs))
      if (isActive(k))
        activity.mark(input);
    for (Operation *op : ops)
      activity.visit(op);
    return activity;
  }
};
} // namespace

/// Whether any carry still changes.
static Value isMoving(Composer &b, ArrayRef<Value> before, ArrayRef<Value> after) {
  Value moving;
  for (auto [from, to] : llvm::zip(before, after)) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(to).getRank()));
    auto largest = [&](Value value) { return b.reduce(b.make<AbsOp>(value), axes, Combiner::max); };
    Value change = largest(b.make<SubOp>(to, from)), size = largest(to);
    Value allowed = b.make<MulOp>(size, b.scalar(elementTypeOf(size), tolerance(elementTypeOf(size))));
    Value moves = b.make<CompareOp>(change, allowed, CompareKind::gt);
    moving = moving ? b.make<OrOp>(moving, moves) : moves;
  }
  return moving;
}

/// Whatever `body` reads from outside becomes a capture, an argument of both blocks.
static llvm::SetVector<Value> captureReads(Block &body, Block &condition, Location loc) {
  llvm::SetVector<Value> captures;
  for (Operation &op : body)
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != &body)
        captures.insert(operand);
  for (Value capture : captures) {
    BlockArgument argument = body.addArgument(capture.getType(), loc);
    condition.addArgument(capture.getType(), loc);
    for (Operation &op : body)
      op.replaceUsesOfWith(capture, argument);
  }
  return captures;
}

LogicalResult Reverse::reverseFixedPoint(LoopView loop, OpBuilder &b) {
  Location loc = loop.op->getLoc();
  for (size_t k = 0; k < loop.stacks; ++k)
    if (cotangents.contains(loop.stack(k)))
      return loop.op->emitOpError("has no gradient under the policy implicit: its per-trip outputs are used");
  Composer outside(loc, b);
  llvm::BitVector live = liveCarries(loop);
  auto isLive = [&](size_t k) { return live.test(k); };

  // The iteration: a while over l and whether it still moves.
  Region condition, body;
  Block *test = new Block, *block = new Block;
  condition.push_back(test);
  body.push_back(block);
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToEnd(block);
  Composer inside(loc, inner);
  Trip trip(loop, b);
  SmallVector<Value> init, before, after, given;
  Activity moving = trip.from(trip.carries, isLive);
  Reverse step(moving);
  for (unsigned k : live.set_bits()) {
    Type type = loop.carryArgument(k).getType();
    Value last = cotangents.lookup(loop.carry(k));
    given.push_back(outside.retype(last ? last : outside.fill(0, loop.carry(k)), type));
    before.push_back(block->addArgument(type, loc));
    test->addArgument(type, loc);
    step.add(inner, trip.yields[k], before.back());
  }
  Type boolean = RankedTensorType::get({}, b.getI1Type());
  block->addArgument(boolean, loc);
  inner.setInsertionPointToEnd(test);
  YieldOp::create(inner, loc, ValueRange(test->addArgument(boolean, loc)));
  inner.setInsertionPointToEnd(block);
  if (failed(step.run(trip.ops, inner)))
    return failure();
  for (auto [i, k] : llvm::enumerate(live.set_bits())) {
    Value moved = step.cotangent(trip.carries[k]);
    Value next = moved ? inside.make<AddOp>(given[i], moved) : given[i];
    after.push_back(inside.retype(next, before[i].getType()));
  }
  SmallVector<Value> yields(after);
  if (!after.empty())
    yields.push_back(isMoving(inside, before, after));
  YieldOp::create(inner, loc, yields);

  SmallVector<Value> lambdas;
  if (!after.empty()) {
    llvm::SetVector<Value> captures = captureReads(*block, *test, loc);
    init = given;
    init.push_back(outside.make<ConstantOp>(HostTensor::scalar(b.getI1Type(), 1).toAttr()));
    WhileOp iteration =
        WhileOp::create(b, loc, RankedTensorType::get({}, b.getI64Type()), ValueRange(init).getTypes(), init,
                        captures.getArrayRef(), b.getI64IntegerAttr(kMaxTrips), LimitPolicy::stop);
    iteration->setAttr("sinter.memory", b.getStringAttr("implicit")); // a fixed point itself
    iteration.getCondRegion().takeBody(condition);
    iteration.getBodyRegion().takeBody(body);
    lambdas.assign(iteration.getCarries().begin(), std::prev(iteration.getCarries().end()));
  }

  Trip last(loop, b);
  Activity captured = last.from(last.captures, [&](size_t k) { return activity(loop.captureArgument(k)); });
  Reverse end(captured);
  for (auto [i, k] : llvm::enumerate(live.set_bits()))
    end.add(b, last.yields[k], lambdas[i]);
  if (failed(end.run(last.ops, b)))
    return failure();
  SmallVector<std::pair<Value, Value>> gradients;
  for (size_t k = 0; k < loop.captures; ++k)
    if (Value cotangent = end.cotangent(last.captures[k]))
      gradients.emplace_back(loop.capture(k), last.original(cotangent));
  trip.join();
  last.join();
  for (auto [capture, cotangent] : gradients)
    add(b, capture, cotangent);
  return success();
}
