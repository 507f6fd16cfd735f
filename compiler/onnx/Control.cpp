// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If, Loop and Scan. Bodies become isolated regions; what they use from outside becomes captures, constants are
// repeated inside.

#include "compiler/onnx/Importer.h"
#include "compiler/onnx/OpImport.h"
#include "compiler/onnx/Reader.h"

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
  SmallVector<std::unique_ptr<Region>> regions;
  for (int k = 0; k < 2; ++k) {
    regions.push_back(n.newRegion());
    Block *inner = addBlock(n, *regions.back(), init.getType());
    OpBuilder b(n.b.getContext());
    b.setInsertionPointToEnd(inner);
    auto i1 = RankedTensorType::get({}, b.getI1Type());
    Value yes =
        ConstantOp::create(b, n.loc, TypeRange(i1), HostTensor::scalar(i1.getElementType(), 1).toAttr())->getResult(0);
    addYield(n, *inner, k == 0 ? yes : Value(inner->getArgument(0)));
  }
  OperationState state(n.loc, WhileOp::getOperationName());
  SmallVector<Type> types = {RankedTensorType::get({}, n.b.getI64Type()), init.getType()};
  WhileOp::build(n.b, state, types, init, ValueRange(), /*max_trip=*/n.b.getI64IntegerAttr(0),
                 LimitPolicyAttr::get(n.b.getContext(), LimitPolicy::trap));
  Operation *loop = createWith(n, state, regions);
  std::string message = describeNode(n.node, 0) + " requires a size of 1 where it squeezes";
  std::replace(message.begin(), message.end(), '{', '('); // {} stands for a number
  loop->setAttr(kLimitMessage, n.b.getStringAttr(message));
  return loop->getResult(1);
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
    SmallVector<Value> results;
    if (failed(n.importInline(*branches[*known != 0 ? 0 : 1], {}, results)))
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
    if (failed(n.importBody(*branches[k], *block, {}, captures, yielded[k]))) {
      n.keep(regions);
      return failure();
    }
  }

  // `squeeze if the size is 1`, as exporters write it: all that follows is made for one of the two ranks, and that is
  // the squeezed one
  for (int k = 0; k < 2; ++k) {
    StringRef operand;
    std::optional<SmallVector<int64_t>> axes = squeezedAxes(*branches[k], operand);
    if (!axes || !passesOn(*branches[1 - k], operand))
      continue;
    Value &other = yielded[1 - k].front();
    if (failed(n.normalizeAxes(*axes, n.rank(other))) ||
        !(other = refuseAtRunTime(n, regions[1 - k]->front(), other, *axes))) {
      n.keep(regions);
      return failure();
    }
    break;
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

static LogicalResult importLoop(OpImport &n) {
  const onnxfile::Graph *body = n.graphAttr("body");
  if (!body)
    return n.error("requires the attribute 'body'");
  unsigned numCarries = n.node.input_size() > 2 ? unsigned(n.node.input_size()) - 2 : 0;
  if (body->input_size() != int(numCarries) + 2 || body->output_size() < int(numCarries) + 1)
    return n.error("requires a body of " + Twine(numCarries + 2) + " inputs and at least " + Twine(numCarries + 1) +
                   " outputs, found " + Twine(body->input_size()) + " and " + Twine(body->output_size()));
  unsigned numStacks = unsigned(body->output_size()) - 1 - numCarries;
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
  bool counted = trips && startsTrue && keepsCondition(*body);
  SmallVector<Value> captures;
  n.capturesOf(*body, captures);

  // A carry whose size changes from trip to trip gets `?` there; then the body is imported again.
  auto i64 = RankedTensorType::get({}, n.b.getI64Type()), i1 = RankedTensorType::get({}, n.b.getI1Type());
  SmallVector<Type> types(ValueRange(init).getTypes());
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<Value> yielded;
  Block *block = nullptr;
  for (int attempt = 0;; ++attempt) {
    yielded.clear();
    regions.push_back(n.newRegion());
    // for: i, carries, captures; while: i, condition, carries, captures
    SmallVector<Type> arguments = {i64};
    if (!counted)
      arguments.push_back(i1);
    arguments.append(types);
    llvm::append_range(arguments, ValueRange(captures).getTypes());
    block = addBlock(n, *regions.back(), arguments);
    OpBuilder inner(n.b.getContext());
    inner.setInsertionPointToEnd(block);
    SmallVector<Value> inputs = {block->getArgument(0)};
    if (counted)
      inputs.push_back(
          ConstantOp::create(inner, n.loc, TypeRange(i1), HostTensor::scalar(i1.getElementType(), 1).toAttr())
              ->getResult(0));
    for (unsigned k = 1; k < arguments.size() - captures.size(); ++k)
      inputs.push_back(block->getArgument(k));
    if (failed(n.importBody(*body, *block, inputs, captures, yielded))) {
      n.keep(regions);
      return failure();
    }
    bool stable = true;
    for (unsigned k = 0; k < numCarries; ++k) {
      RankedTensorType joined = joinTypes(types[k], yielded[k + 1].getType());
      if (!joined) {
        n.keep(regions);
        return n.unsupported("a carried value that changes its rank or element type");
      }
      stable &= joined == types[k];
      types[k] = joined;
    }
    if (stable)
      break;
    if (attempt > 64) { // each attempt makes a size `?`
      n.keep(regions);
      return n.error("requires carried values of stable types");
    }
    n.keep(regions);
    regions.clear();
  }
  SmallVector<Type> results(types);
  for (unsigned k = 0; k < numStacks; ++k) {
    auto type = cast<RankedTensorType>(yielded[1 + numCarries + k].getType());
    SmallVector<int64_t> dims(type.getShape());
    std::optional<double> known = counted ? n.knownScalar(trips) : std::nullopt;
    dims.insert(dims.begin(), known ? std::max<int64_t>(int64_t(*known), 0) : ShapedType::kDynamic);
    results.push_back(RankedTensorType::get(dims, type.getElementType()));
  }

  Operation *loop;
  if (counted) {
    addYield(n, *block, ArrayRef<Value>(yielded).drop_front());
    OperationState state(n.loc, ForOp::getOperationName());
    ForOp::build(n.b, state, results, n.scalarInt(0), trips, n.scalarInt(1), init, captures);
    loop = createWith(n, state, regions);
    for (Value result : loop->getResults())
      n.outputs.push_back(result);
    return success();
  }

  // while: the condition is a carry, and so is the trip number
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(block);
    Value next = n.add(block->getArgument(0), 1);
    Value keepOn = asPredicate(n, yielded[0]);
    if (n.failed()) {
      n.keep(regions);
      return failure();
    }
    SmallVector<Value> values = {next, keepOn};
    values.append(yielded.begin() + 1, yielded.end());
    addYield(n, *block, values);
  }
  SmallVector<Value> initAll = {n.scalarInt(0), start};
  initAll.append(init);
  SmallVector<Value> capturesAll(captures);
  if (trips)
    capturesAll.push_back(trips);
  if (trips) // the body takes the same captures as the condition
    block->addArgument(i64, n.loc);
  auto condition = n.newRegion();
  Block *test = addBlock(n, *condition, block->getArgumentTypes());
  {
    OpBuilder::InsertionGuard guard(n.b);
    n.b.setInsertionPointToEnd(test);
    Value keepOn = test->getArgument(1);
    if (trips)
      keepOn = n.make<AndOp>(keepOn, n.compare(CompareKind::lt, test->getArgument(0), test->getArguments().back()));
    addYield(n, *test, keepOn);
  }
  SmallVector<Type> all = {i64, i64, i1};
  all.append(results);
  OperationState state(n.loc, WhileOp::getOperationName());
  WhileOp::build(n.b, state, all, initAll, capturesAll, /*max_trip=*/IntegerAttr(),
                 LimitPolicyAttr::get(n.b.getContext(), LimitPolicy::stop));
  SmallVector<std::unique_ptr<Region>> both;
  both.push_back(std::move(condition));
  both.push_back(std::move(regions.front()));
  loop = createWith(n, state, both);
  for (Value result : llvm::drop_begin(loop->getResults(), 3))
    n.outputs.push_back(result);
  return success();
}

