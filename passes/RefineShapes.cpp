// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/Elementwise.h"
#include "ir/Kernel.h"
#include "ir/Shape.h"
#include "passes/DeadOps.h"
#include "passes/Passes.h"

#include <map>

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_REFINESHAPES
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {

class Refiner {
public:
  explicit Refiner(func::FuncOp function) : function(function), sizes(context) {}
  /// One round; true when something became more precise. The analysis is stale afterwards.
  bool run();

private:
  void refineValue(Value value);
  void refineLoop(Operation *op, const Control &control);
  void foldContents(Operation *op);
  void dropSizes(ReshapeOp op);
  void dropSizes(BroadcastOp op);
  /// The first value before `op` in its block that has these sizes, or null.
  Value firstOf(const Dims &sizes, Operation *op);

  func::FuncOp function;
  DimContext context;
  ShapeAnalysis sizes;
  /// Collected first, since the analysis must not see half of the changes.
  SmallVector<std::pair<Value, RankedTensorType>> refined;
  SmallVector<std::pair<Operation *, ElementsAttr>> known;
  SmallVector<std::pair<BroadcastOp, Value>> likes; // null: no sizes needed
  SmallVector<ReshapeOp> reshapes;
  SmallVector<BroadcastOp> broadcasts;
  /// The first value of each list of sizes, of a block's arguments and of its ops before `end`.
  struct FirstValues {
    std::map<SmallVector<const void *>, Value> bySizes;
    Block::iterator end;
  };
  llvm::DenseMap<Block *, FirstValues> firstValues;
};

} // namespace

void Refiner::refineValue(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.hasStaticShape())
    return;
  SmallVector<int64_t> shape;
  for (DimExpr size : sizes.dims(value))
    shape.push_back(size.isConstant() && size.constant() >= 0 ? size.constant() : ShapedType::kDynamic);
  if (ArrayRef(shape) != type.getShape())
    refined.emplace_back(value, RankedTensorType::get(shape, type.getElementType()));
}

/// A carry whose size each trip keeps has init's size.
void Refiner::refineLoop(Operation *op, const Control &control) {
  Region &body = op->getRegions().back();
  for (auto [k, value] : llvm::enumerate(control.init)) {
    BlockArgument argument = body.getArgument(control.firstCarry + k);
    auto type = cast<RankedTensorType>(argument.getType());
    Dims before = sizes.dims(value), given = sizes.dims(argument);
    Dims next = sizes.dims(body.front().getTerminator()->getOperand(k));
    SmallVector<int64_t> shape(type.getShape());
    for (auto [axis, size] : llvm::enumerate(shape))
      if (ShapedType::isDynamic(size) && before[axis].isConstant() &&
          (next[axis] == given[axis] || next[axis] == before[axis]))
        size = before[axis].constant();
    if (ArrayRef(shape) == type.getShape())
      continue;
    auto better = RankedTensorType::get(shape, type.getElementType());
    refined.emplace_back(argument, better);
    if (op->getNumRegions() > 1) // the condition's
      refined.emplace_back(op->getRegion(0).getArgument(k), better);
  }
}

void Refiner::foldContents(Operation *op) {
  if (op->getNumResults() != 1 || op->hasTrait<OpTrait::ConstantLike>() || !isPure(op) || op->use_empty())
    return;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isa<IntegerType>(type.getElementType()))
    return;
  std::optional<Dims> elements = sizes.contents(op->getResult(0));
  if (!elements || !llvm::all_of(*elements, [](DimExpr e) { return e.isConstant(); }))
    return;
  HostTensor tensor(type.getElementType(), type.getShape());
  for (auto [i, element] : llvm::enumerate(*elements))
    tensor.setInt(i, element.constant());
  known.emplace_back(op, tensor.toAttr());
}

void Refiner::dropSizes(ReshapeOp op) {
  if (!op.getShape())
    return;
  // The last unknown size follows, unless beside a 0; those before it are the operand's, axis by axis. Where the
  // numbers of elements are not surely equal, the sizes are still to be compared with them.
  Dims wanted = sizes.dims(op.getResult()), own = sizes.dims(op.getOperand());
  if (context.product(wanted) != context.product(own))
    return;
  int64_t unknown = llvm::count_if(wanted, [](DimExpr size) { return !size.isConstant(); });
  bool besideZero = llvm::any_of(wanted, [](DimExpr size) { return size.isConstant() && size.constant() == 0; });
  for (auto [axis, size] : llvm::enumerate(wanted)) {
    if (unknown <= (besideZero ? 0 : 1))
      break;
    if (size.isConstant())
      continue;
    if (axis >= own.size() || own[axis] != size)
      return;
    --unknown;
  }
  reshapes.push_back(op);
}

