// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Attention.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Limits.h"
#include "ir/Reduction.h"
#include "ir/RowView.h"
#include "ir/Shape.h"
#include "ir/reference/Loops.h"

using namespace mlir;
using namespace sinter;

static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }

std::optional<GatheredRows> GatheredRows::of(Value rows) {
  auto transpose = rows.getDefiningOp<TransposeOp>();
  if (transpose && transpose.getPermutation().back() + 1 != static_cast<int64_t>(transpose.getPermutation().size()))
    return std::nullopt;
  auto gather = (transpose ? transpose.getOperand() : rows).getDefiningOp<GatherOp>();
  if (!gather || static_cast<int64_t>(gather.getAxis()) + 1 >= ranked(gather.getOperand().getType()).getRank())
    return std::nullopt;
  return GatheredRows{gather, transpose};
}

bool sinter::givesRowsOfCache(Operation *op) {
  bool isTurned = isa<GatherOp>(op) && op->hasOneUse() && isa<TransposeOp>(*op->user_begin());
  Operation *rows = isTurned ? *op->user_begin() : op;
  return rows->getNumResults() == 1 && GatheredRows::of(rows->getResult(0)) &&
         llvm::all_of(rows->getUses(), [](OpOperand &use) {
           return isa<AttentionOp>(use.getOwner()) && (use.getOperandNumber() == 1 || use.getOperandNumber() == 2);
         });
}

bool sinter::movesWholeRows(Operation *op) {
  if (!isa<TransposeOp, SliceOp, GatherOp>(op) || !hasKnownRows(ranked(op->getOperand(0).getType())))
    return false;
  RankedTensorType from = ranked(op->getOperand(0).getType());
  int64_t last = from.getRank() - 1;
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return last >= 0 && transpose.getPermutation().back() == last;
  bool isOpen = from.isDynamicDim(0);
  if (auto slice = dyn_cast<SliceOp>(op))
    return last >= 0 && slice.getSteps().back() == 1 &&
           (!isOpen || (slice.getStarts().front() == 0 && slice.getSteps().front() == 1)) &&
           llvm::all_of(slice.getSteps(), [](int64_t step) { return step > 0; });
  auto gather = cast<GatherOp>(op);
  return static_cast<int64_t>(gather.getAxis()) < last && positionOf(gather);
}

bool sinter::readsByRows(OpOperand &use) { return isa<AttentionOp>(use.getOwner()) && use.getOperandNumber() < 3; }

Operation *sinter::orderOfRows(Operation *op) {
  auto attention = dyn_cast<AttentionOp>(op);
  if (!attention || !attention.getResult().hasOneUse())
    return nullptr;
  Operation *user = *attention.getResult().user_begin();
  return isa<TransposeOp>(user) && movesWholeRows(user) ? user : nullptr;
}

//===- shape ---------------------------------------------------------------------------------===//

namespace {
/// What the rules of both ops say of their common operands.
struct AttentionTypes {
  StringRef name;
  RankedTensorType query, key, value, bias = {}; // bias is null if there is none
  RankedTensorType result = {}, sums = {};
  LogicalResult check(std::optional<Location> loc);
};
} // namespace

