// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asks each op's SymbolicShape and SymbolicContents, and knows by itself what needs no op: static types, function
// arguments and captures, pointwise ops, and integer arithmetic on contents.

#include "ir/Constants.h"
#include "ir/Control.h"
#include "ir/Dialect.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Kernel.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"
#include "ir/reference/Evaluator.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;

/// Largest integer tensor whose elements are followed.
static constexpr int64_t kMaxContents = 64;

ShapeAnalysis::ShapeAnalysis(DimContext &context) : ctx(context) {}

/// Sizes of a static shape; empty entries for `?`.
static Dims staticDims(DimContext &ctx, RankedTensorType type) {
  Dims dims;
  for (int64_t size : type.getShape())
    dims.push_back(ShapedType::isDynamic(size) ? DimExpr() : ctx.constant(size));
  return dims;
}

/// The value outside of a control flow op or kernel that a region argument always equals, if any.
static Value capturedValue(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (!parent || !argument.getOwner()->isEntryBlock())
    return nullptr;
  int64_t number = argument.getArgNumber();
  auto captured = [&](int64_t before, OperandRange captures) -> Value {
    int64_t k = number - before;
    return k >= 0 && k < static_cast<int64_t>(captures.size()) ? captures[k] : Value();
  };
  return llvm::TypeSwitch<Operation *, Value>(parent)
      .Case([&](CondOp op) { return captured(0, op.getCaptures()); })
      .Case([&](SwitchOp op) { return captured(0, op.getCaptures()); })
      .Case([&](WhileOp op) { return captured(op.getInit().size(), op.getCaptures()); })
      .Case([&](ForOp op) { return captured(1 + op.getInit().size(), op.getCaptures()); })
      .Case([&](ScanOp op) { return captured(op.getInit().size() + op.getSequences().size(), op.getCaptures()); })
      .Case([&](KernelOp op) { return captured(0, op.getInputs()); })
      .Default([](Operation *) { return Value(); });
}

Dims ShapeAnalysis::freshDims(Value value) {
  Dims dims = staticDims(ctx, cast<RankedTensorType>(value.getType()));
  for (auto [axis, size] : llvm::enumerate(dims))
    if (!size)
      size = ctx.symbol({SymbolSource::Kind::Size, value, static_cast<int64_t>(axis)});
  return dims;
}

/// Sizes that a function argument's `sinter.dims` gives: the first argument and axis of a name is its symbol's source.
static Dims namedDims(DimContext &ctx, FunctionOpInterface function, BlockArgument argument) {
  Dims dims = staticDims(ctx, cast<RankedTensorType>(argument.getType()));
  auto namesOf = [&](unsigned k) { return function.getArgAttrOfType<ArrayAttr>(k, "sinter.dims"); };
  ArrayAttr names = namesOf(argument.getArgNumber());
  if (!names || names.size() != dims.size())
    return dims;
  for (auto [size, entry] : llvm::zip(dims, names)) {
    if (size)
      continue;
    if (auto number = dyn_cast<IntegerAttr>(entry)) {
      size = ctx.constant(number.getInt());
      continue;
    }
    auto name = dyn_cast<StringAttr>(entry);
    for (unsigned k = 0; name && !size && k < function.getNumArguments(); ++k) {
      auto type = dyn_cast<RankedTensorType>(function.getArgument(k).getType());
      ArrayAttr others = namesOf(k);
      if (!type || !others || static_cast<int64_t>(others.size()) != type.getRank())
        continue;
      for (auto [axis, other] : llvm::enumerate(others)) {
        if (other != name)
          continue;
        size = type.isDynamicDim(axis)
                   ? ctx.symbol({SymbolSource::Kind::Size, function.getArgument(k), static_cast<int64_t>(axis)}, name)
                   : ctx.constant(type.getDimSize(axis));
        break;
      }
    }
  }
  return dims;
}

