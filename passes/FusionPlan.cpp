// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

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
#include "passes/FusionPlanner.h"
#include "passes/KernelOrder.h"
#include "passes/SizeUses.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

/// A value is computed in a kernel at so many places at most: moves upon moves that read it twice would make 2^n. Their
/// code adds up also where only one of them runs; that of costly values is long.
static constexpr size_t kMaxPlaces = 64, kMaxCostlyPlaces = 8;

bool sinter::isCheck(Operation *op) { return isa<RequireOp>(op); }

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

bool sinter::isPadding(Operation *op) {
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

/// True when a size of what `user` computes is an element of what `op` computes: the schedule reads it before it
/// launches the kernel of `user`.
bool FusionPlanner::givesSizes(Operation *op, Operation *user) {
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

int64_t FusionPlanner::costOf(Operation *op) {
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
bool FusionPlanner::readsOften(Operation *user, Value operand, Group &group) {
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

bool sinter::isConstant(Value value) { return matchPattern(value, m_Constant()); }

bool sinter::isRepeated(Value value) { return isa_and_nonnull<BroadcastOp>(value.getDefiningOp()); }

unsigned FusionPlanner::startGroup(Operation *op) {
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

void FusionPlanner::addEpilogue(unsigned number, Operation *op) {
  Group &group = groups[number];
  group.ops.insert(op);
  group.epilogue.insert(op);
  group.aligned.insert(op);
  groupsOf[op].push_back(number);
  home[op] = number;
}

/// True when `target` depends on a size of what `measured` computes: it cannot be in the same kernel.
bool FusionPlanner::measuresReach(ArrayRef<Operation *> measured, Operation *target) {
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
bool FusionPlanner::isAligned(Operation *op, Group &group) {
  KernelTemplate kernelTemplate = group.root ? templateOf(group.root) : KernelTemplate::map;
  if (kernelTemplate != KernelTemplate::map && kernelTemplate != KernelTemplate::row)
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return !group.ops.contains(user) || readsOnlySizes(use) || user == group.root ||
           (isa<Pointwise>(user) && group.aligned.contains(user));
  });
}

/// Whether the elements of what an op gives follow from few numbers.
static bool spreads(Operation *op) { return isa<BroadcastOp, IotaOp>(op); }

/// True when the operand `use` of a product only repeats batches (or adds axes of size 1).
bool FusionPlanner::repeatsBatches(BroadcastOp op, OpOperand &use) {
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
SmallVector<unsigned, 4> FusionPlanner::placesOf(Operation *op, Group &group) {
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

/// True where lanes would run along places instead of channels, for what a grid sample reads or gives, if `op` joined
/// the group of `use`: moves of axes then stay kernels of their own.
bool FusionPlanner::turnsChannels(Operation *op, OpOperand &use, Group &group) {
  if (samplesChannels(op))
    return !isAligned(op, group);
  Operation *user = use.getOwner();
  bool isSampled = samplesChannels(user) ? use.getOperandNumber() == 0 : group.repeated.contains(user);
  return isa<TransposeOp>(op) && isSampled && llvm::any_of(group.ops, samplesChannels);
}

/// A producer may join where its values are read in the way and as often as its cost allows.
bool FusionPlanner::canJoin(Operation *op, Group &group) {
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

void FusionPlanner::join(Operation *op, Group &group) {
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
void FusionPlanner::addReaders(unsigned node, SmallVectorImpl<unsigned> &list) {
  auto addUsers = [&](Operation *op, bool onlySizes = false) {
    for (Operation *user : op->getUsers()) {
      if (onlySizes && !isSize(user))
        continue;
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
    for (Operation *member : groups[number].ops) {
      auto at = home.find(member);
      if (at == home.end()) // nowhere stored: a result of this kernel answers for its sizes
        addUsers(member, /*onlySizes=*/true);
      else if (static_cast<int>(at->second) == number)
        addUsers(member);
    }
}

/// True for a large tensor that is computed at little cost from one other tensor and numbers.
bool FusionPlanner::isReadFromLarge(Operation *op) {
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

void FusionPlanner::place(Operation *op) {
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

FusionPlan FusionPlanner::run() {
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
  return FusionPlanner(block, sizes, options).run();
}