LogicalResult AttentionTypes::check(std::optional<Location> loc) {
  int64_t rank = query.getRank();
  if (rank < 2 || key.getRank() != rank || value.getRank() != rank) // C1
    return emitOptionalError(loc, name, " requires query, key and value of one rank of 2 or more, got ", rank, ", ",
                             key.getRank(), " and ", value.getRank());
  Type element = query.getElementType();
  if (key.getElementType() != element || value.getElementType() != element) // C2
    return emitOptionalError(loc, name, " requires query, key and value of one element type, got ", element, ", ",
                             key.getElementType(), " and ", value.getElementType());
  SmallVector<int64_t> shape;
  for (int64_t k = 0; k < rank - 2; ++k) {
    std::optional<int64_t> size = meetSize(key.getDimSize(k), value.getDimSize(k));
    int64_t heads = query.getDimSize(k);
    bool isGrouped = size && k == rank - 3 && *size > 0 && heads > 0 && heads % *size == 0; // `?` is below 0
    size = isGrouped ? heads : size ? meetSize(*size, heads) : size;
    if (!size) // C3
      return emitOptionalError(
          loc, name, " requires equal leading axes, of which the last of query may be a multiple, got ",
          printShape(query.getShape()), ", ", printShape(key.getShape()), " and ", printShape(value.getShape()));
    shape.push_back(*size);
  }
  if (!meetSize(query.getDimSize(rank - 1), key.getDimSize(rank - 1))) // C4
    return emitOptionalError(loc, name, " requires query and key of one depth, got ", query.getDimSize(rank - 1),
                             " and ", key.getDimSize(rank - 1));
  std::optional<int64_t> count = meetSize(key.getDimSize(rank - 2), value.getDimSize(rank - 2));
  if (!count) // C5
    return emitOptionalError(loc, name, " requires as many keys as values, got ", key.getDimSize(rank - 2), " and ",
                             value.getDimSize(rank - 2));
  shape.push_back(query.getDimSize(rank - 2));
  sums = RankedTensorType::get(shape,
                               element.getIntOrFloatBitWidth() < 32 ? Float32Type::get(element.getContext()) : element);
  if (bias) {
    SmallVector<int64_t> scores(shape);
    scores.push_back(*count);
    bool fits = bias.getRank() == rank && llvm::is_contained({element, sums.getElementType()}, bias.getElementType());
    for (int64_t k = 0; fits && k < rank; ++k)
      fits = bias.getDimSize(k) == 1 || meetSize(bias.getDimSize(k), scores[k]);
    if (!fits) // C6
      return emitOptionalError(loc, name, " requires a bias that broadcasts to ",
                               RankedTensorType::get(scores, element), ", got ", bias);
  }
  shape.push_back(value.getDimSize(rank - 1));
  result = RankedTensorType::get(shape, element);
  return success();
}

template <typename Adaptor> static AttentionTypes typesOf(StringRef name, Adaptor adaptor) {
  AttentionTypes types{name, ranked(adaptor.getQuery().getType()), ranked(adaptor.getKey().getType()),
                       ranked(adaptor.getValue().getType())};
  if (Value bias = adaptor.getBias())
    types.bias = ranked(bias.getType());
  return types;
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, AttentionOp::Adaptor adaptor,
                                            SmallVectorImpl<Type> &inferred) {
  AttentionTypes types = typesOf("attention", adaptor);
  if (failed(types.check(loc)))
    return failure();
  inferred.push_back(types.result);
  if (adaptor.getLogSums())
    inferred.push_back(types.sums);
  return success();
}

LogicalResult AttentionGradientOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                    AttentionGradientOp::Adaptor adaptor,
                                                    SmallVectorImpl<Type> &inferred) {
  AttentionTypes types = typesOf("attention_gradient", adaptor);
  if (failed(types.check(loc)))
    return failure();
  if (!agree(adaptor.getCotangent().getType(), types.result)) // C7
    return emitOptionalError(loc, "attention_gradient requires a cotangent of type ", types.result, ", got ",
                             adaptor.getCotangent().getType());
  for (Value sums : {adaptor.getLogSums(), adaptor.getRowSums()})
    if (!agree(sums.getType(), types.sums)) // C8
      return emitOptionalError(loc, "attention_gradient requires log_sums and row_sums of type ", types.sums, ", got ",
                               sums.getType());
  inferred.append({types.query, types.key, types.value});
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

namespace {
/// An attention whose gradient was asked for has a twin with log-sums: one of them computes both.
struct TakeResultOfTwin : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    if (op.getSums())
      return rewriter.notifyMatchFailure(op, "it has log-sums");
    auto isTwin = [&](Operation *user) {
      auto other = dyn_cast<AttentionOp>(user);
      return other && other.getSums() && other->getBlock() == op->getBlock() &&
             llvm::equal(other->getOperands(), op->getOperands()) && other.getScale() == op.getScale() &&
             other.getBefore() == op.getBefore() && other.getAfter() == op.getAfter();
    };
    auto users = op.getQuery().getUsers();
    auto found = llvm::find_if(users, isTwin);
    if (found == users.end())
      return rewriter.notifyMatchFailure(op, "no other op has its operands and log-sums");
    auto twin = cast<AttentionOp>(*found);
    if (op->isBeforeInBlock(twin))
      rewriter.moveOpBefore(twin, op);
    rewriter.replaceOp(op, twin.getResult());
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<TakeResultOfTwin>(context);
}

SmallVector<Dims> AttentionOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getQuery()), sums = dims;
  dims.back() = shapes.dims(getValue()).back();
  sums.pop_back();
  if (getSums())
    return {dims, sums};
  return {dims};
}

