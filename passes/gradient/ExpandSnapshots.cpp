// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// binomial(SLOTS) and online(SLOTS):
//
//   online    forward   while { keep c, after dropping half of what is kept if there is no slot;
//                               while (up to the next place) c = body(c) }
//   binomial  forward   a while as it was; a for or scan keeps carries on the way, as it knows its number of trips
//   both      backward  for t = N - 1 to 0 { go from the last kept carries to trip t, keeping carries on the way;
//                                            reverse trip t }

#include "ir/Regions.h"
#include "passes/gradient/PairExpansion.h"

using namespace mlir;
using namespace sinter;

using Values = PairExpansion::Values;

/// The snapshots, and the number of trips.
using Forward = std::pair<Snapshots, Value>;

/// What online keeps at the start of a trip: snapshots, then their distance.
static Values keepOnline(const PairExpansion &e, StepBuilder &at, ValueRange carries, Value trips,
                         ValueRange snapshotsAndStride) {
  size_t kept = e.n + 2;
  int64_t slots = e.pair.policy.count;
  Value isFirst = at.compare(CompareKind::eq, trips, at.number(0));
  Value isFull = at.compare(CompareKind::eq, snapshotsAndStride[kept - 1], at.number(slots));
  CondOp thinned = buildCond(
      at, e.loc, at.both(isFull, at.make<NotOp>(isFirst)), snapshotsAndStride,
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        return concat({Snapshots::of(a.take_front(kept)).thin(c, slots).values(), c.add(a[kept], a[kept])});
      },
      [](OpBuilder &, Location, ValueRange a) -> Values { return Values(a); });
  Value stride = thinned.getResult(kept);
  Value past = at.make<RemOp>(trips, stride);
  Value isPlace = at.both(at.compare(CompareKind::eq, past, at.number(0)), at.make<NotOp>(isFirst));
  CondOp stored = buildCond(
      at, e.loc, isPlace, concat({thinned.getResults().take_front(kept), carries, trips}),
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        return Snapshots::of(a.take_front(kept)).keep(c, a.slice(kept, e.n), a.back()).values();
      },
      [&](OpBuilder &, Location, ValueRange a) -> Values { return Values(a.take_front(kept)); });
  return concat({stored.getResults(), stride});
}

/// online(SLOTS) of a while: the kept ones lie `stride` trips apart, from the start on.
static Forward forwardOnline(PairExpansion &e) {
  size_t n = e.n, kept = n + 2;
  Snapshots start = Snapshots::start(e.b, e.inits(), e.pair.policy.count);
  // Carries: c, trips, snapshots, stride.
  WhileOp forward = buildWhile(
      e.b, e.loc, concat({e.inits(), e.b.number(0), start.values(), e.b.number(1)}), e.captures,
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        Value more = e.goesOn(c, a.take_front(n), a.take_back(e.captures.size()), a[n]);
        return {c.both(more, c.compare(CompareKind::lt, a[n], e.mostTrips(c, a[n], c.number(1))))};
      },
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        ValueRange carries = a.take_front(n), captured = a.take_back(e.captures.size());
        Value trips = a[n];
        Values snapshots = keepOnline(e, c, carries, trips, a.slice(n + 1, kept + 1));
        if (!e.pair.kept.empty()) { // one trip at a time, as what others read is stacked trip by trip
          Values yields = e.stepped.step(inner, trips, carries, captured);
          return concat({ValueRange(yields).take_front(n), c.add(trips, 1), snapshots, e.keptOf(yields)});
        }
        Value stride = snapshots.back();
        Value most = e.mostTrips(c, trips, c.sub(stride, c.make<RemOp>(trips, stride)));
        auto [next, after] = e.runUpTo(c, carries, captured, trips, most);
        return concat({next, after, snapshots});
      });
  Value trips = forward.getCarries()[n];
  e.replaceForward(e.trap(Values(forward.getCarries().take_front(n)), trips), trips, forward.getStacks());
  return {Snapshots::of(forward.getCarries().slice(n + 1, kept)), trips};
}

static Forward forwardBinomial(PairExpansion &e) {
  StepBuilder &b = e.b;
  int64_t slots = e.pair.policy.count;
  Snapshots start = Snapshots::start(b, e.inits(), slots);
  if (!e.isCounted())
    return {start, e.forwardPlain()};
  Value place = nextPlace(b, b.number(0), b.sub(e.stepped.count, 1), b.number(slots - 1));
  auto next = [&](StepBuilder &at, Value t, Value last, Value count) {
    return nextPlace(at, t, last, at.sub(at.number(slots), count));
  };
  // Nothing is gained by keeping what the last trip begins with.
  return {e.forwardCounted(start, place, /*keepsLast=*/false, next), e.stepped.count};
}

