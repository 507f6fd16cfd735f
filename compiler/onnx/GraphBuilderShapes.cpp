// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasting and sizes: what ONNX leaves to the run, worked out in the graph where it is not known at import.

#include "compiler/onnx/GraphBuilder.h"
#include "ir/Ranges.h"
#include "ir/SizeArithmetic.h"

using namespace mlir;

namespace sinter::onnx {

//===--- broadcasting -----------------------------------------------------------------------------------------===//

/// Sizes as a rank-1 tensor of length `rank`, with ones in front.
static Value paddedShape(GraphBuilder &g, Value value, int64_t rank) {
  Value shape = g.shapeOf(value);
  int64_t missing = rank - g.rank(value);
  return missing > 0 ? g.concat({g.ints(SmallVector<int64_t>(size_t(missing), 1)), shape}, 0) : shape;
}

bool GraphBuilder::broadcastTogether(MutableArrayRef<Value> values) {
  if (failure)
    return false;
  int64_t resultRank = 0;
  for (Value value : values)
    resultRank = std::max(resultRank, rank(value));

  // for each result axis its size, and of the dynamic sizes that decide it whether they are surely one
  SmallVector<int64_t> sizes(size_t(resultRank), 1);
  SmallVector<DimExpr> symbols;
  symbols.resize(size_t(resultRank));
  bool ambiguous = false;
  SmallVector<Dims> expressions;
  for (Value value : values)
    expressions.push_back(isStatic(value) ? Dims() : shapes.dims(value));
  for (int64_t axis = 0; axis < resultRank; ++axis) {
    for (Value value : values) {
      int64_t own = axis - (resultRank - rank(value));
      if (own < 0 || ShapedType::isDynamic(dims(value)[own]) || dims(value)[own] == 1)
        continue;
      if (sizes[axis] != 1 && sizes[axis] != dims(value)[own]) {
        (void)error("requires shapes that broadcast, found " + printShape(dims(values.front())) + " and " +
                    printShape(dims(value)));
        return false;
      }
      sizes[axis] = dims(value)[own];
    }
    if (sizes[axis] != 1)
      continue;
    for (auto [value, expression] : llvm::zip(values, expressions)) {
      int64_t own = axis - (resultRank - rank(value));
      if (own < 0 || !ShapedType::isDynamic(dims(value)[own]))
        continue;
      if (symbols[axis] && symbols[axis] != expression[own])
        ambiguous = true;
      symbols[axis] = expression[own];
      sizes[axis] = ShapedType::kDynamic;
    }
  }

  // one value that has all dynamic sizes of the result lends them to the others
  Value like;
  for (Value value : values)
    if (rank(value) == resultRank && llvm::all_of(llvm::zip(sizes, dims(value)), [](auto pair) {
          return !ShapedType::isDynamic(std::get<0>(pair)) || ShapedType::isDynamic(std::get<1>(pair));
        })) {
      like = value;
      break;
    }
  bool hasDynamic = llvm::any_of(sizes, ShapedType::isDynamic);
  Value shape;
  if (hasDynamic && (ambiguous || !like)) {
    for (Value value : values) {
      Value own = paddedShape(*this, value, resultRank);
      shape = shape ? select(compare(CompareKind::eq, shape, 1), own, shape) : own;
    }
    if (failure)
      return false;
  }
  for (Value &value : values) {
    auto resultType = RankedTensorType::get(sizes, elem(value));
    if (value.getType() == resultType && !ambiguous)
      continue;
    SmallVector<int64_t> axes;
    for (int64_t k = 0; k < rank(value); ++k)
      axes.push_back(resultRank - rank(value) + k);
    SmallVector<Value> likes;
    if (hasDynamic && !shape)
      likes.push_back(like);
    value = make<BroadcastOp>(value, shape, ValueRange(likes), axes, resultType);
  }
  return !failure;
}

Value GraphBuilder::broadcastLike(Value value, Value like, ArrayRef<int64_t> axes) {
  if (failure)
    return {};
  SmallVector<int64_t> where(axes);
  if (axes.empty())
    for (int64_t k = 0; k < rank(value); ++k)
      where.push_back(rank(like) - rank(value) + k);
  auto resultType = RankedTensorType::get(dims(like), elem(value));
  if (value.getType() == resultType && resultType.hasStaticShape())
    return value;
  SmallVector<Value> likes;
  if (!resultType.hasStaticShape())
    likes.push_back(like);
  return make<BroadcastOp>(value, Value(), ValueRange(likes), where, resultType);
}

Value GraphBuilder::expand(Value value, Value shape) {
  if (failure)
    return {};
  std::optional<SmallVector<int64_t>> target = partlyKnownInts(shape);
  if (!target) {
    (void)unsupported("a shape operand of unknown length");
    return {};
  }
  int64_t resultRank = std::max<int64_t>(rank(value), int64_t(target->size()));
  int64_t missing = resultRank - int64_t(target->size());
  target->insert(target->begin(), size_t(missing), 1);
  int64_t lead = resultRank - rank(value);
  SmallVector<int64_t> sizes, axes;
  bool needsShape = false;
  for (int64_t axis = 0; axis < resultRank; ++axis) {
    int64_t want = (*target)[axis];
    int64_t own = axis < lead ? 1 : dims(value)[axis - lead];
    if (axis >= lead)
      axes.push_back(axis);
    int64_t size = want == 1 ? own : own == 1 ? want : ShapedType::isDynamic(want) ? own : want;
    if (own != 1 && want != 1 && !ShapedType::isDynamic(own) && !ShapedType::isDynamic(want) && own != want) {
      (void)error("requires shapes that broadcast, found " + printShape(dims(value)) + " and " + printShape(*target));
      return {};
    }
    sizes.push_back(size);
    if (ShapedType::isDynamic(size) && want != 1)
      needsShape = true;
  }
  auto resultType = RankedTensorType::get(sizes, elem(value));
  Value full;
  if (needsShape) {
    full = convert(shape, b.getI64Type());
    if (missing > 0)
      full = concat({ints(SmallVector<int64_t>(size_t(missing), 1)), full}, 0);
  }
  return make<BroadcastOp>(value, full, ValueRange(), axes, resultType);
}

//===--- sizes ------------------------------------------------------------------------------------------------===//

Value GraphBuilder::shapeOf(Value value) { return make<ShapeOp>(value); }

Value GraphBuilder::dim(Value value, int64_t axis) {
  if (!ShapedType::isDynamic(size(value, axis)))
    return scalarInt(size(value, axis));
  return make<DimOp>(value, axis);
}

Value GraphBuilder::count(Value value) {
  if (isStatic(value))
    return scalarInt(type(value).getNumElements());
  return reduce(Combiner::mul, shapeOf(value), {0}, false);
}

Size GraphBuilder::sizeOf(Value value, int64_t axis) {
  if (failure || !ShapedType::isDynamic(size(value, axis)))
    return {failure ? 1 : size(value, axis), {}};
  return {ShapedType::kDynamic, slice(shapeOf(value), 0, axis, axis + 1)};
}

static Value sizeValue(GraphBuilder &g, Size size) { return size.isKnown() ? g.ints({size.known}) : size.tensor; }

Size GraphBuilder::times(Size a, Size b) {
  if (a.isKnown() && b.isKnown())
    return {saturatingMul(a.known, b.known), {}};
  if (a.isKnown() && a.known == 1)
    return b;
  if (b.isKnown() && b.known == 1)
    return a;
  return {ShapedType::kDynamic, mul(sizeValue(*this, a), sizeValue(*this, b))};
}

Size GraphBuilder::over(Size a, int64_t divisor) {
  if (a.isKnown())
    return {divisor == 0 ? 0 : a.known / divisor, {}};
  return divisor == 1 ? a : Size{ShapedType::kDynamic, div(a.tensor, ints({divisor}))};
}

Size GraphBuilder::plus(Size a, int64_t addend) {
  if (a.isKnown())
    return {saturatingAdd(a.known, addend), {}};
  return addend == 0 ? a : Size{ShapedType::kDynamic, add(a.tensor, ints({addend}))};
}

std::optional<Size> GraphBuilder::sizeOf(DimExpr expression) {
  DimContext &context = shapes.context();
  bool areVisible = true, areExact = true;
  DimContext::forEachSymbol(expression, [&](unsigned symbol) {
    SymbolSource source = context.source(symbol);
    areVisible &= source.kind == SymbolSource::Kind::Size && source.value &&
                  source.value.getParentBlock() == b.getInsertionBlock();
  });
  if (failure || !areVisible)
    return std::nullopt;
  llvm::DenseMap<const void *, Value> made;
  auto leaf = [&](DimExpr part) {
    if (part.isConstant())
      return ints({part.constant()});
    SymbolSource source = context.source(part.symbol());
    return sizeValue(*this, sizeOf(source.value, source.axis));
  };
  auto combine = [&](DimExpr::Kind kind, SizeNumber<Value> x, SizeNumber<Value> y) -> SizeNumber<Value> {
    if (kind == DimExpr::Kind::Mul)
      return {mul(x.value, y.value)};
    if (kind == DimExpr::Kind::Add)
      return {add(x.value, y.value)};
    // A quotient of what is not negative by what is not 0: both roundings are one.
    areExact &= kind == DimExpr::Kind::FloorDiv && x.low >= 0 && y.low >= 1;
    return areExact ? SizeNumber<Value>{div(x.value, y.value)} : x;
  };
  Value value = buildSize<Value>(
      context, expression, [&](DimExpr part) { return made.lookup(part.getOpaqueValue()); },
      [&](DimExpr part, Value built) { made[part.getOpaqueValue()] = built; }, leaf, combine);
  return areExact ? std::optional<Size>({ShapedType::kDynamic, value}) : std::nullopt;
}

Value GraphBuilder::shapeTensor(ArrayRef<Size> sizes) {
  if (sizes.empty())
    return ints({});
  SmallVector<Value> parts;
  SmallVector<int64_t> run;
  for (Size size : sizes) {
    if (size.isKnown()) {
      run.push_back(size.known);
      continue;
    }
    if (!run.empty())
      parts.push_back(ints(run));
    run.clear();
    parts.push_back(size.tensor);
  }
  if (!run.empty())
    parts.push_back(ints(run));
  return concat(parts, 0);
}

bool GraphBuilder::isSize(DimExpr expression, const llvm::DenseSet<const void *> &known) {
  if (expression.isConstant() || known.contains(expression.getOpaqueValue()))
    return true;
  if (expression.kind() == DimExpr::Kind::Symbol)
    return shapes.context().source(expression.symbol()).kind == SymbolSource::Kind::Size;
  return llvm::all_of(expression.operands(), [&](DimExpr operand) { return isSize(operand, known); });
}

bool GraphBuilder::haveSameCount(const Dims &a, const Dims &b) {
  auto isKnown = [](DimExpr size) { return bool(size); };
  return llvm::all_of(a, isKnown) && llvm::all_of(b, isKnown) &&
         shapes.context().product(a) == shapes.context().product(b);
}

Value GraphBuilder::reshapeSizes(Value value, ArrayRef<Size> sizes) {
  if (failure)
    return {};
  SmallVector<int64_t> result;
  for (Size size : sizes)
    result.push_back(size.known);
  auto resultType = RankedTensorType::get(result, elem(value));
  if (resultType.hasStaticShape() && value.getType() == resultType)
    return value;
  return make<ReshapeOp>(value, needsSizes(resultType) ? shapeTensor(sizes) : Value(), resultType);
}

Value GraphBuilder::spread(Value scalar, ArrayRef<Size> sizes) {
  if (failure)
    return {};
  SmallVector<int64_t> result;
  for (Size size : sizes)
    result.push_back(size.known);
  auto resultType = RankedTensorType::get(result, elem(scalar));
  return make<BroadcastOp>(scalar, resultType.hasStaticShape() ? Value() : shapeTensor(sizes), ValueRange(),
                           ArrayRef<int64_t>(), resultType);
}

} // namespace sinter::onnx
