// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/PairExpansion.h"
#include "ir/Regions.h"

using namespace mlir;
using namespace sinter;

using Values = PairExpansion::Values;

Values sinter::concat(std::initializer_list<ValueRange> parts) {
  Values all;
  for (ValueRange part : parts)
    llvm::append_range(all, part);
  return all;
}

PairExpansion::PairExpansion(LoopPair given, OpBuilder &start)
    : pair(std::move(given)), loc(pair.loop.op->getLoc()), n(pair.loop.carries), b(loc, start), stepped(pair.loop, b),
      captures(stepped.outside) {}

//===- the forward loop's parts ------------------------------------------------------------------------===//

Values PairExpansion::inits() {
  Values values;
  for (size_t k = 0; k < n; ++k)
    values.push_back(pair.loop.init(k));
  return values;
}

Value PairExpansion::holds(OpBuilder &at, ValueRange carries, ValueRange captured) {
  return inlineBody(at, loc, whileLoop().getCondRegion(), concat({carries, captured}))[0];
}

Value PairExpansion::goesOn(StepBuilder &at, ValueRange carries, ValueRange captured, Value trips) {
  Value more = holds(at, carries, captured);
  if (std::optional<uint64_t> limit = whileLoop().getMaxTrip(); limit && whileLoop().getOnLimit() == LimitPolicy::stop)
    more = at.both(more, at.compare(CompareKind::lt, trips, at.number(static_cast<int64_t>(*limit))));
  return more;
}

Values PairExpansion::nextCarries(OpBuilder &at, Value t, ValueRange carries, ValueRange captured) {
  Values yields = stepped.step(at, t, carries, captured);
  yields.truncate(n);
  return yields;
}

Values PairExpansion::keptOf(ValueRange yields) {
  Values kept;
  for (unsigned k : pair.kept)
    kept.push_back(yields[n + k]);
  return kept;
}

Values PairExpansion::advance(StepBuilder &at, Value from, Value to, ValueRange carries, ValueRange captured) {
  ForOp run = buildFor(at, loc, from, to, at.number(1), carries, captured,
                       [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                         return nextCarries(inner, a[0], a.slice(1, n), a.drop_front(1 + n));
                       });
  return Values(run.getCarries());
}

std::pair<Values, Value> PairExpansion::runUpTo(StepBuilder &at, ValueRange carries, ValueRange captured, Value trips,
                                                Value most) {
  WhileOp run = buildWhile(
      at, loc, concat({carries, trips}), concat({captured, most}),
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(loc, inner);
        Value inTime = c.compare(CompareKind::lt, a[n], a.back());
        return {c.both(inTime, goesOn(c, a.take_front(n), a.slice(n + 1, captured.size()), a[n]))};
      },
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(loc, inner);
        Values next = nextCarries(inner, a[n], a.take_front(n), a.slice(n + 1, captured.size()));
        next.push_back(c.add(a[n], 1));
        return next;
      });
  return {Values(run.getCarries().take_front(n)), run.getCarries()[n]};
}

std::optional<int64_t> PairExpansion::trapLimit() {
  std::optional<uint64_t> limit = whileLoop().getMaxTrip();
  if (!limit || whileLoop().getOnLimit() == LimitPolicy::stop)
    return std::nullopt;
  return static_cast<int64_t>(*limit);
}

Value PairExpansion::mostTrips(StepBuilder &at, Value trips, Value more) {
  Value end = at.add(trips, more);
  std::optional<int64_t> limit = trapLimit();
  if (!limit)
    return end;
  Value last = at.number(*limit);
  return at.pick(at.compare(CompareKind::lt, end, last), end, last);
}

