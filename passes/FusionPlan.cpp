// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/FusionPlan.h"
#include "ir/Attention.h"
#include "ir/Blocks.h"
#include "ir/Checks.h"
#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/ElementCost.h"
#include "ir/Elementwise.h"
#include "ir/External.h"
#include "ir/FilterOrder.h"
#include "ir/Float8.h"
#include "ir/Indexing.h"
#include "ir/Kernel.h"
#include "ir/Normalization.h"
#include "ir/Precision.h"
#include "ir/Random.h"
#include "ir/Recurrent.h"
#include "ir/Reduction.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "ir/Storage.h"
#include "passes/Devices.h"
#include "passes/KernelOrder.h"
#include "passes/SizeUses.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

/// An element that costs more than this (in additions) is stored rather than computed again.
static constexpr int64_t kCheapCost = 3;
/// From so many bytes on a tensor goes through memory, which costs more than to compute elements again that cost at
/// most that (in additions).
static constexpr int64_t kLargeBytes = 1 << 20, kLargeCost = 40;
/// A value is computed in a kernel at so many places at most: moves upon moves that read it twice would make 2^n. Their
/// code adds up also where only one of them runs; that of costly values is long.
static constexpr size_t kMaxPlaces = 64, kMaxCostlyPlaces = 8;

/// True when a run ends where the first operand of `op` is false.
static bool isCheck(Operation *op) { return isa<RequireOp>(op); }

bool sinter::isScheduleOp(Operation *op) {
  return isSize(op) || (isView(op) && !isFilterOrder(op)) || isa<ConstantOp, KernelOp>(op) || isCheck(op) ||
         op->getNumRegions() != 0 || op->hasTrait<OpTrait::IsTerminator>() || runsOnHost(op);
}

KernelTemplate sinter::templateOf(Operation *op) {
  if (isa<Pointwise, Elemental>(op))
    return KernelTemplate::map;
  if (isa<ReduceOp, ArgReduceOp>(op))
    return KernelTemplate::reduce;
  if (isa<SoftmaxOp, LayerNormOp, GroupNormOp>(op))
    return KernelTemplate::row;
  if (isa<DotGeneralOp, BlockDotOp>(op))
    return KernelTemplate::contraction;
  if (isa<ConvolutionOp>(op))
    return KernelTemplate::convolution;
  if (isa<ReduceWindowOp>(op))
    return KernelTemplate::window;
  // Lanes run along channels; other forms are scalar loops, which take nothing along.
  if (auto argReduce = dyn_cast<ArgReduceWindowOp>(op))
    if (!argReduce.getWindow().empty() && argReduce.getWindow().back() == 1 && argReduce.getStrides().back() == 1 &&
        argReduce.getLow().back() == 0 && argReduce.getHigh().back() == 0 &&
        isa<FloatType>(getElementTypeOrSelf(argReduce.getOperand())))
      return KernelTemplate::window;
  if (isa<LstmOp, GruOp, RnnOp>(op))
    return KernelTemplate::recurrent;
  if (isAttention(op))
    return KernelTemplate::attention;
  return KernelTemplate::single;
}

/// True when `op` adds one number around the input of a convolution, which pads its rows itself.
static bool isPadding(Operation *op) {
  auto pad = dyn_cast<PadOp>(op);
  auto convolution = pad && op->hasOneUse() ? dyn_cast<ConvolutionOp>(*op->user_begin()) : ConvolutionOp();
  if (!convolution || hasDevices(op) || op->use_begin()->getOperandNumber() != 0 ||
      pad.getMode() != PadMode::constant || !matchPattern(pad.getValue(), m_Constant()) ||
      !matchPattern(convolution.getFilter(), m_Constant()))
    return false;
  auto isNone = [](int64_t added) { return added == 0; };
  auto isSpatial = [](ArrayRef<int64_t> added) {
    return added.front() == 0 && added.back() == 0 && llvm::all_of(added, [](int64_t n) { return n >= 0; });
  };
  return convolution.getLayout() == ConvLayout::channels_last && pad.getType().getRank() <= 4 &&
         isSpatial(pad.getLow()) && isSpatial(pad.getHigh()) && llvm::all_of(pad.getInterior(), isNone) &&
         llvm::all_of(convolution.getLow(), isNone) && llvm::all_of(convolution.getHigh(), isNone) &&
         llvm::all_of(convolution.getInputDilation(), [](int64_t distance) { return distance == 1; });
}

/// True when `use` is of floats that are made of constant bytes, by a product: it makes them in registers.
static bool isOfBytes(OpOperand &use) {
  auto convert = use.get().getDefiningOp<ConvertOp>();
  auto dot = dyn_cast<DotGeneralOp>(use.getOwner());
  return convert && dot && use.getOperandNumber() == 1 && matchPattern(convert.getOperand(), m_Constant()) &&
         getElementTypeOrSelf(convert.getOperand()).isInteger(8) && getElementTypeOrSelf(convert.getResult()).isF32() &&
         getElementTypeOrSelf(dot.getLhs()).isF32();
}

