// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/AttentionBlocks.h"
#include "ir/Attention.h"
#include "ir/Composer.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

AttentionBlocks::AttentionBlocks(SingleKernel &k, Operation *op, const ProductForm &form, unsigned bias)
    : k(k), b(k.b), form(form), type(typeOf(form.sum, b.getContext())), biasOperand(bias) {
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
  auto viewOf = [&](Type element) -> Value {
    return memref::ViewOp::create(b, MemRefType::get({kHuge}, element), k.fn.workspace(), index(0), ValueRange{});
  };
  work = viewOf(type);
  held = hasPairs() ? viewOf(typeOf(form.row, b.getContext())) : work;
  halves = viewOf(b.getI16Type());
  if (form.isTiled())
    tiles.emplace(k.fn, this->form, TileSums::split(dims, dims.constant(tileRows), tileRows), vectors);
  if (op->getNumOperands() > bias)
    this->bias = op->getOperand(bias);
}

//===- words ---------------------------------------------------------------------------------===//

Value AttentionBlocks::number(double value) { return arith::ConstantOp::create(b, b.getFloatAttr(type, value)); }
Value AttentionBlocks::spread(Value scalar) { return vector::BroadcastOp::create(b, vector, scalar); }
Value AttentionBlocks::input(unsigned operand) {
  Value from = k.root->getOperand(operand);
  while (Operation *move = from.getDefiningOp())
    from = move->getOperand(0);
  return k.fn.input(cast<BlockArgument>(from).getArgNumber());
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
Value AttentionBlocks::lanesWithin(int64_t v, Value low, Value high) {
  auto before = [&](Value end) { return firstLanes(k.max(k.sub(end, index(v * lanes)), index(0))); };
  if (!low)
    return before(high);
  Value early = before(low);
  Value all = arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(early.getType()), true));
  return k.both(before(high), arith::XOrIOp::create(b, early, all));
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
  auto wide = VectorType::get({lanes}, scalar.getType());
  forRange(
      count, [&](Value i) { store(vector::BroadcastOp::create(b, wide, scalar), buffer, k.add(first, i)); },
      [&](Value i) { store(scalar, buffer, k.add(first, i)); });
}

Value AttentionBlocks::masked(Value value, Value mask) {
  return mask ? k.select(mask, value, spread(number(0))) : value;
}

//===- products ------------------------------------------------------------------------------===//

/// Tiles of few columns have as many vectors as these, others are about equal.
int64_t AttentionBlocks::columnVectors(DimExpr columns) const {
  DimExpr known = k.dims().resolve(columns);
  if (!known.isConstant())
    return vectors;
  int64_t all = std::max<int64_t>(llvm::divideCeil(known.constant(), lanes), 1);
  return llvm::divideCeil(all, llvm::divideCeil(all, vectors));
}

Value AttentionBlocks::pitchOf(unsigned operand, DimExpr columns) {
  Value pitch = pitches.lookup(operand);
  return pitch ? pitch : k.size(columns);
}

bool AttentionBlocks::readsRows(DimExpr columns) const {
  DimExpr known = k.dims().resolve(columns);
  if (form.isTiled()) // all rows of a tile, in whole steps; a band's blocks of rows begin `after` before those of keys
    return rowSize.isConstant() && rowSize.constant() % tileRows == 0 && known.constant() % form.kStep == 0 &&
           (!after || *after % tileRows == 0);
  return !form.copiesRows() && (!hasPairs() || (known.isConstant() && known.constant() % form.kPack == 0));
}

AttentionBlocks::Left AttentionBlocks::leftRows(unsigned operand, Value base, Value count, DimExpr columns,
                                                Value place) {
  Value width = k.size(columns), apart = pitchOf(operand, columns);
  if (readsRows(columns))
    return {input(operand), base, apart};
  RowSource source{input(operand), base, width, apart, index(1), /*isContiguous=*/true, /*isTransposed=*/false};
  Value pitch = k.mul(k.size(form.words(k.dims(), columns)), index(form.kPack)), first = heldPlace(place);
  emitRowCopy(k.fn, form, source, index(0), count, pitch, pitch, held, first);
  return {held, first, pitch};
}

