// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/CarrySizes.h"
#include "ir/ControlFlow.h"
#include "ir/Kernel.h"

using namespace mlir;
using namespace sinter;

namespace {
/// One `?` of a carry.
struct CarryAxis {
  size_t carry;
  int64_t axis;
  DimExpr given, before, next; // its symbol in the body, its size before the loop, and that of what a trip passes on
};

/// The axes of a loop's carries that may keep their sizes: all of them at first.
class FixedAxes {
public:
  FixedAxes(Operation *loop, ShapeAnalysis &sizes);
  /// Finds which ones do and makes their symbols the sizes before the loop.
  void settle();

private:
  /// The size in the first trip, and so in all as long as each axis that is left keeps its own.
  DimExpr inAnyTrip(DimExpr size);
  bool areEqual(DimExpr a, DimExpr b);
  void relate(Block &block);

  Operation *op;
  Control loop;
  ShapeAnalysis &sizes;
  DimContext &context;
  SmallVector<CarryAxis> axes;
  SmallVector<std::pair<DimExpr, DimExpr>> required; // equal, as ops of the body require it
};
} // namespace

/// True for the symbol that `value` has for a size of its own.
static bool isOwn(DimContext &context, DimExpr size, Value value) {
  return size.kind() == DimExpr::Kind::Symbol && context.source(size.symbol()).value == value;
}

FixedAxes::FixedAxes(Operation *op, ShapeAnalysis &sizes)
    : op(op), loop(*controlOf(op)), sizes(sizes), context(sizes.context()) {
  Block &body = op->getRegions().back().front();
  for (auto [k, init] : llvm::enumerate(loop.init)) {
    Value argument = body.getArgument(loop.firstCarry + k);
    Dims given = sizes.dims(argument), before = sizes.dims(init),
         next = sizes.dims(body.getTerminator()->getOperand(k));
    for (size_t axis = 0; axis < given.size(); ++axis)
      if (isOwn(context, given[axis], argument))
        axes.push_back({k, static_cast<int64_t>(axis), given[axis], before[axis], next[axis]});
  }
  if (!axes.empty())
    relate(body);
}

void FixedAxes::relate(Block &block) {
  for (Operation &inner : block) {
    if (auto kernel = dyn_cast<KernelOp>(inner))
      relate(kernel.getBody().front());
    if (!isa<Pointwise>(inner))
      continue;
    Dims first = sizes.dims(inner.getOperand(0));
    for (Value operand : inner.getOperands().drop_front())
      for (auto [a, b] : llvm::zip(first, sizes.dims(operand)))
        if (a != b)
          required.emplace_back(a, b);
  }
}

DimExpr FixedAxes::inAnyTrip(DimExpr size) {
  return context.rebuild(context.resolve(size), [&](DimExpr symbol) {
    const CarryAxis *found = llvm::find_if(axes, [&](const CarryAxis &axis) { return axis.given == symbol; });
    return found == axes.end() ? symbol : found->before;
  });
}

bool FixedAxes::areEqual(DimExpr a, DimExpr b) {
  SmallVector<DimExpr> equal = {inAnyTrip(a)};
  DimExpr wanted = inAnyTrip(b);
  for (size_t k = 0; k < equal.size(); ++k) {
    if (equal[k] == wanted)
      return true;
    for (auto [x, y] : required) {
      DimExpr p = inAnyTrip(x), q = inAnyTrip(y);
      if (p == equal[k] && !llvm::is_contained(equal, q))
        equal.push_back(q);
      else if (q == equal[k] && !llvm::is_contained(equal, p))
        equal.push_back(p);
    }
  }
  return false;
}

void FixedAxes::settle() {
  // That one changes may change others, until none is left that does.
  while (true) {
    auto *changing = llvm::find_if(axes, [&](const CarryAxis &axis) { return !areEqual(axis.next, axis.before); });
    if (changing == axes.end())
      break;
    axes.erase(changing);
  }
  for (const CarryAxis &axis : axes) {
    context.unify(axis.given, axis.before);
    Value result = op->getResult(loop.firstCarryResult + axis.carry);
    SmallVector<Value> others = {result};
    for (Region &region : op->getRegions().drop_back()) // the condition of a while
      others.push_back(region.getArgument(axis.carry));
    for (Value value : others)
      if (DimExpr size = sizes.dims(value)[axis.axis]; isOwn(context, size, value))
        context.unify(size, axis.before);
  }
}

void sinter::settleCarries(Operation *root, ShapeAnalysis &sizes) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isLoop(op))
      FixedAxes(op, sizes).settle();
  });
}

bool sinter::isKnownOutside(Operation *op, DimExpr size, ShapeAnalysis &sizes) {
  bool isKnown = true;
  DimContext &context = sizes.context();
  DimContext::forEachSymbol(context.resolve(size), [&](unsigned symbol) {
    Value source = context.source(symbol).value;
    Operation *around = source ? source.getParentBlock()->getParentOp() : nullptr; // none: a named size
    isKnown &= !around || !op->isAncestor(around);
  });
  return isKnown;
}
