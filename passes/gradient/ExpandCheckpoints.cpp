// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A while whose gradient has been built stacks what its backward scan reads. Under a policy with snapshots
// (CheckpointPolicy.h) the two are written anew: the forward loop keeps carries of a few trips, and the backward loop
// runs forward from these again.
//
//   period(K)   forward   while { keep c; while (at most K trips) c = body(c) }
//               backward  for each kept c, last first { run K trips with stacks; scan them in reverse }
//   online(S)   forward   while { keep c, half of the kept ones when there is no place; while (up to the next place) c
//   = body(c) } binomial(S) forward   as it was both        backward  for t = N - 1 to 0 { go from the last kept carry
//   to trip t, keeping carries on the way; reverse trip t }
//
// The kept carries are rows of buffers that loops carry, updated in place.

#include "ir/Composer.h"
#include "ir/Ops.h"
#include "ir/Regions.h"
#include "passes/Passes.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/TripSizes.h"

#include "mlir/IR/IRMapping.h"

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
/// Rank-0 i64 arithmetic and rows of buffers.
class Builder : public Composer {
public:
  using Composer::Composer;
  Value number(int64_t value) {
    HostTensor tensor(getI64Type(), {});
    tensor.setInt(0, value);
    return make<ConstantOp>(tensor.toAttr());
  }
  Value add(Value a, Value b) { return make<AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<SubOp>(a, b); }
  Value add(Value a, int64_t b) { return add(a, number(b)); }
  Value sub(Value a, int64_t b) { return sub(a, number(b)); }
  Value compare(CompareKind kind, Value a, Value b) { return make<CompareOp>(a, b, kind); }
  Value both(Value a, Value b) { return make<AndOp>(a, b); }
  Value pick(Value pred, Value a, Value b) { return make<SelectOp>(pred, a, b); }

  /// `count` rows like `value`.
  Value rows(Value value, int64_t count) {
    RankedTensorType type = stackType(value.getType(), 0, count);
    return make<BroadcastOp>(value, Value(), ValueRange(), llvm::to_vector(llvm::seq<int64_t>(1, type.getRank())),
                             type);
  }
  Value load(Value buffer, Value row) { return make<GatherOp>(buffer, row, 0); }
  Value store(Value buffer, Value value, Value row) {
    SmallVector<Value> starts{make<ReshapeOp>(row, Value(), RankedTensorType::get({1}, getI64Type()))};
    if (int64_t rank = tensorTypeOf(value).getRank())
      starts.push_back(make<ConstantOp>(HostTensor::ofInts(getI64Type(), SmallVector<int64_t>(rank, 0)).toAttr()));
    Value start = starts.size() == 1 ? starts[0] : make<ConcatenateOp>(starts, 0);
    return make<DynamicUpdateSliceOp>(buffer, rows(value, 1), start);
  }
};

/// A while with its backward scan.
struct Pair {
  WhileOp loop;
  ScanOp scan;
  CheckpointPolicy policy;
  /// Stacks that the scan walks: numbers of the loop's stacks and of the scan's sequences.
  SmallVector<std::pair<unsigned, unsigned>> saved;

  size_t carries() { return loop.getInit().size(); }
};

/// Ops of a region on given values, up to and including its yields.
Values inlineBody(OpBuilder &b, Location loc, Region &region, ValueRange arguments) {
  Composer composer(loc, b);
  IRMapping map;
  for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
    map.map(argument, composer.retype(value, argument.getType()));
  for (Operation &op : region.front().without_terminator())
    b.clone(op, map);
  Values yields;
  for (Value value : region.front().getTerminator()->getOperands())
    yields.push_back(map.lookupOrDefault(value));
  return yields;
}

class Expansion {
public:
  Expansion(Pair pair, OpBuilder &start) : pair(pair), loc(pair.loop.getLoc()), n(pair.carries()), b(loc, start) {}

