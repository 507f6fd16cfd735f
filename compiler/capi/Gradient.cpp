// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of recorded functions, and regions that say how they are differentiated.

#include "ir/Gradient.h"
#include "compiler/capi/Graph.h"
#include "ir/Composer.h"
#include "ir/Shapes.h"
#include "ir/gradient/Differentiable.h"
#include "passes/gradient/BuildGradient.h"
#include "passes/gradient/CheckGradients.h"
#include "passes/gradient/CheckpointPolicy.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

/// Captures are the last arguments of a private function; the gradient put further ones behind them.
static void moveCapturesLast(func::FuncOp function, unsigned inputs, unsigned captures) {
  Block &block = function.getBody().front();
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (unsigned k = 0; k < captures; ++k) {
    BlockArgument old = block.getArgument(inputs);
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
    block.eraseArgument(inputs);
  }
  if (captures)
    std::rotate(attributes.begin() + inputs, attributes.begin() + inputs + captures, attributes.end());
  function.setType(FunctionType::get(function.getContext(), block.getArgumentTypes(), function.getResultTypes()));
  function.setAllArgAttrs(attributes);
}

sinter_status_code sinter_graph_gradient(sinter_graph *graph, int32_t index, int32_t count, const int32_t *wrt,
                                         const sinter_gradient_options *options, int32_t *result) {
  if (!graph || !result || count < 0 || (count > 0 && !wrt))
    return invalid("gradient requires a graph, inputs and a place for the function, got null");
  graph->errorIndex = -1;
  graph->message.clear();
  if (index < 0 || index >= static_cast<int32_t>(graph->functions.size()) || !graph->functions[index].op)
    return invalid("gradient requires a finished function, got " + Twine(index));
  sinter_gradient_options chosen = {};
  if (!readOptions(options, chosen))
    return invalid("gradient options require their struct_size");
  if (chosen.mode < SINTER_GRAD || chosen.mode > SINTER_HVP)
    return invalid("gradient requires a sinter_gradient_mode, got " + Twine(chosen.mode));
  if (chosen.memory && !CheckpointPolicy::parse(chosen.memory))
    return invalid("gradient requires a memory policy (all, recompute, period(K), binomial(SLOTS), online(SLOTS) or "
                   "implicit), got '" +
                   Twine(chosen.memory) + "'");
  const sinter_graph::Function &source = graph->functions[index];
  SmallVector<unsigned> inputs;
  for (int32_t k : ArrayRef(wrt, count)) {
    if (k < 0 || k >= static_cast<int32_t>(source.inputs.size()))
      return invalid("gradient of '" + source.name + "' requires inputs below " + Twine(source.inputs.size()) +
                     ", got " + Twine(k));
    inputs.push_back(static_cast<unsigned>(k));
  }

  GradientOptions build;
  build.mode = static_cast<GradientMode>(chosen.mode);
  build.result = static_cast<unsigned>(chosen.output);
  build.memory = chosen.memory ? chosen.memory : "";
  static constexpr const char *kSuffixes[] = {"_grad", "_value_and_grad", "_vjp", "_jvp", "_hvp"};
  build.name = source.name + kSuffixes[chosen.mode];
  for (unsigned n = 2; graph->module->lookupSymbol(build.name); ++n)
    build.name = source.name + kSuffixes[chosen.mode] + std::to_string(n);
  func::FuncOp sourceOp = source.op;
  FailureOr<func::FuncOp> built = buildGradient(sourceOp, inputs, build);
  if (failed(built))
    return graph->failWithDiagnostic("'" + source.name + "' has no gradient");

  sinter_graph::Function made;
  made.op = *built;
  made.name = build.name;
  made.parent = source.parent;
  made.captures = source.captures;
  (*built)->moveAfter(&graph->module->getBody()->back()); // modules list functions in the order of their ends
  moveCapturesLast(*built, source.inputs.size(), made.captures.size());
  auto nameOf = [](StringAttr name) { return name ? name.str() : std::string(); };
  for (unsigned k = 0; k < built->getNumArguments() - made.captures.size(); ++k) {
    made.inputs.push_back(graph->typeOf(built->getArgument(k)));
    made.inputNames.push_back(nameOf(built->getArgAttrOfType<StringAttr>(k, "sinter.name")));
  }
  for (auto [k, value] : llvm::enumerate(built->getBody().front().getTerminator()->getOperands())) {
    made.outputs.push_back(graph->typeOf(value));
    made.outputNames.push_back(nameOf(built->getResultAttrOfType<StringAttr>(k, "sinter.name")));
  }
  graph->functions.push_back(std::move(made));
  *result = static_cast<int32_t>(graph->functions.size() - 1);
  return SINTER_OK;
}

