// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/AttentionBlocks.h"
#include "ir/Attention.h"
#include "ir/Composer.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

AttentionBlocks::AttentionBlocks(SingleKernel &k, Operation *op, const ProductForm &form, unsigned bias)
    : k(k), b(k.b), form(form), type(getElementTypeOrSelf(op->getResult(0))), biasOperand(bias) {
  ScheduleAttr schedule = k.fn.spec.schedule();
  lanes = schedule.getLanes();
  tileRows = schedule.getTile()[0];
  vectors = schedule.getTile()[1];
  panel = vectors * lanes;
  vector = VectorType::get({lanes}, type);
  // Bounds beyond any size are as good as none.
  auto bound = [&](StringRef name) -> std::optional<int64_t> {
    auto given = op->getAttrOfType<IntegerAttr>(name);
    if (!given)
      return std::nullopt;
    return std::clamp<int64_t>(given.getInt(), -(int64_t(1) << 40), int64_t(1) << 40);
  };
  before = bound("before");
  after = bound("after");
  groups = headGroups(op->getOperand(0).getType(), op->getOperand(1).getType());
  DimContext &dims = k.dims();
  Dims query = k.sizesOf(op->getOperand(0)), value = k.sizesOf(op->getOperand(2));
  batch = query;
  batch.resize(query.size() - 2);
  rowSize = dims.resolve(query[batch.size()]);
  keySize = dims.resolve(value[batch.size()]);
  depthSize = dims.resolve(query.back());
  widthSize = dims.resolve(value.back());
  rowCount = k.size(rowSize);
  keyCount = k.size(keySize);
  depth = k.size(depthSize);
  width = k.size(widthSize);
  work = memref::ViewOp::create(b, MemRefType::get({kHuge}, type), k.fn.workspace(), index(0), ValueRange{});
  if (op->getNumOperands() > bias)
    this->bias = op->getOperand(bias);
}

//===- words ---------------------------------------------------------------------------------===//

Value AttentionBlocks::number(double value) { return arith::ConstantOp::create(b, b.getFloatAttr(type, value)); }
Value AttentionBlocks::spread(Value scalar) { return vector::BroadcastOp::create(b, vector, scalar); }
Value AttentionBlocks::input(unsigned operand) {
  return k.fn.input(cast<BlockArgument>(k.root->getOperand(operand)).getArgNumber());
}
Value AttentionBlocks::load(Value buffer, Value at) {
  return vector::LoadOp::create(b, vector, buffer, ValueRange{at});
}
Value AttentionBlocks::scalar(Value buffer, Value at) { return memref::LoadOp::create(b, buffer, ValueRange{at}); }
void AttentionBlocks::store(Value value, Value buffer, Value at) {
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(b, value, buffer, ValueRange{at});
  else
    memref::StoreOp::create(b, value, buffer, ValueRange{at});
}
Value AttentionBlocks::firstLanes(Value count) {
  return vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{count});
}
Value AttentionBlocks::whole(Value count, int64_t step) {
  return k.mul(arith::DivUIOp::create(b, count, index(step)), index(step));
}

void AttentionBlocks::forTiles(Value low, Value high, function_ref<void(Value, int64_t)> body) {
  Value tiles = k.max(low, whole(high, tileRows));
  k.fn.loop(low, tiles, tileRows, [&](Value row) { body(row, tileRows); });
  if (tileRows > 1)
    k.fn.loop(tiles, high, 1, [&](Value row) { body(row, 1); });
}

void AttentionBlocks::forRange(Value count, function_ref<void(Value)> atVector, function_ref<void(Value)> atRest) {
  Value inVectors = whole(count, lanes);
  k.fn.loop(index(0), inVectors, lanes, atVector);
  k.fn.loop(inVectors, count, 1, atRest);
}

void AttentionBlocks::fill(Value buffer, Value first, Value count, Value scalar) {
  forRange(
      count, [&](Value i) { store(spread(scalar), buffer, k.add(first, i)); },
      [&](Value i) { store(scalar, buffer, k.add(first, i)); });
}

//===- products ------------------------------------------------------------------------------===//

void AttentionBlocks::turn(Value from, Value base, Value depth, Value count, Value to) {
  auto place = [&](Value i, Value j) { // of element i of row j
    Value inPanel = arith::RemUIOp::create(b, j, index(panel));
    return k.add(k.add(to, panelOf(k.sub(j, inPanel), depth)), k.add(k.mul(i, index(panel)), inPanel));
  };
  auto moveOne = [&](Value i, Value j) {
    store(scalar(from, k.add(base, k.add(k.mul(j, depth), i))), work, place(i, j));
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
                store(column, work, place(k.add(i, index(r)), j));
            },
            [&](Value i) { k.fn.loop(j, k.add(j, index(lanes)), 1, [&](Value one) { moveOne(i, one); }); });
      },
      [&](Value j) { k.fn.loop(index(0), depth, 1, [&](Value i) { moveOne(i, j); }); });
}

