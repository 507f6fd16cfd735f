// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Reader.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace sinter::onnx {

StringRef normalizeDomain(StringRef domain) { return domain == "ai.onnx" ? StringRef() : domain; }

static std::string shorten(StringRef name) {
  std::string out;
  for (char c : name.take_front(kMaxNameInMessage))
    out += uint8_t(c) < 0x20 || c == 0x7f ? '?' : c; // a message stays one line
  return name.size() > size_t(kMaxNameInMessage) ? out + "..." : out;
}

std::string describeNode(const onnxfile::Node &node, int64_t index) {
  std::string op = shorten(node.op_type().empty() ? "no operator" : node.op_type());
  if (!node.name().empty())
    return formatv("node '{0}' ({1})", shorten(node.name()), op);
  for (const std::string &output : node.output())
    if (!output.empty())
      return formatv("node of '{0}' ({1})", shorten(output), op);
  return formatv("node {0} ({1})", index, op);
}

namespace {

/// Names that one graph defines. Bodies see the names of the graphs around them; functions do not.
struct Scope {
  const Scope *outer = nullptr;
  StringSet<> defined;

  bool sees(StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (scope->defined.contains(name))
        return true;
    return false;
  }
};

class ModelCheck {
public:
  explicit ModelCheck(const onnxfile::Model &model) : model(model) {}

  Error run() {
    if (Error error = checkOperatorSets(model.opset_import(), "the model"))
      return error;
    if (Error error = checkGraph(model.graph(), nullptr, 0))
      return error;
    StringSet<> functions;
    for (const onnxfile::Function &function : model.functions()) {
      std::string key = (normalizeDomain(function.domain()) + "." + function.name() + ":" + function.overload()).str();
      if (function.name().empty() || !functions.insert(key).second)
        return fail("requires functions with names of their own, found '{0}' twice", shorten(function.name()));
      if (Error error = checkFunction(function))
        return error;
    }
    return checkCalls();
  }

private:
  template <typename... Args> static Error fail(const char *format, Args &&...args) {
    return createStringError(inconvertibleErrorCode(), "%s",
                             formatv(format, std::forward<Args>(args)...).str().c_str());
  }

  template <typename Sets> static Error checkOperatorSets(const Sets &sets, StringRef where) {
    StringSet<> domains;
    for (const onnxfile::OperatorSet &set : sets) {
      if (!domains.insert(normalizeDomain(set.domain())).second)
        return fail("requires one operator set a domain, found two of '{0}' in {1}", shorten(set.domain()), where);
      if (set.version() < 1)
        return fail("requires operator set versions of at least 1, found {0} in {1}", set.version(), where);
    }
    return Error::success();
  }

  Error define(Scope &scope, StringRef name, const Twine &where) {
    if (!scope.defined.insert(name).second)
      return fail("{0} defines the name '{1}' a second time", where.str(), shorten(name));
    return Error::success();
  }

  Error checkGraph(const onnxfile::Graph &graph, const Scope *outer, int depth) {
    if (depth > kMaxDepth)
      return fail("requires at most {0} graphs within one another (kMaxDepth), found more", kMaxDepth);
    Scope scope{outer, {}};
    std::string where = formatv("graph '{0}'", shorten(graph.name()));
    for (const onnxfile::ValueInfo &input : graph.input()) {
      if (input.name().empty())
        return fail("{0} requires inputs with names, found one without", where);
      if (Error error = define(scope, input.name(), where))
        return error;
    }
    // an initializer may give an input its default value
    StringSet<> initializers;
    for (const onnxfile::Tensor &tensor : graph.initializer()) {
      if (tensor.name().empty())
        return fail("{0} requires initializers with names, found one without", where);
      if (!initializers.insert(tensor.name()).second)
        return fail("{0} defines the initializer '{1}' a second time", where, shorten(tensor.name()));
      scope.defined.insert(tensor.name());
    }
    for (const onnxfile::SparseTensor &tensor : graph.sparse_initializer())
      return fail("sparse initializer '{0}' of {1} is not supported", shorten(tensor.values().name()), where);
    if (Error error = checkNodes(graph.node(), scope, depth))
      return error;
    for (const onnxfile::ValueInfo &output : graph.output())
      if (!scope.sees(output.name()))
        return fail("{0} requires its outputs to be defined, '{1}' is not", where, shorten(output.name()));
    return Error::success();
  }

