// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA graphs: nodes, conditional nodes with their bodies and handles, instantiation, updates, launches.
#include "State.h"

#include <algorithm>

using namespace sinter::ptx;

SINTER_CUDA_API CUresult cuGraphCreate(CUgraph *out, unsigned) {
  Call call(false);
  if (!call)
    return call.status;
  *out = new Graph;
  (*out)->context = call.context;
  driver().graphs.insert(*out);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuGraphDestroy(CUgraph graph) {
  Call call(false);
  if (!driver().graphs.contains(graph)) {
    tell("free: cuGraphDestroy of what is no graph, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (graph->owned) {
    tell("free: cuGraphDestroy of a body, which its conditional node owns");
    return CUDA_ERROR_INVALID_VALUE;
  }
  driver().graphs.erase(graph);
  delete graph;
  return CUDA_SUCCESS;
}

// A deep copy; `copies` says what became of each node.
static std::shared_ptr<Graph> copyOf(const Graph &from, std::map<const Node *, Node *> *copies) {
  auto to = std::make_shared<Graph>();
  std::map<const Node *, Node *> here;
  for (const auto &node : from.nodes) {
    auto made = std::make_unique<Node>();
    made->work = node->work;
    if (auto *child = std::get_if<ChildWork>(&made->work))
      child->graph = copyOf(*child->graph, copies);
    if (auto *conditional = std::get_if<ConditionalWork>(&made->work))
      for (auto &body : conditional->bodies)
        body = copyOf(*body, copies);
    here[node.get()] = made.get();
    to->nodes.push_back(std::move(made));
  }
  for (const auto &node : from.nodes)
    for (Node *before : node->after)
      here[node.get()]->after.push_back(here.at(before));
  if (copies)
    copies->insert(here.begin(), here.end());
  return to;
}

static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count, Work work) {
  if (!driver().graphs.contains(graph)) {
    tell("use after free: a node for what is no graph, or no longer");
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto node = std::make_unique<Node>();
  for (size_t n = 0; n < count; ++n) {
    if (std::none_of(graph->nodes.begin(), graph->nodes.end(),
                     [&](const auto &known) { return known.get() == after[n]; })) {
      tell("wrong graph: a node depends on one of another graph");
      return CUDA_ERROR_INVALID_VALUE;
    }
    node->after.push_back(after[n]);
  }
  node->work = std::move(work);
  if (out)
    *out = node.get();
  graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

static FillWork fillWork(const CUDA_MEMSET_NODE_PARAMS &p) {
  return {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
}

SINTER_CUDA_API CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
                                                 size_t count, const CUDA_KERNEL_NODE_PARAMS *params) {
  Call call;
  KernelWork work;
  if (CUresult status = call ? kernelWork(*params, work) : call.status)
    return status;
  return add(out, graph, after, count, std::move(work));
}
SINTER_CUDA_API CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                                              const CUDA_MEMCPY3D *params, CUcontext) {
  Call call;
  return call ? add(out, graph, after, count, *params) : call.status;
}
SINTER_CUDA_API CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count,
                                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext) {
  Call call;
  return call ? add(out, graph, after, count, fillWork(*params)) : call.status;
}
SINTER_CUDA_API CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, size_t count) {
  Call call;
  return call ? add(out, graph, after, count, {}) : call.status;
}
SINTER_CUDA_API CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *after,
                                                  size_t count, CUgraph child) {
  Call call;
  if (!call || !driver().graphs.contains(child))
    return call ? CUDA_ERROR_INVALID_VALUE : call.status;
  return add(out, graph, after, count, ChildWork{copyOf(*child, nullptr)});
}

SINTER_CUDA_API CUresult cuGraphConditionalHandleCreate(uint64_t *out, CUgraph graph, CUcontext, unsigned initial,
                                                        unsigned flags) {
  Call call;
  if (!call || !driver().graphs.contains(graph))
    return call ? CUDA_ERROR_INVALID_VALUE : call.status;
  *out = driver().nextCondition++;
  driver().conditions[*out] = {initial, initial, (flags & 1) != 0, graph};
  return CUDA_SUCCESS;
}