SmallVector<Dims> AttentionGradientOp::resultDims(ShapeQuery &shapes) {
  return {shapes.dims(getQuery()), shapes.dims(getKey()), shapes.dims(getValue())};
}

//===- evaluate ------------------------------------------------------------------------------===//

namespace {
/// The rows of an attention, one after another, in f64.
class ReferenceRows {
public:
  template <typename Op>
  ReferenceRows(Op op, ArrayRef<HostTensor> operands, const HostTensor *bias)
      : query(operands[0]), key(operands[1]), rank(query.rank()), m(query.size(rank - 2)), n(key.size(rank - 2)),
        d(query.size(rank - 1)), e(operands[2].size(rank - 1)), q(query.toFloats()), k(key.toFloats()),
        v(operands[2].toFloats()), scale(op.getScale().convertToDouble()),
        before(op.getBefore() ? std::optional<int64_t>(*op.getBefore()) : std::nullopt),
        after(op.getAfter() ? std::optional<int64_t>(*op.getAfter()) : std::nullopt), biasStrides(rank, 0),
        scoresShape(query.shape()) {
    scoresShape.back() = n;
    groups = rank > 2 && key.size(rank - 3) > 0 ? query.size(rank - 3) / key.size(rank - 3) : 1;
    if (!bias)
      return;
    b = bias->toFloats();
    SmallVector<int64_t> strides = bias->strides();
    for (int64_t axis = 0; axis < rank; ++axis)
      biasStrides[axis] = bias->size(axis) == 1 ? 0 : strides[axis];
  }

  /// `body(row)` for all rows, with `scores` set to scale q k^T + bias, until it returns false.
  void forEach(function_ref<bool(int64_t)> body) {
    int64_t row = 0;
    bool goesOn = true;
    forEachOffset(ArrayRef(scoresShape).drop_back(), ArrayRef(biasStrides).drop_back(), [&](int64_t biasRow) {
      if (!goesOn)
        return;
      int64_t i = row % m;
      first = before ? std::clamp<int64_t>(saturatedSub(i, *before), 0, n) : 0;
      end = after ? std::clamp<int64_t>(saturatedAdd(saturatedAdd(i, *after), 1), first, n) : n;
      keys = row / m / groups * n;
      scores.assign(n, -std::numeric_limits<double>::infinity());
      for (int64_t j = first; j < end; ++j) {
        double dot = 0;
        for (int64_t x = 0; x < d; ++x)
          dot += q[row * d + x] * k[(keys + j) * d + x];
        scores[j] = dot * scale + (b.empty() ? 0.0 : b[biasRow + j * biasStrides[rank - 1]]);
      }
      goesOn = body(row++);
    });
  }

  static int64_t saturatedAdd(int64_t x, int64_t y) {
    int64_t sum;
    return __builtin_add_overflow(x, y, &sum) ? (y < 0 ? INT64_MIN : INT64_MAX) : sum;
  }
  static int64_t saturatedSub(int64_t x, int64_t y) {
    int64_t difference;
    return __builtin_sub_overflow(x, y, &difference) ? (y < 0 ? INT64_MAX : INT64_MIN) : difference;
  }

  const HostTensor &query, &key;
  int64_t rank, m, n, d, e, groups = 1;
  std::vector<double> q, k, v, b, scores;
  double scale;
  std::optional<int64_t> before, after;
  SmallVector<int64_t> biasStrides, scoresShape;
  int64_t first = 0, end = 0, keys = 0; // the keys that the row counts; the first key of its head
};
} // namespace

