// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mbarrier objects, and bulk copies that complete on them. A phase ends when no arrival and no byte is missing; it
// carries the clocks of those that arrived to those that wait for it. What a bulk copy writes stays marked until
// somebody has waited for its phase, so that a missing wait is a race. Where all that runs are waits that fail, the
// block does not go on: a deadlock.
#include "Mbarriers.h"

#include <bit>
#include <cstring>

namespace sinter::ptx {

struct Block::Mbarrier {
  uint32_t expected = 0, pending = 0, phase = 0;
  int64_t bytes = 0; // that are expected and have not come
  Clock arriving, completed, arrivingProxied, completedProxied;
  unsigned maker = 0;             // the warp that initialized it
  bool isVisibleToCopies = false; // a fence followed
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
    completed = std::move(arriving);
    completedProxied = std::move(arrivingProxied);
    arriving.clear();
    arrivingProxied.clear();
    landed.insert(landed.end(), inFlight.begin(), inFlight.end());
    inFlight.clear();
  }
};

namespace {
enum Action { Init, Inval, Arrive, Expect, ArriveExpect, CompleteTx, TestWait, TryWait };
struct Use {
  Addresses addresses;
  Action action;
  bool parity = false;
  int count = -1; // the operand of a count, a state or a parity
};
} // namespace

Addresses::One parseAddress(Decoder &d, const Operand &operand, Space space) {
  bool local;
  d.inst.aux = 0;
  d.inst.imm = 0;
  Space of = space;
  const unsigned number = d.operandCount();
  d.address(operand, of, local);
  Addresses::One one{number, (d.inst.aux & 0x80000000) != 0, of == Space::Generic, d.inst.imm};
  d.inst.aux = 0;
  d.inst.imm = 0;
  return one;
}

static Block::Mbarrier &object(Warp &w, const Inst &i, unsigned lane, const Addresses &a, unsigned n) {
  Warp::Place place = w.locate(i, lane, a.space(n, Space::Shared), a.get(w, i, n, lane), 8, false);
  if (!place.shadow || place.region->base >= kDeviceBase)
    w.fault(FaultKind::Invalid, i, lane, "an mbarrier must lie in shared memory");
  const uint32_t key = uint32_t(place.data - w.block.shared.get());
  auto it = w.block.mbarriers.find(key);
  if (it == w.block.mbarriers.end())
    w.fault(FaultKind::Invalid, i, lane, "no mbarrier was initialized here");
  w.noteRead(i, lane, place, 8, true); // ordered after its initialization
  return *it->second;
}

static void release(Warp &w, Block::Mbarrier &m) {
  join(m.arriving, w.clock);
  join(m.arrivingProxied, w.proxied);
  ++w.clock[w.index];
}

void Block::showMbarriers(unsigned warp) {
  for (auto &[address, m] : mbarriers)
    if (m->maker == warp)
      m->isVisibleToCopies = true;
}

// Many in a row, while nothing else happens to any mbarrier or barrier of the block.
static void waitFailed(Warp &w, const Inst &i, unsigned lane, const Block::Mbarrier &m) {
  constexpr uint64_t kMost = 200000;
  if (++w.block.failedWaits > kMost)
    w.fault(FaultKind::Deadlock, i, lane,
            "waits for the end of phase " + std::to_string(m.phase) + " of an mbarrier, where " +
                std::to_string(m.pending) + " arrivals and " + std::to_string(m.bytes) + " bytes are missing");
}

static void arrive(Warp &w, const Inst &i, unsigned lane, Block::Mbarrier &m, uint32_t count) {
  if (!count || count > m.pending)
    w.fault(FaultKind::Invalid, i, lane,
            std::to_string(count) + " arrivals at an mbarrier where " + std::to_string(m.pending) + " are missing");
  m.pending -= count;
  w.block.failedWaits = 0;
  release(w, m);
  m.endPhase();
  w.block.progress = true;
}

