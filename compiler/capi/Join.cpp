// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The join of two ways through a function that go on alike. A tracer that runs a function once per outcome of a branch
// has the code after the branch in both regions. Ops that both end with are recorded once, behind the branch:
//
//   cond p { a; t(a, x) } { b; t(b, x) }   ->   y = cond p { a } { b };  t(y, x)
//
// That is a fact about the graph, whatever the host's code did, since ops have no side effects (those that print stay
// inside). Two ops are one when they have the same name, attributes and types, come from the same place of the source,
// and all uses of the one correspond to uses of the other. So n branches one after the other make a graph of n branches
// instead of 2^n ways.

#include "compiler/capi/Graph.h"
#include "ir/Ops.h"
#include "ir/Shapes.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

/// Constants up to here may be chosen by the branch; ops on larger ones differ when these do.
constexpr int64_t kMaxChosenBits = 512;

namespace {
/// A value that a shared op uses, or a result, in terms of what is there behind the branch.
struct Source {
  enum class Kind { shared, outer, constant, chosen } kind;
  Value value = {};    // shared: a result of an op that moves; constant: a constant in the first region
  uint32_t number = 0; // outer: of the graph; chosen: among the results of the branch
};

class Join {
public:
  Join(sinter_graph &graph, sinter_graph::Region &onTrue, sinter_graph::Region &onFalse)
      : graph(graph), a(onTrue.region->front()), b(onFalse.region->front()) {
    for (auto &[number, placeholder] : onTrue.captures)
      outer[placeholder] = number;
    for (auto &[number, placeholder] : onFalse.captures)
      outer[placeholder] = number;
    partner[a.getTerminator()] = b.getTerminator();
    for (Operation &op : llvm::reverse(a.without_terminator()))
      if (Operation *other = findPartner(op))
        partner[&op] = other;
    while (dropUnfit()) {
    }
    for (Operation &op : a.without_terminator())
      if (partner.contains(&op))
        shared.push_back(&op);
  }

  /// Ops that both regions end with, in order; those of the first region.
  SmallVector<Operation *> shared;

  Operation *partnerOf(Operation *op) const { return partner.lookup(op); }

  /// What stands for the pair of a value of the first region and one of the second.
  Source sourceOf(Value x, Value y) {
    if (Operation *op = x.getDefiningOp(); op && partner.contains(op))
      return {Source::Kind::shared, x};
    if (auto it = outer.find(x); it != outer.end() && outer.lookup(y) == it->second)
      return {Source::Kind::outer, {}, it->second};
    if (isSameConstant(x, y))
      return {Source::Kind::constant, x};
    auto [it, isNew] = chosenBy.try_emplace({x, y}, static_cast<uint32_t>(chosen.size()));
    if (isNew)
      chosen.push_back({x, y});
    return {Source::Kind::chosen, {}, it->second};
  }
  /// The pairs that the branch must choose from.
  SmallVector<std::pair<Value, Value>> chosen;

private:
  /// The op of the second region whose results are used as `op`'s are, by ops that are shared.
  Operation *findPartner(Operation &op) {
    if (isa<ConstantOp, UnrealizedConversionCastOp>(op) || op.use_empty() || !isMemoryEffectFree(&op))
      return nullptr;
    Operation *other = nullptr;
    size_t uses = 0;
    for (OpOperand &use : op.getUses()) {
      Operation *user = partner.lookup(use.getOwner());
      auto result = user ? dyn_cast<OpResult>(user->getOperand(use.getOperandNumber())) : OpResult();
      if (!result || result.getOwner()->getBlock() != &b || (other && other != result.getOwner()) ||
          result.getResultNumber() != cast<OpResult>(use.get()).getResultNumber())
        return nullptr;
      other = result.getOwner();
      ++uses;
    }
    if (static_cast<size_t>(std::distance(other->use_begin(), other->use_end())) != uses ||
        op.getLoc() != other->getLoc())
      return nullptr;
    auto anyValues = [](Value, Value) { return success(); };
    if (!OperationEquivalence::isEquivalentTo(&op, other, anyValues, nullptr, OperationEquivalence::IgnoreLocations))
      return nullptr;
    for (auto [region, otherRegion] : llvm::zip(op.getRegions(), other->getRegions()))
      if (!OperationEquivalence::isRegionEquivalentTo(&region, &otherRegion, OperationEquivalence::IgnoreLocations))
        return nullptr;
    return other;
  }

  static bool isSameConstant(Value x, Value y) {
    auto one = x.getDefiningOp<ConstantOp>(), other = y.getDefiningOp<ConstantOp>();
    return one && other && one.getType() == other.getType() && one.getValue() == other.getValue();
  }

  /// Whether a branch may yield one of the two for an op behind it.
  bool mayChoose(Value x, Value y) {
    auto type = cast<RankedTensorType>(x.getType());
    if (type != y.getType() || !llvm::equal(graph.shapes.dims(x), graph.shapes.dims(y)))
      return false;
    bool isConstant = x.getDefiningOp<ConstantOp>() || y.getDefiningOp<ConstantOp>();
    return !isConstant ||
           (type.hasStaticShape() && type.getNumElements() * type.getElementTypeBitWidth() <= kMaxChosenBits);
  }

