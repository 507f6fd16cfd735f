// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Sparse.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Limits.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/gradient/Moves.h"
#include "ir/reference/Moves.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include <map>

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Sparse.cpp.inc"

static RankedTensorType tensor(Value value) { return cast<RankedTensorType>(value.getType()); }

//===- shape ---------------------------------------------------------------------------------===//

LogicalResult BagSumOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType operand = tensor(adaptor.getOperand()), positions = tensor(adaptor.getPositions()),
                   splits = tensor(adaptor.getSplits());
  if (operand.getRank() == 0) // C1
    return emitOptionalError(location, "bag_sum requires an operand of rank 1 or more, got ", operand);
  if (Value weights = adaptor.getWeights()) {
    auto wanted = RankedTensorType::get(positions.getShape(), operand.getElementType());
    if (!agree(wanted, weights.getType())) // C2
      return emitOptionalError(location, "bag_sum requires weights of type ", wanted, ", got ", weights.getType());
  }
  if (splits.getRank() != 1 || splits.getDimSize(0) == 0)
    return emitOptionalError(location, "bag_sum requires a list of splits with at least one element, got ", splits);
  SmallVector<int64_t> shape(operand.getShape());
  shape[0] = splits.isDynamicDim(0) ? ShapedType::kDynamic : splits.getDimSize(0) - 1;
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

LogicalResult GroupRowsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  if (auto size = static_cast<int64_t>(adaptor.getSize()); size < 0) // C1
    return emitOptionalError(location, "group_rows requires a size of 0 or more, got ", size);
  RankedTensorType positions = tensor(adaptor.getPositions());
  if (positions.getRank() != 1)
    return emitOptionalError(location, "group_rows requires a list of positions, got ", positions);
  int64_t count = positions.getDimSize(0);
  Type i64 = IntegerType::get(context, 64);
  Type all = RankedTensorType::get({count}, i64);
  types.append({all, RankedTensorType::get({ShapedType::isDynamic(count) ? count : count + 1}, i64), all});
  return success();
}

LogicalResult GradientRowsOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  RankedTensorType gradient = tensor(adaptor.getGradient());
  if (gradient.getRank() == 0) // C1
    return emitOptionalError(location, "gradient_rows requires a gradient of rank 1 or more, got ", gradient);
  SmallVector<int64_t> shape(gradient.getShape());
  shape[0] = ShapedType::kDynamic;
  types.append({RankedTensorType::get({ShapedType::kDynamic}, IntegerType::get(context, 64)),
                RankedTensorType::get(shape, gradient.getElementType())});
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> BagSumOp::resultDims(ShapeQuery &shapes) {
  Dims result = shapes.dims(getOperand());
  DimContext &c = shapes.context();
  result[0] = c.sub(shapes.dims(getSplits())[0], c.constant(1));
  return {result};
}

SmallVector<Dims> GroupRowsOp::resultDims(ShapeQuery &shapes) {
  Dims positions = shapes.dims(getPositions());
  DimContext &c = shapes.context();
  return {positions, Dims{c.add(positions[0], c.constant(1))}, positions};
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> BagSumOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &operand = operands[0];
  std::vector<int64_t> positions = operands[1].toInts(), splits = operands[2].toInts();
  if (splits.empty())
    return emitOpError("requires splits with at least one element, got none");
  if (operands.size() > 3 && operands[3].numElements() != operands[1].numElements())
    return emitOpError() << "requires " << positions.size() << " weights, got " << operands[3].numElements();
  SmallVector<int64_t> shape(operand.shape());
  shape[0] = static_cast<int64_t>(splits.size()) - 1;
  if (failed(requireRoom(*this, evaluator, operand.elementType(), shape)))
    return failure();
  HostTensor result(operand.elementType(), shape);
  int64_t rows = operand.size(0), slice = shape[0] == 0 ? 0 : result.numElements() / shape[0];
  auto count = static_cast<int64_t>(positions.size());
  std::vector<double> elements = operand.toFloats();
  for (int64_t bag = 0; bag < shape[0]; ++bag) {
    std::vector<double> sums(slice);
    for (int64_t i = std::max<int64_t>(splits[bag], 0); rows > 0 && i < std::min(splits[bag + 1], count); ++i) {
      int64_t row = readPosition(positions[i], rows);
      double weight = operands.size() > 3 ? operands[3].getFloat(i) : 1;
      for (int64_t k = 0; k < slice; ++k)
        sums[k] += weight * elements[row * slice + k];
    }
    for (int64_t k = 0; k < slice; ++k)
      result.setFloat(bag * slice + k, sums[k]);
  }
  return SmallVector<HostTensor>{result};
}

