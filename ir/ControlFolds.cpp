// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical forms of control flow: a known branch is inlined, a loop that never runs is its initial values, a carry
// that never changes is a capture, captures are distinct and used, and constants live in the regions that use them (so
// that the rules of the ops inside see them).

#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Control.h"
#include "ir/Shape.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace sinter;

static Operation::operand_range yielded(Region &region) { return region.front().getTerminator()->getOperands(); }

//===- captures ------------------------------------------------------------------------------===//

/// Captures of an op and the number of region arguments before them, in each region.
static MutableOperandRange capturesOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, MutableOperandRange>(op).Case<CondOp, SwitchOp, WhileOp, ForOp, ScanOp>(
      [](auto control) { return control.getCapturesMutable(); });
}

static unsigned firstCapture(Region &region, size_t captures) { return region.getNumArguments() - captures; }

/// Removes capture k, whose region arguments have no uses left.
static void eraseCapture(PatternRewriter &rewriter, Operation *op, unsigned k) {
  MutableOperandRange captures = capturesOf(op);
  size_t count = captures.size();
  rewriter.modifyOpInPlace(op, [&] {
    for (Region &region : op->getRegions())
      region.front().eraseArgument(firstCapture(region, count) + k);
    captures.erase(k);
  });
}

/// Erases captures that no region uses, merges equal ones, and moves constants into the regions.
template <typename Control> struct SimplifyCaptures : OpRewritePattern<Control> {
  using OpRewritePattern<Control>::OpRewritePattern;
  LogicalResult matchAndRewrite(Control op, PatternRewriter &rewriter) const override {
    size_t count = op.getCaptures().size();
    auto argument = [&](Region &region, size_t k) { return region.getArgument(firstCapture(region, count) + k); };
    llvm::SmallDenseMap<Value, size_t> first;
    for (size_t k = 0; k < count; ++k) {
      Value capture = op.getCaptures()[k];
      auto [it, isNew] = first.try_emplace(capture, k);
      Operation *constant = capture.getDefiningOp();
      bool isConstant = constant && constant->hasTrait<OpTrait::ConstantLike>();
      bool sameTypes = llvm::all_of(op->getRegions(), [&](Region &region) {
        return argument(region, k).getType() == argument(region, it->second).getType();
      });
      bool isUnused = llvm::all_of(op->getRegions(), [&](Region &region) { return argument(region, k).use_empty(); });
      if (!isUnused && !isConstant && (isNew || !sameTypes))
        continue;
      for (Region &region : op->getRegions()) {
        BlockArgument old = argument(region, k);
        if (old.use_empty())
          continue;
        if (!isNew) {
          rewriter.replaceAllUsesWith(old, argument(region, it->second));
          continue;
        }
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(&region.front());
        rewriter.replaceAllUsesWith(old, rewriter.clone(*constant)->getResult(0));
      }
      eraseCapture(rewriter, op, k);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "captures are used, distinct and not constants");
  }
};

//===- branches ------------------------------------------------------------------------------===//

/// Replaces `op` by values that may have more or less precise types.
static void replaceRetyped(PatternRewriter &rewriter, Operation *op, ValueRange values) {
  Composer composer(op->getLoc(), rewriter);
  SmallVector<Value> results;
  for (auto [value, type] : llvm::zip(values, op->getResultTypes()))
    results.push_back(composer.retype(value, type));
  rewriter.replaceOp(op, results);
}

/// Moves the one block of `region` before `op` and replaces `op` by what it yields.
static void inlineRegion(PatternRewriter &rewriter, Operation *op, Region &region, ValueRange arguments) {
  Block *block = &region.front();
  Operation *terminator = block->getTerminator();
  SmallVector<Value> given;
  Composer composer(op->getLoc(), rewriter);
  for (auto [value, argument] : llvm::zip(arguments, block->getArguments()))
    given.push_back(composer.retype(value, argument.getType()));
  SmallVector<Value> results(terminator->getOperands());
  for (Value &result : results)
    if (auto argument = dyn_cast<BlockArgument>(result); argument && argument.getOwner() == block)
      result = given[argument.getArgNumber()];
  rewriter.eraseOp(terminator);
  rewriter.inlineBlockBefore(block, op, given);
  replaceRetyped(rewriter, op, results);
}

