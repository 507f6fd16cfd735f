// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If, Loop and Scan. Bodies become isolated regions; what they use from outside becomes captures, constants are
// repeated inside.

#include "compiler/onnx/Importer.h"
#include "compiler/onnx/OpImport.h"
#include "compiler/onnx/Reader.h"
#include "ir/Regions.h"
#include "passes/gradient/LoopView.h"

using namespace mlir;

namespace sinter::onnx {

/// The least type that covers both; null if element types or ranks differ.
static RankedTensorType joinTypes(Type a, Type b) {
  auto x = cast<RankedTensorType>(a), y = cast<RankedTensorType>(b);
  if (x.getElementType() != y.getElementType())
    return {};
  std::optional<SmallVector<int64_t>> shape = joinShapes(x.getShape(), y.getShape());
  return shape ? RankedTensorType::get(*shape, x.getElementType()) : RankedTensorType();
}

/// A rank-0 boolean, from one of any rank with one element.
static Value asPredicate(OpImport &n, Value value) {
  if (!value || !n.elem(value).isInteger(1)) {
    (void)n.error("requires a boolean condition, found another type");
    return {};
  }
  return n.rank(value) == 0 ? value : n.reshape(value, {});
}

static Block *addBlock(OpImport &n, Region &region, TypeRange types) {
  Block *block = new Block;
  region.push_back(block);
  block->addArguments(types, SmallVector<Location>(types.size(), n.loc));
  return block;
}

static void addYield(OpImport &n, Block &block, ValueRange values) {
  OpBuilder inner(n.b.getContext());
  inner.setInsertionPointToEnd(&block);
  OperationState state(n.loc, YieldOp::getOperationName());
  state.addOperands(values);
  inner.create(state);
}

static Operation *createWith(OpImport &n, OperationState &state, MutableArrayRef<std::unique_ptr<Region>> regions) {
  state.regions.clear();
  for (std::unique_ptr<Region> &region : regions)
    state.addRegion(std::move(region));
  return n.b.create(state);
}

Value OpImport::switchOver(Value index, int64_t count, ArrayRef<Value> captures,
                           llvm::function_ref<Value(int64_t, ValueRange)> build) {
  if (failed())
    return {};
  if (count == 0) {
    (void)error("requires an operand of rank 1 at least, found rank 0");
    return {};
  }
  index = select(compare(CompareKind::lt, index, 0), add(index, double(count)), index);
  SmallVector<std::unique_ptr<Region>> regions;
  RankedTensorType result;
  for (int64_t k = 0; k < count; ++k) {
    regions.push_back(newRegion());
    Block *block = addBlock(*this, *regions.back(), ValueRange(captures).getTypes());
    Value value;
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(block);
      value = build(k, block->getArguments());
    }
    if (failed() || !value) {
      keep(regions);
      return {};
    }
    addYield(*this, *block, value);
    result = result ? joinTypes(result, value.getType()) : type(value);
  }
  OperationState state(loc, SwitchOp::getOperationName());
  SwitchOp::build(b, state, TypeRange(result), index, ValueRange(captures), unsigned(count));
  return createWith(*this, state, regions)->getResult(0);
}

//===--- If -----------------------------------------------------------------------------------------------------===//

/// The axes that a branch squeezes if that is all it does, with what it squeezes.
static std::optional<SmallVector<int64_t>> squeezedAxes(const onnxfile::Graph &branch, StringRef &operand) {
  if (branch.output_size() != 1 || branch.node_size() == 0)
    return std::nullopt;
  const onnxfile::Node &last = branch.node(branch.node_size() - 1);
  if (last.op_type() != "Squeeze" || last.output_size() != 1 || last.output(0) != branch.output(0).name() ||
      last.input_size() == 0)
    return std::nullopt;
  operand = last.input(0);
  for (const onnxfile::Attribute &attribute : last.attribute())
    if (attribute.name() == "axes")
      return SmallVector<int64_t>(attribute.ints().begin(), attribute.ints().end());
  auto decode = [](const onnxfile::Tensor &tensor) -> std::optional<SmallVector<int64_t>> {
    llvm::Expected<TensorData> data = decodeTensor(tensor, nullptr);
    if (data)
      return data->asInts();
    llvm::consumeError(data.takeError());
    return std::nullopt;
  };
  for (const onnxfile::Tensor &tensor : branch.initializer())
    if (last.input_size() == 2 && tensor.name() == last.input(1))
      return decode(tensor);
  for (const onnxfile::Node &node : branch.node())
    if (last.input_size() == 2 && node.op_type() == "Constant" && llvm::is_contained(node.output(), last.input(1)))
      for (const onnxfile::Attribute &attribute : node.attribute())
        if (attribute.name() == "value")
          return decode(attribute.t());
  return std::nullopt;
}

