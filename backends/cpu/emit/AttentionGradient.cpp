// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The backward part of attention, which computes blocks of shares again from the sums of their exponentials
// (Dao, FlashAttention-2, 2023), so that memory is linear in rows and keys:
//
//   for each block of keys and rows:   p = exp(scale q k^T + bias - sums);   ds = scale p (dy v^T - row sums)
//                                      dv += p^T dy;   dk += ds^T q;   dq += ds k
//
// All five products are register tiles. With enough heads of keys a task is one of them, with its heads of queries, and
// each block is formed once. With fewer, tasks are blocks of keys (for dk and dv) and blocks of rows (for dq), and each
// block is formed twice: seven products, but no two tasks add to the same place. Which of both is decided by sizes
// alone, and the order in which a place is added to is that of blocks: results do not depend on threads.
//
//   tile      rows and vectors of a register tile, keys of a block      chunk     rows of a block

#include "backends/cpu/emit/AttentionBlocks.h"
#include "ir/Normalization.h"
#include <numeric>

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {

constexpr int64_t kMostKeys = 1024;

class AttentionGradientEmitter : AttentionBlocks {
public:
  AttentionGradientEmitter(SingleKernel &k, AttentionGradientOp op, const ProductForm &form)
      : AttentionBlocks(k, op, form, 6), op(op) {
    ScheduleAttr schedule = k.fn.spec.schedule();
    keys = schedule.getTile()[2];
    blockRows = schedule.getChunk();
    pitch = keys + lanes; // a multiple of 4 KiB would have rows share cache sets
  }
  void emit();

private:
  enum Operand { kQuery, kKey, kValue, kCotangent, kLogSums, kRowSums };
  enum Result { kQueryGradient, kKeyGradient, kValueGradient };

  /// Where a task's blocks lie in the workspace, in elements.
  struct Room {
    Value keys, values, shares, slopes; // k^T, v^T, p, ds
  };
  /// A head of keys, and a block of them: rows of the matrices.
  struct Keys {
    Value head, first, count;
  };
  /// A head of queries, and a block of rows.
  struct Rows {
    Value head, first, count;
  };

  Room roomOf(Value chunk);
  /// The row of all rows (of all heads) that is `row` of the block.
  Value rowAt(const Rows &rows, Value row) { return k.add(k.add(k.mul(rows.head, rowCount), rows.first), row); }
  Value keyAt(const Keys &at, Value key) { return k.add(k.add(k.mul(at.head, keyCount), at.first), key); }
  /// `body` for all blocks of keys that count for a row in [low, low + count), and the reverse.
  void forKeyBlocks(Value head, Value low, Value high, llvm::function_ref<void(const Keys &)> body);
  void forRowBlocks(Value head, Value low, Value high, llvm::function_ref<void(const Rows &)> body);
  void turnKeys(const Room &room, const Keys &at);
  void formShares(const Room &room, const Keys &at, const Rows &rows, Value bias, Value column, Value row,
                  int64_t tile);
  void formSlopes(const Room &room, const Keys &at, const Rows &rows, Value column, Value row, int64_t tile);
  /// p and ds of a block, then `use`; nothing where no row counts any of the keys.
  void withBlock(const Room &room, const Keys &at, const Rows &rows, llvm::function_ref<void()> use);
  void addToKeys(const Room &room, const Keys &at, const Rows &rows);
  void addToQueries(const Room &room, const Keys &at, const Rows &rows);
  void clear(Result result, Value firstRow, Value rows, Value columns);

  void emitHead(const Room &room, Value head);
  void emitKeys(const Room &room, Value task);
  void emitQueries(const Room &room, Value task);

  AttentionGradientOp op;
  int64_t keys, blockRows, pitch;
  DimExpr roomSize;
  DimExpr keyBlocks, rowBlocks;
};

} // namespace