//===--- Scan ---------------------------------------------------------------------------------------------------===//

static LogicalResult importScan(OpImport &n) {
  const onnxfile::Graph *body = n.graphAttr("body");
  if (!body)
    return n.error("requires the attribute 'body'");
  bool batched = n.version < 9; // lengths and a batch axis in front
  if (batched && n.in(0))
    return n.unsupported("a Scan over sequences of several lengths");
  unsigned first = batched ? 1 : 0;
  int64_t numSequences = n.intAttr("num_scan_inputs", 0);
  int64_t numCarries = int64_t(n.node.input_size()) - first - numSequences;
  if (numSequences < 1 || numCarries < 0 || body->input_size() != numCarries + numSequences ||
      body->output_size() < numCarries)
    return n.error("requires a body of as many inputs as the node has, found " + Twine(body->input_size()));
  int64_t numStacks = body->output_size() - numCarries;
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

  SmallVector<Value> captures;
  n.capturesOf(*body, captures);
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
    SmallVector<int64_t> dims(n.dims(value));
    dims.erase(dims.begin() + axes[k]);
    slices.push_back(RankedTensorType::get(dims, n.elem(value)));
    reverse.push_back(inDirections[k] != 0);
  }
  for (int64_t direction : outDirections)
    outReverse.push_back(direction != 0);

  SmallVector<Type> types(ValueRange(init).getTypes());
  SmallVector<std::unique_ptr<Region>> regions;
  SmallVector<Value> yielded;
  for (int attempt = 0;; ++attempt) {
    yielded.clear();
    regions.push_back(n.newRegion());
    SmallVector<Type> arguments(types);
    arguments.append(slices);
    llvm::append_range(arguments, ValueRange(captures).getTypes());
    Block *block = addBlock(n, *regions.back(), arguments);
    SmallVector<Value> inputs(block->getArguments().drop_back(captures.size()));
    if (failed(n.importBody(*body, *block, inputs, captures, yielded))) {
      n.keep(regions);
      return failure();
    }
    bool stable = true;
    for (int64_t k = 0; k < numCarries; ++k) {
      RankedTensorType joined = joinTypes(types[k], yielded[k].getType());
      if (!joined) {
        n.keep(regions);
        return n.unsupported("a carried value that changes its rank or element type");
      }
      stable &= joined == types[k];
      types[k] = joined;
    }
    if (stable || attempt > 64) {
      addYield(n, *block, yielded);
      break;
    }
    n.keep(regions);
    regions.clear();
  }
  SmallVector<Type> results(types);
  int64_t trips = n.size(sequences.front(), axes.front());
  for (int64_t k = 0; k < numStacks; ++k) {
    auto type = cast<RankedTensorType>(yielded[size_t(numCarries + k)].getType());
    if (failed(n.normalizeAxes(outAxes[k], type.getRank() + 1))) {
      n.keep(regions);
      return failure();
    }
    SmallVector<int64_t> dims(type.getShape());
    dims.insert(dims.begin() + outAxes[k], trips);
    results.push_back(RankedTensorType::get(dims, type.getElementType()));
  }
  OperationState state(n.loc, ScanOp::getOperationName());
  ScanOp::build(n.b, state, results, init, sequences, captures, axes, reverse, outAxes, outReverse);
  for (Value result : createWith(n, state, regions)->getResults())
    n.outputs.push_back(batched ? n.unsqueeze(result, {0}) : result);
  return success(!n.failed());
}

void registerControl(Registry &r) {
  r.add("If", 1, 1, importIf);
  r.add("Loop", 1, 0, importLoop);
  r.add("Scan", 8, 0, importScan);
}

} // namespace sinter::onnx
