// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clusters and launches: the turns of blocks, and the barrier of a cluster.
#include "Machine.h"

#include <algorithm>
#include <bit>
#include <deque>

namespace sinter::ptx {

Dim3 blockOf(const Launch &launch, uint64_t cluster, unsigned rank) {
  const Dim3 &grid = launch.grid, &size = launch.cluster;
  const uint64_t x = grid.x / size.x, y = grid.y / size.y; // clusters
  return {uint32_t(cluster % x) * size.x + rank % size.x, uint32_t(cluster / x % y) * size.y + rank / size.x % size.y,
          uint32_t(cluster / x / y) * size.z + rank / size.x / size.y};
}

Cluster::Cluster(Launch &launch, uint64_t index) : launch(launch), index(index) {
  for (unsigned rank = 0; rank < launch.cluster.count(); ++rank)
    blocks.push_back(std::make_unique<Block>(*this, rank));
}

bool Cluster::run(uint64_t turns) {
  if (blocks.size() == 1)
    return blocks[0]->run(turns);
  const uint64_t end = launch.instructions + turns;
  while (launch.instructions < end) {
    bool progress = false, alive = false;
    for (auto &block : blocks) {
      if (block->ended)
        continue;
      block->run(1); // a turn of each warp, as other blocks may wait for them
      progress |= block->progress;
      alive |= !block->ended;
    }
    if (!alive)
      return true;
    if (!progress)
      (*std::find_if(blocks.begin(), blocks.end(), [](const auto &block) { return !block->ended; }))->reportStuck();
  }
  return false;
}

void Cluster::arrive(Warp &warp, Mask lanes, bool releases) {
  isOpen = true;
  failedWaits = 0;
  warp.block.progress = true;
  warp.arrivedNow |= lanes;
  if (releases) {
    join(arriving, warp.clock);
    join(arrivingProxied, warp.proxied);
    ++warp.clock[warp.slot];
  } else {
    arriving.resize(std::max<size_t>(arriving.size(), launch.warpsPerCluster));
    arriving[warp.slot] = std::max(arriving[warp.slot], 1u); // it has begun, and that is all
  }
  checkPhase();
}

void Cluster::checkPhase() {
  if (!isOpen)
    return;
  for (auto &block : blocks)
    for (auto &warp : block->warps)
      if (warp->live & ~warp->arrivedNow)
        return;
  isOpen = false;
  completed = std::move(arriving);
  completedProxied = std::move(arrivingProxied);
  arriving.clear();
  arrivingProxied.clear();
  for (auto &block : blocks) {
    block->progress = true;
    for (auto &warp : block->warps) {
      warp->arrivedBefore |= warp->arrivedNow;
      warp->arrivedNow = 0;
      for (Group &group : warp->groups)
        if (group.wait == Group::Barrier && group.barrier == kClusterBarrier)
          group.wait = Group::Ready;
    }
  }
}

std::string Cluster::arrivals() const {
  unsigned arrived = 0, all = 0;
  for (auto &block : blocks)
    for (auto &warp : block->warps) {
      arrived += unsigned(std::popcount(warp->arrivedNow & warp->live));
      all += unsigned(std::popcount(warp->live));
    }
  return std::to_string(arrived) + " of " + std::to_string(all) + " threads";
}

void Warp::waitForCluster(const Inst &i, Mask lanes) {
  if (const Mask missing = lanes & ~(arrivedNow | arrivedBefore))
    fault(FaultKind::Invalid, i, unsigned(std::countr_zero(missing)),
          "waits at the barrier of the cluster without barrier.cluster.arrive before");
  if (const Mask still = lanes & arrivedNow) { // to run this again once the phase is over
    groups.push_back(
        {.frame = frame, .pc = pc - 1, .mask = still, .wait = Group::Barrier, .barrier = kClusterBarrier, .at = &i});
    mask &= ~still;
    stopPc = 0;
    lanes &= ~still;
  }
  if (!lanes)
    return;
  arrivedBefore &= ~lanes;
  const uint32_t own = clock[slot];
  join(clock, cluster.completed);
  join(proxied, cluster.completedProxied);
  clock[slot] = own;
}

void execute(Launch &launch) {
  static std::atomic<uint32_t> stamps = 0;
  checkLaunch(launch);
  launch.cluster = clusterOf(launch);
  launch.stamp = ++stamps;
  launch.warpsPerBlock = uint32_t((launch.block.count() + 31) / 32);
  launch.warpsPerCluster = launch.warpsPerBlock * uint32_t(launch.cluster.count());
  const uint64_t count = launch.grid.count() / launch.cluster.count();
  const uint64_t blocks =
      uint64_t(launch.device.multiprocessors) *
      std::max(1u, residentBlocks(launch.device, *launch.code, unsigned(launch.block.count()), launch.dynamicShared));
  const uint64_t resident = std::max<uint64_t>(1, blocks / launch.cluster.count());
  // One cluster after the other; one that does not end (it may wait for others) shares turns with the next.
  std::deque<std::unique_ptr<Cluster>> running;
  uint64_t next = 0;
  while (next < count || !running.empty()) {
    if (next < count && running.size() < resident)
      running.push_front(std::make_unique<Cluster>(launch, next++));
    auto cluster = std::move(running.front());
    running.pop_front();
    if (!cluster->run(uint64_t(1) << 22))
      running.push_back(std::move(cluster));
  }
}

} // namespace sinter::ptx