/// True when `use` is of numbers of 8-bit floats by a product, of which a device reads bytes.
static bool isOfFloat8(OpOperand &use) {
  Operation *user = use.getOwner();
  return hasDevices(user) &&
         (multipliesFloat8(user) || (multipliesFloat8Weights(user) && decodedNumbers(use.get(), /*isTurned=*/false)));
}

/// True when `op` takes whole rows of a matrix without what they end with: products read it where it lies.
static bool isRowStart(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !slice.getType().hasStaticShape() || slice.getType().getRank() != 2)
    return false;
  auto from = cast<RankedTensorType>(slice.getOperand().getType());
  return from.getDimSize(0) == slice.getType().getDimSize(0) &&
         llvm::all_of(slice.getStarts(), [](int64_t start) { return start == 0; }) &&
         llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
}

void FusionPlan::print(llvm::raw_ostream &os) const {
  for (const FusionGroup &group : groups) {
    os << "  " << stringifyKernelTemplate(group.kernelTemplate) << ":";
    for (Operation *op : group.ops) {
      StringRef name = op->getName().stripDialect();
      if (op == group.root)
        os << " [" << name << "]";
      else
        os << " " << name;
    }
    os << " -> " << group.results.size() << "\n";
  }
}

namespace {

class Planner {
public:
  Planner(Block &block, ShapeAnalysis &sizes, const FusionOptions &options)
      : block(block), sizes(sizes), options(options) {}
  FusionPlan run();

private:
  struct Group {
    Operation *root = nullptr;
    llvm::SmallSetVector<Operation *, 8> ops;
    /// Ops after the root, whose values are made in its registers.
    llvm::SmallPtrSet<Operation *, 8> epilogue;
    /// Ops whose value at index i is computed where the kernel computes its result at i.
    llvm::SmallPtrSet<Operation *, 8> aligned;
    /// Ops of which one element may be computed more than once.
    llvm::SmallPtrSet<Operation *, 8> repeated;
    /// The indices at which ops are computed for one element of the result, by number; without an entry only number
    /// 0, the element's own. Each operand of a move is read at an index of its own.
    llvm::DenseMap<Operation *, SmallVector<unsigned, 4>> places;
    llvm::DenseMap<std::tuple<Operation *, unsigned, unsigned>, unsigned> moved;
    unsigned outputs = 1;
    /// Its results are next values of states, made of the root's gradient.
    bool updatesStates = false;
    /// Its number in the order of kernels: the position of its first op, from which it grew.
    unsigned node = 0;
  };

  static bool isMapOp(Operation *op) { return isa<Pointwise, Elemental>(op) && !isScheduleOp(op); }
  bool givesSizes(Operation *op, Operation *user);
  int64_t costOf(Operation *op);
  bool readsOften(Operation *user, Value operand, Group &group);
  bool turnsChannels(Operation *op, OpOperand &use, Group &group);
  bool repeatsBatches(BroadcastOp op, OpOperand &use);
  SmallVector<unsigned, 4> placesOf(Operation *op, Group &group);
  bool canJoin(Operation *op, Group &group);
  void join(Operation *op, Group &group);
  void addReaders(unsigned node, SmallVectorImpl<unsigned> &list);
  bool measuresReach(ArrayRef<Operation *> measured, Operation *target);
  bool isAligned(Operation *op, Group &group);
  void findStateUpdates();
  void growEpilogue(unsigned number);
  bool isReady(Value value, Operation *root);
  bool givesStates(Operation *op);
  void growUpdates(unsigned number);
  size_t endBeforeWidening(ArrayRef<Operation *> members);
  void addNarrowResults(unsigned number, Value value);
  void growTransposed(unsigned number);
  bool isReadFromLarge(Operation *op);
  void place(Operation *op);
  unsigned startGroup(Operation *op);

  Block &block;
  ShapeAnalysis &sizes;
  const FusionOptions &options;
  std::vector<Group> groups;
  DenseMap<Operation *, SmallVector<unsigned, 2>> groupsOf;
  /// The group that gives an op's results to other kernels.
  DenseMap<Operation *, unsigned> home;
  DenseMap<Operation *, int64_t> position;
  SmallVector<Operation *> inOrder;
  /// Numbers are positions of ops; what is in groups counts as the groups that it is in.
  std::optional<KernelOrder> order;
  std::vector<int> groupOfNode;
  /// Pointwise ops on the way from a state's old value to its next one.
  llvm::SmallPtrSet<Operation *, 8> stateUpdates;
  /// The results of the block that are next values of states.
  llvm::SmallDenseSet<unsigned> stateResults;
  /// The position of the last op that may end a run.
  int64_t lastFailing = -1;
  llvm::DenseMap<OperationName, int64_t> costs;
};

} // namespace

