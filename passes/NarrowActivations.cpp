// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a backward part reads of the forward part is memory that is written once, read once much later, and held in
// between. Under a policy that says so (ir/Precision.h) it is kept in 16 bits:
//
//   h = erf(x)   y = dot(h, w)   ...   mul(dy, h)
//   h = erf(x)   n = convert(h) : bf16   y = dot(h, w)   ...   mul(dy, convert(n) : f32)
//
// Which readers are late is seen from the largest stretch of the block in which nobody reads the value. Early readers
// see the rounded value, too, as those of products under torch's autocast do: so nobody stores the exact one. They see
// the exact one of a sum of two tensors, as residual connections carry it from layer to layer, and where one of them
// could not convert what it reads.
//
// Functions that replace no states keep nothing for later. In them what is rounded for products and else only added to
// others, as residual connections do, is stored in one form instead of two:
//
//   n = convert(h) : bf16   y = dot(n, w)   add(y, h)   ->   add(y, convert(n) : f32)
//
// Of two convolutions that are added, as where residual connections change the number of channels, one is stored before
// the other is computed. It is rounded, too, as the sum of other residual connections is.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/ElementMoves.h"
#include "ir/Elementwise.h"
#include "ir/Precision.h"
#include "ir/Reduction.h"
#include "ir/Storage.h"
#include "passes/Passes.h"
#include "passes/SizeUses.h"
#include "passes/gradient/SavedValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_NARROWACTIVATIONS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Values that rest for fewer ops, or a smaller part of the block, are not held where most memory is.
static constexpr size_t kRestingOps = 16, kPartOfBlock = 32;

/// What the policy of the module keeps activations in, or null.
static Type activationType(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  auto policy = module ? module->getAttrOfType<DictionaryAttr>(kPrecisionAttr) : nullptr;
  auto entry = policy ? policy.getAs<TypeAttr>(kActivations) : nullptr;
  return entry && !entry.getValue().isF32() ? entry.getValue() : Type();
}

static bool replacesStates(func::FuncOp function) {
  return llvm::any_of(llvm::seq<unsigned>(0, function.getNumResults()),
                      [&](unsigned k) { return function.getResultAttr(k, "sinter.state") != nullptr; });
}

/// True when the kernel of what reads `value` can read fewer bits instead: element by element, or in order.
static bool canWiden(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isView(user))
    return user->getNumOperands() == 1 && llvm::all_of(user->getUses(), canWiden);
  return isa<Pointwise, ReduceOp>(user);
}

/// A sum of elements, or null.
static AddOp asSum(Operation *op) { return dyn_cast_or_null<AddOp>(op); }

/// True for a conversion between f32 and another type, the only op on elements that changes it so.
static bool converts(Operation *op, Type from, Type to) {
  return isa<Pointwise>(op) && op->getNumOperands() == 1 && getElementTypeOrSelf(op->getOperand(0)) == from &&
         getElementTypeOrSelf(op->getResult(0)) == to;
}

namespace {

class Narrowing {
public:
  Narrowing(Block &block, Type type) : block(block), type(type) {
    size_t count = 0;
    for (Operation &op : block)
      position[&op] = count++;
    restingOps = std::max(kRestingOps, count / kPartOfBlock);
  }

  void run(int64_t minBytes) {
    SmallVector<Value> values;
    for (Operation &op : block)
      for (Value value : op.getResults())
        if (isKept(value, minBytes))
          values.push_back(value);
    for (Value value : values)
      narrow(value);
  }

private:
  size_t placeOf(OpOperand &use) { return position.lookup(block.findAncestorOpInBlock(*use.getOwner())); }

  /// Where late readers begin: behind the longest rest, if it is long.
  std::optional<size_t> restOf(Value value) {
    SmallVector<size_t> places{position.lookup(value.getDefiningOp())};
    collectPlaces(value, places);
    llvm::sort(places);
    size_t longest = 0, end = 0;
    for (size_t k = 1; k < places.size(); ++k)
      if (places[k] - places[k - 1] > longest) {
        longest = places[k] - places[k - 1];
        end = places[k];
      }
    return longest >= restingOps ? std::optional(end) : std::nullopt;
  }