Dims ShapeAnalysis::argumentDims(BlockArgument argument) {
  if (Value captured = capturedValue(argument))
    return dims(captured);
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent))
    return namedDims(ctx, function, argument);
  if (auto scan = dyn_cast_or_null<ScanOp>(parent)) {
    int64_t k = static_cast<int64_t>(argument.getArgNumber()) - scan.getInit().size();
    if (k >= 0 && k < static_cast<int64_t>(scan.getSequences().size())) {
      Dims slice = dims(scan.getSequences()[k]);
      slice.erase(slice.begin() + scan.getAxes()[k]);
      return slice;
    }
  }
  return {};
}

/// Sizes of ops that have the shape of their operands.
static Dims pointwiseDims(ShapeQuery &shapes, Operation *op) {
  Dims result;
  for (Value operand : op->getOperands()) {
    Dims sizes = shapes.dims(operand);
    if (result.empty())
      result = sizes;
    for (auto [size, other] : llvm::zip(result, sizes))
      if (other.isConstant())
        size = other;
  }
  return result;
}

static bool mayHaveContents(Value value);

namespace {
/// Sizes are found from numbers and numbers from sizes: each without recursion, but in turn by calls of each other. The
/// object stands for one such call.
class Turn {
public:
  Turn() { ++depth; }
  ~Turn() { --depth; }
  /// Finds what `value` depends on from the bottom up, where there are many turns already.
  static void shorten(ShapeAnalysis &shapes, Value value);

private:
  static constexpr unsigned kMost = 64;
  static thread_local unsigned depth;
  static thread_local bool isShortening;
};
} // namespace
thread_local unsigned Turn::depth = 0;
thread_local bool Turn::isShortening = false;

void Turn::shorten(ShapeAnalysis &shapes, Value value) {
  if (depth <= kMost || isShortening)
    return;
  isShortening = true;
  llvm::DenseSet<Value> seen;
  SmallVector<std::pair<Value, bool>> stack{{value, false}};
  while (!stack.empty()) {
    auto [next, isReady] = stack.pop_back_val();
    bool hasSizes = !cast<RankedTensorType>(next.getType()).hasStaticShape();
    if (isReady && hasSizes)
      shapes.dims(next);
    else if (isReady)
      shapes.contents(next);
    if (isReady || !next.getDefiningOp() || !seen.insert(next).second)
      continue;
    if (next != value)
      stack.push_back({next, true});
    for (Value operand : next.getDefiningOp()->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (type && (!type.hasStaticShape() || mayHaveContents(operand)))
        stack.push_back({operand, false});
    }
  }
  isShortening = false;
}

/// True where a symbol of `expr` is of a value inside of `op`, where alone it means something.
static bool dependsOnRegion(DimContext &ctx, DimExpr expr, Operation *op) {
  bool depends = false;
  DimContext::forEachSymbol(expr, [&](unsigned symbol) {
    Value source = ctx.source(symbol).value;
    Operation *around = source ? source.getParentBlock()->getParentOp() : nullptr; // none: a named size
    depends |= around && op->isAncestor(around);
  });
  return depends;
}

Dims ShapeAnalysis::compute(Value value) {
  Turn turn;
  Turn::shorten(*this, value);
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument)
    return argumentDims(argument);
  Operation *op = value.getDefiningOp();
  if (isa<Pointwise>(op))
    return pointwiseDims(*this, op);
  auto symbolic = dyn_cast<SymbolicShape>(op);
  if (!symbolic)
    return {};
  SmallVector<Dims> results = symbolic.resultDims(*this);
  assert(results.size() == op->getNumResults() && "resultDims returns one list per result");
  if (op->getNumRegions() != 0)
    for (Dims &sizes : results)
      for (DimExpr &size : sizes)
        if (size && dependsOnRegion(ctx, size, op))
          size = DimExpr();
  return results[cast<OpResult>(value).getResultNumber()];
}