FailureOr<SmallVector<HostTensor>> AttentionOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  SmallVector<int64_t> shape(operands[0].shape()), sumsShape(operands[0].shape().drop_back());
  shape.back() = operands[2].shape().back();
  if (failed(requireRoom(*this, evaluator, Float64Type::get(getContext()), shape))) // as computed
    return failure();
  ReferenceRows rows(*this, operands, getBias() ? &operands[3] : nullptr);
  std::vector<double> result(*countElements(shape), 0), sums(*countElements(sumsShape), 0);
  bool isAffordable = true;
  rows.forEach([&](int64_t row) {
    isAffordable = evaluator.spend(rows.n * (rows.d + rows.e) / 4);
    if (!isAffordable)
      return false;
    double greatest = -std::numeric_limits<double>::infinity(), total = 0;
    for (double score : rows.scores)
      greatest = std::max(greatest, score);
    sums[row] = greatest;
    if (rows.n > 0 && rows.first == rows.end) // 0 / 0
      std::fill_n(result.begin() + row * rows.e, rows.e, std::numeric_limits<double>::quiet_NaN());
    for (int64_t j = rows.first; j < rows.end; ++j)
      total += rows.scores[j] = std::exp(rows.scores[j] - greatest);
    if (!std::isinf(greatest))
      sums[row] += std::log(total);
    for (int64_t j = rows.first; j < rows.end; ++j)
      for (int64_t i = 0; i < rows.e; ++i)
        result[row * rows.e + i] += rows.scores[j] / total * rows.v[(rows.keys + j) * rows.e + i];
    return true;
  });
  if (!isAffordable)
    return outOfSteps(*this);
  SmallVector<HostTensor> results = {tensorOf(operands[0].elementType(), shape, result)};
  if (getSums())
    results.push_back(tensorOf(getElementTypeOrSelf(getSums()), sumsShape, sums));
  return results;
}

FailureOr<SmallVector<HostTensor>> AttentionGradientOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  for (int64_t i = 0; i < 3; ++i)
    if (failed(requireRoom(*this, evaluator, Float64Type::get(getContext()), operands[i].shape()))) // as computed
      return failure();
  ReferenceRows rows(*this, operands, getBias() ? &operands[6] : nullptr);
  std::vector<double> dy = operands[3].toFloats(), rowSums = operands[5].toFloats();
  std::vector<double> dq(rows.q.size(), 0), dk(rows.k.size(), 0), dv(rows.v.size(), 0);
  int64_t d = rows.d, e = rows.e;
  bool isAffordable = true;
  rows.forEach([&](int64_t row) {
    isAffordable = evaluator.spend(rows.n * (3 * d + 2 * e) / 4);
    if (!isAffordable)
      return false;
    double greatest = -std::numeric_limits<double>::infinity(), total = 0;
    for (double score : rows.scores)
      greatest = std::max(greatest, score);
    for (int64_t j = rows.first; j < rows.end; ++j)
      total += rows.scores[j] = std::exp(rows.scores[j] - greatest);
    for (int64_t j = rows.first; j < rows.end; ++j) {
      int64_t at = rows.keys + j;
      double share = rows.scores[j] / total, slope = 0;
      for (int64_t i = 0; i < e; ++i) {
        slope += dy[row * e + i] * rows.v[at * e + i];
        dv[at * e + i] += share * dy[row * e + i];
      }
      slope = rows.scale * share * (slope - rowSums[row]);
      for (int64_t i = 0; i < d; ++i) {
        dq[row * d + i] += slope * rows.k[at * d + i];
        dk[at * d + i] += slope * rows.q[row * d + i];
      }
    }
    return true;
  });
  if (!isAffordable)
    return outOfSteps(*this);
  Type element = operands[0].elementType();
  return SmallVector<HostTensor>{tensorOf(element, operands[0].shape(), dq), tensorOf(element, operands[1].shape(), dk),
                                 tensorOf(element, operands[2].shape(), dv)};
}

//===- decompose -----------------------------------------------------------------------------===//

bool sinter::isAttention(Operation *op) { return isa<AttentionOp, AttentionGradientOp>(op); }