FailureOr<SmallVector<HostTensor>> GroupRowsOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  auto size = static_cast<int64_t>(getSize()), count = operands[0].numElements();
  std::map<int64_t, std::vector<int64_t>> places;
  std::vector<int64_t> outside;
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = writePosition(operands[0].getInt(i), size);
    if (position >= 0)
      places[position].push_back(i);
    else
      outside.push_back(i);
  }
  SmallVector<int64_t> rows, splits, order;
  for (const auto &[row, all] : places) {
    rows.push_back(row);
    splits.push_back(static_cast<int64_t>(order.size()));
    llvm::append_range(order, all);
  }
  rows.resize(count, size);
  splits.resize(count + 1, static_cast<int64_t>(order.size()));
  llvm::append_range(order, outside);
  Type i64 = IntegerType::get(getContext(), 64);
  return SmallVector<HostTensor>{HostTensor::ofInts(i64, rows), HostTensor::ofInts(i64, splits),
                                 HostTensor::ofInts(i64, order)};
}

FailureOr<SmallVector<HostTensor>> GradientRowsOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &) {
  const HostTensor &gradient = operands[0];
  int64_t size = gradient.size(0), slice = size == 0 ? 0 : gradient.numElements() / size;
  std::vector<double> elements = gradient.toFloats(), kept;
  SmallVector<int64_t> rows;
  for (int64_t row = 0; row < size; ++row) {
    ArrayRef<double> values(elements.data() + row * slice, slice);
    if (llvm::all_of(values, [](double value) { return value == 0; }))
      continue;
    rows.push_back(row);
    llvm::append_range(kept, values);
  }
  SmallVector<int64_t> shape(gradient.shape());
  shape[0] = static_cast<int64_t>(rows.size());
  HostTensor values(gradient.elementType(), shape);
  values.assignFloats(kept);
  return SmallVector<HostTensor>{HostTensor::ofInts(IntegerType::get(getContext(), 64), rows), values};
}

//===- decompose -----------------------------------------------------------------------------===//

/// The positions are sorted, those outside as `size`; where one differs from the one before, a row begins.
FailureOr<SmallVector<Value>> GroupRowsOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  auto size = static_cast<double>(getSize());
  Value positions = c.convert(getPositions(), c.getI64Type());
  auto fill = [&](double value) { return c.fill(value, positions); };
  auto compare = [&](Value a, CompareKind kind, Value b) { return c.make<CompareOp>(a, b, kind); };
  Value wrapped = c.make<AddOp>(positions, fill(size));
  positions = c.make<SelectOp>(compare(positions, CompareKind::lt, fill(0)), wrapped, positions);
  Value isOn =
      c.make<AndOp>(compare(positions, CompareKind::ge, fill(0)), compare(positions, CompareKind::lt, fill(size)));
  Value key = c.make<SelectOp>(isOn, positions, fill(size));
  auto sort = SortOp::create(c, key, int64_t(0), false);
  Value sorted = sort.getResult(0), order = sort.getResult(1);
  Value at = gradient::iotaLike(c, sorted, 0);
  Value before = c.make<GatherOp>(sorted, c.make<SubOp>(at, fill(1)), int64_t(0));
  Value isNew = c.make<OrOp>(compare(at, CompareKind::eq, fill(0)), compare(sorted, CompareKind::ne, before));
  Value isInside = compare(sorted, CompareKind::lt, fill(size));
  Value isFirst = c.make<AndOp>(isNew, isInside);
  Value number = c.make<CumulativeOp>(c.convert(isFirst, c.getI64Type()), int64_t(0), Combiner::add);
  // Only the first of each row writes; the other places are past any end.
  Value none = c.spread(c.make<AddOp>(c.size(sorted, 0), gradient::constantSize(c, 1)), sorted, {});
  Value place = c.make<SelectOp>(isFirst, c.make<SubOp>(number, fill(1)), none);
  Value rows = c.make<ScatterElementsOp>(fill(size), place, sorted, int64_t(0), Combiner::set);
  Value inside = c.reduce(c.convert(isInside, c.getI64Type()), {0}, Combiner::add);
  Value longer = c.make<PadOp>(fill(0), c.scalar(c.getI64Type(), 0), ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1},
                               ArrayRef<int64_t>{0}, PadMode::constant);
  Value splits = c.make<ScatterElementsOp>(c.spread(inside, longer, {}), place, at, int64_t(0), Combiner::set);
  return SmallVector<Value>{c.retype(rows, getRows().getType()), c.retype(splits, getSplits().getType()),
                            c.retype(order, getOrder().getType())};
}