Dims ShapeAnalysis::dims(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.hasStaticShape())
    return staticDims(ctx, type);
  if (auto it = known.find(value); it != known.end()) {
    Dims result = it->second;
    for (DimExpr &size : result)
      size = ctx.resolve(size);
    return result;
  }

  // Operands first, without recursion: graphs are deep.
  SmallVector<Value> stack{value};
  while (stack.size() > 1 || !known.count(value)) {
    Value next = stack.back();
    bool ready = true;
    if (Operation *op = next.getDefiningOp())
      for (Value operand : op->getOperands()) {
        auto operandType = dyn_cast<RankedTensorType>(operand.getType());
        if (operandType && !operandType.hasStaticShape() && !known.count(operand)) {
          stack.push_back(operand);
          ready = false;
        }
      }
    if (!ready)
      continue;
    stack.pop_back();
    if (known.count(next))
      continue;
    Dims computed = compute(next), result = staticDims(ctx, cast<RankedTensorType>(next.getType()));
    for (auto [axis, size] : llvm::enumerate(result)) {
      if (!size && axis < computed.size())
        size = computed[axis];
      if (!size)
        size = ctx.symbol({SymbolSource::Kind::Size, next, static_cast<int64_t>(axis)});
    }
    known[next] = std::move(result);
  }
  return known[value];
}

void ShapeAnalysis::bind(Value value, Dims sizes) { known[value] = std::move(sizes); }
void ShapeAnalysis::bindContents(Value value, Dims elements) { knownContents[value] = std::move(elements); }

bool ShapeAnalysis::sameShape(Value a, Value b) {
  if (cast<RankedTensorType>(a.getType()).getRank() != cast<RankedTensorType>(b.getType()).getRank())
    return false;
  return a == b || dims(a) == dims(b);
}

//===- contents ------------------------------------------------------------------------------===//

static Dims constantElements(DimContext &ctx, const HostTensor &tensor) {
  Dims elements;
  if (tensor.isFloat())
    for (double element : tensor.toFloats())
      elements.push_back(ctx.constant(llvm::bit_cast<int64_t>(element)));
  else // ui64 of 63 bits and more is no number here
    for (int64_t element : tensor.toInts())
      elements.push_back(element < 0 && tensor.elementType().isUnsignedInteger() ? DimExpr() : ctx.constant(element));
  return elements;
}

/// The expression where it is surely what integers of type `element` hold, as sums and conversions wrap; null else.
/// Sizes alone, and numbers of 64 bits, are taken to be far from the ends of their types.
static DimExpr heldIn(DimContext &ctx, DimExpr expr, Type element) {
  auto type = dyn_cast<IntegerType>(element);
  if (!expr || !type || type.getWidth() == 1)
    return expr;
  bool isUnsigned = type.isUnsigned();
  unsigned width = type.getWidth();
  if (width == 64 && !isUnsigned)
    return expr;
  auto [low, high] = ctx.bounds(expr);
  bool hasContent = false;
  DimContext::forEachSymbol(
      expr, [&](unsigned symbol) { hasContent |= ctx.source(symbol).kind == SymbolSource::Kind::Content; });
  bool isFar = !hasContent && !expr.isConstant() && width >= 32;
  int64_t least = isUnsigned ? 0 : llvm::minIntN(width);
  bool fitsBelow = (low && *low >= least) || (isFar && !isUnsigned);
  bool fitsAbove = width == 64 || isFar ||
                   (high && *high <= (isUnsigned ? static_cast<int64_t>(llvm::maxUIntN(width)) : llvm::maxIntN(width)));
  return fitsBelow && fitsAbove ? expr : DimExpr();
}

static std::optional<Dims> constantContents(DimContext &ctx, Value value) {
  std::optional<HostTensor> tensor = constantTensor(value);
  if (!tensor)
    return std::nullopt;
  return constantElements(ctx, *tensor);
}

/// lhs KIND rhs, where bounds decide it; null otherwise.
static DimExpr compareContents(DimContext &ctx, CompareKind kind, DimExpr lhs, DimExpr rhs) {
  DimExpr difference = ctx.sub(lhs, rhs);
  auto [low, high] = ctx.bounds(difference);
  auto decide = [&](bool surely, bool never) { return surely ? ctx.constant(1) : never ? ctx.constant(0) : DimExpr(); };
  bool equal = difference.isConstant() && difference.constant() == 0;
  bool less = high && *high < 0, greater = low && *low > 0;
  bool atMost = high && *high <= 0, atLeast = low && *low >= 0;
  switch (kind) {
  case CompareKind::eq:
    return decide(equal, less || greater);
  case CompareKind::ne:
    return decide(less || greater, equal);
  case CompareKind::lt:
    return decide(less, atLeast);
  case CompareKind::le:
    return decide(atMost, greater);
  case CompareKind::gt:
    return decide(greater, atMost);
  case CompareKind::ge:
    return decide(atLeast, less);
  }
  llvm_unreachable("all kinds handled");
}