SmallVector<Value> AttentionBlocks::timesPanel(Value a, ArrayRef<Value> aRows, Value panelFirst, Value depth,
                                               DimExpr depthSize) {
  MicroOperands operands(form);
  operands.a = a;
  operands.aRows.assign(aRows.begin(), aRows.end());
  operands.b = work;
  for (int64_t v = 0; v < vectors; ++v)
    operands.bVectors.push_back(k.add(panelFirst, index(v * lanes)));
  operands.bStride = index(panel);
  return emitBlockedMicroKernel(k.fn, operands, vector, index(0), depth, depthSize);
}

void AttentionBlocks::addProduct(Value result, Value first, Value width, Value a, ArrayRef<Value> aRows, Value aStride,
                                 Value from, Value base, Value low, Value high, int64_t mostSteps,
                                 ArrayRef<Value> factors) {
  auto strip = [&](Value column, int64_t wide, Value mask) {
    MicroOperands operands(form);
    operands.a = a;
    operands.aRows.assign(aRows.begin(), aRows.end());
    operands.aStride = aStride;
    operands.b = from;
    for (int64_t v = 0; v < wide; ++v) {
      operands.bVectors.push_back(k.add(k.add(base, column), index(v * lanes)));
      operands.bMasks.push_back(mask);
    }
    operands.bStride = width;
    SmallVector<Value> sums = emitBlockedMicroKernel(k.fn, operands, vector, low, high, k.dims().constant(mostSteps));
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    for (size_t r = 0; r < aRows.size(); ++r) {
      Value line = k.add(k.add(first, k.mul(index(r), width)), column);
      Value factor = factors.empty() ? Value() : spread(factors[r]);
      for (int64_t v = 0; v < wide; ++v) {
        Value place = k.add(line, index(v * lanes)), value = sums[r * wide + v];
        Value old = mask ? vector::MaskedLoadOp::create(b, vector, result, ValueRange{place}, mask, none).getResult()
                         : load(result, place);
        value = factor ? vector::FMAOp::create(b, old, factor, value).getResult()
                       : arith::AddFOp::create(b, old, value).getResult();
        if (mask)
          vector::MaskedStoreOp::create(b, result, ValueRange{place}, mask, value);
        else
          store(value, result, place);
      }
    }
  };
  Value inTiles = whole(width, panel);
  k.fn.loop(index(0), inTiles, panel, [&](Value column) { strip(column, vectors, Value()); });
  k.fn.loop(inTiles, width, lanes, [&](Value column) { strip(column, 1, firstLanes(k.sub(width, column))); });
}

//===- keys that count -----------------------------------------------------------------------===//

Value AttentionBlocks::firstKey(Value row) {
  return before ? k.min(k.max(k.sub(row, index(*before)), index(0)), keyCount) : index(0);
}
Value AttentionBlocks::keysEnd(Value row, Value rows) {
  if (!after)
    return keyCount;
  return k.min(k.max(k.add(k.add(row, rows), index(*after)), index(0)), keyCount);
}
Value AttentionBlocks::keysEnd(Value row, int64_t rows) { return keysEnd(row, index(rows)); }

Value AttentionBlocks::firstRow(Value key) {
  return after ? k.min(k.max(k.sub(key, index(*after)), index(0)), rowCount) : index(0);
}
Value AttentionBlocks::rowsEnd(Value key, Value keys) {
  if (!before)
    return rowCount;
  return k.min(k.max(k.add(k.add(key, keys), index(*before)), index(0)), rowCount);
}

Value AttentionBlocks::isOutside(Value key, Value row, int64_t rows, int64_t slack) {
  Value outside;
  if (after) // all keys lie behind those of the last row
    outside = k.less(k.add(row, index(rows - 1 + *after + slack)), key);
  if (before) {
    Value early = k.less(k.add(key, index(panel - 1 + *before + slack)), row);
    outside = outside ? k.either(outside, early) : early;
  }
  return outside;
}

Value AttentionBlocks::crosses(Value key, Value row, int64_t rows) {
  Value across;
  if (after)
    across = k.less(k.add(row, index(*after)), k.add(key, index(panel - 1)));
  if (before) {
    Value early = k.less(k.add(key, index(*before)), k.add(row, index(rows - 1)));
    across = across ? k.either(across, early) : early;
  }
  return across;
}