/// True if a branch passes `operand` on as it is.
static bool passesOn(const onnxfile::Graph &branch, StringRef operand) {
  if (branch.output_size() != 1)
    return false;
  if (branch.node_size() == 0)
    return branch.output(0).name() == operand;
  return branch.node_size() == 1 && branch.node(0).op_type() == "Identity" && branch.node(0).input_size() == 1 &&
         branch.node(0).input(0) == operand;
}

/// A value like `value` without `axes`, in the branch that ends `block`, that is never there: computing it is an error
/// at run time.
static Value refuseAtRunTime(OpImport &n, Block &block, Value value, ArrayRef<int64_t> axes) {
  OpBuilder::InsertionGuard guard(n.b);
  n.b.setInsertionPointToEnd(&block);
  SmallVector<Size> sizes;
  for (int64_t axis = 0; axis < n.rank(value); ++axis)
    if (!llvm::is_contained(axes, axis))
      sizes.push_back(n.sizeOf(value, axis));
  Value init = n.spread(n.scalar(n.elem(value), 0), sizes);
  if (n.failed())
    return {};
  auto always = [](OpBuilder &b, Location loc, ValueRange) -> SmallVector<Value> {
    auto i1 = RankedTensorType::get({}, b.getI1Type());
    return ConstantOp::create(b, loc, TypeRange(i1), HostTensor::scalar(i1.getElementType(), 1).toAttr())->getResults();
  };
  auto same = [](OpBuilder &, Location, ValueRange carries) { return SmallVector<Value>(carries); };
  WhileOp loop = buildWhile(n.b, n.loc, init, {}, always, same, 0, LimitPolicy::trap);
  std::string message = describeNode(n.node, 0) + " requires a size of 1 where it squeezes";
  std::replace(message.begin(), message.end(), '{', '('); // {} stands for a number
  loop->setAttr(kLimitMessage, n.b.getStringAttr(message));
  return loop.getCarries().front();
}

/// `squeeze if the size is 1`, as exporters write it: where the other branch squeezes what branch `k` passes on, all
/// that follows is made for the squeezed rank, and what branch `k` gives at the end of `block` is refused at run time.
static LogicalResult refuseUnsqueezed(OpImport &n, const onnxfile::Graph *const *branches, int k, Block &block,
                                      MutableArrayRef<Value> results) {
  StringRef operand;
  std::optional<SmallVector<int64_t>> axes = squeezedAxes(*branches[1 - k], operand);
  if (!axes || !passesOn(*branches[k], operand))
    return success();
  Value &result = results.front();
  if (failed(n.normalizeAxes(*axes, n.rank(result))))
    return failure();
  result = refuseAtRunTime(n, block, result, *axes);
  return success(result != nullptr);
}

static LogicalResult importIf(OpImport &n) {
  const onnxfile::Graph *branches[2] = {n.graphAttr("then_branch"), n.graphAttr("else_branch")};
  if (!branches[0] || !branches[1])
    return n.error("requires the attributes 'then_branch' and 'else_branch'");
  if (branches[0]->input_size() || branches[1]->input_size())
    return n.error("requires branches without inputs");
  if (branches[0]->output_size() != branches[1]->output_size())
    return n.error("requires branches with equally many outputs, found " + Twine(branches[0]->output_size()) + " and " +
                   Twine(branches[1]->output_size()));
  Value predicate = asPredicate(n, n.in(0));
  if (!predicate)
    return failure();
  if (std::optional<double> known = n.knownScalar(predicate)) {
    int taken = *known != 0 ? 0 : 1;
    SmallVector<Value> results;
    if (failed(n.importInline(*branches[taken], {}, results)))
      return failure();
    // A branch for inputs of another size, which this size rules out, stays a branch that can be compiled.
    if (n.mayRest() && failed(refuseUnsqueezed(n, branches, taken, *n.b.getInsertionBlock(), results)))
      return failure();
    llvm::append_range(n.outputs, results);
    return success();
  }
  SmallVector<Value> captures;
  n.capturesOf(*branches[0], captures);
  n.capturesOf(*branches[1], captures);

  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<Value> yielded[2];
  for (int k = 0; k < 2; ++k) {
    regions.push_back(n.newRegion());
    Block *block = addBlock(n, *regions.back(), ValueRange(captures).getTypes());
    if (failed(n.importBody(*branches[k], *block, {}, captures, yielded[k], /*mayRest=*/true))) {
      n.keep(regions);
      return failure();
    }
  }

  for (int k = 0; k < 2; ++k)
    if (failed(refuseUnsqueezed(n, branches, k, regions[k]->front(), yielded[k]))) {
      n.keep(regions);
      return failure();
    }

  SmallVector<Type> types;
  for (auto [a, b] : llvm::zip(yielded[0], yielded[1])) {
    types.push_back(joinTypes(a.getType(), b.getType()));
    if (!types.back()) {
      n.keep(regions);
      return n.unsupported("a pair of branches whose outputs differ in rank or element type");
    }
  }
  for (int k = 0; k < 2; ++k)
    addYield(n, regions[k]->front(), yielded[k]);
  OperationState state(n.loc, CondOp::getOperationName());
  CondOp::build(n.b, state, types, predicate, captures);
  llvm::append_range(n.outputs, createWith(n, state, regions)->getResults());
  return success();
}

