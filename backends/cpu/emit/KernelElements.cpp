// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/ByteTables.h"
#include "backends/cpu/emit/JoinParts.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

KernelElements::KernelElements(KernelFunction &function, int64_t lanes)
    : ElementBuilder(function.b, function.b.getLoc(), lanes), fn(function) {}

Value KernelElements::size(Value tensor, int64_t axis) { return fn.materialize(fn.spec.sizes->dims(tensor)[axis]); }

LaneIndex KernelElements::flatten(ArrayRef<LaneIndex> index, ArrayRef<DimExpr> strides) {
  LaneIndex sum = constant(0);
  for (auto [position, given] : llvm::zip(index, strides)) {
    DimExpr stride = fn.spec.dims.resolve(given);
    sum = add(sum, stride.isConstant() ? mul(position, stride.constant()) : mul(position, fn.materialize(stride)));
  }
  return sum;
}

llvm::MaybeAlign KernelElements::alignmentAt(const LaneIndex &offset, VectorType type) const {
  if (!bufferAlignment)
    return std::nullopt;
  int64_t element = static_cast<int64_t>(type.getElementTypeBitWidth() / 8);
  return llvm::Align(
      llvm::MinAlign(static_cast<uint64_t>(bufferAlignment), static_cast<uint64_t>(offset.multiple * element)));
}

Dims KernelElements::stridesOfResult(unsigned i) {
  KernelSpec &spec = fn.spec;
  return stridesOf(spec, spec.kernel.getInputs().size() + i, spec.sizes->dims(spec.yielded(i)));
}

Value KernelElements::loadBuffer(Value buffer, Type elementType, ArrayRef<LaneIndex> index, ArrayRef<DimExpr> strides) {
  LaneIndex offset = flatten(index, strides);
  bool isBool = elementType.isInteger(1);
  if (offset.isUniform())
    return fn.load(buffer, offset.base, elementType);

  Type storage = storageType(elementType);
  auto vectorType = VectorType::get({lanes}, storage);
  Value value;
  if (!offset.varying && offset.stride == 1) {
    if (mask) {
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType));
      value = vector::MaskedLoadOp::create(b, loc, vectorType, buffer, ValueRange{offset.base}, mask, zero);
    } else {
      value = vector::LoadOp::create(b, loc, vectorType, buffer, ValueRange{offset.base}, /*nontemporal=*/false,
                                     alignmentAt(offset, vectorType));
    }
  } else {
    Value positions = offset.varying;
    Value base = fn.index(0);
    if (!positions) {
      // Relative to the base, so that a constant stride is a constant vector.
      base = offset.base;
      SmallVector<int64_t> steps;
      for (int64_t lane = 0; lane < lanes; ++lane)
        steps.push_back(lane * offset.stride);
      auto indexVector = VectorType::get({lanes}, b.getIndexType());
      positions = arith::ConstantOp::create(b, loc, indexVector, DenseElementsAttr::get(indexVector, ArrayRef(steps)));
    }
    Value exists = mask;
    if (!exists) {
      auto maskType = VectorType::get({lanes}, b.getI1Type());
      exists = arith::ConstantOp::create(b, loc, maskType, DenseElementsAttr::get(maskType, true));
    }
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType));
    value = vector::GatherOp::create(b, loc, vectorType, buffer, ValueRange{base}, positions, exists, zero);
  }
  if (isBool)
    value = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                  arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType)));
  return value;
}