SINTER_CUDA_API CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *after, const void *,
                                           size_t count, CUgraphNodeParams *p) {
  Call call;
  if (!call)
    return call.status;
  switch (p->type) {
  case 0:
    return cuGraphAddKernelNode_v2(out, graph, after, count, &p->kernel);
  case 1:
    return add(out, graph, after, count, p->memcpy.copyParams);
  case 2:
    return add(out, graph, after, count, fillWork(p->memset));
  case 4:
    return cuGraphAddChildGraphNode(out, graph, after, count, p->graph.graph);
  case 5:
    return add(out, graph, after, count, {});
  case 13: {
    CUDA_CONDITIONAL_NODE_PARAMS &c = p->conditional;
    const bool sizes = c.type == 0 ? c.size == 1 || c.size == 2 : c.type == 1 ? c.size == 1 : c.type == 2 && c.size > 0;
    auto condition = driver().conditions.find(c.handle);
    if (!sizes || condition == driver().conditions.end() || condition->second.graph != graph ||
        condition->second.isTaken) {
      tell("wrong graph: a conditional node requires a condition of its graph that no other node has");
      return CUDA_ERROR_INVALID_VALUE;
    }
    condition->second.isTaken = true;
    ConditionalWork work{c.handle, c.type, {}, {}};
    for (unsigned n = 0; n < c.size; ++n) {
      auto body = std::shared_ptr<Graph>(new Graph, [](Graph *g) {
        driver().graphs.erase(g);
        delete g;
      });
      body->owned = true;
      body->context = graph->context;
      driver().graphs.insert(body.get());
      work.handles.push_back(body.get());
      work.bodies.push_back(std::move(body));
    }
    CUgraphNode node;
    if (CUresult status = add(&node, graph, after, count, std::move(work)))
      return status;
    c.phGraph_out = std::get<ConditionalWork>(node->work).handles.data();
    if (out)
      *out = node;
    return CUDA_SUCCESS;
  }
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}
SINTER_CUDA_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                                   const void *, size_t count) {
  Call call(false);
  if (!driver().graphs.contains(graph))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t n = 0; n < count; ++n)
    to[n]->after.push_back(from[n]);
  return call.status;
}
SINTER_CUDA_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  Call call(false);
  if (!driver().graphs.contains(graph))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t n = 0; nodes && n < *count && n < graph->nodes.size(); ++n)
    nodes[n] = graph->nodes[n].get();
  *count = nodes ? std::min(*count, graph->nodes.size()) : graph->nodes.size();
  return call.status;
}

static bool isAcyclic(const Graph &graph) {
  std::set<const Node *> done;
  for (size_t before = size_t(-1); before != done.size();) {
    before = done.size();
    for (const auto &node : graph.nodes)
      if (std::all_of(node->after.begin(), node->after.end(), [&](Node *n) { return done.contains(n); }))
        done.insert(node.get());
  }
  return done.size() == graph.nodes.size();
}

SINTER_CUDA_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long) {
  Call call;
  if (!call)
    return call.status;
  if (!driver().graphs.contains(graph) || !isAcyclic(*graph)) {
    tell("wrong graph: cuGraphInstantiate of what is no graph, or has a cycle");
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++driver().counts["build"];
  for (const auto &node : graph->nodes)
    driver().counts["edge"] += node->after.size();
  auto *made = new Executable{call.context, nullptr, {}};
  made->graph = copyOf(*graph, &made->copies);
  call.context->executables.insert(made);
  *out = made;
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
  return cuGraphInstantiateWithFlags(out, graph, flags);
}
SINTER_CUDA_API CUresult cuGraphExecDestroy(CUgraphExec executable) {
  Call call(false);
  if (!call.context || !call.context->executables.erase(executable)) {
    tell("free: cuGraphExecDestroy of what is no executable graph, or no longer");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  delete executable;
  return CUDA_SUCCESS;
}

static void assignConditions(const Graph &graph) {
  for (const auto &node : graph.nodes) {
    if (auto *child = std::get_if<ChildWork>(&node->work))
      assignConditions(*child->graph);
    if (auto *conditional = std::get_if<ConditionalWork>(&node->work)) {
      if (auto it = driver().conditions.find(conditional->handle); it != driver().conditions.end() && it->second.assign)
        it->second.value = it->second.initial;
      for (const auto &body : conditional->bodies)
        assignConditions(*body);
    }
  }
}

/// A kernel may be a loop by itself.
static bool mayLoop(const Graph &graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto &node) {
    return std::holds_alternative<ConditionalWork>(node->work) || std::holds_alternative<KernelWork>(node->work);
  });
}

