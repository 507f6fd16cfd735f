// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cp.async: what was copied arrives when its thread waits for it, and not before, so that a missing wait is seen: the
// bytes are marked, and reading or writing them before is a race.
#include "Families.h"
#include "Mbarriers.h"

#include <cstring>

namespace sinter::ptx {

static void issue(Warp &w, const Inst &i, Mask m) {
  const unsigned bytes = i.aux & 255;
  const bool partial = i.ins > 2, conditional = i.aux2 & 0x10000;
  for (; m; m &= m - 1) {
    const unsigned l = unsigned(__builtin_ctz(m));
    uint64_t to = (i.aux & 0x100 ? w.in<uint64_t>(i, 0)[l] : w.in<uint32_t>(i, 0)[l]) + (i.imm & 0xffffffff);
    uint64_t from =
        (i.aux & 0x80000000 ? w.in<uint64_t>(i, 1)[l] : w.in<uint32_t>(i, 1)[l]) + uint64_t(int64_t(i.imm) >> 32);
    uint32_t size = bytes;
    if (partial)
      size =
          conditional ? ((*w.in<Mask>(i, 2) ^ (i.aux2 & 4 ? ~0u : 0)) >> l & 1 ? 0 : bytes) : w.in<uint32_t>(i, 2)[l];
    if (size > bytes)
      w.fault(FaultKind::Invalid, i, l,
              "src-size " + std::to_string(size) + " of a copy of " + std::to_string(bytes) + " bytes");
    Warp::AsyncCopy copy{};
    copy.line = i.line;
    copy.bytes = uint8_t(bytes);
    if (size) { // what is not read is zero; the address is only looked at if it is
      if (from % bytes)
        w.fault(FaultKind::Misaligned, i, l, "the source of a copy of " + std::to_string(bytes) + " bytes");
      for (unsigned at = 0; at < size;) {
        unsigned step = size - at >= 8 ? 8 : size - at >= 4 ? 4 : size - at >= 2 ? 2 : 1;
        std::memcpy(copy.data + at, w.read(i, l, Space::Global, from + at, step, false), step);
        at += step;
      }
    }
    const Space space = i.aux2 & 0x20000 ? Space::Generic : Space::Shared;
    Warp::Place place = w.locateOwn(i, l, space, to, bytes, true);
    w.noteWrite(i, l, place, bytes, false, i.line);
    for (unsigned n = 0; n < bytes / 4; ++n)
      place.shadow[n].pending = 1; // by the generic proxy: wgmma sees it behind a fence alone
    std::memset(place.valid, 1, bytes);
    copy.address = place.sharedOffset();
    w.async[l].open.push_back(copy);
  }
}

static void finish(Warp &w, unsigned lane, const std::vector<Warp::AsyncCopy> &copies) {
  for (const Warp::AsyncCopy &copy : copies) {
    std::memcpy(w.block.shared.get() + copy.address, copy.data, copy.bytes);
    for (unsigned n = 0; n < copy.bytes / 4u; ++n) {
      Granule &g = w.block.sharedShadow[copy.address / 4 + n];
      g.pending = 0;
      g.writer = w.number(lane); // written now, for whoever looks
      g.writerClock = w.clock[w.slot];
    }
  }
}

static void commit(Warp &w, const Inst &, Mask m) {
  for (; m; m &= m - 1) {
    auto &state = w.async[unsigned(__builtin_ctz(m))];
    state.groups.push_back(std::move(state.open));
    state.open.clear();
  }
}
static void wait(Warp &w, const Inst &i, Mask m) {
  for (; m; m &= m - 1) {
    const unsigned l = unsigned(__builtin_ctz(m));
    auto &state = w.async[l];
    while (state.groups.size() > i.imm) {
      finish(w, l, state.groups.front());
      state.groups.erase(state.groups.begin());
    }
    if (i.aux2) { // wait_all: also what was not committed
      finish(w, l, state.open);
      state.open.clear();
    }
  }
}

static void decodeAsync(Decoder &d) {
  if (!d.flag("async"))
    d.unsupported();
  if (d.flag("bulk"))
    return decodeBulkCopy(d);
  if (d.flag("commit_group")) {
    d.expectCount(0, 0);
    return d.emit(&commit);
  }
  if (d.flag("wait_group")) {
    d.expectCount(1, 1);
    if (d.operand(0).form != Operand::Integer)
      d.fail("a constant is required");
    d.inst.imm = d.operand(0).bits;
    return d.emit(&wait);
  }
  if (d.flag("wait_all")) {
    d.expectCount(0, 0);
    d.inst.aux2 = 1;
    return d.emit(&wait);
  }
  int cache = d.oneOf({"ca", "cg"});
  int to = d.oneOf({"shared", "shared::cta"}), from = d.oneOf({"global"});
  while (!d.takePrefix("L2::").empty())
    ;
  if (cache < 0 || from < 0)
    d.unsupported();
  d.expectCount(3, 4);
  const Operand &size = d.operand(2);
  if (size.form != Operand::Integer || (size.bits != 4 && size.bits != 8 && size.bits != 16) ||
      (cache == 1 && size.bits != 16))
    d.fail("4, 8 or 16 bytes are required, with .cg 16");
  Space space = to < 0 ? Space::Generic : Space::Shared, global = Space::Global;
  bool local;
  d.address(d.operand(0), space, local);
  const uint64_t toOffset = d.inst.imm;
  const bool toWide = d.inst.aux & 0x80000000;
  d.inst.aux = 0;
  d.address(d.operand(1), global, local);
  const int64_t fromOffset = int64_t(d.inst.imm);
  if (toOffset > 0xffffffff || fromOffset > INT32_MAX || fromOffset < INT32_MIN)
    d.fail("an offset is too large");
  d.inst.imm = uint64_t(fromOffset) << 32 | toOffset;
  d.inst.aux |= uint32_t(size.bits) | (toWide ? 0x100 : 0);
  d.inst.aux2 |= to < 0 ? 0x20000 : 0;
  if (d.count() == 4) {
    const Operand &last = d.operand(3);
    if (last.form == Operand::Register && d.typeOf(last).kind == Kind::Pred) {
      d.inPredicate(last); // ignore-src
      d.inst.aux2 |= 0x10000;
    } else
      d.in(last, {Kind::Unsigned, 32});
  }
  d.emit(&issue);
}

std::vector<Instruction> asyncInstructions() {
  return {{"cp", decodeAsync,
           ".async.ca .cg of 4, 8, 16 bytes, src-size, ignore-src; .commit_group .wait_group .wait_all; .bulk between "
           "shared and global with mbarrier or bulk_group, .tensor.1d to .5d by tiles"}};
}

} // namespace sinter::ptx
