// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop whose gradient has been built stacks what its backward scan reads. Under a policy with snapshots
// (CheckpointPolicy.h) the two are written anew: the forward loop keeps carries of a few trips, and the backward loop
// runs forward from these again. Of a while:
//
//   period(K)   forward   while { keep c; while (at most K trips) c = body(c) }
//               backward  for each kept c, last first { run K trips with stacks; scan them in reverse }
//   online(S)   forward   while { keep c, half of the kept ones when there is no place; while (up to the next place) c
//   = body(c) } binomial(S) forward   as it was both        backward  for t = N - 1 to 0 { go from the last kept carry
//   to trip t, keeping carries on the way; reverse trip t }
//
// A for or scan knows its number of trips: it stays the loop that it was, and keeps carries on the way; online is
// binomial there. The kept carries are rows of buffers that loops carry, updated in place.

#include "ir/Composer.h"
#include "ir/Ops.h"
#include "ir/Regions.h"
#include "passes/Passes.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/SteppedLoop.h"
#include "passes/gradient/TripSizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_EXPANDCHECKPOINTS
#include "passes/Passes.h.inc"
} // namespace sinter

using Values = SmallVector<Value>;

static Values concat(std::initializer_list<ValueRange> parts) {
  Values all;
  for (ValueRange part : parts)
    llvm::append_range(all, part);
  return all;
}

namespace {
/// A loop with its backward scan.
struct Pair {
  LoopView loop;
  ScanOp scan;
  CheckpointPolicy policy;
  /// Stacks that only the scan walks: numbers of the loop's stacks and of the scan's sequences.
  SmallVector<std::pair<unsigned, unsigned>> saved = {};
  /// Stacks that others read.
  SmallVector<unsigned> kept = {};
};

class Expansion {
public:
  Expansion(Pair pair, OpBuilder &start)
      : pair(pair), loc(pair.loop.op->getLoc()), n(pair.loop.carries), b(loc, start), stepped(pair.loop, b) {}

  void dropStacks() {
    captures = stepped.outside;
    forwardPlain();
    pair.loop.op->erase();
  }
  void run() {
    captures = stepped.outside;
    if (pair.policy.kind == CheckpointPolicy::Kind::Period)
      expandPeriod();
    else if (pair.policy.count == 1)
      expandFromStart();
    else
      expandSnapshots();
  }

private:
  //===- the forward loop's parts

  WhileOp whileLoop() { return cast<WhileOp>(pair.loop.op); }
  bool isCounted() const { return stepped.count != nullptr; }
  Values inits() {
    Values values;
    for (size_t k = 0; k < n; ++k)
      values.push_back(pair.loop.init(k));
    return values;
  }

  Value holds(OpBuilder &at, ValueRange carries, ValueRange captured) {
    return inlineBody(at, loc, whileLoop().getCondRegion(), concat({carries, captured}))[0];
  }
  /// Whether another trip runs after `trips`.
  Value goesOn(StepBuilder &at, ValueRange carries, ValueRange captured, Value trips) {
    Value more = holds(at, carries, captured);
    if (std::optional<uint64_t> limit = whileLoop().getMaxTrip();
        limit && whileLoop().getOnLimit() == LimitPolicy::stop)
      more = at.both(more, at.compare(CompareKind::lt, trips, at.number(static_cast<int64_t>(*limit))));
    return more;
  }
  Values nextCarries(OpBuilder &at, Value t, ValueRange carries, ValueRange captured) {
    Values yields = stepped.step(at, t, carries, captured);
    yields.truncate(n);
    return yields;
  }
  /// Of a trip's yields those that others than the scan read.
  Values keptOf(ValueRange yields) {
    Values kept;
    for (unsigned k : pair.kept)
      kept.push_back(yields[n + k]);
    return kept;
  }