MultipliedParts sinter::multipliedParts(Operation *op) {
  if (isa<AttentionOp>(op))
    return {3, 1}; // the second result is the logarithms of sums
  return {4, 3};   // q, k, v and the cotangent
}

int64_t sinter::headGroups(Type queryType, Type keyType) {
  RankedTensorType query = ranked(queryType), key = ranked(keyType);
  int64_t axis = query.getRank() - 3;
  if (axis < 0 || query.isDynamicDim(axis) || key.isDynamicDim(axis) || key.getDimSize(axis) == 0)
    return 1;
  return query.getDimSize(axis) / key.getDimSize(axis);
}

/// So many rows are worth a conversion of what they all read.
static constexpr int64_t kManyRows = 16;

AttentionSteps::AttentionSteps(Composer &c, Operation *op) : c(c), groups(1) {
  auto read = [&](auto attention) {
    givenQuery = attention.getQuery();
    givenKey = attention.getKey();
    query = widen(attention.getQuery());
    key = widen(attention.getKey());
    value = widen(attention.getValue());
    bias = widen(attention.getBias());
    scale = attention.getScale().convertToDouble();
    if (auto given = attention.getBefore())
      before = static_cast<int64_t>(*given);
    if (auto given = attention.getAfter())
      after = static_cast<int64_t>(*given);
  };
  if (auto attention = dyn_cast<AttentionOp>(op))
    read(attention);
  else
    read(cast<AttentionGradientOp>(op));
  rank = tensorTypeOf(query).getRank();
  groups = headGroups(query.getType(), key.getType());
}

Value AttentionSteps::widen(Value x) const {
  if (!x)
    return x;
  Type element = elementTypeOf(x);
  return c.convert(x, element.getIntOrFloatBitWidth() < 32 ? c.getF32Type() : element);
}

Value AttentionSteps::fold(Value x) const {
  if (groups == 1)
    return x;
  RankedTensorType type = tensorTypeOf(x);
  SmallVector<int64_t> shape(type.getShape());
  shape[rank - 3] /= groups;
  if (!type.isDynamicDim(rank - 2))
    shape[rank - 2] *= groups;
  RankedTensorType folded = RankedTensorType::get(shape, type.getElementType());
  SmallVector<Value> sizes;
  if (needsSizes(folded))
    for (int64_t axis = 0; axis < rank; ++axis) {
      Value size = c.size(x, axis);
      auto number = [&](int64_t value) {
        HostTensor constant(c.getI64Type(), {});
        constant.setInt(0, value);
        return c.make<ConstantOp>(constant.toAttr());
      };
      if (axis == rank - 3)
        size = number(shape[axis]);
      else if (axis == rank - 2)
        size = c.make<MulOp>(size, number(groups));
      sizes.push_back(size);
    }
  return c.reshape(x, folded, sizes);
}

std::optional<int64_t> AttentionSteps::foldedRows() const {
  RankedTensorType type = tensorTypeOf(query);
  if (type.isDynamicDim(rank - 2))
    return std::nullopt;
  return type.getDimSize(rank - 2) * groups;
}

Value AttentionSteps::unfold(Value x) const {
  if (groups == 1)
    return x;
  RankedTensorType type = tensorTypeOf(x), queries = tensorTypeOf(query);
  SmallVector<int64_t> shape(queries.getShape());
  shape.back() = type.getShape().back();
  RankedTensorType unfolded = RankedTensorType::get(shape, type.getElementType());
  SmallVector<Value> sizes;
  if (needsSizes(unfolded)) {
    for (int64_t axis = 0; axis + 1 < rank; ++axis)
      sizes.push_back(c.size(query, axis));
    sizes.push_back(c.size(x, rank - 1));
  }
  return c.reshape(x, unfolded, sizes);
}

Value AttentionSteps::product(Value a, int64_t aAxis, Value b, int64_t bAxis) const {
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
  return c.make<DotGeneralOp>(a, b, batch, batch, aAxis, bAxis, elementTypeOf(query));
}

Value AttentionSteps::timesKeys(Value x, Value y) const { return unfold(product(fold(x), rank - 1, y, rank - 1)); }