  /// Readers of elements; a view is where its own readers are.
  void collectPlaces(Value value, SmallVectorImpl<size_t> &places) {
    for (OpOperand &use : value.getUses()) {
      if (readsOnlySizes(use))
        continue;
      if (isView(use.getOwner()))
        collectPlaces(use.getOwner()->getResult(0), places);
      else
        places.push_back(placeOf(use));
    }
  }

  bool isLate(OpOperand &use, size_t end) {
    if (readsOnlySizes(use))
      return false;
    if (isView(use.getOwner())) {
      SmallVector<size_t> places;
      collectPlaces(use.getOwner()->getResult(0), places);
      return !places.empty() && llvm::all_of(places, [&](size_t place) { return place >= end; });
    }
    return placeOf(use) >= end;
  }

  bool isKept(Value value, int64_t minBytes) {
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    Operation *op = value.getDefiningOp();
    if (!tensor || !tensor.getElementType().isF32() || !tensor.hasStaticShape() || isView(op) ||
        op->hasTrait<OpTrait::ConstantLike>() || estimatedBytes(value) < minBytes)
      return false;
    if (converts(op, type, tensor.getElementType()))
      return false;
    // What follows from little is computed again by its readers.
    int64_t readBytes = 0;
    for (Value operand : op->getOperands())
      readBytes += estimatedBytes(operand);
    std::optional<size_t> end = restOf(value);
    if (!end || readBytes < estimatedBytes(value) / 4)
      return false;
    bool isReturned =
        llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    // A reader that needs f32 late keeps f32.
    return !isReturned && llvm::all_of(value.getUses(), [&](OpOperand &use) {
      if (readsOnlySizes(use))
        return true;
      bool isLateOnly = isLate(use, *end);
      return isLateOnly ? canWiden(use) : !isView(use.getOwner()) || !readsLate(use, *end);
    });
  }

  bool readsLate(OpOperand &view, size_t end) {
    SmallVector<size_t> places;
    collectPlaces(view.getOwner()->getResult(0), places);
    return llvm::any_of(places, [&](size_t place) { return place >= end; });
  }

  /// True where all readers may see the rounded value, so that nobody stores the exact one. Sums that go on from layer
  /// to layer would lose digits in each.
  static bool mayRoundForAll(Value value) {
    auto isSpread = [](Value operand) { return operand.getDefiningOp<BroadcastOp>() != nullptr; };
    AddOp add = asSum(value.getDefiningOp());
    if (add && !isSpread(add.getLhs()) && !isSpread(add.getRhs()))
      return false;
    return llvm::all_of(value.getUses(), [](OpOperand &use) { return readsOnlySizes(use) || canWiden(use); });
  }

  void narrow(Value value) {
    size_t end = *restOf(value);
    bool isForAll = mayRoundForAll(value);
    SmallVector<OpOperand *> late;
    for (OpOperand &use : value.getUses())
      if (isForAll ? !readsOnlySizes(use) : isLate(use, end))
        late.push_back(&use);
    OpBuilder b(value.getContext());
    b.setInsertionPointAfterValue(value);
    Value narrowed = Composer(value.getLoc(), b).convert(value, type);
    narrowed.getDefiningOp()->setAttr(kKeptAttr, b.getUnitAttr());
    // An operand of a product has been rounded to the same.
    for (Operation *user : value.getUsers())
      if (user != narrowed.getDefiningOp() && user->getBlock() == &block &&
          converts(user, elementTypeOf(value), type)) {
        user->getResult(0).replaceAllUsesWith(narrowed);
        llvm::erase_if(late, [&](OpOperand *use) { return use->getOwner() == user; });
        position.erase(user);
        user->erase();
        break;
      }
    for (OpOperand *use : late)
      widen(*use, narrowed);
  }

