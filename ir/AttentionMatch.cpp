// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Attention.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/MaskBand.h"
#include "ir/RowView.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

namespace {

/// A value whose axes are taken in another order: axis k is axis axes[k] of `value`.
struct Turned {
  Value value;
  SmallVector<int64_t> axes;
};

/// What is found of one attention; values as the graph has them.
struct Found {
  Turned query, key, value; // [..., rows or keys, depth or width]
  double scale = 1;
  SmallVector<Value> biases; // of the rank of scores, each axis 1 or theirs
  SmallVector<Value> masks;  // booleans of what counts, likewise
  std::optional<double> otherwise;
  bool isNanZero = false; // rows that are no numbers give zeros
  bool mayScale = false;  // queries or keys have a factor that is still to be computed
};

class Matcher {
public:
  explicit Matcher(DotGeneralOp product) : product(product), builder(product), c(product.getLoc(), builder) {}
  std::optional<Found> match();
  /// Builds it, asks `isKept`, and takes the product's place. False leaves the graph as it was.
  bool rewrite(Found &found, AttentionFilter isKept, const AttentionMatching &matching);

private:
  bool readScores(Value scores);
  /// `value` without axes that only repeat it, in the rank of scores; null if it is no bias of them.
  Value narrowed(Value value);
  /// The same of a `value` of the shape `from`, in which axes of size 1 repeat it.
  Value regrouped(Value value, RankedTensorType from);
  Value withoutScale(Value value);
  Value build(const Turned &turned);
  Value withoutRepeats(Value keys, int64_t heads);
  bool isSize(Value value, int64_t axis, Value other, int64_t otherAxis);

  DimContext context;
  ShapeAnalysis sizes{context}; // of the graph as it was
  DotGeneralOp product;
  OpBuilder builder;
  Composer c;
  Found found;
  RankedTensorType scoresType;
};
} // namespace

static SmallVector<int64_t> leadingAxes(int64_t count) { return llvm::to_vector(llvm::seq<int64_t>(0, count)); }

/// The one axis of an operand that a product neither sums over nor goes along; nothing if there are more or fewer.
static std::optional<int64_t> freeAxis(Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  std::optional<int64_t> free;
  for (int64_t axis = 0; axis < tensorTypeOf(operand).getRank(); ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contract, axis)) {
      if (free)
        return std::nullopt;
      free = axis;
    }
  return free;
}

/// False for a broadcast that takes sizes alone.
static bool readsElements(OpOperand &use) { return !isa<BroadcastOp>(use.getOwner()) || use.getOperandNumber() == 0; }
static bool hasOneReader(Value value) { return llvm::count_if(value.getUses(), readsElements) == 1; }