/// True when a size of what `user` computes is an element of what `op` computes: the schedule reads it before it
/// launches the kernel of `user`.
bool Planner::givesSizes(Operation *op, Operation *user) {
  if (!getElementTypeOrSelf(op->getResult(0)).isInteger())
    return false;
  bool found = false;
  for (Value result : user->getResults())
    for (DimExpr size : sizes.dims(result))
      DimContext::forEachSymbol(size, [&](unsigned symbol) {
        const SymbolSource &source = sizes.context().source(symbol);
        found |= source.kind == SymbolSource::Kind::Content && source.value.getDefiningOp() == op;
      });
  return found;
}

/// True when `use` may say how large a result is. Such values stay outside: the schedule knows them before it launches
/// a kernel.
static bool maySizeResult(OpOperand &use) {
  auto type = cast<RankedTensorType>(use.get().getType());
  auto result = dyn_cast<RankedTensorType>(use.getOwner()->getResult(0).getType());
  bool mayBeSizes = use.getOperandNumber() > 0 || isa<IotaOp>(use.getOwner());
  return mayBeSizes && type.getRank() <= 1 && type.hasStaticShape() && type.getElementType().isInteger() &&
         !type.getElementType().isInteger(1) && result && !result.hasStaticShape() && !isa<Pointwise>(use.getOwner());
}

int64_t Planner::costOf(Operation *op) {
  // The element types matter little; one measurement per kind of op is enough.
  if (!isa<Pointwise>(op))
    return elementCost(op);
  if (isa<DecodeFloat8Op>(op)) // a few operations on bits, and its result takes four times the memory
    return kCheapCost;
  auto [known, isNew] = costs.try_emplace(op->getName(), 0);
  if (isNew)
    known->second = elementCost(op);
  return known->second;
}

/// True when `user` may read an element of `operand` more than once, or computes it in vain.
bool Planner::readsOften(Operation *user, Value operand, Group &group) {
  if (isa<Pointwise>(user))
    return false;
  // The kernel walks what it joins part by part.
  auto concatenate = dyn_cast<ConcatenateOp>(user);
  if (concatenate && isAligned(user, group) && !hasDevices(user))
    return false;
  if (isa<ResizeOp, GridSampleOp>(user))
    return true;
  auto resultType = cast<RankedTensorType>(user->getResult(0).getType());
  // Along the lanes every operand is computed for every element.
  if (concatenate && static_cast<int64_t>(concatenate.getAxis()) == resultType.getRank() - 1)
    return true;
  auto operandType = cast<RankedTensorType>(operand.getType());
  if (resultType.hasStaticShape() && operandType.hasStaticShape())
    return 2 * resultType.getNumElements() > 3 * operandType.getNumElements();
  DimContext &context = sizes.context();
  DimExpr written = context.product(sizes.dims(user->getResult(0))), read = context.product(sizes.dims(operand));
  std::optional<int64_t> spare = context.bounds(context.sub(read, written)).low;
  return !(spare && *spare >= 0) && !concatenate;
}

unsigned Planner::startGroup(Operation *op) {
  unsigned number = groups.size();
  groups.emplace_back();
  Group &group = groups.back();
  group.ops.insert(op);
  group.aligned.insert(op);
  group.node = position[op];
  groupOfNode[group.node] = static_cast<int>(number);
  if (!isMapOp(op))
    group.root = op;
  groupsOf[op].push_back(number);
  home[op] = number;
  return number;
}

/// True when `target` depends on a size of what `measured` computes: it cannot be in the same kernel.
bool Planner::measuresReach(ArrayRef<Operation *> measured, Operation *target) {
  llvm::SmallSetVector<Operation *, 8> reached;
  for (Operation *op : measured)
    for (Operation *user : op->getUsers())
      if (isSize(user))
        reached.insert(user);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] == target)
      return true;
    for (Operation *user : reached[i]->getUsers())
      if (position[user] <= position[target])
        reached.insert(user);
  }
  return false;
}

/// True when the kernel reads each element of `op` where it computes the result's element of the same place.
bool Planner::isAligned(Operation *op, Group &group) {
  KernelTemplate kernelTemplate = group.root ? templateOf(group.root) : KernelTemplate::map;
  if (kernelTemplate != KernelTemplate::map && kernelTemplate != KernelTemplate::row)
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return !group.ops.contains(user) || readsOnlySizes(use) || user == group.root ||
           (isa<Pointwise>(user) && group.aligned.contains(user));
  });
}

