// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/PlaceParts.h"
#include "backends/schedule/SchedulePlan.h"
#include "ir/Shape.h"
#include "ir/Storage.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

/// Bytes that a launch of a copy has to save.
constexpr int64_t kWorthLaunch = 16384;
/// Bytes of parts below which joins stay as they are.
constexpr int64_t kLeastBytes = 1024;
/// More bytes than matter.
constexpr int64_t kManyBytes = int64_t(1) << 40;

DimExpr schedule::beginOfPart(KernelOp kernel, unsigned part, DimContext &context, function_ref<Dims(Value)> dims) {
  Operation &op = kernel.getBody().front().front();
  auto slice = dyn_cast<SliceOp>(op);
  Dims whole = dims(slice ? kernel.getInputs()[0] : kernel.getResult(0));
  Dims steps = context.strides(whole, kernel.stridesOf(slice ? 0 : kernel.getInputs().size()));
  DimExpr begin = context.constant(0);
  for (int64_t k = static_cast<int64_t>(whole.size()) - 1; k >= 0; --k) {
    DimExpr first = context.constant(slice ? slice.getStarts()[k] : 0);
    if (auto join = dyn_cast<ConcatenateOp>(op); join && static_cast<int64_t>(join.getAxis()) == k)
      for (Value before : kernel.getInputs().take_front(part))
        first = context.add(first, dims(before)[k]);
    begin = context.add(begin, context.mul(first, steps[k]));
  }
  return begin;
}

namespace {
/// A join as a list of values outside of kernels.
struct PartList {
  SmallVector<Value> values;
  int64_t axis = 0;

  bool operator==(const PartList &other) const { return axis == other.axis && values == other.values; }
  /// True when `other` begins with these values.
  bool begins(const PartList &other) const {
    return axis == other.axis && values.size() <= other.values.size() &&
           ArrayRef(other.values).take_front(values.size()) == ArrayRef(values);
  }
};

class PartPlacer {
public:
  PartPlacer(func::FuncOp function, Backend &host, ShapeAnalysis &sizes) : host(host), sizes(sizes) {
    entrySymbols = entrySymbolsOf(function, sizes);
  }
  ~PartPlacer() {
    for (Operation *kernel : dead)
      kernel->erase();
  }
  void run(Block &block);

private:
  DimContext &context() { return sizes.context(); }
  Dims dimsOf(Value value);
  bool isKnownAtEntry(Value value);
  /// Bytes where sizes are known, else many.
  int64_t bytesOf(Value value);
  /// True when rows that lie apart in `whole` are read and written as fast as those that follow each other.
  bool isNear(Value whole);

  /// The parts of a join whose operands are inputs of its kernel; nothing for others.
  std::optional<PartList> partsOf(ConcatenateOp join);
  /// The join that is all that the kernel does, or null.
  ConcatenateOp soleJoin(KernelOp kernel);
  /// True when all that reads `value` are kernels of its block.
  bool areReadersKernels(Value value);
  /// True when besides the code that computes `value` may write it anywhere.
  bool mayBePart(Value value);
  /// The kernel's result that `part`, which a join alone reads, is another shape of; `part` itself where it is none.
  Value sourceOf(Value part);
  /// `strides` of `part` as those of its source; nothing where that has no such axes.
  std::optional<SmallVector<int64_t>> stridesOfSource(Value part, ArrayRef<int64_t> strides);
  /// Elements from one index of each axis to the next, of input or result `value` of the kernel.
  Dims stepsOf(KernelOp kernel, unsigned value, const Dims &sizes);
  /// The strides of what has `sizes` and lies with these steps, empty where that is row-major; nothing where a step
  /// that is not that of a row-major tensor is not known.
  std::optional<SmallVector<int64_t>> stridesWithin(const Dims &steps, const Dims &sizes);
  /// Those of a part of what the kernel joins.
  std::optional<SmallVector<int64_t>> stridesOfPart(KernelOp join, Value part) {
    return stridesWithin(stepsOf(join, join.getInputs().size(), dimsOf(join.getResult(0))), dimsOf(part));
  }

