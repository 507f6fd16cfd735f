// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/FormKernels.h"
#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/Elementwise.h"
#include "ir/FilterOrder.h"
#include "ir/Indexing.h"
#include "ir/Kernel.h"
#include "ir/Precision.h"
#include "ir/Ranges.h"
#include "ir/Resampling.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "passes/CachePages.h"
#include "passes/Devices.h"
#include "passes/FusionPlan.h"
#include "passes/KernelNumbers.h"
#include "passes/SizeUses.h"
#include "passes/ZeroBlocks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Bytes of a function's constants that repeat one number and are stored all the same, for kernels that read memory.
constexpr int64_t kMaxNumberBytes = 16 << 20;

/// Operands that one kernel joins.
constexpr int64_t kMaxJoined = 64;

/// A constant that stands for one number, which a kernel holds itself.
static bool isSplat(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return dense && dense.isSplat();
}

/// Which inputs of a product's kernel may hold blocks of zeros; null for none.
static DenseI64ArrayAttr zerosOf(const FusionGroup &group, ArrayRef<Value> inputs) {
  auto dot = dyn_cast_or_null<DotGeneralOp>(group.root);
  if (!dot)
    return {};
  auto scaled = dot->hasOneUse() ? dyn_cast<MulOp>(*dot->user_begin()) : MulOp();
  SmallVector<int64_t> zeros;
  for (auto [i, input] : llvm::enumerate(inputs))
    if ((input == dot.getLhs() || (scaled && llvm::is_contained(scaled->getOperands(), input))) &&
        mayHoldZeroBlocks(input))
      zeros.push_back(static_cast<int64_t>(i));
  return zeros.empty() ? DenseI64ArrayAttr() : DenseI64ArrayAttr::get(dot.getContext(), zeros);
}

/// Builds the kernel of a group before the op whose place it takes. The group's own ops stay until every kernel is
/// built.
static KernelOp buildKernel(const FusionGroup &group) {
  OpBuilder b(group.place);
  SmallVector<Location> locations;
  for (Operation *op : group.ops)
    locations.push_back(op->getLoc());
  Location loc = b.getFusedLoc(locations);

  llvm::SmallPtrSet<Operation *, 8> members(group.ops.begin(), group.ops.end());
  llvm::SmallSetVector<Value, 8> inputs, numbers;
  // Scales that all of the group know as a constant.
  auto areKnownScales = [&](Value value) {
    DenseElementsAttr scales;
    return matchPattern(value, m_Constant(&scales)) && llvm::all_of(value.getUses(), [&](OpOperand &use) {
             return !members.contains(use.getOwner()) || areResizeScales(use);
           });
  };
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands()) {
      if (members.contains(operand.getDefiningOp()))
        continue;
      // What a root reads is a buffer, even if all its elements are alike.
      if (op != group.root && (isSplat(operand) || areKnownScales(operand)))
        numbers.insert(operand);
      else
        inputs.insert(operand);
    }

  SmallVector<Type> types;
  for (Value result : group.results)
    types.push_back(result.getType());
  auto kernel = KernelOp::create(b, loc, types, inputs.getArrayRef(), group.kernelTemplate, ScheduleAttr(),
                                 zerosOf(group, inputs.getArrayRef()), ArrayAttr(), /*in_place=*/false);
  Block &body = kernel.getBody().emplaceBlock();
  IRMapping map;
  b.setInsertionPointToStart(&body);
  for (Value number : numbers)
    map.map(number, b.clone(*number.getDefiningOp())->getResult(0));
  for (Value input : inputs) {
    Value argument = body.addArgument(input.getType(), input.getLoc());
    if (!numbers.contains(input))
      map.map(input, argument);
  }
  for (Operation *op : group.ops) {
    Operation *copy = b.clone(*op, map);
    copy->removeAttr(kKeptAttr);
    if (Attribute again = copy->removeAttr(kAgainAttr))
      kernel->setDiscardableAttr(kAgainAttr, again);
    if (op != group.root)
      continue;
    for (OpOperand &operand : op->getOpOperands())
      if (numbers.contains(operand.get()))
        copy->setOperand(operand.getOperandNumber(),
                         body.getArgument(std::distance(inputs.begin(), llvm::find(inputs, operand.get()))));
  }
  SmallVector<Value> yielded;
  for (Value result : group.results)
    yielded.push_back(map.lookup(result));
  YieldOp::create(b, loc, yielded);
  return kernel;
}