  void run() {
    captures.assign(pair.loop.getCaptures().begin(), pair.loop.getCaptures().end());
    if (pair.policy.kind == CheckpointPolicy::Kind::Period)
      expandPeriod();
    else
      expandSnapshots();
  }

private:
  //===- the forward loop's parts

  Value holds(OpBuilder &at, ValueRange carries, ValueRange captured) {
    return inlineBody(at, loc, pair.loop.getCondRegion(), concat({carries, captured}))[0];
  }
  /// Whether another trip runs after `trips`.
  Value goesOn(Builder &at, ValueRange carries, ValueRange captured, Value trips) {
    Value more = holds(at, carries, captured);
    if (std::optional<uint64_t> limit = pair.loop.getMaxTrip(); limit && pair.loop.getOnLimit() == LimitPolicy::stop)
      more = at.both(more, at.compare(CompareKind::lt, trips, at.number(static_cast<int64_t>(*limit))));
    return more;
  }
  Values step(OpBuilder &at, ValueRange carries, ValueRange captured) {
    return inlineBody(at, loc, pair.loop.getBodyRegion(), concat({carries, captured}));
  }
  Values nextCarries(OpBuilder &at, ValueRange carries, ValueRange captured) {
    Values yields = step(at, carries, captured);
    yields.truncate(n);
    return yields;
  }