namespace {
struct InlineKnownBranch : OpRewritePattern<CondOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CondOp op, PatternRewriter &rewriter) const override {
    std::optional<double> pred = uniformValue(op.getPred());
    if (!pred)
      return rewriter.notifyMatchFailure(op, "the predicate is not a constant");
    inlineRegion(rewriter, op, *pred != 0 ? op.getThenRegion() : op.getElseRegion(), op.getCaptures());
    return success();
  }
};

struct InlineKnownCase : OpRewritePattern<SwitchOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SwitchOp op, PatternRewriter &rewriter) const override {
    std::optional<SmallVector<int64_t>> index = constantInts(op.getIndex());
    auto last = static_cast<int64_t>(op.getBranches().size()) - 1;
    if (!index && last > 0)
      return rewriter.notifyMatchFailure(op, "the index is not a constant");
    int64_t taken = index && (*index)[0] >= 0 && (*index)[0] < last ? (*index)[0] : last;
    inlineRegion(rewriter, op, op.getBranches()[taken], op.getCaptures());
    return success();
  }
};

/// A result that every branch takes from the same capture is that capture.
template <typename Branch> struct ForwardCaptures : OpRewritePattern<Branch> {
  using OpRewritePattern<Branch>::OpRewritePattern;
  LogicalResult matchAndRewrite(Branch op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpResult result : op->getResults()) {
      Value common;
      bool same = !result.use_empty();
      for (Region &region : op->getRegions()) {
        auto argument = dyn_cast<BlockArgument>(yielded(region)[result.getResultNumber()]);
        Value capture =
            argument && argument.getOwner() == &region.front() ? op.getCaptures()[argument.getArgNumber()] : Value();
        same = same && capture && (!common || common == capture) && capture.getType() == result.getType();
        common = capture;
      }
      if (same) {
        rewriter.replaceAllUsesWith(result, common);
        changed = true;
      }
    }
    return success(changed);
  }
};

/// Results without uses go away, and with them what only they needed.
template <typename Branch> struct DropUnusedResults : OpRewritePattern<Branch> {
  using OpRewritePattern<Branch>::OpRewritePattern;
  LogicalResult matchAndRewrite(Branch op, PatternRewriter &rewriter) const override {
    llvm::BitVector unused(op->getNumResults());
    for (OpResult result : op->getResults())
      if (result.use_empty())
        unused.set(result.getResultNumber());
    if (unused.none() || unused.all())
      return rewriter.notifyMatchFailure(op, "all results are used, or none");
    SmallVector<Type> types;
    for (OpResult result : op->getResults())
      if (!unused.test(result.getResultNumber()))
        types.push_back(result.getType());
    OperationState state(op.getLoc(), op->getName(), op->getOperands(), types);
    for (unsigned k = 0; k < op->getNumRegions(); ++k)
      state.addRegion();
    Operation *smaller = rewriter.create(state);
    for (auto [from, to] : llvm::zip(op->getRegions(), smaller->getRegions())) {
      rewriter.inlineRegionBefore(from, to, to.end());
      Operation *terminator = to.front().getTerminator();
      rewriter.modifyOpInPlace(terminator, [&] { terminator->eraseOperands(unused); });
    }
    unsigned next = 0;
    for (OpResult result : op->getResults())
      if (!unused.test(result.getResultNumber()))
        rewriter.replaceAllUsesWith(result, smaller->getResult(next++));
    rewriter.eraseOp(op);
    return success();
  }
};

//===- loops ---------------------------------------------------------------------------------===//