void AttentionBlocks::hide(Value at, Value key, Value row, Value value) {
  Value low = before ? k.sub(k.sub(row, index(*before)), key) : Value();
  Value high = after ? k.sub(k.add(row, index(*after + 1)), key) : Value();
  for (int64_t v = 0; v < vectors; ++v) {
    Value start = index(v * lanes), mask;
    if (high) {
      Value counted = firstLanes(k.max(k.sub(high, start), index(0)));
      mask = arith::XOrIOp::create(
          b, counted, arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(counted.getType()), true)));
    }
    if (low) {
      Value early = firstLanes(k.max(k.sub(low, start), index(0)));
      mask = mask ? k.either(mask, early) : early;
    }
    vector::MaskedStoreOp::create(b, work, ValueRange{k.add(at, start)}, mask, spread(value));
  }
}

//===- bias ----------------------------------------------------------------------------------===//

Value AttentionBlocks::biasOffset(Value head, Value row) {
  DimContext &dims = k.dims();
  Dims sizes = k.sizesOf(bias), strides = stridesOf(dims, sizes);
  auto repeats = [&](size_t axis) { return dims.resolve(sizes[axis]) == dims.constant(1); };
  Value offset = index(0);
  for (auto [axis, position] : llvm::enumerate(k.fn.delinearize(head, batch)))
    if (!repeats(axis))
      offset = k.add(offset, k.mul(position, k.size(strides[axis])));
  biasRow = repeats(batch.size()) ? Value() : k.size(strides[batch.size()]);
  biasColumns = !repeats(batch.size() + 1);
  return biasRow ? k.add(offset, k.mul(row, biasRow)) : offset;
}

Value AttentionBlocks::biasLanes(Value offset, Value key, Value mask, Value otherwise) {
  Value buffer = input(biasOperand);
  if (!biasColumns)
    return spread(scalar(buffer, offset));
  return vector::MaskedLoadOp::create(b, vector, buffer, ValueRange{k.add(offset, key)}, mask, otherwise);
}

Value AttentionBlocks::isHidden(Value offset, Value count, Value key, Value keys) {
  Value infinity = never(), hidden = arith::ConstantIntOp::create(b, 1, 1);
  Value rows = biasRow ? count : index(1);
  // Goes on to the next row while all so far is -inf.
  SmallVector<Value> end = k.whileLoop(
      {index(0), hidden}, [&](ValueRange carried) { return k.both(k.less(carried[0], rows), carried[1]); },
      [&](ValueRange carried) -> SmallVector<Value> {
        Value base = k.add(biasRow ? k.add(offset, k.mul(carried[0], biasRow)) : offset, key);
        SmallVector<Value> most = k.fn.loop(
            index(0), keys, lanes, ValueRange{spread(infinity)}, [&](Value j, ValueRange so) -> SmallVector<Value> {
              Value lanesOf = vector::MaskedLoadOp::create(b, vector, input(biasOperand), ValueRange{k.add(base, j)},
                                                           firstLanes(k.sub(keys, j)), spread(infinity));
              return {arith::MaximumFOp::create(b, so.front(), lanesOf)};
            });
        Value greatest = vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, most.front());
        return {k.add(carried[0], index(1)), arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, greatest, infinity)};
      });
  return end[1];
}

//===- plan ----------------------------------------------------------------------------------===//

bool sinter::cpu::isAttentionOfFloats(Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0));
  return element.isF32() || element.isF64();
}

SmallVector<Value> sinter::cpu::yieldsOf(KernelSpec &spec) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    values.push_back(spec.yielded(i));
  return values;
}

void sinter::cpu::planAttentionTile(KernelSpec &spec, Plan &plan, int64_t bytes) {
  plan.setLanes(spec.target().lanes(bytes), 16 / bytes);
  plan.addTile(6, 6);
  int64_t vectors = spec.target().vectorRegisters > 16 ? 4 : 2;
  plan.addTile(vectors, vectors, vectors);
}

int64_t sinter::cpu::attentionChunks(KernelSpec &spec, Operation *op, int64_t workspaceElements) {
  int64_t elements = 0;
  for (Type given : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(given);
    if (!tensor.hasStaticShape())
      return spec.costs().attentionChunks;
    elements += tensor.getNumElements();
  }
  return std::clamp<int64_t>(elements / 16 / workspaceElements, spec.costs().attentionChunks / 4,
                             spec.costs().attentionChunks);
}
