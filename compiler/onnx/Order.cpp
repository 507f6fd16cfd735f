// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes in an order in which each comes after what it reads. Files have them so by the standard, but converters write
// others, and runtimes sort them.

#include "compiler/onnx/Reader.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include <queue>

using namespace llvm;

namespace sinter::onnx {

using Nodes = google::protobuf::RepeatedPtrField<onnxfile::Node>;

namespace {
/// The nodes of one graph or function, and who reads whom.
class NodeOrder {
public:
  explicit NodeOrder(Nodes &nodes) : nodes(nodes) {}

  /// Sorts the nodes, each as early as those before it in the file allow. The error names the nodes of a cycle.
  Error run(const Twine &where);

private:
  void addReads(unsigned reader, StringRef name) {
    auto writer = writers.find(name);
    if (writer == writers.end())
      return;
    inOrder &= writer->second < reader;
    before[reader].push_back(writer->second);
  }
  /// What the bodies of a node read from around it.
  void addFreeNames(unsigned reader, const onnxfile::Graph &graph, const StringSet<> &bound);
  std::string describeCycle(ArrayRef<unsigned> waits) const;

  Nodes &nodes;
  StringMap<unsigned> writers;
  std::vector<SmallVector<unsigned, 2>> before; // by reader
  bool inOrder = true;
};
} // namespace

void NodeOrder::addFreeNames(unsigned reader, const onnxfile::Graph &graph, const StringSet<> &outer) {
  StringSet<> bound = outer;
  for (const onnxfile::ValueInfo &input : graph.input())
    bound.insert(input.name());
  for (const onnxfile::Tensor &tensor : graph.initializer())
    bound.insert(tensor.name());
  for (const onnxfile::Node &node : graph.node())
    for (const std::string &output : node.output())
      bound.insert(output);
  auto read = [&](StringRef name) {
    if (!bound.contains(name))
      addReads(reader, name);
  };
  for (const onnxfile::Node &node : graph.node()) {
    for (const std::string &input : node.input())
      read(input);
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      if (attribute.has_g())
        addFreeNames(reader, attribute.g(), bound);
      for (const onnxfile::Graph &inner : attribute.graphs())
        addFreeNames(reader, inner, bound);
    }
  }
  for (const onnxfile::ValueInfo &output : graph.output())
    read(output.name());
}

std::string NodeOrder::describeCycle(ArrayRef<unsigned> waits) const {
  // From any node that waits, to one that it waits for, until one comes again.
  unsigned at = 0;
  while (waits[at] == 0)
    ++at;
  DenseMap<unsigned, unsigned> seen;
  std::vector<unsigned> path;
  while (seen.try_emplace(at, unsigned(path.size())).second) {
    path.push_back(at);
    at = *find_if(before[at], [&](unsigned writer) { return waits[writer] != 0 || writer == at; });
  }
  std::vector<unsigned> cycle(path.begin() + seen[at], path.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  std::string text;
  constexpr size_t kMost = 8;
  for (size_t i = 0; i < std::min(cycle.size(), kMost); ++i)
    text += (i ? ", " : "") + describeNode(nodes[int(cycle[i])], cycle[i]);
  return cycle.size() > kMost ? text + " and " + std::to_string(cycle.size() - kMost) + " more" : text;
}

Error NodeOrder::run(const Twine &where) {
  auto count = unsigned(nodes.size());
  before.resize(count);
  for (unsigned i = 0; i < count; ++i)
    for (const std::string &output : nodes[int(i)].output())
      if (!output.empty())
        writers.try_emplace(output, i);
  for (unsigned i = 0; i < count; ++i) {
    for (const std::string &input : nodes[int(i)].input())
      addReads(i, input);
    for (const onnxfile::Attribute &attribute : nodes[int(i)].attribute()) {
      if (attribute.has_g())
        addFreeNames(i, attribute.g(), {});
      for (const onnxfile::Graph &graph : attribute.graphs())
        addFreeNames(i, graph, {});
    }
  }
  if (inOrder)
    return Error::success();

  std::vector<SmallVector<unsigned, 2>> readers(count);
  std::vector<unsigned> waits(count);
  for (unsigned i = 0; i < count; ++i)
    for (unsigned writer : before[i]) {
      readers[writer].push_back(i);
      ++waits[i];
    }
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (unsigned i = 0; i < count; ++i)
    if (waits[i] == 0)
      ready.push(i);
  std::vector<unsigned> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (unsigned reader : readers[order.back()])
      if (--waits[reader] == 0)
        ready.push(reader);
  }
  if (order.size() != count)
    return createStringError(inconvertibleErrorCode(), "%s",
                             formatv("{0} requires nodes that do not wait for one another, found the cycle {1}",
                                     where.str(), describeCycle(waits))
                                 .str()
                                 .c_str());
  std::vector<unsigned> place(count); // of the node that was at i
  for (unsigned i = 0; i < count; ++i)
    place[order[i]] = i;
  for (unsigned i = 0; i < count; ++i)
    while (place[i] != i) {
      unsigned to = place[i];
      nodes.SwapElements(int(i), int(to));
      std::swap(place[i], place[to]);
    }
  return Error::success();
}

/// The graph's nodes, then those of the bodies in them.
static Error orderGraph(onnxfile::Graph &graph);

static Error orderNodes(Nodes &nodes, const Twine &where) {
  if (Error error = NodeOrder(nodes).run(where))
    return error;
  for (onnxfile::Node &node : nodes)
    for (onnxfile::Attribute &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        if (Error error = orderGraph(*attribute.mutable_g()))
          return error;
      for (onnxfile::Graph &graph : *attribute.mutable_graphs())
        if (Error error = orderGraph(graph))
          return error;
    }
  return Error::success();
}

static Error orderGraph(onnxfile::Graph &graph) {
  return orderNodes(*graph.mutable_node(), "graph '" + shortenName(graph.name()) + "'");
}

Error orderModel(onnxfile::Model &model) {
  if (Error error = orderGraph(*model.mutable_graph()))
    return error;
  for (onnxfile::Function &function : *model.mutable_functions())
    if (Error error = orderNodes(*function.mutable_node(), "function '" + shortenName(function.name()) + "'"))
      return error;
  return Error::success();
}

} // namespace sinter::onnx
