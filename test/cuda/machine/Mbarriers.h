// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What instructions of mbarriers and of the bulk copies that arrive at them share.
#pragma once

#include "Decode.h"

namespace sinter::ptx {

/// The addresses of an instruction: operand number, width and offset of each.
struct Addresses {
  struct One {
    unsigned operand;
    bool wide;
    Space space;
    uint64_t offset;
  } at[3];
  uint64_t get(Warp &w, const Inst &i, unsigned n, unsigned lane) const {
    const One &a = at[n];
    return (a.wide ? w.in<uint64_t>(i, a.operand)[lane] : w.in<uint32_t>(i, a.operand)[lane]) + a.offset;
  }
};
Addresses::One parseAddress(Decoder &d, const Operand &operand, Space space);

/// Where a bulk copy goes in shared memory, and the mbarrier at which it arrives.
struct Target {
  Space space;
  uint64_t to;
  Space mbarrierSpace;
  uint64_t mbarrier;
};
/// Of address 0 with the mbarrier of address 2; with an operand `multicast`, the same places in all blocks of its mask.
std::vector<Target> targets(Warp &w, const Inst &i, unsigned lane, const Addresses &addresses, int multicast);

/// A bulk copy to shared memory, whose bytes arrive at an mbarrier there.
class Arrival {
public:
  Arrival(Warp &w, const Inst &i, unsigned lane, const Target &target);
  /// Writes 16 bytes at this address, as the asynchronous proxy.
  void write(uint64_t to, const uint8_t *data);
  uint64_t begin() const { return target.to; }
  void finish();

private:
  Warp &w;
  const Inst &i;
  unsigned lane;
  Target target;
  Block *owner;
  Block::Mbarrier &mbarrier;
  int64_t bytes = 0;
};

void decodeBulkGroup(Decoder &d);  // BulkStores.cpp
void decodeBulkCopy(Decoder &d);   // cp.async.bulk, without `async` and `bulk`
void decodeBulkGroup(Decoder &d);  // .commit_group, .wait_group
void decodeTensorCopy(Decoder &d); // and without `tensor`
std::vector<Instruction> mbarrierInstructions();

} // namespace sinter::ptx