std::optional<Found> Matcher::match() {
  int64_t rank = product.getType().getRank();
  if (rank < 3 || !hasKnownRows(product.getType()) || product.getLhsContract().size() != 1 ||
      !isa<Float32Type, Float64Type>(product.getType().getElementType()) ||
      elementTypeOf(product.getLhs()) != product.getType().getElementType() ||
      elementTypeOf(product.getRhs()) != product.getType().getElementType())
    return std::nullopt;
  // Shares are the left operand, as they lie.
  if (tensorTypeOf(product.getLhs()).getRank() != rank || product.getLhsContract()[0] != rank - 1 ||
      ArrayRef<int64_t>(product.getLhsBatch()) != ArrayRef(leadingAxes(rank - 2)))
    return std::nullopt;
  std::optional<int64_t> width = freeAxis(product.getRhs(), product.getRhsBatch(), product.getRhsContract());
  if (!width)
    return std::nullopt;
  found.value = {product.getRhs(), SmallVector<int64_t>(product.getRhsBatch())};
  found.value.axes.append({product.getRhsContract()[0], *width});

  Value shares = product.getLhs();
  if (auto select = shares.getDefiningOp<SelectOp>()) {
    auto isNan = select.getPred().getDefiningOp<IsNanOp>();
    if (!isNan || isNan.getOperand() != select.getOnFalse() || uniformValue(select.getOnTrue()) != 0.0)
      return std::nullopt;
    found.isNanZero = true;
    shares = select.getOnFalse();
  }
  auto softmax = shares.getDefiningOp<SoftmaxOp>();
  if (!softmax || softmax.getLogarithm() || static_cast<int64_t>(softmax.getAxis()) != rank - 1)
    return std::nullopt;
  // Nobody else reads the shares.
  for (OpOperand &use : shares.getUses())
    if (Operation *user = use.getOwner();
        user != product && readsElements(use) && !(found.isNanZero && isa<IsNanOp, SelectOp>(user)))
      return std::nullopt;
  if (found.isNanZero && !hasOneReader(product.getLhs()))
    return std::nullopt;
  scoresType = tensorTypeOf(shares);
  if (!hasKnownRows(scoresType) || !readScores(softmax.getOperand()))
    return std::nullopt;
  for (const Turned *rows : {&found.query, &found.key, &found.value})
    for (int64_t axis : ArrayRef(rows->axes).drop_front())
      if (tensorTypeOf(rows->value).isDynamicDim(axis))
        return std::nullopt;
  // Several of different shapes would need sizes to be added.
  SmallVector<Value> masks(found.biases);
  llvm::append_range(masks, found.masks);
  for (Value mask : masks)
    if (!scoresType.hasStaticShape() && tensorTypeOf(mask).getShape() != tensorTypeOf(masks.front()).getShape())
      return std::nullopt;
  return found;
}

/// Whether an axis of one value surely has the size of an axis of another one.
bool Matcher::isSize(Value value, int64_t axis, Value other, int64_t otherAxis) {
  if (!tensorTypeOf(value).isDynamicDim(axis) && !tensorTypeOf(other).isDynamicDim(otherAxis))
    return tensorTypeOf(value).getDimSize(axis) == tensorTypeOf(other).getDimSize(otherAxis);
  return sizes.dims(value)[axis] == sizes.dims(other)[otherAxis];
}

Value Matcher::narrowed(Value value) {
  if (elementTypeOf(value) != scoresType.getElementType() && !elementTypeOf(value).isInteger(1))
    return {};
  RankedTensorType from = tensorTypeOf(value);
  SmallVector<int64_t> shape(from.getRank(), 1);
  Value inner = value;
  SmallVector<int64_t> axes = leadingAxes(from.getRank());
  while (auto broadcast = inner.getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> next;
    for (int64_t axis : broadcast.getAxes())
      next.push_back(axes[axis]);
    // What only running tells may repeat, or not.
    RankedTensorType given = tensorTypeOf(broadcast.getOperand());
    bool isTold = true;
    for (auto [k, axis] : llvm::enumerate(next))
      isTold &= !given.isDynamicDim(k) || isSize(broadcast.getOperand(), static_cast<int64_t>(k), value, axis);
    if (!isTold)
      break;
    axes = next;
    inner = broadcast.getOperand();
  }
  RankedTensorType type = tensorTypeOf(inner);
  for (auto [k, axis] : llvm::enumerate(axes))
    if (type.isDynamicDim(k) && axis != 0)
      return {};
  for (auto [k, axis] : llvm::enumerate(axes))
    shape[axis] = type.getDimSize(k);
  return regrouped(c.reshape(inner, RankedTensorType::get(shape, type.getElementType())), from);
}

