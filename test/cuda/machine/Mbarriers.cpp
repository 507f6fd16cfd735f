// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarrier objects, and bulk copies that complete on them. A phase ends when no arrival and no byte is missing; it
// carries the clocks of those that arrived to those that wait for it. What a bulk copy writes stays marked until
// somebody has waited for its phase, so that a missing wait is a race. Where all that runs are waits that fail, the
// block does not go on: a deadlock.
#include "Mbarriers.h"

#include <bit>
#include <cstring>
#include <utility>

namespace sinter::ptx {

struct Block::Mbarrier {
  uint32_t expected = 0, pending = 0, phase = 0;
  int64_t bytes = 0; // that are expected and have not come
  struct Known {
    Clock clock, proxied;
  };
  Known arriving[2], completed[2]; // by arrivals of the block itself, and of others of its cluster
  unsigned maker = 0;              // the warp that initialized it
  bool isVisibleToCopies = false;  // a fence followed
  struct Copy {
    uint64_t offset; // in shared memory
    uint64_t bytes;
  };
  std::vector<Copy> inFlight, landed;

  void endPhase() {
    if (pending || bytes)
      return;
    ++phase;
    pending = expected;
    for (int n = 0; n < 2; ++n)
      completed[n] = std::exchange(arriving[n], {});
    landed.insert(landed.end(), inFlight.begin(), inFlight.end());
    inFlight.clear();
  }
};

namespace {
enum Action { Init, Inval, Arrive, Expect, ArriveExpect, CompleteTx, TestWait, TryWait };
struct Use {
  Addresses addresses;
  Action action;
  bool parity = false, relaxed = false, cluster = false; // its order and scope
  int count = -1;                                        // the operand of a count, a state or a parity
  int multicast = -1;                                    // the operand of a mask of blocks
};
} // namespace

Addresses::One parseAddress(Decoder &d, const Operand &operand, Space space) {
  bool local;
  d.inst.aux = 0;
  d.inst.imm = 0;
  Space of = space;
  const unsigned number = d.operandCount();
  d.address(operand, of, local);
  Addresses::One one{number, (d.inst.aux & 0x80000000) != 0, of, d.inst.imm};
  d.inst.aux = 0;
  d.inst.imm = 0;
  return one;
}

static Warp::Place placeOf(Warp &w, const Inst &i, unsigned lane, Space space, uint64_t address, bool forWrite) {
  Warp::Place place = w.locate(i, lane, space, address, 8, forWrite);
  if (!place.owner)
    w.fault(FaultKind::Invalid, i, lane, "an mbarrier must lie in shared memory");
  return place;
}

static Block::Mbarrier &object(Warp &w, const Inst &i, unsigned lane, const Warp::Place &place) {
  auto &all = place.owner->mbarriers;
  auto it = all.find(place.sharedOffset());
  if (it == all.end())
    w.fault(FaultKind::Invalid, i, lane, "no mbarrier was initialized here");
  // Ordered after its initialization; what fence.mbarrier_init showed, a barrier of the cluster without an order shows.
  if (place.owner == &w.block || !it->second->isVisibleToCopies)
    w.noteRead(i, lane, place, 8, true);
  return *it->second;
}

// What the warp did is known to who waits: in its own block, and with the scope of the cluster in others.
static void release(Warp &w, const Block &owner, Block::Mbarrier &m) {
  Block::Mbarrier::Known &known = m.arriving[&owner != &w.block];
  join(known.clock, w.clock);
  join(known.proxied, w.proxied);
  ++w.clock[w.slot];
}

void Block::showMbarriers(unsigned warp) {
  for (auto &[address, m] : mbarriers)
    if (m->maker == warp)
      m->isVisibleToCopies = true;
}

// Many in a row, while nothing else happens to any mbarrier or barrier of the cluster.
static void waitFailed(Warp &w, const Inst &i, unsigned lane, const Block::Mbarrier &m) {
  constexpr uint64_t kMost = 200000;
  if (++w.cluster.failedWaits > kMost)
    w.fault(FaultKind::Deadlock, i, lane,
            "waits for the end of phase " + std::to_string(m.phase) + " of an mbarrier, where " +
                std::to_string(m.pending) + " arrivals and " + std::to_string(m.bytes) + " bytes are missing");
}

static void arrive(Warp &w, const Inst &i, unsigned lane, const Use &use, Block &owner, Block::Mbarrier &m,
                   uint32_t count) {
  if (!count || count > m.pending)
    w.fault(FaultKind::Invalid, i, lane,
            std::to_string(count) + " arrivals at an mbarrier where " + std::to_string(m.pending) + " are missing");
  m.pending -= count;
  w.cluster.failedWaits = 0;
  if (!use.relaxed && (use.cluster || &owner == &w.block))
    release(w, owner, m);
  m.endPhase();
  w.block.progress = true;
}

static void learn(Warp &w, const Use &use, const Block::Mbarrier &m) {
  const uint32_t own = w.clock[w.slot];
  for (int n = 0; n <= int(use.cluster) && !use.relaxed; ++n) {
    join(w.clock, m.completed[n].clock);
    join(w.proxied, m.completed[n].proxied);
  }
  w.clock[w.slot] = own;
}

static void run(Warp &w, const Inst &i, Mask mask) {
  const Use &use = *static_cast<const Use *>(i.extra);
  Mask result = 0;
  bool failed = false;
  for (Mask at = mask; at; at &= at - 1) {
    const unsigned l = unsigned(std::countr_zero(at));
    const uint32_t count =
        use.count >= 0 && !(use.action >= TestWait && !use.parity) ? w.in<uint32_t>(i, unsigned(use.count))[l] : 1;
    const bool isAnothers = use.action == Arrive || use.action == ArriveExpect || use.action == Expect ||
                            use.action == CompleteTx; // may be
    const Warp::Place place = placeOf(w, i, l, use.addresses.at[0].space, use.addresses.get(w, i, 0, l),
                                      use.action == Init || use.action == Inval);
    if (place.owner != &w.block && !isAnothers)
      w.fault(FaultKind::Invalid, i, l, "an mbarrier of another block, at which this one may arrive alone");
    if (use.action == Init) {
      if (!count || count >= 1u << 20)
        w.fault(FaultKind::Invalid, i, l, "an mbarrier of " + std::to_string(count) + " arrivals");
      w.noteWrite(i, l, place, 8, false, i.line);
      std::memset(place.valid, 1, 8);
      auto made = std::make_shared<Block::Mbarrier>();
      made->expected = made->pending = count;
      made->maker = w.index;
      w.block.mbarriers[place.sharedOffset()] = std::move(made);
      continue;
    }
    Block::Mbarrier &m = object(w, i, l, place);
    switch (use.action) {
    case Inval:
      w.noteWrite(i, l, place, 8, false, i.line);
      w.block.mbarriers.erase(place.sharedOffset());
      break;
    case Arrive:
    case ArriveExpect: {
      const uint64_t state = m.phase;
      if (use.action == ArriveExpect)
        m.bytes += count;
      arrive(w, i, l, use, *place.owner, m, use.action == ArriveExpect ? 1 : count);
      if (i.outs)
        w.out<uint64_t>(i, 0)[l] = state;
      break;
    }
    case Expect:
      m.bytes += count;
      break;
    case CompleteTx:
      m.bytes -= count;
      m.endPhase();
      break;
    default: {
      const bool done =
          use.parity ? (m.phase & 1) != (count & 1) : m.phase != uint32_t(w.in<uint64_t>(i, unsigned(use.count))[l]);
      result |= Mask(done) << l;
      failed |= !done;
      if (!done) {
        waitFailed(w, i, l, m);
        break;
      }
      learn(w, use, m);
      for (const auto &copy : m.landed) // somebody has waited
        for (uint64_t n = 0; n < copy.bytes / 4; ++n)
          w.block.sharedShadow[copy.offset / 4 + n].pending = 0;
      m.landed.clear();
    }
    }
  }
  if (use.action >= TestWait) {
    setPredicate(w, i, 0, mask, result);
    if (failed)
      w.yield(); // others must come
  }
}

static void decodeMbarrier(Decoder &d) {
  Use use;
  const bool expect = d.flag("expect_tx");
  int what = d.oneOf({"init", "inval", "arrive", "complete_tx", "test_wait", "try_wait"});
  static const Action actions[] = {Init, Inval, Arrive, CompleteTx, TestWait, TryWait};
  if (what < 0 && !expect)
    d.unsupported();
  use.action = what < 0 ? Expect : actions[what];
  if (expect && use.action == Arrive)
    use.action = ArriveExpect;
  use.parity = d.flag("parity");
  use.relaxed = d.oneOf({"acquire", "release", "relaxed"}) == 2;
  use.cluster = d.oneOf({"cta", "cluster"}) == 1;
  const int space = d.oneOf({"shared", "shared::cta", "shared::cluster"});
  if (space == 2 && use.action != Arrive && use.action != ArriveExpect && use.action != Expect &&
      use.action != CompleteTx)
    d.unsupported();
  Type type{Kind::Bits, 64}, u32{Kind::Unsigned, 32};
  d.typeIf(type);
  size_t at = 0;
  if (use.action >= TestWait)
    d.outPredicate(d.operand(at++));
  else if ((use.action == Arrive || use.action == ArriveExpect) && d.operand(0).form != Operand::Address) {
    if (space == 2 && d.operand(0).form != Operand::Sink)
      d.fail("an arrival in .shared::cluster has no state");
    d.out(d.operand(at++), {Kind::Bits, 64});
  }
  use.addresses.at[0] = parseAddress(d, d.operand(at++),
                                     space < 0    ? Space::Generic
                                     : space == 2 ? Space::SharedCluster
                                                  : Space::Shared);
  if (at < d.count()) {
    const bool state = use.action >= TestWait && !use.parity;
    use.count = int(d.in(d.operand(at++), state ? Type{Kind::Bits, 64} : u32));
  }
  if (use.action >= TestWait && at < d.count())
    d.in(d.operand(at++), u32); // how long to wait: a turn
  if (at != d.count() || (use.count < 0 && use.action != Inval && use.action != Arrive))
    d.fail("a wrong number of operands");
  d.inst.extra = d.keep(use);
  d.emit(&run);
}

namespace {
struct Bulk {
  uint32_t bytes;
  uint64_t to, from;
};
} // namespace

static Bulk bulkOf(Warp &w, const Inst &i, const Use &use, unsigned l) {
  const Bulk bulk{w.in<uint32_t>(i, unsigned(use.count))[l], use.addresses.get(w, i, 0, l),
                  use.addresses.get(w, i, 1, l)};
  if (bulk.bytes % 16 || bulk.to % 16 || bulk.from % 16)
    w.fault(FaultKind::Misaligned, i, l,
            "a bulk copy of " + std::to_string(bulk.bytes) + " bytes; addresses and size must be multiples of 16");
  return bulk;
}

std::vector<Target> targets(Warp &w, const Inst &i, unsigned lane, const Addresses &addresses, int multicast) {
  const Target one{addresses.at[0].space, addresses.get(w, i, 0, lane), addresses.at[2].space,
                   addresses.get(w, i, 2, lane)};
  if (multicast < 0)
    return {one};
  const uint32_t mask = w.in<uint16_t>(i, unsigned(multicast))[lane];
  const size_t blocks = w.cluster.blocks.size();
  if (!mask || mask >> blocks)
    w.fault(FaultKind::Invalid, i, lane,
            "a multicast to the blocks of mask " + std::to_string(mask) + " in a cluster of " + std::to_string(blocks));
  std::vector<Target> all;
  for (unsigned rank = 0; rank < blocks; ++rank)
    if (mask >> rank & 1) {
      const auto there = [&](uint64_t address) { return (address & 0xffffff) | uint64_t(rank + 1) << 24; };
      all.push_back({Space::SharedCluster, there(one.to), Space::SharedCluster, there(one.mbarrier)});
    }
  return all;
}

Arrival::Arrival(Warp &w, const Inst &i, unsigned lane, const Target &target)
    : w(w), i(i), lane(lane), target(target),
      owner(placeOf(w, i, lane, target.mbarrierSpace, target.mbarrier, false).owner),
      mbarrier(object(w, i, lane, placeOf(w, i, lane, target.mbarrierSpace, target.mbarrier, false))) {
  if (!mbarrier.isVisibleToCopies)
    w.fault(FaultKind::Race, i, lane,
            "the mbarrier was initialized, and no fence.proxy.async or fence.mbarrier_init followed that copies see");
}

void Arrival::write(uint64_t to, const uint8_t *data) {
  Warp::Place place = w.locate(i, lane, target.space, to, 16, true);
  if (place.owner && place.owner != owner)
    w.fault(FaultKind::Invalid, i, lane, "the copy goes to another block than that of its mbarrier");
  w.noteAsyncWrite(i, lane, place, 16);
  std::memcpy(place.data, data, 16);
  std::memset(place.valid, 1, 16);
  mbarrier.inFlight.push_back({place.sharedOffset(), 16});
  bytes += 16;
}

void Arrival::finish() {
  release(w, w.block, mbarrier); // whoever waits sees the copy
  mbarrier.bytes -= bytes;
  w.cluster.failedWaits = 0;
  mbarrier.endPhase();
}

// To shared memory, completing on an mbarrier.
static void bulkLoad(Warp &w, const Inst &i, Mask mask) {
  const Use &use = *static_cast<const Use *>(i.extra);
  for (; mask; mask &= mask - 1) {
    const unsigned l = unsigned(std::countr_zero(mask));
    const auto [bytes, to, from] = bulkOf(w, i, use, l);
    w.launch.bulkBytes += bytes;
    for (const Target &target : targets(w, i, l, use.addresses, use.multicast)) {
      Arrival arrival(w, i, l, target);
      for (uint32_t n = 0; n < bytes; n += 16)
        arrival.write(target.to + n, w.read(i, l, Space::Global, from + n, 16, false));
      arrival.finish();
    }
  }
}
// From shared memory.
static void bulkStore(Warp &w, const Inst &i, Mask mask) {
  const Use &use = *static_cast<const Use *>(i.extra);
  for (; mask; mask &= mask - 1) {
    const unsigned l = unsigned(std::countr_zero(mask));
    const auto [bytes, to, from] = bulkOf(w, i, use, l);
    for (uint32_t n = 0; n < bytes; n += 16) {
      uint8_t data[16];
      const uint8_t *shared = w.readAsync(i, l, use.addresses.at[1].space, from + n, 16);
      w.holdForStore(l, shared);
      std::memcpy(data, shared, 16);
      std::memcpy(w.write(i, l, Space::Global, to + n, 16, false), data, 16);
    }
  }
}

void decodeBulkCopy(Decoder &d) {
  if (std::ranges::any_of(d.words,
                          [](const std::string &word) { return word.ends_with("_group") && word != "bulk_group"; }))
    return decodeBulkGroup(d);
  if (d.flag("tensor"))
    return decodeTensorCopy(d);
  const bool complete = d.flag("mbarrier::complete_tx::bytes"), group = d.flag("bulk_group"),
             multicast = d.flag("multicast::cluster");
  if (complete == group || (multicast && !complete) || d.words.size() != 2)
    d.unsupported();
  const bool toShared = d.words[0].starts_with("shared") && d.words[1] == "global",
             toGlobal = d.words[0] == "global" && d.words[1].starts_with("shared");
  if ((complete && !toShared) || (group && !toGlobal))
    d.unsupported();
  const Space to = !toShared ? Space::Global : d.words[0] == "shared::cluster" ? Space::SharedCluster : Space::Shared;
  if (multicast && to != Space::SharedCluster)
    d.unsupported();
  d.words.clear();
  d.expectCount((complete ? 4 : 3) + multicast, (complete ? 4 : 3) + multicast);
  Use use;
  use.action = Init;
  use.addresses.at[0] = parseAddress(d, d.operand(0), to);
  use.addresses.at[1] = parseAddress(d, d.operand(1), toShared ? Space::Global : Space::Shared);
  use.count = int(d.in(d.operand(2), {Kind::Unsigned, 32}));
  if (complete)
    use.addresses.at[2] = parseAddress(d, d.operand(3), to);
  if (multicast)
    use.multicast = int(d.in(d.operand(4), {Kind::Bits, 16}));
  d.inst.extra = d.keep(use);
  d.emit(complete ? &bulkLoad : &bulkStore);
}

std::vector<Instruction> mbarrierInstructions() {
  return {{"mbarrier", decodeMbarrier,
           ".init .inval .arrive .arrive.expect_tx .expect_tx .complete_tx .test_wait .try_wait, .parity"}};
}

} // namespace sinter::ptx