  /// Has `use` read what `narrowed` holds.
  void widen(OpOperand &use, Value narrowed) {
    Operation *user = use.getOwner();
    OpBuilder b(user);
    Composer c(user->getLoc(), b);
    if (isView(user)) {
      Value view = moveAgain(c, user, narrowed);
      for (OpOperand &next : llvm::make_early_inc_range(user->getUses()))
        if (!readsOnlySizes(next))
          widen(next, view);
      if (user->use_empty())
        user->erase();
      return;
    }
    if (converts(user, c.getF32Type(), type))
      user->getResult(0).replaceAllUsesWith(narrowed);
    else
      use.set(c.convert(narrowed, c.getF32Type()));
  }

  Block &block;
  Type type;
  DenseMap<Operation *, size_t> position;
  size_t restingOps;
};

/// Readers of `op`'s operand beside `op`, if they are sums of elements; else none.
static SmallVector<OpOperand *> sumsBeside(Operation *op) {
  SmallVector<OpOperand *> sums;
  for (OpOperand &use : op->getOperand(0).getUses()) {
    if (use.getOwner() == op)
      continue;
    if (!asSum(use.getOwner()))
      return {};
    sums.push_back(&use);
  }
  return sums;
}

/// Has sums read what products read.
static void shareRounded(Block &block, Type type) {
  Type wide = Float32Type::get(type.getContext());
  SmallVector<Operation *> conversions;
  for (Operation &op : block)
    if (converts(&op, wide, type))
      if (Operation *origin = op.getOperand(0).getDefiningOp(); origin && origin->getBlock() == &block)
        conversions.push_back(&op);
  for (Operation *op : conversions) {
    SmallVector<OpOperand *> sums = sumsBeside(op);
    if (sums.empty())
      continue;
    op->moveAfter(op->getOperand(0).getDefiningOp()); // before all sums
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Value rounded = Composer(op->getLoc(), b).convert(op->getResult(0), wide);
    for (OpOperand *use : sums)
      use->set(rounded);
  }
}

/// The convolution that `value` is, with its bias and what else is computed element by element from it alone; or null.
static ConvolutionOp convolutionBehind(Value value) {
  while (hasOneReader(value)) {
    Operation *op = value.getDefiningOp();
    if (auto convolution = dyn_cast_or_null<ConvolutionOp>(op))
      return convolution;
    if (!op || !isa<Pointwise>(op))
      return {};
    SmallVector<Value> others; // than numbers for each channel, or for all elements
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp<BroadcastOp>() && !matchPattern(operand, m_Constant()))
        others.push_back(operand);
    if (others.size() != 1)
      return {};
    value = others.front();
  }
  return {};
}

/// Of two convolutions that are added, the first is rounded.
static void roundAddends(Block &block, Type type) {
  SmallVector<OpOperand *> addends;
  for (Operation &op : block) {
    AddOp add = asSum(&op);
    if (!add || !elementTypeOf(add.getResult()).isF32())
      continue;
    ConvolutionOp left = convolutionBehind(add.getLhs()), right = convolutionBehind(add.getRhs());
    if (left && right && left->getBlock() == &block && right->getBlock() == &block)
      addends.push_back(&op.getOpOperand(left->isBeforeInBlock(right) ? 0 : 1));
  }
  for (OpOperand *addend : addends) {
    OpBuilder b(addend->getOwner());
    b.setInsertionPointAfterValue(addend->get());
    Composer composer(addend->getOwner()->getLoc(), b);
    Value rounded = composer.convert(addend->get(), type);
    addend->set(composer.convert(rounded, composer.getF32Type()));
  }
}

class NarrowActivations : public sinter::impl::NarrowActivationsBase<NarrowActivations> {
  using NarrowActivationsBase::NarrowActivationsBase;

  void runOnOperation() override {
    Type type = activationType(getOperation());
    if (!type)
      return;
    if (!replacesStates(getOperation())) {
      for (Block &block : getOperation().getBody()) {
        shareRounded(block, type);
        roundAddends(block, type);
      }
      return;
    }
    for (Block &block : getOperation().getBody())
      Narrowing(block, type).run(minBytes);
  }
};

} // namespace
