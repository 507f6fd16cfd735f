// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tuning tries for a kernel: one number of its schedule larger or smaller at a time, from what its emitter's plan
// allows.

#include "backends/cpu/CpuBackend.h"
#include "backends/cpu/emit/Emitters.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Numbers near `value`: a register tile's own neighbours, then powers of two apart.
static SmallVector<int64_t> near(const Choice &choice, int64_t value) {
  SmallVector<int64_t> wanted, result;
  if (value <= 64)
    for (int64_t step : {1, -1, 2, -2, 4, -4})
      wanted.push_back(value + step);
  for (int64_t factor : {2, 4, 16}) {
    wanted.push_back(value * factor);
    wanted.push_back(value / factor);
  }
  for (int64_t other : wanted) {
    if (choice.multiple > 1)
      other -= other % choice.multiple;
    if (other != value && other > 0 && choice.allows(other) && !llvm::is_contained(result, other))
      result.push_back(other);
  }
  return result;
}

SmallVector<ScheduleAttr> CpuBackend::neighbours(schedule::KernelSpec &given) {
  auto &spec = static_cast<KernelSpec &>(given);
  ScheduleAttr now = spec.schedule();
  const KernelEmitter *emitter = now ? findEmitter(now.getEmitter()) : nullptr;
  SmallVector<ScheduleAttr> result;
  if (!emitter)
    return result;
  Plan plan = emitter->plan(spec, now);
  if (!plan.takes() || plan.tile.size() != now.getTile().size())
    return result;
  auto add = [&](int64_t lanes, ArrayRef<int64_t> tile, int64_t chunk, ArrayRef<int64_t> packing) {
    auto made = ScheduleAttr::get(now.getContext(), now.getEmitter(), lanes, tile, chunk, packing, now.getZeros());
    // What one number allows may depend on the others.
    Plan its = emitter->plan(spec, made);
    if (its.takes() && its.check(made).empty())
      result.push_back(made);
  };
  if (plan.chunk.chosen)
    for (int64_t chunk : near(plan.chunk, now.getChunk()))
      add(now.getLanes(), now.getTile(), chunk, now.getPacking());
  for (unsigned i = 0; i < plan.tile.size(); ++i) {
    SmallVector<int64_t> tile(now.getTile());
    if (!plan.tile[i].chosen)
      continue;
    for (int64_t number : near(plan.tile[i], now.getTile()[i])) {
      tile[i] = number;
      add(now.getLanes(), tile, now.getChunk(), now.getPacking());
    }
  }
  if (now.getLanes() > 1 && now.getLanes() / 2 >= plan.lanes.least)
    add(now.getLanes() / 2, now.getTile(), now.getChunk(), now.getPacking());
  if (!now.getPacking().empty() && !plan.needsPacking)
    add(now.getLanes(), now.getTile(), now.getChunk(), {});
  return result;
}
