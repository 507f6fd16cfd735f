// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/Forward.h"
#include "ir/gradient/Differentiable.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/gradient/BuildGradient.h"

using namespace mlir;
using namespace sinter;

Value Forward::tangentOrZero(OpBuilder &builder, Value value) {
  Value tangent = tangents.lookup(value);
  return tangent ? tangent : Composer(value.getLoc(), builder).fill(0, value);
}

LogicalResult Forward::run(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (llvm::any_of(op->getResults(), [&](Value result) { return activity(result); }))
      if (failed(visit(op)))
        return failure();
  return success();
}

LogicalResult Forward::visit(Operation *op) {
  if (std::optional<LoopView> loop = LoopView::of(op))
    return visitLoop(*loop);
  if (isa<CondOp, SwitchOp>(op))
    return visitBranches(op);
  if (auto custom = dyn_cast<CustomVjpOp>(op))
    return visitCustom(custom);
  SmallVector<Value> given;
  for (Value operand : op->getOperands())
    given.push_back(tangents.lookup(operand));
  if (llvm::none_of(given, [](Value tangent) { return static_cast<bool>(tangent); }))
    return success();
  auto rule = dyn_cast<Differentiable>(op);
  if (!rule) {
    if (auto none = dyn_cast<NonDifferentiable>(op))
      return op->emitOpError() << "has no gradient: " << none.reason();
    return op->emitOpError("has no gradient rule");
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  JvpBuilder t(builder, op, given);
  if (failed(rule.jvp(t)))
    return failure();
  for (auto [result, tangent] : llvm::zip(op->getResults(), t.resultTangents())) {
    if (!tangent || !isDifferentiable(result.getType()))
      continue;
    if (!agree(tangent.getType(), result.getType()))
      return op->emitOpError() << "requires a tangent of type " << result.getType() << ", its rule gives "
                               << tangent.getType();
    tangents[result] = tangent;
  }
  return success();
}

/// The values that `region` yields for `given`, as a copy of its ops at `b`.
static SmallVector<Value> inlined(OpBuilder &b, Block &block, ValueRange given) {
  Composer composer(block.getParentOp()->getLoc(), b);
  IRMapping map;
  for (auto [argument, value] : llvm::zip(block.getArguments(), given))
    map.map(argument, composer.retype(value, argument.getType()));
  for (Operation &inner : block.without_terminator())
    b.clone(inner, map);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return map.lookupOrDefault(value); });
}

/// The function (residuals, cotangents, tangents of operands) -> (..., tangents of results) that is the transpose of
/// the op's backward part: with J^T c as that part, the gradient of <J^T c, t> by c is J t. The caller erases both.
static FailureOr<func::FuncOp> transposed(CustomVjpOp op, unsigned cotangents, func::FuncOp &source) {
  auto module = op->getParentOfType<ModuleOp>();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Block &backward = op.getBackward().front();
  std::string name;
  for (unsigned k = 0; name.empty() || SymbolTable::lookupSymbolIn(module, name); ++k)
    name = "sinter.backward" + std::to_string(k);
  TypeRange results = backward.getTerminator()->getOperandTypes();
  source = func::FuncOp::create(b, op.getLoc(), name, b.getFunctionType(backward.getArgumentTypes(), results));
  Block *body = source.addEntryBlock();
  b.setInsertionPointToStart(body);
  SmallVector<Value> yields = inlined(b, backward, body->getArguments());
  func::ReturnOp::create(b, op.getLoc(), yields);
  unsigned all = backward.getNumArguments();
  SmallVector<unsigned> wrt = llvm::to_vector(llvm::seq(all - cotangents, all));
  return buildGradient(source, wrt, {.mode = GradientMode::Vjp, .name = name + ".transposed"});
}

LogicalResult Forward::visitCustom(CustomVjpOp op) {
  SmallVector<Value> floats;
  for (Value result : op->getResults())
    if (isDifferentiable(result.getType()))
      floats.push_back(result);
  bool moves = llvm::any_of(op->getOperands(), [&](Value operand) { return tangents.contains(operand); });
  if (floats.empty() || !moves)
    return success();
  if (auto captures = op->getAttrOfType<IntegerAttr>("sinter.captures"))
    for (Value capture : op->getOperands().take_back(static_cast<size_t>(captures.getInt())))
      if (tangents.contains(capture))
        return op->emitOpError("has a gradient by its arguments only, got one by a tensor that it captures; make that "
                               "an argument, or stop its gradient");
  func::FuncOp source;
  FailureOr<func::FuncOp> transpose = transposed(op, floats.size(), source);
  if (succeeded(transpose)) {
    OpBuilder b(op);
    Composer composer(op.getLoc(), b);
    SmallVector<Value> yields = inlined(b, op.getForward().front(), op->getOperands());
    SmallVector<Value> given(ArrayRef(yields).drop_front(op->getNumResults()));
    for (auto [result, value] : llvm::zip(op->getResults(), yields))
      if (isDifferentiable(result.getType()))
        given.push_back(composer.fill(0, value)); // linear in them: any would do
    for (Value operand : op->getOperands())
      if (isDifferentiable(operand.getType()))
        given.push_back(tangentOrZero(b, operand));
    SmallVector<Value> all = inlined(b, transpose->getBody().front(), given);
    ArrayRef<Value> moved = ArrayRef(all).take_back(floats.size());
    for (auto [result, value] : llvm::zip(op->getResults(), yields)) {
      Value same = composer.retype(value, result.getType());
      if (isDifferentiable(result.getType())) {
        tangents[same] = composer.retype(moved.front(), result.getType());
        moved = moved.drop_front();
      }
      if (activity(result))
        activity.mark(same);
      result.replaceAllUsesWith(same);
    }
    op->erase();
    transpose->erase();
  }
  source->erase();
  return failure(failed(transpose));
}

