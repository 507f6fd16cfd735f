// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What blocks of a cluster do together: their barrier, and addresses of each other's shared memory.
#include "Families.h"

#include <bit>

namespace sinter::ptx {

// All lanes that have not ended must be here where the instruction is aligned; true once they are.
static bool together(Warp &w, const Inst &i, Mask m) {
  if (!i.aux2 || m == w.live)
    return true;
  w.waitForLanes(i, m, w.live);
  return false;
}

static void arrive(Warp &w, const Inst &i, Mask m) {
  if (!together(w, i, m))
    return;
  if (const Mask twice = m & (w.arrivedNow | w.arrivedBefore))
    w.fault(FaultKind::Invalid, i, unsigned(std::countr_zero(twice)),
            "arrives twice at the barrier of the cluster without barrier.cluster.wait between");
  w.cluster.arrive(w, m, i.aux != 0);
}

static void wait(Warp &w, const Inst &i, Mask m) {
  if (together(w, i, m))
    w.waitForCluster(i, m);
}

void decodeClusterBarrier(Decoder &d) {
  const int what = d.oneOf({"arrive", "wait"});
  if (what < 0)
    d.fail(".arrive or .wait is required");
  d.inst.aux = !d.flag("relaxed");
  d.oneOf({what ? "acquire" : "release"});
  d.inst.aux2 = d.flag("aligned");
  d.expectCount(0, 0);
  d.emit(what ? &wait : &arrive);
}

template <class T> static void mapa(Warp &w, const Inst &i, Mask m) {
  const uint64_t window = i.imm;
  for (; m; m &= m - 1) {
    const auto l = unsigned(std::countr_zero(m));
    const uint64_t address = w.in<T>(i, 0)[l] - window;
    const uint32_t rank = w.in<uint32_t>(i, 1)[l];
    if (address >= uint64_t(1) << 32)
      w.fault(FaultKind::Invalid, i, l, "a generic address that does not lie in shared memory");
    // An address of a block that is not there is told where it is used: LLVM forms them ahead of a branch.
    const uint64_t number = std::min<uint64_t>(uint64_t(rank) + 1, 255);
    w.out<T>(i, 0)[l] = T(window + ((address & 0xffffff) | number << 24));
  }
}

static void decodeMapa(Decoder &d) {
  d.inst.imm = d.flag("shared::cluster") ? 0 : kSharedWindow;
  const Type type = d.type();
  if (type.bits < 32 || (d.inst.imm && type.bits != 64))
    d.unsupported();
  d.expectCount(3, 3);
  d.out(d.operand(0), type);
  d.in(d.operand(1), type);
  d.in(d.operand(2), {Kind::Unsigned, 32});
  d.emit(type.bits == 64 ? &mapa<uint64_t> : &mapa<uint32_t>);
}

template <class T> static void rankOf(Warp &w, const Inst &i, Mask m) {
  for (; m; m &= m - 1) {
    const auto l = unsigned(std::countr_zero(m));
    const uint64_t address = w.in<T>(i, 0)[l] - i.imm, number = address >> 24;
    if (number > w.cluster.blocks.size())
      w.fault(FaultKind::Invalid, i, l, "an address that does not lie in shared memory of the cluster");
    w.out<uint32_t>(i, 0)[l] = number ? uint32_t(number - 1) : w.block.rank;
  }
}

static void decodeRank(Decoder &d) {
  d.inst.imm = d.flag("shared::cluster") ? 0 : kSharedWindow;
  const Type type = d.type();
  if (type.bits < 32 || (d.inst.imm && type.bits != 64))
    d.unsupported();
  d.expectCount(2, 2);
  d.out(d.operand(0), {Kind::Unsigned, 32});
  d.in(d.operand(1), type);
  d.emit(type.bits == 64 ? &rankOf<uint64_t> : &rankOf<uint32_t>);
}

std::vector<Instruction> clusterInstructions() {
  return {{"mapa", decodeMapa, "u32, u64; .shared::cluster or generic"},
          {"getctarank", decodeRank, "u32, u64; .shared::cluster or generic"}};
}

} // namespace sinter::ptx
