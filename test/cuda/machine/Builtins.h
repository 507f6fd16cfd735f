// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that device code calls and the machine provides; and what instructions of several lanes share.
#pragma once

#include "Decode.h"

#include <bit>

namespace sinter::ptx {

/// The routine of a provided function; null if there is none.
Handler builtin(std::string_view name);

/// Runs `f` for the lanes that name each other in `members` once all of them are here; the others wait.
template <class F> void collective(Warp &w, const Inst &i, Mask m, const Mask *members, F f) {
  while (m) {
    const unsigned lane = std::countr_zero(m);
    const Mask named = members[lane];
    Mask same = 0;
    for (Mask at = m; at; at &= at - 1)
      if (members[std::countr_zero(at)] == named)
        same |= at & -at;
    m &= ~same;
    if (same & ~named)
      w.fault(FaultKind::Invalid, i, std::countr_zero(same & ~named), "this lane is not in its own mask of members");
    if (named & ~w.initial)
      if (named != ~0u || w.initial != w.live) // a block that ends within the warp
        w.fault(FaultKind::Invalid, i, lane, "the mask of members names lanes that do not exist");
    if (named & w.live & ~same)
      w.waitForLanes(i, same, named);
    else
      f(same);
  }
}

} // namespace sinter::ptx
