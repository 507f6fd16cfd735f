// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of recorded functions, and regions that say how they are differentiated.

#include "ir/Gradient.h"
#include "compiler/capi/Graph.h"
#include "passes/gradient/BuildGradient.h"
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
    return invalid("gradient requires a memory policy, got '" + Twine(chosen.memory) + "'");
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
