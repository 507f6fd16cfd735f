// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with the softmax formed while keys go by (Milakov & Gimelshein 2018; Dao et al. 2022), so that scores exist
// for one block of rows and keys at a time:
//
//   for each block of keys:   s = scale q k^T + bias;   m' = max(m, max(s));   c = exp(m - m');   p = exp(s - m')
//                             l = c l + sum(p);   y = c y + p v;   m = m'
//   at the end:               y / l
//
// Both products are register tiles. Keys are transposed into the workspace a block at a time, y grows in the result's
// own memory. Blocks of a bias of -inf alone are left out. A row without any key that counts is 0 / 0, as a softmax of
// -inf alone is.
//
//   tile      rows and vectors of a register tile, keys of a block      chunk     rows that share a block of keys

#include "backends/cpu/emit/AttentionForm.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Single.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// With fewer rows or keys the scores take little memory, and two products and a softmax are faster.
constexpr int64_t kLeastRows = 64, kLeastKeys = 2048;
/// What may be forced: a row of scores is in registers while its softmax is formed.
constexpr int64_t kMostKeys = 256;

class AttentionEmitter {
public:
  AttentionEmitter(SingleKernel &k, AttentionOp op, const ProductForm &form)
      : k(k), b(k.b), op(op), form(form), type(getElementTypeOrSelf(op.getResult())) {
    ScheduleAttr schedule = k.fn.spec.schedule();
    lanes = schedule.getLanes();
    tileRows = schedule.getTile()[0];
    vectors = schedule.getTile()[1];
    keys = schedule.getTile()[2];
    blockRows = schedule.getChunk();
    vector = VectorType::get({lanes}, type);
  }
  void emit();

private:
  /// What one block of rows works on; offsets are in elements.
  struct Rows {
    Value query, key, value, result, bias, count;   // first elements; number of rows
    Value turned, scores, greatest, total, factors; // in the workspace: k^T, s, m, l, c
  };

  Value index(int64_t value) { return k.fn.index(value); }
  Value number(double value) { return arith::ConstantOp::create(b, b.getFloatAttr(type, value)); }
  Value spread(Value scalar) { return vector::BroadcastOp::create(b, vector, scalar); }
  Value input(unsigned operand) { return k.fn.input(cast<BlockArgument>(op->getOperand(operand)).getArgNumber()); }
  Value load(Value buffer, Value at) { return vector::LoadOp::create(b, vector, buffer, ValueRange{at}); }
  Value scalar(Value buffer, Value at) { return memref::LoadOp::create(b, buffer, ValueRange{at}); }
  void store(Value value, Value buffer, Value at) {
    if (isa<VectorType>(value.getType()))
      vector::StoreOp::create(b, value, buffer, ValueRange{at});
    else
      memref::StoreOp::create(b, value, buffer, ValueRange{at});
  }
  Value firstLanes(Value count) {
    return vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{count});
  }
  Value whole(Value count, int64_t step) { return k.mul(arith::DivUIOp::create(b, count, index(step)), index(step)); }

  Value biasOffset(Value head, Value row);
  /// `body(first, rows)` for whole register tiles of rows, then for single rows.
  void forTiles(Value count, llvm::function_ref<void(Value, int64_t)> body);
  /// `atVector(i)` and `atRest(i)` for [0, count) by vectors, then one by one.
  void forRange(Value count, llvm::function_ref<void(Value)> atVector, llvm::function_ref<void(Value)> atRest);
  void turnKeys(const Rows &at, Value first, Value count);
  void formScores(const Rows &at, Value key, Value count, Value column, Value row, int64_t rows);
  Value greater(Value x, Value y);
  Value greatestLane(Value lanesOf);
  void updateSoftmax(const Rows &at, Value row);
  void addValues(const Rows &at, Value key, Value count, Value row, int64_t rows);
  Value isHidden(const Rows &at, Value key, Value count);
  void emitRows(const Rows &at);

  SingleKernel &k;
  ImplicitLocOpBuilder &b;
  AttentionOp op;
  ProductForm form;
  Type type;
  VectorType vector;
  int64_t lanes, tileRows, vectors, keys, blockRows;
  DimExpr depthSize, keySize;
  Value depth, width, keyCount; // d, e, n
  Value biasRow;                // elements from row to row, null: the same for all
  bool biasColumns = false;     // it differs from key to key
  Value work;
};
} // namespace