static bool hasIntegers(Value value) { return isa<IntegerType>(getElementTypeOrSelf(value)); }

/// True for pointwise ops of integers whose elements follow from those of their operands.
static bool isFollowed(Operation *op) {
  return llvm::all_of(op->getOperands(), hasIntegers) && llvm::all_of(op->getResults(), hasIntegers) &&
         isa<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, NegOp, ConvertOp, CompareOp, SelectOp>(op);
}

/// True for a tensor of few integers or floats.
static bool mayHaveContents(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  std::optional<int64_t> count = type ? countElements(type.getShape()) : std::nullopt;
  return count && *count <= kMaxContents && isa<IntegerType, FloatType>(type.getElementType());
}

/// True for ops on small tensors that no operand makes fail: their results are computed where all elements of operands
/// are numbers. Sizes go through floats where a graph divides them and rounds up.
static bool isComputed(Operation *op) {
  return isa<Pointwise, TransposeOp, ReverseOp>(op) && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), mayHaveContents);
}

/// Integer arithmetic element by element; an element that no expression has is null.
std::optional<Dims> ShapeAnalysis::pointwiseContents(Operation *op) {
  if (!isFollowed(op))
    return std::nullopt;
  SmallVector<Dims> operands;
  for (Value operand : op->getOperands()) {
    bool isPredicate = getElementTypeOrSelf(operand).isInteger(1);
    std::optional<Dims> elements = isPredicate ? predicates(operand) : contents(operand);
    if (!elements)
      return std::nullopt;
    operands.push_back(std::move(*elements));
  }
  Dims results;
  for (size_t i = 0; i < operands[0].size(); ++i) {
    DimExpr a = operands[0][i], b = operands.size() > 1 ? operands[1][i] : DimExpr();
    // An unknown predicate still selects between equals.
    if (!isa<SelectOp>(op) && (!a || (operands.size() > 1 && !b))) {
      results.push_back(DimExpr());
      continue;
    }
    // Numbers near the ends of 64 bits, as overflow is asked for with.
    constexpr int64_t far = int64_t(1) << 48;
    auto isFar = [&](DimExpr e) { return e && e.isConstant() && (e.constant() >= far || e.constant() <= -far); };
    if (isa<AddOp, SubOp, MulOp, NegOp>(op) && (isFar(a) || isFar(b))) {
      results.push_back(DimExpr());
      continue;
    }
    DimExpr element = llvm::TypeSwitch<Operation *, DimExpr>(op)
                          .Case([&](AddOp) { return ctx.add(a, b); })
                          .Case([&](SubOp) { return ctx.sub(a, b); })
                          .Case([&](MulOp) { return ctx.mul(a, b); })
                          .Case([&](DivOp) -> DimExpr {
                            // Truncates toward zero, which is the floor only for what is not negative.
                            std::optional<int64_t> low = ctx.bounds(a).low, least = ctx.bounds(b).low;
                            return low && *low >= 0 && least && *least > 0 ? ctx.floorDiv(a, b) : DimExpr();
                          })
                          .Case([&](MaxOp) { return ctx.max(a, b); })
                          .Case([&](MinOp) { return ctx.min(a, b); })
                          .Case([&](NegOp) { return ctx.sub(ctx.constant(0), a); })
                          .Case([&](ConvertOp convert) -> DimExpr {
                            if (!getElementTypeOrSelf(convert.getResult()).isInteger(1))
                              return a;
                            return a.isConstant() ? ctx.constant(a.constant() != 0) : DimExpr();
                          })
                          .Case([&](CompareOp compare) { return compareContents(ctx, compare.getKind(), a, b); })
                          .Case([&](SelectOp select) -> DimExpr {
                            DimExpr otherwise = operands[2][i];
                            if (a)
                              return a.constant() ? b : otherwise;
                            if (!b || !otherwise || b == otherwise)
                              return b == otherwise ? b : DimExpr();
                            // p == q ? x : y is y where x and y are the same once p is q, as broadcasting writes it.
                            auto compare = select.getPred().getDefiningOp<CompareOp>();
                            if (!compare || compare.getKind() != CompareKind::eq)
                              return DimExpr();
                            std::optional<Dims> left = contents(compare.getLhs()), right = contents(compare.getRhs());
                            if (!left || !right)
                              return DimExpr();
                            DimExpr p = (*left)[i], q = (*right)[i];
                            if ((p == b && q == otherwise) || (q == b && p == otherwise))
                              return otherwise;
                            if (p.kind() != DimExpr::Kind::Symbol)
                              std::swap(p, q);
                            if (p.kind() != DimExpr::Kind::Symbol)
                              return DimExpr();
                            auto equal = [&](DimExpr symbol) { return symbol == p ? q : symbol; };
                            return ctx.rebuild(b, equal) == ctx.rebuild(otherwise, equal) ? otherwise : DimExpr();
                          })
                          .Default([](Operation *) { return DimExpr(); });
    results.push_back(heldIn(ctx, element, getElementTypeOrSelf(op->getResult(0))));
  }
  return results;
}

