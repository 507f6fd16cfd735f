// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/AttentionGradientTasks.h"
#include <numeric>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr int64_t kMostKeys = 1024;

AttentionGradientTasks::AttentionGradientTasks(SingleKernel &k, AttentionGradientOp op, const ProductForm &form)
    : AttentionBlocks(k, op, form, 6), op(op) {
  ScheduleAttr schedule = k.fn.spec.schedule();
  keys = schedule.getTile()[2];
  blockRows = schedule.getChunk();
}

//===- sums ----------------------------------------------------------------------------------===//

AttentionGradientTasks::Sums AttentionGradientTasks::sumsOf(Result result, Value row, Value columns, Value place) {
  if (!k.isYielded(result))
    return {};
  if (isShort() && !(result == kQueryGradient && splitsQueries()))
    return {work, place, Value(), Value()};
  return {k.buffer(result), k.mul(row, columns), isShort() ? k.mul(place, index(2)) : Value(), Value()};
}

void AttentionGradientTasks::clear(Result result, const Sums &sums, Value rows, Value columns) {
  if (k.isYielded(result))
    clearSums(sums, k.mul(rows, columns));
}

void AttentionGradientTasks::finish(Result result, const Sums &sums, Value row, Value rows, Value columns) {
  if (isShort() && k.isYielded(result))
    narrowSums(sums, k.buffer(result), k.mul(row, columns), k.mul(rows, columns));
}

//===- blocks --------------------------------------------------------------------------------===//

std::pair<Value, Value> AttentionGradientTasks::rowsOf(const Keys &at, const Rows &rows, Value key, Value count) {
  if (!hasBand())
    return {index(0), rows.count};
  Value first = k.add(at.first, key);
  Value low = k.min(k.max(k.sub(firstRow(first), rows.first), index(0)), rows.count);
  return {low, k.min(k.max(k.sub(rowsEnd(first, count), rows.first), low), rows.count)};
}

std::pair<Value, Value> AttentionGradientTasks::keysOf(const Keys &at, const Rows &rows, Value row, Value count) {
  return countedKeys(at.first, at.count, k.add(rows.first, row), count);
}

void AttentionGradientTasks::forKeyBlocks(Value head, Value low, Value high, function_ref<void(const Keys &)> body) {
  k.fn.loop(low, high, keys, [&](Value first) { body({head, first, k.min(k.sub(high, first), index(keys))}); });
}

void AttentionGradientTasks::forRowBlocks(Value head, Value low, Value high, function_ref<void(const Rows &)> body) {
  k.fn.loop(low, high, blockRows,
            [&](Value first) { body({head, first, k.min(k.sub(high, first), index(blockRows))}); });
}

void AttentionGradientTasks::withBlock(const Keys &at, const Rows &rows, function_ref<void()> use) {
  Value bias;
  if (this->bias)
    bias = biasOffset(rows.head, rows.first);
  bool mayHide = bias && biasColumns;
  k.ifThen(mayHide ? k.negate(isHidden(bias, rows.count, at.first, at.count)) : Value(), [&] {
    formBlock(at, rows, bias);
    use();
  });
}

//===- tasks ---------------------------------------------------------------------------------===//

void AttentionGradientTasks::emitKeyBlock(const Keys &at, function_ref<void(const Rows &)> use) {
  Value firstHead = k.mul(at.head, index(groups));
  beginKeys(at);
  takeKeys(at);
  k.fn.loop(firstHead, k.add(firstHead, index(groups)), 1, [&](Value queries) {
    forRowBlocks(queries, firstRow(at.first), rowsEnd(at.first, at.count), [&](const Rows &rows) {
      takeRows(rows, /*areSummedOver=*/true);
      withBlock(at, rows, [&] {
        addToKeys(at, rows);
        use(rows);
      });
    });
  });
  endKeys(at);
}

/// A head of keys with all heads of queries that it serves.
void AttentionGradientTasks::emitHead(Value head) {
  Value firstRow = k.mul(k.mul(head, index(groups)), rowCount), rows = k.mul(rowCount, index(groups));
  Sums ofQueries = sumsOf(kQueryGradient, firstRow, depth, queryPlace());
  clear(kQueryGradient, ofQueries, rows, depth);
  forKeyBlocks(head, index(0), keyCount, [&](const Keys &at) {
    takeKeyColumns(at);
    emitKeyBlock(at, [&](const Rows &block) {
      Value before = k.mul(k.sub(rowAt(block, index(0)), firstRow), depth);
      addToQueries(at, block, ofQueries.from(*this, before));
    });
  });
  finish(kQueryGradient, ofQueries, firstRow, rows, depth);
}

/// dk and dv of a block of keys.
void AttentionGradientTasks::emitKeys(Value task) {
  Value blocks = k.size(keyBlocks), head = arith::DivUIOp::create(b, task, blocks);
  Value first = k.mul(k.sub(task, k.mul(head, blocks)), index(keys));
  emitKeyBlock({head, first, k.min(k.sub(keyCount, first), index(keys))}, [](const Rows &) {});
}

/// dq of a block of rows.
void AttentionGradientTasks::emitQueries(Value task) {
  Value blocks = k.size(rowBlocks), head = arith::DivUIOp::create(b, task, blocks);
  Value first = k.mul(k.sub(task, k.mul(head, blocks)), index(blockRows));
  Rows rows{head, first, k.min(k.sub(rowCount, first), index(blockRows))};
  Value row = rowAt(rows, index(0));
  Sums sums = sumsOf(kQueryGradient, row, depth, queryPlace());
  clear(kQueryGradient, sums, rows.count, depth);
  takeRows(rows, /*areSummedOver=*/false);
  forKeyBlocks(arith::DivUIOp::create(b, head, index(groups)), firstKey(first), keysEnd(first, rows.count),
               [&](const Keys &at) {
                 takeKeys(at);
                 takeKeyColumns(at);
                 withBlock(at, rows, [&] { addToQueries(at, rows, sums); });
               });
  finish(kQueryGradient, sums, row, rows.count, depth);
}