Values PairExpansion::trap(Values carries, Value trips) {
  std::optional<int64_t> limit = trapLimit();
  if (!limit)
    return carries;
  WhileOp check = buildWhile(
      b, loc, carries, concat({captures, trips}),
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(loc, inner);
        Value more = holds(inner, a.take_front(n), a.slice(n, captures.size()));
        return {c.both(more, c.compare(CompareKind::ge, a.back(), c.number(*limit)))};
      },
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        return nextCarries(inner, a.back(), a.take_front(n), a.slice(n, captures.size()));
      },
      0, LimitPolicy::trap);
  // The loop of which this is the end says so.
  std::string count = std::to_string(*limit);
  check->setAttr(kLimitMessage, b.getStringAttr("a loop requires at most " + count +
                                                " trips, its condition still holds after " + count));
  return Values(check.getCarries());
}

//===- whole forward loops -----------------------------------------------------------------------------===//

Value PairExpansion::forwardPlain() {
  if (isCounted()) {
    Values results = buildCounted(
        inits(), stepped.count,
        [&](OpBuilder &inner, ValueRange index, ValueRange carried, ValueRange slices, ValueRange captured) -> Values {
          Values yields = ownTrip(inner, index, carried, slices, captured);
          return concat({ValueRange(yields).take_front(n), keptOf(yields)});
        });
    replaceForward(ValueRange(results).take_front(n), stepped.count, ValueRange(results).drop_front(n));
    return stepped.count;
  }
  WhileOp forward = buildWhile(
      b, loc, inits(), captures,
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        return {holds(inner, a.take_front(n), a.drop_front(n))};
      },
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        Values yields = stepped.step(inner, Value(), a.take_front(n), a.drop_front(n));
        return concat({ValueRange(yields).take_front(n), keptOf(yields)});
      },
      whileLoop().getMaxTrip(), whileLoop().getOnLimit());
  Value trips = forward.getTrips();
  replaceForward(forward.getCarries(), trips, forward.getStacks());
  return trips;
}

/// The for or scan with other carries, one more capture, and those stacks that others read.
Values PairExpansion::buildCounted(ValueRange init, Value further, TripBuilder trip) {
  Values outside;
  for (size_t k = 0; k < pair.loop.captures; ++k)
    outside.push_back(pair.loop.capture(k));
  outside.push_back(further);
  size_t carried = init.size();
  if (auto loop = dyn_cast<ForOp>(pair.loop.op))
    return Values(buildFor(b, loc, loop.getLower(), loop.getUpper(), loop.getStep(), init, outside,
                           [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                             return trip(inner, a[0], a.slice(1, carried), {}, a.drop_front(1 + carried));
                           })
                      .getResults());
  SmallVector<int64_t> outAxes;
  SmallVector<bool> outReverse;
  for (unsigned k : pair.kept) {
    outAxes.push_back(pair.loop.stackAxis(k));
    outReverse.push_back(pair.loop.stackReverse(k));
  }
  auto scan = cast<ScanOp>(pair.loop.op);
  return Values(buildScan(b, loc, init, scan.getSequences(), outside, scan.getAxes(), scan.getReverse(), outAxes,
                          outReverse,
                          [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                            return trip(inner, {}, a.take_front(carried), a.slice(carried, pair.loop.sequences),
                                        a.drop_front(carried + pair.loop.sequences));
                          })
                    .getResults());
}

/// What a trip of the loop in buildCounted yields.
Values PairExpansion::ownTrip(OpBuilder &inner, ValueRange index, ValueRange carries, ValueRange slices,
                              ValueRange captured) {
  return inlineBody(inner, loc, *pair.loop.body, concat({index, carries, slices, captured.drop_back()}));
}

