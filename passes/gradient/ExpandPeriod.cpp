// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// period(K):
//
//   forward   while { keep c; while (at most K trips) c = body(c) }
//   backward  for each kept c, last first { run K trips with stacks; scan them in reverse }
//
// A for or scan stays the loop that it was, and keeps carries on the way.

#include "ir/Regions.h"
#include "passes/gradient/PairExpansion.h"

using namespace mlir;
using namespace sinter;

using Values = PairExpansion::Values;

namespace {
struct Segments {
  /// For each carry what the segments begin with, as rows.
  Values snapshots;
  Value count, trips;
};
} // namespace

static Segments segmentsOfCounted(PairExpansion &e) {
  StepBuilder &b = e.b;
  int64_t period = e.pair.policy.count;
  Value count = b.make<DivOp>(b.add(e.stepped.count, period - 1), b.number(period));
  Snapshots start = Snapshots::start(b, e.inits(), b.make<MaxOp>(count, b.number(1)));
  start.count = b.number(0);
  Snapshots kept = e.forwardCounted(start, b.number(0), /*keepsLast=*/true,
                                    [&](StepBuilder &at, Value t, Value, Value) { return at.add(t, period); });
  return {kept.buffers, count, e.stepped.count};
}

/// Each segment of a while is a loop of its own, which stacks what it starts with.
static Segments segmentsOfWhile(PairExpansion &e) {
  size_t n = e.n;
  WhileOp forward = buildWhile(
      e.b, e.loc, concat({e.inits(), e.b.number(0)}), e.captures,
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        Value more = e.goesOn(c, a.take_front(n), a.drop_front(n + 1), a[n]);
        return {c.both(more, c.compare(CompareKind::lt, a[n], e.mostTrips(c, a[n], c.number(1))))};
      },
      [&](OpBuilder &inner, Location, ValueRange a) -> Values {
        StepBuilder c(e.loc, inner);
        Value most = e.mostTrips(c, a[n], c.number(e.pair.policy.count));
        auto [carries, trips] = e.runUpTo(c, a.take_front(n), a.drop_front(n + 1), a[n], most);
        return concat({carries, trips, a.take_front(n)});
      });
  Value trips = forward.getCarries()[n];
  if (e.pair.kept.empty())
    e.replaceForward(e.trap(Values(forward.getCarries().take_front(n)), trips), trips, {});
  else // segments differ in length, so that their stacks do not make one: what others read is stacked by another run
    e.forwardPlain();
  return {Values(forward.getStacks()), forward.getTrips(), trips};
}

/// Runs `size` trips from trip `first` on; stacks of what the scan reads of them.
static Values stackAgain(PairExpansion &e, StepBuilder &at, ValueRange start, Value first, Value size,
                         ValueRange captured) {
  size_t n = e.n;
  ForOp again = buildFor(at, e.loc, at.number(0), size, at.number(1), start, concat({captured, first}),
                         [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                           Value t = StepBuilder(e.loc, inner).add(a.back(), a[0]);
                           Values yields = e.stepped.step(inner, t, a.slice(1, n), a.slice(1 + n, captured.size()));
                           Values kept(yields.begin(), yields.begin() + n);
                           for (auto [stack, sequence] : e.pair.saved)
                             kept.push_back(yields[n + stack]);
                           return kept;
                         });
  return Values(again.getStacks());
}

/// The cotangents after `size` trips from trip `first` on, of which `stacks` hold what stackAgain stacked.
static Values reverseAll(PairExpansion &e, StepBuilder &at, ValueRange cotangents, ValueRange stacks, Value first,
                         Value size, ValueRange outside) {
  size_t given = cotangents.size(), places = stacks.size();
  ForOp reversed = buildFor(at, e.loc, at.sub(size, 1), at.number(-1), at.number(-1), cotangents,
                            concat({stacks, first, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                              StepBuilder c(e.loc, inner);
                              Values yields(e.n + e.pair.loop.stacks);
                              for (auto [k, entry] : llvm::enumerate(e.pair.saved))
                                yields[e.n + entry.first] = c.load(a[1 + given + k], a[0]);
                              Value t = c.add(a[1 + given + places], a[0]);
                              return e.reverseTrip(inner, a.slice(1, given), yields, a.take_back(outside.size()), t);
                            });
  return Values(reversed.getCarries());
}

void sinter::expandPeriod(PairExpansion &e) {
  Segments segments = e.isCounted() ? segmentsOfCounted(e) : segmentsOfWhile(e);
  StepBuilder &b = e.b;
  b.setInsertionPoint(e.pair.scan);
  Values outside = e.scanOutside();
  size_t n = e.n, cotangents = e.pair.scan.getInit().size();
  // Arguments: the segment's number, cotangents, snapshots, trips, captures, outside.
  ForOp backward =
      buildFor(b, e.loc, b.sub(segments.count, 1), b.number(-1), b.number(-1), e.pair.scan.getInit(),
               concat({segments.snapshots, segments.trips, e.captures, outside}),
               [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                 StepBuilder c(e.loc, inner);
                 ValueRange rows = a.slice(1 + cotangents, n),
                            captured = a.slice(2 + cotangents + n, e.captures.size());
                 Value period = c.number(e.pair.policy.count), first = c.make<MulOp>(a[0], period);
                 Value left = c.sub(a[1 + cotangents + n], first);
                 Value size = c.pick(c.compare(CompareKind::lt, left, period), left, period);
                 Values start;
                 for (Value row : rows)
                   start.push_back(c.load(row, a[0]));
                 Values stacks = stackAgain(e, c, start, first, size, captured);
                 return reverseAll(e, c, a.slice(1, cotangents), stacks, first, size, a.take_back(outside.size()));
               });
  e.finish(backward.getCarries());
}