Value AttentionEmitter::biasOffset(Value head, Value row) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(op.getBias()), scores = k.sizesOf(op.getQuery());
  Dims strides = stridesOf(dims, sizes), batch(scores);
  batch.resize(scores.size() - 2);
  auto repeats = [&](size_t axis) { return dims.resolve(sizes[axis]) == dims.constant(1); };
  Value offset = index(0);
  for (auto [axis, position] : llvm::enumerate(k.fn.delinearize(head, batch)))
    if (!repeats(axis))
      offset = k.add(offset, k.mul(position, k.size(strides[axis])));
  biasRow = repeats(batch.size()) ? Value() : k.size(strides[batch.size()]);
  biasColumns = !repeats(batch.size() + 1);
  return biasRow ? k.add(offset, k.mul(row, biasRow)) : offset;
}

void AttentionEmitter::forTiles(Value count, function_ref<void(Value, int64_t)> body) {
  Value tiles = whole(count, tileRows);
  k.fn.loop(index(0), tiles, tileRows, [&](Value row) { body(row, tileRows); });
  if (tileRows > 1)
    k.fn.loop(tiles, count, 1, [&](Value row) { body(row, 1); });
}

void AttentionEmitter::forRange(Value count, function_ref<void(Value)> atVector, function_ref<void(Value)> atRest) {
  Value inVectors = whole(count, lanes);
  k.fn.loop(index(0), inVectors, lanes, atVector);
  k.fn.loop(inVectors, count, 1, atRest);
}

/// turned[i, j] = k[first + j, i] for `count` keys.
void AttentionEmitter::turnKeys(const Rows &at, Value first, Value count) {
  Value from = input(1), base = k.add(at.key, k.mul(first, depth));
  auto moveOne = [&](Value i, Value j) {
    store(scalar(from, k.add(base, k.add(k.mul(j, depth), i))), work,
          k.add(at.turned, k.add(k.mul(i, index(keys)), j)));
  };
  forRange(
      count,
      [&](Value j) {
        forRange(
            depth,
            [&](Value i) {
              SmallVector<Value> rows;
              for (int64_t r = 0; r < lanes; ++r)
                rows.push_back(load(from, k.add(base, k.add(k.mul(k.add(j, index(r)), depth), i))));
              for (auto [r, column] : llvm::enumerate(transposeVectors(b, rows)))
                store(column, work, k.add(at.turned, k.add(k.mul(k.add(i, index(r)), index(keys)), j)));
            },
            [&](Value i) { k.fn.loop(j, k.add(j, index(lanes)), 1, [&](Value one) { moveOne(i, one); }); });
      },
      [&](Value j) { k.fn.loop(index(0), depth, 1, [&](Value i) { moveOne(i, j); }); });
}

/// s for `rows` rows and a register tile of keys from `column` of the block on, -inf behind the last key.
void AttentionEmitter::formScores(const Rows &at, Value key, Value count, Value column, Value row, int64_t rows) {
  MicroOperands operands(form);
  operands.a = input(0);
  for (int64_t r = 0; r < rows; ++r)
    operands.aRows.push_back(k.add(at.query, k.mul(k.add(row, index(r)), depth)));
  operands.b = work;
  for (int64_t v = 0; v < vectors; ++v)
    operands.bVectors.push_back(k.add(k.add(at.turned, column), index(v * lanes)));
  operands.bStride = index(keys);
  SmallVector<Value> sums = emitBlockedMicroKernel(k.fn, operands, vector, index(0), depth, depthSize);
  Value scale = spread(number(op.getScale().convertToDouble()));
  Value never = spread(number(-std::numeric_limits<double>::infinity()));
  for (int64_t v = 0; v < vectors; ++v) {
    Value place = k.add(column, index(v * lanes)), mask = firstLanes(k.sub(count, place));
    for (int64_t r = 0; r < rows; ++r) {
      Value score = arith::MulFOp::create(b, sums[r * vectors + v], scale);
      if (at.bias) {
        Value offset = biasRow ? k.add(at.bias, k.mul(k.add(row, index(r)), biasRow)) : at.bias;
        Value bias = biasColumns ? vector::MaskedLoadOp::create(
                                       b, vector, input(3), ValueRange{k.add(offset, k.add(key, place))}, mask, never)
                                       .getResult()
                                 : spread(scalar(input(3), offset));
        score = arith::AddFOp::create(b, score, bias);
      }
      store(k.select(mask, score, never), work,
            k.add(at.scores, k.add(k.mul(k.add(row, index(r)), index(keys)), place)));
    }
  }
}