LogicalResult Forward::visitBranches(Operation *op) {
  OpBuilder builder(op);
  SmallVector<Value> operands(op->getOperands());
  SmallVector<Type> types(op->getResultTypes());
  for (auto [k, operand] : llvm::enumerate(op->getOperands().drop_front()))
    if (Value tangent = tangents.lookup(operand)) {
      operands.push_back(tangent);
      for (Region &region : op->getRegions())
        tangents[region.getArgument(k)] = region.addArgument(tangent.getType(), op->getLoc());
    }
  SmallVector<unsigned> moving;
  for (OpResult result : op->getResults())
    if (activity(result)) {
      moving.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  for (Region &region : op->getRegions()) {
    if (failed(run(region.front())))
      return failure();
    Operation *yield = region.front().getTerminator();
    OpBuilder inner(yield);
    SmallVector<Value> further;
    for (unsigned k : moving)
      further.push_back(tangentOrZero(inner, yield->getOperand(k)));
    yield->insertOperands(yield->getNumOperands(), further);
  }
  OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
  for (size_t k = 0; k < op->getNumRegions(); ++k)
    state.addRegion();
  Operation *wider = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getRegions(), wider->getRegions()))
    to.takeBody(from);
  unsigned results = op->getNumResults();
  for (auto [from, to] : llvm::zip(op->getResults(), wider->getResults())) {
    if (activity(from))
      activity.mark(to);
    from.replaceAllUsesWith(to);
  }
  op->erase();
  for (auto [i, k] : llvm::enumerate(moving))
    tangents[wider->getResult(k)] = wider->getResult(results + i);
  return success();
}

/// `of` region arguments that begin at `first`: adds one more for each of `moving`, after them, and returns these.
static SmallVector<BlockArgument> insertTangents(Region &region, unsigned first, unsigned of, ArrayRef<size_t> moving) {
  SmallVector<BlockArgument> added;
  for (size_t k : moving) {
    BlockArgument primal = region.getArgument(first + k);
    added.push_back(region.insertArgument(first + of + added.size(), primal.getType(), primal.getLoc()));
  }
  return added;
}

namespace {
/// Axes and directions of a scan's sequences and per-trip outputs.
struct Walks {
  ArrayRef<int64_t> axes;
  ArrayRef<bool> reverse;
  ArrayRef<int64_t> outAxes;
  ArrayRef<bool> outReverse;
};
} // namespace

/// A loop as `loop`, whose regions it takes, with these operands and results.
static Operation *createLoop(OpBuilder &builder, LoopView loop, ArrayRef<Type> types, ValueRange inits,
                             ValueRange sequences, ValueRange captures, const Walks &walks) {
  Location loc = loop.op->getLoc();
  if (auto whileLoop = dyn_cast<WhileOp>(loop.op)) {
    auto wider = WhileOp::create(builder, loc, types.front(), types.drop_front(), inits, captures,
                                 whileLoop.getMaxTripAttr(), whileLoop.getOnLimit());
    wider.getCondRegion().takeBody(whileLoop.getCondRegion());
    wider.getBodyRegion().takeBody(*loop.body);
    return wider;
  }
  if (auto forLoop = dyn_cast<ForOp>(loop.op)) {
    auto wider =
        ForOp::create(builder, loc, types, forLoop.getLower(), forLoop.getUpper(), forLoop.getStep(), inits, captures);
    wider.getBodyRegion().takeBody(*loop.body);
    return wider;
  }
  auto wider = ScanOp::create(builder, loc, types, inits, sequences, captures, walks.axes, walks.reverse, walks.outAxes,
                              walks.outReverse);
  wider.getBodyRegion().takeBody(*loop.body);
  return wider;
}

void Forward::addArguments(LoopView loop, ArrayRef<size_t> carries, ArrayRef<size_t> walked,
                           ArrayRef<size_t> captured) {
  // Captures, sequences, carries, so that the places of earlier ones hold.
  for (Region &region : loop.op->getRegions()) {
    unsigned first = region.getNumArguments() - loop.carries - loop.sequences - loop.captures;
    if (&region != loop.body)
      first = 0;
    SmallVector<BlockArgument> added =
        insertTangents(region, first + loop.carries + loop.sequences, loop.captures, captured);
    added.append(insertTangents(region, first + loop.carries, loop.sequences, walked));
    added.append(insertTangents(region, first, loop.carries, carries));
    if (&region != loop.body)
      continue;
    auto *next = added.begin();
    unsigned moved = first + loop.carries + carries.size();
    for (size_t k : captured)
      tangents[region.getArgument(moved + loop.sequences + walked.size() + k)] = *next++;
    for (size_t k : walked)
      tangents[region.getArgument(moved + k)] = *next++;
    for (size_t k : carries)
      tangents[region.getArgument(first + k)] = *next++;
  }
}

