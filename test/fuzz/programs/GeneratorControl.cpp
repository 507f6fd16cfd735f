// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that hold regions: each is filled by a generator of its own, with what was captured to begin with.

#include "ir/Control.h"
#include "ir/Elementwise.h"
#include "ir/Reduction.h"
#include "ir/Regions.h"
#include "ir/Shape.h"
#include "test/fuzz/programs/Generator.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

static constexpr unsigned kMaxDepth = 3;

SmallVector<Known> RegionGenerator::pickCaptures() {
  SmallVector<Known> captures;
  for (uint64_t count = 1 + below(4); count > 0; --count)
    captures.push_back(pick([](const Known &) { return true; }));
  return captures;
}

SmallVector<Known> RegionGenerator::body(OpBuilder &builder, Location loc, ArrayRef<Known> arguments) {
  RegionGenerator inner(builder, loc, random, options, depth + 1);
  for (const Known &argument : arguments)
    inner.add(argument);
  for (uint64_t steps = 2 + below(5); steps > 0; --steps)
    inner.step();
  return SmallVector<Known>(inner.known());
}

Value RegionGenerator::yieldLike(OpBuilder &builder, Location loc, ArrayRef<Known> known, const Known &carry) {
  Known found;
  for (const Known &candidate : known)
    if (candidate.type() == carry.type() && (candidate.exact || !carry.exact))
      found = candidate;
  Composer b(loc, builder);
  // A carry must keep its promise after any number of trips.
  if (found.isFloat() && !(found.bound <= carry.bound))
    return b.make<ClampOp>(b.fill(-carry.bound, found.value), found.value, b.fill(carry.bound, found.value));
  return found.value;
}

static SmallVector<Value> valuesOf(ArrayRef<Known> known) {
  SmallVector<Value> result;
  for (const Known &k : known)
    result.push_back(k.value);
  return result;
}

/// The arguments of a region, which promise what `outside` does.
static SmallVector<Known> inside(ArrayRef<Known> outside, ValueRange arguments) {
  SmallVector<Known> result(outside);
  for (auto [known, argument] : llvm::zip(result, arguments))
    known.value = argument;
  return result;
}

void RegionGenerator::branch() {
  if (depth >= kMaxDepth)
    return;
  Known pred = pickPredicate(nullptr);
  SmallVector<Known> captures = pickCaptures();
  // Both branches yield something like each capture: the most that a branch promises holds for the result.
  SmallVector<Known> promised(captures);
  for (Known &k : promised) {
    k.exact = k.exact && !(k.isFloat() && options.differentiable);
    if (k.isFloat())
      k.bound = std::max(k.bound, 1.0);
  }
  auto fill = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    SmallVector<Known> known = body(b, loc, inside(captures, arguments));
    SmallVector<Value> yields;
    for (const Known &k : promised)
      yields.push_back(yieldLike(b, loc, known, k));
    return yields;
  };
  SmallVector<Value> results;
  if (pred.value && coin()) {
    llvm::append_range(results, buildCond(c, c.getLoc(), pred.value, valuesOf(captures), fill, fill).getResults());
  } else {
    auto op = SwitchOp::create(c, ValueRange(valuesOf(captures)).getTypes(), pickCount(5).value, valuesOf(captures), 3);
    for (Region &region : op.getBranches()) {
      Block &block = region.emplaceBlock();
      SmallVector<Location> locations(captures.size(), c.getLoc());
      block.addArguments(ValueRange(valuesOf(captures)).getTypes(), locations);
      OpBuilder b = OpBuilder::atBlockEnd(&block);
      YieldOp::create(b, c.getLoc(), fill(b, c.getLoc(), block.getArguments()));
    }
    llvm::append_range(results, op.getResults());
  }
  for (auto [result, k] : llvm::zip(results, promised))
    giveMoved(result, k);
}

