// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What instructions of mbarriers and of the bulk copies that arrive at them share.
#pragma once

#include "Decode.h"

namespace sinter::ptx {

/// The addresses of an instruction: operand number, width and offset of each.
struct Addresses {
  struct One {
    unsigned operand;
    bool wide, generic;
    uint64_t offset;
  } at[3];
  uint64_t get(Warp &w, const Inst &i, unsigned n, unsigned lane) const {
    const One &a = at[n];
    return (a.wide ? w.in<uint64_t>(i, a.operand)[lane] : w.in<uint32_t>(i, a.operand)[lane]) + a.offset;
  }
  Space space(unsigned n, Space otherwise) const { return at[n].generic ? Space::Generic : otherwise; }
};
Addresses::One parseAddress(Decoder &d, const Operand &operand, Space space);

/// A bulk copy to shared memory, whose bytes arrive at the mbarrier of address number `n`.
class Arrival {
public:
  Arrival(Warp &w, const Inst &i, unsigned lane, const Addresses &addresses, unsigned n);
  /// Writes 16 bytes, as the asynchronous proxy.
  void write(Space space, uint64_t to, const uint8_t *data);
  void finish();

private:
  Warp &w;
  const Inst &i;
  unsigned lane;
  Block::Mbarrier &mbarrier;
  int64_t bytes = 0;
};

void decodeBulkGroup(Decoder &d);  // BulkStores.cpp
void decodeBulkCopy(Decoder &d);   // cp.async.bulk, without `async` and `bulk`
void decodeBulkGroup(Decoder &d);  // .commit_group, .wait_group
void decodeTensorCopy(Decoder &d); // and without `tensor`
std::vector<Instruction> mbarrierInstructions();

} // namespace sinter::ptx