Value AttentionSteps::counted(Value x, double otherwise) const {
  if (!before && !after)
    return x;
  RankedTensorType type = RankedTensorType::get(tensorTypeOf(x).getShape(), c.getI64Type());
  Value shape;
  if (!type.hasStaticShape())
    shape = c.make<ShapeOp>(x);
  Value distance = c.make<SubOp>(c.make<IotaOp>(shape, rank - 1, type), c.make<IotaOp>(shape, rank - 2, type)), counts;
  auto require = [&](CompareKind kind, int64_t bound) {
    HostTensor number(c.getI64Type(), {});
    number.setInt(0, bound);
    Value holds = c.make<CompareOp>(distance, c.spread(c.make<ConstantOp>(number.toAttr()), distance, {}), kind);
    counts = counts ? c.make<AndOp>(counts, holds) : holds;
  };
  if (after)
    require(CompareKind::le, *after);
  if (before)
    require(CompareKind::ge, *before == INT64_MIN ? INT64_MAX : -*before);
  return c.make<SelectOp>(counts, x, c.fill(otherwise, x));
}

Value AttentionSteps::scores() const {
  Value scores = timesKeys(givenQuery, givenKey); // sums are as wide as `query`
  scores = c.make<MulOp>(scores, c.fill(scale, scores));
  if (bias)
    scores = c.make<AddOp>(scores, c.spread(bias, scores, llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  return counted(scores, -std::numeric_limits<double>::infinity());
}

Value AttentionSteps::shares() const { return c.make<SoftmaxOp>(scores(), rank - 1); }

/// The same value rounded to the op's element type, with the op's type.
static Value finish(Composer &c, Value value, Value result) {
  return c.retype(c.convert(value, elementTypeOf(result)), result.getType());
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  AttentionSteps steps(c, *this);
  int64_t last = steps.rank - 1;
  Value scores = steps.scores(), shares = c.make<SoftmaxOp>(scores, last);
  // Few rows wait for the memory of values, which bf16 leaves as exactly as f32.
  std::optional<int64_t> rows = steps.foldedRows();
  bool isNarrow = rows && *rows < kManyRows && elementTypeOf(getValue()).isBF16();
  Value value = isNarrow ? getValue() : steps.value;
  Value result = steps.unfold(steps.product(steps.fold(shares), last, value, last - 1));
  SmallVector<Value> results = {finish(c, result, getResult())};
  if (!getSums())
    return results;
  // greatest + log(sum(exp(s - greatest))), where -inf stays.
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, last));
  Value greatest = c.reduce(scores, last, Combiner::max);
  Value never = c.fill(-std::numeric_limits<double>::infinity(), greatest);
  Value shift = c.make<SelectOp>(c.make<CompareOp>(greatest, never, CompareKind::eq), c.fill(0, greatest), greatest);
  Value exponentials = c.make<ExpOp>(c.make<SubOp>(scores, c.spread(shift, scores, leading)));
  Value sums = c.make<AddOp>(shift, c.make<LogOp>(c.reduce(exponentials, last, Combiner::add)));
  results.push_back(finish(c, sums, getSums()));
  return results;
}

/// By the softmax, which is the value that a decomposed attention forms, too.
FailureOr<SmallVector<Value>> AttentionGradientOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  AttentionSteps steps(c, *this);
  int64_t last = steps.rank - 1, rows = last - 1;
  Value shares = steps.shares(), dy = steps.widen(getCotangent());
  Value slopes = steps.timesKeys(dy, steps.value);
  Value offsets = c.spread(steps.widen(getRowSums()), slopes, llvm::to_vector(llvm::seq<int64_t>(0, last)));
  slopes = c.make<MulOp>(shares, c.make<SubOp>(slopes, offsets));
  slopes = steps.fold(c.make<MulOp>(c.fill(steps.scale, slopes), slopes));
  return SmallVector<Value>{
      finish(c, steps.unfold(steps.product(slopes, last, steps.key, rows)), getQueryGradient()),
      finish(c, steps.product(slopes, rows, steps.fold(steps.query), rows), getKeyGradient()),
      finish(c, steps.product(steps.fold(shares), rows, steps.fold(dy), rows), getValueGradient())};
}