/// An update of a state by pointwise ops is a map of its own: that can write over the old value, once all others have
/// read it.
void Planner::findStateUpdates() {
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  if (!function)
    return;
  llvm::StringMap<BlockArgument> states;
  for (BlockArgument argument : function.getArguments())
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "sinter.state"))
      states[name.getValue()] = argument;
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    auto name = function.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "sinter.state");
    BlockArgument old = name ? states.lookup(name.getValue()) : BlockArgument();
    if (!old)
      continue;
    stateResults.insert(operand.getOperandNumber());
    // Pointwise ops that the next value is made of, users before producers; then those of them that read the old one.
    llvm::SmallSetVector<Operation *, 8> backward;
    auto add = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (op && isa<Pointwise>(op) && op->getBlock() == &block)
        backward.insert(op);
    };
    add(operand.get());
    for (size_t i = 0; i < backward.size(); ++i)
      llvm::for_each(backward[i]->getOperands(), add);
    SmallVector<Operation *> sorted = backward.takeVector();
    llvm::sort(sorted, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    llvm::SmallPtrSet<Operation *, 8> readers;
    for (Operation *op : sorted)
      if (llvm::any_of(op->getOperands(), [&](Value value) {
            return value == old || (value.getDefiningOp() && readers.contains(value.getDefiningOp()));
          }))
        readers.insert(op);
    stateUpdates.insert(readers.begin(), readers.end());
  }
  // What was required once holds.
  llvm::SmallDenseSet<Value> required;
  auto mayFail = [&](Operation &op) {
    auto isOpen = [](Type type) { return !cast<RankedTensorType>(type).hasStaticShape(); };
    if (isCheck(&op))
      return required.insert(op.getOperand(0)).second;
    return op.getNumRegions() != 0 || runsOnHost(&op) || llvm::any_of(op.getResultTypes(), isOpen);
  };
  for (Operation &op : block.without_terminator())
    if (mayFail(op))
      lastFailing = position[&op];
}

/// How many of an epilogue's ops are left where the last ones only widen a small number for other kernels' epilogues,
/// such as bytes that become floats: those read the number as it is stored and widen it in registers.
size_t Planner::endBeforeWidening(ArrayRef<Operation *> members) {
  Value value = members.back()->getResult(0);
  bool isRead = llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto found = groupsOf.find(user);
    return isa<Pointwise>(user) && found != groupsOf.end() &&
           llvm::all_of(found->second, [&](unsigned number) { return groups[number].aligned.contains(user); });
  });
  int64_t width = byteWidth(getElementTypeOrSelf(value)), cost = 0;
  for (size_t count = members.size(); isRead && count > 2; --count) {
    Operation *op = members[count - 1];
    llvm::SmallDenseSet<Value> read;
    for (Value operand : op->getOperands())
      if (!matchPattern(operand, m_Constant()))
        read.insert(operand);
    cost += costOf(op);
    if (!isa<Pointwise>(op) || op->getResult(0) != value || read.size() != 1 || cost > kLargeCost)
      break;
    value = *read.begin();
    if (value.getDefiningOp() == members[count - 2] && byteWidth(getElementTypeOrSelf(value)) < width)
      return count - 1;
  }
  return members.size();
}

/// True when `value` may be had where `root` stands: it lies before, or is made element by element of what does, as
/// corrections by the number of the step are.
bool Planner::isReady(Value value, Operation *root) {
  llvm::SmallSetVector<Value, 8> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i].getDefiningOp();
    if (!op || op->getBlock() != &block || position[op] < position[root])
      continue;
    if (!isMapOp(op) && !matchPattern(op, m_Constant()))
      return false;
    needed.insert_range(op->getOperands());
  }
  return true;
}

/// True when all that the block's terminator reads of `op` are next values of states.
bool Planner::givesStates(Operation *op) {
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    return use.getOwner() != block.getTerminator() || stateResults.contains(use.getOperandNumber());
  });
}

/// A product whose result is a gradient of which nothing but next values of states is made: weights, moments. They are
/// written while the gradient is in registers, so that it never goes to memory. The product then runs after all that
/// reads these states and after all that may fail (backends/schedule), which must not lie far behind it.
void Planner::growUpdates(unsigned number) {
  Group &group = groups[number];
  Operation *root = group.root;
  // Of less, other emitters take the product, which write their results beside the states.
  constexpr int64_t fewestRows = 2, fewestColumns = 16, mostResults = 8;
  if (templateOf(root) != KernelTemplate::contraction || stateResults.empty() || hasDevices(root) ||
      position[root] < lastFailing)
    return;
  auto isPlain = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.hasStaticShape() && type.getElementType().isF32();
  };
  auto type = cast<RankedTensorType>(root->getResult(0).getType());
  if (!isPlain(root->getResult(0)) || !llvm::all_of(root->getOperands(), isPlain) || type.getRank() != 2 ||
      type.getDimSize(0) < fewestRows || type.getDimSize(1) < fewestColumns)
    return;

  llvm::SmallSetVector<Operation *, 16> members;
  members.insert(root);
  int64_t results = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    bool leaves = false;
    for (Operation *user : members[i]->getUsers()) {
      leaves |= user == block.getTerminator();
      if (user == block.getTerminator() || members.contains(user))
        continue;
      if (!isa<Pointwise>(user) || user->getNumResults() != 1 || user->hasAttr(kKeptAttr) || groupsOf.contains(user) ||
          !sizes.sameShape(user->getResult(0), root->getResult(0)))
        return;
      members.insert(user);
    }
    results += leaves;
    if (!givesStates(members[i]) || results > mostResults || static_cast<int64_t>(members.size()) > options.maxOps / 2)
      return;
  }
  for (Operation *member : members)
    for (Value operand : member->getOperands())
      if (!members.contains(operand.getDefiningOp()) && !isReady(operand, root))
        return;
  for (Operation *member : llvm::drop_begin(members)) {
    group.ops.insert(member);
    group.epilogue.insert(member);
    group.aligned.insert(member);
    groupsOf[member].push_back(number);
    home[member] = number;
  }
  group.outputs = static_cast<unsigned>(results);
  group.updatesStates = true;
}

