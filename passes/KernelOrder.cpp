// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/KernelOrder.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace sinter;

/// Distance of neighbours when nothing has moved.
static constexpr int64_t kGap = int64_t(1) << 32;

KernelOrder::KernelOrder(unsigned count, Readers readers) : labels(count) {
  // A node is placed before all that read it, the last one first.
  struct Waiting {
    unsigned node;
    SmallVector<unsigned, 4> readers;
  };
  SmallVector<unsigned> order;
  BitVector seen(count);
  std::vector<Waiting> waiting;
  auto wait = [&](unsigned node) {
    seen.set(node);
    waiting.push_back({node, {}});
    readers(node, waiting.back().readers);
    llvm::sort(waiting.back().readers); // the last is taken first
  };
  for (unsigned node = count; node-- > 0;) {
    if (!seen[node])
      wait(node);
    while (!waiting.empty()) {
      if (waiting.back().readers.empty()) {
        order.push_back(waiting.back().node);
        waiting.pop_back();
      } else if (unsigned reader = waiting.back().readers.pop_back_val(); !seen[reader]) {
        wait(reader);
      }
    }
  }
  std::reverse(order.begin(), order.end());
  relabel(order);
}

void KernelOrder::relabel(ArrayRef<unsigned> order) {
  nodes.clear();
  for (auto [i, node] : llvm::enumerate(order)) {
    labels[node] = static_cast<int64_t>(i) * kGap;
    nodes.emplace_hint(nodes.end(), labels[node], node);
  }
}

bool KernelOrder::mayJoin(unsigned node, unsigned target, Readers readers, unsigned maxReads) {
  SmallVector<unsigned, 16> between, list;
  SmallDenseSet<unsigned, 16> seen;
  auto add = [&](unsigned next) {
    if (next != node && isBefore(next, target) && seen.insert(next).second)
      between.push_back(next);
  };
  readers(node, list);
  llvm::for_each(list, add); // the target itself is not before the target
  size_t reads = list.size();
  for (size_t i = 0; i < between.size(); ++i) {
    list.clear();
    readers(between[i], list);
    reads += list.size();
    if (reads > maxReads || llvm::is_contained(list, target))
      return false;
    llvm::for_each(list, add);
  }
  llvm::sort(between, [&](unsigned a, unsigned b) { return isBefore(a, b); });
  moveBehind(target, between);
  return true;
}

void KernelOrder::moveBehind(unsigned node, ArrayRef<unsigned> moved) {
  if (moved.empty())
    return;
  for (unsigned other : moved)
    nodes.erase(labels[other]);
  int64_t label = labels[node];
  auto next = nodes.upper_bound(label);
  int64_t step = next == nodes.end() ? kGap : (next->first - label) / static_cast<int64_t>(moved.size() + 1);
  if (step == 0) {
    SmallVector<unsigned> order;
    for (auto [at, other] : nodes) {
      order.push_back(other);
      if (other == node)
        order.append(moved.begin(), moved.end());
    }
    return relabel(order);
  }
  for (unsigned other : moved) {
    label += step;
    labels[other] = label;
    nodes.emplace_hint(next, label, other);
  }
}
