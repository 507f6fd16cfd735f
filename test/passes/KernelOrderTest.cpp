// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/KernelOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <functional>
#include <random>
#include <set>

using namespace sinter;

namespace {
/// A graph whose nodes join; what has joined goes by its target's number.
struct Nodes {
  explicit Nodes(unsigned count) : readers(count) {}

  void add(unsigned node, llvm::SmallVectorImpl<unsigned> &list) {
    ++walks;
    list.append(readers[node].begin(), readers[node].end());
  }
  KernelOrder::Readers callback() { return add_; }

  /// By all paths: whether one leads from `node` to `target` over a third node.
  bool hasDetour(unsigned node, unsigned target) const {
    std::vector<unsigned> work;
    std::set<unsigned> seen;
    for (unsigned reader : readers[node])
      if (reader != target)
        work.push_back(reader);
    while (!work.empty()) {
      unsigned next = work.back();
      work.pop_back();
      if (next == target)
        return true;
      if (seen.insert(next).second)
        work.insert(work.end(), readers[next].begin(), readers[next].end());
    }
    return false;
  }

  void join(unsigned node, unsigned target) {
    for (std::set<unsigned> &list : readers)
      if (list.erase(node))
        list.insert(target);
    readers[target].insert(readers[node].begin(), readers[node].end());
    readers[target].erase(target);
    readers[node].clear();
  }

  std::vector<std::set<unsigned>> readers;
  size_t walks = 0;
  std::function<void(unsigned, llvm::SmallVectorImpl<unsigned> &)> add_ =
      [this](unsigned node, llvm::SmallVectorImpl<unsigned> &list) { add(node, list); };
};
} // namespace

TEST(KernelOrder, JoinsWhereNoOtherPathLeads) {
  unsigned joined = 0, refused = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    constexpr unsigned count = 40;
    Nodes nodes(count);
    std::vector<unsigned> shuffled(count); // numbers need not be in order
    for (unsigned i = 0; i < count; ++i)
      shuffled[i] = i;
    if (seed % 2)
      std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (unsigned i = 0; i < count; ++i)
      for (unsigned j = i + 1; j < count; ++j)
        if (random() % 16 == 0)
          nodes.readers[shuffled[i]].insert(shuffled[j]);
    KernelOrder order(count, nodes.callback());
    for (unsigned i = count; i-- > 0;) {
      unsigned node = shuffled[i];
      std::vector<unsigned> targets(nodes.readers[node].begin(), nodes.readers[node].end());
      if (targets.empty())
        continue;
      unsigned target = targets[random() % targets.size()];
      bool may = order.mayJoin(node, target, nodes.callback());
      ASSERT_EQ(may, !nodes.hasDetour(node, target)) << "seed " << seed << ": " << node << " to " << target;
      may ? ++joined : ++refused;
      if (may)
        nodes.join(node, target);
      for (unsigned a = 0; a < count; ++a)
        for (unsigned b : nodes.readers[a])
          ASSERT_TRUE(order.isBefore(a, b)) << "seed " << seed << ": " << a << " and " << b;
    }
  }
  EXPECT_GT(joined, 1000u);
  EXPECT_GT(refused, 200u);
}

// Labels between two neighbours run out: what is read beside the target goes behind it each time.
TEST(KernelOrder, MakesRoomBehindOneNode) {
  constexpr unsigned pairs = 200, target = 2 * pairs;
  Nodes nodes(target + 1);
  for (unsigned i = 0; i < pairs; ++i)
    nodes.readers[i] = {pairs + i, target};
  KernelOrder order(target + 1, nodes.callback());
  for (unsigned i = pairs; i-- > 0;) {
    ASSERT_TRUE(order.mayJoin(i, target, nodes.callback()));
    nodes.join(i, target);
    for (unsigned k = i; k < pairs; ++k)
      ASSERT_TRUE(order.isBefore(target, pairs + k));
  }
}

// What a backward part reads of a chain, in reverse: each question is answered near the node.
TEST(KernelOrder, AnswersInShortWalks) {
  for (unsigned length : {1000u, 4000u}) {
    Nodes nodes(2 * length);
    for (unsigned i = 0; i + 1 < 2 * length; ++i)
      nodes.readers[i].insert(i + 1);
    for (unsigned i = 0; i < length; ++i)
      nodes.readers[i].insert(2 * length - 1 - i);
    KernelOrder order(2 * length, nodes.callback());
    nodes.walks = 0;
    for (unsigned i = length - 1; i-- > 0;)
      EXPECT_TRUE(order.mayJoin(i, i + 1, nodes.callback()));
    EXPECT_LT(nodes.walks, 4 * length);
  }
}

TEST(KernelOrder, GivesUp) {
  constexpr unsigned count = 1000;
  Nodes nodes(count);
  for (unsigned i = 1; i + 1 < count; ++i)
    nodes.readers[i].insert(i + 1);
  nodes.readers[count - 2].clear();
  nodes.readers[0] = {1, count - 1};
  KernelOrder order(count, nodes.callback());
  EXPECT_FALSE(order.mayJoin(0, count - 1, nodes.callback(), 100));
  EXPECT_TRUE(order.mayJoin(0, count - 1, nodes.callback(), count));
}