/// Pointwise ops after a root stay in its registers as long as exactly one value leaves.
void Planner::growEpilogue(unsigned number) {
  Group &group = groups[number];
  Operation *root = group.root;
  switch (templateOf(root)) {
  case KernelTemplate::contraction:
  case KernelTemplate::convolution:
  case KernelTemplate::window:
  case KernelTemplate::reduce:
  case KernelTemplate::row:
    break;
  case KernelTemplate::attention:
    return growTransposed(number);
  default:
    return;
  }
  Value first;
  for (Value result : root->getResults()) {
    if (result.use_empty())
      continue;
    if (first)
      return;
    first = result;
  }
  if (!first)
    return;
  growUpdates(number);
  if (group.updatesStates)
    return;

  llvm::SmallSetVector<Operation *, 8> members;
  members.insert(root);
  size_t committed = 1;
  while (static_cast<int64_t>(members.size()) < options.maxOps) {
    // The next op in program order that uses a value of the group. All its values have one shape: who asks for sizes
    // may ask the kernel's result.
    Operation *next = nullptr;
    for (Operation *member : members)
      for (Operation *user : member->getUsers())
        if (!members.contains(user) && !isSize(user) && (!next || position[user] < position[next]))
          next = user;
    if (!next || isScheduleOp(next) || groupsOf.contains(next) || stateUpdates.contains(next))
      break;
    if (!isa<Pointwise>(next)) {
      // A broadcast to the size of what the group computes, for another operand of the epilogue.
      if (!isa<BroadcastOp>(next) || members.contains(next->getOperand(0).getDefiningOp()))
        break;
    }
    if (!sizes.sameShape(next->getResult(0), first) || measuresReach(members.getArrayRef(), next))
      break;
    members.insert(next);
    bool single = llvm::all_of(members, [&](Operation *member) {
      return member == next ||
             llvm::all_of(member->getUsers(), [&](Operation *user) { return members.contains(user) || isSize(user); });
    });
    if (single && isa<Pointwise>(next))
      committed = members.size();
  }
  if (!hasDevices(root))
    committed = endBeforeWidening(members.getArrayRef().take_front(committed));
  for (Operation *member : llvm::drop_begin(members.getArrayRef().take_front(committed))) {
    group.ops.insert(member);
    group.epilogue.insert(member);
    group.aligned.insert(member);
    groupsOf[member].push_back(number);
    home[member] = number;
  }
  addNarrowResults(number, members[committed - 1]->getResult(0));
}

/// Attention of the host writes its rows where a transpose that alone reads them would bring them.
void Planner::growTransposed(unsigned number) {
  Group &group = groups[number];
  Operation *order = orderOfRows(group.root);
  if (options.maxOps < 2 || !order || hasDevices(order) || groupsOf.contains(order))
    return;
  group.ops.insert(order);
  group.epilogue.insert(order);
  groupsOf[order].push_back(number);
  home[order] = number;
}

static bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

static bool isRepeated(Value value) { return isa_and_nonnull<BroadcastOp>(value.getDefiningOp()); }

/// The ops that make a narrower number of each element of `value`, from `first` on: conversions to 16 bits, or what
/// makes bytes of floats. None where something else reads what lies between, or where they read what is no constant: a
/// scale may follow from `value` itself.
static SmallVector<Operation *> narrowed(Value value, Operation *first) {
  SmallVector<Operation *> chain;
  int64_t width = byteWidth(getElementTypeOrSelf(value));
  for (Operation *op = first; isa<Pointwise>(op) && op->getNumResults() == 1; op = *op->user_begin()) {
    bool readsConstants = llvm::all_of(op->getOperands(), [&](Value operand) {
      return operand == value || (!chain.empty() && operand == chain.back()->getResult(0)) || isConstant(operand) ||
             (isRepeated(operand) && isConstant(operand.getDefiningOp()->getOperand(0)));
    });
    if (!readsConstants)
      return {};
    chain.push_back(op);
    if (byteWidth(getElementTypeOrSelf(op->getResult(0))) < width)
      return chain;
    if (!op->hasOneUse())
      return {};
  }
  return {};
}

static bool isProduct(Operation *op) {
  KernelTemplate form = templateOf(op);
  return form == KernelTemplate::contraction || form == KernelTemplate::convolution;
}

/// True when a product reads `value`, perhaps padded: it is stored then. Other readers make what they read themselves.
static bool isReadByProduct(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isProduct(user) || isPadding(user); });
}