  /// while (trips < limit of this run, and goes on) body; carries and the number of trips in all.
  std::pair<Values, Value> runUpTo(Builder &at, ValueRange carries, ValueRange captured, Value trips, Value most) {
    Values init = concat({carries, trips}), outside = concat({captured, most});
    WhileOp run = buildWhile(
        at, loc, init, outside,
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Value inTime = c.compare(CompareKind::lt, a[n], a.back());
          return {c.both(inTime, goesOn(c, a.take_front(n), a.slice(n + 1, captured.size()), a[n]))};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Values next = nextCarries(inner, a.take_front(n), a.slice(n + 1, captured.size()));
          next.push_back(c.add(a[n], 1));
          return next;
        });
    return {Values(run.getCarries().take_front(n)), run.getCarries()[n]};
  }

  /// The carries after `limit`, where a loop that must not reach it still would go on: an error as before.
  Values trap(Values carries, Value trips) {
    std::optional<uint64_t> limit = pair.loop.getMaxTrip();
    if (!limit || pair.loop.getOnLimit() == LimitPolicy::stop)
      return carries;
    WhileOp check = buildWhile(
        b, loc, carries, concat({captures, trips}),
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Value more = holds(inner, a.take_front(n), a.slice(n, captures.size()));
          Value reached = c.compare(CompareKind::ge, a.back(), c.number(static_cast<int64_t>(*limit)));
          return {c.both(more, reached)};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          return nextCarries(inner, a.take_front(n), a.slice(n, captures.size()));
        },
        0, LimitPolicy::trap);
    return Values(check.getCarries());
  }
  Value mostTrips(Builder &at, Value trips, Value more) {
    Value end = at.add(trips, more);
    std::optional<uint64_t> limit = pair.loop.getMaxTrip();
    if (!limit || pair.loop.getOnLimit() == LimitPolicy::stop)
      return end;
    // A loop that must not reach its limit stops there, for trap() to see.
    Value last = at.number(static_cast<int64_t>(*limit));
    return at.pick(at.compare(CompareKind::lt, end, last), end, last);
  }

  //===- the backward scan's parts

  /// One reversed trip: the scan's body on cotangents, what the trip saved, and slices of the other sequences at trip
  /// `t`.
  Values reverseTrip(OpBuilder &at, ValueRange cotangents, ValueRange yields, ValueRange outside, Value t) {
    Builder c(loc, at);
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

  void replaceForward(ValueRange carries, Value trips) {
    pair.loop.getTrips().replaceAllUsesWith(trips);
    for (auto [from, to] : llvm::zip(pair.loop.getCarries(), carries))
      from.replaceAllUsesWith(b.retype(to, from.getType()));
  }
  void finish(ValueRange results) {
    for (auto [from, to] : llvm::zip(pair.scan.getResults(), results))
      from.replaceAllUsesWith(b.retype(to, from.getType()));
    pair.scan.erase();
    pair.loop.erase();
  }

  //===- period

  void expandPeriod() {
    WhileOp forward = buildWhile(
        b, loc, concat({pair.loop.getInit(), b.number(0)}), captures,
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Value more = goesOn(c, a.take_front(n), a.drop_front(n + 1), a[n]);
          return {c.both(more, c.compare(CompareKind::lt, a[n], mostTrips(c, a[n], c.number(1))))};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Value most = mostTrips(c, a[n], c.number(pair.policy.count));
          auto [carries, trips] = runUpTo(c, a.take_front(n), a.drop_front(n + 1), a[n], most);
          return concat({carries, trips, a.take_front(n)});
        });
    Value trips = forward.getCarries()[n];
    Values carries = trap(Values(forward.getCarries().take_front(n)), trips);
    Values snapshots(forward.getStacks());
    replaceForward(carries, trips);

    b.setInsertionPoint(pair.scan);
    Values outside = scanOutside();
    Value segments = forward.getTrips();
    size_t cotangents = pair.scan.getInit().size();
    ForOp backward = buildFor(
        b, loc, b.sub(segments, 1), b.number(-1), b.number(-1), pair.scan.getInit(),
        concat({snapshots, trips, captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          ValueRange rows = a.slice(1 + cotangents, n), captured = a.slice(2 + cotangents + n, captures.size());
          Value all = a[1 + cotangents + n], first = c.make<MulOp>(a[0], c.number(pair.policy.count));
          Value left = c.sub(all, first), size = c.number(pair.policy.count);
          size = c.pick(c.compare(CompareKind::lt, left, size), left, size);
          Values start;
          for (Value row : rows)
            start.push_back(c.load(row, a[0]));
          // The trips again, stacking what they saved.
          ForOp again = buildFor(inner, loc, c.number(0), size, c.number(1), start, captured,
                                 [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                                   Values yields = step(deep, a.slice(1, n), a.drop_front(1 + n));
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
                         Builder d(loc, deep);
                         Values yields(n + pair.loop.getStacks().size());
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
  Snapshots startSnapshots() {
    Snapshots kept;
    for (Value init : pair.loop.getInit())
      kept.buffers.push_back(b.rows(init, pair.policy.count));
    kept.places = b.rows(b.number(0), pair.policy.count);
    kept.count = b.number(1);
    return kept;
  }
  Snapshots keep(Builder &at, Snapshots kept, ValueRange carries, Value trip) {
    for (auto [buffer, carry] : llvm::zip(kept.buffers, carries))
      buffer = at.store(buffer, carry, kept.count);
    kept.places = at.store(kept.places, trip, kept.count);
    kept.count = at.add(kept.count, 1);
    return kept;
  }
  /// Every second one.
  Snapshots thin(Builder &at, Snapshots kept) {
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
    Snapshots start = startSnapshots();
    size_t kept = n + 2;
    // Carries of the loop: c, trips, snapshots, stride.
    WhileOp forward = buildWhile(
        b, loc, concat({pair.loop.getInit(), b.number(0), start.all(), b.number(1)}), captures,
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Value more = goesOn(c, a.take_front(n), a.take_back(captures.size()), a[n]);
          return {c.both(more, c.compare(CompareKind::lt, a[n], mostTrips(c, a[n], c.number(1))))};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          ValueRange carries = a.take_front(n), captured = a.take_back(captures.size());
          Value trips = a[n], stride = a[n + 1 + kept];
          Value isFirst = c.compare(CompareKind::eq, trips, c.number(0));
          auto same = [](OpBuilder &, Location, ValueRange a) -> Values { return Values(a); };
          Value isFull = c.compare(CompareKind::eq, a[n + kept], c.number(pair.policy.count));
          Value mustThin = c.both(isFull, c.make<NotOp>(isFirst));
          CondOp thinned = buildCond(
              inner, loc, mustThin, a.slice(n + 1, kept + 1),
              [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                Builder d(loc, deep);
                return concat({thin(d, snapshotsIn(a)).all(), d.add(a[kept], a[kept])});
              },
              same);
          stride = thinned.getResult(kept);
          Value past = c.make<RemOp>(trips, stride);
          Value isPlace = c.both(c.compare(CompareKind::eq, past, c.number(0)), c.make<NotOp>(isFirst));
          CondOp stored = buildCond(
              inner, loc, isPlace, concat({thinned.getResults().take_front(kept), carries, trips}),
              [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                Builder d(loc, deep);
                return keep(d, snapshotsIn(a), a.slice(kept, n), a.back()).all();
              },
              [&](OpBuilder &, Location, ValueRange a) -> Values { return Values(a.take_front(kept)); });
          Value most = mostTrips(c, trips, c.sub(stride, past));
          auto [next, after] = runUpTo(c, carries, captured, trips, most);
          return concat({next, after, stored.getResults(), stride});
        });
    Value trips = forward.getCarries()[n];
    Values carries = trap(Values(forward.getCarries().take_front(n)), trips);
    replaceForward(carries, trips);
    return {snapshotsIn(forward.getCarries().slice(n + 1, kept)), trips};
  }

  /// The loop as it was, without what it stacked for the scan.
  std::pair<Snapshots, Value> forwardPlain() {
    Snapshots start = startSnapshots();
    WhileOp forward = buildWhile(
        b, loc, pair.loop.getInit(), captures,
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          return {holds(inner, a.take_front(n), a.drop_front(n))};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          return nextCarries(inner, a.take_front(n), a.drop_front(n));
        },
        pair.loop.getMaxTrip(), pair.loop.getOnLimit());
    Value trips = forward.getTrips();
    replaceForward(forward.getCarries(), trips);
    return {start, trips};
  }

  /// Where to keep the next carries on the way from trip `from` to `to`, with `free` places: `to` when none is of use.
  /// With s = free + 1 places C(s + r, r) trips are reversed by going over each at most r times; the first part is what
  /// r - 1 times do.
  Value nextPlace(Builder &at, Value from, Value to, Value free) {
    Value way = at.sub(to, from), one = at.number(1);
    Value hasRoom = at.compare(CompareKind::gt, free, at.number(0));
    Value trips = at.pick(hasRoom, at.add(way, 1), one);
    WhileOp search = buildWhile(
        at, loc, Values{at.number(0), one, one}, Values{at.add(free, 1), trips},
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          return {Builder(loc, inner).compare(CompareKind::lt, a[2], a[4])};
        },
        [&](OpBuilder &inner, Location, ValueRange a) -> Values {
          Builder c(loc, inner);
          Value r = c.add(a[0], 1);
          return {r, a[2], c.make<DivOp>(c.make<MulOp>(a[2], c.add(a[3], r)), r)};
        });
    Value part = search.getCarries()[1];
    part = at.pick(at.compare(CompareKind::lt, part, way), part, way);
    return at.pick(hasRoom, at.add(from, part), to);
  }

  Values advance(Builder &at, Value from, Value to, ValueRange carries, ValueRange captured) {
    ForOp run = buildFor(at, loc, from, to, at.number(1), carries, captured,
                         [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                           return nextCarries(inner, a.slice(1, n), a.drop_front(1 + n));
                         });
    return Values(run.getCarries());
  }

  void expandSnapshots() {
    auto [start, trips] = pair.policy.kind == CheckpointPolicy::Kind::Online ? forwardOnline() : forwardPlain();
    b.setInsertionPoint(pair.scan);
    Values outside = scanOutside();
    size_t kept = n + 2, cotangents = pair.scan.getInit().size();
    ForOp backward =
        buildFor(b, loc, b.sub(trips, 1), b.number(-1), b.number(-1), concat({start.all(), pair.scan.getInit()}),
                 concat({captures, outside}), [&](OpBuilder &inner, Location, ValueRange a) -> Values {
                   Builder c(loc, inner);
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
                         return {Builder(loc, deep).compare(CompareKind::lt, a[n], a[n + 1 + kept])};
                       },
                       [&](OpBuilder &deep, Location, ValueRange a) -> Values {
                         Builder d(loc, deep);
                         Snapshots more = keep(d, snapshotsIn(a.slice(n + 1, kept)), a.take_front(n), a[n]);
                         Value target = a[n + 1 + kept];
                         Value place = nextPlace(d, a[n], target, d.sub(d.number(pair.policy.count), more.count));
                         Values moved = advance(d, a[n], place, a.take_front(n), a.drop_front(n + 2 + kept));
                         return concat({moved, place, more.all()});
                       });
                   Values yields = step(inner, walk.getCarries().take_front(n), captured);
                   Values reversed = reverseTrip(inner, given, yields, a.take_back(outside.size()), t);
                   return concat({walk.getCarries().slice(n + 1, kept), reversed});
                 });
    finish(backward.getCarries().drop_front(kept));
  }

  Pair pair;
  Location loc;
  size_t n;
  Builder b;
  Values captures;
};
} // namespace