AttentionBlocks::Right AttentionBlocks::rightOf(const Left &rows, DimExpr columns) {
  return {rows.buffer, rows.first, k.size(columns), rows.pitch, columnVectors(columns), columns, Value()};
}

AttentionBlocks::Right AttentionBlocks::rightRows(unsigned operand, Value base, Value count, DimExpr columns,
                                                  Value place) {
  if (!hasPairs())
    return rightOf(leftRows(operand, base, count, columns, place), columns);
  Value width = k.size(columns), first = heldPlace(place);
  Value steps = arith::DivUIOp::create(b, k.add(count, index(form.kStep - 1)), index(form.kStep));
  Value words = k.mul(steps, index(form.kStep / form.kPack));
  Right right{held, first, width, width, columnVectors(columns), columns, words};
  int64_t stripWidth = right.vectors * lanes;
  DimExpr known = k.dims().resolve(columns);
  bool isWhole = known.isConstant() && known.constant() % stripWidth == 0;
  StripSource source{input(operand),     base, count, width, pitchOf(operand, columns), index(1), /*transposed=*/false,
                     /*masked=*/!isWhole};
  k.fn.loop(index(0), width, stripWidth, [&](Value column) {
    emitStrip(k.fn, form, source, column, stripWidth, lanes, held, k.add(first, heldPlace(k.mul(column, words))));
  });
  return right;
}

DimExpr AttentionBlocks::leftRoom(int64_t rows, DimExpr columns) {
  return readsRows(columns) ? k.dims().constant(0) : turnedRoom(rows, columns);
}

DimExpr AttentionBlocks::turnedRoom(int64_t rows, DimExpr columns) {
  DimContext &dims = k.dims();
  return dims.mul(form.words(dims, columns), dims.constant(rows));
}

DimExpr AttentionBlocks::rightRoom(int64_t rows, DimExpr columns) {
  if (!hasPairs())
    return leftRoom(rows, columns);
  DimContext &dims = k.dims();
  DimExpr stripWidth = dims.constant(columnVectors(columns) * lanes);
  return dims.mul(dims.mul(dims.ceilDiv(columns, stripWidth), stripWidth), dims.constant(form.words(rows)));
}

void AttentionBlocks::turn(unsigned operand, Value base, DimExpr depth, Value count, Value place) {
  Value length = k.size(depth);
  StripSource source{input(operand),  base, length, count, index(1), pitchOf(operand, depth), /*transposed=*/true,
                     /*masked=*/false};
  k.fn.loop(index(0), count, panel, [&](Value column) {
    emitStrip(k.fn, form, source, column, panel, lanes, held, panelOf(place, column, depth));
  });
}

Value AttentionBlocks::panelOf(Value place, Value column, DimExpr depth) {
  return heldPlace(k.add(place, k.mul(column, k.size(form.words(k.dims(), depth)))));
}

SmallVector<Value> AttentionBlocks::timesPanel(const Left &a, Value row, int64_t rows, Value panelFirst, DimExpr depth,
                                               int64_t wide) {
  MicroOperands operands(form);
  operands.a = a.buffer;
  for (int64_t r = 0; r < rows; ++r)
    operands.aRows.push_back(k.add(a.first, k.mul(k.add(row, index(r)), a.pitch)));
  if (hasPairs())
    operands.aStride = index(form.kPack);
  operands.b = held;
  for (int64_t v = 0; v < wide; ++v)
    operands.bVectors.push_back(k.add(panelFirst, index(v * lanes * form.kPack)));
  operands.bStride = index(panel * form.kPack);
  DimExpr words = form.words(k.dims(), depth);
  return emitBlockedMicroKernel(k.fn, operands, vector, index(0), k.size(words), words);
}

AttentionBlocks::Sums AttentionBlocks::Sums::from(AttentionBlocks &blocks, Value element) const {
  return {buffer, blocks.k.add(first, element), lowFirst ? blocks.k.add(lowFirst, element) : Value(), pitch};
}

