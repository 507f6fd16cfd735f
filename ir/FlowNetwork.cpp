// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/FlowNetwork.h"

#include <algorithm>
#include <queue>

using namespace sinter;

int FlowNetwork::addNode() {
  edgesOf.emplace_back();
  return static_cast<int>(edgesOf.size()) - 1;
}

void FlowNetwork::addEdge(int from, int to, int64_t capacity) {
  edgesOf[from].push_back(edges.size());
  edges.push_back({to, capacity});
  edgesOf[to].push_back(edges.size());
  edges.push_back({from, 0});
}

void FlowNetwork::saturate(int source, int sink) {
  while (layer(source, sink)) {
    next.assign(edgesOf.size(), 0);
    path.clear();
    while (push(source, sink))
      ;
  }
}

std::vector<bool> FlowNetwork::reaching(int sink) const {
  std::vector<bool> reached(edgesOf.size());
  std::vector<int> work{sink};
  reached[sink] = true;
  while (!work.empty()) {
    int node = work.back();
    work.pop_back();
    for (size_t edge : edgesOf[node]) {
      int from = edges[edge].to;
      if (!reached[from] && edges[edge ^ 1].capacity > 0) {
        reached[from] = true;
        work.push_back(from);
      }
    }
  }
  return reached;
}

bool FlowNetwork::layer(int source, int sink) {
  level.assign(edgesOf.size(), -1);
  std::queue<int> work;
  level[source] = 0;
  work.push(source);
  while (!work.empty()) {
    int node = work.front();
    work.pop();
    if (level[sink] >= 0 && level[node] >= level[sink])
      break; // what lies further away leads no shorter way
    for (size_t edge : edgesOf[node])
      if (edges[edge].capacity > 0 && level[edges[edge].to] < 0) {
        level[edges[edge].to] = level[node] + 1;
        work.push(edges[edge].to);
      }
  }
  return level[sink] >= 0;
}

/// Sends as much as fits along one path through the layers; false when there is none. Paths are as long as chains of
/// ops, too long for recursion and to be walked from the source each time: the next one starts as this one did, up to
/// the edge that is full.
bool FlowNetwork::push(int source, int sink) {
  for (int node = path.empty() ? source : edges[path.back()].to; node != sink;) {
    size_t &k = next[node];
    while (k < edgesOf[node].size() && !isOpen(edgesOf[node][k], node))
      ++k;
    if (k < edgesOf[node].size()) {
      path.push_back(edgesOf[node][k]);
      node = edges[path.back()].to;
    } else if (path.empty()) {
      return false;
    } else {
      node = edges[path.back() ^ 1].to;
      path.pop_back();
      ++next[node];
    }
  }
  int64_t pushed = kUnlimited;
  for (size_t edge : path)
    pushed = std::min(pushed, edges[edge].capacity);
  for (size_t edge : path) {
    edges[edge].capacity -= pushed;
    edges[edge ^ 1].capacity += pushed;
  }
  auto full = [&](size_t edge) { return edges[edge].capacity == 0; };
  path.erase(std::find_if(path.begin(), path.end(), full), path.end());
  return true;
}