/// Rows with anything but zeros.
FailureOr<SmallVector<Value>> GradientRowsOp::decompose(OpBuilder &builder) {
  if (auto table = getTable()) {
    emitError() << "the gradient of '" << *table << "' is a sum of more than what lookups of rows give back";
    return failure();
  }
  Composer c(getLoc(), builder);
  Value gradient = getGradient();
  Value isAny = c.make<CompareOp>(gradient, c.fill(0, gradient), CompareKind::ne);
  if (tensor(gradient).getRank() > 1)
    isAny = c.reduce(isAny, otherAxes(tensor(gradient).getRank(), 0), Combiner::logical_or);
  Value rows = gradient::flatten(c, c.make<NonzeroOp>(isAny));
  Value values = c.make<GatherOp>(gradient, rows, int64_t(0));
  return SmallVector<Value>{c.retype(rows, getRows().getType()), c.retype(values, getValues().getType())};
}

//===- gradients of tables -----------------------------------------------------------------------===//

static bool isIdentity(TransposeOp op) {
  return llvm::equal(op.getPermutation(), llvm::seq<int64_t>(0, tensor(op.getOperand()).getRank()));
}

namespace {
/// One of what a gradient is the sum of: what a lookup gives back, or what the trips of a loop add to a carry, all of
/// which are lookups.
struct Term {
  ScatterNdOp scatter;
  OpResult sum; // of a loop; null for a scatter
};
} // namespace

static bool hasStaticShapes(ScatterNdOp scatter) {
  return tensor(scatter.getPositions()).hasStaticShape() && tensor(scatter.getUpdates()).hasStaticShape();
}

static OperandRange initsOf(Operation *loop) {
  auto scan = dyn_cast<ScanOp>(loop);
  return scan ? scan.getInit() : cast<ForOp>(loop).getInit();
}

/// The argument that carry `k` of a scan or for is in its body.
static BlockArgument carryOf(Operation *loop, unsigned k) {
  return loop->getRegion(0).getArgument(k + isa<ForOp>(loop));
}

/// How many trips a loop has, if its type says it.
static int64_t tripsOf(Operation *loop) {
  int64_t trips = ShapedType::kDynamic;
  if (auto scan = dyn_cast<ScanOp>(loop))
    for (auto [sequence, axis] : llvm::zip(scan.getSequences(), scan.getAxes()))
      trips = meetSize(trips, tensor(sequence).getDimSize(axis)).value_or(trips);
  return trips;
}

static bool sumsLookups(OpResult result);