Value Matcher::regrouped(Value value, RankedTensorType from) {
  if (from.getShape() == scoresType.getShape())
    return value;
  if (!from.hasStaticShape() || !scoresType.hasStaticShape())
    return {};
  ArrayRef<int64_t> given = from.getShape().drop_back(2), wanted = scoresType.getShape().drop_back(2);
  SmallVector<int64_t> full(tensorTypeOf(value).getShape()), shape;
  // Axes go together whose products of sizes are equal, those of size 1 behind the last with the ones before them.
  for (size_t i = 0, j = 0; i < given.size() || j < wanted.size();) {
    size_t firstGiven = i, firstWanted = j;
    int64_t left = i < given.size() ? given[i++] : 1, right = j < wanted.size() ? wanted[j++] : 1;
    while (left != right && (left < right ? i < given.size() : j < wanted.size()))
      left < right ? left *= given[i++] : right *= wanted[j++];
    if (left != right)
      return {};
    bool repeats = llvm::all_of(ArrayRef(full).slice(firstGiven, i - firstGiven), [](int64_t n) { return n == 1; });
    for (size_t k = firstGiven; k < i && !repeats; ++k)
      full[k] = given[k];
    for (size_t k = firstWanted; k < j; ++k)
      shape.push_back(repeats ? 1 : wanted[k]);
  }
  auto wide = RankedTensorType::get(full, elementTypeOf(value));
  if (value.getType() != wide)
    value = c.make<BroadcastOp>(value, Value(), ValueRange(), leadingAxes(from.getRank()), wide);
  llvm::append_range(shape, ArrayRef(full).take_back(2));
  return c.reshape(value, RankedTensorType::get(shape, wide.getElementType()));
}

/// True for a reshape of leading axes: rows and keys stay what they are.
static bool keepsRowsAndKeys(ReshapeOp reshape) {
  RankedTensorType from = tensorTypeOf(reshape.getOperand()), to = reshape.getType();
  return from.hasStaticShape() && to.hasStaticShape() && from.getRank() >= 3 && to.getRank() >= 3 &&
         from.getShape().take_back(2) == to.getShape().take_back(2) && !llvm::is_contained(from.getShape(), 0);
}

/// Peels what is done to scores until their product: numbers that scale, masks and biases.
bool Matcher::readScores(Value scores) {
  int64_t rank = scoresType.getRank();
  while (true) {
    if (!hasOneReader(scores))
      return false;
    Operation *op = scores.getDefiningOp();
    if (!op)
      return false;
    if (auto sum = dyn_cast<AddOp>(op)) {
      // The side that holds a product is the scores'.
      auto leadsToProduct = [](Value value) {
        while (Operation *op = value.getDefiningOp()) {
          if (isa<DotGeneralOp>(op))
            return true;
          if (!isa<AddOp, MulOp, DivOp, ReshapeOp>(op))
            return false;
          value = op->getOperand(0);
        }
        return false;
      };
      bool isLeft = leadsToProduct(sum.getLhs());
      if (!isLeft && !leadsToProduct(sum.getRhs()))
        return false;
      Value bias = narrowed(isLeft ? sum.getRhs() : sum.getLhs());
      if (!bias || found.scale != 1) // a scale of the sum would scale the bias
        return false;
      found.biases.push_back(bias);
      scores = isLeft ? sum.getLhs() : sum.getRhs();
    } else if (auto select = dyn_cast<SelectOp>(op)) {
      std::optional<double> never = uniformValue(select.getOnFalse());
      if (!never || *never > -1e30 || found.scale != 1 || !found.masks.empty())
        return false;
      Value mask = narrowed(select.getPred());
      if (!mask)
        return false;
      found.masks.push_back(mask);
      found.otherwise = never;
      scores = select.getOnTrue();
    } else if (auto scaled = dyn_cast<MulOp>(op)) {
      std::optional<double> left = uniformValue(scaled.getLhs()), right = uniformValue(scaled.getRhs());
      if (!left && !right)
        return false;
      found.scale *= left ? *left : *right;
      scores = left ? scaled.getRhs() : scaled.getLhs();
    } else if (auto divided = dyn_cast<DivOp>(op)) {
      std::optional<double> by = uniformValue(divided.getRhs());
      if (!by || *by == 0)
        return false;
      found.scale /= *by;
      scores = divided.getLhs();
    } else if (auto reshape = dyn_cast<ReshapeOp>(op); reshape && keepsRowsAndKeys(reshape)) {
      scores = reshape.getOperand();
    } else if (auto inner = dyn_cast<DotGeneralOp>(op)) {
      if (inner.getType().getShape() != scoresType.getShape() || inner.getLhsContract().size() != 1 ||
          static_cast<int64_t>(inner.getLhsBatch().size()) != rank - 2 ||
          elementTypeOf(inner.getLhs()) != scoresType.getElementType() ||
          elementTypeOf(inner.getRhs()) != scoresType.getElementType())
        return false;
      std::optional<int64_t> row = freeAxis(inner.getLhs(), inner.getLhsBatch(), inner.getLhsContract()),
                             key = freeAxis(inner.getRhs(), inner.getRhsBatch(), inner.getRhsContract());
      if (!row || !key)
        return false;
      found.query = {inner.getLhs(), SmallVector<int64_t>(inner.getLhsBatch())};
      found.query.axes.append({*row, inner.getLhsContract()[0]});
      found.key = {inner.getRhs(), SmallVector<int64_t>(inner.getRhsBatch())};
      found.key.axes.append({*key, inner.getRhsContract()[0]});
      return true;
    } else {
      return false;
    }
  }
}

