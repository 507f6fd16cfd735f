// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/SavedValues.h"
#include "ir/Dialect.h"
#include "ir/FlowNetwork.h"
#include "passes/SizeUses.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

/// Bytes assumed for an axis of unknown size, and what no cut takes if there is another.
constexpr int64_t kUnknownSize = 64, kUnlimited = FlowNetwork::kUnlimited, kRagged = int64_t(1) << 50;

int64_t sinter::estimatedBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = byteWidth(type.getElementType());
  for (int64_t size : type.getShape())
    bytes = std::min(bytes * (ShapedType::isDynamic(size) ? kUnknownSize : std::max<int64_t>(size, 1)), kRagged / 2);
  return bytes;
}

bool sinter::isRecomputable(Operation *op) {
  return isa<Pointwise, Elemental, SymbolicContents>(op) || op->hasTrait<OpTrait::ConstantLike>();
}

static bool isPredicate(Value value) { return cast<RankedTensorType>(value.getType()).getElementType().isInteger(1); }

namespace {
class Cut {
public:
  explicit Cut(const SaveQuestion &question) : q(question) {}

  SavedValues plan() {
    int source = network.addNode(), sink = network.addNode();
    SmallVector<Value> work;
    auto nodeOf = [&](Value value) {
      auto [it, isNew] = nodes.try_emplace(value);
      if (isNew) {
        it->second = {network.addNode(), network.addNode()};
        network.addEdge(it->second.first, it->second.second, weightOf(value));
        work.push_back(value);
      }
      return it->second;
    };
    for (Value value : q.needed)
      if (!isFree(value))
        network.addEdge(nodeOf(value).second, sink, kUnlimited);
    while (!work.empty()) {
      Value value = work.pop_back_val();
      auto into = nodes.lookup(value).first;
      // A predicate that the backward part branches on is kept: a replay cannot branch differently.
      bool isKept = isPredicate(value) && cast<RankedTensorType>(value.getType()).getRank() == 0;
      if (isa<BlockArgument>(value) || isKept || !mayRepeat(value.getDefiningOp())) {
        network.addEdge(source, into, kUnlimited);
        continue;
      }
      for (OpOperand &operand : value.getDefiningOp()->getOpOperands())
        if (isRead(operand) && !isFree(operand.get()))
          network.addEdge(nodeOf(operand.get()).second, into, kUnlimited);
    }
    network.saturate(source, sink);
    reaching = network.reaching(sink);

    SavedValues result;
    llvm::SetVector<Value> saved;
    DenseSet<Operation *> again;
    SmallVector<Value> open(q.needed);
    DenseSet<Value> seen;
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (isSaved(value)) {
        saved.insert(value);
        continue;
      }
      Operation *op = value.getDefiningOp();
      if (!op)
        continue;
      again.insert(op);
      for (OpOperand &operand : op->getOpOperands())
        if (isRead(operand))
          open.push_back(operand.get());
    }
    result.saved = saved.takeVector();
    for (Operation &op : q.block)
      if (again.contains(&op))
        result.recomputed.push_back(&op);
    return result;
  }

private:
  bool isSaved(Value value) const {
    auto it = nodes.find(value);
    return it != nodes.end() && reaching[it->second.second] && !reaching[it->second.first];
  }

  bool isRead(OpOperand &operand) const { return !q.knowsSizes || !readsOnlySizes(operand); }

  int64_t weightOf(Value value) const {
    if (q.isRagged(value))
      return kRagged;
    return q.weight ? q.weight(value) : estimatedBytes(value);
  }

  bool mayRepeat(Operation *op) const {
    return q.recomputeAll || (q.isRepeatable ? q.isRepeatable(op) : isRecomputable(op)) ||
           llvm::any_of(op->getResults(), [&](Value value) { return q.isRagged(value); });
  }

  /// Given, or computed from what is given by ops that may run again. Operands first, without recursion.
  bool isFree(Value value) {
    SmallVector<Value> stack{value};
    while (!stack.empty()) {
      Value next = stack.back();
      size_t known = stack.size();
      bool result = true;
      if (free.contains(next)) {
        stack.pop_back();
        continue;
      }
      if (isa<BlockArgument>(next)) {
        result = q.isFree(next);
      } else if (Operation *op = next.getDefiningOp(); mayRepeat(op)) {
        for (OpOperand &operand : op->getOpOperands()) {
          if (!isRead(operand))
            continue;
          auto it = free.find(operand.get());
          if (it == free.end())
            stack.push_back(operand.get());
          else
            result &= it->second;
        }
      } else {
        result = false;
      }
      if (result && stack.size() > known)
        continue;
      stack.truncate(known - 1);
      free[next] = result;
    }
    return free.lookup(value);
  }

  const SaveQuestion &q;
  FlowNetwork network;
  DenseMap<Value, std::pair<int, int>> nodes;
  DenseMap<Value, bool> free;
  std::vector<bool> reaching;
};
} // namespace

SavedValues sinter::planSavedValues(const SaveQuestion &question) { return Cut(question).plan(); }