/// A while whose condition is false whatever it is given.
struct WhileThatNeverRuns : OpRewritePattern<WhileOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WhileOp op, PatternRewriter &rewriter) const override {
    std::optional<double> condition = uniformValue(yielded(op.getCondRegion())[0]);
    bool never = (condition && *condition == 0) ||
                 (op.getMaxTrip() && *op.getMaxTrip() == 0 && op.getOnLimit() == LimitPolicy::stop);
    if (!never)
      return rewriter.notifyMatchFailure(op, "the condition may hold");
    SmallVector<HostTensor> empty;
    for (Value stack : op.getStacks()) {
      SmallVector<int64_t> shape(tensorTypeOf(stack).getShape());
      shape[0] = 0;
      if (llvm::any_of(shape, ShapedType::isDynamic))
        return rewriter.notifyMatchFailure(op, "the sizes of an empty stack are not known");
      empty.emplace_back(elementTypeOf(stack), shape);
    }
    Composer composer(op.getLoc(), rewriter);
    SmallVector<Value> results{composer.make<ConstantOp>(HostTensor(rewriter.getI64Type(), {}).toAttr())};
    llvm::append_range(results, op.getInit());
    for (const HostTensor &stack : empty)
      results.push_back(composer.make<ConstantOp>(stack.toAttr()));
    replaceRetyped(rewriter, op, results);
    return success();
  }
};

/// Where the carries and stacks of a loop are.
struct LoopLayout {
  Operation *op;
  Region *body;
  size_t carries, stacks;
  unsigned firstResult; // of the carries
  unsigned firstOperand;
  unsigned firstArgument; // of the body

  explicit LoopLayout(WhileOp loop) : LoopLayout(loop, 1, 0, 0) {}
  explicit LoopLayout(ForOp loop) : LoopLayout(loop, 0, 3, 1) {}
  explicit LoopLayout(ScanOp loop) : LoopLayout(loop, 0, 0, 0) {}

  OpResult carry(size_t k) const { return op->getResult(firstResult + k); }
  OpResult stack(size_t k) const { return op->getResult(firstResult + carries + k); }
  Value init(size_t k) const { return op->getOperand(firstOperand + k); }
  BlockArgument argument(size_t k) const { return body->getArgument(firstArgument + k); }

private:
  template <typename Loop>
  LoopLayout(Loop loop, unsigned firstResult, unsigned firstOperand, unsigned firstArgument)
      : op(loop), body(&loop.getBodyRegion()), carries(loop.getInit().size()), stacks(loop.getStacks().size()),
        firstResult(firstResult), firstOperand(firstOperand), firstArgument(firstArgument) {}
};

/// Whether a loop may report an error instead of results. What uses its results is not to run without it.
static bool mayTrap(Operation *op) {
  auto loop = dyn_cast<WhileOp>(op);
  return loop && loop.getMaxTrip() && loop.getOnLimit() == LimitPolicy::trap;
}

/// A carry that each trip yields as it got it is a capture within the loop.
template <typename Loop> struct CaptureInvariantCarries : OpRewritePattern<Loop> {
  using OpRewritePattern<Loop>::OpRewritePattern;
  LogicalResult matchAndRewrite(Loop op, PatternRewriter &rewriter) const override {
    LoopLayout layout(op);
    for (size_t k = 0; k < layout.carries; ++k) {
      BlockArgument argument = layout.argument(k);
      if (yielded(*layout.body)[k] != argument || argument.hasOneUse())
        continue; // used by the yield alone: RemoveDeadCarries removes it
      rewriter.modifyOpInPlace(op, [&] {
        for (Region &region : op->getRegions()) {
          // Inside a region the carry reads the new last argument; the yield goes on passing the old one.
          Operation *terminator = region.front().getTerminator();
          Value captured = region.addArgument(argument.getType(), argument.getLoc());
          Value old = &region == layout.body ? argument : region.getArgument(k);
          old.replaceUsesWithIf(captured, [&](OpOperand &use) {
            return &region != layout.body || use.getOwner() != terminator || use.getOperandNumber() != k;
          });
        }
        op.getCapturesMutable().append(layout.init(k));
      });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "every carry changes");
  }
};

/// The axis along which stack k lies, and whether its first trip is at the end.
template <typename Loop> static std::pair<int64_t, bool> stackOrder(Loop op, size_t k) {
  if constexpr (std::is_same_v<Loop, ScanOp>)
    return {op.getOutAxes()[k], op.getOutReverse()[k]};
  return {0, false};
}