/// The terms of `gradient`; nothing when it is another sum. In the body of a loop `carry` is to be one, and is left
/// out.
static std::optional<SmallVector<Term>> findTerms(Value gradient, BlockArgument carry = {}) {
  SmallVector<Term> found;
  SmallVector<Value> pending = {gradient};
  bool isCarried = false;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    auto transpose = dyn_cast_or_null<TransposeOp>(op);
    auto reshape = dyn_cast_or_null<ReshapeOp>(op);
    auto convert = dyn_cast_or_null<ConvertOp>(op);
    if (carry && value == carry) {
      isCarried = true; // once, as it has one use
      continue;
    }
    if (uniformValue(value) == 0.0)
      continue;
    if (auto add = dyn_cast_or_null<AddOp>(op))
      pending.append({add.getRhs(), add.getLhs()});
    else if ((transpose && isIdentity(transpose)) ||
             (reshape && agree(value.getType(), reshape.getOperand().getType())) ||
             (convert && isa<FloatType>(elementTypeOf(convert.getOperand()))))
      pending.push_back(op->getOperand(0));
    else if (auto scatter = dyn_cast_or_null<ScatterNdOp>(op); scatter && scatter.getCombiner() == Combiner::add &&
                                                               tensor(scatter.getPositions()).getShape().back() == 1 &&
                                                               (!carry || hasStaticShapes(scatter))) {
      pending.push_back(scatter.getOperand());
      found.push_back({scatter, {}});
    } else if (auto result = dyn_cast<OpResult>(value);
               result && sumsLookups(result) && !(carry && ShapedType::isDynamic(tripsOf(op)))) {
      pending.push_back(initsOf(op)[result.getResultNumber()]);
      found.push_back({{}, result});
    } else
      return std::nullopt;
  }
  if (carry && !isCarried)
    return std::nullopt;
  return found;
}

/// Whether `result` is a carry of a scan or for whose trips add lookups to it, and that may stack them. One that reads
/// snapshots may not: its trips run in parts.
static bool sumsLookups(OpResult result) {
  Operation *loop = result.getOwner();
  unsigned k = result.getResultNumber();
  if (!isa<ScanOp, ForOp>(loop) || k >= initsOf(loop).size() || !carryOf(loop, k).hasOneUse())
    return false;
  for (Value operand : loop->getOperands())
    if (Operation *other = operand.getDefiningOp())
      if (auto memory = other->getAttrOfType<StringAttr>("sinter.memory");
          memory && memory.getValue() != "all" && memory.getValue() != "recompute")
        return false;
  return findTerms(loop->getRegion(0).front().getTerminator()->getOperand(k), carryOf(loop, k)).has_value();
}

/// The loop again, which stacks `values` of its body, too, along a new first axis. They are its last results.
static Operation *withStacks(RewriterBase &rewriter, Operation *loop, ArrayRef<Value> values) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop);
  SmallVector<Type> types(loop->getResultTypes());
  auto scan = dyn_cast<ScanOp>(loop);
  for (Value value : values) {
    SmallVector<int64_t> shape = {tripsOf(loop)};
    llvm::append_range(shape, tensor(value).getShape());
    types.push_back(RankedTensorType::get(shape, elementTypeOf(value)));
  }
  OperationState state(loop->getLoc(), loop->getName(), loop->getOperands(), types, loop->getAttrs());
  if (scan) {
    SmallVector<int64_t> axes(scan.getOutAxes());
    SmallVector<bool> reverse(scan.getOutReverse());
    axes.resize(axes.size() + values.size(), 0);
    reverse.resize(reverse.size() + values.size(), false);
    state.attributes.set("out_axes", rewriter.getDenseI64ArrayAttr(axes));
    state.attributes.set("out_reverse", rewriter.getDenseBoolArrayAttr(reverse));
  }
  Operation *yield = loop->getRegion(0).front().getTerminator();
  rewriter.modifyOpInPlace(yield, [&] { yield->insertOperands(yield->getNumOperands(), values); });
  state.addRegion();
  Operation *wider = rewriter.create(state);
  rewriter.inlineRegionBefore(loop->getRegion(0), wider->getRegion(0), wider->getRegion(0).end());
  rewriter.replaceOp(loop, wider->getResults().drop_back(values.size()));
  return wider;
}

