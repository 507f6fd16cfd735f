// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/AttentionGradient.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

SmallVector<GradientTiles::Task> GradientTiles::tasks(bool isSplit) {
  DimContext &dims = k.dims();
  auto blocksOf = [&](DimExpr size) { return dims.resolve(dims.ceilDiv(size, dims.constant(tile.own))); };
  SmallVector<Task> all;
  auto addKeys = [&](bool values, bool keys) {
    if (values || keys)
      all.push_back({kKeys, {values, keys}, shape.keyHeads, blocksOf(shape.keys)});
  };
  bool ofValues = k.isYielded(kValueGradient), ofKeys = k.isYielded(kKeyGradient);
  addKeys(ofValues, ofKeys && !isSplit);
  if (isSplit)
    addKeys(false, ofKeys);
  if (k.isYielded(kQueryGradient))
    all.push_back({kRows, {false, true}, shape.heads, blocksOf(shape.rows)});
  return all;
}

GradientTiles::Place GradientTiles::placeOf(const Task &task, Value number) {
  SmallVector<Value> at = fn.delinearize(number, {task.heads, task.blocks});
  // The last rows count the most keys of a causal attention: they come first.
  bool isReversed = shape.after && !task.pass.ownsKeys;
  Value block = isReversed ? t.sub(t.add(fn.materialize(task.blocks), -1), at[1]) : at[1];
  return {at[0], t.mul(block, tile.own)};
}

GradientTiles::Others GradientTiles::othersOf(const Pass &pass, const Place &at) {
  Value low = pass.ownsKeys ? firstRow(at.first) : firstKey(at.first);
  Value end = pass.ownsKeys ? rowsEnd(at.first, tile.own) : keysEnd(at.first, tile.own);
  Value begin = t.mul(t.div(low, tile.other), tile.other);
  return {pass.ownsKeys ? t.mul(at.head, shape.groups) : t.div(at.head, shape.groups), begin, end,
          pass.ownsKeys ? shape.groups : 1};
}

Value GradientTiles::ofRow(unsigned operand, Value head, Value row) {
  Value buffer = fn.input(cast<BlockArgument>(shape.root->getOperand(operand)).getArgNumber());
  return fn.load(buffer, rowAt(head, shape.rows, row), types.sum);
}

void GradientTiles::storeSums(const Task &task, TileCore *byShares, TileCore *bySlopes, ValueRange sums,
                              const Place &at) {
  bool ownsKeys = task.pass.ownsKeys;
  DimExpr count = ownsKeys ? shape.keys : shape.rows;
  if (task.wanted.shares)
    storeRows(*byShares, sums.take_front(byShares->numSums()), number(1), kValueGradient, at.head, count, at.first,
              shape.width);
  if (task.wanted.slopes)
    storeRows(*bySlopes, sums.take_back(bySlopes->numSums()), number(shape.scale),
              ownsKeys ? kKeyGradient : kQueryGradient, at.head, count, at.first, shape.depth);
}