static void run(Warp &w, const Inst &i, Mask mask) {
  const Use &use = *static_cast<const Use *>(i.extra);
  Mask result = 0;
  bool failed = false;
  for (Mask at = mask; at; at &= at - 1) {
    const unsigned l = unsigned(std::countr_zero(at));
    const uint32_t count =
        use.count >= 0 && !(use.action >= TestWait && !use.parity) ? w.in<uint32_t>(i, unsigned(use.count))[l] : 1;
    if (use.action == Init) {
      Warp::Place place = w.locate(i, l, use.addresses.space(0, Space::Shared), use.addresses.get(w, i, 0, l), 8, true);
      if (!place.shadow || place.region->base >= kDeviceBase)
        w.fault(FaultKind::Invalid, i, l, "an mbarrier must lie in shared memory");
      if (!count || count >= 1u << 20)
        w.fault(FaultKind::Invalid, i, l, "an mbarrier of " + std::to_string(count) + " arrivals");
      w.noteWrite(i, l, place, 8, false, i.line);
      std::memset(place.valid, 1, 8);
      auto made = std::make_shared<Block::Mbarrier>();
      made->expected = made->pending = count;
      made->maker = w.index;
      w.block.mbarriers[uint32_t(place.data - w.block.shared.get())] = std::move(made);
      continue;
    }
    Block::Mbarrier &m = object(w, i, l, use.addresses, 0);
    switch (use.action) {
    case Inval: {
      Warp::Place place = w.locate(i, l, use.addresses.space(0, Space::Shared), use.addresses.get(w, i, 0, l), 8, true);
      w.noteWrite(i, l, place, 8, false, i.line);
      w.block.mbarriers.erase(uint32_t(place.data - w.block.shared.get()));
      break;
    }
    case Arrive:
    case ArriveExpect: {
      const uint64_t state = m.phase;
      if (use.action == ArriveExpect)
        m.bytes += count;
      arrive(w, i, l, m, use.action == ArriveExpect ? 1 : count);
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
      const uint32_t own = w.clock[w.index];
      join(w.clock, m.completed);
      join(w.proxied, m.completedProxied);
      w.clock[w.index] = own;
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
  d.oneOf({"acquire", "release", "relaxed"});
  d.oneOf({"cta", "cluster"});
  const bool shared = d.oneOf({"shared", "shared::cta", "shared::cluster"}) >= 0;
  Type type{Kind::Bits, 64}, u32{Kind::Unsigned, 32};
  d.typeIf(type);
  size_t at = 0;
  if (use.action >= TestWait)
    d.outPredicate(d.operand(at++));
  else if ((use.action == Arrive || use.action == ArriveExpect) && d.operand(0).form != Operand::Address)
    d.out(d.operand(at++), {Kind::Bits, 64});
  use.addresses.at[0] = parseAddress(d, d.operand(at++), shared ? Space::Shared : Space::Generic);
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

Arrival::Arrival(Warp &w, const Inst &i, unsigned lane, const Addresses &addresses, unsigned n)
    : w(w), i(i), lane(lane), mbarrier(object(w, i, lane, addresses, n)) {
  if (!mbarrier.isVisibleToCopies)
    w.fault(FaultKind::Race, i, lane,
            "the mbarrier was initialized, and no fence.proxy.async or fence.mbarrier_init followed that copies see");
}

void Arrival::write(Space space, uint64_t to, const uint8_t *data) {
  Warp::Place place = w.locate(i, lane, space, to, 16, true);
  w.noteAsyncWrite(i, lane, place, 16);
  std::memcpy(place.data, data, 16);
  std::memset(place.valid, 1, 16);
  mbarrier.inFlight.push_back({uint64_t(place.data - w.block.shared.get()), 16});
  bytes += 16;
}

void Arrival::finish() {
  release(w, mbarrier);
  mbarrier.bytes -= bytes;
  w.block.failedWaits = 0;
  mbarrier.endPhase();
}

// To shared memory, completing on an mbarrier.
static void bulkLoad(Warp &w, const Inst &i, Mask mask) {
  const Use &use = *static_cast<const Use *>(i.extra);
  for (; mask; mask &= mask - 1) {
    const unsigned l = unsigned(std::countr_zero(mask));
    const auto [bytes, to, from] = bulkOf(w, i, use, l);
    Arrival arrival(w, i, l, use.addresses, 2);
    for (uint32_t n = 0; n < bytes; n += 16)
      arrival.write(use.addresses.space(0, Space::Shared), to + n, w.read(i, l, Space::Global, from + n, 16, false));
    arrival.finish();
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
      const uint8_t *shared = w.readAsync(i, l, use.addresses.space(1, Space::Shared), from + n, 16);
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
  const bool complete = d.flag("mbarrier::complete_tx::bytes"), group = d.flag("bulk_group");
  if (complete == group || d.words.size() != 2)
    d.unsupported();
  const bool toShared = d.words[0].starts_with("shared") && d.words[1] == "global",
             toGlobal = d.words[0] == "global" && d.words[1].starts_with("shared");
  if ((complete && !toShared) || (group && !toGlobal))
    d.unsupported();
  d.words.clear();
  d.expectCount(complete ? 4 : 3, complete ? 4 : 3);
  Use use;
  use.action = Init;
  use.addresses.at[0] = parseAddress(d, d.operand(0), toShared ? Space::Shared : Space::Global);
  use.addresses.at[1] = parseAddress(d, d.operand(1), toShared ? Space::Global : Space::Shared);
  use.count = int(d.in(d.operand(2), {Kind::Unsigned, 32}));
  if (complete)
    use.addresses.at[2] = parseAddress(d, d.operand(3), Space::Shared);
  d.inst.extra = d.keep(use);
  d.emit(complete ? &bulkLoad : &bulkStore);
}

std::vector<Instruction> mbarrierInstructions() {
  return {{"mbarrier", decodeMbarrier,
           ".init .inval .arrive .arrive.expect_tx .expect_tx .complete_tx .test_wait .try_wait, .parity"}};
}

} // namespace sinter::ptx