Value AttentionBlocks::loadSums(const Sums &sums, Value element, Value mask) {
  auto read = [&](VectorType type, Value buffer, Value at) -> Value {
    if (!mask)
      return vector::LoadOp::create(b, type, buffer, ValueRange{at});
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return vector::MaskedLoadOp::create(b, type, buffer, ValueRange{at}, mask, none);
  };
  Value at = k.add(sums.first, element);
  if (!sums.lowFirst)
    return read(vector, sums.buffer, at);
  auto words = VectorType::get({lanes}, b.getI32Type()), parts = VectorType::get({lanes}, b.getI16Type());
  auto part = [&](Value value) { return arith::ExtUIOp::create(b, words, value).getResult(); };
  Value high = read(VectorType::get({lanes}, b.getBF16Type()), sums.buffer, at);
  Value low = read(parts, halves, k.add(sums.lowFirst, element));
  Value sixteen = arith::ConstantOp::create(b, DenseElementsAttr::get(words, b.getI32IntegerAttr(16)));
  Value raised = arith::ShLIOp::create(b, part(arith::BitcastOp::create(b, parts, high)), sixteen);
  return arith::BitcastOp::create(b, vector, arith::OrIOp::create(b, raised, part(low)));
}

void AttentionBlocks::storeSums(Value value, const Sums &sums, Value element, Value mask) {
  auto write = [&](Value part, Value buffer, Value at) {
    if (mask)
      vector::MaskedStoreOp::create(b, buffer, ValueRange{at}, mask, part);
    else
      vector::StoreOp::create(b, part, buffer, ValueRange{at});
  };
  Value at = k.add(sums.first, element);
  if (!sums.lowFirst)
    return write(value, sums.buffer, at);
  auto words = VectorType::get({lanes}, b.getI32Type()), parts = VectorType::get({lanes}, b.getI16Type());
  Value bits = arith::BitcastOp::create(b, words, value);
  Value sixteen = arith::ConstantOp::create(b, DenseElementsAttr::get(words, b.getI32IntegerAttr(16)));
  Value high = arith::TruncIOp::create(b, parts, arith::ShRUIOp::create(b, bits, sixteen));
  write(arith::BitcastOp::create(b, VectorType::get({lanes}, b.getBF16Type()), high), sums.buffer, at);
  write(arith::TruncIOp::create(b, parts, bits), halves, k.add(sums.lowFirst, element));
}