/// A filter that is not a constant cannot be packed at compile time. One kernel brings it into an order in which output
/// channels, or pairs of input channels, are contiguous, and the convolution's own reads it so.
static void orderFilters(Block &block) {
  for (auto convolution : llvm::make_early_inc_range(block.getOps<ConvolutionOp>())) {
    Value filter = convolution.getFilter();
    auto type = cast<RankedTensorType>(filter.getType());
    int64_t pack = filterPack(convolution);
    bool isOrdered = type.getElementType().isF32() || type.getElementType().isF64() ||
                     (pack > 1 && !hasDevices(convolution)); // devices read 16 bits as they lie
    if (convolution.getLayout() != ConvLayout::channels_last || !type.hasStaticShape() || type.getRank() > 4 ||
        !isOrdered || filter.getDefiningOp<ConstantOp>())
      continue;
    OpBuilder b(convolution);
    Composer c(filter.getLoc(), b);
    convolution.getFilterMutable().assign(orderFilter(c, filter, pack));
    for (Operation *before = filter.getDefiningOp(); before && isOpTriviallyDead(before);) {
      Operation *next = before->getNumOperands() ? before->getOperand(0).getDefiningOp() : nullptr;
      before->erase();
      before = next;
    }
  }
}

/// Puts what is read after its first reader in front of it and leaves all else in order: a value of the backward part
/// that could be computed early would be kept for long.
static void sortByReaders(Block &block) {
  SmallVector<Operation *> order;
  for (Operation &op : block)
    order.push_back(&op);
  DenseSet<Operation *> placed, isWaiting;
  Operation *end = block.getTerminator();
  for (Operation *op : order) {
    // Ops that wait for what they read, each with its next operand.
    SmallVector<std::pair<Operation *, unsigned>> waiting{{op, 0}};
    isWaiting.insert(op);
    while (!waiting.empty()) {
      auto &[next, operand] = waiting.back();
      if (operand < next->getNumOperands()) {
        Operation *source = next->getOperand(operand++).getDefiningOp();
        if (!source || source->getBlock() != &block || placed.contains(source))
          continue;
        if (!isWaiting.insert(source).second)
          llvm::report_fatal_error("a kernel reads what is made of its own results");
        waiting.emplace_back(source, 0);
        continue;
      }
      if (placed.insert(next).second && next != end)
        next->moveBefore(end);
      isWaiting.erase(next);
      waiting.pop_back();
    }
  }
}

/// A join of more operands than a kernel may have becomes joins of joins: code is made for each operand, and compilers
/// take longer than linear for one long block. What is joined is copied once more for each level.
static void joinInParts(Block &block) {
  for (auto join : llvm::make_early_inc_range(block.getOps<ConcatenateOp>())) {
    OpBuilder b(join);
    SmallVector<Value> parts(join.getOperands());
    while (static_cast<int64_t>(parts.size()) > kMaxJoined) {
      SmallVector<Value> joined;
      for (ArrayRef<Value> rest = parts; !rest.empty();
           rest = rest.drop_front(std::min<size_t>(kMaxJoined, rest.size()))) {
        ArrayRef<Value> few = rest.take_front(kMaxJoined);
        joined.push_back(few.size() == 1 ? few.front()
                                         : ConcatenateOp::create(b, join.getLoc(), few, join.getAxis()).getResult());
      }
      parts = std::move(joined);
    }
    join->setOperands(parts);
  }
}

/// What of an op's operand is read as memory, and not as a number within a kernel or a size: but for zeros that the op
/// updates, as what is cleared is not copied.
static bool readsMemory(OpOperand &use, DenseElementsAttr number) {
  Operation *op = use.getOwner();
  if (isSize(op) || isa<KernelOp>(op))
    return false;
  if (isScheduleOp(op))
    return true;
  bool isUpdated = use.getOperandNumber() == 0 && isa<ScatterElementsOp, ScatterNdOp, DynamicUpdateSliceOp>(op);
  bool isZero = llvm::all_of(number.getRawData(), [](char byte) { return byte == 0; });
  return templateOf(op) != KernelTemplate::map && !(isUpdated && isZero);
}

/// Constants that repeat one number and are read as memory take up to `room` bytes of the module, the first ones first.
/// The others become broadcasts, which a kernel writes at run time: a small graph would make a large module.
static void spreadNumbers(Block &block, int64_t &room) {
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  for (Operation &op : block)
    for (OpOperand &use : op.getOpOperands())
      if (isSplat(use.get()) &&
          readsMemory(use, cast<DenseElementsAttr>(use.get().getDefiningOp<ConstantOp>().getValue())))
        uses[use.get()].push_back(&use);
  for (auto &[value, readers] : uses) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t bytes = saturatingMul(type.getNumElements(), byteWidth(type.getElementType()));
    if (bytes <= room) {
      room -= bytes;
      continue;
    }
    OpBuilder b(readers.front()->getOwner());
    auto number = cast<DenseElementsAttr>(value.getDefiningOp<ConstantOp>().getValue());
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value one = ConstantOp::create(b, value.getLoc(), TypeRange(scalar), number.resizeSplat(scalar))->getResult(0);
    Value spread =
        BroadcastOp::create(b, value.getLoc(), one, Value(), ValueRange(), ArrayRef<int64_t>{}, type).getResult();
    for (OpOperand *use : readers)
      use->set(spread);
    if (value.use_empty())
      value.getDefiningOp()->erase();
  }
}

