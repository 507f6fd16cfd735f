// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An optimizer that moves rows of a table makes the new rows of the table and of each moment, and then writes them:
//
//   g = bag_sum(values, order, splits)        m' = f(m[rows], g)        x' = h(x[rows], m', g)
//   scatter(m, rows, m')                      scatter(x, rows, x')
//
// All of these are as large as what a batch looked up. As the rows differ from each other, some thousands of them may
// move at a time, and what they need is in a cache when it is read again:
//
//   for i = 0 to the number of rows step chunk, carrying m and x: the same with rows[i : i + chunk] and
//   splits[i : i + chunk + 1]
//
// Each row is computed as before, so results are the same bits.

#include "ir/Composer.h"
#include "ir/Control.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Shape.h"
#include "ir/Sparse.h"
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_CHUNKROWUPDATES
#include "passes/Passes.h.inc"
} // namespace sinter

namespace {
/// What replaces rows of some tables: `ops` give the new rows, in the order of the block.
class RowUpdates {
public:
  explicit RowUpdates(GroupRowsOp groups) : groups(groups), count(tensorTypeOf(groups.getRows()).getDimSize(0)) {}

  /// Finds all that writes to the rows; false where that cannot be done chunk by chunk.
  bool find();
  /// Bytes of the rows of the largest table.
  int64_t bytes() const;
  void chunk(int64_t rows);

private:
  bool add(Value value);
  bool isRowWise(Operation *op);
  RankedTensorType ofChunk(Type type, int64_t rows) const {
    return cast<RankedTensorType>(type).clone(resized(cast<RankedTensorType>(type).getShape(), rows));
  }
  static SmallVector<int64_t> resized(ArrayRef<int64_t> shape, int64_t rows) {
    SmallVector<int64_t> result(shape);
    result.front() = rows;
    return result;
  }
  bool isOfRows(Value value) const {
    RankedTensorType type = tensorTypeOf(value);
    return type.hasStaticShape() && type.getRank() > 0 && type.getDimSize(0) == count;
  }
  static bool isWritten(Value table) { return isa_and_nonnull<ScatterNdOp>(table.getDefiningOp()); }
  Operation *copyInto(OpBuilder &b, Operation *op, IRMapping &map, int64_t rows) const;

  GroupRowsOp groups;
  int64_t count; // of rows, those that stand for none with them
  SmallVector<ScatterNdOp> writes;
  llvm::SetVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 8> cheap; // of ops, those that may be made twice
  llvm::SmallPtrSet<Value, 8> whole;       // what some of ops read otherwise than row by row
};
} // namespace

/// True when each row of what `op` gives follows from that row of what it reads.
bool RowUpdates::isRowWise(Operation *op) {
  if (op->getNumResults() != 1 || !isOfRows(op->getResult(0)))
    return false;
  if (auto gather = dyn_cast<GatherOp>(op)) { // of what no write gave
    whole.insert(gather.getOperand());
    cheap.insert(op);
    return gather.getAxis() == 0 && gather.getPositions() == groups.getRows() && !isWritten(gather.getOperand());
  }
  if (auto bags = dyn_cast<BagSumOp>(op)) {
    whole.insert_range(op->getOperands());
    return bags.getSplits() == groups.getSplits();
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    cheap.insert(op);
    if (llvm::is_contained(broadcast.getAxes(), 0))
      return add(broadcast.getOperand());
    whole.insert_range(op->getOperands());
    return true;
  }
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    cheap.insert(op);
    return isa<DenseElementsAttr>(constant.getValue()) && cast<DenseElementsAttr>(constant.getValue()).isSplat();
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return isOfRows(reshape.getOperand()) && add(reshape.getOperand());
  return isa<Pointwise>(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return add(operand); });
}

bool RowUpdates::add(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != groups->getBlock())
    return false;
  if (ops.contains(op))
    return true;
  if (!isRowWise(op))
    return false;
  ops.insert(op);
  return true;
}