/// Products read what the epilogue computes as narrower numbers: these are stored beside it, instead of by a kernel
/// that reads all of it again.
void Planner::addNarrowResults(unsigned number, Value value) {
  Group &group = groups[number];
  constexpr unsigned mostResults = 2;
  if (hasDevices(group.root) || !isProduct(group.root) || value.hasOneUse())
    return;
  for (Operation *user : value.getUsers()) {
    SmallVector<Operation *> chain = narrowed(value, user);
    bool fits = !chain.empty() && isReadByProduct(chain.back()->getResult(0)) && group.outputs < mostResults &&
                static_cast<int64_t>(group.ops.size() + chain.size()) < options.maxOps;
    for (Operation *op : chain)
      fits &= !groupsOf.contains(op) && !stateUpdates.contains(op) && !isScheduleOp(op) &&
              sizes.sameShape(op->getResult(0), value) && !measuresReach(group.ops.getArrayRef(), op);
    if (!fits)
      continue;
    for (Operation *op : chain) {
      group.ops.insert(op);
      group.epilogue.insert(op);
      group.aligned.insert(op);
      groupsOf[op].push_back(number);
      home[op] = number;
    }
    ++group.outputs;
  }
}

/// Whether the elements of what an op gives follow from few numbers.
static bool spreads(Operation *op) { return isa<BroadcastOp, IotaOp>(op); }

/// True when the operand `use` of a product only repeats batches (or adds axes of size 1).
bool Planner::repeatsBatches(BroadcastOp op, OpOperand &use) {
  auto dot = cast<DotGeneralOp>(use.getOwner());
  ArrayRef<int64_t> batch = use.getOperandNumber() == 0 ? dot.getLhsBatch() : dot.getRhsBatch();
  Dims repeated = sizes.dims(op.getResult()), own = sizes.dims(op.getOperand());
  for (auto [axis, size] : llvm::enumerate(repeated)) {
    if (llvm::is_contained(batch, static_cast<int64_t>(axis)))
      continue;
    const auto *found = llvm::find(op.getAxes(), static_cast<int64_t>(axis));
    bool kept = found != op.getAxes().end() && own[found - op.getAxes().begin()] == size;
    if (!kept && !(size.isConstant() && size.constant() == 1))
      return false;
  }
  return true;
}

/// How often the code of an element of `op` reads an operand: once for lanes that all lie within it, and once for those
/// that do not.
static unsigned readsPerElement(Operation *op) {
  return isa<PadOp, DynamicPadOp, ConcatenateOp, DynamicUpdateSliceOp>(op) ? 2 : 1;
}

/// Where the members of `group` read `op`; stops above kMaxPlaces.
SmallVector<unsigned, 4> Planner::placesOf(Operation *op, Group &group) {
  llvm::SmallSetVector<unsigned, 4> found;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (!group.ops.contains(user) || readsOnlySizes(use))
      continue;
    bool isMoved = !isa<Pointwise>(user) && user != group.root;
    SmallVector<unsigned, 4> places = group.places.lookup(user);
    if (places.empty())
      places = {0};
    for (unsigned place : places) {
      for (unsigned read = 0, reads = isMoved ? readsPerElement(user) : 1; read < reads; ++read) {
        unsigned operand = use.getOperandNumber() * reads + read;
        found.insert(isMoved ? group.moved.try_emplace({user, operand, place}, group.moved.size() + 1).first->second
                             : place);
      }
      if (found.size() > kMaxPlaces)
        return found.takeVector();
    }
  }
  return found.takeVector();
}

/// A grid sample whose lanes run along the channels of one place.
static bool samplesChannels(Operation *op) {
  auto sample = dyn_cast<GridSampleOp>(op);
  return sample && sample.getLayout() == ConvLayout::channels_last;
}

/// True where lanes would run along places instead of channels, for what a grid sample reads or gives, if `op` joined
/// the group of `use`: moves of axes then stay kernels of their own.
bool Planner::turnsChannels(Operation *op, OpOperand &use, Group &group) {
  if (samplesChannels(op))
    return !isAligned(op, group);
  Operation *user = use.getOwner();
  bool isSampled = samplesChannels(user) ? use.getOperandNumber() == 0 : group.repeated.contains(user);
  return isa<TransposeOp>(op) && isSampled && llvm::any_of(group.ops, samplesChannels);
}

