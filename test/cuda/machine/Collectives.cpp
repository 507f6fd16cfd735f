// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lanes of a warp do together: shuffles, votes, matches, reductions.
#include "Builtins.h"
#include "Families.h"

namespace sinter::ptx {

static void shfl(Warp &w, const Inst &i, Mask m) {
  collective(w, i, m, w.in<Mask>(i, 3), [&](Mask lanes) {
    const auto *a = w.in<uint32_t>(i, 0), *b = w.in<uint32_t>(i, 1), *c = w.in<uint32_t>(i, 2);
    uint32_t result[32];
    Mask inRange = 0;
    for (Mask at = lanes; at; at &= at - 1) {
      const int lane = std::countr_zero(at);
      const int bval = b[lane] & 31, cval = c[lane] & 31, segmask = c[lane] >> 8 & 31;
      const int maxLane = (lane & segmask) | (cval & ~segmask), minLane = lane & segmask;
      int from = lane;
      bool ok = false;
      switch (i.aux) {
      case 0:
        from = lane - bval, ok = from >= maxLane;
        break; // up
      case 1:
        from = lane + bval, ok = from <= maxLane;
        break; // down
      case 2:
        from = lane ^ bval, ok = from <= maxLane;
        break; // bfly
      default:
        from = minLane | (bval & ~segmask), ok = from <= maxLane;
        break; // idx
      }
      if (!ok)
        from = lane;
      if (!(lanes >> from & 1))
        w.fault(FaultKind::Invalid, i, lane, "reads lane " + std::to_string(from) + ", which does not take part");
      result[lane] = a[from];
      inRange |= Mask(ok) << lane;
    }
    auto *d = w.out<uint32_t>(i, 0);
    for (Mask at = lanes; at; at &= at - 1)
      d[std::countr_zero(at)] = result[std::countr_zero(at)];
    if (i.outs > 1)
      setPredicate(w, i, 1, lanes, inRange);
  });
}

static void decodeShfl(Decoder &d) {
  if (!d.flag("sync"))
    d.fail(".sync is required");
  int mode = d.oneOf({"up", "down", "bfly", "idx"});
  Type type = d.type(), u32{Kind::Bits, 32};
  if (mode < 0 || type.bits != 32)
    d.unsupported();
  d.inst.aux = uint32_t(mode);
  d.expectCount(5, 5);
  const Operand &to = d.operand(0);
  if (to.form == Operand::Pair) {
    d.out(to.parts[0], u32);
    d.outPredicate(to.parts[1]);
  } else
    d.out(to, u32);
  for (unsigned n = 1; n < 5; ++n)
    d.in(d.operand(n), u32);
  d.emit(&shfl);
}

static void vote(Warp &w, const Inst &i, Mask m) {
  collective(w, i, m, w.in<Mask>(i, 1), [&](Mask lanes) {
    const Mask yes = predicate(w, i, 0) & lanes;
    if (i.aux == 3) {
      for (Mask at = lanes; at; at &= at - 1)
        w.out<uint32_t>(i, 0)[std::countr_zero(at)] = yes;
      return;
    }
    const bool result = i.aux == 0 ? yes == lanes : i.aux == 1 ? yes != 0 : !yes || yes == lanes;
    setPredicate(w, i, 0, lanes, result ? ~0u : 0);
  });
}

static void decodeVote(Decoder &d) {
  if (!d.flag("sync"))
    d.fail(".sync is required");
  int mode = d.oneOf({"all", "any", "uni", "ballot"});
  Type type = d.type();
  if (mode < 0)
    d.unsupported();
  d.inst.aux = uint32_t(mode);
  d.expectCount(3, 3);
  d.out(d.operand(0), type);
  d.inPredicate(d.operand(1));
  d.in(d.operand(2), {Kind::Bits, 32});
  d.emit(&vote);
}

template <class T> static void match(Warp &w, const Inst &i, Mask m) {
  collective(w, i, m, w.in<Mask>(i, 1), [&](Mask lanes) {
    const T *a = w.in<T>(i, 0);
    const unsigned first = std::countr_zero(lanes);
    bool all = true;
    for (Mask at = lanes; at; at &= at - 1)
      all &= a[std::countr_zero(at)] == a[first];
    for (Mask at = lanes; at; at &= at - 1) {
      const unsigned lane = std::countr_zero(at);
      Mask same = 0;
      for (Mask other = lanes; other; other &= other - 1)
        if (a[std::countr_zero(other)] == a[lane])
          same |= other & -other;
      w.out<uint32_t>(i, 0)[lane] = i.aux ? (all ? lanes : 0) : same;
    }
    if (i.outs > 1)
      setPredicate(w, i, 1, lanes, all ? ~0u : 0);
  });
}

static void decodeMatch(Decoder &d) {
  if (!d.flag("sync"))
    d.fail(".sync is required");
  int mode = d.oneOf({"any", "all"});
  Type type = d.type();
  d.inst.aux = mode == 1;
  d.expectCount(3, 3);
  const Operand &to = d.operand(0);
  if (to.form == Operand::Pair) {
    d.out(to.parts[0], {Kind::Bits, 32});
    d.outPredicate(to.parts[1]);
  } else
    d.out(to, {Kind::Bits, 32});
  d.in(d.operand(1), type);
  d.in(d.operand(2), {Kind::Bits, 32});
  if (mode >= 0)
    d.emit(type.bits == 64 ? &match<uint64_t> : &match<uint32_t>);
}

static void redux(Warp &w, const Inst &i, Mask m) {
  collective(w, i, m, w.in<Mask>(i, 1), [&](Mask lanes) {
    const auto *a = w.in<uint32_t>(i, 0);
    const unsigned first = std::countr_zero(lanes);
    uint32_t r = a[first];
    for (Mask at = lanes & (lanes - 1); at; at &= at - 1) {
      uint32_t b = a[std::countr_zero(at)];
      switch (i.aux & 15) {
      case 0:
        r += b;
        break;
      case 1:
        r = i.aux & 16 ? uint32_t(std::min(int32_t(r), int32_t(b))) : std::min(r, b);
        break;
      case 2:
        r = i.aux & 16 ? uint32_t(std::max(int32_t(r), int32_t(b))) : std::max(r, b);
        break;
      case 3:
        r &= b;
        break;
      case 4:
        r |= b;
        break;
      case 5:
        r ^= b;
        break;
      }
    }
    for (Mask at = lanes; at; at &= at - 1)
      w.out<uint32_t>(i, 0)[std::countr_zero(at)] = r;
  });
}

static void decodeRedux(Decoder &d) {
  if (!d.flag("sync"))
    d.fail(".sync is required");
  int op = d.oneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = d.type();
  if (op < 0 || type.bits != 32 || type.isFloat())
    d.unsupported();
  d.inst.aux = uint32_t(op) | (type.kind == Kind::Signed ? 16 : 0);
  d.expectCount(3, 3);
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), {Kind::Bits, 32});
  d.emit(&redux);
}