void AttentionBlocks::addProduct(const Sums &result, Value a, ArrayRef<Value> starts, Value stride, const Right &right,
                                 Value low, Value high, int64_t mostSteps, ArrayRef<Value> factors, bool begins) {
  if (hasPairs()) {
    Value count = k.sub(high, low); // none stays none
    low = arith::DivUIOp::create(b, low, index(form.kPack));
    high = arith::DivUIOp::create(b, k.add(high, index(form.kPack - 1)), index(form.kPack));
    high = k.min(high, k.add(low, count));
    mostSteps = llvm::divideCeil(mostSteps, form.kPack);
  }
  int64_t stripWidth = right.vectors * lanes;
  // Columns from `column` on, `inPanel` of their panel; `mask` is that of the last vector.
  auto strip = [&](Value column, Value inPanel, int64_t wide, Value mask) {
    MicroOperands operands(form);
    operands.a = a;
    operands.aRows.assign(starts.begin(), starts.end());
    operands.aStride = stride;
    operands.b = right.buffer;
    Value base = right.base;
    if (right.words)
      base = k.add(base, heldPlace(k.add(k.mul(k.sub(column, inPanel), right.words), inPanel)));
    else
      base = k.add(base, column);
    auto maskOf = [&](int64_t v) { return v + 1 == wide ? mask : Value(); };
    for (int64_t v = 0; v < wide; ++v) {
      operands.bVectors.push_back(k.add(base, index(v * lanes * form.kPack)));
      operands.bMasks.push_back(right.words ? Value() : maskOf(v)); // panels are whole
    }
    operands.bStride = right.words ? index(stripWidth * form.kPack) : right.pitch;
    SmallVector<Value> sums = emitBlockedMicroKernel(k.fn, operands, vector, low, high, k.dims().constant(mostSteps));
    for (size_t r = 0; r < starts.size(); ++r) {
      Value line = k.add(k.mul(index(r), result.pitch ? result.pitch : right.width), column);
      Value factor = factors.empty() ? Value() : spread(factors[r]);
      for (int64_t v = 0; v < wide; ++v) {
        Value place = k.add(line, index(v * lanes)), sum = sums[r * wide + v];
        Value old = begins ? Value() : loadSums(result, place, maskOf(v));
        if (begins && factor)
          sum = arith::MulFOp::create(b, sum, factor);
        else if (factor)
          sum = vector::FMAOp::create(b, old, factor, sum);
        else if (old)
          sum = arith::AddFOp::create(b, old, sum);
        storeSums(sum, result, place, maskOf(v));
      }
    }
  };
  Value inTiles = whole(right.width, stripWidth);
  k.fn.loop(index(0), inTiles, stripWidth, [&](Value column) { strip(column, index(0), right.vectors, Value()); });
  DimExpr known = k.dims().resolve(right.size);
  if (!known.isConstant())
    return k.fn.loop(inTiles, right.width, lanes, [&](Value column) {
      strip(column, k.sub(column, inTiles), 1, firstLanes(k.sub(right.width, column)));
    });
  int64_t rest = known.constant() % stripWidth, wide = llvm::divideCeil(rest, lanes);
  if (rest)
    strip(inTiles, index(0), wide, rest % lanes ? firstLanes(index(rest % lanes)) : Value());
}

void AttentionBlocks::multiplyTiles(const Left &a, Value row, const Words &words, int64_t count, Value low, Value high,
                                    const Square &to, bool adds) {
  TileOperands operands;
  operands.a = a.buffer;
  operands.b = held;
  operands.aPitch = a.pitch;
  operands.bPitch = words.pitch;
  Value begin = k.add(a.first, k.mul(low, index(form.kStep)));
  for (int64_t i = 0; i < tiles->rowTiles(); ++i)
    operands.aTiles.push_back(k.add(begin, k.mul(k.add(row, tiles->firstRow(i)), a.pitch)));
  Value word = k.mul(k.mul(low, index(form.kStep / form.kPack)), words.pitch);
  for (int64_t j = 0; j < count; ++j)
    operands.bTiles.push_back(k.add(k.add(words.first, word), index(j * lanes * form.kPack)));
  if (adds)
    tiles->load(work, to.first, to.pitch, count);
  else
    tiles->begin(count, /*folds=*/false);
  tiles->addProducts(operands, k.sub(high, low));
  tiles->store(work, to.first, to.pitch);
}

Value AttentionBlocks::rounded(Value value) { return hasPairs() ? roundToRow(b, form, value) : value; }

void AttentionBlocks::clearSums(const Sums &sums, Value count) {
  Type element = cast<MemRefType>(sums.buffer.getType()).getElementType();
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(element));
  fill(sums.buffer, sums.first, count, zero);
  if (sums.lowFirst)
    fill(halves, sums.lowFirst, count, arith::ConstantIntOp::create(b, 0, 16));
}

void AttentionBlocks::narrowSums(const Sums &sums, Value result, Value to, Value count) {
  auto narrowed = VectorType::get({lanes}, typeOf(form.a, b.getContext()));
  k.fn.loop(index(0), count, lanes, [&](Value i) {
    Value mask = firstLanes(k.sub(count, i));
    Value value = arith::TruncFOp::create(b, narrowed, loadSums(sums, i, mask));
    vector::MaskedStoreOp::create(b, result, ValueRange{k.add(to, i)}, mask, value);
  });
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
std::pair<Value, Value> AttentionBlocks::countedKeys(Value key, Value count, Value row, Value rows) {
  if (!hasBand())
    return {index(0), count};
  Value low = k.min(k.max(k.sub(firstKey(row), key), index(0)), count);
  return {low, k.min(k.max(k.sub(keysEnd(row, rows), key), low), count)};
}

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
  Dims sizes = k.sizesOf(bias), strides = dims.strides(sizes);
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
    return spread(widened(scalar(buffer, offset)));
  return maskedBias(k.add(offset, key), mask, otherwise);
}