/// What the terms give back. `slice` is the shape of a row behind an axis of any size.
static SmallVector<LookupGradient> lookupsOf(RewriterBase &rewriter, Location loc, SmallVector<Term> terms,
                                             SmallVector<int64_t> slice, Type element) {
  SmallVector<LookupGradient> lookups;
  Composer c(loc, rewriter);
  auto add = [&](Value positions, Value updates) {
    positions = gradient::flatten(c, c.convert(positions, c.getI64Type()));
    slice[0] = tensor(positions).getDimSize(0);
    lookups.push_back({positions, c.convert(gradient::reshapeTo(c, updates, slice), element)});
  };
  for (auto [k, term] : llvm::enumerate(terms)) {
    if (term.scatter) {
      add(term.scatter.getPositions(), term.scatter.getUpdates());
      continue;
    }
    Operation *loop = term.sum.getOwner();
    unsigned carry = term.sum.getResultNumber();
    Operation *yield = loop->getRegion(0).front().getTerminator();
    SmallVector<Value> stacked;
    {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(yield);
      for (LookupGradient inner :
           lookupsOf(rewriter, loc, *findTerms(yield->getOperand(carry), carryOf(loop, carry)), slice, element))
        stacked.append({inner.positions, inner.values});
    }
    if (stacked.empty())
      continue;
    Operation *wider = withStacks(rewriter, loop, stacked);
    for (Term &later : MutableArrayRef(terms).drop_front(k + 1))
      if (later.sum && later.sum.getOwner() == loop)
        later.sum = wider->getResult(later.sum.getResultNumber());
    ResultRange stacks = wider->getResults().take_back(stacked.size());
    for (size_t i = 0; i < stacked.size(); i += 2)
      add(stacks[i], stacks[i + 1]);
  }
  return lookups;
}

std::optional<SmallVector<LookupGradient>> sinter::findLookups(RewriterBase &rewriter, Location loc, Value gradient) {
  SmallVector<int64_t> slice(tensor(gradient).getShape());
  if (llvm::any_of(ArrayRef(slice).drop_front(), ShapedType::isDynamic))
    return std::nullopt;
  std::optional<SmallVector<Term>> terms = findTerms(gradient);
  if (!terms)
    return std::nullopt;
  return lookupsOf(rewriter, loc, *terms, slice, elementTypeOf(gradient));
}

namespace {
/// Values of a lookup as rows of something smaller: values[i] = weights[i] * rows[places[i]].
struct RowsOfLookup {
  Value rows, places, weights; // no places: each row once, in order; no weights: all are 1
};
} // namespace

/// What bags give back is the bag's row for each of its elements.
static RowsOfLookup rowsOf(Value values) {
  RowsOfLookup found{values, Value(), Value()};
  auto gatherOf = [&](Value value) {
    auto gather = value.getDefiningOp<GatherOp>();
    return gather && gather.getAxis() == 0 && tensor(gather.getPositions()).getRank() == 1 ? gather : GatherOp();
  };
  if (auto product = values.getDefiningOp<MulOp>()) {
    auto spread = product.getRhs().getDefiningOp<BroadcastOp>();
    GatherOp gather = gatherOf(product.getLhs());
    int64_t count = tensor(values).getDimSize(0); // an unknown one may repeat a single weight
    bool isOfRows = spread && spread.getAxes() == ArrayRef<int64_t>{0} && !ShapedType::isDynamic(count) &&
                    tensor(spread.getOperand()).getDimSize(0) == count;
    if (gather && isOfRows)
      return {gather.getOperand(), gather.getPositions(), spread.getOperand()};
  }
  if (GatherOp gather = gatherOf(values))
    return {gather.getOperand(), gather.getPositions(), Value()};
  return found;
}