static void formKernels(Block &block, ShapeAnalysis &sizes, const FusionOptions &options) {
  FusionPlan plan = planFusion(block, sizes, options);
  SmallVector<std::pair<Value, Value>> replacements, measured;
  llvm::SetVector<Operation *> old;
  for (const FusionGroup &group : plan.groups) {
    KernelOp kernel = buildKernel(group);
    for (auto [result, given] : llvm::zip(group.results, kernel.getResults()))
      replacements.emplace_back(result, given);
    // Sizes of what is not stored are those of a result (the plan lets only such values be measured).
    for (Operation *op : group.ops)
      for (Value value : op->getResults()) {
        if (llvm::is_contained(group.results, value) ||
            llvm::none_of(value.getUsers(), [](Operation *user) { return isSize(user); }))
          continue;
        for (auto [result, given] : llvm::zip(group.results, kernel.getResults()))
          if (cast<RankedTensorType>(result.getType()).getRank() == cast<RankedTensorType>(value.getType()).getRank()) {
            measured.emplace_back(value, given);
            break;
          }
      }
    old.insert(group.ops.begin(), group.ops.end());
  }
  for (auto [result, given] : replacements)
    result.replaceAllUsesWith(given);
  for (auto [value, given] : measured)
    value.replaceUsesWithIf(given, [](OpOperand &use) { return isSize(use.getOwner()); });
  // The ops use one another still, in any order.
  for (Operation *op : old)
    op->dropAllReferences();
  for (Operation *op : old)
    op->erase();
  sortByReaders(block);
}

/// Puts the ops of a kernel in its place.
static void inlineBody(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), kernel.getInputs()))
    argument.replaceAllUsesWith(input);
  for (auto [result, value] : llvm::zip(kernel.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(value);
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    op.moveBefore(kernel);
  kernel.erase();
}

/// Forms kernels of single ops from those that the back end does not take. They are looked at as it will see them: as
/// kernels hide what their sizes come from, a plan knows more than remains.
static void splitRefused(func::FuncOp function, const KernelFilter &takes) {
  SmallVector<KernelOp> refused;
  {
    DimContext context;
    ShapeAnalysis sizes(context);
    function.walk([&](KernelOp kernel) {
      if (!takes(kernel, sizes))
        refused.push_back(kernel);
    });
  }
  llvm::SetVector<Block *> blocks;
  for (KernelOp kernel : refused) {
    blocks.insert(kernel->getBlock());
    inlineBody(kernel);
  }
  for (Block *block : blocks) {
    DimContext context;
    ShapeAnalysis sizes(context);
    formKernels(*block, sizes, {.maxOps = 1});
  }
}

namespace {

class FormKernels : public sinter::impl::FormKernelsBase<FormKernels> {
public:
  using FormKernelsBase::FormKernelsBase;
  FormKernels(const FormKernelsOptions &options, KernelFilter takes)
      : FormKernelsBase(options), takes(std::move(takes)) {}

  void runOnOperation() override {
    SmallVector<Block *> blocks;
    WalkResult checked = getOperation()->walk([&](Operation *op) {
      if (op != getOperation() && op->getName().getDialectNamespace() != "sinter" &&
          !op->hasTrait<OpTrait::IsTerminator>()) {
        op->emitOpError("is not an op of the graph: forming kernels requires sinter ops");
        return WalkResult::interrupt();
      }
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
      return isa<KernelOp>(op) ? WalkResult::skip() : WalkResult::advance();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();

    // A dead op would have no kernel.
    for (Block *block : blocks)
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
        if (isOpTriviallyDead(&op))
          op.erase();
    int64_t room = kMaxNumberBytes;
    for (Block *block : blocks) {
      if (isa<KernelOp>(block->getParentOp()))
        continue;
      if (hasDevices(getOperation()))
        gatherRowsOfPages(*block);
      joinInParts(*block);
      spreadNumbers(*block, room);
      if (maxOps > 1)
        orderFilters(*block);
      DimContext context;
      ShapeAnalysis sizes(context);
      formKernels(*block, sizes, {.maxOps = maxOps});
    }
    passNumbers(getOperation());
    if (takes)
      splitRefused(getOperation(), takes);
  }

private:
  KernelFilter takes;
};

} // namespace

std::unique_ptr<Pass> sinter::createFormKernels(const FormKernelsOptions &options, KernelFilter takes) {
  return std::make_unique<FormKernels>(options, std::move(takes));
}