void AttentionGradientTasks::enter(Value chunk) {
  roomBegin = k.mul(chunk, k.size(roomSize));
  moveTo(roomBegin);
}

void AttentionGradientTasks::emit() {
  DimContext &dims = k.dims();
  DimExpr heads = dims.product(batch), keyHeads = dims.floorDiv(heads, dims.constant(groups));
  keyBlocks = dims.ceilDiv(keySize, dims.constant(keys));
  rowBlocks = dims.ceilDiv(rowSize, dims.constant(blockRows));
  bool wantsQueries = k.isYielded(kQueryGradient), wantsKeys = k.isYielded(kKeyGradient) || k.isYielded(kValueGradient);
  takesHeads =
      keyHeads.isConstant() && keyHeads.constant() >= k.fn.spec.costs().attentionHeads && wantsQueries && wantsKeys;
  DimExpr elements = dims.constant(0);
  auto reserve = [&](DimExpr count) {
    Value place = k.size(elements);
    elements = dims.add(elements, count);
    return place;
  };
  layOut(reserve);
  if (isShort()) {
    DimExpr rows = takesHeads ? dims.mul(rowSize, dims.constant(groups)) : dims.constant(blockRows);
    DimExpr sums = dims.mul(rows, depthSize);
    queryGradient = reserve(splitsQueries() ? dims.ceilDiv(sums, dims.constant(2)) : sums);
  }
  roomSize = elements;
  if (tiles) // rows of tiles begin with lines of the cache
    roomSize = dims.mul(dims.ceilDiv(elements, dims.constant(lanes)), dims.constant(lanes));
  int64_t chunks = attentionChunks(k.fn.spec, op, roomGuess * byteWidth(type));
  auto share = [&](DimExpr tasks) { return dims.ceilDiv(tasks, dims.constant(chunks)); };
  if (takesHeads) {
    k.chunkRows(keyHeads, share(keyHeads), [&](Value head, Value chunk) {
      enter(chunk);
      emitHead(head);
    });
  } else {
    DimExpr ofKeys = wantsKeys ? dims.mul(keyHeads, keyBlocks) : dims.constant(0);
    DimExpr tasks = wantsQueries ? dims.add(ofKeys, dims.mul(heads, rowBlocks)) : ofKeys;
    Value keyTasks = k.size(ofKeys);
    k.chunkRows(tasks, share(tasks), [&](Value task, Value chunk) {
      Value isOfKeys = k.less(task, keyTasks);
      enter(chunk);
      if (wantsKeys)
        k.ifThen(isOfKeys, [&] { emitKeys(task); });
      if (wantsQueries)
        k.ifThen(k.negate(isOfKeys), [&] { emitQueries(k.sub(task, keyTasks)); });
    });
  }
  if (tiles)
    tiles->release();
  k.workspaceBytes = dims.mul(dims.mul(k.chunks, roomSize), dims.constant(byteWidth(type)));
}

//===- plan ----------------------------------------------------------------------------------===//

Plan sinter::cpu::planAttentionGradient(KernelSpec &spec, ScheduleAttr) {
  auto root = dyn_cast_or_null<AttentionGradientOp>(singleRoot(spec));
  if (!root || !isAttentionOfFloats(root))
    return Plan::refuse("it is no attention_gradient of floats alone");
  if (!llvm::all_of(root->getOperands(), llvm::IsaPred<BlockArgument>))
    return Plan::refuse("an operand is computed");
  for (Value result : root->getResults())
    if (llvm::count(yieldsOf(spec), result) > 1)
      return Plan::refuse("a result is yielded twice");
  Plan plan;
  ProductForm form = attentionForm(spec, root);
  int64_t bytes = widthOf(form.sum);
  planAttentionTile(spec, plan, form);
  const CostModel &costs = spec.costs();
  int64_t panel = plan.tile[1].chosen * plan.lanes.chosen;
  if (form.isTiled()) {
    plan.addTile(costs.tiledAttentionGradientKeys, kMostKeys);
    plan.setChunk(costs.tiledAttentionGradientRows, plan.tile[0].chosen);
    plan.tile.back().least = plan.tile.back().multiple = panel;
    return plan;
  }
  plan.tile[0].least = plan.tile[0].multiple = form.kPack; // of rows
  // Blocks of keys are whole tiles in both ways that they are read; shares and slopes take a sixth of the second-level
  // cache, as keys, values, their gradients and rows lie there, too.
  int64_t step = std::lcm(panel, plan.tile[0].chosen), most = costs.attentionKeyBytes / bytes;
  int64_t keys = most >= step ? most / step * step : panel;
  int64_t rows = std::min(costs.attentionRows, spec.target().l2Bytes / 12 / (keys * bytes));
  if (form.a != form.sum)
    rows = std::min(rows, costs.shortAttentionGradientRows);
  plan.addTile(keys, kMostKeys);
  plan.tile.back().least = plan.tile.back().multiple = panel;
  plan.setChunk(std::max<int64_t>(rows / 6 * 6, 6));
  return plan;
}

EmittedKernel sinter::cpu::emitAttentionGradient(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto root = cast<AttentionGradientOp>(singleRoot(spec));
  ProductForm form = attentionForm(spec, root);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/true});
  if (form.isTiled())
    emitAttentionGradientByTiles(k, root, form);
  else
    emitAttentionGradientByRegisters(k, root, form);
  EmittedKernel emitted = k.finish();
  emitted.usesTiles = form.isTiled();
  return emitted;
}