/// A producer may join where its values are read in the way and as often as its cost allows.
bool Planner::canJoin(Operation *op, Group &group) {
  if (static_cast<int64_t>(group.ops.size()) >= options.maxOps || op->hasAttr(kKeptAttr))
    return false;
  // Code is made for each operand: joins of many count as many ops.
  auto joinedBy = [](Operation *member) { return static_cast<int64_t>(std::max(member->getNumOperands(), 3U)) - 3; };
  int64_t joined = joinedBy(op);
  if (joined > 0)
    for (Operation *member : group.ops)
      joined += joinedBy(member);
  if (joined > options.maxOps)
    return false;
  if (llvm::any_of(group.ops, [&](Operation *member) { return givesSizes(op, member); }))
    return false;
  bool isMove = !isa<Pointwise>(op);
  bool isSpread = spreads(op);
  int64_t cost = costOf(op);
  if (placesOf(op, group).size() > (cost > kCheapCost ? kMaxCostlyPlaces : kMaxPlaces))
    return false;
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (!group.ops.contains(user))
      continue;
    if (maySizeResult(use) || turnsChannels(op, use, group))
      return false;
    if (readsOnlySizes(use) || isFilterOrder(op) || (hasDevices(op) && givesRowsOfCache(op)))
      continue;
    if (group.root && templateOf(group.root) == KernelTemplate::attention) {
      bool isRead = user == group.root ? readsByRows(use) : !group.epilogue.contains(user);
      if (!isRead || hasDevices(op) || !movesWholeRows(op))
        return false;
      continue;
    }
    // A convolution copies what it pads from memory.
    if (group.root && isPadding(user))
      return false;
    if (user == group.root) {
      KernelTemplate kernelTemplate = templateOf(user);
      if (isPadding(op) || (isa<DotGeneralOp>(user) && (isRowStart(op) || isOfBytes(use) || isOfFloat8(use))))
        continue;
      // A product reads repeated batches with a stride of 0.
      if (auto broadcast = dyn_cast<BroadcastOp>(op); broadcast && isa<DotGeneralOp>(user)) {
        if (!repeatsBatches(broadcast, use))
          return false;
        continue;
      }
      // Each element of what a reduction reads is read in order; a row several times.
      bool streams = kernelTemplate == KernelTemplate::reduce || kernelTemplate == KernelTemplate::row;
      if (!streams || use.getOperandNumber() != 0 || (isMove && !isSpread))
        return false;
      if (kernelTemplate == KernelTemplate::row && cost > kCheapCost)
        return false;
      continue;
    }
    // What the epilogue of a product reads at the place that it writes is computed once, in registers.
    bool inRegisters = group.root && templateOf(group.root) == KernelTemplate::contraction && isa<Pointwise>(user) &&
                       group.aligned.contains(user);
    if (group.root && (isMove ? !isSpread : cost > kCheapCost && !inRegisters))
      return false;
    if (cost > kCheapCost && (group.repeated.contains(user) || readsOften(user, use.get(), group)))
      return false;
  }
  return true;
}

void Planner::join(Operation *op, Group &group) {
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (!group.ops.contains(user) || readsOnlySizes(use))
      continue;
    bool isRow = user == group.root && templateOf(user) == KernelTemplate::row;
    if (group.repeated.contains(user) || isRow || readsOften(user, use.get(), group))
      group.repeated.insert(op);
    if (isRow || (isa<Pointwise>(user) && group.aligned.contains(user)))
      group.aligned.insert(op);
  }
  group.places[op] = placesOf(op, group);
  group.ops.insert(op);
  groupsOf[op].push_back(&group - groups.data());
}

/// The nodes of what reads values that `node` gives: an op that is in no group yet, or the group that it stands for.
void Planner::addReaders(unsigned node, SmallVectorImpl<unsigned> &list) {
  auto addUsers = [&](Operation *op) {
    for (Operation *user : op->getUsers()) {
      Operation *reader = block.findAncestorOpInBlock(*user);
      auto it = groupsOf.find(reader);
      if (it == groupsOf.end())
        list.push_back(position.lookup(reader));
      else
        for (unsigned number : it->second)
          list.push_back(groups[number].node);
    }
  };
  if (int number = groupOfNode[node]; number < 0)
    addUsers(inOrder[node]);
  else // a kernel runs as one; a copy in another kernel does not leave
    for (Operation *member : groups[number].ops)
      if (auto at = home.find(member); at != home.end() && static_cast<int>(at->second) == number)
        addUsers(member);
}

/// True for a large tensor that is computed at little cost from one other tensor and numbers.
bool Planner::isReadFromLarge(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isa<Pointwise>(op) || !type.hasStaticShape() || costOf(op) > kLargeCost ||
      type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8) < kLargeBytes)
    return false;
  llvm::SmallDenseSet<Value> read;
  for (Value operand : op->getOperands())
    if (!isConstant(operand) && !isRepeated(operand))
      read.insert(operand);
  return read.size() == 1;
}