/// The scan that reads the stacks of `loop` in reverse, if these have no other reader. Says why not in `reason`.
static std::optional<Pair> findPair(WhileOp loop, const CheckpointPolicy &policy, StringRef &reason) {
  Pair pair{loop, {}, policy, {}};
  for (auto [k, stack] : llvm::enumerate(loop.getStacks()))
    for (OpOperand &use : stack.getUses()) {
      auto scan = dyn_cast<ScanOp>(use.getOwner());
      if (!scan || (pair.scan && pair.scan != scan)) {
        reason = "its per-trip values are read by more than one backward pass";
        return std::nullopt;
      }
      pair.scan = scan;
      int64_t sequence = static_cast<int64_t>(use.getOperandNumber()) - scan.getInit().size();
      bool isSequence = sequence >= 0 && sequence < static_cast<int64_t>(scan.getSequences().size());
      if (!isSequence || scan.getAxes()[sequence] != 0 || !scan.getReverse()[sequence] || !scan.getStacks().empty() ||
          scan->getBlock() != loop->getBlock()) {
        reason = "its per-trip values are read other than by a backward pass";
        return std::nullopt;
      }
      pair.saved.emplace_back(k, sequence);
    }
  TripSizes sizes(*LoopView::of(loop));
  for (BlockArgument carry : loop.getBodyRegion().getArguments().take_front(loop.getInit().size()))
    if (pair.scan && !sizes.areFixed(carry)) {
      reason = "the size of a carry changes from trip to trip";
      return std::nullopt;
    }
  return pair;
}

namespace {
class ExpandCheckpoints : public sinter::impl::ExpandCheckpointsBase<ExpandCheckpoints> {
  void runOnOperation() override {
    // Outer loops first: their bodies are copied as they are, and what is in the copies comes next.
    while (WhileOp loop = findNext()) {
      FailureOr<CheckpointPolicy> policy = CheckpointPolicy::of(loop);
      if (failed(policy))
        return signalPassFailure();
      loop->removeAttr("sinter.memory");
      if (!policy->hasSnapshots())
        continue;
      StringRef reason;
      std::optional<Pair> pair = findPair(loop, *policy, reason);
      if (!pair)
        loop.emitWarning() << "keeps all values for its gradient: " << reason;
      if (!pair || !pair->scan)
        continue;
      OpBuilder start(loop);
      Expansion(*pair, start).run();
    }
  }

  WhileOp findNext() {
    WhileOp found;
    getOperation()->walk<WalkOrder::PreOrder>([&](WhileOp loop) {
      if (!loop->hasAttr("sinter.memory"))
        return WalkResult::advance();
      found = loop;
      return WalkResult::interrupt();
    });
    return found;
  }
};
} // namespace