/// The greater of two, one instruction on x86; of a NaN and a number either one. A NaN among scores becomes one of the
/// sum of exponentials, whatever is taken off.
Value AttentionEmitter::greater(Value x, Value y) {
  return k.select(arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, y, x), y, x);
}

/// The greatest lane.
Value AttentionEmitter::greatestLane(Value lanesOf) {
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low = llvm::to_vector(llvm::seq<int64_t>(0, half)),
                         high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    lanesOf = greater(vector::ShuffleOp::create(b, lanesOf, lanesOf, low),
                      vector::ShuffleOp::create(b, lanesOf, lanesOf, high));
  }
  return vector::ExtractOp::create(b, lanesOf, ArrayRef<int64_t>{0});
}

/// p in place of s, and m, l and c of a row.
void AttentionEmitter::updateSoftmax(const Rows &at, Value row) {
  Value first = k.add(at.scores, k.mul(row, index(keys))), infinity = number(-std::numeric_limits<double>::infinity());
  SmallVector<Value> scores, shares;
  for (int64_t v = 0; v < keys / lanes; ++v)
    scores.push_back(load(work, k.add(first, index(v * lanes))));
  // As a tree: a chain would wait for every step.
  auto combine = [](SmallVector<Value> values, function_ref<Value(Value, Value)> with) {
    while (values.size() > 1) {
      SmallVector<Value> pairs;
      for (size_t i = 0; i + 1 < values.size(); i += 2)
        pairs.push_back(with(values[i], values[i + 1]));
      if (values.size() % 2)
        pairs.push_back(values.back());
      values = std::move(pairs);
    }
    return values.front();
  };
  Value old = scalar(work, k.add(at.greatest, row));
  Value most = combine(scores, [&](Value x, Value y) { return greater(x, y); });
  Value greatest = greater(old, greatestLane(most));
  // Nothing that counts so far: all exponentials are zero.
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, greatest, infinity);
  Value shift = k.select(isNone, number(0), greatest);
  for (int64_t v = 0; v < keys / lanes; ++v) {
    shares.push_back(math::ExpOp::create(b, arith::SubFOp::create(b, scores[v], spread(shift))));
    store(shares.back(), work, k.add(first, index(v * lanes)));
  }
  Value sum = combine(shares, [&](Value x, Value y) { return arith::AddFOp::create(b, x, y).getResult(); });
  Value factor = math::ExpOp::create(b, arith::SubFOp::create(b, old, shift));
  Value total = scalar(work, k.add(at.total, row));
  total = arith::AddFOp::create(b, arith::MulFOp::create(b, total, factor),
                                vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum).getResult());
  store(greatest, work, k.add(at.greatest, row));
  store(total, work, k.add(at.total, row));
  store(factor, work, k.add(at.factors, row));
}

/// y = c y + p v for `rows` rows and the `count` keys from `key` on.
void AttentionEmitter::addValues(const Rows &at, Value key, Value count, Value row, int64_t rows) {
  auto strip = [&](Value column, int64_t wide, Value mask) {
    MicroOperands operands(form);
    operands.a = work;
    for (int64_t r = 0; r < rows; ++r)
      operands.aRows.push_back(k.add(at.scores, k.mul(k.add(row, index(r)), index(keys))));
    operands.b = input(2);
    Value start = k.add(k.add(at.value, k.mul(key, width)), column);
    for (int64_t v = 0; v < wide; ++v) {
      operands.bVectors.push_back(k.add(start, index(v * lanes)));
      operands.bMasks.push_back(mask);
    }
    operands.bStride = width;
    SmallVector<Value> sums = emitBlockedMicroKernel(k.fn, operands, vector, index(0), count, k.dims().constant(keys));
    Value result = k.fn.result(0), none = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    for (int64_t r = 0; r < rows; ++r) {
      Value line = k.add(row, index(r)), factor = spread(scalar(work, k.add(at.factors, line)));
      for (int64_t v = 0; v < wide; ++v) {
        Value place = k.add(k.add(at.result, k.mul(line, width)), k.add(column, index(v * lanes)));
        Value old = mask ? vector::MaskedLoadOp::create(b, vector, result, ValueRange{place}, mask, none).getResult()
                         : load(result, place);
        Value value = vector::FMAOp::create(b, old, factor, sums[r * wide + v]);
        if (mask)
          vector::MaskedStoreOp::create(b, result, ValueRange{place}, mask, value);
        else
          store(value, result, place);
      }
    }
  };
  Value inTiles = whole(width, vectors * lanes);
  k.fn.loop(index(0), inTiles, vectors * lanes, [&](Value column) { strip(column, vectors, Value()); });
  k.fn.loop(inTiles, width, lanes, [&](Value column) { strip(column, 1, firstLanes(k.sub(width, column))); });
}