/// True for what will be a constant.
static bool dependsOnNoInput(Value value) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || op->getNumRegions())
      return false;
    if (seen.insert(next).second)
      llvm::append_range(work, op->getOperands());
  }
  return true;
}

/// `value` without factors that are one number, which go to the scale.
Value Matcher::withoutScale(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !hasOneReader(value))
    return value;
  if (auto scaled = dyn_cast<MulOp>(op)) {
    std::optional<double> left = uniformValue(scaled.getLhs()), right = uniformValue(scaled.getRhs());
    if (!left && !right) {
      found.mayScale |= llvm::any_of(scaled->getOperands(), dependsOnNoInput);
      return value;
    }
    found.scale *= left ? *left : *right;
    return withoutScale(left ? scaled.getRhs() : scaled.getLhs());
  }
  if (auto divided = dyn_cast<DivOp>(op)) {
    std::optional<double> by = uniformValue(divided.getRhs());
    if (!by || *by == 0)
      return value;
    found.scale /= *by;
    return withoutScale(divided.getLhs());
  }
  if (!isa<ReshapeOp, TransposeOp, BroadcastOp>(op) || op->getNumOperands() != 1)
    return value;
  Value inner = op->getOperand(0), bare = withoutScale(inner);
  if (bare == inner)
    return value;
  IRMapping mapping;
  mapping.map(inner, bare);
  return builder.clone(*op, mapping)->getResult(0);
}

/// The value in its order; reshapes of leading axes are looked through, so that transposes that undo each other go.
Value Matcher::build(const Turned &turned) {
  int64_t rank = turned.axes.size();
  if (turned.axes == leadingAxes(rank))
    return turned.value;
  if (auto transpose = turned.value.getDefiningOp<TransposeOp>()) {
    Turned inner{transpose.getOperand(), {}};
    for (int64_t axis : turned.axes)
      inner.axes.push_back(transpose.getPermutation()[axis]);
    return build(inner);
  }
  SmallVector<int64_t> swapped = leadingAxes(rank);
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  if (auto reshape = turned.value.getDefiningOp<ReshapeOp>(); reshape && turned.axes == swapped) {
    RankedTensorType from = tensorTypeOf(reshape.getOperand()), to = reshape.getType();
    if (from.getRank() >= 2 && from.hasStaticShape() && from.getShape().take_back(2) == to.getShape().take_back(2)) {
      Turned inner{reshape.getOperand(), leadingAxes(from.getRank())};
      std::swap(inner.axes[from.getRank() - 1], inner.axes[from.getRank() - 2]);
      SmallVector<int64_t> shape(to.getShape());
      std::swap(shape[rank - 1], shape[rank - 2]);
      return c.reshape(build(inner), RankedTensorType::get(shape, to.getElementType()));
    }
  }
  return c.make<TransposeOp>(turned.value, turned.axes);
}

