// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a backward part reads of the forward part stays in memory from the one to the other. Of a chain of cheap ops it
// often reads several values, where any one of them gives the others:
//
//   h = dot(x, w)   e = erf(h)   g = h * e   ...   dot(g, ..)   mul(.., e)   mul(.., h)
//   h = dot(x, w)   e = erf(h)   g = h * e   ...   e' = erf(h)  g' = h * e'  dot(g', ..)  mul(.., e')  mul(.., h)
//
// Which ones stay is a minimum cut at one place of the block. Nothing says where the backward part begins: of several
// places the one is taken where most bytes go, and then again until there is none.

#include "ir/ElementCost.h"
#include "ir/Precision.h"
#include "ir/Storage.h"
#include "passes/Passes.h"
#include "passes/SizeUses.h"
#include "passes/gradient/SavedValues.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_RECOMPUTEVALUES
#include "passes/Passes.h.inc"
} // namespace sinter

/// An element that costs more additions than this is not computed twice.
static constexpr int64_t kMostCost = 8;
/// Places that are looked at, and how often. A cut takes longer than linear, so that of longer blocks fewer are.
static constexpr size_t kPlaces = 24, kRounds = 3, kOpsOfAllPlaces = 16384;
/// Values that are read again after fewer ops, or a smaller part of the block, may never be stored at all.
static constexpr size_t kRestingOps = 16, kPartOfBlock = 16;

namespace {

class Recomputation {
public:
  explicit Recomputation(Block &block) : block(block) {
    for (Operation &op : block) {
      position[&op] = ops.size();
      ops.push_back(&op);
    }
    restingOps = std::max(kRestingOps, ops.size() / kPartOfBlock);
  }

  /// Recomputes at the best place; false when less than `minBytes` would go anywhere.
  bool run(int64_t minBytes) {
    Plan best;
    size_t places = std::max<size_t>(2, kPlaces * kOpsOfAllPlaces / std::max(ops.size(), kOpsOfAllPlaces));
    for (size_t k = 1; k < places; ++k) {
      Plan plan = planAt(ops.size() * k / places);
      if (plan.bytesSaved > best.bytesSaved)
        best = std::move(plan);
    }
    if (best.bytesSaved < std::max(minBytes, best.bytesBefore / 16))
      return false;
    apply(best);
    return true;
  }

private:
  struct Plan {
    size_t place = 0;
    int64_t bytesBefore = 0, bytesSaved = 0;
    SmallVector<Operation *> recomputed;
  };

  /// True when a result of the function holds the value in any case.
  static bool isReturned(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  }

  /// True when nothing reads elements of `value` for long from `place` on, and then something does.
  bool rests(Value value, size_t place) const {
    size_t first = SIZE_MAX;
    for (OpOperand &use : value.getUses())
      if (size_t reader = position.lookup(use.getOwner()); reader >= place && !readsOnlySizes(use))
        first = std::min(first, reader);
    size_t start = position.lookup(value.getDefiningOp());
    return first != SIZE_MAX && first - start >= restingOps && first - place >= restingOps / 2;
  }

  /// Ops before `place` that only ops after it have a use for: to move them there costs nothing.
  DenseSet<Operation *> readFrom(size_t place) const {
    DenseSet<Operation *> moved;
    for (Operation *op : llvm::reverse(ArrayRef(ops).take_front(place)))
      if (llvm::all_of(op->getUsers(),
                       [&](Operation *user) { return position.lookup(user) >= place || moved.contains(user); }))
        moved.insert(op);
    return moved;
  }