Value KernelElements::load(Value tensor, ArrayRef<LaneIndex> index) {
  Key key{tensor.getAsOpaquePointer()};
  for (const LaneIndex &i : index) {
    key.push_back(i.base.getAsOpaquePointer());
    key.push_back(reinterpret_cast<const void *>(i.stride));
    key.push_back(i.varying.getAsOpaquePointer());
  }
  Value &known = memo[key];
  // Code is only ever appended, so a value dominates what follows in its own or an inner region.
  if (known && known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
    return known;
  Value value = compute(tensor, index);
  return memo[key] = value;
}

/// Whether an element of `value` is computed from elements of the kernel's inputs at the same place, and numbers.
static bool isReadInPlace(Value value) {
  llvm::SmallSetVector<Value, 8> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (isa<BlockArgument>(needed[i]))
      continue;
    Operation *op = needed[i].getDefiningOp();
    DenseElementsAttr number;
    if (matchPattern(needed[i], m_Constant(&number)) && number.isSplat())
      continue;
    if (!isa<Pointwise>(op))
      return false;
    needed.insert_range(op->getOperands());
  }
  return true;
}

/// Elements of a padded tensor in lanes that are neighbours: those inside are loaded where they lie, others are not.
/// Null where they are none.
static Value loadInside(KernelElements &elements, PadOp pad, ArrayRef<LaneIndex> index) {
  auto isNone = [](int64_t added) { return added == 0; };
  auto isUniform = [](const LaneIndex &at) { return at.isUniform(); };
  if (index.empty() || index.back().varying || index.back().stride != 1 ||
      !llvm::all_of(index.drop_back(), isUniform) || pad.getMode() != PadMode::constant ||
      !llvm::all_of(pad.getInterior(), isNone) || !isReadInPlace(pad.getOperand()))
    return {};
  OpBuilder &b = elements.b;
  Location loc = elements.loc;
  Value operand = pad.getOperand(), isRow;
  SmallVector<LaneIndex> source;
  for (auto [axis, at] : llvm::enumerate(index.drop_back())) {
    source.push_back(elements.sub(at, elements.constant(pad.getLow()[axis])));
    if (pad.getLow()[axis] == 0 && pad.getHigh()[axis] == 0)
      continue;
    Value isInside = elements.inRange(source.back(), elements.size(operand, static_cast<int64_t>(axis)));
    isRow = isRow ? arith::AndIOp::create(b, loc, isRow, isInside).getResult() : isInside;
  }
  // A value of its own: what is loaded under its mask is found under no other.
  auto sub = [&](Value x, Value y) { return arith::SubIOp::create(b, loc, x, y).getResult(); };
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value first = sub(index.back().base, arith::ConstantIndexOp::create(b, loc, pad.getLow().back()));
  source.push_back({first, 1, nullptr});
  Value end = sub(elements.size(operand, static_cast<int64_t>(index.size()) - 1), first);
  if (isRow)
    end = arith::SelectOp::create(b, loc, isRow, end, zero);
  auto maskType = VectorType::get({elements.lanes}, b.getI1Type());
  Value inside = vector::CreateMaskOp::create(b, loc, maskType, ValueRange{end});
  if (pad.getLow().back() > 0) {
    Value outside = vector::CreateMaskOp::create(b, loc, maskType, ValueRange{sub(zero, first)});
    Value all = arith::ConstantOp::create(b, loc, DenseElementsAttr::get(maskType, true));
    inside = arith::AndIOp::create(b, loc, inside, arith::XOrIOp::create(b, loc, outside, all));
  }
  Value before = elements.mask;
  elements.mask = before ? arith::AndIOp::create(b, loc, before, inside).getResult() : inside;
  Value values[] = {elements.load(operand, source), Value()};
  elements.mask = before;
  values[1] = elements.load(pad.getValue(), {});
  elements.unify(values);
  return arith::SelectOp::create(b, loc, inside, values[0], values[1]);
}