/// True where the bias of all rows is -inf for the `count` keys from `key` on.
Value AttentionEmitter::isHidden(const Rows &at, Value key, Value count) {
  Value never = number(-std::numeric_limits<double>::infinity()), hidden = arith::ConstantIntOp::create(b, 1, 1);
  Value rows = biasRow ? at.count : index(1);
  // Goes on to the next row while all so far is -inf.
  SmallVector<Value> end = k.whileLoop(
      {index(0), hidden}, [&](ValueRange carried) { return k.both(k.less(carried[0], rows), carried[1]); },
      [&](ValueRange carried) -> SmallVector<Value> {
        Value base = k.add(biasRow ? k.add(at.bias, k.mul(carried[0], biasRow)) : at.bias, key);
        SmallVector<Value> most = k.fn.loop(
            index(0), count, lanes, ValueRange{spread(never)}, [&](Value j, ValueRange so) -> SmallVector<Value> {
              Value bias = vector::MaskedLoadOp::create(b, vector, input(3), ValueRange{k.add(base, j)},
                                                        firstLanes(k.sub(count, j)), spread(never));
              return {arith::MaximumFOp::create(b, so.front(), bias)};
            });
        Value greatest = vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, most.front());
        return {k.add(carried[0], index(1)), arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, greatest, never)};
      });
  return end[1];
}

void AttentionEmitter::emitRows(const Rows &at) {
  Value result = k.fn.result(0), zero = number(0);
  forRange(
      k.mul(at.count, width), [&](Value i) { store(spread(zero), result, k.add(at.result, i)); },
      [&](Value i) { store(zero, result, k.add(at.result, i)); });
  k.fn.loop(index(0), at.count, 1, [&](Value row) {
    store(number(-std::numeric_limits<double>::infinity()), work, k.add(at.greatest, row));
    store(zero, work, k.add(at.total, row));
  });
  k.fn.loop(index(0), keyCount, keys, [&](Value key) {
    Value count = k.min(k.sub(keyCount, key), index(keys));
    auto take = [&] {
      turnKeys(at, key, count);
      // Keys of one register tile stay in the first-level cache while the rows go by.
      k.fn.loop(index(0), index(keys), vectors * lanes, [&](Value column) {
        forTiles(at.count, [&](Value row, int64_t rows) { formScores(at, key, count, column, row, rows); });
      });
      k.fn.loop(index(0), at.count, 1, [&](Value row) { updateSoftmax(at, row); });
      forTiles(at.count, [&](Value row, int64_t rows) { addValues(at, key, count, row, rows); });
    };
    if (at.bias && biasColumns)
      k.ifThen(k.negate(isHidden(at, key, count)), take);
    else
      take();
  });
  // Without keys there is nothing to divide: a sum of none.
  k.ifThen(k.less(index(0), keyCount), [&] {
    k.fn.loop(index(0), at.count, 1, [&](Value row) {
      Value total = scalar(work, k.add(at.total, row)), first = k.add(at.result, k.mul(row, width));
      auto divide = [&](Value value, Value by, Value place) {
        store(arith::DivFOp::create(b, value, by), result, place);
      };
      forRange(
          width, [&](Value i) { divide(load(result, k.add(first, i)), spread(total), k.add(first, i)); },
          [&](Value i) { divide(scalar(result, k.add(first, i)), total, k.add(first, i)); });
    });
  });
}