Value Refiner::firstOf(const Dims &wanted, Operation *op) {
  auto keyOf = [](const Dims &dims) {
    return llvm::map_to_vector(dims, [](DimExpr size) { return size.getOpaqueValue(); });
  };
  Block *block = op->getBlock();
  auto [it, isNew] = firstValues.try_emplace(block);
  FirstValues &first = it->second;
  auto add = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()))
      first.bySizes.try_emplace(keyOf(sizes.dims(value)), value);
  };
  if (isNew) {
    llvm::for_each(block->getArguments(), add);
    first.end = block->begin();
  }
  for (; first.end != op->getIterator(); ++first.end)
    llvm::for_each(first.end->getResults(), add);
  auto found = first.bySizes.find(keyOf(wanted));
  return found == first.bySizes.end() ? Value() : found->second;
}

void Refiner::dropSizes(BroadcastOp op) {
  if (!op.getShape() && op.getLike().empty())
    return;
  Dims wanted = sizes.dims(op.getResult()), own = sizes.dims(op.getOperand());
  SmallVector<DimExpr> given(wanted.size());
  for (auto [axis, size] : llvm::zip(op.getAxes(), own))
    given[axis] = size;
  if (llvm::all_of(llvm::zip(wanted, given), [](auto pair) {
        return std::get<0>(pair).isConstant() || std::get<0>(pair) == std::get<1>(pair);
      })) {
    likes.emplace_back(op, Value());
    return;
  }
  // The first value of the block that has these sizes: region arguments live anyway.
  Value like = firstOf(wanted, op);
  if (like && (op.getShape() || (isa<BlockArgument>(like) && !llvm::is_contained(op.getLike(), like))))
    likes.emplace_back(op, like);
}

bool Refiner::run() {
  function->walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        refineValue(argument);
    for (Value result : op->getResults())
      refineValue(result);
    if (std::optional<Control> control = controlOf(op); control && control->isLoop)
      refineLoop(op, *control);
    foldContents(op);
    if (auto reshape = dyn_cast<ReshapeOp>(op))
      dropSizes(reshape);
    else if (auto broadcast = dyn_cast<BroadcastOp>(op))
      broadcasts.push_back(broadcast);
  });
  for (BroadcastOp op : broadcasts) // now that all sizes are known: lists of them are looked up
    dropSizes(op);

  for (auto [value, type] : refined) {
    // Ops that carry their result's type say it twice.
    if (Operation *op = value.getDefiningOp())
      if (op->getAttrOfType<TypeAttr>("type"))
        op->setAttr("type", TypeAttr::get(type));
    value.setType(type);
  }
  auto keepType = [](Operation *op) { op->setAttr("type", TypeAttr::get(op->getResult(0).getType())); };
  for (ReshapeOp op : reshapes) {
    op.getShapeMutable().clear();
    keepType(op);
  }
  for (auto [op, like] : likes) {
    keepType(op);
    op.getShapeMutable().clear();
    if (like)
      op.getLikeMutable().assign(like);
    else
      op.getLikeMutable().clear();
  }
  for (auto [op, value] : known) {
    OpBuilder b(op);
    auto constant = ConstantOp::create(b, op->getLoc(), op->getResult(0).getType(), value);
    op->replaceAllUsesWith(constant);
    op->erase();
  }
  return !refined.empty() || !known.empty() || !likes.empty() || !reshapes.empty();
}

namespace {

class RefineShapes : public sinter::impl::RefineShapesBase<RefineShapes> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    // A size that became known in a loop's argument may make others known; few rounds settle it.
    constexpr int maxRounds = 8;
    for (int round = 0; round < maxRounds && Refiner(function).run(); ++round)
      eraseDeadOps(function);
    SmallVector<Type> results(function.front().getTerminator()->getOperandTypes());
    function.setType(FunctionType::get(&getContext(), function.front().getArgumentTypes(), results));
  }
};

} // namespace