Value KernelElements::compute(Value tensor, ArrayRef<LaneIndex> index) {
  if (auto it = sources.find(tensor); it != sources.end())
    return it->second(index);
  Type elementType = cast<RankedTensorType>(tensor.getType()).getElementType();
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return loadBuffer(fn.input(argument.getArgNumber()), elementType, index,
                      stridesOf(fn.spec, argument.getArgNumber(), fn.spec.sizes->dims(tensor)));

  Operation *op = tensor.getDefiningOp();
  if (auto constantOp = dyn_cast<ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constantOp.getValue());
    int64_t at = dense.isSplat() ? 0 : *getConstantIntValue(index.front().base); // a table is read at known places
    TypedAttr element;
    if (isa<FloatType>(elementType))
      element = b.getFloatAttr(elementType, dense.getValues<APFloat>()[at]);
    else
      element = b.getIntegerAttr(signless(elementType), dense.getValues<APInt>()[at]);
    return arith::ConstantOp::create(b, loc, element);
  }
  if (auto pointwise = dyn_cast<Pointwise>(op)) {
    if (std::optional<ByteTable> table = byteTableOf(fn.spec, tensor))
      return lookUp(fn, *table, load(table->source, index));
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(load(operand, index));
    unify(operands);
    return pointwise.buildBody(b, loc, operands);
  }
  if (auto pad = dyn_cast<PadOp>(op); pad && lanes > 1 && fn.spec.target().hasMaskedMemory)
    if (Value padded = loadInside(*this, pad, index))
      return padded;
  return cast<Elemental>(op).buildElement(*this, cast<OpResult>(tensor).getResultNumber(), index);
}

/// One number, or the scales of resizes, whose code knows where it reads them.
static bool isKnownConstant(ConstantOp constant) {
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  return dense && (dense.isSplat() || llvm::all_of(constant->getUses(), areResizeScales));
}

bool KernelElements::canBuild(Value value) {
  return sinter::cpu::canBuild(value, [&](Value given) { return sources.contains(given); });
}

bool sinter::cpu::canBuild(Value value, function_ref<bool(Value)> isGiven) {
  // Each value once, however many others are computed from it.
  llvm::SmallSetVector<Value, 16> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    Value next = needed[i];
    if (isGiven(next) || isa<BlockArgument>(next))
      continue;
    Operation *op = next.getDefiningOp();
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (!isKnownConstant(constant))
        return false;
      continue;
    }
    if (!isa<Pointwise, Elemental>(op))
      return false;
    // All operands of a broadcast but the first only say how large it is.
    needed.insert_range(isa<BroadcastOp>(op) ? op->getOperands().take_front() : op->getOperands());
  }
  return true;
}

void KernelElements::storeResult(unsigned i, Value value, ArrayRef<LaneIndex> index) {
  LaneIndex offset = flatten(index, stridesOfResult(i));
  Value buffer = fn.result(i);
  if (offset.isUniform())
    return fn.store(value, buffer, offset.base);
  assert(!offset.varying && offset.stride == 1 && "lanes run along the innermost axis of a result");
  if (!isa<VectorType>(value.getType()))
    value = splat(value);
  auto type = cast<VectorType>(value.getType());
  if (type.getElementType().isInteger(1))
    value = arith::ExtUIOp::create(b, loc, VectorType::get(type.getShape(), b.getI8Type()), value);
  if (mask)
    vector::MaskedStoreOp::create(b, loc, buffer, ValueRange{offset.base}, mask, value);
  else
    vector::StoreOp::create(b, loc, value, buffer, ValueRange{offset.base}, /*nontemporal=*/false,
                            alignmentAt(offset, cast<VectorType>(value.getType())));
}

void KernelElements::storeResults(ArrayRef<LaneIndex> index) {
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
    storeResult(i, load(fn.spec.yielded(i), index), index);
}

void KernelElements::storeResultsAfterReads(ArrayRef<LaneIndex> index) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
    values.push_back(load(fn.spec.yielded(i), index));
  for (auto [i, value] : llvm::enumerate(values))
    storeResult(static_cast<unsigned>(i), value, index);
}

Value KernelElements::offsetOf(unsigned i, ArrayRef<LaneIndex> index) {
  return flatten(index, stridesOfResult(i)).base;
}

Value KernelElements::loadResult(unsigned i, ArrayRef<LaneIndex> index) {
  Value yielded = fn.spec.yielded(i);
  return loadBuffer(fn.result(i), cast<RankedTensorType>(yielded.getType()).getElementType(), index,
                    stridesOfResult(i));
}