GradientRows sinter::combineLookups(Composer &c, ArrayRef<LookupGradient> lookups, int64_t size) {
  assert(!lookups.empty() && "a table that nobody looks at has no gradient");
  SmallVector<Value> positions, rows, places, weights;
  auto joined = [&](ArrayRef<Value> parts) -> Value {
    return parts.size() == 1 ? parts.front() : c.make<ConcatenateOp>(ValueRange(parts), int64_t(0));
  };
  bool isWeighted = false, isPlain = true;
  SmallVector<RowsOfLookup> found;
  for (const LookupGradient &lookup : lookups) {
    found.push_back(rowsOf(lookup.values));
    isWeighted |= found.back().weights != nullptr;
    isPlain &= !found.back().places;
  }
  Value before; // rows of the lookups before
  for (auto [lookup, from] : llvm::zip(lookups, found)) {
    positions.push_back(lookup.positions);
    rows.push_back(from.rows);
    if (isWeighted)
      weights.push_back(from.weights ? from.weights
                                     : c.convert(c.fill(1, lookup.positions), elementTypeOf(lookup.values)));
    if (isPlain)
      continue;
    Value count = c.size(from.rows, 0);
    Value at = from.places ? c.convert(from.places, c.getI64Type()) : gradient::iotaLike(c, lookup.positions, 0);
    if (from.places && lookups.size() > 1)
      at = gradient::clampPositions(c, at, c.spread(count, at, {}));
    places.push_back(before ? c.make<AddOp>(at, c.spread(before, at, {})) : at);
    before = before ? c.make<AddOp>(before, count) : count;
  }
  auto groups = GroupRowsOp::create(c, joined(positions), size);
  auto ordered = [&](ArrayRef<Value> parts) { return c.make<GatherOp>(joined(parts), groups.getOrder(), int64_t(0)); };
  Value order = isPlain ? groups.getOrder() : ordered(places), weight = isWeighted ? ordered(weights) : Value();
  return {groups.getRows(), c.make<BagSumOp>(joined(rows), order, groups.getSplits(), weight)};
}

OpOperand *sinter::findOtherUse(Value table) {
  SmallVector<Value> pending = {table};
  while (!pending.empty()) {
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      auto gather = dyn_cast<GatherOp>(user);
      bool isLookup = use.getOperandNumber() == 0 && (isa<BagSumOp>(user) || (gather && gather.getAxis() == 0));
      if (isLookup || isa<DimOp, ShapeOp>(user))
        continue;
      if (isa<ConvertOp>(user)) {
        pending.push_back(user->getResult(0));
        continue;
      }
      // What a loop captures are its last operands, and the last arguments of its regions.
      size_t captures = 0, fromEnd = user->getNumOperands() - use.getOperandNumber();
      if (auto loop = dyn_cast<ScanOp>(user))
        captures = loop.getCaptures().size();
      else if (auto loop = dyn_cast<ForOp>(user))
        captures = loop.getCaptures().size();
      else if (auto loop = dyn_cast<WhileOp>(user))
        captures = loop.getCaptures().size();
      if (fromEnd > captures)
        return &use;
      for (Region &region : user->getRegions())
        pending.push_back(region.getArgument(region.getNumArguments() - fromEnd));
    }
  }
  return nullptr;
}

namespace {
struct TakeLookups : OpRewritePattern<GradientRowsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GradientRowsOp op, PatternRewriter &rewriter) const override {
    int64_t size = tensor(op.getGradient()).getDimSize(0);
    if (ShapedType::isDynamic(size))
      return rewriter.notifyMatchFailure(op, "the size of the table is not known");
    std::optional<SmallVector<LookupGradient>> lookups = findLookups(rewriter, op.getLoc(), op.getGradient());
    if (!lookups || lookups->empty())
      return rewriter.notifyMatchFailure(op, "the gradient is no sum of lookups");
    Composer c(op.getLoc(), rewriter);
    GradientRows found = combineLookups(c, *lookups, size);
    rewriter.replaceOp(
        op, {c.retype(found.rows, op.getRows().getType()), c.retype(found.values, op.getValues().getType())});
    return success();
  }
};
} // namespace

void GradientRowsOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TakeLookups>(context);
}