  /// while (trips < limit of this run, and goes on) body; carries and the number of trips in all.
  std::pair<Values, Value> runUpTo(StepBuilder &at, ValueRange carries, ValueRange captured, Value trips, Value most) {
    Values init = concat({carries, trips}), outside = concat({captured, most});
    WhileOp run = buildWhile(
        at, loc, init, outside,
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

  /// The carries after `limit`, where a loop that must not reach it still would go on: an error as before.
  Values trap(Values carries, Value trips) {
    std::optional<uint64_t> limit = whileLoop().getMaxTrip();
    if (!limit || whileLoop().getOnLimit() == LimitPolicy::stop)
      return carries;
    WhileOp check = buildWhile(
        b, loc, carries, concat({captures, trips}),
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          Value more = holds(inner, a.take_front(n), a.slice(n, captures.size()));
          Value reached = c.compare(CompareKind::ge, a.back(), c.number(static_cast<int64_t>(*limit)));
          return {c.both(more, reached)};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          return nextCarries(inner, a.back(), a.take_front(n), a.slice(n, captures.size()));
        },
        0, LimitPolicy::trap);
    check->setAttr("sinter.whole_limit", b.getI64IntegerAttr(static_cast<int64_t>(*limit))); // for the message
    return Values(check.getCarries());
  }
  Value mostTrips(StepBuilder &at, Value trips, Value more) {
    Value end = at.add(trips, more);
    std::optional<uint64_t> limit = whileLoop().getMaxTrip();
    if (!limit || whileLoop().getOnLimit() == LimitPolicy::stop)
      return end;
    // A loop that must not reach its limit stops there, for trap() to see.
    Value last = at.number(static_cast<int64_t>(*limit));
    return at.pick(at.compare(CompareKind::lt, end, last), end, last);
  }

  //===- the backward scan's parts

  /// One reversed trip: the scan's body on cotangents, what the trip saved, and slices of the other sequences at trip
  /// `t`.
  Values reverseTrip(OpBuilder &at, ValueRange cotangents, ValueRange yields, ValueRange outside, Value t) {
    StepBuilder c(loc, at);
    ScanOp scan = pair.scan;
    size_t sequences = scan.getSequences().size();
    Values slices(sequences);
    for (auto [stack, sequence] : pair.saved)
      slices[sequence] = yields[n + stack];
    ValueRange others = outside.take_front(otherSequences().size());
    for (auto [k, sequence] : llvm::enumerate(otherSequences())) {
      // Trip t of the forward loop is step N - 1 - t of the scan.
      Value place = t;
      if (!scan.getReverse()[sequence])
        place = c.sub(c.sub(c.size(others[k], scan.getAxes()[sequence]), t), 1);
      slices[sequence] = c.make<GatherOp>(others[k], place, scan.getAxes()[sequence]);
    }
    return inlineBody(at, loc, scan.getBodyRegion(), concat({cotangents, slices, outside.drop_front(others.size())}));
  }
  SmallVector<unsigned> otherSequences() {
    SmallVector<unsigned> others;
    for (unsigned k = 0; k < pair.scan.getSequences().size(); ++k)
      if (llvm::none_of(pair.saved, [&](auto entry) { return entry.second == k; }))
        others.push_back(k);
    return others;
  }
  /// What reverseTrip reads from outside: other sequences, then the scan's captures.
  Values scanOutside() {
    Values outside;
    for (unsigned k : otherSequences())
      outside.push_back(pair.scan.getSequences()[k]);
    llvm::append_range(outside, pair.scan.getCaptures());
    return outside;
  }

  /// `stacks` are those of pair.kept.
  void replaceForward(ValueRange carries, Value trips, ValueRange stacks) {
    if (!isCounted())
      whileLoop().getTrips().replaceAllUsesWith(trips);
    for (size_t k = 0; k < n; ++k)
      pair.loop.carry(k).replaceAllUsesWith(b.retype(carries[k], pair.loop.carry(k).getType()));
    for (auto [k, stack] : llvm::zip(pair.kept, stacks))
      pair.loop.stack(k).replaceAllUsesWith(b.retype(stack, pair.loop.stack(k).getType()));
  }
  void finish(ValueRange results) {
    for (auto [from, to] : llvm::zip(pair.scan.getResults(), results))
      from.replaceAllUsesWith(b.retype(to, from.getType()));
    pair.scan.erase();
    pair.loop.op->erase();
  }

  //===- period

  struct Segments {
    Values snapshots;
    Value count, trips;
  };
  /// Each segment of a while is a loop of its own, which stacks what it starts with.
  Segments forwardSegments() {
    WhileOp forward = buildWhile(
        b, loc, concat({inits(), b.number(0)}), captures,
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          Value more = goesOn(c, a.take_front(n), a.drop_front(n + 1), a[n]);
          return {c.both(more, c.compare(CompareKind::lt, a[n], mostTrips(c, a[n], c.number(1))))};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          Value most = mostTrips(c, a[n], c.number(pair.policy.count));
          auto [carries, trips] = runUpTo(c, a.take_front(n), a.drop_front(n + 1), a[n], most);
          return concat({carries, trips, a.take_front(n)});
        });
    Value trips = forward.getCarries()[n];
    if (pair.kept.empty())
      replaceForward(trap(Values(forward.getCarries().take_front(n)), trips), trips, {});
    else // segments differ in length, so that their stacks do not make one: what others read is stacked by another run
      forwardPlain();
    return {Values(forward.getStacks()), forward.getTrips(), trips};
  }