/// Of stacks that hold the same there is one, and a stack of a sequence's own slices is that sequence.
template <typename Loop> struct MergeStacks : OpRewritePattern<Loop> {
  using OpRewritePattern<Loop>::OpRewritePattern;
  LogicalResult matchAndRewrite(Loop op, PatternRewriter &rewriter) const override {
    LoopLayout layout(op);
    bool changed = false;
    for (size_t k = 0; k < layout.stacks; ++k) {
      OpResult stack = layout.stack(k);
      if (stack.use_empty())
        continue;
      if (Value same = findSame(op, layout, k); same && same.getType() == stack.getType()) {
        rewriter.replaceAllUsesWith(stack, same);
        changed = true;
      }
    }
    return success(changed);
  }

private:
  static Value findSame(Loop op, const LoopLayout &layout, size_t k) {
    Value value = yielded(*layout.body)[layout.carries + k];
    for (size_t other = 0; other < k; ++other)
      if (yielded(*layout.body)[layout.carries + other] == value && stackOrder(op, other) == stackOrder(op, k))
        return layout.stack(other);
    if constexpr (std::is_same_v<Loop, ScanOp>)
      for (size_t j = 0; j < op.getSequences().size(); ++j)
        if (layout.body->getArgument(layout.carries + j) == value &&
            std::pair(op.getAxes()[j], op.getReverse()[j]) == stackOrder(op, k))
          return op.getSequences()[j];
    return {};
  }
};