//===--- Loop ---------------------------------------------------------------------------------------------------===//

/// How often a body may be imported until its carries have stable types.
constexpr int kMaxImports = 66;

namespace {
/// The body of a Loop or Scan, in a region that no loop has yet.
class LoopBody {
public:
  LoopBody(OpImport &n, const onnxfile::Graph &graph, ValueRange init) : carries(init.getTypes()), n(n), graph(graph) {
    n.capturesOf(graph, captures);
  }
  /// Regions that became none of a loop live on.
  ~LoopBody() { n.keep(regions); }

  /// The block's arguments are `before`, carries, `after`, captures; `inputsOf` gives the graph's inputs by the block
  /// and those of its arguments that are no captures. The first carry is the graph's output `firstCarry`. A carry whose
  /// size changes from trip to trip gets `?` there; then the body is imported again.
  LogicalResult import(TypeRange before, TypeRange after, unsigned firstCarry,
                       llvm::function_ref<SmallVector<Value>(Block &, ValueRange)> inputsOf) {
    for (int k = 0; k < kMaxImports; ++k) {
      n.keep(regions);
      regions.clear();
      outputs.clear();
      regions.push_back(n.newRegion());
      SmallVector<Type> arguments(before);
      for (TypeRange types : {TypeRange(carries), after, TypeRange(ValueRange(captures))})
        llvm::append_range(arguments, types);
      block = addBlock(n, *regions.front(), arguments);
      SmallVector<Value> inputs = inputsOf(*block, block->getArguments().drop_back(captures.size()));
      if (failed(n.importBody(graph, *block, inputs, captures, outputs)))
        return failure();
      bool isStable = true;
      for (auto [carry, next] : llvm::zip(carries, ArrayRef<Value>(outputs).drop_front(firstCarry))) {
        RankedTensorType joined = joinTypes(carry, next.getType());
        if (!joined)
          return n.unsupported("a carried value that changes its rank or element type");
        isStable &= joined == carry;
        carry = joined;
      }
      if (isStable)
        return success();
    }
    return n.error("requires carried values of stable types");
  }

  SmallVector<Value> captures;
  SmallVector<Type> carries;
  SmallVector<std::unique_ptr<Region>> regions; // one
  Block *block = nullptr;
  SmallVector<Value> outputs;

private:
  OpImport &n;
  const onnxfile::Graph &graph;
};
} // namespace

/// True if the body passes its condition on unchanged, or yields true.
static bool keepsCondition(const onnxfile::Graph &body) {
  std::string name = body.output(0).name();
  for (int k = body.node_size(); k-- > 0;) {
    const onnxfile::Node &node = body.node(k);
    if (llvm::is_contained(node.output(), name)) {
      if (node.op_type() != "Identity" || node.input_size() != 1)
        return false;
      name = node.input(0);
    }
  }
  return name == body.input(1).name();
}

/// A `for` over the body, which takes i and the carries.
static Operation *buildCounted(OpImport &n, LoopBody &body, TypeRange results, ValueRange init, Value trips) {
  addYield(n, *body.block, ArrayRef<Value>(body.outputs).drop_front());
  OperationState state(n.loc, ForOp::getOperationName());
  ForOp::build(n.b, state, results, n.scalarInt(0), trips, n.scalarInt(1), init, body.captures);
  return createWith(n, state, body.regions);
}