  /// Keeps an op inside whose operands cannot be chosen, or which one that stays inside uses; true when it did.
  bool dropUnfit() {
    bool dropped = false;
    for (Operation &op : a.without_terminator()) {
      Operation *other = partner.lookup(&op);
      if (!other)
        continue;
      bool fits = llvm::all_of(op.getUsers(), [&](Operation *user) { return partner.contains(user); });
      for (auto [x, y] : llvm::zip(op.getOperands(), other->getOperands())) {
        Operation *maker = x.getDefiningOp();
        bool isThere = (maker && partner.contains(maker)) || isSameConstant(x, y) ||
                       (outer.contains(x) && outer.lookup(x) == outer.lookup(y));
        fits &= isThere || mayChoose(x, y);
      }
      if (!fits) {
        partner.erase(&op);
        dropped = true;
      }
    }
    return dropped;
  }

  sinter_graph &graph;
  Block &a, &b;
  DenseMap<Value, uint32_t> outer; // placeholders of either region
  DenseMap<Operation *, Operation *> partner;
  DenseMap<std::pair<Value, Value>, uint32_t> chosenBy;
};
} // namespace

sinter_status_code sinter_graph::join(sinter_value predicate, sinter_region thenNumber, sinter_region elseNumber,
                                      int32_t room, sinter_value *results, int32_t *count, int32_t *numShared) {
  if (numShared)
    *numShared = 0;
  if (sinter_status_code status = requireFrame("join"))
    return status;
  sinter_region numbers[] = {thenNumber, elseNumber};
  Region *onTrue, *onFalse;
  Value select;
  if (takeRegion(thenNumber, "join", onTrue) || takeRegion(elseNumber, "join", onFalse) || onTrue == onFalse ||
      resolve(predicate, "join: predicate", select))
    return branches("cond", predicate, numbers, room, results, count); // says what is wrong
  Operation *yield = onTrue->region->front().getTerminator(), *other = onFalse->region->front().getTerminator();
  bool isPlain = onTrue->arguments.empty() && onFalse->arguments.empty() &&
                 select.getType() == RankedTensorType::get({}, IntegerType::get(context.get(), 1)) &&
                 yield->getNumOperands() == other->getNumOperands();
  for (size_t k = 0; isPlain && k < yield->getNumOperands(); ++k) {
    auto x = cast<RankedTensorType>(yield->getOperand(k).getType()),
         y = cast<RankedTensorType>(other->getOperand(k).getType());
    isPlain = x.getElementType() == y.getElementType() && x.getRank() == y.getRank();
  }
  if (!isPlain)
    return branches("cond", predicate, numbers, room, results, count);
  if (sinter_status_code status = requireRoom("join", yield->getNumOperands(), room, results, count))
    return status;
  Join joined(*this, *onTrue, *onFalse);
  if (joined.shared.empty())
    return branches("cond", predicate, numbers, room, results, count);

  // What everything behind the branch is made of, before anything moves.
  SmallVector<SmallVector<Source>> operands;
  SmallVector<Source> final;
  for (Operation *op : joined.shared)
    for (operands.emplace_back(); auto [x, y] : llvm::zip(op->getOperands(), joined.partnerOf(op)->getOperands()))
      operands.back().push_back(joined.sourceOf(x, y));
  for (auto [x, y] : llvm::zip(yield->getOperands(), other->getOperands()))
    final.push_back(joined.sourceOf(x, y));
  SmallVector<Value> yields, otherYields;
  for (auto [x, y] : joined.chosen) {
    yields.push_back(x);
    otherYields.push_back(y);
  }
  yield->setOperands(yields);
  other->setOperands(otherYields);
  for (Operation *op : llvm::reverse(joined.shared)) {
    bury(joined.partnerOf(op));
    for (OpOperand &operand : op->getOpOperands())
      operand.drop();
    op->remove();
  }
  pruneCaptures(*this, onTrue->captures);
  pruneCaptures(*this, onFalse->captures);
  SmallVector<sinter_value> branch(std::max<size_t>(yields.size(), 1));
  auto hasEffects = [](const Region *region) {
    return llvm::any_of(region->region->front(), [](Operation &op) { return !isMemoryEffectFree(&op); });
  };
  int32_t numBranch = 0;
  if (yields.empty() && !hasEffects(onTrue) && !hasEffects(onFalse)) {
    bury(std::move(onTrue->region));
    bury(std::move(onFalse->region));
  } else if (sinter_status_code status =
                 branches("cond", predicate, numbers, static_cast<int32_t>(yields.size()), branch.data(), &numBranch)) {
    return status;
  }

  OpBuilder builder = this->builder();
  auto valueOf = [&](const Source &source) {
    Value value = source.value;
    if (source.kind == Source::Kind::chosen)
      return values[branch[source.number]].value;
    if (source.kind == Source::Kind::outer)
      (void)resolve(source.number, "join: captured value", value); // it was captured, so it is there
    if (source.kind == Source::Kind::constant) {
      value = builder.clone(*value.getDefiningOp())->getResult(0);
      ++numOps;
    }
    return value;
  };
  for (auto [op, sources] : llvm::zip(joined.shared, operands)) {
    SmallVector<Value> given = llvm::map_to_vector(sources, valueOf);
    builder.insert(op);
    for (auto [k, value] : llvm::enumerate(given))
      op->getOpOperand(k).set(value);
  }
  SmallVector<Value> made = llvm::map_to_vector(final, valueOf);
  numberAll(made, results, count);
  if (numShared)
    *numShared = static_cast<int32_t>(joined.shared.size());
  return SINTER_OK;
}