sinter_status_code sinter_graph_checkpoint(sinter_graph *graph, sinter_region number, int32_t room,
                                           sinter_value *results, int32_t *count) {
  if (!graph)
    return invalid("checkpoint requires a graph, got null");
  if (sinter_status_code status = graph->requireFrame("checkpoint"))
    return status;
  sinter_graph::Region *region;
  if (sinter_status_code status = graph->takeRegion(number, "checkpoint", region))
    return status;
  if (!region->arguments.empty())
    return invalid("checkpoint requires a region without arguments, got " + Twine(region->arguments.size()));
  SmallVector<Type> types(region->region->front().getTerminator()->getOperandTypes());
  if (sinter_status_code status = graph->requireRoom("checkpoint", types.size(), room, results, count))
    return status;
  SmallVector<uint32_t> order;
  SmallVector<Value> outer;
  if (sinter_status_code status = graph->capturesOf(region, "checkpoint", order, outer))
    return status;
  OpBuilder b(graph->context.get());
  OperationState state(graph->location, CheckpointOp::getOperationName());
  CheckpointOp::build(b, state, types, outer);
  return graph->insertControl(state, region, order, outer, results, count);
}

//===- checks ----------------------------------------------------------------------------------------===//

sinter_status_code sinter_graph_check_gradient(sinter_graph *graph, int32_t index, int32_t count, const int32_t *wrt,
                                               int32_t num_inputs, const sinter_tensor *inputs,
                                               const sinter_gradient_check_options *options,
                                               sinter_gradient_check *check) {
  if (!graph || count < 0 || (count > 0 && !wrt) || num_inputs < 0 || (num_inputs > 0 && !inputs))
    return invalid("gradient check requires a graph and inputs, got null");
  if (!check || check->struct_size < sizeof check->struct_size)
    return invalid("gradient check requires a place for its outcome with its struct_size");
  sinter_gradient_check_options chosen = {};
  if (!readOptions(options, chosen))
    return invalid("gradient check options require their struct_size");
  if (chosen.memory && !CheckpointPolicy::parse(chosen.memory))
    return invalid("gradient check requires a memory policy (all, recompute, period(K), binomial(SLOTS), online(SLOTS) "
                   "or implicit), got '" +
                   Twine(chosen.memory) + "'");
  if (!(chosen.step >= 0) || !(chosen.tolerance >= 0) || chosen.elements < 0)
    return invalid("gradient check requires a step, a tolerance and a number of elements of at least 0");
  SmallVector<HostTensor> arguments;
  if (sinter_status_code status = graph->takeInputs("gradient check", index, num_inputs, inputs, arguments))
    return status;
  const sinter_graph::Function &function = graph->functions[static_cast<size_t>(index)];
  SmallVector<unsigned> by;
  for (int32_t k : ArrayRef(wrt, count)) {
    if (k < 0 || k >= num_inputs || !arguments[static_cast<size_t>(k)].isFloat())
      return invalid("gradient check of '" + function.name + "' requires float inputs below " + Twine(num_inputs) +
                     ", got " + Twine(k));
    by.push_back(static_cast<unsigned>(k));
  }
  GradientCheckOptions lowered;
  lowered.seed = chosen.seed;
  lowered.elements = chosen.elements ? chosen.elements : lowered.elements;
  lowered.step = chosen.step > 0 ? chosen.step : lowered.step;
  lowered.tolerance = chosen.tolerance > 0 ? chosen.tolerance : lowered.tolerance;
  lowered.memory = chosen.memory ? chosen.memory : "";
  lowered.forwardMode = !chosen.reverse_only;
  lowered.expand = true;
  graph->message.clear();
  graph->namePlaces = true;
  FailureOr<GradientCheck> made = checkGradients(function.op, by, arguments, lowered);
  graph->namePlaces = false;
  if (failed(made))
    return graph->failWithDiagnostic("the gradient of '" + function.name + "' cannot be checked");
  sinter_gradient_check full = {};
  full.struct_size = check->struct_size;
  full.passed = made->passed;
  full.worst_input = -1;
  for (auto [k, error] : llvm::zip(by, made->elements))
    if (full.worst_input < 0 || error > full.element_error) {
      full.worst_input = static_cast<int32_t>(k);
      full.element_error = error;
    }
  full.direction_error = made->direction;
  full.transpose_error = made->transpose;
  std::memcpy(check, &full, std::min<size_t>(check->struct_size, sizeof full));
  return SINTER_OK;
}

//===- custom_vjp ------------------------------------------------------------------------------------===//

static SmallVector<Type> floatsOf(TypeRange types) {
  return llvm::to_vector(llvm::make_filter_range(types, isDifferentiable));
}

