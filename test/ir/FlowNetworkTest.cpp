// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/FlowNetwork.h"
#include "gtest/gtest.h"
#include <array>

using namespace sinter;

namespace {

/// Capacity of the edges that lead from the source's side of the cut to the sink's.
int64_t cutOf(const std::vector<std::array<int64_t, 3>> &edges, int nodes, int source, int sink,
              std::vector<bool> &reaching) {
  FlowNetwork network;
  for (int k = 0; k < nodes; ++k)
    EXPECT_EQ(network.addNode(), k);
  for (auto [from, to, capacity] : edges)
    network.addEdge(static_cast<int>(from), static_cast<int>(to), capacity);
  network.saturate(source, sink);
  reaching = network.reaching(sink);
  int64_t all = 0;
  for (auto [from, to, capacity] : edges)
    all += !reaching[from] && reaching[to] ? capacity : 0;
  return all;
}

TEST(FlowNetwork, CutIsTheSmallestOfAllSides) {
  // Every set of nodes with the source and without the sink is a cut; the smallest is found by trying all.
  const std::vector<std::array<int64_t, 3>> edges = {{0, 1, 16}, {0, 2, 13}, {1, 2, 10}, {2, 1, 4},  {1, 3, 12},
                                                     {3, 2, 9},  {2, 4, 14}, {4, 3, 7},  {3, 5, 20}, {4, 5, 4}};
  int64_t least = INT64_MAX;
  for (int set = 0; set < 64; ++set) {
    if (!(set & 1) || (set & 32))
      continue;
    int64_t all = 0;
    for (auto [from, to, capacity] : edges)
      all += (set >> from & 1) && !(set >> to & 1) ? capacity : 0;
    least = std::min(least, all);
  }
  std::vector<bool> reaching;
  EXPECT_EQ(cutOf(edges, 6, 0, 5, reaching), least);
  EXPECT_FALSE(reaching[0]);
  EXPECT_TRUE(reaching[5]);
}

TEST(FlowNetwork, TakesTheCutNearestToTheSink) {
  std::vector<bool> reaching;
  EXPECT_EQ(cutOf({{0, 1, 5}, {1, 2, 5}, {2, 3, 5}}, 4, 0, 3, reaching), 5);
  EXPECT_EQ(reaching, (std::vector<bool>{false, false, false, true}));
}

TEST(FlowNetwork, LongChainsAreNoRecursion) {
  std::vector<std::array<int64_t, 3>> edges;
  for (int k = 0; k < 200000; ++k)
    edges.push_back({k, k + 1, k == 77777 ? 3 : FlowNetwork::kUnlimited});
  std::vector<bool> reaching;
  EXPECT_EQ(cutOf(edges, 200001, 0, 200000, reaching), 3);
}

} // namespace
