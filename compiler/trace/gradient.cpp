// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "gradient.hpp"
#include "Apply.h"
#include "Frames.h"
#include "ops_create.hpp"
#include "runtime/decimal.h"
#include <numeric>

namespace sinter::inline SINTER_HOST {
namespace detail {

std::vector<std::string> argumentNames(AnyTree args) {
  std::vector<std::string> names = args.paths(); // "[0].w"
  for (std::string &name : names) {
    size_t end = name.find(']');
    name = "argument " + name.substr(1, end - 1) + name.substr(end + 1);
  }
  return names;
}

static std::vector<std::string> resultNames(AnyTree result) {
  std::vector<std::string> names = result.paths();
  for (std::string &name : names)
    name = names.size() == 1 && name.empty() ? "the result" : "result " + name;
  return names;
}

/// What is wrong with cotangents or tangents (`what`) of tensors of types `wanted`; undefined if nothing is.
static Tensor checkDirections(const char *function, const char *what, std::span<const TensorType> given,
                              std::span<const TensorType> wanted, const std::vector<std::string> &names, Where where) {
  std::string start = std::string(function) + " requires a " + what + " ";
  if (given.size() != wanted.size())
    return fail(where, start + "for each of " + std::to_string(wanted.size()) + " tensors, got " +
                           std::to_string(given.size()));
  for (size_t k = 0; k < given.size(); ++k)
    if (!mayFollow(wanted[k], given[k]))
      return fail(where, start + "of type " + wanted[k].str() + " for " + names[k] + ", got " + given[k].str());
  return Tensor();
}

std::vector<int32_t> leavesOf(std::span<const AnyTree> trees, std::initializer_list<size_t> which) {
  std::vector<int32_t> result, starts;
  int32_t next = 0;
  for (const AnyTree &tree : trees) {
    starts.push_back(next);
    next += int32_t(tree.leaves().size());
  }
  starts.push_back(next);
  for (size_t at : which)
    for (int32_t k = starts[at]; k < starts[at + 1]; ++k)
      result.push_back(k);
  return result;
}

std::vector<int32_t> allLeavesOf(AnyTree tree) {
  std::vector<int32_t> result(tree.leaves().size());
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// What is wrong with results of `types` for a gradient of this mode; undefined if nothing is.
static Tensor checkResults(const char *function, int mode, std::span<const TensorType> types, Where where) {
  std::string start = std::string(function) + " requires a function whose ";
  if (mode == SINTER_GRAD || mode == SINTER_VALUE_AND_GRAD || mode == SINTER_HVP) {
    if (types.empty() || types[0].shape.size() != 0 || !is_float(types[0].dtype))
      return fail(where, start + "result is a float of rank 0, got " +
                             (types.empty() ? std::string("no tensor") : types[0].str()));
    return Tensor();
  }
  for (const TensorType &type : types)
    if (!is_float(type.dtype))
      return fail(where, start + "results are floats, got " + type.str());
  return Tensor();
}

void Gradients::derivative(AnyTree like) const {
  if (problem.defined())
    return like.poison(problem);
  std::vector<Tensor> leaves = like.leaves();
  auto next = results.end();
  for (const Tensor &leaf : leaves)
    next -= is_float(leaf.dtype());
  for (Tensor &leaf : leaves)
    leaf = is_float(leaf.dtype()) ? *next++ : zeros_like(leaf);
  like.setLeaves(leaves);
}

/// Traces `f`, at arguments of `types` in trees like `args`, as a function of the graph: `value` and `outputs` are what
/// it gives, `function` is its number. Returns what went wrong; undefined if nothing did.
static Tensor traceApart(Trace &trace, const char *name, ApplyCall f, AnyTree args, std::span<const TensorType> types,
                         Where where, AnyTree value, std::vector<TensorType> &outputs, uint32_t &function) {
  std::vector<sinter_value_type> lowered;
  for (const TensorType &type : types)
    lowered.push_back(valueType(type));
  std::vector<uint32_t> ids(lowered.size()), results;
  int32_t count = 0;
  if (!trace.ask(functionBegin(name, lowered), ids.data(), count, where))
    return trace.failGraph(where);
  trace.enterRegion();
  std::vector<Tensor> arguments;
  for (size_t k = 0; k < types.size(); ++k)
    arguments.push_back(trace.wrap(ids[k], where));
  runFrame(trace, where, value, [&] {
    std::shared_ptr<void> used = args.clone();
    args.at(used.get()).setLeaves(arguments);
    f(used.get(), value.tree);
  });
  if (trace.error())
    return errorTensor(*trace.error());
  if (!trace.materialize(value, where, results, outputs))
    return *value.firstError();
  if (!trace.ask(functionEnd(results), function, where))
    return trace.failGraph(where);
  trace.leaveRegion();
  return Tensor();
}

namespace {
/// What a gradient gave, for code that comes by it again.
struct KnownGradients {
  Gradients made;
  std::shared_ptr<void> value;
};
} // namespace

/// Those of the leaves `wrt`, of `types`, that a gradient is by: floats. An integer beside floats in a tree is left out
/// backward; one that is an argument of its own, or that a direction is wanted for, is a mistake, which `problem` says.
static std::vector<int32_t> floatsOf(std::span<const int32_t> wrt, std::span<const TensorType> types, const char *name,
                                     int mode, AnyTree args, Where where, Tensor &problem) {
  std::vector<int32_t> floats, others;
  for (int32_t k : wrt)
    (is_float(types[size_t(k)].dtype) ? floats : others).push_back(k);
  bool isBackward = mode == SINTER_GRAD || mode == SINTER_VALUE_AND_GRAD || mode == SINTER_VJP;
  for (int32_t k : others) {
    std::string leaf = argumentNames(args)[size_t(k)];
    bool isArgument = leaf.find_first_of(".[") == std::string::npos;
    if (!problem.defined() && (isArgument || floats.empty() || !isBackward))
      problem = fail(where, std::string(name) + " requires float tensors to differentiate by, got " +
                                types[size_t(k)].str() + " for " + leaf);
  }
  return floats;
}

Gradients recordGradient(const char *name, int mode, ApplyCall f, AnyTree args, AnyTree value,
                         std::span<const int32_t> wrt, std::span<const Tensor> more, const GradientOptions &options,
                         Where where) {
  Trace &trace = *Trace::current();
  Gradients made;
  auto stop = [&](Tensor problem) {
    made.problem = std::move(problem);
    value.poison(made.problem);
    return made;
  };
  std::shared_ptr<void> usedCopy = args.clone();
  AnyTree used = args.at(usedCopy.get());
  std::vector<uint32_t> operands;
  std::vector<TensorType> types;
  if (!trace.materialize(used, where, operands, types))
    return stop(*used.firstError());
  std::vector<Tensor> further(more.begin(), more.end());
  std::vector<TensorType> furtherTypes;
  std::vector<uint32_t> all = operands;
  if (!trace.materialize(anyTree(further), where, all, furtherTypes))
    return stop(*anyTree(further).firstError());
  Tensor mistake;
  std::vector<int32_t> floats = floatsOf(wrt, types, name, mode, args, where, mistake);
  if (mistake.defined())
    return stop(mistake);
  if (mode == SINTER_JVP || mode == SINTER_HVP)
    if (Tensor problem = checkDirections(name, "tangent", furtherTypes, types, argumentNames(args), where);
        problem.defined())
      return stop(problem);
  uint64_t hash = hashBytes(hashText(79, name), wrt.data(), wrt.size() * sizeof(int32_t));
  Trace::Step *step;
  if (Tensor problem; trace.replay(hash, all, where, step, problem)) {
    if (step && step->tag == value.ops) {
      const auto &known = *static_cast<const KnownGradients *>(step->outcome.get());
      value.assign(known.value.get());
      return known.made;
    }
    return stop(step ? trace.nonDeterministic(where, step->where) : problem);
  }

  BuildScope scope(trace);
  std::vector<TensorType> outputTypes;
  uint32_t function = 0, gradient = 0;
  if (Tensor problem = traceApart(trace, name, f, used, types, where, value, outputTypes, function); problem.defined())
    return stop(problem);
  if (Tensor problem = checkResults(name, mode, outputTypes, where); problem.defined())
    return stop(problem);
  if (mode == SINTER_VJP)
    if (Tensor problem = checkDirections(name, "cotangent", furtherTypes, outputTypes, resultNames(value), where);
        problem.defined())
      return stop(problem);
  if (!trace.ask(gradientCall(function, mode, floats, options.memory), gradient, where))
    return stop(trace.failGraph(where));
  std::vector<uint32_t> results(outputTypes.size() * 2 + wrt.size() + 1);
  int32_t count = 0;
  if (!trace.ask(functionCall(gradient, all, int32_t(results.size())), results.data(), count, where))
    return stop(trace.failGraph(where));
  scope.finish();
  for (int32_t k = 0; k < count; ++k)
    made.results.push_back(trace.wrap(results[size_t(k)], where));
  if (mode != SINTER_GRAD && mode != SINTER_HVP)
    value.setLeaves(made.results);
  Trace::Step &remembered = trace.append(hash, all, where);
  remembered.outcome = std::make_shared<KnownGradients>(KnownGradients{made, value.clone()});
  remembered.tag = value.ops;
  return made;
}

void recordCheckpoint(ApplyCall f, AnyTree args, AnyTree result, Where where) {
  Trace &trace = *Trace::current();
  std::vector<uint32_t> ids;
  std::vector<TensorType> types;
  if (!materializeOrPoison(trace, args, where, ids, types, result))
    return;
  controlStep(trace, "checkpoint", ids, where, result, [&] {
    auto traced = traceRegion(trace, {}, where, result, [&](std::span<const Tensor>) { f(args.tree, result.tree); });
    std::vector<uint32_t> results(traced.ids.size() + 1);
    int32_t count = 0;
    if (!traced.region ||
        !trace.ask(checkpointCall(traced.region, int32_t(traced.ids.size())), results.data(), count, where)) {
      result.poison(traced.region ? trace.failGraph(where) : traced.problem);
      return false;
    }
    wrapLeaves(trace, result, results, where);
    return true;
  });
}

/// Those of float arguments, which must be of their types.
static std::vector<Tensor> floatCotangents(AnyTree args, AnyTree given, Where where) {
  std::vector<Tensor> leaves = given.leaves(), wanted = args.leaves(), kept;
  std::vector<std::string> names = argumentNames(args);
  Tensor problem;
  if (leaves.size() != wanted.size())
    problem = fail(where, "custom_vjp requires a cotangent per tensor of its arguments, got " +
                              std::to_string(leaves.size()) + " for " + std::to_string(wanted.size()));
  for (size_t k = 0; k < wanted.size() && !problem.defined(); ++k) {
    if (!is_float(wanted[k].dtype()))
      continue;
    Tensor leaf = leaves[k];
    if (leaf.weak())
      leaf = convert(leaf, wanted[k].dtype(), where);
    if (leaf.error())
      problem = leaf;
    else if (!leaf.defined() || !mayFollow(wanted[k].type(), leaf.type()))
      problem = fail(where, "custom_vjp requires a cotangent of the type of each argument, got " +
                                (leaf.defined() ? leaf.type().str() : std::string("none")) + " for " + names[k] +
                                ", which is " + wanted[k].type().str());
    kept.push_back(leaf);
  }
  if (problem.defined())
    kept.assign(1, problem);
  return kept;
}

void recordCustomVjp(const CustomVjp &parts) {
  Trace &trace = *Trace::current();
  Where where = parts.where;
  AnyTree args = parts.args, out = parts.result;
  std::vector<uint32_t> ids;
  std::vector<TensorType> types;
  if (!materializeOrPoison(trace, args, where, ids, types, out))
    return;
  controlStep(trace, "custom_vjp", ids, where, out, [&] {
    auto stop = [&](const Tensor &problem) {
      out.poison(problem);
      return false;
    };
    auto there = traceRegion(trace, types, where, parts.pair, [&](std::span<const Tensor> leaves) {
      std::shared_ptr<void> used = args.clone();
      args.at(used.get()).setLeaves(leaves);
      parts.forward(used.get(), parts.pair.tree);
    });
    out.assign(parts.firstOfPair.tree);
    if (!there.region)
      return stop(there.problem);
    size_t results = out.leaves().size();
    std::vector<TensorType> taken(there.types.begin() + std::ptrdiff_t(results), there.types.end());
    size_t residuals = taken.size();
    for (size_t k = 0; k < results; ++k)
      if (is_float(there.types[k].dtype))
        taken.push_back(there.types[k]);
    std::vector<Tensor> kept;
    auto back = traceRegion(trace, taken, where, anyTree(kept), [&](std::span<const Tensor> leaves) {
      size_t next = residuals;
      std::shared_ptr<void> cotangent = out.clone(), held = parts.secondOfPair.clone();
      out.at(cotangent.get()).each([&](Tensor &leaf) { leaf = is_float(leaf.dtype()) ? leaves[next++] : Tensor(); });
      parts.secondOfPair.at(held.get()).setLeaves(leaves);
      parts.backward(held.get(), cotangent.get(), parts.cotangents.tree);
      kept = floatCotangents(args, parts.cotangents, where);
    });
    if (!back.region)
      return stop(back.problem);
    std::vector<uint32_t> made(results + 1);
    int32_t count = 0;
    if (!trace.ask(customVjpCall(ids, int32_t(results), there.region, back.region), made.data(), count, where))
      return stop(trace.failGraph(where));
    wrapLeaves(trace, out, made, where);
    return true;
  });
}

void stopGradient(AnyTree tree, Where where) {
  tree.each([&](Tensor &leaf) {
    if (is_float(leaf.dtype()))
      leaf = tracing() ? apply("stop_gradient", {leaf}, {}, where) : leaf.detach();
  });
}

bool checkedSpecs(AnyTree args, std::vector<Spec> &specs, GradientCheck &check, Where where) {
  for (const Tensor &leaf : args.leaves()) {
    Tensor problem = leaf.error() ? leaf : Tensor();
    if (!leaf.defined() || leaf.traced())
      problem = fail(where, "check_gradients requires tensors with elements, got " +
                                std::string(leaf.traced() ? "one of a trace" : "a Tensor() without a value"));
    if (problem.defined()) {
      check.failure = std::make_shared<Error>(*problem.error());
      return false;
    }
    specs.push_back(spec_of(leaf));
  }
  return true;
}

void checkGraph(const Graph &graph, AnyTree args, const GradientCheckOptions &options, GradientCheck &check,
                Where where) {
  if (graph.error()) {
    check.failure = std::make_shared<Error>(*graph.error());
    return;
  }
  std::vector<sinter_tensor> inputs;
  std::vector<int32_t> wrt;
  for (const Tensor &leaf : args.leaves()) {
    if (is_float(leaf.dtype()))
      wrt.push_back(int32_t(inputs.size()));
    inputs.push_back(leaf.view());
  }
  sinter_gradient_check_options lowered{};
  lowered.struct_size = sizeof(lowered);
  lowered.reverse_only = !options.forward_mode;
  lowered.seed = options.seed;
  lowered.elements = options.elements;
  lowered.step = options.step;
  lowered.tolerance = options.tolerance;
  lowered.memory = options.memory.empty() ? nullptr : options.memory.c_str();
  sinter_gradient_check outcome{};
  outcome.struct_size = sizeof(outcome);
  if (sinter_graph_check_gradient(graph.handle(), sinter_graph_num_functions(graph.handle()) - 1, int32_t(wrt.size()),
                                  wrt.data(), int32_t(inputs.size()), inputs.data(), &lowered, &outcome)) {
    check.failure = std::make_shared<Error>(*fail(where, sinter_last_error()).error());
    return;
  }
  check.passed = outcome.passed;
  check.elements = outcome.element_error;
  check.direction = outcome.direction_error;
  check.transpose = outcome.transpose_error;
  if (outcome.worst_input >= 0)
    check.worst = argumentNames(args)[size_t(outcome.worst_input)];
}

} // namespace detail

std::string GradientCheck::str() const {
  PlainNumbers plain;
  char text[160];
  std::snprintf(text, sizeof text, "%.1e along a direction, %.1e of forward against reverse mode", direction,
                transpose);
  char first[48];
  std::snprintf(first, sizeof first, "largest error %.1e by single elements", elements);
  return first + (worst.empty() ? "" : " (" + worst + ")") + ", " + text;
}

} // namespace sinter::inline SINTER_HOST