  Error checkFunction(const onnxfile::Function &function) {
    std::string where = formatv("function '{0}'", shorten(function.name()));
    if (Error error = checkOperatorSets(function.opset_import(), where))
      return error;
    Scope scope;
    for (const std::string &input : function.input())
      if (Error error = define(scope, input, where))
        return error;
    if (Error error = checkNodes(function.node(), scope, 0))
      return error;
    for (const std::string &output : function.output())
      if (!scope.sees(output))
        return fail("{0} requires its outputs to be defined, '{1}' is not", where, shorten(output));
    return Error::success();
  }

  template <typename Nodes> Error checkNodes(const Nodes &nodes, Scope &scope, int depth) {
    numNodes += nodes.size();
    if (numNodes > kMaxNodes)
      return fail("requires at most {0} nodes (kMaxNodes), found more", kMaxNodes);
    for (int index = 0; index < nodes.size(); ++index) {
      const onnxfile::Node &node = nodes[index];
      std::string where = describeNode(node, index);
      if (node.op_type().empty())
        return fail("{0} requires an operator, found none", where);
      if (node.input_size() > kMaxNodeEdges || node.output_size() > kMaxNodeEdges ||
          node.attribute_size() > kMaxNodeEdges)
        return fail("{0} requires at most {1} inputs, outputs and attributes (kMaxNodeEdges), found more", where, kMaxNodeEdges);
      for (const std::string &input : node.input()) {
        if (input.empty() || scope.sees(input))
          continue;
        for (int later = index; later < nodes.size(); ++later)
          if (llvm::is_contained(nodes[later].output(), input))
            return fail("{0} requires its inputs to be defined before it, '{1}' is defined by a later {2}", where,
                        shorten(input), describeNode(nodes[later], later));
        return fail("{0} requires its inputs to be defined, '{1}' is not", where, shorten(input));
      }
      StringSet<> attributes;
      for (const onnxfile::Attribute &attribute : node.attribute()) {
        if (!attributes.insert(attribute.name()).second)
          return fail("{0} defines the attribute '{1}' a second time", where, shorten(attribute.name()));
        if (attribute.has_g())
          if (Error error = checkGraph(attribute.g(), &scope, depth + 1))
            return fail("{0}: {1}", where, toString(std::move(error)));
        for (const onnxfile::Graph &graph : attribute.graphs())
          if (Error error = checkGraph(graph, &scope, depth + 1))
            return fail("{0}: {1}", where, toString(std::move(error)));
      }
      for (const std::string &output : node.output())
        if (!output.empty())
          if (Error error = define(scope, output, where))
            return error;
    }
    return Error::success();
  }

  //===--- calls of local functions: no recursion, no explosion ---===//

  using Functions = StringMap<const onnxfile::Function *>;

  static std::string calleeKey(StringRef domain, StringRef name, StringRef overload) {
    return (normalizeDomain(domain) + "." + name + ":" + overload).str();
  }

  /// Nodes that `nodes` become when every call is expanded.
  template <typename Nodes> Expected<int64_t> countExpanded(const Nodes &nodes, const Functions &functions, int depth) {
    int64_t total = 0;
    for (const onnxfile::Node &node : nodes) {
      auto it = functions.find(calleeKey(node.domain(), node.op_type(), node.overload()));
      int64_t own = 1;
      if (it != functions.end()) {
        if (depth > kMaxDepth)
          return fail("requires at most {0} function calls within one another (kMaxDepth), found more at function '{1}'", kMaxDepth,
                      shorten(node.op_type()));
        auto known = expandedSize.find(it->second);
        if (known != expandedSize.end()) {
          own = known->second;
        } else {
          Expected<int64_t> inner = countExpanded(it->second->node(), functions, depth + 1);
          if (!inner)
            return inner;
          own = expandedSize[it->second] = *inner;
        }
      }
      for (const onnxfile::Attribute &attribute : node.attribute()) {
        if (attribute.has_g()) {
          Expected<int64_t> inner = countExpanded(attribute.g().node(), functions, depth);
          if (!inner)
            return inner;
          own += *inner;
        }
      }
      total += own;
      if (total > kMaxNodes)
        return fail("requires at most {0} nodes after function calls are expanded (kMaxNodes), found more", kMaxNodes);
    }
    return total;
  }

  Error checkCalls() {
    if (model.functions().empty())
      return Error::success();
    Functions functions;
    for (const onnxfile::Function &function : model.functions())
      functions[calleeKey(function.domain(), function.name(), function.overload())] = &function;
    Expected<int64_t> total = countExpanded(model.graph().node(), functions, 0);
    return total ? Error::success() : total.takeError();
  }

  const onnxfile::Model &model;
  int64_t numNodes = 0;
  llvm::DenseMap<const onnxfile::Function *, int64_t> expandedSize;
};

} // namespace

Error checkModel(const onnxfile::Model &model) { return ModelCheck(model).run(); }

} // namespace sinter::onnx