  /// Elements [begin, end) of one axis of `source`.
  struct Cut {
    Value source;
    int64_t axis, begin, end;
  };
  std::optional<Cut> cutOf(SliceOp slice, Value source);
  std::optional<Cut> cutOf(KernelOp kernel, Value operand);
  /// The slice that is all that the kernel does, or null.
  SliceOp soleSlice(KernelOp kernel);
  /// Operands [first, first + count) of a join, which are `part`; null where they are copied.
  struct Piece {
    unsigned first, count;
    Value part;
  };
  Piece wholeOf(KernelOp kernel, ConcatenateOp join, unsigned first);
  SmallVector<Piece> piecesOf(KernelOp kernel, ConcatenateOp join);
  bool isFree(Value value, KernelOp join);

  void chain(Block &block);
  void place(KernelOp kernel);
  void view(KernelOp kernel);

  KernelOp buildJoin(OpBuilder &b, Location loc, const PartList &parts, Type type);
  KernelOp buildFill(OpBuilder &b, KernelOp join, Value operand);
  /// Leaves the kernel unused until the end: `sizes` knows its values.
  void discard(KernelOp kernel) {
    kernel->dropAllReferences();
    dead.insert(kernel);
  }
  void replace(KernelOp kernel, ValueRange by) {
    kernel->replaceAllUsesWith(by);
    discard(kernel);
  }
  bool settle(KernelOp kernel);
  /// Sets strides of input or result `value` and settles the kernel again; false, and nothing has changed, when its
  /// emitter does not take them.
  bool trySetStrides(KernelOp kernel, unsigned value, ArrayRef<int64_t> strides);
  bool tryPlace(Value part, KernelOp join, ArrayRef<int64_t> strides);

  struct Change {
    KernelOp kernel;
    ArrayAttr strides;
    ScheduleAttr schedule;
  };
  void undo(size_t from);

  Backend &host;
  ShapeAnalysis &sizes;
  DenseSet<unsigned> entrySymbols;
  DenseSet<Value> placed;
  DenseMap<Operation *, PartList>
      lists; // of joins that are kernels of their own, as they were before they were chained
  DenseSet<Operation *> dead;
  SmallVector<Change> changes;
};
} // namespace

//===- what may be placed --------------------------------------------------------------------------===//

Dims PartPlacer::dimsOf(Value value) {
  Dims result = sizes.dims(value);
  for (DimExpr &size : result)
    size = context().resolve(size);
  return result;
}

bool PartPlacer::isKnownAtEntry(Value value) {
  bool known = true;
  for (DimExpr size : dimsOf(value))
    DimContext::forEachSymbol(size, [&](unsigned symbol) { known &= entrySymbols.contains(symbol); });
  return known;
}

int64_t PartPlacer::bytesOf(Value value) {
  DimExpr count = context().resolve(context().product(dimsOf(value)));
  int64_t width = byteWidth(getElementTypeOrSelf(value.getType()));
  return count.isConstant() ? count.constant() * width : kManyBytes;
}

bool PartPlacer::isNear(Value whole) {
  int64_t bytes = byteWidth(getElementTypeOrSelf(whole.getType()));
  for (auto [k, size] : llvm::enumerate(dimsOf(whole)))
    if (!size.isConstant() && k > 0)
      return false;
    else if (llvm::MulOverflow(bytes, size.isConstant() ? size.constant() : 1, bytes)) // one image, or one row
      return false;
  return bytes <= host.joinedBytes();
}

std::optional<PartList> PartPlacer::partsOf(ConcatenateOp join) {
  auto kernel = cast<KernelOp>(join->getParentOp());
  PartList parts{{}, static_cast<int64_t>(join.getAxis())};
  for (Value operand : join.getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      return std::nullopt;
    parts.values.push_back(kernel.getInputs()[argument.getArgNumber()]);
  }
  return parts;
}

ConcatenateOp PartPlacer::soleJoin(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto join = kernel.getNumResults() == 1 ? body.getTerminator()->getOperand(0).getDefiningOp<ConcatenateOp>()
                                          : ConcatenateOp();
  Type element = getElementTypeOrSelf(kernel.getResult(0).getType());
  return join && join->hasOneUse() && kernel.getKernelTemplate() == KernelTemplate::map && !kernel.getInPlace() &&
                 !isPacked(element) && isKnownAtEntry(kernel.getResult(0))
             ? join
             : ConcatenateOp();
}

bool PartPlacer::areReadersKernels(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto reader = dyn_cast<KernelOp>(user);
    return user->getBlock() == value.getParentBlock() &&
           (reader ? !reader.getInPlace() && reader.getSchedule() : isa<DimOp, ShapeOp>(user));
  });
}