/// Carries and stacks that nothing outside and no other carry needs.
template <typename Loop> struct RemoveDeadCarries : OpRewritePattern<Loop> {
  using OpRewritePattern<Loop>::OpRewritePattern;
  LogicalResult matchAndRewrite(Loop op, PatternRewriter &rewriter) const override {
    LoopLayout layout(op);
    // Carries that pass their argument on unread: the result is init, unless there may be none.
    bool forwarded = false;
    for (size_t k = 0; k < layout.carries && !mayTrap(op); ++k) {
      if (yielded(*layout.body)[k] == layout.argument(k) && !layout.carry(k).use_empty() &&
          layout.init(k).getType() == layout.carry(k).getType()) {
        rewriter.replaceAllUsesWith(layout.carry(k), layout.init(k));
        forwarded = true;
      }
    }
    llvm::BitVector dead = deadYields(layout);
    if (dead.none())
      return success(forwarded);
    rebuild(op, layout, dead, rewriter);
    return success();
  }

private:
  /// Yields of the body (carries, then stacks) that no used result depends on.
  static llvm::BitVector deadYields(const LoopLayout &layout) {
    llvm::BitVector live(layout.carries + layout.stacks);
    SmallVector<Value> work;
    DenseSet<Value> seen;
    auto need = [&](Value value) {
      if (seen.insert(value).second)
        work.push_back(value);
    };
    auto keep = [&](size_t k) {
      if (live.test(k))
        return;
      live.set(k);
      need(yielded(*layout.body)[k]);
    };
    for (size_t k = 0; k < layout.carries; ++k)
      if (!layout.carry(k).use_empty())
        keep(k);
    for (size_t k = 0; k < layout.stacks; ++k)
      if (!layout.stack(k).use_empty())
        keep(layout.carries + k);
    for (Region &region : layout.op->getRegions())
      if (&region != layout.body)
        for (Value value : yielded(region))
          need(value);
    // Through the ops of the bodies to their arguments. Regions are isolated, so operands are all that an op reads.
    while (!work.empty()) {
      Value value = work.pop_back_val();
      if (Operation *producer = value.getDefiningOp()) {
        for (Value operand : producer->getOperands())
          need(operand);
        continue;
      }
      auto argument = cast<BlockArgument>(value);
      unsigned first = argument.getOwner()->getParent() == layout.body ? layout.firstArgument : 0;
      if (argument.getArgNumber() >= first && argument.getArgNumber() < first + layout.carries)
        keep(argument.getArgNumber() - first);
    }
    return live.flip();
  }

  static void rebuild(Loop op, const LoopLayout &layout, const llvm::BitVector &dead, PatternRewriter &rewriter) {
    SmallVector<Type> types;
    for (OpResult result : op->getResults())
      if (result.getResultNumber() < layout.firstResult || !dead.test(result.getResultNumber() - layout.firstResult))
        types.push_back(result.getType());
    // Operations that only dead yields need go first, so that dead arguments have no uses.
    Operation *terminator = layout.body->front().getTerminator();
    rewriter.modifyOpInPlace(terminator, [&] { terminator->eraseOperands(dead); });
    for (Region &region : op->getRegions()) {
      SmallVector<Operation *> inner;
      for (Operation &candidate : region.front().without_terminator())
        inner.push_back(&candidate);
      for (Operation *candidate : llvm::reverse(inner))
        if (isOpTriviallyDead(candidate))
          rewriter.eraseOp(candidate);
    }
    OperationState state(op.getLoc(), op->getName());
    state.addTypes(types);
    state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned k = operand.getOperandNumber();
      bool isCarry = k >= layout.firstOperand && k < layout.firstOperand + layout.carries;
      if (!isCarry || !dead.test(k - layout.firstOperand))
        state.addOperands(operand.get());
    }
    typename Loop::Properties &properties = state.getOrAddProperties<typename Loop::Properties>();
    properties = op.getProperties();
    size_t deadCarries = 0;
    for (size_t k = 0; k < layout.carries; ++k)
      deadCarries += dead.test(k);
    int initSegment = std::is_same_v<Loop, ForOp> ? 3 : 0;
    properties.operandSegmentSizes[initSegment] -= static_cast<int32_t>(deadCarries);
    if constexpr (std::is_same_v<Loop, ScanOp>) {
      SmallVector<int64_t> outAxes;
      SmallVector<bool> outReverse;
      for (size_t k = 0; k < layout.stacks; ++k)
        if (!dead.test(layout.carries + k)) {
          outAxes.push_back(op.getOutAxes()[k]);
          outReverse.push_back(op.getOutReverse()[k]);
        }
      properties.out_axes = rewriter.getDenseI64ArrayAttr(outAxes);
      properties.out_reverse = rewriter.getDenseBoolArrayAttr(outReverse);
    }
    for (unsigned k = 0; k < op->getNumRegions(); ++k)
      state.addRegion();
    Operation *smaller = rewriter.create(state);
    for (auto [from, to] : llvm::zip(op->getRegions(), smaller->getRegions())) {
      unsigned first = &from == layout.body ? layout.firstArgument : 0;
      rewriter.inlineRegionBefore(from, to, to.end());
      for (size_t k = layout.carries; k-- > 0;)
        if (dead.test(k))
          to.front().eraseArgument(first + k);
    }
    unsigned next = 0;
    for (OpResult result : op->getResults())
      if (result.getResultNumber() < layout.firstResult || !dead.test(result.getResultNumber() - layout.firstResult))
        rewriter.replaceAllUsesWith(result, smaller->getResult(next++));
    rewriter.eraseOp(op);
  }
};
} // namespace

void CondOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<InlineKnownBranch, SimplifyCaptures<CondOp>, ForwardCaptures<CondOp>, DropUnusedResults<CondOp>>(
      context);
}
void SwitchOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<InlineKnownCase, SimplifyCaptures<SwitchOp>, ForwardCaptures<SwitchOp>, DropUnusedResults<SwitchOp>>(
      context);
}
void WhileOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<WhileThatNeverRuns, SimplifyCaptures<WhileOp>, CaptureInvariantCarries<WhileOp>, MergeStacks<WhileOp>,
               RemoveDeadCarries<WhileOp>>(context);
}
void ForOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyCaptures<ForOp>, CaptureInvariantCarries<ForOp>, MergeStacks<ForOp>, RemoveDeadCarries<ForOp>>(
      context);
}
void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns
      .add<SimplifyCaptures<ScanOp>, CaptureInvariantCarries<ScanOp>, MergeStacks<ScanOp>, RemoveDeadCarries<ScanOp>>(
          context);
}