static bool isOne(DimExpr size) { return size.isConstant() && size.constant() == 1; }

/// The ops of which every use ends in `root`, and none in the kernel's results.
static llvm::SmallPtrSet<Operation *, 8> feedOnly(Block &body, Operation *root) {
  llvm::SmallPtrSet<Operation *, 8> feeding;
  if (root)
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (llvm::all_of(op.getUsers(), [&](Operation *user) { return user == root || feeding.contains(user); }))
        feeding.insert(&op);
  return feeding;
}

int64_t sinter::cpu::carrierAxis(KernelSpec &spec, ArrayRef<DimExpr> sizes, int64_t begin, int64_t end) {
  for (int64_t axis = end - 1; axis > begin; --axis)
    if (!isOne(spec.dims.resolve(sizes[axis])))
      return axis;
  return begin;
}

/// True when all axes up to and including `axis` have size 1.
static bool leading(ArrayRef<DimExpr> sizes, int64_t axis) { return llvm::all_of(sizes.take_front(axis + 1), isOne); }

SmallVector<bool> sinter::cpu::mergeableAxes(KernelSpec &spec, ArrayRef<DimExpr> sizes, Operation *root,
                                             const JoinParts *joined) {
  int64_t rank = sizes.size();
  SmallVector<bool> merges(std::max<int64_t>(rank - 1, 0), true);
  for (unsigned value = 0; value < spec.kernel.getNumOperands() + spec.kernel.getNumResults(); ++value) {
    ArrayRef<int64_t> strides = spec.kernel.stridesOf(value);
    if (!strides.empty() && static_cast<int64_t>(strides.size()) != rank)
      return SmallVector<bool>(merges.size(), false);
    for (int64_t k = 0; k + 1 < static_cast<int64_t>(strides.size()); ++k)
      merges[k] = merges[k] && strides[k] < 0;
  }
  llvm::SmallPtrSet<Operation *, 8> feeding = feedOnly(spec.body(), root);
  for (Operation &op : spec.body().without_terminator()) {
    if (isa<Pointwise, ConstantOp>(op) || &op == root || feeding.contains(&op))
      continue;
    if (joined && joined->takesApart(&op)) {
      if (joined->axis > 0)
        merges[joined->axis - 1] = false;
      continue;
    }
    auto broadcast = dyn_cast<BroadcastOp>(op);
    if (!broadcast || cast<RankedTensorType>(broadcast.getType()).getRank() != rank)
      return SmallVector<bool>(merges.size(), false);
    Dims operand = spec.sizes->dims(broadcast.getOperand());
    // A part of a join is shorter than the results.
    Dims own = joined ? spec.sizes->dims(broadcast.getResult()) : Dims(sizes);
    enum { Dropped, Kept, Unclear };
    SmallVector<int> fate(rank, Dropped);
    for (auto [k, axis] : llvm::enumerate(broadcast.getAxes())) {
      DimExpr from = spec.dims.resolve(operand[k]), to = spec.dims.resolve(own[axis]);
      // A `?` may turn out 1 and is then looked at by itself.
      fate[axis] = from == to && from.isConstant() ? Kept : isOne(from) ? Dropped : Unclear;
    }
    // A unit axis goes with its neighbour: whatever is kept or dropped there is nothing.
    for (int64_t k = 1; k < rank; ++k)
      if (isOne(spec.dims.resolve(sizes[k])))
        fate[k] = fate[k - 1];
    for (int64_t k = rank - 2; k >= 0; --k)
      if (leading(sizes, k))
        fate[k] = fate[k + 1];
    for (int64_t k = 0; k + 1 < rank; ++k)
      if (fate[k] == Unclear || fate[k + 1] == Unclear || fate[k] != fate[k + 1])
        merges[k] = false;
  }
  return merges;
}