void Forward::replace(LoopView loop, LoopView after, ArrayRef<size_t> carries, ArrayRef<size_t> stacked) {
  auto replaceValue = [&](Value from, Value to, Value tangent) {
    if (activity(from))
      activity.mark(to);
    if (tangent)
      tangents[to] = tangent;
    from.replaceAllUsesWith(to);
  };
  auto movedTo = [](ArrayRef<size_t> moving, size_t k, auto result) {
    auto *place = llvm::find(moving, k);
    return place == moving.end() ? Value() : Value(result(place - moving.begin()));
  };
  if (isa<WhileOp>(loop.op))
    loop.op->getResult(0).replaceAllUsesWith(after.op->getResult(0));
  for (size_t k = 0; k < loop.carries; ++k)
    replaceValue(loop.carry(k), after.carry(k),
                 movedTo(carries, k, [&](size_t i) { return after.carry(loop.carries + i); }));
  for (size_t k = 0; k < loop.stacks; ++k)
    replaceValue(loop.stack(k), after.stack(k),
                 movedTo(stacked, k, [&](size_t i) { return after.stack(loop.stacks + i); }));
}

LogicalResult Forward::visitLoop(LoopView loop) {
  Operation *op = loop.op;
  Location loc = op->getLoc();
  OpBuilder builder(op);
  Composer composer(loc, builder);
  SmallVector<Value> inits, sequences, captures;
  SmallVector<size_t> carries, walked, captured, stacked; // those with a tangent
  auto list = [&](size_t count, auto value, auto moves, SmallVector<Value> &values, SmallVector<size_t> &moving) {
    for (size_t k = 0; k < count; ++k) {
      values.push_back(value(k));
      if (moves(k))
        moving.push_back(k);
    }
    for (size_t k : moving)
      values.push_back(tangentOrZero(builder, value(k)));
  };
  list(
      loop.carries, [&](size_t k) { return loop.init(k); }, [&](size_t k) { return activity(loop.carryArgument(k)); },
      inits, carries);
  list(
      loop.sequences, [&](size_t k) { return loop.sequence(k); },
      [&](size_t k) { return tangents.contains(loop.sequence(k)); }, sequences, walked);
  list(
      loop.captures, [&](size_t k) { return loop.capture(k); },
      [&](size_t k) { return tangents.contains(loop.capture(k)); }, captures, captured);
  for (auto [k, carry] : llvm::enumerate(carries)) {
    Value &init = inits[loop.carries + k];
    init = composer.retype(init, loop.carryArgument(carry).getType());
  }
  SmallVector<Type> types(op->getResults().drop_back(loop.stacks).getTypes());
  for (size_t k : carries)
    types.push_back(loop.carry(k).getType());
  SmallVector<int64_t> axes, outAxes;
  SmallVector<bool> reverse, outReverse;
  for (size_t k = 0; k < loop.sequences; ++k) {
    axes.push_back(loop.sequenceAxis(k));
    reverse.push_back(loop.sequenceReverse(k));
  }
  for (size_t k : walked) {
    axes.push_back(axes[k]);
    reverse.push_back(reverse[k]);
  }
  for (size_t k = 0; k < loop.stacks; ++k) {
    types.push_back(loop.stack(k).getType());
    outAxes.push_back(loop.stackAxis(k));
    outReverse.push_back(loop.stackReverse(k));
    if (activity(loop.stack(k)))
      stacked.push_back(k);
  }
  for (size_t k : stacked) {
    types.push_back(loop.stack(k).getType());
    outAxes.push_back(outAxes[k]);
    outReverse.push_back(outReverse[k]);
  }

  addArguments(loop, carries, walked, captured);
  if (failed(run(loop.body->front())))
    return failure();
  Operation *yield = loop.body->front().getTerminator();
  OpBuilder inner(yield);
  SmallVector<Value> carriesAfter, stacksAfter;
  for (size_t k : carries)
    carriesAfter.push_back(
        Composer(loc, inner)
            .retype(tangentOrZero(inner, yield->getOperand(k)), loop.body->getArgument(isa<ForOp>(op) + k).getType()));
  for (size_t k : stacked)
    stacksAfter.push_back(tangentOrZero(inner, yield->getOperand(loop.carries + k)));
  yield->insertOperands(yield->getNumOperands(), stacksAfter);
  yield->insertOperands(loop.carries, carriesAfter);

  Operation *wider = createLoop(builder, loop, types, inits, sequences, captures, {axes, reverse, outAxes, outReverse});
  wider->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  replace(loop, *LoopView::of(wider), carries, stacked);
  op->erase();
  return success();
}
