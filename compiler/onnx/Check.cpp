// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Reader.h"
#include "compiler/onnx/Schemas.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace sinter::onnx {

StringRef normalizeDomain(StringRef domain) { return domain == "ai.onnx" ? StringRef() : domain; }

std::string shortenName(StringRef name) {
  std::string out;
  for (char c : name.take_front(kMaxNameInMessage))
    out += uint8_t(c) < 0x20 || c == 0x7f ? '?' : c; // a message stays one line
  return name.size() > size_t(kMaxNameInMessage) ? out + "..." : out;
}

std::string describeNode(const onnxfile::Node &node, int64_t index) {
  std::string op = shortenName(node.op_type().empty() ? "no operator" : node.op_type());
  if (!node.name().empty())
    return formatv("node '{0}' ({1})", shortenName(node.name()), op);
  for (const std::string &output : node.output())
    if (!output.empty())
      return formatv("node of '{0}' ({1})", shortenName(output), op);
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
    if (model.ir_version() < 1 || model.ir_version() > kNewestIrVersion)
      return fail("requires a format version (IR version) of 1 to {0}, found {1}", kNewestIrVersion,
                  model.ir_version());
    if (model.opset_import().empty() && model.ir_version() >= 3)
      return fail("requires operator sets that say what its operators mean, found none");
    if (Error error = checkOperatorSets(model.opset_import(), "the model"))
      return error;
    for (const onnxfile::Function &function : model.functions())
      if (function.name().empty() ||
          !functions.try_emplace(calleeKey(function.domain(), function.name(), function.overload()), &function).second)
        return fail("requires functions with names of their own, found '{0}' twice", shortenName(function.name()));
    for (const onnxfile::Function &function : model.functions())
      if (Error error = checkFunction(function))
        return error;
    setOperators(model.opset_import());
    if (Error error = checkGraph(model.graph(), nullptr, 0))
      return error;
    return checkCalls();
  }