/// The keys that each group of heads shares, where `keys` repeats them: [..., heads / g, n, d] spread to
/// [..., heads / g, g, n, d].
Value Matcher::withoutRepeats(Value keys, int64_t heads) {
  Value from = withoutReshapes(keys);
  auto broadcast = from.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return keys;
  RankedTensorType inner = tensorTypeOf(broadcast.getOperand()), wide = tensorTypeOf(from), type = tensorTypeOf(keys);
  int64_t rank = type.getRank();
  if (inner.getRank() != rank || wide.getRank() != rank + 1 || rank < 3)
    return keys;
  SmallVector<int64_t> axes = leadingAxes(rank - 2), shape(inner.getShape());
  axes.append({rank - 1, rank});
  shape.insert(shape.begin() + (rank - 2), wide.getDimSize(rank - 2));
  if (ArrayRef<int64_t>(broadcast.getAxes()) != ArrayRef(axes) || wide.getShape() != ArrayRef(shape) ||
      ShapedType::isDynamic(heads) || !isSize(broadcast.getOperand(), 0, from, 0))
    return keys;
  shape.assign(inner.getShape().begin(), inner.getShape().end());
  shape[rank - 3] *= wide.getDimSize(rank - 2);
  return type.getShape() == ArrayRef(shape) && shape[rank - 3] == heads ? broadcast.getOperand() : keys;
}

/// Whether the back end keeps an attention of these types. It is asked about one that stands alone, as the products in
/// the graph are still there.
static bool isTaken(AttentionOp like, AttentionFilter isKept, bool areConstantsKnown) {
  if (!isKept)
    return true;
  // A bias that is still to be computed may be a band as a constant.
  if (!areConstantsKnown && llvm::any_of(like->getOperands(), dependsOnNoInput))
    return false;
  Block alone;
  IRMapping mapping;
  OpBuilder builder(like.getContext());
  builder.setInsertionPointToEnd(&alone);
  for (Value operand : like->getOperands()) {
    if (dependsOnNoInput(operand) && tensorTypeOf(operand).hasStaticShape()) { // a back end may take no constant
      auto zeros = DenseElementsAttr::get(tensorTypeOf(operand), builder.getZeroAttr(elementTypeOf(operand)));
      mapping.map(operand,
                  ConstantOp::create(builder, operand.getLoc(), TypeRange(operand.getType()), zeros)->getResult(0));
    } else {
      mapping.map(operand, alone.addArgument(operand.getType(), operand.getLoc()));
    }
  }
  Operation *copy = builder.clone(*like, mapping);
  ReshapeOp::create(builder, like.getLoc(), copy->getResult(0), Value(), tensorTypeOf(copy->getResult(0)));
  return isKept(copy);
}