static void activemask(Warp &w, const Inst &i, Mask m) {
  forLanes(m, [d = w.out<uint32_t>(i, 0), m](unsigned l) { d[l] = m; });
}
static void decodeActivemask(Decoder &d) {
  d.type();
  d.expectCount(1, 1);
  d.out(d.operand(0), {Kind::Bits, 32});
  d.emit(&activemask);
}

static void elect(Warp &w, const Inst &i, Mask m) {
  collective(w, i, m, w.in<Mask>(i, 0), [&](Mask lanes) {
    const unsigned leader = std::countr_zero(lanes);
    for (Mask at = lanes; at; at &= at - 1)
      w.out<uint32_t>(i, 0)[std::countr_zero(at)] = leader;
    setPredicate(w, i, 1, lanes, 1u << leader);
  });
}
static void decodeElect(Decoder &d) {
  d.flag("sync");
  d.expectCount(2, 2);
  const Operand &to = d.operand(0);
  if (to.form != Operand::Pair)
    d.fail("d|p is required");
  d.out(to.parts[0], {Kind::Bits, 32});
  d.outPredicate(to.parts[1]);
  d.in(d.operand(1), {Kind::Bits, 32});
  d.emit(&elect);
}

std::vector<Instruction> warpInstructions() {
  return {{"shfl", decodeShfl, ".sync .up .down .bfly .idx b32"},
          {"vote", decodeVote, ".sync .all .any .uni .ballot"},
          {"match", decodeMatch, ".sync .any .all, b32, b64"},
          {"redux", decodeRedux, ".sync, 32-bit integers"},
          {"activemask", decodeActivemask, "b32"},
          {"elect", decodeElect, ".sync"}};
}

} // namespace sinter::ptx
