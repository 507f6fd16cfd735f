// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bulk copies from shared memory to global memory write at once, and read what lies in shared memory until the thread
// that asked for them has waited for their group: nothing may be written there before, and the thread may not end.
#include "Mbarriers.h"

#include <bit>

namespace sinter::ptx {

void Warp::holdForStore(unsigned lane, const uint8_t *data) {
  const auto chunk = uint32_t(data - block.shared.get()) / 16;
  block.storeReaders.resize(block.sharedBytes / 16 + 1);
  ++block.storeReaders[chunk];
  ++block.storesUnderWay;
  bulkStores[lane].open.push_back(chunk);
}

void Warp::checkStores(const Inst &i, unsigned lane, const Place &place, unsigned bytes) {
  const Block &owner = *place.owner;
  const auto first = place.sharedOffset() / 16, last = first + (bytes - 1) / 16;
  for (uint32_t chunk = first; chunk <= last && chunk < owner.storeReaders.size(); ++chunk)
    if (owner.storeReaders[chunk])
      fault(FaultKind::Race, i, lane,
            "writes what a bulk store reads, whose group was not waited for; " +
                describeIn(*place.region, place.region->base + place.offset, bytes));
}

void Warp::checkStoresAtEnd(const Inst &i, Mask lanes) {
  for (; lanes; lanes &= lanes - 1) {
    const auto lane = unsigned(std::countr_zero(lanes));
    if (!bulkStores[lane].open.empty() || !bulkStores[lane].groups.empty())
      fault(FaultKind::Race, i, lane, "ends while a bulk store reads shared memory, whose group was not waited for");
  }
}

static void commit(Warp &w, const Inst &, Mask m) {
  for (; m; m &= m - 1) {
    Warp::BulkStores &stores = w.bulkStores[unsigned(std::countr_zero(m))];
    stores.groups.push_back(std::move(stores.open));
    stores.open.clear();
  }
}

static void wait(Warp &w, const Inst &i, Mask m) {
  for (; m; m &= m - 1)
    for (Warp::BulkStores &stores = w.bulkStores[unsigned(std::countr_zero(m))]; stores.groups.size() > i.imm;) {
      for (uint32_t chunk : stores.groups.front())
        --w.block.storeReaders[chunk];
      w.block.storesUnderWay -= uint32_t(stores.groups.front().size());
      stores.groups.erase(stores.groups.begin());
    }
}

void decodeBulkGroup(Decoder &d) {
  const bool waits = d.flag("wait_group");
  if (!waits && !d.flag("commit_group"))
    d.unsupported();
  if (waits)
    d.flag("read");
  d.expectCount(waits, waits);
  if (waits && d.operand(0).form != Operand::Integer)
    d.fail("a constant is required");
  if (waits)
    d.inst.imm = d.operand(0).bits;
  d.emit(waits ? &wait : &commit);
}

} // namespace sinter::ptx