private:
  template <typename... Args> static Error fail(const char *format, Args &&...args) {
    return createStringError(inconvertibleErrorCode(), "%s",
                             formatv(format, std::forward<Args>(args)...).str().c_str());
  }

  template <typename Sets> void setOperators(const Sets &sets) {
    opsets.clear();
    if (model.opset_import().empty())
      opsets[""] = 1; // files from before operator sets
    for (const onnxfile::OperatorSet &set : sets)
      opsets[normalizeDomain(set.domain())] = set.version();
  }

  template <typename Sets> static Error checkOperatorSets(const Sets &sets, StringRef where) {
    StringSet<> domains;
    for (const onnxfile::OperatorSet &set : sets) {
      if (!domains.insert(normalizeDomain(set.domain())).second)
        return fail("requires one operator set a domain, found two of '{0}' in {1}", shortenName(set.domain()), where);
      if (set.version() < 1)
        return fail("requires operator set versions of at least 1, found {0} in {1}", set.version(), where);
      StringRef domain = normalizeDomain(set.domain());
      if (int64_t newest = newestVersion(domain); newest && set.version() > newest)
        return fail("opset {0}{1} of {2} is newer than {3}, the newest one known",
                    domain.empty() ? std::string() : (domain + " ").str(), set.version(), where, newest);
    }
    return Error::success();
  }

  Error define(Scope &scope, StringRef name, const Twine &where) {
    if (!scope.defined.insert(name).second)
      return fail("{0} defines the name '{1}' a second time", where.str(), shortenName(name));
    return Error::success();
  }

  Error checkGraph(const onnxfile::Graph &graph, const Scope *outer, int depth) {
    if (depth > kMaxDepth)
      return fail("requires at most {0} graphs within one another (kMaxDepth), found more", kMaxDepth);
    Scope scope{outer, {}};
    std::string where = formatv("graph '{0}'", shortenName(graph.name()));
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
        return fail("{0} defines the initializer '{1}' a second time", where, shortenName(tensor.name()));
      scope.defined.insert(tensor.name());
    }
    for (const onnxfile::SparseTensor &tensor : graph.sparse_initializer())
      return fail("sparse initializer '{0}' of {1} is not supported", shortenName(tensor.values().name()), where);
    if (Error error = checkNodes(graph.node(), scope, depth))
      return error;
    for (const onnxfile::ValueInfo &output : graph.output())
      if (!scope.sees(output.name()))
        return fail("{0} requires its outputs to be defined, '{1}' is not", where, shortenName(output.name()));
    return Error::success();
  }

  Error checkFunction(const onnxfile::Function &function) {
    std::string where = formatv("function '{0}'", shortenName(function.name()));
    if (Error error = checkOperatorSets(function.opset_import(), where))
      return error;
    setOperators(function.opset_import());
    Parameters &known = parameters[&function];
    for (const std::string &name : function.attribute())
      if (!known.try_emplace(name).second)
        return fail("{0} defines the attribute '{1}' a second time", where, shortenName(name));
    for (const onnxfile::Attribute &attribute : function.attribute_proto()) {
      Expected<onnxfile::Attribute::Kind> kind = kindOf(attribute);
      if (!kind)
        return fail("{0} {1}", where, toString(kind.takeError()));
      if (!known.try_emplace(attribute.name(), Parameter{*kind}).second)
        return fail("{0} defines the attribute '{1}' a second time", where, shortenName(attribute.name()));
    }
    inside = &known;
    scope_exit leave([&] { inside = nullptr; });
    Scope scope;
    for (const std::string &input : function.input())
      if (Error error = define(scope, input, where))
        return error;
    if (Error error = checkNodes(function.node(), scope, 0))
      return error;
    for (const std::string &output : function.output())
      if (!scope.sees(output))
        return fail("{0} requires its outputs to be defined, '{1}' is not", where, shortenName(output));
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
        return fail("{0} requires at most {1} inputs, outputs and attributes (kMaxNodeEdges), found more", where,
                    kMaxNodeEdges);
      for (const std::string &input : node.input()) {
        if (input.empty() || scope.sees(input))
          continue;
        return fail("{0} requires its inputs to be defined, '{1}' is not", where, shortenName(input));
      }
      StringSet<> attributes;
      for (const onnxfile::Attribute &attribute : node.attribute()) {
        if (attribute.name().empty())
          return fail("{0} requires attributes with names, found one without", where);
        if (!attributes.insert(attribute.name()).second)
          return fail("{0} defines the attribute '{1}' a second time", where, shortenName(attribute.name()));
        if (attribute.has_g())
          if (Error error = checkGraph(attribute.g(), &scope, depth + 1))
            return fail("{0}: {1}", where, toString(std::move(error)));
        for (const onnxfile::Graph &graph : attribute.graphs())
          if (Error error = checkGraph(graph, &scope, depth + 1))
            return fail("{0}: {1}", where, toString(std::move(error)));
      }
      if (Error error = checkOperator(node))
        return fail("{0}: {1}", where, toString(std::move(error)));
      for (const std::string &output : node.output()) {
        if (output.empty())
          continue;
        if (scope.outer && scope.outer->sees(output))
          return fail("{0} defines the name '{1}', which a graph around it defines already", where,
                      shortenName(output));
        if (Error error = define(scope, output, where))
          return error;
      }
    }
    return Error::success();
  }

  //===--- nodes as their operators are defined ---===//

  using Kind = onnxfile::Attribute::Kind;
  /// An attribute of a function: the kind that its body uses it as, UNKNOWN where it does not say, and whether an
  /// operator of the body must have it.
  struct Parameter {
    Kind kind = onnxfile::Attribute::UNKNOWN;
    bool isRequired = false;
  };
  using Parameters = StringMap<Parameter>;

  Error checkOperator(const onnxfile::Node &node) {
    StringRef domain = normalizeDomain(node.domain());
    auto function = functions.find(calleeKey(domain, node.op_type(), node.overload()));
    if (Error error = checkReferences(node))
      return error;
    if (function != functions.end())
      return Error::success(); // when all functions are known
    auto version = opsets.find(domain);
    if (version == opsets.end())
      return fail("requires an operator set of domain '{0}', the model {1} none", shortenName(domain),
                  inside ? "or its function states" : "states");
    const Schema *schema = findSchema(domain, node.op_type(), version->second);
    for (const onnxfile::Attribute &attribute : node.attribute())
      if (schema && inside && !attribute.ref_attr_name().empty() && isRequired(*schema, attribute.name()))
        (*inside)[attribute.ref_attr_name()].isRequired = true;
    return schema ? checkAgainst(*schema, node, version->second) : Error::success();
  }

  /// Attributes that are those of the call of the function around the node.
  Error checkReferences(const onnxfile::Node &node) {
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty())
        continue;
      std::string name = shortenName(attribute.name()), meant = shortenName(attribute.ref_attr_name());
      if (!inside)
        return fail("attribute '{0}' refers to an attribute '{1}' of a function, and is in none", name, meant);
      auto known = inside->find(attribute.ref_attr_name());
      if (known == inside->end())
        return fail("attribute '{0}' refers to an attribute '{1}' that its function does not have", name, meant);
      Expected<Kind> kind = kindOf(attribute);
      if (!kind)
        return kind.takeError();
      if (*kind == onnxfile::Attribute::UNKNOWN)
        continue;
      if (known->second.kind == onnxfile::Attribute::UNKNOWN)
        known->second.kind = *kind;
      else if (known->second.kind != *kind)
        return fail("requires {0} as attribute '{1}', its function has {2}", describeKind(*kind), name,
                    describeKind(known->second.kind));
    }
    return Error::success();
  }

  Error checkCall(const onnxfile::Node &node, const onnxfile::Function &function) {
    const Parameters &known = parameters[&function];
    std::string name = shortenName(function.name());
    for (const onnxfile::Attribute &attribute : node.attribute()) {
      auto found = known.find(attribute.name());
      if (found == known.end())
        return fail("function '{0}' has no attribute '{1}'", name, shortenName(attribute.name()));
      Expected<Kind> kind = kindOf(attribute);
      if (!kind)
        return kind.takeError();
      Kind wanted = found->second.kind;
      if (*kind != onnxfile::Attribute::UNKNOWN && wanted != onnxfile::Attribute::UNKNOWN && *kind != wanted)
        return fail("function '{0}' requires {1} as attribute '{2}', found {3}", name, describeKind(wanted),
                    shortenName(attribute.name()), describeKind(*kind));
    }
    for (const std::string &required : function.attribute()) // the others have defaults
      if (known.lookup(required).isRequired &&
          none_of(node.attribute(), [&](const onnxfile::Attribute &a) { return a.name() == required; }))
        return fail("function '{0}' requires the attribute '{1}', found none", name, shortenName(required));
    return Error::success();
  }

  //===--- calls of local functions: no recursion, no explosion ---===//

  using Functions = StringMap<const onnxfile::Function *>;

  static std::string calleeKey(StringRef domain, StringRef name, StringRef overload) {
    return (normalizeDomain(domain) + "." + name + ":" + overload).str();
  }

  /// What nodes become when every call is expanded.
  struct Expansion {
    int64_t nodes = 0;
    int depth = 0; // of calls within one another
  };

  /// `depth` calls lead to these nodes.
  template <typename Nodes> Expected<Expansion> expand(const Nodes &nodes, int depth) {
    Expansion total;
    auto add = [&](const Expansion &part, int calls) {
      total.nodes += part.nodes;
      total.depth = std::max(total.depth, part.depth + calls);
    };
    for (auto [index, node] : enumerate(nodes)) {
      auto it = functions.find(calleeKey(node.domain(), node.op_type(), node.overload()));
      if (it == functions.end()) {
        ++total.nodes;
      } else {
        if (Error error = checkCall(node, *it->second))
          return fail("{0}: {1}", describeNode(node, int64_t(index)), toString(std::move(error)));
        auto known = expansions.find(it->second);
        if (depth < kMaxDepth && known == expansions.end()) {
          Expected<Expansion> inner = expand(it->second->node(), depth + 1);
          if (!inner)
            return inner;
          known = expansions.try_emplace(it->second, *inner).first;
        }
        if (known == expansions.end() || depth + 1 + known->second.depth > kMaxDepth)
          return fail(
              "requires at most {0} function calls within one another (kMaxDepth), found more at function '{1}'",
              kMaxDepth, shortenName(node.op_type()));
        add(known->second, 1);
      }
      for (const onnxfile::Attribute &attribute : node.attribute()) {
        auto addGraph = [&](const onnxfile::Graph &graph) -> Error {
          Expected<Expansion> inner = expand(graph.node(), depth);
          if (!inner)
            return inner.takeError();
          add(*inner, 0);
          return Error::success();
        };
        if (attribute.has_g())
          if (Error error = addGraph(attribute.g()))
            return error;
        for (const onnxfile::Graph &graph : attribute.graphs())
          if (Error error = addGraph(graph))
            return error;
      }
      if (total.nodes > kMaxNodes)
        return fail("requires at most {0} nodes after function calls are expanded (kMaxNodes), found more", kMaxNodes);
    }
    return total;
  }

  Error checkCalls() {
    if (model.functions().empty())
      return Error::success();
    Expected<Expansion> total = expand(model.graph().node(), 0);
    return total ? Error::success() : total.takeError();
  }

  const onnxfile::Model &model;
  int64_t numNodes = 0;
  Functions functions;
  llvm::DenseMap<const onnxfile::Function *, Parameters> parameters;
  StringMap<int64_t> opsets;    // of the graph or function that is checked
  Parameters *inside = nullptr; // of the function that is checked, null in the graph
  llvm::DenseMap<const onnxfile::Function *, Expansion> expansions;
};

} // namespace

Error checkModel(const onnxfile::Model &model) { return ModelCheck(model).run(); }

} // namespace sinter::onnx