/// The carries that trip `t` begins with, from the last of `snapshots` on, then snapshots with more of them on the way.
static Values runTo(PairExpansion &e, StepBuilder &at, const Snapshots &snapshots, Value t, ValueRange captured) {
  size_t n = e.n, kept = n + 2;
  auto placeAfter = [&](StepBuilder &c, Value from, Value target, Value count) {
    return nextPlace(c, from, target, c.sub(c.number(e.pair.policy.count), count));
  };
  Value last = at.sub(snapshots.count, 1);
  Value from = at.load(snapshots.places, last), next = placeAfter(at, from, t, snapshots.count);
  Values carries = e.advance(at, from, next, snapshots.load(at, last), captured);
  // Carries: c, its trip, snapshots.
  WhileOp walk = buildWhile(
      at, e.loc, concat({carries, next, snapshots.values()}), concat({t, captured}),
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        return {StepBuilder(e.loc, inner).compare(CompareKind::lt, a[n], a[n + 1 + kept])};
      },
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        Snapshots more = Snapshots::of(a.slice(n + 1, kept)).keep(c, a.take_front(n), a[n]);
        Value place = placeAfter(c, a[n], a[n + 1 + kept], more.count);
        Values moved = e.advance(c, a[n], place, a.take_front(n), a.drop_front(n + 2 + kept));
        return concat({moved, place, more.values()});
      });
  return concat({walk.getCarries().take_front(n), walk.getCarries().slice(n + 1, kept)});
}

void sinter::expandSnapshots(PairExpansion &e) {
  bool isOnline = e.pair.policy.kind == CheckpointPolicy::Kind::Online && !e.isCounted();
  auto [start, trips] = isOnline ? forwardOnline(e) : forwardBinomial(e);
  StepBuilder &b = e.b;
  b.setInsertionPoint(e.pair.scan);
  Values outside = e.scanOutside();
  size_t n = e.n, kept = n + 2, cotangents = e.pair.scan.getInit().size();
  ForOp backward =
      buildFor(b, e.loc, b.sub(trips, 1), b.number(-1), b.number(-1), concat({start.values(), e.pair.scan.getInit()}),
               concat({e.captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                 StepBuilder c(e.loc, inner);
                 Value t = a[0];
                 Snapshots snapshots = Snapshots::of(a.slice(1, kept));
                 ValueRange given = a.slice(1 + kept, cotangents),
                            captured = a.slice(1 + kept + cotangents, e.captures.size());
                 // The last one lies at t + 1 at most; then it has served.
                 Value top = c.load(snapshots.places, c.sub(snapshots.count, 1));
                 Value served = c.compare(CompareKind::gt, top, t);
                 snapshots.count = c.pick(served, c.sub(snapshots.count, 1), snapshots.count);
                 Values reached = runTo(e, c, snapshots, t, captured);
                 Values yields = e.stepped.step(inner, t, ValueRange(reached).take_front(n), captured);
                 Values reversed = e.reverseTrip(inner, given, yields, a.take_back(outside.size()), t);
                 return concat({ValueRange(reached).drop_front(n), reversed});
               });
  e.finish(backward.getCarries().drop_front(kept));
}

void sinter::expandFromStart(PairExpansion &e) {
  Value trips = e.forwardPlain();
  StepBuilder &b = e.b;
  b.setInsertionPoint(e.pair.scan);
  Values outside = e.scanOutside(), start = e.inits();
  size_t n = e.n, cotangents = e.pair.scan.getInit().size();
  ForOp backward =
      buildFor(b, e.loc, b.sub(trips, 1), b.number(-1), b.number(-1), e.pair.scan.getInit(),
               concat({start, e.captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                 StepBuilder c(e.loc, inner);
                 ValueRange captured = a.slice(1 + cotangents + n, e.captures.size());
                 Values carries = e.advance(c, c.number(0), a[0], a.slice(1 + cotangents, n), captured);
                 Values yields = e.stepped.step(inner, a[0], carries, captured);
                 return e.reverseTrip(inner, a.slice(1, cotangents), yields, a.take_back(outside.size()), a[0]);
               });
  e.finish(backward.getCarries());
}