bool PartPlacer::mayBePart(Value value) {
  Value source = sourceOf(value);
  auto producer = source.getDefiningOp<KernelOp>();
  return producer && producer.getSchedule() && !isOneElement(source.getType()) &&
         !isPacked(getElementTypeOrSelf(source.getType())) && isKnownAtEntry(source) && areReadersKernels(value) &&
         source.getParentBlock() == value.getParentBlock() && host.takesStrides(*host.specify(producer, &sizes));
}

Value PartPlacer::sourceOf(Value part) {
  Value source = part;
  for (auto reshape = source.getDefiningOp<ReshapeOp>(); reshape && source.hasOneUse();
       reshape = source.getDefiningOp<ReshapeOp>())
    source = reshape.getOperand();
  return source == part || source.hasOneUse() ? source : part;
}

std::optional<SmallVector<int64_t>> PartPlacer::stridesOfSource(Value part, ArrayRef<int64_t> strides) {
  Value source = sourceOf(part);
  if (source == part || strides.empty())
    return SmallVector<int64_t>(strides);
  // Pieces of so many elements lie so far apart: one step between axes, which the other shape has to have, too. Its
  // last axis has elements side by side.
  const auto *step = llvm::find_if(strides, [](int64_t stride) { return stride >= 0; });
  if (llvm::count_if(strides, [](int64_t stride) { return stride >= 0; }) != 1)
    return std::nullopt;
  DimExpr piece = context().resolve(context().product(ArrayRef(dimsOf(part)).drop_front(step - strides.begin() + 1)));
  Dims sizes = dimsOf(source);
  SmallVector<int64_t> own(sizes.size(), -1);
  for (size_t k = 0; k + 1 < sizes.size(); ++k)
    if (context().resolve(context().product(ArrayRef(sizes).drop_front(k + 1))) == piece) {
      own[k] = *step;
      return own;
    }
  return std::nullopt;
}

Dims PartPlacer::stepsOf(KernelOp kernel, unsigned value, const Dims &sizes) {
  Dims steps = context().strides(sizes, kernel.stridesOf(value));
  for (DimExpr &step : steps)
    step = context().resolve(step);
  return steps;
}

std::optional<SmallVector<int64_t>> PartPlacer::stridesWithin(const Dims &steps, const Dims &sizes) {
  auto rank = static_cast<int64_t>(sizes.size());
  SmallVector<int64_t> strides(rank, -1);
  bool isRowMajor = true;
  for (int64_t k = rank - 1; k >= 0; --k) {
    bool isOutermost =
        llvm::all_of(ArrayRef(sizes).take_front(k + 1), [](DimExpr size) { return size.staticSize() == 1; });
    DimExpr next = k + 1 < rank ? context().resolve(context().mul(steps[k + 1], sizes[k + 1])) : context().constant(1);
    if (isOutermost || steps[k] == next)
      continue;
    if (!steps[k].isConstant())
      return std::nullopt;
    strides[k] = steps[k].constant();
    isRowMajor = false;
  }
  if (isRowMajor)
    strides.clear();
  return strides;
}

//===- changes -------------------------------------------------------------------------------------===//

bool PartPlacer::settle(KernelOp kernel) {
  ScopedDiagnosticHandler silent(kernel.getContext(), [](Diagnostic &) { return success(); });
  kernel.removeScheduleAttr();
  return succeeded(host.settle(*host.specify(kernel, &sizes)));
}

bool PartPlacer::trySetStrides(KernelOp kernel, unsigned value, ArrayRef<int64_t> strides) {
  Change change{kernel, kernel.getStridesAttr(), kernel.getScheduleAttr()};
  kernel.setStridesOf(value, strides);
  changes.push_back(change);
  if (settle(kernel) && kernel.getScheduleAttr().getEmitter() == change.schedule.getEmitter())
    return true;
  undo(changes.size() - 1);
  return false;
}

void PartPlacer::undo(size_t from) {
  for (Change &change : llvm::reverse(MutableArrayRef(changes).drop_front(from))) {
    change.kernel.setStridesAttr(change.strides);
    change.kernel.setScheduleAttr(change.schedule);
  }
  changes.truncate(from);
}