void AttentionEmitter::emit() {
  DimContext &dims = k.dims();
  Dims query = k.sizesOf(op.getQuery()), value = k.sizesOf(op.getValue()), batch(query);
  batch.resize(query.size() - 2);
  DimExpr rowSize = dims.resolve(query[batch.size()]);
  depthSize = dims.resolve(query.back());
  keySize = dims.resolve(value[batch.size()]);
  depth = k.size(depthSize);
  width = k.size(dims.resolve(value.back()));
  keyCount = k.size(keySize);
  Value rowCount = k.size(rowSize);
  DimExpr blocks = dims.ceilDiv(rowSize, dims.constant(blockRows)), tasks = dims.mul(dims.product(batch), blocks);
  Value blockCount = k.size(blocks);
  DimExpr turned = dims.mul(depthSize, dims.constant(keys));
  DimExpr elements = dims.add(turned, dims.constant(blockRows * (keys + 3)));
  work = memref::ViewOp::create(b, MemRefType::get({kHuge}, type), k.fn.workspace(), index(0), ValueRange{});
  Value turnedCount = k.size(turned), elementCount = k.size(elements);
  k.chunkRows(tasks, dims.ceilDiv(tasks, dims.constant(k.fn.spec.costs().attentionChunks)),
              [&](Value task, Value chunk) {
                Value head = arith::DivUIOp::create(b, task, blockCount);
                Value row = k.mul(k.sub(task, k.mul(head, blockCount)), index(blockRows));
                Value rows = k.add(k.mul(head, rowCount), row), keysBefore = k.mul(head, keyCount);
                Rows at;
                at.query = k.mul(rows, depth);
                at.result = k.mul(rows, width);
                at.key = k.mul(keysBefore, depth);
                at.value = k.mul(keysBefore, width);
                at.count = k.min(k.sub(rowCount, row), index(blockRows));
                if (op.getBias())
                  at.bias = biasOffset(head, row);
                at.turned = k.mul(chunk, elementCount);
                at.scores = k.add(at.turned, turnedCount);
                at.greatest = k.add(at.scores, index(blockRows * keys));
                at.total = k.add(at.greatest, index(blockRows));
                at.factors = k.add(at.total, index(blockRows));
                emitRows(at);
              });
  k.workspaceBytes = dims.mul(dims.mul(k.chunks, elements), dims.constant(byteWidth(type)));
}

//===- plan ----------------------------------------------------------------------------------===//

static bool isOfFloats(Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0));
  return element.isF32() || element.isF64();
}

bool sinter::cpu::hasAttentionTemplate(Operation *op) {
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention || !isOfFloats(op))
    return false;
  RankedTensorType query = tensorTypeOf(attention.getQuery()), key = tensorTypeOf(attention.getKey());
  int64_t rows = query.getDimSize(query.getRank() - 2), keys = key.getDimSize(key.getRank() - 2);
  if (!query.hasStaticShape() || !key.hasStaticShape() || rows < kLeastRows || keys < kLeastKeys)
    return false;
  if (llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<ConstantOp>() != nullptr; }))
    return false;
  return llvm::none_of(attention.getQuery().getUsers(), [&](Operation *user) {
    auto product = dyn_cast<DotGeneralOp>(user);
    return product && (product.getLhs() == attention.getKey() || product.getRhs() == attention.getKey());
  });
}

Plan sinter::cpu::planAttention(KernelSpec &spec, ScheduleAttr) {
  auto root = dyn_cast_or_null<AttentionOp>(singleRoot(spec));
  if (!root || !isOfFloats(root))
    return Plan::refuse("it is no attention of f32 or f64 alone");
  if (!llvm::all_of(root->getOperands(), llvm::IsaPred<BlockArgument>))
    return Plan::refuse("an operand is computed");
  std::string refusal;
  Type type = getElementTypeOrSelf(root.getResult());
  if (!productFormOf(spec.target(), type, type, type, refusal))
    return Plan::refuse(refusal);
  Plan plan;
  int64_t bytes = byteWidth(type), lanes = spec.target().lanes(bytes);
  plan.setLanes(lanes, 16 / bytes);
  plan.addTile(6, 6);
  int64_t vectors = spec.target().vectorRegisters > 16 ? 4 : 2;
  plan.addTile(vectors, vectors, vectors);
  // A row of scores in half of the registers, a block of them in a quarter of the second-level cache.
  int64_t keys = std::min(kMostKeys, lanes * spec.target().vectorRegisters / 2);
  int64_t rows = std::min(spec.costs().attentionRows, spec.target().l2Bytes / 4 / (keys * bytes));
  plan.addTile(std::max(keys, vectors * lanes), kMostKeys);
  plan.tile.back().least = plan.tile.back().multiple = vectors * lanes;
  plan.setChunk(std::max<int64_t>(rows / 6 * 6, 6));
  return plan;
}

EmittedKernel sinter::cpu::emitAttention(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto root = cast<AttentionOp>(singleRoot(spec));
  std::string refusal;
  Type type = getElementTypeOrSelf(root.getResult());
  ProductForm form = *productFormOf(spec.target(), type, type, type, refusal);
  SingleKernel k(spec, module, name, root, {/*sizes=*/false, /*workspace=*/true});
  AttentionEmitter(k, root, form).emit();
  return k.finish();
}
