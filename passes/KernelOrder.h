// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes (kernels, and ops that are none yet) in an order in which each comes before all that read it. It is kept while
// nodes join: whether another path leads from a node to the one that it would join is then only looked for among the
// nodes between the two. Without the order a chain of n values that are read twice, as forward values are by a backward
// part, takes n walks over all that comes later.
//
// When a node joins, the readers of it that stood before its target move behind it (after Pearce and Kelly 2007, "A
// dynamic topological sort algorithm for directed acyclic graphs", by labels with gaps rather than by exchanging
// places).

#ifndef SINTER_PASSES_KERNELORDER_H
#define SINTER_PASSES_KERNELORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace sinter {

class KernelOrder {
public:
  /// Adds to a list the nodes that read `node`, perhaps some of them several times, or itself.
  using Readers = llvm::function_ref<void(unsigned node, llvm::SmallVectorImpl<unsigned> &list)>;

  /// Orders nodes 0 to `count` - 1, which have no cycle, near to the order of their numbers.
  KernelOrder(unsigned count, Readers readers);

  /// True when `node` may join `target`, which reads it: no path leads there over a third node. Then the order is as
  /// after joining. Gives up, with false, after `maxReads` readers.
  bool mayJoin(unsigned node, unsigned target, Readers readers, unsigned maxReads = 1 << 12);

  bool isBefore(unsigned a, unsigned b) const { return labels[a] < labels[b]; }

private:
  void moveBehind(unsigned node, llvm::ArrayRef<unsigned> moved);
  void relabel(llvm::ArrayRef<unsigned> order);

  std::vector<int64_t> labels;
  std::map<int64_t, unsigned> nodes;
};

} // namespace sinter

#endif // SINTER_PASSES_KERNELORDER_H