bool PartPlacer::tryPlace(Value part, KernelOp join, ArrayRef<int64_t> strides) {
  std::optional<SmallVector<int64_t>> own = stridesOfSource(part, strides);
  if (!own || own->empty())
    return own.has_value();
  size_t before = changes.size();
  auto source = cast<OpResult>(sourceOf(part));
  auto producer = cast<KernelOp>(source.getOwner());
  bool fits = trySetStrides(producer, producer.getInputs().size() + source.getResultNumber(), *own);
  for (OpOperand &use : part.getUses()) {
    auto reader = dyn_cast<KernelOp>(use.getOwner());
    if (!fits || !reader)
      continue;
    if (reader != join) {
      fits = trySetStrides(reader, use.getOperandNumber(), strides);
      continue;
    }
    // It will not run; kernels that are made of its operands read the part so.
    changes.push_back({reader, reader.getStridesAttr(), reader.getScheduleAttr()});
    reader.setStridesOf(use.getOperandNumber(), strides);
  }
  if (!fits)
    undo(before);
  return fits;
}

KernelOp PartPlacer::buildJoin(OpBuilder &b, Location loc, const PartList &parts, Type type) {
  auto kernel = KernelOp::create(b, loc, type, parts.values, KernelTemplate::map, ScheduleAttr(), DenseI64ArrayAttr(),
                                 ArrayAttr(), /*in_place=*/false);
  Block &body = kernel.getBody().emplaceBlock();
  for (Value part : parts.values)
    body.addArgument(part.getType(), loc);
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  Value joined = ConcatenateOp::create(inside, loc, type, body.getArguments(), parts.axis);
  YieldOp::create(inside, loc, joined);
  return kernel;
}

/// A kernel that computes an operand of the kernel's join by itself.
KernelOp PartPlacer::buildFill(OpBuilder &b, KernelOp join, Value operand) {
  llvm::SetVector<Operation *> needed;
  llvm::SetVector<BlockArgument> arguments;
  SmallVector<Value> pending{operand};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next))
      arguments.insert(argument);
    else if (needed.insert(next.getDefiningOp()))
      llvm::append_range(pending, next.getDefiningOp()->getOperands());
  }
  SmallVector<Value> inputs =
      llvm::map_to_vector(arguments, [&](BlockArgument argument) { return join.getInputs()[argument.getArgNumber()]; });
  auto kernel = KernelOp::create(b, operand.getLoc(), operand.getType(), inputs, KernelTemplate::map, ScheduleAttr(),
                                 DenseI64ArrayAttr(), ArrayAttr(), /*in_place=*/false);
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping map;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    map.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
    if (ArrayRef<int64_t> strides = join.stridesOf(argument.getArgNumber()); !strides.empty())
      kernel.setStridesOf(static_cast<unsigned>(i), strides);
  }
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  for (Operation &op : join.getBody().front())
    if (needed.contains(&op))
      inside.clone(op, map);
  YieldOp::create(inside, operand.getLoc(), map.lookup(operand));
  return kernel;
}

//===- joins of joins ------------------------------------------------------------------------------===//

/// Makes a join that begins with the parts of one before it a join of that one.
void PartPlacer::chain(Block &block) {
  SmallVector<KernelOp> before;
  for (auto kernel : llvm::make_early_inc_range(block.getOps<KernelOp>())) {
    ConcatenateOp join = dead.contains(kernel) ? ConcatenateOp() : soleJoin(kernel);
    std::optional<PartList> parts = join ? partsOf(join) : std::nullopt;
    if (!parts)
      continue;
    KernelOp longest;
    for (KernelOp other : before)
      if (lists[other].begins(*parts) && (!longest || lists[longest].values.size() < lists[other].values.size()))
        longest = other;
    if (longest && lists[longest] == *parts) {
      replace(kernel, longest.getResult(0));
      continue;
    }
    KernelOp own = kernel;
    if (longest) {
      PartList fewer{{longest.getResult(0)}, parts->axis};
      llvm::append_range(fewer.values, ArrayRef(parts->values).drop_front(lists[longest].values.size()));
      OpBuilder b(kernel);
      own = buildJoin(b, kernel.getLoc(), fewer, kernel.getResult(0).getType());
      if (!settle(own)) {
        discard(own);
        continue;
      }
      replace(kernel, own.getResult(0));
    }
    lists[own] = *parts;
    before.push_back(own);
  }
}

//===- places --------------------------------------------------------------------------------------===//

