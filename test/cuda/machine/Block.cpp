// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks and launches: barriers, the turns of warps and of blocks, and what a launch must satisfy.
#include "Machine.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

namespace sinter::ptx {

Block::Block(Launch &launch, uint64_t index) : launch(launch), index(index) {
  static std::atomic<uint32_t> stamps = 0;
  stamp = ++stamps;
  id = {uint32_t(index % launch.grid.x), uint32_t(index / launch.grid.x % launch.grid.y),
        uint32_t(index / launch.grid.x / launch.grid.y)};
  uint32_t dynamicAt = (launch.module->sharedBytes + 1023) / 1024 * 1024;
  sharedBytes = dynamicAt + launch.dynamicShared;
  if (sharedBytes) {
    shared = zeroArray<uint8_t>(sharedBytes + 16);
    sharedValid = zeroArray<uint8_t>(sharedBytes + 16);
    sharedShadow = zeroArray<Granule>(sharedBytes / 4 + 4);
    auto add = [&](uint32_t offset, uint64_t size, std::string name) {
      Region region;
      region.base = kSharedBase + offset;
      region.size = size;
      region.data = shared.get() + offset;
      region.valid = sharedValid.get() + offset;
      region.shadow = sharedShadow.get() + offset / 4;
      region.name = std::move(name);
      sharedRegions.push_back(std::move(region));
    };
    for (const SharedVariable &variable : launch.module->shared)
      if (variable.variable->size && (!variable.owner || variable.owner == launch.code->function))
        add(variable.offset - kSharedBase, variable.variable->size, "shared variable " + variable.variable->name);
    if (launch.dynamicShared)
      add(dynamicAt, launch.dynamicShared, "the dynamic shared memory");
  }
  uint64_t threads = launch.block.count();
  for (uint32_t warp = 0; warp < launch.warpsPerBlock; ++warp) {
    uint64_t lanes = std::min<uint64_t>(32, threads - warp * 32);
    warps.push_back(std::make_unique<Warp>(*this, warp, lanes == 32 ? ~0u : (1u << lanes) - 1));
  }
}

void Warp::arriveAtBarrier(const Inst &i, Mask lanes, unsigned id) {
  if (id >= 16)
    fault(FaultKind::Invalid, i, std::countr_zero(lanes), "barrier " + std::to_string(id) + " of 16");
  const auto *more = static_cast<const BarrierUse *>(i.extra);
  Group group{.frame = frame, .pc = pc, .mask = lanes, .wait = Group::Arriving, .barrier = id, .at = &i};
  mask &= ~lanes;
  stopPc = 0;
  // Lanes that came before, here or (not aligned) at another place of the same barrier.
  Mask here = lanes;
  for (size_t n = 0; n < groups.size();) {
    Group &other = groups[n];
    if (other.wait == Group::Arriving && other.barrier == id && other.frame == frame && other.at == &i) {
      group.mask |= other.mask;
      here |= other.mask;
      groups.erase(groups.begin() + n);
      continue;
    }
    if (other.wait == Group::Arriving && other.barrier == id && !more->aligned)
      here |= other.mask;
    ++n;
  }
  groups.push_back(group);
  if (more->aligned ? here != initial : here != live)
    return;
  for (Group &other : groups)
    if (other.wait == Group::Arriving && other.barrier == id)
      other.wait = Group::Barrier;
  Barrier &barrier = block.barriers[id];
  unsigned expected = launch.warpsPerBlock * 32;
  if (more->count >= 0) {
    expected = in<uint32_t>(i, more->count)[std::countr_zero(lanes)];
    if (!expected || expected % 32 || expected > launch.warpsPerBlock * 32)
      fault(FaultKind::Invalid, i, std::countr_zero(lanes),
            "a barrier of " + std::to_string(expected) + " threads in a block of " +
                std::to_string(launch.block.count()) + "; a multiple of 32 is required");
  }
  if (barrier.arrived && barrier.expected != expected)
    fault(FaultKind::DivergentBarrier, i, std::countr_zero(lanes),
          "barrier " + std::to_string(id) + " is for " + std::to_string(expected) + " threads here and for " +
              std::to_string(barrier.expected) + " at line " + std::to_string(barrier.at->line));
  barrier.expected = expected;
  barrier.at = &i;
  barrier.arrived += 32;
  join(barrier.clock, clock);
  join(barrier.proxied, proxied);
  ++clock[index];
  block.failedWaits = 0;
  if (more->predicate >= 0) {
    Mask predicate = *in<Mask>(i, more->predicate) & here;
    barrier.count += std::popcount(predicate);
    barrier.any |= predicate != 0;
    barrier.all &= predicate == here;
  }
  if (more->arrive) {
    for (Group &other : groups)
      if (other.wait == Group::Barrier && other.barrier == id)
        other.wait = Group::Ready;
  } else
    barrier.waiting.push_back(this);
  block.progress = true;
  if (barrier.arrived > expected)
    fault(FaultKind::DivergentBarrier, i, std::countr_zero(lanes),
          std::to_string(barrier.arrived) + " threads came to barrier " + std::to_string(id) + " of " +
              std::to_string(expected));
  if (barrier.arrived < expected)
    return;
  for (Warp *warp : barrier.waiting) {
    uint32_t own = warp->clock[warp->index];
    join(warp->clock, barrier.clock);
    join(warp->proxied, barrier.proxied);
    warp->clock[warp->index] = own;
    for (Group &waiting : warp->groups)
      if (waiting.wait == Group::Barrier && waiting.barrier == id) {
        waiting.wait = Group::Ready;
        const auto *use = static_cast<const BarrierUse *>(waiting.at->extra);
        if (use->result >= 0) {
          Frame *was = std::exchange(warp->frame, waiting.frame);
          if (use->reduction == 0)
            forLanes(waiting.mask, [&](unsigned l) { warp->out<uint32_t>(*waiting.at, 0)[l] = barrier.count; });
          else {
            Mask &to = *warp->out<Mask>(*waiting.at, 0);
            bool value = use->reduction == 1 ? barrier.all != 0 : barrier.any != 0;
            to = value ? to | waiting.mask : to & ~waiting.mask;
          }
          warp->frame = was;
        }
      }
  }
  barrier = {};
}

static constexpr uint64_t kInstructionsBetweenPauses = 4096;

bool Block::run(uint64_t turns) {
  for (uint64_t used = 0; used < turns;) {
    progress = false;
    bool alive = false;
    for (auto &warp : warps) {
      if (warp->ended())
        continue;
      uint64_t before = launch.instructions;
      progress |= warp->run(65536);
      used += launch.instructions - before + 1;
      alive |= !warp->ended();
    }
    if (!alive)
      break;
    if (launch.pause && launch.instructions - launch.pausedAt >= kInstructionsBetweenPauses) {
      launch.pausedAt = launch.instructions;
      launch.pause();
    }
    if (!progress) { // every warp waits at a barrier that will not be complete
      const Inst *at = nullptr;
      const Warp *who = nullptr;
      std::string what;
      unsigned ended = 0;
      for (auto &warp : warps) {
        ended += std::popcount(warp->initial & ~warp->live);
        for (const Group &group : warp->groups)
          if (group.wait == Group::Barrier && (!at || group.at->line != at->line)) {
            if (at)
              what += ", others wait at line " + std::to_string(group.at->line);
            else
              at = group.at, who = warp.get();
          }
      }
      const Barrier *barrier = nullptr;
      for (const Barrier &one : barriers)
        if (one.at == at)
          barrier = &one;
      who->fault(FaultKind::DivergentBarrier, *at, std::countr_zero(who->live),
                 (barrier
                      ? std::to_string(barrier->arrived) + " of " + std::to_string(barrier->expected) + " threads came"
                      : "not all threads came") +
                     what + (ended ? ", " + std::to_string(ended) + " threads have ended" : ""));
    }
    if (launch.instructions > launch.device.maxInstructions)
      for (auto &warp : warps)
        if (!warp->ended())
          warp->fault(FaultKind::Deadlock, warp->frame->code->insts[0], 0,
                      "the kernel did not end within " + std::to_string(launch.device.maxInstructions) +
                          " instructions of warps");
  }
  if (!std::all_of(warps.begin(), warps.end(), [](const auto &warp) { return warp->ended(); }))
    return false;
  for (const Barrier &barrier : barriers) // bar.arrive that nobody waited for
    if (barrier.arrived)
      warps[0]->fault(FaultKind::DivergentBarrier, *barrier.at, 0,
                      "the block ended with " + std::to_string(barrier.arrived) + " of " +
                          std::to_string(barrier.expected) + " threads at this barrier");
  return true;
}

[[noreturn]] static void wrong(const Launch &launch, const std::string &what) {
  throw Fault(FaultKind::Launch, launch.name(), 0, "wrong launch: kernel " + launch.name() + ": " + what);
}

static std::string text(const Dim3 &d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

void checkLaunch(const Launch &launch) {
  const Function &f = *launch.code->function;
  const Dim3 &grid = launch.grid, &block = launch.block, &cluster = launch.cluster;
  if (!f.isEntry)
    wrong(launch, "it is no kernel");
  if (launch.params.size() != f.paramBytes)
    wrong(launch, "its parameters have " + std::to_string(f.paramBytes) + " bytes, got " +
                      std::to_string(launch.params.size()));
  if (!grid.count() || !block.count() || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    wrong(launch, "a grid of " + text(grid) + " blocks of " + text(block) + " threads");
  if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > launch.device.maxThreads)
    wrong(launch, "a block of " + text(block) + " threads, at most " + std::to_string(launch.device.maxThreads) +
                      " are possible");
  if (f.maxThreads[0] && block.count() > uint64_t(f.maxThreads[0]) * f.maxThreads[1] * f.maxThreads[2])
    wrong(launch, "a block of " + text(block) + " threads, .maxntid allows " +
                      text({f.maxThreads[0], f.maxThreads[1], f.maxThreads[2]}));
  if (f.requiredThreads[0] &&
      (block.x != f.requiredThreads[0] || block.y != f.requiredThreads[1] || block.z != f.requiredThreads[2]))
    wrong(launch, "a block of " + text(block) + " threads, .reqntid requires " +
                      text({f.requiredThreads[0], f.requiredThreads[1], f.requiredThreads[2]}));
  uint64_t shared = f.staticShared + launch.dynamicShared;
  if (shared > launch.device.maxSharedOptin)
    wrong(launch, std::to_string(shared) + " bytes of shared memory, at most " +
                      std::to_string(launch.device.maxSharedOptin) + " are possible");
  if (!cluster.count() || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    wrong(launch, "a grid of " + text(grid) + " blocks in clusters of " + text(cluster));
  if (cluster.count() > 1)
    wrong(launch, "clusters of more than one block are not supported by this machine");
}

unsigned residentBlocks(const Device &device, const Code &code, unsigned threads, uint32_t dynamicShared) {
  if (!threads || threads > device.maxThreads)
    return 0;
  unsigned warps = (threads + 31) / 32;
  uint64_t shared = code.function->staticShared + dynamicShared + 1024; // the system takes 1 KiB of each block
  if (shared > device.sharedPerMultiprocessor)
    return 0;
  return std::min<uint64_t>({32, 64 / warps, device.sharedPerMultiprocessor / shared});
}

void execute(Launch &launch) {
  static std::atomic<uint32_t> stamps = 0;
  checkLaunch(launch);
  launch.stamp = ++stamps;
  launch.warpsPerBlock = uint32_t((launch.block.count() + 31) / 32);
  const uint64_t count = launch.grid.count();
  const uint64_t resident =
      uint64_t(launch.device.multiprocessors) *
      std::max(1u, residentBlocks(launch.device, *launch.code, unsigned(launch.block.count()), launch.dynamicShared));
  // One block after the other; one that does not end (it may wait for others) shares turns with the next.
  std::deque<std::unique_ptr<Block>> running;
  uint64_t next = 0;
  while (next < count || !running.empty()) {
    if (next < count && running.size() < resident)
      running.push_front(std::make_unique<Block>(launch, next++));
    auto block = std::move(running.front());
    running.pop_front();
    if (!block->run(uint64_t(1) << 22))
      running.push_back(std::move(block));
  }
}

} // namespace sinter::ptx