/// A `while` over the body, whose first carries are the trip's number and the condition; null after an error. `trips`
/// is null where there is no limit.
static Operation *buildConditional(OpImport &n, LoopBody &body, TypeRange results, ValueRange init, Value start,
                                   Value trips) {
  Type i64 = RankedTensorType::get({}, n.b.getI64Type()), i1 = RankedTensorType::get({}, n.b.getI1Type());
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(body.block);
    SmallVector<Value> values = {n.add(body.block->getArgument(0), 1), asPredicate(n, body.outputs[0])};
    if (n.failed())
      return nullptr;
    values.append(body.outputs.begin() + 1, body.outputs.end());
    addYield(n, *body.block, values);
  }
  SmallVector<Value> carries = {n.scalarInt(0), start}, captures(body.captures);
  llvm::append_range(carries, init);
  if (trips) { // the body takes the same captures as the condition
    captures.push_back(trips);
    body.block->addArgument(i64, n.loc);
  }
  SmallVector<std::unique_ptr<Region>> regions;
  regions.push_back(n.newRegion());
  Block *test = addBlock(n, *regions.front(), body.block->getArgumentTypes());
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(test);
    Value keepOn = test->getArgument(1);
    if (trips)
      keepOn = n.make<AndOp>(keepOn, n.compare(CompareKind::lt, test->getArgument(0), test->getArguments().back()));
    addYield(n, *test, keepOn);
  }
  SmallVector<Type> types = {i64, i64, i1};
  llvm::append_range(types, results);
  OperationState state(n.loc, WhileOp::getOperationName());
  WhileOp::build(n.b, state, types, carries, captures, /*max_trip=*/IntegerAttr(),
                 LimitPolicyAttr::get(n.b.getContext(), LimitPolicy::stop));
  regions.push_back(std::move(body.regions.front()));
  return createWith(n, state, regions);
}

static LogicalResult importLoop(OpImport &n) {
  const onnxfile::Graph *graph = n.graphAttr("body");
  if (!graph)
    return n.error("requires the attribute 'body'");
  unsigned numCarries = n.node.input_size() > 2 ? unsigned(n.node.input_size()) - 2 : 0;
  if (graph->input_size() != int(numCarries) + 2 || graph->output_size() < int(numCarries) + 1)
    return n.error("requires a body of " + Twine(numCarries + 2) + " inputs and at least " + Twine(numCarries + 1) +
                   " outputs, found " + Twine(graph->input_size()) + " and " + Twine(graph->output_size()));
  SmallVector<Value> init;
  for (unsigned k = 0; k < numCarries; ++k) {
    if (!n.in(k + 2))
      return n.error("requires a value for each carried input, found none for input " + Twine(k + 2));
    init.push_back(n.in(k + 2));
  }
  Value trips = n.in(0) ? n.reshape(n.convert(n.in(0), n.b.getI64Type()), {}) : Value();
  Value start = n.in(1) ? asPredicate(n, n.in(1)) : n.scalar(n.b.getI1Type(), 1);
  if (!start || n.failed())
    return failure();
  bool startsTrue = n.knownScalar(start).value_or(0) != 0;
  bool isCounted = trips && startsTrue && keepsCondition(*graph);

  // Arguments of a for: i, carries, captures; of a while: i, condition, carries, captures.
  auto i64 = RankedTensorType::get({}, n.b.getI64Type()), i1 = RankedTensorType::get({}, n.b.getI1Type());
  LoopBody body(n, *graph, init);
  auto inputsOf = [&](Block &block, ValueRange arguments) {
    SmallVector<Value> inputs(arguments);
    if (isCounted) {
      OpBuilder inner(n.b.getContext());
      inner.setInsertionPointToEnd(&block);
      auto yes = ConstantOp::create(inner, n.loc, TypeRange(i1), HostTensor::scalar(i1.getElementType(), 1).toAttr());
      inputs.insert(inputs.begin() + 1, yes->getResult(0));
    }
    return inputs;
  };
  SmallVector<Type> before = {i64};
  if (!isCounted)
    before.push_back(i1);
  if (failed(body.import(before, {}, /*firstCarry=*/1, inputsOf)))
    return failure();

  SmallVector<Type> results(body.carries);
  std::optional<double> known = isCounted ? n.knownScalar(trips) : std::nullopt;
  int64_t count = known ? std::max<int64_t>(int64_t(*known), 0) : ShapedType::kDynamic;
  for (Value stacked : ArrayRef<Value>(body.outputs).drop_front(1 + numCarries))
    results.push_back(stackType(stacked.getType(), 0, count));
  Operation *loop =
      isCounted ? buildCounted(n, body, results, init, trips) : buildConditional(n, body, results, init, start, trips);
  if (!loop)
    return failure();
  llvm::append_range(n.outputs, loop->getResults().take_back(results.size()));
  return success();
}

