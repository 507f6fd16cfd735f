// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks: their barriers, the turns of their warps, and what a launch must satisfy.
#include "Machine.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sinter::ptx {

Block::Block(Cluster &cluster, unsigned rank)
    : cluster(cluster), launch(cluster.launch), rank(rank), id(blockOf(launch, cluster.index, rank)),
      index(id.x + uint64_t(launch.grid.x) * (id.y + uint64_t(launch.grid.y) * id.z)) {
  static std::atomic<uint32_t> stamps = 0;
  stamp = ++stamps;
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
  ++clock[slot];
  cluster.failedWaits = 0;
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
    uint32_t own = warp->clock[warp->slot];
    join(warp->clock, barrier.clock);
    join(warp->proxied, barrier.proxied);
    warp->clock[warp->slot] = own;
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

void Block::reportStuck() const {
  const Inst *at = nullptr;
  const Warp *who = nullptr;
  std::string what;
  unsigned ended = 0, number = 0;
  for (auto &warp : warps) {
    ended += std::popcount(warp->initial & ~warp->live);
    for (const Group &group : warp->groups)
      if (group.wait == Group::Barrier && (!at || group.at->line != at->line)) {
        if (at)
          what += ", others wait at line " + std::to_string(group.at->line);
        else
          at = group.at, who = warp.get(), number = group.barrier;
      }
  }
  std::string came = "not all threads came";
  if (number == kClusterBarrier)
    came = cluster.arrivals() + " of the cluster came";
  else if (barriers[number].at == at)
    came =
        std::to_string(barriers[number].arrived) + " of " + std::to_string(barriers[number].expected) + " threads came";
  who->fault(FaultKind::DivergentBarrier, *at, std::countr_zero(who->live),
             came + what + (ended ? ", " + std::to_string(ended) + " threads have ended" : ""));
}

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
    if (!progress) { // every warp waits at a barrier
      if (cluster.blocks.size() > 1)
        return false; // for another block, which may come
      reportStuck();
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
  checkBarriersAtEnd();
  if (cluster.blocks.size() > 1)
    checkOthersAtEnd();
  return ended = true;
}

void Block::checkBarriersAtEnd() const {
  for (const Barrier &barrier : barriers) // bar.arrive that nobody waited for
    if (barrier.arrived)
      warps[0]->fault(FaultKind::DivergentBarrier, *barrier.at, 0,
                      "the block ended with " + std::to_string(barrier.arrived) + " of " +
                          std::to_string(barrier.expected) + " threads at this barrier");
}

// Shared memory ends with its block, so what other blocks did there must come before.
void Block::checkOthersAtEnd() const {
  const auto comesBefore = [&](ThreadNumber thread, uint32_t clock) {
    const uint32_t slot = ((thread - 1) >> 5) % launch.warpsPerCluster;
    return !thread || slot / launch.warpsPerBlock == rank ||
           std::any_of(warps.begin(), warps.end(), [&](const auto &warp) { return warp->ordered(thread, clock); });
  };
  for (const Region &region : sharedRegions)
    for (uint64_t n = 0; n < (region.size + 3) / 4; ++n) {
      const Granule &g = region.shadow[n];
      if (g.stamp != stamp)
        continue;
      const bool writes = !comesBefore(g.writer, g.writerClock), reads0 = !comesBefore(g.readers[0], g.readerClocks[0]),
                 reads1 = !comesBefore(g.readers[1], g.readerClocks[1]);
      if (writes || reads0 || reads1)
        warps[0]->fault(FaultKind::Race, launch.code->insts.back(), 0,
                        "the block ends, and " + warps[0]->threadName(writes ? g.writer : g.readers[reads0 ? 0 : 1]) +
                            " may still " + (writes ? "write" : "read") + " " +
                            describeIn(region, region.base + n * 4, 4) +
                            ": the end waits for nothing behind that access");
    }
}

[[noreturn]] static void wrong(const Launch &launch, const std::string &what) {
  throw Fault(FaultKind::Launch, launch.name(), 0, "wrong launch: kernel " + launch.name() + ": " + what);
}

static std::string text(const Dim3 &d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

void checkLaunch(const Launch &launch) {
  const Function &f = *launch.code->function;
  const Dim3 &grid = launch.grid, &block = launch.block, cluster = clusterOf(launch);
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
  const Dim3 required = {f.requiredCluster[0], f.requiredCluster[1], f.requiredCluster[2]};
  const bool isAsked = launch.cluster.count() != 1;
  if (required.x && isAsked && !(launch.cluster == required))
    wrong(launch, "clusters of " + text(launch.cluster) + " blocks, .reqnctapercluster requires " + text(required));
  if (f.explicitCluster && !required.x && !isAsked)
    wrong(launch, ".explicitcluster requires the size of clusters with the launch");
  if (!cluster.count() || grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    wrong(launch, "a grid of " + text(grid) + " blocks in clusters of " + text(cluster));
  if (cluster.count() > 1 && launch.device.major < 9)
    wrong(launch, "clusters of " + text(cluster) + " blocks on sm_" + std::to_string(launch.device.major) +
                      std::to_string(launch.device.minor) + ", which has none");
  if (cluster.count() > 8)
    wrong(launch, "a cluster of " + std::to_string(cluster.count()) + " blocks, at most 8 are possible");
}

Dim3 clusterOf(const Launch &launch) {
  const unsigned *required = launch.code->function->requiredCluster;
  return required[0] ? Dim3{required[0], required[1], required[2]} : launch.cluster;
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

} // namespace sinter::ptx