  void expandPeriod() {
    Segments segments;
    if (isCounted()) {
      auto [kept, trips] = forwardCounted();
      segments = {kept.buffers, numSegments(), trips};
    } else {
      segments = forwardSegments();
    }
    Values &snapshots = segments.snapshots;
    Value trips = segments.trips;
    b.setInsertionPoint(pair.scan);
    Values outside = scanOutside();
    size_t cotangents = pair.scan.getInit().size();
    ForOp backward = buildFor(
        b, loc, b.sub(segments.count, 1), b.number(-1), b.number(-1), pair.scan.getInit(),
        concat({snapshots, trips, captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          ValueRange rows = a.slice(1 + cotangents, n), captured = a.slice(2 + cotangents + n, captures.size());
          Value all = a[1 + cotangents + n], first = c.make<MulOp>(a[0], c.number(pair.policy.count));
          Value left = c.sub(all, first), size = c.number(pair.policy.count);
          size = c.pick(c.compare(CompareKind::lt, left, size), left, size);
          Values start;
          for (Value row : rows)
            start.push_back(c.load(row, a[0]));
          // The trips again, stacking what they saved.
          ForOp again = buildFor(inner, loc, c.number(0), size, c.number(1), start, concat({captured, first}),
                                 [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                                   Value t = StepBuilder(loc, deep).add(a.back(), a[0]);
                                   Values yields =
                                       stepped.step(deep, t, a.slice(1, n), a.slice(1 + n, captures.size()));
                                   Values kept(yields.begin(), yields.begin() + n);
                                   for (auto [stack, sequence] : pair.saved)
                                     kept.push_back(yields[n + stack]);
                                   return kept;
                                 });
          // And in reverse.
          Values stacks(again.getStacks());
          size_t places = stacks.size();
          ForOp reversed =
              buildFor(inner, loc, c.sub(size, 1), c.number(-1), c.number(-1), a.slice(1, cotangents),
                       concat({stacks, first, a.take_back(outside.size())}),
                       [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                         StepBuilder d(loc, deep);
                         Values yields(n + pair.loop.stacks);
                         for (auto [k, entry] : llvm::enumerate(pair.saved))
                           yields[n + entry.first] = d.load(a[1 + cotangents + k], a[0]);
                         Value t = d.add(a[1 + cotangents + places], a[0]);
                         return reverseTrip(deep, a.slice(1, cotangents), yields, a.take_back(outside.size()), t);
                       });
          return Values(reversed.getCarries());
        });
    finish(backward.getCarries());
  }

  //===- binomial and online

  /// Buffers of the kept carries, their trips (ascending), and how many there are.
  struct Snapshots {
    Values buffers;
    Value places, count;
    Values all() const { return concat({buffers, places, count}); }
  };
  Snapshots snapshotsIn(ValueRange values) const { return {Values(values.take_front(n)), values[n], values[n + 1]}; }
  /// `rows` is a number or a value.
  template <typename Count> Snapshots startSnapshots(Count rows) {
    Snapshots kept;
    for (Value init : inits())
      kept.buffers.push_back(b.rows(init, rows));
    kept.places = b.rows(b.number(0), rows);
    kept.count = b.number(1);
    return kept;
  }
  Snapshots keep(StepBuilder &at, Snapshots kept, ValueRange carries, Value trip) {
    for (auto [buffer, carry] : llvm::zip(kept.buffers, carries))
      buffer = at.store(buffer, carry, kept.count);
    kept.places = at.store(kept.places, trip, kept.count);
    kept.count = at.add(kept.count, 1);
    return kept;
  }
  /// Every second one.
  Snapshots thin(StepBuilder &at, Snapshots kept) {
    SmallVector<int64_t> even;
    for (int64_t k = 0; k < pair.policy.count; ++k)
      even.push_back(std::min(2 * k, pair.policy.count - 1));
    Value rows = at.make<ConstantOp>(HostTensor::ofInts(at.getI64Type(), even).toAttr());
    for (Value &buffer : kept.buffers)
      buffer = at.load(buffer, rows);
    kept.places = at.load(kept.places, rows);
    kept.count = at.number((pair.policy.count + 1) / 2);
    return kept;
  }

  /// online(SLOTS): the kept ones lie `stride` trips apart, from the start on.
  std::pair<Snapshots, Value> forwardOnline() {
    Snapshots start = startSnapshots(pair.policy.count);
    size_t kept = n + 2;
    // Carries of the loop: c, trips, snapshots, stride.
    WhileOp forward = buildWhile(
        b, loc, concat({inits(), b.number(0), start.all(), b.number(1)}), captures,
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          Value more = goesOn(c, a.take_front(n), a.take_back(captures.size()), a[n]);
          return {c.both(more, c.compare(CompareKind::lt, a[n], mostTrips(c, a[n], c.number(1))))};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          ValueRange carries = a.take_front(n), captured = a.take_back(captures.size());
          Value trips = a[n], stride = a[n + 1 + kept];
          Value isFirst = c.compare(CompareKind::eq, trips, c.number(0));
          auto same = [](OpBuilder &, Location, ValueRange a) -> Values { return Values(a); };
          Value isFull = c.compare(CompareKind::eq, a[n + kept], c.number(pair.policy.count));
          Value mustThin = c.both(isFull, c.make<NotOp>(isFirst));
          CondOp thinned = buildCond(
              inner, loc, mustThin, a.slice(n + 1, kept + 1),
              [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                StepBuilder d(loc, deep);
                return concat({thin(d, snapshotsIn(a)).all(), d.add(a[kept], a[kept])});
              },
              same);
          stride = thinned.getResult(kept);
          Value past = c.make<RemOp>(trips, stride);
          Value isPlace = c.both(c.compare(CompareKind::eq, past, c.number(0)), c.make<NotOp>(isFirst));
          CondOp stored = buildCond(
              inner, loc, isPlace, concat({thinned.getResults().take_front(kept), carries, trips}),
              [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                StepBuilder d(loc, deep);
                return keep(d, snapshotsIn(a), a.slice(kept, n), a.back()).all();
              },
              [&](OpBuilder &, Location, ValueRange a) -> Values { return Values(a.take_front(kept)); });
          if (!pair.kept.empty()) { // one trip at a time, as what others read is stacked trip by trip
            Values yields = stepped.step(inner, trips, carries, captured);
            return concat(
                {ValueRange(yields).take_front(n), c.add(trips, 1), stored.getResults(), stride, keptOf(yields)});
          }
          Value most = mostTrips(c, trips, c.sub(stride, past));
          auto [next, after] = runUpTo(c, carries, captured, trips, most);
          return concat({next, after, stored.getResults(), stride});
        });
    Value trips = forward.getCarries()[n];
    replaceForward(trap(Values(forward.getCarries().take_front(n)), trips), trips, forward.getStacks());
    return {snapshotsIn(forward.getCarries().slice(n + 1, kept)), trips};
  }