void Planner::place(Operation *op) {
  llvm::SmallSetVector<unsigned, 4> users;
  bool leaves = true, measured = false;
  for (Operation *user : op->getUsers())
    if (groupsOf.contains(user))
      leaves = false;
  for (Operation *user : op->getUsers()) {
    auto it = groupsOf.find(user);
    if (it != groupsOf.end())
      users.insert(it->second.begin(), it->second.end());
    else if (isSize(user))
      measured = true;
    else
      leaves = true;
  }
  SmallVector<unsigned> joinable;
  for (unsigned number : users)
    if (canJoin(op, groups[number]))
      joinable.push_back(number);
  // A kernel's result answers for the sizes of what has its shape.
  if (measured && !leaves)
    leaves = users.size() != 1 || joinable.empty() || !isAligned(op, groups[joinable[0]]) ||
             llvm::any_of(groups[joinable[0]].ops, [&](Operation *member) { return measuresReach(op, member); });

  // Neither do numbers of bytes.
  bool isDecoded = isa<DecodeFloat8Op>(op) && hasDevices(op), isSpread = spreads(op) || isDecoded;
  bool isMove = isDecoded || (isa<Elemental>(op) && costOf(op) <= kCheapCost);
  bool everyUser = !leaves && joinable.size() == users.size();
  if (everyUser && (users.size() == 1 || isMove || isa<ConvertOp, DecodeFloat8Op>(op))) {
    for (unsigned number : joinable)
      join(op, groups[number]);
    return;
  }
  // Repeated values cost nothing to repeat again, wherever that is possible.
  if (isSpread && !joinable.empty()) {
    for (unsigned number : joinable)
      join(op, groups[number]);
    startGroup(op);
    return;
  }
  // Neither does one of the two kernels that read a large tensor read more when it computes it.
  if (everyUser && users.size() == 2 && isReadFromLarge(op) &&
      llvm::any_of(joinable, [&](unsigned number) { return groups[number].root != nullptr; })) {
    for (unsigned number : joinable)
      join(op, groups[number]);
    return;
  }
  // One kernel computes it and stores it as well.
  for (unsigned number : joinable) {
    Group &group = groups[number];
    constexpr unsigned maxOutputs = 8;
    if (group.outputs >= maxOutputs || !isAligned(op, group))
      continue;
    // Sizes may be equal at run time only, as where arguments of unnamed sizes meet: a kernel has one.
    if (!sizes.sameShape(op->getResult(0), group.ops.front()->getResult(0)))
      continue;
    if (!order->mayJoin(position[op], group.node, [&](unsigned node, auto &list) { addReaders(node, list); }))
      continue;
    join(op, group);
    home[op] = number;
    ++group.outputs;
    return;
  }
  startGroup(op);
}

FusionPlan Planner::run() {
  SmallVector<Operation *> ops;
  for (auto [i, op] : llvm::enumerate(block)) {
    position[&op] = i;
    inOrder.push_back(&op);
    if (!isScheduleOp(&op))
      ops.push_back(&op);
  }
  groupOfNode.assign(inOrder.size(), -1);
  if (options.maxOps <= 1) {
    llvm::for_each(ops, [&](Operation *op) { startGroup(op); });
  } else {
    findStateUpdates();
    for (Operation *op : llvm::reverse(ops))
      if (!isMapOp(op))
        growEpilogue(startGroup(op));
    order.emplace(inOrder.size(), [&](unsigned node, auto &list) { addReaders(node, list); });
    for (Operation *op : llvm::reverse(ops))
      if (!groupsOf.contains(op))
        place(op);
  }

  // A value is given by its home; copies elsewhere serve only their own kernels.
  std::vector<FusionGroup> planned(groups.size());
  for (auto [number, group] : llvm::enumerate(groups)) {
    FusionGroup &out = planned[number];
    out.root = group.root;
    out.kernelTemplate = group.root ? templateOf(group.root) : KernelTemplate::map;
    out.ops.assign(group.ops.begin(), group.ops.end());
    llvm::sort(out.ops, [&](Operation *a, Operation *b) { return position[a] < position[b]; });
    out.place = group.updatesStates ? group.root : out.ops.back();
    for (Operation *op : out.ops) {
      auto found = home.find(op);
      if (found == home.end() || found->second != number)
        continue;
      auto needsIt = [&](Operation *user) {
        // Who measures asks another result, unless results differ in shape or there is none.
        if (isSize(user))
          return op->getNumResults() > 1;
        auto it = groupsOf.find(user);
        return it == groupsOf.end() ||
               llvm::any_of(it->second, [&](unsigned other) { return !groups[other].ops.contains(op); });
      };
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), needsIt))
          out.results.push_back(result);
    }
    for (Operation *op : out.ops)
      if (out.results.empty() && home.lookup_or(op, groups.size()) == number && llvm::any_of(op->getUsers(), isSize))
        out.results.push_back(op->getResult(0));
  }
  FusionPlan plan;
  for (FusionGroup &group : planned)
    if (!group.results.empty())
      plan.groups.push_back(std::move(group));
  // In the order in which kernels will stand.
  llvm::sort(plan.groups, [&](const FusionGroup &a, const FusionGroup &b) {
    return std::pair(position[a.place], position[a.ops.front()]) <
           std::pair(position[b.place], position[b.ops.front()]);
  });
  return plan;
}

FusionPlan sinter::planFusion(Block &block, ShapeAnalysis &sizes, const FusionOptions &options) {
  return Planner(block, sizes, options).run();
}