/// What the reference computes, where all operands are numbers.
std::optional<Dims> ShapeAnalysis::computedContents(Operation *op) {
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    std::optional<Dims> elements = elementsOf(operand);
    if (!elements || !llvm::all_of(*elements, [](DimExpr element) { return element && element.isConstant(); }))
      return std::nullopt;
    auto type = cast<RankedTensorType>(operand.getType());
    HostTensor &tensor = operands.emplace_back(type.getElementType(), type.getShape());
    for (auto [i, element] : llvm::enumerate(*elements)) {
      if (tensor.isFloat())
        tensor.setFloat(i, llvm::bit_cast<double>(element.constant()));
      else
        tensor.setInt(i, element.constant());
    }
  }
  FailureOr<SmallVector<HostTensor>> results = Evaluator().run(op, operands);
  if (failed(results))
    return std::nullopt;
  return constantElements(ctx, results->front());
}

/// Elements of a small boolean tensor: 0, 1, or null where bounds do not decide.
std::optional<Dims> ShapeAnalysis::predicates(Value value) {
  if (std::optional<Dims> known = contents(value))
    return known;
  Operation *op = value.getDefiningOp();
  std::optional<Dims> elements = op ? pointwiseContents(op) : std::nullopt;
  auto count = countElements(cast<RankedTensorType>(value.getType()).getShape());
  if (!elements && count && *count <= kMaxContents)
    elements.emplace(*count);
  return elements;
}

std::optional<Dims> ShapeAnalysis::computeContents(Value value) {
  Turn turn;
  Turn::shorten(*this, value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Value captured = capturedValue(argument);
    return captured ? elementsOf(captured) : std::nullopt;
  }
  if (std::optional<Dims> elements = constantContents(ctx, value))
    return elements;
  Operation *op = value.getDefiningOp();
  if (std::optional<Dims> elements = pointwiseContents(op))
    return elements;
  if (isComputed(op))
    return computedContents(op);
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    Value yielded = kernel.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
    std::optional<Dims> elements = elementsOf(yielded);
    if (elements)
      for (DimExpr &element : *elements)
        if (element && dependsOnRegion(ctx, element, op))
          element = DimExpr();
    return elements;
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return elementsOf(reshape.getOperand());
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    std::optional<Dims> elements = elementsOf(broadcast.getOperand());
    auto operandType = cast<RankedTensorType>(broadcast.getOperand().getType());
    if (!elements)
      return std::nullopt;
    Dims results;
    forEachIndex(cast<RankedTensorType>(value.getType()).getShape(), [&](ArrayRef<int64_t> index) {
      int64_t position = 0;
      for (auto [axis, size] : llvm::zip(broadcast.getAxes(), operandType.getShape()))
        position = position * size + (size == 1 ? 0 : index[axis]);
      results.push_back((*elements)[position]);
    });
    return results;
  }
  if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getType().getRank() == 0) {
    std::optional<Dims> elements = contents(reduce.getOperand());
    if (!elements || elements->empty())
      return std::nullopt;
    DimExpr total = elements->front();
    for (DimExpr element : ArrayRef(*elements).drop_front()) {
      switch (reduce.getCombiner()) {
      case Combiner::add:
        total = ctx.add(total, element);
        break;
      case Combiner::mul:
        total = ctx.mul(total, element);
        break;
      case Combiner::max:
        total = ctx.max(total, element);
        break;
      case Combiner::min:
        total = ctx.min(total, element);
        break;
      default:
        return std::nullopt;
      }
      total = heldIn(ctx, total, getElementTypeOrSelf(reduce.getResult()));
      if (!total)
        return std::nullopt;
    }
    return Dims{total};
  }
  // A few sizes of a list replaced, as slices of some axes are written.
  if (auto scatter = dyn_cast<ScatterElementsOp>(op);
      scatter && scatter.getCombiner() == Combiner::set && scatter.getType().getRank() == 1) {
    std::optional<Dims> elements = contents(scatter.getOperand()), updates = contents(scatter.getUpdates());
    std::optional<SmallVector<int64_t>> positions = constantInts(scatter.getPositions());
    if (!elements || !updates || !positions)
      return std::nullopt;
    for (auto [position, update] : llvm::zip(*positions, *updates)) {
      int64_t size = static_cast<int64_t>(elements->size()), place = position + (position < 0 ? size : 0);
      if (place >= 0 && place < size)
        (*elements)[place] = update;
    }
    return elements;
  }
  if (auto symbolic = dyn_cast<SymbolicContents>(op))
    return symbolic.resultContents(*this);
  return std::nullopt;
}