SINTER_CUDA_API CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  Call call;
  if (!call)
    return call.status;
  if (!call.context->executables.contains(executable)) {
    tell("use after free: cuGraphLaunch of what is no executable graph, or no longer");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (isCapturing(stream))
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  ++driver().counts["graph"];
  assignConditions(*executable->graph);
  if (!driver().defersLoops || !mayLoop(*executable->graph))
    return runGraph(*call.context, *executable->graph);
  driver().deferred = std::make_unique<Deferred>([context = call.context, graph = executable->graph] {
    CUresult status = runGraph(*context, *graph);
    if (status && !context->error)
      context->error = status;
    return status;
  });
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuGraphUpload(CUgraphExec, CUstream) { return Call().status; }

// The same nodes in the same order with the same kinds: their work is exchanged.
static bool sameShape(const Graph &a, const Graph &b) {
  if (a.nodes.size() != b.nodes.size())
    return false;
  for (size_t n = 0; n < a.nodes.size(); ++n) {
    const Node &x = *a.nodes[n], &y = *b.nodes[n];
    if (x.work.index() != y.work.index() || x.after.size() != y.after.size())
      return false;
    if (auto *child = std::get_if<ChildWork>(&x.work);
        child && !sameShape(*child->graph, *std::get<ChildWork>(y.work).graph))
      return false;
    if (auto *conditional = std::get_if<ConditionalWork>(&x.work)) {
      const auto &other = std::get<ConditionalWork>(y.work);
      if (conditional->type != other.type || conditional->bodies.size() != other.bodies.size())
        return false;
      for (size_t body = 0; body < other.bodies.size(); ++body)
        if (!sameShape(*conditional->bodies[body], *other.bodies[body]))
          return false;
    }
  }
  return true;
}
SINTER_CUDA_API CUresult cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph,
                                              CUgraphExecUpdateResultInfo *info) {
  Call call;
  if (!call || !call.context->executables.contains(executable) || !driver().graphs.contains(graph))
    return call ? CUDA_ERROR_INVALID_VALUE : call.status;
  const bool same = sameShape(*executable->graph, *graph);
  if (info)
    *info = {same ? 0 : 2, nullptr, nullptr}; // CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
  if (!same)
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  executable->copies.clear();
  executable->graph = copyOf(*graph, &executable->copies);
  return CUDA_SUCCESS;
}

static CUresult exchange(CUgraphExec executable, CUgraphNode node, Work work) {
  Call call;
  if (!call)
    return call.status;
  if (!call.context->executables.contains(executable)) {
    tell("use after free: a node of what is no executable graph, or no longer");
    return CUDA_ERROR_INVALID_HANDLE;
  }
  ++driver().counts["update"];
  auto it = executable->copies.find(node);
  if (it == executable->copies.end() || it->second->work.index() != work.index()) {
    tell("wrong graph: an update of a node that the executable graph has not, or has of another kind");
    return CUDA_ERROR_INVALID_VALUE;
  }
  it->second->work = std::move(work);
  return CUDA_SUCCESS;
}
SINTER_CUDA_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec executable, CUgraphNode node,
                                                           const CUDA_KERNEL_NODE_PARAMS *params) {
  KernelWork work;
  if (CUresult status = kernelWork(*params, work))
    return status;
  return exchange(executable, node, std::move(work));
}
SINTER_CUDA_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                                        const CUDA_MEMCPY3D *params, CUcontext) {
  return exchange(executable, node, *params);
}
SINTER_CUDA_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec executable, CUgraphNode node,
                                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext) {
  return exchange(executable, node, fillWork(*params));
}
SINTER_CUDA_API CUresult cuGraphExecNodeSetParams(CUgraphExec executable, CUgraphNode node, CUgraphNodeParams *p) {
  switch (p->type) {
  case 0:
    return cuGraphExecKernelNodeSetParams_v2(executable, node, &p->kernel);
  case 1:
    return exchange(executable, node, p->memcpy.copyParams);
  case 2:
    return exchange(executable, node, fillWork(p->memset));
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
}