/// Checks what a region takes or gives against what it stands for.
static sinter_status_code requireTypes(sinter_graph &graph, TypeRange types, TypeRange wanted, StringRef what,
                                       StringRef one, StringRef several) {
  if (types.size() != wanted.size())
    return invalid("custom_vjp requires a " + what + " for each of " + Twine(wanted.size()) + " " + several + ", got " +
                   Twine(types.size()));
  for (auto [k, pair] : llvm::enumerate(llvm::zip(types, wanted)))
    if (auto [type, other] = pair; !agree(type, other)) {
      graph.errorIndex = static_cast<int32_t>(k);
      return invalid("custom_vjp requires " + what + " " + Twine(k) + " of the type of its " + one + ", got " +
                     describe(type) + " and " + describe(other));
    }
  return SINTER_OK;
}

/// What both functions capture becomes further operands. The forward one passes them on, and the backward one gives
/// them the cotangent 0, which nobody reads: the op says that it has no gradient by them.
sinter_status_code sinter_graph_custom_vjp(sinter_graph *graph, int32_t count, const sinter_value *values,
                                           int32_t num_results, sinter_region forwardNumber,
                                           sinter_region backwardNumber, int32_t room, sinter_value *results,
                                           int32_t *num) {
  if (!graph || count < 0 || (count > 0 && !values) || num_results < 0)
    return invalid("custom_vjp requires a graph, operands and a number of results, got null or less than 0");
  if (sinter_status_code status = graph->requireFrame("custom_vjp"))
    return status;
  SmallVector<Value> operands;
  if (sinter_status_code status = graph->resolveAll(ArrayRef(values, count), "custom_vjp: operand", operands))
    return status;
  sinter_graph::Region *forward, *backward;
  if (sinter_status_code status = graph->takeRegion(forwardNumber, "custom_vjp: forward", forward))
    return status;
  if (sinter_status_code status = graph->takeRegion(backwardNumber, "custom_vjp: backward", backward))
    return status;
  Block &before = forward->region->front(), &after = backward->region->front();
  Operation *forwardYield = before.getTerminator(), *backwardYield = after.getTerminator();
  auto numResults = static_cast<size_t>(num_results);
  TypeRange operandTypes = ValueRange(operands).getTypes(), yields = forwardYield->getOperandTypes();
  if (sinter_status_code status =
          requireTypes(*graph, before.getArgumentTypes(), operandTypes, "forward argument", "operand", "operands"))
    return status;
  if (yields.size() < numResults)
    return invalid("custom_vjp requires a forward yield per result, got " + Twine(yields.size()) + " for " +
                   Twine(numResults));
  SmallVector<Type> types(yields.take_front(numResults)), given(yields.drop_front(numResults));
  size_t numResiduals = given.size();
  llvm::append_range(given, floatsOf(types));
  if (sinter_status_code status = requireTypes(*graph, after.getArgumentTypes(), given, "backward argument",
                                               "residual or float result", "residuals and float results"))
    return status;
  if (sinter_status_code status = requireTypes(*graph, backwardYield->getOperandTypes(), floatsOf(operandTypes),
                                               "backward yield", "float operand", "float operands"))
    return status;
  if (sinter_status_code status = graph->requireRoom("custom_vjp", numResults, room, results, num))
    return status;
  SmallVector<uint32_t> order;
  SmallVector<Value> outer;
  if (sinter_status_code status = graph->capturesOf({forward, backward}, "custom_vjp", order, outer))
    return status;

  graph->bindCaptures(&before, forward->captures, order, outer);
  graph->bindCaptures(&after, backward->captures, order, outer);
  forwardYield->insertOperands(yields.size(), before.getArguments().take_back(order.size()));
  // Cotangents come last.
  for (size_t k = numResiduals; !order.empty() && k < given.size(); ++k) {
    BlockArgument old = after.getArgument(static_cast<unsigned>(numResiduals));
    BlockArgument moved = after.addArgument(old.getType(), old.getLoc());
    graph->shapes.bind(moved, graph->shapes.dims(old));
    old.replaceAllUsesWith(moved);
    after.eraseArgument(static_cast<unsigned>(numResiduals));
  }
  OpBuilder b(backwardYield);
  Composer zeros(graph->location, b);
  for (Value capture : after.getArguments().slice(numResiduals, order.size()))
    if (isDifferentiable(capture.getType()))
      backwardYield->insertOperands(backwardYield->getNumOperands(), zeros.fill(0, capture));
  llvm::append_range(operands, outer);
  OperationState state(graph->location, CustomVjpOp::getOperationName());
  CustomVjpOp::build(b, state, types, operands);
  if (!order.empty())
    state.addAttribute("sinter.captures", b.getI64IntegerAttr(static_cast<int64_t>(order.size())));
  return graph->insertControl(state, {forward, backward}, {}, {}, results, num);
}