  /// What ops read long after `place` of values before it, and what of it has to stay.
  Plan planAt(size_t place) {
    Plan plan;
    plan.place = place;
    SmallVector<Value> needed;
    DenseSet<Value> counted;
    for (Operation *op : ArrayRef(ops).take_front(place))
      for (Value value : op->getResults()) {
        if (op->hasTrait<OpTrait::ConstantLike>() || isReturned(value) || !rests(value, place))
          continue;
        needed.push_back(value);
        Value root = viewed(value);
        if (counted.insert(root).second && root.getDefiningOp())
          plan.bytesBefore += estimatedBytes(root);
      }
    if (needed.empty())
      return plan;
    DenseSet<Operation *> movable = readFrom(place);
    auto isRepeatable = [&](Operation *op) {
      return isRecomputable(op) && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
             (movable.contains(op) || elementCost(op) <= kMostCost);
    };
    auto isGiven = [](Value) { return true; };
    auto isRagged = [](Value) { return false; };
    auto weight = [&](Value value) -> int64_t {
      if (isReturned(value))
        return 0;
      // Of two values of one size the one that is made anyhow.
      int64_t bytes = 16 * estimatedBytes(value);
      return movable.contains(value.getDefiningOp()) ? bytes + bytes / 16 : bytes;
    };
    SavedValues cut = planSavedValues({.block = block,
                                       .needed = needed,
                                       .isFree = isGiven,
                                       .isRagged = isRagged,
                                       .isRepeatable = isRepeatable,
                                       .weight = weight,
                                       .knowsSizes = true});
    int64_t bytesAfter = 0;
    DenseSet<Value> kept;
    for (Value value : cut.saved)
      if (Value root = viewed(value); kept.insert(root).second && root.getDefiningOp() && !isReturned(value))
        bytesAfter += estimatedBytes(root);
    plan.bytesSaved = plan.bytesBefore - bytesAfter;
    plan.recomputed = std::move(cut.recomputed);
    return plan;
  }

  /// A copy of each op right before the first op that reads it from `place` on.
  void apply(const Plan &plan) {
    // Of late ops: where they stand, and of copies, where the op stands before which they do. Asking the block for the
    // order after each copy would number all of its ops again.
    DenseMap<Operation *, size_t> late;
    for (size_t k = plan.place; k < ops.size(); ++k)
      late[ops[k]] = k;
    auto isBefore = [&](Operation *a, Operation *b) {
      size_t first = late.lookup(a), second = late.lookup(b);
      if (first != second)
        return first < second;
      return ops[first] == b || (ops[first] != a && a->isBeforeInBlock(b));
    };
    for (Operation *op : llvm::reverse(plan.recomputed)) {
      Value value = op->getResult(0);
      Operation *first = nullptr;
      for (OpOperand &use : value.getUses())
        if (late.contains(use.getOwner()) && !readsOnlySizes(use) &&
            (!first || (first != use.getOwner() && isBefore(use.getOwner(), first))))
          first = use.getOwner();
      if (!first)
        continue;
      Operation *copy = OpBuilder(first).clone(*op);
      // Where it is a kernel by itself it would be merged with the first. Only what is larger than what it reads pays
      // for a kernel more.
      if (op->getNumOperands() == 1 && estimatedBytes(op->getResult(0)) > estimatedBytes(op->getOperand(0)))
        copy->setAttr(kAgainAttr, UnitAttr::get(op->getContext()));
      // Only readers of sizes may stand before the first reader of elements.
      value.replaceUsesWithIf(copy->getResult(0), [&](OpOperand &use) {
        Operation *reader = use.getOwner();
        return late.contains(reader) && !(reader != first && readsOnlySizes(use) && isBefore(reader, first));
      });
      late[copy] = late.lookup(first);
    }
    // What only late ops read is not computed early any more.
    for (Operation *op : llvm::reverse(plan.recomputed))
      if (op->use_empty())
        op->erase();
  }

  Block &block;
  std::vector<Operation *> ops;
  DenseMap<Operation *, size_t> position;
  size_t restingOps;
};

class RecomputeValues : public sinter::impl::RecomputeValuesBase<RecomputeValues> {
  using RecomputeValuesBase::RecomputeValuesBase;

  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      for (size_t round = 0; round < kRounds && Recomputation(block).run(minBytes); ++round)
        ;
  }
};

} // namespace