AttentionGradientEmitter::Room AttentionGradientEmitter::roomOf(Value chunk) {
  Room room;
  room.keys = k.mul(chunk, k.size(roomSize));
  room.values = k.add(room.keys, k.mul(depth, index(keys)));
  room.shares = k.add(room.values, k.mul(width, index(keys)));
  room.slopes = k.add(room.shares, index(blockRows * pitch));
  return room;
}

void AttentionGradientEmitter::forKeyBlocks(Value head, Value low, Value high, function_ref<void(const Keys &)> body) {
  k.fn.loop(low, high, keys, [&](Value first) { body({head, first, k.min(k.sub(high, first), index(keys))}); });
}

void AttentionGradientEmitter::forRowBlocks(Value head, Value low, Value high, function_ref<void(const Rows &)> body) {
  k.fn.loop(low, high, blockRows,
            [&](Value first) { body({head, first, k.min(k.sub(high, first), index(blockRows))}); });
}

void AttentionGradientEmitter::turnKeys(const Room &room, const Keys &at) {
  Value first = keyAt(at, index(0));
  turn(input(kKey), k.mul(first, depth), depth, at.count, room.keys);
  turn(input(kValue), k.mul(first, width), width, at.count, room.values);
}

/// p for a register tile, 0 where a row does not count a key. What is behind the last key is not read.
void AttentionGradientEmitter::formShares(const Room &room, const Keys &at, const Rows &rows, Value bias, Value column,
                                          Value row, int64_t tile) {
  SmallVector<Value> queries;
  for (int64_t r = 0; r < tile; ++r)
    queries.push_back(k.mul(rowAt(rows, k.add(row, index(r))), depth));
  SmallVector<Value> sums =
      timesPanel(input(kQuery), queries, k.add(room.keys, panelOf(column, depth)), depth, depthSize);
  auto place = [&](Value line) { return k.add(room.shares, k.add(k.mul(line, index(pitch)), column)); };
  for (int64_t r = 0; r < tile; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      store(sums[r * vectors + v], work, k.add(place(k.add(row, index(r))), index(v * lanes)));
  // A loop over what is hot: the code of exponentials exists once.
  Value from = k.add(at.first, column);
  k.fn.loop(row, k.add(row, index(tile)), 1, [&](Value line) {
    Value scale = spread(number(op.getScale().convertToDouble()));
    Value shift = arith::NegFOp::create(b, scalar(input(kLogSums), rowAt(rows, line)));
    for (int64_t v = 0; v < vectors; ++v) {
      Value lane = index(v * lanes), at1 = k.add(place(line), lane), offset = spread(shift);
      if (bias) {
        Value biasAt = biasRow ? k.add(bias, k.mul(line, biasRow)) : bias;
        Value mask = firstLanes(k.max(k.sub(at.count, k.add(column, lane)), index(0)));
        offset = arith::AddFOp::create(b, offset, biasLanes(biasAt, k.add(from, lane), mask, spread(number(0))));
      }
      Value score = vector::FMAOp::create(b, load(work, at1), scale, offset);
      store(math::ExpOp::create(b, score), work, at1);
    }
  });
  Value first = k.add(rows.first, row);
  if (Value across = crosses(from, first, tile))
    k.ifThen(across, [&] {
      for (int64_t r = 0; r < tile; ++r)
        hide(place(k.add(row, index(r))), from, k.add(first, index(r)), number(0));
    });
}

/// ds for a register tile, from its p.
void AttentionGradientEmitter::formSlopes(const Room &room, const Keys &at, const Rows &rows, Value column, Value row,
                                          int64_t tile) {
  SmallVector<Value> cotangents;
  for (int64_t r = 0; r < tile; ++r)
    cotangents.push_back(k.mul(rowAt(rows, k.add(row, index(r))), width));
  SmallVector<Value> sums =
      timesPanel(input(kCotangent), cotangents, k.add(room.values, panelOf(column, width)), width, widthSize);
  Value scale = spread(number(op.getScale().convertToDouble()));
  auto place = [&](int64_t r) { return k.add(k.mul(k.add(row, index(r)), index(pitch)), column); };
  for (int64_t r = 0; r < tile; ++r) {
    Value total = spread(scalar(input(kRowSums), rowAt(rows, k.add(row, index(r)))));
    for (int64_t v = 0; v < vectors; ++v) {
      Value at1 = k.add(place(r), index(v * lanes));
      Value share = arith::MulFOp::create(b, load(work, k.add(room.shares, at1)), scale);
      store(arith::MulFOp::create(b, share, arith::SubFOp::create(b, sums[r * vectors + v], total)), work,
            k.add(room.slopes, at1));
    }
  }
  Value from = k.add(at.first, column), first = k.add(rows.first, row);
  if (Value across = crosses(from, first, tile))
    k.ifThen(across, [&] { // 0 times what may be no number
      for (int64_t r = 0; r < tile; ++r)
        hide(k.add(room.slopes, place(r)), from, k.add(first, index(r)), number(0));
    });
}

void AttentionGradientEmitter::withBlock(const Room &room, const Keys &at, const Rows &rows, function_ref<void()> use) {
  Value bias;
  if (this->bias)
    bias = biasOffset(rows.head, rows.first);
  auto form = [&] {
    // Rows of a tile of keys may count what rows of this tile do not: `slack` of them around are formed, too.
    auto unlessOutside = [&](Value column, Value row, int64_t tile, function_ref<void()> body) {
      Value outside = isOutside(k.add(at.first, column), k.add(rows.first, row), tile, tileRows);
      if (outside)
        k.ifThen(k.negate(outside), body);
      else
        body();
    };
    k.fn.loop(index(0), at.count, panel, [&](Value column) {
      forTiles(index(0), rows.count, [&](Value row, int64_t tile) {
        unlessOutside(column, row, tile, [&] { formShares(room, at, rows, bias, column, row, tile); });
      });
    });
    k.fn.loop(index(0), at.count, panel, [&](Value column) {
      forTiles(index(0), rows.count, [&](Value row, int64_t tile) {
        unlessOutside(column, row, tile, [&] { formSlopes(room, at, rows, column, row, tile); });
      });
    });
    use();
  };
  if (bias && biasColumns)
    k.ifThen(k.negate(isHidden(bias, rows.count, at.first, at.count)), form);
  else
    form();
}

/// dv += p^T dy and dk += ds^T q.
void AttentionGradientEmitter::addToKeys(const Room &room, const Keys &at, const Rows &rows) {
  forTiles(index(0), at.count, [&](Value key, int64_t tile) {
    Value low = index(0), high = rows.count;
    if (hasBand()) {
      Value first = k.add(at.first, key);
      low = k.min(k.max(k.sub(firstRow(first), rows.first), index(0)), rows.count);
      high = k.min(k.max(k.sub(rowsEnd(first, index(tile)), rows.first), low), rows.count);
    }
    auto add = [&](Result result, Value from, Operand factor, Value columns) {
      if (!k.isYielded(result))
        return;
      SmallVector<Value> starts;
      for (int64_t r = 0; r < tile; ++r)
        starts.push_back(k.add(from, k.add(key, index(r))));
      addProduct(k.buffer(result), k.mul(keyAt(at, key), columns), columns, work, starts, index(pitch), input(factor),
                 k.mul(rowAt(rows, index(0)), columns), low, high, blockRows, {});
    };
    add(kValueGradient, room.shares, kCotangent, width);
    add(kKeyGradient, room.slopes, kQuery, depth);
  });
}

/// dq += ds k.
void AttentionGradientEmitter::addToQueries(const Room &room, const Keys &at, const Rows &rows) {
  if (!k.isYielded(kQueryGradient))
    return;
  forTiles(index(0), rows.count, [&](Value row, int64_t tile) {
    Value low = index(0), high = at.count;
    if (hasBand()) {
      Value first = k.add(rows.first, row);
      low = k.min(k.max(k.sub(firstKey(first), at.first), index(0)), at.count);
      high = k.min(k.max(k.sub(keysEnd(first, tile), at.first), low), at.count);
    }
    SmallVector<Value> starts;
    for (int64_t r = 0; r < tile; ++r)
      starts.push_back(k.add(room.slopes, k.mul(k.add(row, index(r)), index(pitch))));
    addProduct(k.buffer(kQueryGradient), k.mul(rowAt(rows, row), depth), depth, work, starts, Value(), input(kKey),
               k.mul(keyAt(at, index(0)), depth), low, high, keys, {});
  });
}

void AttentionGradientEmitter::clear(Result result, Value firstRow, Value rows, Value columns) {
  if (k.isYielded(result))
    fill(k.buffer(result), k.mul(firstRow, columns), k.mul(rows, columns), number(0));
}

/// A head of keys with all heads of queries that it serves.
void AttentionGradientEmitter::emitHead(const Room &room, Value head) {
  Value firstHead = k.mul(head, index(groups));
  clear(kQueryGradient, k.mul(firstHead, rowCount), k.mul(rowCount, index(groups)), depth);
  clear(kKeyGradient, k.mul(head, keyCount), keyCount, depth);
  clear(kValueGradient, k.mul(head, keyCount), keyCount, width);
  forKeyBlocks(head, index(0), keyCount, [&](const Keys &at) {
    turnKeys(room, at);
    k.fn.loop(firstHead, k.add(firstHead, index(groups)), 1, [&](Value queries) {
      forRowBlocks(queries, firstRow(at.first), rowsEnd(at.first, at.count), [&](const Rows &rows) {
        withBlock(room, at, rows, [&] {
          addToKeys(room, at, rows);
          addToQueries(room, at, rows);
        });
      });
    });
  });
}

/// dk and dv of a block of keys.
void AttentionGradientEmitter::emitKeys(const Room &room, Value task) {
  Value blocks = k.size(keyBlocks), head = arith::DivUIOp::create(b, task, blocks);
  Value first = k.mul(k.sub(task, k.mul(head, blocks)), index(keys));
  Keys at{head, first, k.min(k.sub(keyCount, first), index(keys))};
  clear(kKeyGradient, keyAt(at, index(0)), at.count, depth);
  clear(kValueGradient, keyAt(at, index(0)), at.count, width);
  turnKeys(room, at);
  Value firstHead = k.mul(head, index(groups));
  k.fn.loop(firstHead, k.add(firstHead, index(groups)), 1, [&](Value queries) {
    forRowBlocks(queries, firstRow(first), rowsEnd(first, at.count),
                 [&](const Rows &rows) { withBlock(room, at, rows, [&] { addToKeys(room, at, rows); }); });
  });
}

/// dq of a block of rows.
void AttentionGradientEmitter::emitQueries(const Room &room, Value task) {
  Value blocks = k.size(rowBlocks), head = arith::DivUIOp::create(b, task, blocks);
  Value first = k.mul(k.sub(task, k.mul(head, blocks)), index(blockRows));
  Rows rows{head, first, k.min(k.sub(rowCount, first), index(blockRows))};
  clear(kQueryGradient, rowAt(rows, index(0)), rows.count, depth);
  forKeyBlocks(arith::DivUIOp::create(b, head, index(groups)), firstKey(first), keysEnd(first, rows.count),
               [&](const Keys &at) {
                 turnKeys(room, at);
                 withBlock(room, at, rows, [&] { addToQueries(room, at, rows); });
               });
}

void AttentionGradientEmitter::emit() {
  DimContext &dims = k.dims();
  DimExpr heads = dims.product(batch), keyHeads = dims.floorDiv(heads, dims.constant(groups));
  keyBlocks = dims.ceilDiv(keySize, dims.constant(keys));
  rowBlocks = dims.ceilDiv(rowSize, dims.constant(blockRows));
  roomSize =
      dims.add(dims.mul(dims.add(depthSize, widthSize), dims.constant(keys)), dims.constant(2 * blockRows * pitch));
  bool wantsQueries = k.isYielded(kQueryGradient), wantsKeys = k.isYielded(kKeyGradient) || k.isYielded(kValueGradient);
  int64_t chunks = attentionChunks(k.fn.spec, op, 2 * blockRows * pitch + 128 * keys);
  auto share = [&](DimExpr tasks) { return dims.ceilDiv(tasks, dims.constant(chunks)); };
  if (keyHeads.isConstant() && keyHeads.constant() >= k.fn.spec.costs().attentionHeads && wantsQueries && wantsKeys) {
    k.chunkRows(keyHeads, share(keyHeads), [&](Value head, Value chunk) { emitHead(roomOf(chunk), head); });
  } else {
    DimExpr ofKeys = wantsKeys ? dims.mul(keyHeads, keyBlocks) : dims.constant(0);
    DimExpr tasks = wantsQueries ? dims.add(ofKeys, dims.mul(heads, rowBlocks)) : ofKeys;
    Value keyTasks = k.size(ofKeys);
    k.chunkRows(tasks, share(tasks), [&](Value task, Value chunk) {
      Value isOfKeys = k.less(task, keyTasks);
      if (wantsKeys)
        k.ifThen(isOfKeys, [&] { emitKeys(roomOf(chunk), task); });
      if (wantsQueries)
        k.ifThen(k.negate(isOfKeys), [&] { emitQueries(roomOf(chunk), k.sub(task, keyTasks)); });
    });
  }
  k.workspaceBytes = dims.mul(dims.mul(k.chunks, roomSize), dims.constant(byteWidth(type)));
}

//===- plan ----------------------------------------------------------------------------------===//

Plan sinter::cpu::planAttentionGradient(KernelSpec &spec, ScheduleAttr) {
  auto root = dyn_cast_or_null<AttentionGradientOp>(singleRoot(spec));
  if (!root || !isAttentionOfFloats(root))
    return Plan::refuse("it is no attention_gradient of f32 or f64 alone");
  if (!llvm::all_of(root->getOperands(), llvm::IsaPred<BlockArgument>))
    return Plan::refuse("an operand is computed");
  for (Value result : root->getResults())
    if (llvm::count(yieldsOf(spec), result) > 1)
      return Plan::refuse("a result is yielded twice");
  std::string refusal;
  Type type = getElementTypeOrSelf(root->getResult(0));
  if (!productFormOf(spec.target(), type, type, type, refusal))
    return Plan::refuse(refusal);
  Plan plan;
  int64_t bytes = byteWidth(type);
  planAttentionTile(spec, plan, bytes);
  int64_t panel = plan.tile[1].chosen * plan.lanes.chosen;
  // Blocks of keys are whole tiles in both ways that they are read; shares and slopes take a sixth of the second-level
  // cache, as keys, values, their gradients and rows lie there, too.
  int64_t step = std::lcm(panel, plan.tile[0].chosen), most = spec.costs().attentionKeyBytes / bytes;
  int64_t keys = most >= step ? most / step * step : panel;
  int64_t rows = std::min(spec.costs().attentionRows, spec.target().l2Bytes / 12 / (keys * bytes));
  plan.addTile(keys, kMostKeys);
  plan.tile.back().least = plan.tile.back().multiple = panel;
  plan.setChunk(std::max<int64_t>(rows / 6 * 6, 6));
  return plan;
}

EmittedKernel sinter::cpu::emitAttentionGradient(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto root = cast<AttentionGradientOp>(singleRoot(spec));
  std::string refusal;
  Type type = getElementTypeOrSelf(root->getResult(0));
  ProductForm form = *productFormOf(spec.target(), type, type, type, refusal);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/true});
  AttentionGradientEmitter(k, root, form).emit();
  return k.finish();
}