  /// The loop as it was, without what it stacked for the scan; the number of trips.
  Value forwardPlain() {
    if (isCounted()) {
      Values results = buildCounted(inits(), stepped.count,
                                    [&](OpBuilder &inner, ValueRange index, ValueRange carried, ValueRange slices,
                                        ValueRange captured) -> Values {
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

  /// One snapshot is the start, from which each trip is run to anew. Carries may change their sizes.
  void expandFromStart() {
    Value trips = forwardPlain();
    b.setInsertionPoint(pair.scan);
    Values outside = scanOutside(), start = inits();
    size_t cotangents = pair.scan.getInit().size();
    ForOp backward =
        buildFor(b, loc, b.sub(trips, 1), b.number(-1), b.number(-1), pair.scan.getInit(),
                 concat({start, captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                   StepBuilder c(loc, inner);
                   ValueRange captured = a.slice(1 + cotangents + n, captures.size());
                   Values carries = advance(c, c.number(0), a[0], a.slice(1 + cotangents, n), captured);
                   Values yields = stepped.step(inner, a[0], carries, captured);
                   return reverseTrip(inner, a.slice(1, cotangents), yields, a.take_back(outside.size()), a[0]);
                 });
    finish(backward.getCarries());
  }

  //===- for and scan

  /// Segments of `period` in a loop of known trips.
  Value numSegments() {
    return b.make<DivOp>(b.add(stepped.count, pair.policy.count - 1), b.number(pair.policy.count));
  }

  using TripBuilder = llvm::function_ref<Values(OpBuilder &, ValueRange index, ValueRange carried, ValueRange slices,
                                                ValueRange captured)>;
  /// The for or scan with other carries, one more capture, and those stacks that others read.
  Values buildCounted(ValueRange init, Value further, TripBuilder trip) {
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
  /// The next carries of the loop in buildCounted, and what others read of the trip.
  Values ownTrip(OpBuilder &inner, ValueRange index, ValueRange carries, ValueRange slices, ValueRange captured) {
    return inlineBody(inner, loc, *pair.loop.body, concat({index, carries, slices, captured.drop_back()}));
  }

  /// The for or scan as it was, without what it stacked for the scan; it keeps the carries of the trips that the
  /// backward part begins with.
  std::pair<Snapshots, Value> forwardCounted() {
    bool isPeriod = pair.policy.kind == CheckpointPolicy::Kind::Period;
    size_t kept = n + 2;
    Value trips = stepped.count, last = b.sub(trips, 1), place = b.number(0);
    Snapshots start;
    if (isPeriod) {
      start = startSnapshots(b.make<MaxOp>(numSegments(), b.number(1)));
      start.count = b.number(0);
    } else {
      start = startSnapshots(pair.policy.count);
      place = nextPlace(b, place, last, b.number(pair.policy.count - 1));
    }
    // Carries: c, the trip's number, snapshots, where to keep the next.
    auto trip = [&](OpBuilder &inner, ValueRange index, ValueRange carried, ValueRange slices, ValueRange captured) {
      StepBuilder c(loc, inner);
      Value t = carried[n], place = carried[n + 1 + kept], last = captured.back();
      Value isPlace = c.compare(CompareKind::eq, t, place);
      if (!isPeriod) // nothing is gained by keeping what the last trip begins with
        isPlace = c.both(isPlace, c.compare(CompareKind::lt, t, last));
      CondOp stored = buildCond(
          inner, loc, isPlace, concat({carried.drop_front(n + 1), carried.take_front(n), t, last}),
          [&](OpBuilder &deep, Location, ValueRange a) -> Values {
            StepBuilder d(loc, deep);
            Value t = a[kept + 1 + n];
            Snapshots more = keep(d, snapshotsIn(a), a.slice(kept + 1, n), t);
            Value next = isPeriod ? d.add(t, pair.policy.count)
                                  : nextPlace(d, t, a.back(), d.sub(d.number(pair.policy.count), more.count));
            return concat({more.all(), next});
          },
          [&](OpBuilder &, Location, ValueRange a) -> Values { return Values(a.take_front(kept + 1)); });
      Values yields = ownTrip(inner, index, carried.take_front(n), slices, captured);
      return concat({ValueRange(yields).take_front(n), c.add(t, 1), stored.getResults(), keptOf(yields)});
    };
    Values init = concat({inits(), b.number(0), start.all(), place});
    Values results = buildCounted(init, last, trip);
    replaceForward(ValueRange(results).take_front(n), trips, ValueRange(results).drop_front(init.size()));
    return {snapshotsIn(ValueRange(results).slice(n + 1, kept)), trips};
  }

  /// Where to keep the next carries on the way from trip `from` to `to`, with `free` places: `to` when none is of use.
  /// With s = free + 1 places C(s + r, r) trips are reversed by going over each at most r times; the first part is what
  /// r - 1 times do.
  Value nextPlace(StepBuilder &at, Value from, Value to, Value free) {
    Value way = at.sub(to, from), one = at.number(1);
    Value hasRoom = at.compare(CompareKind::gt, free, at.number(0));
    Value trips = at.pick(hasRoom, at.add(way, 1), one);
    WhileOp search = buildWhile(
        at, loc, Values{at.number(0), one, one}, Values{at.add(free, 1), trips},
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          return {StepBuilder(loc, inner).compare(CompareKind::lt, a[2], a[4])};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          StepBuilder c(loc, inner);
          Value r = c.add(a[0], 1);
          return {r, a[2], c.make<DivOp>(c.make<MulOp>(a[2], c.add(a[3], r)), r)};
        });
    Value part = search.getCarries()[1];
    part = at.pick(at.compare(CompareKind::lt, part, way), part, way);
    return at.pick(hasRoom, at.add(from, part), to);
  }

  Values advance(StepBuilder &at, Value from, Value to, ValueRange carries, ValueRange captured) {
    ForOp run = buildFor(at, loc, from, to, at.number(1), carries, captured,
                         [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                           return nextCarries(inner, a[0], a.slice(1, n), a.drop_front(1 + n));
                         });
    return Values(run.getCarries());
  }

  void expandSnapshots() {
    bool isOnline = pair.policy.kind == CheckpointPolicy::Kind::Online;
    Snapshots start;
    Value trips;
    if (isCounted())
      std::tie(start, trips) = forwardCounted();
    else if (isOnline)
      std::tie(start, trips) = forwardOnline();
    else
      start = startSnapshots(pair.policy.count), trips = forwardPlain();
    b.setInsertionPoint(pair.scan);
    Values outside = scanOutside();
    size_t kept = n + 2, cotangents = pair.scan.getInit().size();
    ForOp backward =
        buildFor(b, loc, b.sub(trips, 1), b.number(-1), b.number(-1), concat({start.all(), pair.scan.getInit()}),
                 concat({captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                   StepBuilder c(loc, inner);
                   Value t = a[0];
                   Snapshots snapshots = snapshotsIn(a.slice(1, kept));
                   ValueRange given = a.slice(1 + kept, cotangents),
                              captured = a.slice(1 + kept + cotangents, captures.size());
                   // The last one lies at t + 1 at most; then it has served.
                   Value top = c.load(snapshots.places, c.sub(snapshots.count, 1));
                   Value served = c.compare(CompareKind::gt, top, t);
                   snapshots.count = c.pick(served, c.sub(snapshots.count, 1), snapshots.count);
                   Value last = c.sub(snapshots.count, 1), slots = c.number(pair.policy.count);
                   Values carries;
                   for (Value buffer : snapshots.buffers)
                     carries.push_back(c.load(buffer, last));
                   Value from = c.load(snapshots.places, last);
                   Value next = nextPlace(c, from, t, c.sub(slots, snapshots.count));
                   carries = advance(c, from, next, carries, captured);
                   // Carries: c, its trip, snapshots.
                   WhileOp walk = buildWhile(
                       inner, loc, concat({carries, next, snapshots.all()}), concat({t, captured}),
                       [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                         return {StepBuilder(loc, deep).compare(CompareKind::lt, a[n], a[n + 1 + kept])};
                       },
                       [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                         StepBuilder d(loc, deep);
                         Snapshots more = keep(d, snapshotsIn(a.slice(n + 1, kept)), a.take_front(n), a[n]);
                         Value target = a[n + 1 + kept];
                         Value place = nextPlace(d, a[n], target, d.sub(d.number(pair.policy.count), more.count));
                         Values moved = advance(d, a[n], place, a.take_front(n), a.drop_front(n + 2 + kept));
                         return concat({moved, place, more.all()});
                       });
                   Values yields = stepped.step(inner, t, walk.getCarries().take_front(n), captured);
                   Values reversed = reverseTrip(inner, given, yields, a.take_back(outside.size()), t);
                   return concat({walk.getCarries().slice(n + 1, kept), reversed});
                 });
    finish(backward.getCarries().drop_front(kept));
  }

  Pair pair;
  Location loc;
  size_t n;
  StepBuilder b;
  SteppedLoop stepped;
  Values captures;
};
} // namespace

/// The scan that reads stacks of `loop` in reverse. Says why there is none in `reason`, if there should be.
static std::optional<Pair> findPair(LoopView loop, const CheckpointPolicy &policy, StringRef &reason) {
  Pair pair{loop, {}, policy};
  auto sequenceOf = [&](size_t k, OpOperand &use) -> std::optional<unsigned> {
    auto scan = dyn_cast<ScanOp>(use.getOwner());
    if (!scan || scan->getBlock() != loop.op->getBlock())
      return std::nullopt;
    int64_t sequence = static_cast<int64_t>(use.getOperandNumber()) - scan.getInit().size();
    bool isWalked = sequence >= 0 && sequence < static_cast<int64_t>(scan.getSequences().size()) &&
                    scan.getAxes()[sequence] == loop.stackAxis(k) &&
                    scan.getReverse()[sequence] != loop.stackReverse(k);
    return isWalked ? std::optional<unsigned>(sequence) : std::nullopt;
  };
  ArrayRef<int64_t> made;
  if (auto numbers = loop.op->getAttrOfType<DenseI64ArrayAttr>(kStacksForGradient))
    made = numbers;
  for (size_t k = loop.stacks; k-- > 0;) { // those of the gradient come last
    bool isSaved = true;
    for (OpOperand &use : loop.stack(k).getUses())
      isSaved &= sequenceOf(k, use) && (!pair.scan || pair.scan == use.getOwner());
    if (!isSaved && llvm::is_contained(made, static_cast<int64_t>(k))) {
      reason = "its per-trip values are read other than by one backward pass";
      return std::nullopt;
    }
    if (!isSaved) {
      pair.kept.insert(pair.kept.begin(), k);
      continue;
    }
    for (OpOperand &use : loop.stack(k).getUses()) {
      pair.scan = cast<ScanOp>(use.getOwner());
      pair.saved.emplace_back(k, *sequenceOf(k, use));
    }
  }
  if (!pair.scan)
    return pair;
  if (!pair.scan.getStacks().empty()) {
    reason = "its backward pass has per-trip outputs";
    return std::nullopt;
  }
  TripSizes sizes(loop);
  for (size_t k = 0; k < loop.carries && !loop.op->hasAttr(kRunsFromStart); ++k)
    if (!sizes.areFixed(loop.carryArgument(k))) {
      reason = "the size of a carry changes from trip to trip";
      return std::nullopt;
    }
  return pair;
}

static void forEachLoop(Operation *root, llvm::function_ref<void(Operation *)> act) {
  root->walk([&](Operation *op) {
    if (isa<ForOp, ScanOp>(op))
      act(op);
  });
}

static void keepRolled(Operation *op) {
  if (isa<ForOp, ScanOp>(op))
    op->setAttr(kStaysRolled, UnitAttr::get(op->getContext()));
}

/// The loop and what walks its stacks.
static void keepPairRolled(LoopView loop) {
  keepRolled(loop.op);
  for (size_t k = 0; k < loop.stacks; ++k)
    for (Operation *reader : loop.stack(k).getUsers())
      keepRolled(reader);
}

static LogicalResult expand(LoopView loop) {
  FailureOr<CheckpointPolicy> policy = CheckpointPolicy::of(loop.op);
  if (failed(policy))
    return failure();
  if (policy->kind != CheckpointPolicy::Kind::Implicit)
    keepPairRolled(loop);
  StringRef reason;
  bool runsFromStart = loop.op->hasAttr(kRunsFromStart);
  std::optional<Pair> pair = findPair(loop, *policy, reason);
  for (StringRef attribute : {StringRef("sinter.memory"), StringRef(kStacksForGradient), StringRef(kRunsFromStart)})
    loop.op->removeAttr(attribute);
  if (!policy->hasSnapshots())
    return success();
  if (!pair)
    loop.op->emitWarning() << "keeps all values for its gradient: " << reason;
  OpBuilder start(loop.op);
  Operation *function = loop.op->getParentOfType<func::FuncOp>();
  constexpr llvm::StringLiteral isOld = "sinter.old";
  forEachLoop(function, [&](Operation *op) { op->setAttr(isOld, start.getUnitAttr()); });
  llvm::scope_exit markNew([&] {
    forEachLoop(function, [&](Operation *op) {
      if (!op->removeAttr(isOld))
        keepRolled(op);
    });
  });
  if (pair && pair->scan)
    Expansion(*pair, start).run();
  else if (pair && runsFromStart) // sizes differ, so that not even what nothing reads can be stacked
    Expansion(*pair, start).dropStacks();
  return success();
}

/// Outer loops first: their bodies are copied as they are, and what is in the copies comes next.
static LogicalResult expandAll(Operation *function, StringRef attribute) {
  while (true) {
    std::optional<LoopView> found;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!op->hasAttr(attribute))
        return WalkResult::advance();
      found = LoopView::of(op);
      return found ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (!found)
      return success();
    if (failed(expand(*found)))
      return failure();
  }
}

LogicalResult sinter::expandLoopsFromStart(Operation *function) { return expandAll(function, kRunsFromStart); }

namespace {
class ExpandCheckpoints : public sinter::impl::ExpandCheckpointsBase<ExpandCheckpoints> {
  void runOnOperation() override {
    if (failed(expandAll(getOperation(), "sinter.memory")))
      signalPassFailure();
  }
};
} // namespace