std::optional<PartPlacer::Cut> PartPlacer::cutOf(SliceOp slice, Value source) {
  Cut cut{source, -1, 0, 0};
  auto shape = cast<RankedTensorType>(source.getType()).getShape();
  for (auto [k, size] : llvm::enumerate(shape)) {
    int64_t start = slice.getStarts()[k], limit = slice.getLimits()[k];
    if (slice.getSteps()[k] != 1)
      return std::nullopt;
    if (start == 0 && (limit == -1 || limit == size))
      continue;
    if (cut.axis >= 0 || limit < 0)
      return std::nullopt;
    cut = {source, static_cast<int64_t>(k), start, limit};
  }
  return cut.axis < 0 ? std::nullopt : std::optional<Cut>(cut);
}

SliceOp PartPlacer::soleSlice(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto slice = dyn_cast<SliceOp>(body.front());
  return slice && llvm::hasNItems(body, 2) && kernel.getNumOperands() == 1 && kernel.getNumResults() == 1 &&
                 !kernel.getInPlace() && llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; })
             ? slice
             : SliceOp();
}

/// What operand `operand` of the kernel's join is a slice of.
std::optional<PartPlacer::Cut> PartPlacer::cutOf(KernelOp kernel, Value operand) {
  auto inputOf = [](KernelOp reader, Value argument) {
    auto found = dyn_cast<BlockArgument>(argument);
    return found ? reader.getInputs()[found.getArgNumber()] : Value();
  };
  if (auto slice = operand.getDefiningOp<SliceOp>()) {
    Value source = inputOf(kernel, slice.getOperand());
    return source ? cutOf(slice, source) : std::nullopt;
  }
  Value value = inputOf(kernel, operand);
  auto before = value ? value.getDefiningOp<KernelOp>() : KernelOp();
  SliceOp slice = before ? soleSlice(before) : SliceOp();
  return slice ? cutOf(slice, before.getInputs()[0]) : std::nullopt;
}

/// What operands from `first` on are when they are slices that follow each other and are all of one value.
PartPlacer::Piece PartPlacer::wholeOf(KernelOp kernel, ConcatenateOp join, unsigned first) {
  Piece piece{first, 0, {}};
  auto axis = static_cast<int64_t>(join.getAxis());
  int64_t end = 0;
  for (Value operand : join.getOperands().drop_front(first)) {
    std::optional<Cut> cut = cutOf(kernel, operand);
    if (!cut || cut->axis != axis || cut->begin != end || (piece.count > 0 && cut->source != piece.part))
      return {first, 0, {}};
    piece.part = cut->source;
    end = cut->end;
    ++piece.count;
    if (end == cast<RankedTensorType>(cut->source.getType()).getDimSize(axis))
      return piece;
  }
  return {first, 0, {}};
}

bool PartPlacer::isFree(Value value, KernelOp join) {
  return value.getParentBlock() == join->getBlock() && !placed.contains(value) && mayBePart(value);
}

SmallVector<PartPlacer::Piece> PartPlacer::piecesOf(KernelOp kernel, ConcatenateOp join) {
  SmallVector<Piece> pieces;
  for (unsigned i = 0; i < join.getNumOperands();) {
    Piece piece = wholeOf(kernel, join, i);
    if (piece.count == 0 || !isFree(piece.part, kernel)) {
      auto argument = dyn_cast<BlockArgument>(join.getOperand(i));
      Value value = argument ? kernel.getInputs()[argument.getArgNumber()] : Value();
      bool isOnce = value && argument.hasOneUse() && llvm::count(kernel.getInputs(), value) == 1;
      piece = {i, 1, isOnce && isFree(value, kernel) ? value : Value()};
    }
    bool isTaken = llvm::any_of(pieces, [&](const Piece &other) { return piece.part && other.part == piece.part; });
    if (isTaken)
      piece = {i, 1, {}};
    pieces.push_back(piece);
    i += piece.count;
  }
  return pieces;
}