//===--- Scan ---------------------------------------------------------------------------------------------------===//

static LogicalResult importScan(OpImport &n) {
  const onnxfile::Graph *graph = n.graphAttr("body");
  if (!graph)
    return n.error("requires the attribute 'body'");
  bool batched = n.version < 9; // lengths and a batch axis in front
  if (batched && n.in(0))
    return n.unsupported("a Scan over sequences of several lengths");
  unsigned first = batched ? 1 : 0;
  int64_t numSequences = n.intAttr("num_scan_inputs", 0), numInputs = int64_t(n.node.input_size()) - first;
  int64_t numCarries = numSequences < 1 ? -1 : numInputs - numSequences;
  if (numCarries < 0 || graph->input_size() != numCarries + numSequences || graph->output_size() < numCarries)
    return n.error("requires a body of as many inputs as the node has, found " + Twine(graph->input_size()));
  int64_t numStacks = graph->output_size() - numCarries;
  for (int64_t k = 0; k < numCarries + numSequences; ++k)
    if (!n.in(unsigned(first + k)))
      return n.error("requires all inputs, found none for input " + Twine(first + k));

  SmallVector<int64_t> axes = n.intsAttr("scan_input_axes").value_or(SmallVector<int64_t>(size_t(numSequences), 0));
  SmallVector<int64_t> outAxes = n.intsAttr("scan_output_axes").value_or(SmallVector<int64_t>(size_t(numStacks), 0));
  SmallVector<int64_t> inDirections = n.intsAttr(batched ? "directions" : "scan_input_directions")
                                          .value_or(SmallVector<int64_t>(size_t(numSequences), 0));
  SmallVector<int64_t> outDirections =
      n.intsAttr("scan_output_directions").value_or(SmallVector<int64_t>(size_t(numStacks), 0));
  if (int64_t(axes.size()) != numSequences || int64_t(inDirections.size()) != numSequences ||
      int64_t(outAxes.size()) != numStacks || int64_t(outDirections.size()) != numStacks)
    return n.error("requires one axis and direction a sequence");

  SmallVector<Value> init, sequences;
  for (int64_t k = 0; k < numCarries; ++k)
    init.push_back(n.in(unsigned(first + k)));
  for (int64_t k = 0; k < numSequences; ++k)
    sequences.push_back(n.in(unsigned(first + numCarries + k)));
  if (batched) {
    // one sample is what version 9 says; several are not worth their nested loop
    for (Value &value : init)
      value = n.size(value, 0) == 1 ? n.squeeze(value, {0}) : Value();
    for (Value &value : sequences)
      value = n.size(value, 0) == 1 ? n.squeeze(value, {0}) : Value();
    if (llvm::is_contained(init, Value()) || llvm::is_contained(sequences, Value()))
      return n.unsupported("a Scan over a batch of more than one");
  }
  SmallVector<bool> reverse, outReverse;
  SmallVector<Type> slices;
  for (auto [k, value] : llvm::enumerate(sequences)) {
    if (failed(n.normalizeAxes(axes[k], n.rank(value))))
      return failure();
    slices.push_back(sliceType(value.getType(), axes[k]));
    reverse.push_back(inDirections[k] != 0);
  }
  for (int64_t direction : outDirections)
    outReverse.push_back(direction != 0);

  LoopBody body(n, *graph, init);
  auto inputsOf = [](Block &, ValueRange arguments) { return SmallVector<Value>(arguments); };
  if (failed(body.import({}, slices, /*firstCarry=*/0, inputsOf)))
    return failure();
  addYield(n, *body.block, body.outputs);
  SmallVector<Type> results(body.carries);
  int64_t trips = n.size(sequences.front(), axes.front());
  for (auto [k, stacked] : llvm::enumerate(ArrayRef<Value>(body.outputs).drop_front(size_t(numCarries)))) {
    if (failed(n.normalizeAxes(outAxes[k], n.rank(stacked) + 1)))
      return failure();
    results.push_back(stackType(stacked.getType(), outAxes[k], trips));
  }
  OperationState state(n.loc, ScanOp::getOperationName());
  ScanOp::build(n.b, state, results, init, sequences, body.captures, axes, reverse, outAxes, outReverse);
  for (Value result : createWith(n, state, body.regions)->getResults())
    n.outputs.push_back(batched ? n.unsqueeze(result, {0}) : result);
  return success(!n.failed());
}

void registerControl(Registry &r) {
  r.add("If", 1, 1, importIf);
  r.add("Loop", 1, 0, importLoop);
  r.add("Scan", 8, 0, importScan);
}

} // namespace sinter::onnx