bool RowUpdates::find() {
  if (ShapedType::isDynamic(count))
    return false;
  SmallVector<Value> pending = {groups.getRows()};
  while (!pending.empty())
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      auto write = dyn_cast<ScatterNdOp>(use.getOwner());
      if (write && use.get() == write.getPositions() && write.getCombiner() == Combiner::set &&
          write->getBlock() == groups->getBlock())
        writes.push_back(write);
      else if (auto reshape = dyn_cast<ReshapeOp>(use.getOwner()))
        pending.push_back(reshape.getResult());
    }
  if (writes.empty())
    return false;
  llvm::sort(writes, [](ScatterNdOp a, ScatterNdOp b) { return a->isBeforeInBlock(b); });
  llvm::SmallPtrSet<Operation *, 4> written;
  for (ScatterNdOp write : writes) {
    written.insert(write);
    RankedTensorType table = tensorTypeOf(write.getOperand()), rows = tensorTypeOf(write.getUpdates());
    // Each table once: a second write would read what the first gave.
    bool again =
        llvm::count_if(writes, [&](ScatterNdOp other) { return other.getOperand() == write.getOperand(); }) > 1;
    if (again || !table.hasStaticShape() || table.getDimSize(0) != static_cast<int64_t>(groups.getSize()) ||
        rows.getRank() != table.getRank() || isWritten(write.getOperand()) || !add(write.getUpdates()))
      return false;
  }
  // The loop stands where the last write does.
  for (ScatterNdOp write : writes)
    for (Operation *user : write->getUsers())
      if (Operation *here = groups->getBlock()->findAncestorOpInBlock(*user);
          !here || here->isBeforeInBlock(writes.back()) || here == writes.back())
        return false;
  // What is read whole is no such row.
  if (llvm::any_of(whole, [&](Value value) { return value.getDefiningOp() && ops.contains(value.getDefiningOp()); }))
    return false;
  // Sums that others read, too, must be made whole.
  for (Operation *op : ops)
    if (!cheap.contains(op) &&
        llvm::any_of(op->getUsers(), [&](Operation *user) { return !ops.contains(user) && !written.contains(user); }))
      return false;
  return true;
}

int64_t RowUpdates::bytes() const {
  int64_t most = 0;
  for (ScatterNdOp write : writes) {
    RankedTensorType type = tensorTypeOf(ScatterNdOp(write).getUpdates());
    most = std::max(most, type.getNumElements() * type.getElementTypeBitWidth() / 8);
  }
  return most;
}

/// `op` for `rows` rows.
Operation *RowUpdates::copyInto(OpBuilder &b, Operation *op, IRMapping &map, int64_t rows) const {
  Operation *copy = b.clone(*op, map);
  RankedTensorType type = ofChunk(op->getResult(0).getType(), rows);
  if (auto constant = dyn_cast<ConstantOp>(copy))
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
  for (NamedAttribute attribute : op->getAttrs())
    if (auto stated = dyn_cast<TypeAttr>(attribute.getValue());
        stated && stated.getValue() == op->getResult(0).getType())
      copy->setAttr(attribute.getName(), TypeAttr::get(type));
  copy->getResult(0).setType(type);
  return copy;
}