Snapshots PairExpansion::forwardCounted(const Snapshots &start, Value place, bool keepsLast, PlaceBuilder next) {
  size_t kept = n + 2;
  // Carries: c, the trip's number, snapshots, where to keep the next.
  auto trip = [&](OpBuilder &inner, ValueRange index, ValueRange carried, ValueRange slices, ValueRange captured) {
    StepBuilder c(loc, inner);
    Value t = carried[n], place = carried[n + 1 + kept], last = captured.back();
    Value isPlace = c.compare(CompareKind::eq, t, place);
    if (!keepsLast)
      isPlace = c.both(isPlace, c.compare(CompareKind::lt, t, last));
    CondOp stored = buildCond(
        inner, loc, isPlace, concat({carried.drop_front(n + 1), carried.take_front(n), t, last}),
        [&](OpBuilder &deep, Location, ValueRange a) -> Values {
          StepBuilder d(loc, deep);
          Value t = a[kept + 1 + n];
          Snapshots more = Snapshots::of(a.take_front(kept)).keep(d, a.slice(kept + 1, n), t);
          return concat({more.values(), next(d, t, a.back(), more.count)});
        },
        [&](OpBuilder &, Location, ValueRange a) -> Values { return Values(a.take_front(kept + 1)); });
    Values yields = ownTrip(inner, index, carried.take_front(n), slices, captured);
    return concat({ValueRange(yields).take_front(n), c.add(t, 1), stored.getResults(), keptOf(yields)});
  };
  Values init = concat({inits(), b.number(0), start.values(), place});
  Values results = buildCounted(init, b.sub(stepped.count, 1), trip);
  replaceForward(ValueRange(results).take_front(n), stepped.count, ValueRange(results).drop_front(init.size()));
  return Snapshots::of(ValueRange(results).slice(n + 1, kept));
}

void PairExpansion::replaceForward(ValueRange carries, Value trips, ValueRange stacks) {
  if (!isCounted())
    whileLoop().getTrips().replaceAllUsesWith(trips);
  for (size_t k = 0; k < n; ++k)
    pair.loop.carry(k).replaceAllUsesWith(b.retype(carries[k], pair.loop.carry(k).getType()));
  for (auto [k, stack] : llvm::zip(pair.kept, stacks))
    pair.loop.stack(k).replaceAllUsesWith(b.retype(stack, pair.loop.stack(k).getType()));
}

//===- the backward scan's parts -----------------------------------------------------------------------===//

SmallVector<unsigned> PairExpansion::otherSequences() {
  SmallVector<unsigned> others;
  for (unsigned k = 0; k < pair.scan.getSequences().size(); ++k)
    if (llvm::none_of(pair.saved, [&](auto entry) { return entry.second == k; }))
      others.push_back(k);
  return others;
}

Values PairExpansion::scanOutside() {
  Values outside;
  for (unsigned k : otherSequences())
    outside.push_back(pair.scan.getSequences()[k]);
  llvm::append_range(outside, pair.scan.getCaptures());
  return outside;
}

Values PairExpansion::reverseTrip(OpBuilder &at, ValueRange cotangents, ValueRange yields, ValueRange outside,
                                  Value t) {
  StepBuilder c(loc, at);
  ScanOp scan = pair.scan;
  Values slices(scan.getSequences().size());
  for (auto [stack, sequence] : pair.saved)
    slices[sequence] = yields[n + stack];
  SmallVector<unsigned> otherNumbers = otherSequences();
  ValueRange others = outside.take_front(otherNumbers.size());
  for (auto [other, sequence] : llvm::zip(others, otherNumbers)) {
    // Trip t of the forward loop is step N - 1 - t of the scan.
    Value place = t;
    if (!scan.getReverse()[sequence])
      place = c.sub(c.sub(c.size(other, scan.getAxes()[sequence]), t), 1);
    slices[sequence] = c.make<GatherOp>(other, place, scan.getAxes()[sequence]);
  }
  return inlineBody(at, loc, scan.getBodyRegion(), concat({cotangents, slices, outside.drop_front(others.size())}));
}

void PairExpansion::finish(ValueRange results) {
  for (auto [from, to] : llvm::zip(pair.scan.getResults(), results))
    from.replaceAllUsesWith(b.retype(to, from.getType()));
  pair.scan.erase();
  pair.loop.op->erase();
}