bool Matcher::rewrite(Found &given, AttentionFilter isKept, const AttentionMatching &matching) {
  found = given;
  int64_t rank = scoresType.getRank(), heads = scoresType.getDimSize(rank - 3);
  Operation *before = product->getPrevNode();
  found.query.value = withoutScale(found.query.value);
  found.key.value = withoutScale(found.key.value);
  Value query = build(found.query), key = build(found.key), value = build(found.value);
  Value fewKeys = withoutRepeats(key, heads), fewValues = withoutRepeats(value, heads);
  if (fewKeys.getType() != key.getType() &&
      tensorTypeOf(fewKeys).getDimSize(rank - 3) == tensorTypeOf(fewValues).getDimSize(rank - 3)) {
    key = fewKeys;
    value = fewValues;
  }
  if (matching.straightens)
    for (Value *rows : {&query, &key, &value})
      *rows = straightened(c, *rows);
  IntegerAttr first, last;
  Value bias;
  auto addBias = [&](Value more) {
    if (bias && tensorTypeOf(bias) != tensorTypeOf(more)) { // to the larger of both in each axis
      SmallVector<int64_t> shape;
      for (auto [x, y] : llvm::zip(tensorTypeOf(bias).getShape(), tensorTypeOf(more).getShape()))
        shape.push_back(std::max(x, y));
      auto type = RankedTensorType::get(shape, elementTypeOf(bias));
      for (Value *side : {&bias, &more})
        if (side->getType() != type)
          *side = c.make<BroadcastOp>(*side, Value(), ValueRange(), leadingAxes(rank), type);
    }
    bias = bias ? c.make<AddOp>(bias, more) : more;
  };
  // Finite numbers that hide the rest count where another mask hides a whole row of the band.
  bool isAlone = found.masks.size() + found.biases.size() == 1;
  auto isBand = [&](Value mask) {
    if (tensorTypeOf(mask).getShape().take_back(2) != scoresType.getShape().take_back(2) || first || last)
      return false;
    std::optional<MaskBand> band = findMaskBand(mask);
    bool isBool = elementTypeOf(mask).isInteger(1);
    if (!band || !(isAlone || (isBool ? std::isinf(*found.otherwise) : band->isInfinite)))
      return false;
    if (band->before)
      first = c.getI64IntegerAttr(*band->before);
    if (band->after)
      last = c.getI64IntegerAttr(*band->after);
    return true;
  };
  for (Value mask : found.masks)
    if (!isBand(mask)) {
      auto type = RankedTensorType::get(tensorTypeOf(mask).getShape(), scoresType.getElementType());
      SmallVector<Value> like;
      if (!type.hasStaticShape())
        like.push_back(mask);
      auto all = [&](double number) {
        return c.make<BroadcastOp>(c.scalar(type.getElementType(), number), Value(), like, ArrayRef<int64_t>(), type);
      };
      addBias(c.make<SelectOp>(mask, all(0), all(*found.otherwise)));
    }
  for (Value more : found.biases)
    if (!isBand(more))
      addBias(more);
  auto attention =
      AttentionOp::create(c, query, key, value, bias, APFloat(found.scale), first, last, /*log_sums=*/true);
  auto takeBack = [&] {
    for (Operation *made = product->getPrevNode(); made != before;) {
      Operation *previous = made->getPrevNode();
      if (made->use_empty())
        made->erase();
      made = previous;
    }
  };
  if ((found.mayScale && !matching.areConstantsKnown) || !isTaken(attention, isKept, matching.areConstantsKnown)) {
    takeBack();
    return false;
  }
  Value result = attention.getResult();
  if (found.isNanZero) {
    // Shares of a row are no numbers where its sum is none or infinite.
    Value sums = attention.getSums(), difference = c.make<SubOp>(sums, sums);
    Value isNumber = c.make<CompareOp>(difference, c.fill(0, difference), CompareKind::eq);
    result = c.make<SelectOp>(c.spread(isNumber, result, leadingAxes(rank - 1)), result, c.fill(0, result));
  }
  product.getResult().replaceAllUsesWith(result);
  product->erase();
  for (Operation *dead = attention->getPrevNode(); dead;) {
    Operation *previous = dead->getPrevNode();
    if (isOpTriviallyDead(dead))
      dead->erase();
    dead = previous;
  }
  return true;
}

bool sinter::recognizeAttention(Operation *op, AttentionFilter isKept, const AttentionMatching &matching) {
  auto product = dyn_cast<DotGeneralOp>(op);
  if (!product)
    return false;
  Operation *before = product->getPrevNode();
  Matcher matcher(product);
  std::optional<Found> found = matcher.match();
  if (found && matcher.rewrite(*found, isKept, matching))
    return true;
  for (Operation *made = product->getPrevNode(); made != before;) { // reshapes of a bias
    Operation *previous = made->getPrevNode();
    if (made->use_empty())
      made->erase();
    made = previous;
  }
  return false;
}