Value AttentionBlocks::widened(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element == type)
    return value;
  return arith::ExtFOp::create(b, isa<VectorType>(value.getType()) ? Type(vector) : type, value);
}

Value AttentionBlocks::maskedBias(Value at, Value mask, Value otherwise) {
  Value buffer = input(biasOperand);
  auto stored = VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  if (stored == vector)
    return vector::MaskedLoadOp::create(b, vector, buffer, ValueRange{at}, mask, otherwise);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(stored));
  Value loaded = vector::MaskedLoadOp::create(b, stored, buffer, ValueRange{at}, mask, none);
  return k.select(mask, widened(loaded), otherwise);
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
              Value lanesOf = maskedBias(k.add(base, j), firstLanes(k.sub(keys, j)), spread(infinity));
              return {arith::MaximumFOp::create(b, so.front(), lanesOf)};
            });
        Value greatest = vector::ReductionOp::create(b, vector::CombiningKind::MAXIMUMF, most.front());
        return {k.add(carried[0], index(1)), arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, greatest, infinity)};
      });
  return end[1];
}

//===- plan ----------------------------------------------------------------------------------===//

bool sinter::cpu::isAttentionOfFloats(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0));
  return element.isF32() || element.isF64() || element.isF16() || element.isBF16();
}

ProductForm sinter::cpu::attentionForm(KernelSpec &spec, Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0));
  if (element.isF16()) // converted where it is copied, by instructions or not
    return {ProductForm::Step::fused, Number::f16, Number::f16, Number::f32, Number::f32, Number::f32};
  Type sum = element.isF64() ? element : Float32Type::get(op->getContext());
  std::string refusal;
  ProductForm form = *productFormOf(spec.target(), element, element, sum, refusal);
  auto isKnown = [&](unsigned operand) {
    DimExpr columns = spec.dims.resolve(spec.sizes->dims(op->getOperand(operand)).back());
    return columns.isConstant() && columns.constant() > 0;
  };
  ScheduleAttr schedule = spec.kernel.getScheduleAttr();
  bool fits = mayBeTiled(schedule, 1) && (!schedule || schedule.getTile()[0] == 2 * kTileRows);
  std::optional<ProductForm> tiled = tiledFormOf(spec.target(), form);
  return tiled && fits && isKnown(0) && isKnown(2) ? *tiled : form.throughStrips();
}

SmallVector<Value> sinter::cpu::yieldsOf(KernelSpec &spec) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    values.push_back(spec.yielded(i));
  return values;
}

void sinter::cpu::planAttentionTile(KernelSpec &spec, Plan &plan, const ProductForm &form) {
  int64_t bytes = widthOf(form.sum);
  if (form.isTiled()) {
    plan.setLanes(kTileColumns, kTileColumns);
    for (int64_t size : {2 * kTileRows, int64_t(2)}) {
      plan.addTile(size, size);
      plan.tile.back().least = size;
    }
    return;
  }
  plan.setLanes(spec.target().lanes(bytes), 16 / bytes);
  plan.addTile(6, 6);
  int64_t vectors = spec.target().vectorRegisters > 16 ? 4 : 2;
  plan.addTile(vectors, vectors, vectors);
}

int64_t sinter::cpu::attentionChunks(KernelSpec &spec, Operation *op, int64_t workspaceBytes) {
  int64_t bytes = 0;
  for (Type given : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes())) {
    auto tensor = cast<RankedTensorType>(given);
    if (!tensor.hasStaticShape())
      return spec.costs().attentionChunks;
    bytes += tensor.getNumElements() * byteWidth(tensor.getElementType());
  }
  return std::clamp<int64_t>(bytes / 16 / workspaceBytes, spec.costs().attentionChunks / 4,
                             spec.costs().attentionChunks);
}