void RegionGenerator::loop() {
  if (depth >= kMaxDepth)
    return;
  SmallVector<Known> carries = pickCaptures(), captures = pickCaptures();
  for (Known &k : carries) {
    k.exact = k.exact && !(k.isFloat() && options.differentiable);
    if (k.isFloat())
      k.bound = std::max(k.bound, 1.0);
  }
  SmallVector<Known> stacked;
  // `first` arguments (a counter, or the slices of a scan) come before the carries.
  auto fill = [&](OpBuilder &b, Location loc, ArrayRef<Known> before, ValueRange arguments) {
    SmallVector<Known> known(before);
    llvm::append_range(known, inside(carries, arguments));
    llvm::append_range(known, inside(captures, arguments.drop_front(carries.size())));
    known = body(b, loc, known);
    SmallVector<Value> yields;
    for (const Known &k : carries)
      yields.push_back(yieldLike(b, loc, known, k));
    stacked.assign(1, known.back());
    yields.push_back(known.back().value);
    return yields;
  };
  SmallVector<Value> init = valuesOf(carries), from = valuesOf(captures), results;
  switch (below(3)) {
  case 0: {
    Value lower = index(static_cast<int64_t>(below(3)) - 1), step = index(coin() ? 1 : 2);
    auto op = buildFor(c, c.getLoc(), lower, pickCount(5).value, step, init, from,
                       [&](OpBuilder &b, Location loc, ValueRange arguments) {
                         return fill(b, loc, {{arguments[0], true, 0}}, arguments.drop_front());
                       });
    llvm::append_range(results, op.getResults());
    break;
  }
  case 1: { // a counter is the last carry
    Known limit = pickCount(5);
    Value zero = index(0);
    SmallVector<Value> counted(init), outside(from);
    counted.push_back(zero);
    outside.push_back(limit.value);
    auto op = buildWhile(
        c, c.getLoc(), counted, outside,
        [&](OpBuilder &b, Location loc, ValueRange arguments) {
          Composer inner(loc, b);
          Value more = inner.make<CompareOp>(arguments[init.size()], arguments.back(), CompareKind::lt);
          for (auto [k, argument] : llvm::zip(carries, arguments)) // the data may end the loop
            if (k.isBool() && k.rank() == 0)
              more = inner.make<AndOp>(more, argument);
          return SmallVector<Value>{more};
        },
        [&](OpBuilder &b, Location loc, ValueRange arguments) {
          SmallVector<Value> others(arguments.take_front(init.size()));
          llvm::append_range(others, arguments.drop_front(init.size() + 1).drop_back());
          SmallVector<Value> yields = fill(b, loc, {{arguments[init.size()], true, 0}}, others);
          Composer inner(loc, b);
          HostTensor one(inner.getI64Type(), {});
          one.setInt(0, 1);
          yields.insert(yields.begin() + init.size(),
                        inner.make<AddOp>(arguments[init.size()], inner.make<ConstantOp>(one.toAttr())));
          return yields;
        });
    // What it keeps for its gradient. Short loops, so that few snapshots are too few.
    static constexpr const char *policies[] = {"all", "recompute", "period(2)", "binomial(2)", "online(2)"};
    if (options.differentiable && coin())
      op->setAttr("sinter.memory", c.getStringAttr(policies[below(std::size(policies))]));
    llvm::append_range(results, op.getCarries().drop_back());
    give(op.getTrips());
    // As many trips as the data says: the stack's first size is not known, its sum's shape is.
    Value stack = op.getStacks().front();
    if (stacked.front().isFloat() || stacked.front().isInteger())
      give(c.make<ReduceOp>(stack, ArrayRef<int64_t>(0), Combiner::add), stacked.front().exact,
           stacked.front().bound * 5);
    for (auto [result, k] : llvm::zip(results, carries))
      giveMoved(result, k);
    return;
  }
  default: {
    Known sequence = pick([](const Known &k) { return k.rank() > 0; });
    if (!sequence.value)
      return;
    int64_t axis = static_cast<int64_t>(below(sequence.rank()));
    bool reverse = coin();
    auto op = buildScan(c, c.getLoc(), init, sequence.value, from, axis, reverse, ArrayRef<int64_t>(0), coin(),
                        [&](OpBuilder &b, Location loc, ValueRange arguments) {
                          SmallVector<Value> others(arguments.take_front(init.size()));
                          llvm::append_range(others, arguments.drop_front(init.size() + 1));
                          return fill(b, loc, {{arguments[init.size()], sequence.exact, sequence.bound}}, others);
                        });
    llvm::append_range(results, op.getResults());
    break;
  }
  }
  for (auto [result, k] : llvm::zip(results, carries))
    giveMoved(result, k);
  Known stack = stacked.front();
  if (stack.isFloat() || stack.isInteger())
    give(c.make<ReduceOp>(results.back(), ArrayRef<int64_t>(0), Combiner::add), stack.exact, stack.bound * 8);
}