/// Makes a join in place, if some of its parts are not copied then.
void PartPlacer::place(KernelOp kernel) {
  ConcatenateOp join = soleJoin(kernel);
  // What has one element is no memory.
  if (!join || llvm::any_of(join.getOperands().getTypes(), isOneElement))
    return;
  SmallVector<Piece> pieces = piecesOf(kernel, join);
  int64_t saved = 0, fills = 0;
  for (const Piece &piece : pieces) {
    fills += !piece.part;
    saved += piece.part ? std::min(bytesOf(piece.part), kManyBytes) : 0;
  }
  if (saved < kLeastBytes || saved / kWorthLaunch < fills - 1)
    return;
  Dims whole = dimsOf(kernel.getResult(0));
  bool isApart =
      llvm::any_of(ArrayRef(whole).take_front(join.getAxis()), [](DimExpr size) { return size.staticSize() != 1; });
  if (isApart && !isNear(kernel.getResult(0)))
    return;

  size_t before = changes.size();
  OpBuilder b(kernel);
  PartList parts{{}, static_cast<int64_t>(join.getAxis())};
  SmallVector<SmallVector<int64_t>> strides;
  SmallVector<KernelOp> filled;
  bool fits = true, any = false;
  for (const Piece &piece : pieces) {
    // Slices of what could not be placed are copied one by one.
    std::optional<SmallVector<int64_t>> own = piece.part ? stridesOfPart(kernel, piece.part) : std::nullopt;
    if (own && tryPlace(piece.part, kernel, *own)) {
      parts.values.push_back(piece.part);
      strides.push_back(*own);
      any = true;
      continue;
    }
    for (unsigned i = 0; fits && i < piece.count; ++i) {
      KernelOp fill = buildFill(b, kernel, join.getOperand(piece.first + i));
      filled.push_back(fill);
      own = stridesOfPart(kernel, fill.getResult(0));
      fits = own && settle(fill) && host.takesStrides(*host.specify(fill, &sizes)) &&
             (own->empty() || trySetStrides(fill, fill.getInputs().size(), *own));
      if (!fits)
        break;
      parts.values.push_back(fill.getResult(0));
      strides.push_back(*own);
    }
  }
  if (!fits || !any) {
    undo(before);
    for (KernelOp fill : filled)
      discard(fill);
    return;
  }
  KernelOp own = buildJoin(b, kernel.getLoc(), parts, kernel.getResult(0).getType());
  own.setInPlace(true);
  own.setStridesOf(own.getInputs().size(), kernel.stridesOf(kernel.getInputs().size()));
  for (auto [i, list] : llvm::enumerate(strides))
    own.setStridesOf(static_cast<unsigned>(i), list);
  placed.insert(parts.values.begin(), parts.values.end());
  replace(kernel, own.getResult(0));
}

/// Makes what only takes a slice a view of what it takes it from, where all that reads it steps over the rest.
void PartPlacer::view(KernelOp kernel) {
  SliceOp slice = soleSlice(kernel);
  if (!slice || !kernel.getSchedule())
    return;
  Value result = kernel.getResult(0), source = kernel.getInputs()[0];
  std::optional<SmallVector<int64_t>> strides = stridesWithin(stepsOf(kernel, 0, dimsOf(source)), dimsOf(result));
  // Constants lie in the module, and what has one element in a register.
  if (!strides || (!strides->empty() && !isNear(source)) || viewed(source).getDefiningOp<ConstantOp>() ||
      isOneElement(result.getType()) || isPacked(getElementTypeOrSelf(result.getType())) || !areReadersKernels(result))
    return;
  size_t before = changes.size();
  if (!strides->empty())
    for (OpOperand &use : result.getUses())
      if (auto reader = dyn_cast<KernelOp>(use.getOwner());
          reader && !trySetStrides(reader, use.getOperandNumber(), *strides))
        return undo(before);
  kernel.removeScheduleAttr();
  kernel.setInPlace(true);
  kernel.setStridesOf(1, *strides);
}

void PartPlacer::run(Block &block) {
  chain(block);
  SmallVector<KernelOp> kernels(block.getOps<KernelOp>());
  for (KernelOp kernel : llvm::reverse(kernels))
    if (!dead.contains(kernel))
      place(kernel);
  kernels.assign(block.getOps<KernelOp>().begin(), block.getOps<KernelOp>().end());
  for (KernelOp kernel : kernels)
    if (!dead.contains(kernel))
      view(kernel);
}

void schedule::placeParts(func::FuncOp function, Backend &host, ShapeAnalysis &sizes) {
  bool isPlaced =
      function
          .walk([](KernelOp kernel) {
            return kernel.getInPlace() || kernel.getStrides() ? WalkResult::interrupt() : WalkResult::skip();
          })
          .wasInterrupted();
  if (isPlaced)
    return;
  PartPlacer placer(function, host, sizes);
  SmallVector<Block *> blocks;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        blocks.push_back(&block);
    return WalkResult::advance();
  });
  for (Block *block : blocks)
    placer.run(*block);
}
