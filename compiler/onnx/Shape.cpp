// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants, and shapes: what they are, and the same elements under another.

#include "compiler/onnx/Limits.h"
#include "compiler/onnx/OpImport.h"
#include "ir/Checks.h"

using namespace mlir;

namespace sinter::onnx {

//===--- constants ----------------------------------------------------------------------------------------------===//

static LogicalResult importConstant(OpImport &n) {
  if (const onnxfile::Attribute *value = n.attribute("value"))
    return n.out(n.constantOf(value->t(), "value"));
  if (const onnxfile::Attribute *value = n.attribute("value_int"))
    return n.out(n.scalarInt(value->i()));
  if (std::optional<SmallVector<int64_t>> values = n.intsAttr("value_ints"))
    return n.out(n.ints(*values));
  if (const onnxfile::Attribute *value = n.attribute("value_float"))
    return n.out(n.scalar(n.b.getF32Type(), double(value->f())));
  if (std::optional<SmallVector<double>> values = n.floatsAttr("value_floats"))
    return n.out(n.floats(n.b.getF32Type(), *values));
  for (StringRef name : {"sparse_value", "value_string", "value_strings"})
    if (n.attribute(name))
      return n.unsupported("attribute '" + name + "'");
  return n.error("requires an attribute 'value', found none");
}

/// A rank-1 tensor as sizes. Fails if its length is not known.
static FailureOr<SmallVector<Size>> sizesOf(OpImport &n, Value shape) {
  shape = n.convert(shape, n.b.getI64Type());
  std::optional<SmallVector<int64_t>> known = n.partlyKnownInts(shape);
  if (!known)
    return n.unsupported("a shape operand of unknown length");
  SmallVector<Size> sizes;
  for (auto [k, size] : llvm::enumerate(*known)) {
    if (ShapedType::isDynamic(size))
      sizes.push_back({size, n.slice(shape, 0, int64_t(k), int64_t(k) + 1)});
    else if (size < 0)
      return n.error("requires sizes of at least 0, found " + Twine(size));
    else
      sizes.push_back({size, {}});
  }
  return sizes;
}

static LogicalResult importConstantOfShape(OpImport &n) {
  Value value;
  if (const onnxfile::Attribute *given = n.attribute("value")) {
    value = n.constantOf(given->t(), "value");
    if (!value)
      return failure();
    value = n.reshape(value, {});
  } else {
    value = n.scalar(n.b.getF32Type(), 0);
  }
  FailureOr<SmallVector<Size>> sizes = sizesOf(n, n.in(0));
  return failed(sizes) ? failure() : n.out(n.spread(value, *sizes));
}

static LogicalResult importRange(OpImport &n) {
  Value start = n.reshape(n.in(0), {}), limit = n.reshape(n.in(1), {});
  Value delta =
      n.in(2) || n.failed() ? n.reshape(n.in(2), {}) : n.scalar(n.elem(start), 1); // onnxruntime's may lack it
  Type type = n.elem(start);
  std::optional<double> first = n.knownScalar(start), last = n.knownScalar(limit), step = n.knownScalar(delta);
  Size size;
  if (first && last && step) {
    double count = *step == 0 ? 0 : std::ceil((*last - *first) / *step);
    if (!(count < double(int64_t(1) << 40)))
      return n.error("requires fewer than 2^40 elements, found more");
    size.known = count > 0 ? int64_t(count) : 0;
  } else if (isa<IntegerType>(type) && first && step && *first == 0 && *step == 1) {
    size.tensor = n.reshape(n.max(n.convert(limit, n.b.getI64Type()), 0), {1}); // stays an expression of sizes
  } else {
    Type wide = n.b.getF64Type();
    Value count = n.make<CeilOp>(n.div(n.sub(n.convert(limit, wide), n.convert(start, wide)), n.convert(delta, wide)));
    size.tensor = n.reshape(n.max(n.convert(count, n.b.getI64Type()), 0), {1});
  }
  if (n.failed())
    return failure();
  Value steps = n.make<IotaOp>(size.tensor, int64_t(0), RankedTensorType::get({size.known}, type));
  if (step && *step == 1 && first && *first == 0)
    return n.out(steps);
  return n.out(n.add(n.mul(steps, delta), start));
}

static LogicalResult importEyeLike(OpImport &n) {
  Value x = n.in(0);
  if (n.rank(x) != 2)
    return n.error("requires an operand of rank 2, found " + printShape(n.dims(x)));
  Type type = n.attribute("dtype") ? n.elementType(n.intAttr("dtype", 0)) : n.elem(x);
  if (!type)
    return failure();
  Value offset = n.sub(n.positions(x, 1), n.positions(x, 0));
  return n.out(n.convert(n.compare(CompareKind::eq, offset, double(n.intAttr("k", 0))), type));
}

static LogicalResult importTrilu(OpImport &n) {
  Value x = n.in(0);
  int64_t rank = n.rank(x);
  if (rank < 2)
    return n.error("requires an operand of rank 2 at least, found " + printShape(n.dims(x)));
  Value offset = n.sub(n.positions(x, rank - 1), n.positions(x, rank - 2));
  Value diagonal = n.in(1) ? n.reshape(n.convert(n.in(1), n.b.getI64Type()), {}) : n.scalarInt(0);
  CompareKind kind = n.intAttr("upper", 1) ? CompareKind::ge : CompareKind::le;
  return n.out(n.select(n.compare(kind, offset, diagonal), x, n.scalar(n.elem(x), 0)));
}

//===--- shapes -------------------------------------------------------------------------------------------------===//

static LogicalResult importShape(OpImport &n) {
  Value shape = n.shapeOf(n.in(0));
  n.noteSizes(n.in(0));
  int64_t rank = n.rank(n.in(0)), start = n.intAttr("start", 0), end = n.intAttr("end", rank);
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  start = clamp(start);
  end = std::max(clamp(end), start);
  return n.out(start == 0 && end == rank ? shape : n.slice(shape, 0, start, end));
}

namespace {
/// A product of sizes: a number and what is known at run time only.
struct Factors {
  int64_t number = 1;
  Dims open;
};
} // namespace

/// Nothing where the number is too large.
static std::optional<Factors> factorsOf(ArrayRef<DimExpr> sizes) {
  Factors result;
  for (DimExpr size : sizes) {
    bool isProduct = size.kind() == DimExpr::Kind::Mul;
    for (DimExpr factor : isProduct ? size.operands() : ArrayRef(size)) {
      if (!factor.isConstant())
        result.open.push_back(factor);
      else if (__builtin_mul_overflow(result.number, factor.constant(), &result.number))
        return std::nullopt;
    }
  }
  return result;
}

/// The size that -1 stands for: the sizes of `value` that are left after those of the result are cancelled. Where a
/// cancelled one is 0 at run time, there is no element, and the size may be any. Nothing where sizes of the result
/// remain.
static std::optional<Size> solveForSize(OpImport &n, Value value, ArrayRef<DimExpr> others) {
  Dims own = n.symbolicSizes(value);
  std::optional<Factors> left = factorsOf(own), cancelled = factorsOf(others);
  if (!left || !cancelled)
    return std::nullopt;
  for (DimExpr factor : cancelled->open) {
    auto *same = llvm::find(left->open, factor);
    if (same == left->open.end())
      return std::nullopt;
    left->open.erase(same);
  }
  if (cancelled->number <= 0 || left->number % cancelled->number != 0)
    return std::nullopt;
  Size result = n.fixed(left->number / cancelled->number);
  for (DimExpr factor : left->open) {
    // An axis that is the operand's is read from it, as whoever wrote the graph would.
    auto *axis = llvm::find(own, factor);
    std::optional<Size> size = axis != own.end() ? n.sizeOf(value, axis - own.begin()) : n.sizeOf(factor);
    if (!size)
      return std::nullopt;
    result = n.times(result, *size);
  }
  return result;
}

/// Entries of `target` may be -1 or 0 at run time, so the graph works out what they stand for.
static LogicalResult reshapeAtRunTime(OpImport &n, Value x, Value target, ArrayRef<Size> sizes, bool keepZero) {
  int64_t rank = int64_t(sizes.size());
  Value shape = target;
  if (!keepZero) {
    Value copied = n.shapeOf(x);
    if (n.rank(x) > rank)
      copied = n.slice(copied, 0, 0, rank);
    else if (n.rank(x) < rank)
      copied = n.concat({copied, n.ints(SmallVector<int64_t>(size_t(rank - n.rank(x)), 0))}, 0);
    shape = n.select(n.compare(CompareKind::eq, shape, 0), copied, shape);
  }
  Value isOpen = n.compare(CompareKind::eq, shape, -1);
  Value others = n.reduce(Combiner::mul, n.select(isOpen, 1, shape), {0}, false);
  if (n.failed())
    return failure();
  shape = n.select(isOpen, n.div(n.count(x), n.max(others, 1)), shape);
  SmallVector<int64_t> result;
  for (auto [k, size] : llvm::enumerate(sizes))
    result.push_back(size.known == -1 ? ShapedType::kDynamic : size.known);
  return n.out(n.make<ReshapeOp>(x, shape, RankedTensorType::get(result, n.elem(x))));
}

/// The size that stands for -1, entry `inferred` of `target`; `sizes` are the others, also as `expressions`.
static FailureOr<Size> inferSize(OpImport &n, Value x, ArrayRef<int64_t> target, size_t inferred, ArrayRef<Size> sizes,
                                 const Dims &expressions) {
  if (llvm::all_of(expressions, [](DimExpr expression) { return bool(expression); }))
    if (std::optional<Size> solved = solveForSize(n, x, expressions))
      return *solved;
  Size product = n.fixed(1);
  for (auto [k, size] : llvm::enumerate(sizes))
    if (k != inferred)
      product = n.times(product, size);
  std::optional<int64_t> total = countElements(n.dims(x));
  if (total && product.isKnown()) {
    if (product.known == 0 || *total % product.known != 0)
      return n.error("requires a shape that " + Twine(*total) + " elements fit in, found " + printShape(target));
    return n.fixed(*total / product.known);
  }
  Value others = product.isKnown() ? n.ints({product.known}) : product.tensor;
  return Size{ShapedType::kDynamic, n.div(n.reshape(n.count(x), {1}), n.max(others, 1))};
}

/// `x`, if it has as many elements as the given sizes say: a reshape with one open size takes what fits.
static Value requireCount(OpImport &n, Value x, ArrayRef<Size> sizes, const Dims &own, const Dims &expressions) {
  int64_t open = llvm::count_if(sizes, [](Size size) { return !size.isKnown(); });
  if (open != 1 || n.haveSameCount(own, expressions))
    return x;
  Value found = n.reduce(Combiner::mul, n.shapeTensor(sizes), {0}, false), wanted = n.count(x);
  if (n.failed())
    return x;
  return n.make<RequireOp>(n.compare(CompareKind::eq, found, wanted), x, found, wanted,
                           "reshape got sizes for {} elements, requires such for {}");
}

static LogicalResult importReshape(OpImport &n) {
  Value x = n.in(0);
  bool keepZero = n.intAttr("allowzero", 0) != 0;
  Value target;
  if (n.version < 5)
    target = n.ints(n.intsAttr("shape").value_or(SmallVector<int64_t>()));
  else if (n.in(1))
    target = n.convert(n.in(1), n.b.getI64Type());
  else
    return n.error("requires a shape, found none");
  std::optional<SmallVector<int64_t>> known = n.partlyKnownInts(target);
  if (!known)
    return n.unsupported("a shape operand of unknown length");
  if (int64_t(known->size()) > kMaxRank)
    return n.error("requires a rank of at most " + Twine(kMaxRank) + " (kMaxRank), found " + Twine(known->size()));
  std::optional<Dims> contents = n.symbolicContents(target);
  Dims own = n.symbolicSizes(x);

  // what each entry means; `open` entries may still be -1 or 0 at run time
  SmallVector<Size> sizes;
  Dims expressions;
  int64_t inferred = -1;
  bool open = false;
  for (auto [k, size] : llvm::enumerate(*known)) {
    if (ShapedType::isDynamic(size)) {
      open |= !contents || !n.isSize((*contents)[k]);
      sizes.push_back({size, n.slice(target, 0, int64_t(k), int64_t(k) + 1)});
      expressions.push_back(contents ? (*contents)[k] : DimExpr());
    } else if (size == -1) {
      if (inferred >= 0)
        return n.error("requires at most one size of -1, found two");
      inferred = int64_t(k);
      sizes.push_back({size, {}});
    } else if (size == 0 && !keepZero) {
      if (int64_t(k) >= n.rank(x))
        return n.error("requires an axis " + Twine(k) + " to copy the size of, found " + printShape(n.dims(x)));
      sizes.push_back(n.sizeOf(x, int64_t(k)));
      expressions.push_back(own[k]);
    } else if (size < 0) {
      return n.error("requires sizes of at least -1, found " + Twine(size));
    } else {
      sizes.push_back(n.fixed(size));
      expressions.push_back(contents ? (*contents)[k] : DimExpr());
    }
  }

  if (open)
    return reshapeAtRunTime(n, x, target, sizes, keepZero);
  if (inferred >= 0) {
    FailureOr<Size> size = inferSize(n, x, *known, size_t(inferred), sizes, expressions);
    if (failed(size))
      return failure();
    sizes[inferred] = *size;
  }
  if (inferred < 0)
    x = requireCount(n, x, sizes, own, expressions);
  return n.out(n.reshapeSizes(x, sizes));
}

static LogicalResult importFlatten(OpImport &n) {
  int64_t rank = n.rank(n.in(0)), axis = n.intAttr("axis", 1);
  if (axis < -rank || axis > rank)
    return n.error("requires an axis in [" + Twine(-rank) + ", " + Twine(rank) + "], found " + Twine(axis));
  return n.out(n.flatten(n.in(0), axis < 0 ? axis + rank : axis));
}

/// Axes from an attribute in old operator sets and from an input since.
static FailureOr<std::optional<SmallVector<int64_t>>> axesOf(OpImport &n, int64_t inputSince, unsigned input) {
  if (n.version < inputSince)
    return n.intsAttr("axes");
  if (!n.in(input))
    return std::optional<SmallVector<int64_t>>();
  std::optional<SmallVector<int64_t>> axes = n.knownInts(n.in(input));
  if (!axes)
    return n.unsupported("axes that are known only at run time");
  return axes;
}

/// True for each of `rank` axes that is among `axes`, which are known at run time only.
static Value isAmong(OpImport &n, Value axes, int64_t rank) {
  axes = n.convert(axes, n.b.getI64Type());
  axes = n.select(n.compare(CompareKind::lt, axes, 0), n.add(axes, double(rank)), axes);
  Value all = n.ints(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  Value equal = n.compare(CompareKind::eq, n.unsqueeze(all, {1}), n.unsqueeze(axes, {0}));
  return n.reduce(Combiner::logical_or, equal, {1}, false);
}

/// Squeeze by axes that come at run time: the kept axes first, in their order, is what a stable sort of the marks
/// gives.
static LogicalResult squeezeAtRunTime(OpImport &n, Value x, Value axes) {
  int64_t rank = n.rank(x), kept = rank - n.size(axes, 0);
  if (kept < 0)
    return n.error("requires at most " + Twine(rank) + " axes, found " + Twine(n.size(axes, 0)));
  Value marks = n.convert(isAmong(n, axes, rank), n.b.getI32Type());
  Value order = n.makeAll<SortOp>(2, marks, int64_t(0), false)[1];
  Value shape = n.gather(n.shapeOf(x), n.slice(order, 0, 0, kept), 0);
  return n.out(n.reshapeTo(x, shape));
}

/// Unsqueeze by axes that come at run time: a size of 1 where marked, else the next of the operand.
static LogicalResult unsqueezeAtRunTime(OpImport &n, Value x, Value axes) {
  int64_t rank = n.rank(x) + n.size(axes, 0);
  Value marked = isAmong(n, axes, rank);
  Value taken = n.make<CumulativeOp>(n.convert(n.make<NotOp>(marked), n.b.getI64Type()), int64_t(0), Combiner::add,
                                     /*exclusive=*/true, /*reverse=*/false);
  Value sizes = n.concat({n.shapeOf(x), n.ints({1})}, 0); // so that there is one to read in rank 0
  return n.out(n.reshapeTo(x, n.select(marked, 1, n.gather(sizes, taken, 0))));
}

static bool comeAtRunTime(OpImport &n, Value axes) {
  return axes && n.version >= 13 && !n.knownInts(axes) && n.rank(axes) == 1 && !ShapedType::isDynamic(n.size(axes, 0));
}

static LogicalResult importSqueeze(OpImport &n) {
  Value x = n.in(0);
  if (comeAtRunTime(n, n.in(1)))
    return squeezeAtRunTime(n, x, n.in(1));
  FailureOr<std::optional<SmallVector<int64_t>>> given = axesOf(n, 13, 1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    axes = **given;
    if (failed(n.normalizeAxes(axes, n.rank(x))))
      return failure();
  } else {
    for (int64_t axis = 0; axis < n.rank(x); ++axis) {
      if (ShapedType::isDynamic(n.size(x, axis)))
        return n.unsupported("an absent list of axes with a size known only at run time");
      if (n.size(x, axis) == 1)
        axes.push_back(axis);
    }
  }
  return n.out(n.squeeze(x, axes));
}

static LogicalResult importUnsqueeze(OpImport &n) {
  if (comeAtRunTime(n, n.in(1)))
    return unsqueezeAtRunTime(n, n.in(0), n.in(1));
  FailureOr<std::optional<SmallVector<int64_t>>> given = axesOf(n, 13, 1);
  if (failed(given))
    return failure();
  if (!*given)
    return n.error("requires axes, found none");
  SmallVector<int64_t> axes = **given;
  if (failed(n.normalizeAxes(axes, n.rank(n.in(0)) + int64_t(axes.size()))))
    return failure();
  return n.out(n.unsqueeze(n.in(0), axes));
}

static LogicalResult importExpand(OpImport &n) {
  return n.out(n.expand(n.in(0), n.convert(n.in(1), n.b.getI64Type())));
}

/// One more axis of size 1, where the second input says.
static LogicalResult importExpandDims(OpImport &n) {
  Value x = n.in(0);
  std::optional<SmallVector<int64_t>> axes = n.knownInts(n.in(1));
  if (!axes || axes->size() != 1)
    return n.unsupported("an axis that is known only at run time");
  if (failed(n.normalizeAxes(*axes, n.rank(x) + 1)))
    return failure();
  return n.out(n.unsqueeze(x, *axes));
}

void registerShape(Registry &r) {
  r.add("Constant", 1, 0, importConstant);
  r.add("ConstantOfShape", 9, 1, importConstantOfShape);
  r.add("Range", 11, 3, importRange);
  r.add("EyeLike", 9, 1, importEyeLike);
  r.add("Trilu", 14, 1, importTrilu);
  r.addContrib("Range", 2, importRange);
  r.addContrib("Trilu", 1, importTrilu);
  r.addContrib("ExpandDims", 2, importExpandDims);
  r.add("Shape", 1, 1, importShape);
  r.add("Size", 1, 1, [](OpImport &n) { return n.out(n.count(n.in(0))); });
  r.add("Reshape", 1, 1, importReshape);
  r.add("Flatten", 1, 1, importFlatten);
  r.add("Squeeze", 1, 1, importSqueeze);
  r.add("Unsqueeze", 1, 1, importUnsqueeze);
  r.add("Expand", 8, 2, importExpand);
}

} // namespace sinter::onnx