void RowUpdates::chunk(int64_t rows) {
  OpBuilder builder(writes.back());
  Composer c(writes.back().getLoc(), builder);
  int64_t rest = (count + rows - 1) / rows * rows - count;
  auto padded = [&](Value value, PadMode mode) {
    Value outside = c.scalar(c.getI64Type(), static_cast<double>(groups.getSize()));
    return rest ? c.make<PadOp>(value, outside, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{rest}, ArrayRef<int64_t>{0},
                                mode)
                : value;
  };
  Value allRows = padded(groups.getRows(), PadMode::constant), allSplits = padded(groups.getSplits(), PadMode::edge);
  Value isRow = c.make<CompareOp>(groups.getRows(), c.fill(static_cast<double>(groups.getSize()), groups.getRows()),
                                  CompareKind::lt);
  Value distinct = c.reduce(c.convert(isRow, c.getI64Type()), {0}, Combiner::add);

  SmallVector<Value> init, captures = {allRows, allSplits};
  llvm::SetVector<Value> outside;
  SmallVector<Operation *> inOrder(ops.begin(), ops.end());
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (ScatterNdOp write : writes)
    init.push_back(write.getOperand());
  for (Operation *op : inOrder)
    for (Value operand : op->getOperands())
      if (operand != groups.getRows() && operand != groups.getSplits() && !llvm::is_contained(init, operand) &&
          !(operand.getDefiningOp() && ops.contains(operand.getDefiningOp())))
        outside.insert(operand);
  captures.append(outside.begin(), outside.end());
  ForOp loop = ForOp::create(c, c.getLoc(), ValueRange(init).getTypes(), c.scalar(c.getI64Type(), 0), distinct,
                             c.scalar(c.getI64Type(), static_cast<double>(rows)), init, captures);

  OpBuilder::InsertionGuard guard(c);
  Block *body = c.createBlock(&loop.getBodyRegion());
  Value at = body->addArgument(RankedTensorType::get({}, c.getI64Type()), c.getLoc());
  for (Value value : init)
    body->addArgument(value.getType(), c.getLoc());
  for (Value value : captures)
    body->addArgument(value.getType(), c.getLoc());
  auto carries = body->getArguments().drop_front(1).take_front(init.size());
  auto captured = body->getArguments().drop_front(1 + init.size());
  IRMapping map;
  for (auto [value, inside] : llvm::zip(init, carries))
    map.map(value, inside);
  for (auto [value, inside] : llvm::zip(outside, captured.drop_front(2)))
    map.map(value, inside);
  Value starts = c.reshape(at, RankedTensorType::get({1}, c.getI64Type()));
  Value chunkRows = c.make<DynamicSliceOp>(captured[0], starts, ArrayRef<int64_t>{rows});
  map.map(groups.getRows(), chunkRows);
  map.map(groups.getSplits(), c.make<DynamicSliceOp>(captured[1], starts, ArrayRef<int64_t>{rows + 1}));
  for (Operation *op : inOrder)
    map.map(op->getResult(0), copyInto(c, op, map, rows)->getResult(0));
  Value column = c.reshape(chunkRows, RankedTensorType::get({rows, 1}, c.getI64Type()));
  SmallVector<Value> next;
  for (auto [write, carry] : llvm::zip(writes, carries))
    next.push_back(c.make<ScatterNdOp>(carry, column, map.lookup(write.getUpdates()), Combiner::set));
  YieldOp::create(c, c.getLoc(), next);

  for (auto [write, result] : llvm::zip(writes, loop.getCarries()))
    write.getResult().replaceAllUsesWith(result);
  for (ScatterNdOp write : writes)
    write.erase();
  for (Operation *op : llvm::reverse(inOrder))
    if (op->use_empty())
      op->erase();
}

namespace {
class ChunkRowUpdates : public sinter::impl::ChunkRowUpdatesBase<ChunkRowUpdates> {
  using ChunkRowUpdatesBase::ChunkRowUpdatesBase;

  void runOnOperation() override {
    SmallVector<GroupRowsOp> all;
    getOperation()->walk([&](GroupRowsOp groups) { all.push_back(groups); });
    for (GroupRowsOp groups : all) {
      RowUpdates updates(groups);
      if (!updates.find() || updates.bytes() <= chunkBytes)
        continue;
      int64_t count = tensorTypeOf(groups.getRows()).getDimSize(0);
      int64_t rows = std::max<int64_t>(count * chunkBytes / updates.bytes(), 1);
      updates.chunk(rows);
    }
  }
};
} // namespace