/// True when `expr` has more nodes than an expression that is worth following, each counted where it is read.
static bool isLong(DimExpr expr) {
  constexpr size_t most = 256;
  SmallVector<DimExpr> work{expr};
  for (size_t count = 0; !work.empty(); ++count) {
    if (count + work.size() > most)
      return true;
    DimExpr next = work.pop_back_val();
    work.append(next.operands().begin(), next.operands().end());
  }
  return false;
}

std::optional<Dims> ShapeAnalysis::contents(Value value) {
  return hasIntegers(value) ? elementsOf(value) : std::nullopt;
}

std::optional<Dims> ShapeAnalysis::elementsOf(Value value) {
  if (!mayHaveContents(value))
    return std::nullopt;
  // Operands first, without recursion: chains of numbers are long, too.
  SmallVector<Value> stack{value};
  while (!stack.empty()) {
    Value next = stack.back();
    size_t known = stack.size();
    Operation *op = next.getDefiningOp();
    bool readsAll = op && (isFollowed(op) || isComputed(op) || isa<SymbolicContents, ScatterElementsOp, ReduceOp>(op));
    if (!knownContents.contains(next) && (readsAll || isa_and_nonnull<ReshapeOp, BroadcastOp>(op)))
      for (Value operand : readsAll ? op->getOperands() : op->getOperands().take_front())
        if (mayHaveContents(operand) && !knownContents.contains(operand))
          stack.push_back(operand);
    if (stack.size() > known)
      continue;
    stack.pop_back();
    auto type = cast<RankedTensorType>(next.getType());
    if (knownContents.contains(next))
      continue;
    std::optional<Dims> elements = computeContents(next);
    assert((!elements || static_cast<int64_t>(elements->size()) == type.getNumElements()) &&
           "one expression per element");
    // Booleans are followed only to decide selects: their elements are known or the whole is not.
    // So are floats, which are computed from what is known.
    if (type.getElementType().isInteger(1) || !hasIntegers(next)) {
      if (elements && llvm::any_of(*elements, [](DimExpr e) { return !e; }))
        elements.reset();
    } else {
      if (!elements)
        elements.emplace(type.getNumElements());
      for (auto [i, element] : llvm::enumerate(*elements))
        if (!element || isLong(element))
          element = ctx.symbol({SymbolSource::Kind::Content, next, static_cast<int64_t>(i)});
    }
    knownContents.try_emplace(next, std::move(elements));
  }
  std::optional<Dims> result = knownContents.lookup(value);
  if (result)
    for (DimExpr &element : *result)
      element = ctx.resolve(element);
  return result;
}
