// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_IR_FLOWNETWORK_H
#define SINTER_IR_FLOWNETWORK_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sinter {

/// Minimum cuts by Dinic's maximum flow (Dinitz 1970). Nodes are numbers, capacities are integers of at least 0.
class FlowNetwork {
public:
  /// The capacity of an edge that no cut may take.
  static constexpr int64_t kUnlimited = int64_t(1) << 60;

  /// Returns the new node's number: 0, 1, ...
  int addNode();
  void addEdge(int from, int to, int64_t capacity);
  /// Sends as much as can be sent. Call once, after all edges are there.
  void saturate(int source, int sink);
  /// The nodes from which the sink can still be reached: the sink's side of the minimum cut that is nearest to it.
  std::vector<bool> reaching(int sink) const;

private:
  struct Edge {
    int to;
    int64_t capacity;
  };
  bool layer(int source, int sink);
  bool push(int source, int sink);
  bool isOpen(size_t edge, int from) const {
    return edges[edge].capacity > 0 && level[edges[edge].to] == level[from] + 1;
  }

  std::vector<Edge> edges; // each with its reverse behind it
  std::vector<std::vector<size_t>> edgesOf;
  std::vector<size_t> next, path;
  std::vector<int> level;
};

} // namespace sinter

#endif
