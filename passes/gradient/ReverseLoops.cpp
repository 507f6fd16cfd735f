// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "passes/gradient/CheckpointPolicy.h"
#include "passes/gradient/Reverse.h"
#include "passes/gradient/SavedValues.h"
#include "passes/gradient/SteppedLoop.h"
#include "passes/gradient/TripSizes.h"

using namespace mlir;
using namespace sinter;

llvm::BitVector Reverse::liveCarries(const LoopView &loop) const {
  llvm::BitVector live(loop.carries);
  SmallVector<Value> stacks;
  for (size_t k = 0; k < loop.carries; ++k)
    live[k] = cotangents.contains(loop.carry(k));
  for (size_t k = 0; k < loop.stacks; ++k)
    if (cotangents.contains(loop.stack(k)))
      stacks.push_back(loop.yieldedStack(k));
  while (true) {
    SmallVector<Value> seeds(stacks);
    for (unsigned k : live.set_bits())
      seeds.push_back(loop.yieldedCarry(k));
    DenseSet<Value> values = reached(loop.body->front(), seeds);
    unsigned before = live.count();
    for (size_t k = 0; k < loop.carries; ++k)
      if (values.contains(loop.carryArgument(k)))
        live.set(k);
    if (live.count() == before)
      return live;
  }
}

namespace {
/// The scan that is a loop's backward part, while it is built.
class BackwardLoop {
public:
  BackwardLoop() : region(std::make_unique<Region>()), block(new Block) { region->push_back(block); }
  Block &body() { return *block; }
  OpBuilder builder(MLIRContext *context) {
    OpBuilder b(context); // the region has no op yet
    b.setInsertionPointToEnd(block);
    return b;
  }

  BlockArgument carry(Type type, Location loc, Value init) {
    inits.push_back(init);
    return carries.emplace_back(block->addArgument(type, loc));
  }
  BlockArgument walk(Value sequence, int64_t axis, bool isReverse) {
    sequences.push_back(sequence);
    axes.push_back(axis);
    reverse.push_back(isReverse);
    return slices.emplace_back(block->addArgument(sliceType(sequence.getType(), axis), sequence.getLoc()));
  }
  BlockArgument capture(Value value, Type type) {
    captures.push_back(value);
    return captured.emplace_back(block->addArgument(type, value.getLoc()));
  }
  void stack(int64_t axis, bool isReverse) {
    outAxes.push_back(axis);
    outReverse.push_back(isReverse);
  }
  bool walksNothing() const { return sequences.empty(); }

  /// Results: final carries, stacks. Without a sequence `trips` (rank-0 i64) says how often to run.
  Operation *finish(OpBuilder &b, Location loc, Value trips) {
    SmallVector<BlockArgument> order(carries);
    llvm::append_range(order, slices);
    llvm::append_range(order, captured);
    orderArguments(*block, order);
    int64_t count = ShapedType::kDynamic;
    for (auto [sequence, axis] : llvm::zip(sequences, axes))
      count = meetSize(count, tensorTypeOf(sequence).getDimSize(axis)).value_or(count);
    SmallVector<Type> types;
    for (size_t k = 0; k < carries.size(); ++k)
      types.push_back(block->getArgument(k).getType());
    ValueRange yields = block->getTerminator()->getOperands();
    for (auto [k, slice] : llvm::enumerate(yields.drop_front(carries.size())))
      types.push_back(stackType(slice.getType(), outAxes[k], count));
    if (!sequences.empty()) {
      ScanOp scan = ScanOp::create(b, loc, types, inits, sequences, captures, axes, reverse, outAxes, outReverse);
      scan.getBodyRegion().takeBody(*region);
      return scan;
    }
    block->insertArgument(0u, trips.getType(), loc);
    StepBuilder numbers(loc, b);
    Value zero = numbers.number(0), one = numbers.number(1);
    ForOp loop = ForOp::create(b, loc, types, zero, trips, one, inits, captures);
    loop.getBodyRegion().takeBody(*region);
    return loop;
  }

private:
  std::unique_ptr<Region> region;
  Block *block;
  SmallVector<BlockArgument> carries, slices, captured;
  SmallVector<Value> inits, sequences, captures;
  SmallVector<int64_t> axes, outAxes;
  SmallVector<bool> reverse, outReverse;
};
} // namespace

namespace {
/// A capture's cotangent in a trip that is a product, transposed perhaps: the sum over the trips is one product of what
/// the trips stack, with the trips as one more axis to sum over. Weights in a recurrence get their gradients so.
struct ProductOfTrips {
  Value capture;
  DotGeneralOp dot;
  TransposeOp transpose; // null where there is none

  static std::optional<ProductOfTrips> find(Value capture, Value cotangent) {
    ProductOfTrips product{capture, {}, cotangent.getDefiningOp<TransposeOp>()};
    product.dot = (product.transpose ? product.transpose.getOperand() : cotangent).getDefiningOp<DotGeneralOp>();
    auto size = [](Value value) { return tensorTypeOf(value).getNumElements(); };
    auto isStatic = [](Value value) { return tensorTypeOf(value).hasStaticShape(); };
    // Of no trips nothing says how large a `?` was.
    if (!product.dot || !isStatic(product.dot.getLhs()) || !isStatic(product.dot.getRhs()))
      return std::nullopt;
    bool isWorthIt = size(product.dot.getLhs()) + size(product.dot.getRhs()) <= 2 * size(product.dot);
    return isWorthIt ? std::optional(product) : std::nullopt;
  }

  /// The sum, from the stacks of both factors along axis 0.
  Value sum(Composer &b, Value lhs, Value rhs) {
    auto moved = [](ArrayRef<int64_t> axes, bool first) {
      SmallVector<int64_t> result;
      if (first)
        result.push_back(0);
      for (int64_t axis : axes)
        result.push_back(axis + 1);
      return result;
    };
    Value value = b.make<DotGeneralOp>(lhs, rhs, moved(dot.getLhsBatch(), false), moved(dot.getRhsBatch(), false),
                                       moved(dot.getLhsContract(), true), moved(dot.getRhsContract(), true),
                                       dot.getElementType());
    return transpose ? b.make<TransposeOp>(value, transpose.getPermutation()) : value;
  }
};
} // namespace

static std::string nameInBody(const LoopView &loop, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return ("a result of " + value.getDefiningOp()->getName().getStringRef()).str();
  for (size_t k = 0; k < loop.carries; ++k)
    if (loop.carryArgument(k) == argument)
      return "carry " + std::to_string(k);
  return "argument " + std::to_string(argument.getArgNumber());
}

/// 0, 1, ... along an axis.
static Value numbersAlong(StepBuilder &b, Value value, int64_t axis) {
  auto type = RankedTensorType::get({tensorTypeOf(value).getDimSize(axis)}, b.getI64Type());
  Value shape;
  if (!type.hasStaticShape())
    shape = b.make<ReshapeOp>(b.size(value, axis), Value(), RankedTensorType::get({1}, b.getI64Type()));
  return b.make<IotaOp>(shape, 0, type);
}

/// Stacks from `first` on are those of the gradient.
static void markStacks(LoopView loop, size_t first) {
  SmallVector<int64_t> numbers;
  if (auto marked = loop.op->getAttrOfType<DenseI64ArrayAttr>(kStacksForGradient))
    llvm::append_range(numbers, marked.asArrayRef());
  llvm::append_range(numbers, llvm::seq<int64_t>(first, loop.stacks));
  loop.op->setAttr(kStacksForGradient, DenseI64ArrayAttr::get(loop.op->getContext(), numbers));
}

//===- one loop ------------------------------------------------------------------------------===//

/// Trips over which the cotangent of a capture is summed in its own type, and elements from which on it is.
constexpr int64_t kFewTrips = 32, kFewElements = 4096;

/// The steps of reverseLoop, in the order of run().
class Reverse::LoopReversal {
public:
  LoopReversal(Reverse &reverse, LoopView loop, OpBuilder &b)
      : r(reverse), loop(loop), loc(loop.op->getLoc()), b(b), outside(loc, b), forward(loop.body->front()),
        inner(backward.builder(b.getContext())), inside(loc, inner), live(reverse.liveCarries(loop)),
        sizes(std::make_unique<TripSizes>(loop)) {}

  LogicalResult run() {
    choosePolicy();
    seed();
    if (failed(r.run(forward, inner)))
      return failure();
    sizes = std::make_unique<TripSizes>(loop); // loops of the body have been replaced
    reconsiderPolicy();
    passOn();
    SmallVector<Value> needed = readsOf(backward.body(), forward);
    SavedValues plan = planFor(needed);
    if (failed(save(plan)))
      return failure();
    read(needed, plan);
    addResults();
    return success();
  }

private:
  /// Nothing is stacked: each trip runs again from the start.
  void runFromStart() {
    changesSizes = keepsSnapshots = true;
    recomputes = false;
    loop.op->setAttr("sinter.memory", b.getStringAttr("binomial(1)"));
    loop.op->setAttr(kRunsFromStart, b.getUnitAttr());
  }

  void choosePolicy() {
    CheckpointPolicy policy = *CheckpointPolicy::of(loop.op); // checked by `reverse`
    recomputes = policy.kind == CheckpointPolicy::Kind::Recompute;
    keepsSnapshots = policy.hasSnapshots();
    for (size_t k = 0; k < loop.carries; ++k)
      if (r.activity(loop.carryArgument(k)) && !sizes->areFixed(loop.carryArgument(k)))
        return runFromStart();
  }

  /// Integers that grow matter only if something is computed again from them.
  void reconsiderPolicy() {
    if (!changesSizes && llvm::any_of(planFor(readsOf(backward.body(), forward)).saved,
                                      [&](Value value) { return !sizes->areFixed(value); }))
      runFromStart();
  }

  /// The cotangents that each trip starts with: of the carries that it yields, and of what it stacks.
  void seed() {
    for (unsigned k : live.set_bits()) {
      Type type = loop.carryArgument(k).getType();
      Value last = r.cotangents.lookup(loop.carry(k));
      Value init = outside.retype(last ? last : outside.fill(0, loop.carry(k)), type);
      r.add(inner, loop.yieldedCarry(k), backward.carry(type, loc, init));
    }
    for (size_t k = 0; k < loop.stacks; ++k)
      if (Value stacked = r.cotangents.lookup(loop.stack(k)))
        r.add(inner, loop.yieldedStack(k), backward.walk(stacked, loop.stackAxis(k), !loop.stackReverse(k)));
  }

  /// What a trip passes on: cotangents of the carries that it got, sums for captures, slices for sequences.
  void passOn() {
    passOnCarries();
    passOnCaptures();
    passOnSequences();
    for (const ProductOfTrips &product : products)
      for (Value factor : product.dot->getOperands()) {
        sliced.push_back(factor);
        backward.stack(0, true); // the order of what the forward part saved, which may be a factor
      }
    llvm::append_range(yields, sliced);
    YieldOp::create(inner, loc, yields);
  }

  void passOnCarries() {
    unsigned next = 0;
    for (unsigned k : live.set_bits()) {
      BlockArgument given = loop.carryArgument(k), after = backward.body().getArgument(next++);
      Value value = r.cotangents.lookup(given);
      if (!value)
        value = inside.fill(0, sizes->areSame(given, loop.yieldedCarry(k)) ? Value(after) : Value(given));
      yields.push_back(inside.retype(value, given.getType()));
    }
  }

  /// A sum over many trips is one chain of additions, off by up to a quarter of a rounding for each. In f64 that is
  /// nothing, and costs nothing that counts where the capture is small: large ones are factors of products as a rule.
  bool sumsInF64(RankedTensorType type) {
    if (!isa<FloatType>(type.getElementType()) || type.getElementType().isF64() || !type.hasStaticShape() ||
        type.getNumElements() > kFewElements)
      return false;
    for (size_t k = 0; k < loop.sequences; ++k)
      if (int64_t trips = tensorTypeOf(loop.sequence(k)).getDimSize(loop.sequenceAxis(k));
          trips != ShapedType::kDynamic && trips <= kFewTrips)
        return false;
    return true;
  }

  void passOnCaptures() {
    // Stated policies agree to the bit, so that sums go trip by trip.
    bool joinsProducts = !loop.op->hasAttr("sinter.memory");
    for (size_t k = 0; k < loop.captures; ++k) {
      Value value = r.cotangents.lookup(loop.captureArgument(k));
      if (!value)
        continue;
      if (std::optional<ProductOfTrips> product = ProductOfTrips::find(loop.capture(k), value);
          product && joinsProducts) {
        products.push_back(*product);
        continue;
      }
      auto type = cast<RankedTensorType>(loop.captureArgument(k).getType());
      Value zero = outside.fill(0, loop.capture(k));
      if (sumsInF64(type)) {
        Type f64 = b.getF64Type();
        type = type.clone(f64);
        zero = outside.convert(zero, f64);
        value = inside.convert(value, f64);
      }
      BlockArgument sum = backward.carry(type, loc, outside.retype(zero, type));
      yields.push_back(inside.retype(inside.make<AddOp>(sum, value), type));
      summed.push_back(k);
    }
  }

  void passOnSequences() {
    for (size_t k = 0; k < loop.sequences; ++k) {
      Value value = r.cotangents.lookup(loop.sequenceArgument(k));
      if (!value)
        continue;
      int64_t axis = loop.sequenceAxis(k);
      if (keepsSnapshots) { // trips run in parts, and each writes its slice
        Value sequence = loop.sequence(k);
        auto type = RankedTensorType::get(tensorTypeOf(sequence).getShape(), elementTypeOf(sequence));
        BlockArgument row = backward.walk(numbersAlong(outside, sequence, axis), 0, !loop.sequenceReverse(k));
        BlockArgument all = backward.carry(type, loc, outside.retype(outside.fill(0, sequence), type));
        yields.push_back(inside.retype(inside.store(all, value, row, axis), type));
        written.push_back(k);
        continue;
      }
      sliced.push_back(value);
      backward.stack(axis, !loop.sequenceReverse(k));
      walked.push_back(k);
    }
  }

  /// Captures and slices of sequences: arguments that the backward part has anyhow.
  unsigned firstFree() { return forward.getNumArguments() - loop.captures - loop.sequences; }
  bool isFree(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() >= firstFree();
  }
  bool isRagged(Value value) { return isStackOfSnapshots(value) || (!changesSizes && !sizes->areFixed(value)); }
  SavedValues planFor(ArrayRef<Value> needed) {
    return planSavedValues({forward, needed, [&](Value value) { return isFree(value); },
                            [&](Value value) { return isRagged(value); }, recomputes});
  }

  /// Lets the forward part stack what `plan` saves; stackOf says where each value is.
  LogicalResult save(SavedValues &plan) {
    for (Value value : plan.saved)
      if (isRagged(value))
        return loop.op->emitOpError() << "has no gradient: it requires values of one size in all trips, got "
                                      << nameInBody(loop, value) << " of type " << value.getType()
                                      << ", whose size changes";
    if (plan.saved.empty() && backward.walksNothing() && isa<ForOp>(loop.op))
      plan.saved.push_back(forward.getArgument(0)); // a scan needs a sequence
    // What the loop stacks already in this way is not saved twice.
    for (size_t k = 0; k < loop.stacks && !keepsSnapshots; ++k)
      if (loop.stackAxis(k) == 0 && !loop.stackReverse(k))
        stackOf.try_emplace(loop.yieldedStack(k), k);
    SmallVector<Value> further;
    for (Value value : plan.saved)
      if (stackOf.try_emplace(value, loop.stacks + further.size()).second)
        further.push_back(value);
    size_t before = loop.stacks;
    if (!further.empty())
      r.forget(loop.op);
    loop = loop.withStacks(further);
    if (keepsSnapshots)
      markStacks(loop, before);
    return success();
  }

  /// Lets the backward part read what it walks or captures instead of values of the forward part.
  void read(ArrayRef<Value> needed, const SavedValues &plan) {
    IRMapping map;
    SmallVector<Value> values(needed);
    for (Operation *op : plan.recomputed)
      llvm::append_range(values, op->getOperands());
    for (Value value : plan.saved)
      map.map(value, backward.walk(loop.stack(stackOf.lookup(value)), 0, true));
    for (Value value : values) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument || map.contains(value) || argument.getOwner() != &forward || !isFree(value))
        continue;
      size_t k = argument.getArgNumber() - firstFree();
      if (k < loop.sequences)
        map.map(value, backward.walk(loop.sequence(k), loop.sequenceAxis(k), !loop.sequenceReverse(k)));
      else
        map.map(value, backward.capture(loop.capture(k - loop.sequences), argument.getType()));
    }
    if (backward.walksNothing() && loop.sequences > 0)
      backward.walk(loop.sequence(0), loop.sequenceAxis(0), !loop.sequenceReverse(0));
    replaceReads(backward.body(), forward, plan.recomputed, map);
  }

  /// Builds the backward loop; its results are cotangents of what the forward loop was given.
  void addResults() {
    auto whileLoop = dyn_cast<WhileOp>(loop.op);
    Operation *scan = backward.finish(b, loc, whileLoop ? whileLoop.getTrips() : Value());
    unsigned next = 0;
    for (unsigned k : live.set_bits())
      r.add(b, loop.init(k), scan->getResult(next++));
    for (size_t k : summed) {
      Value sum = scan->getResult(next++);
      if (Type element = elementTypeOf(loop.capture(k)); elementTypeOf(sum) != element)
        sum = outside.convert(sum, element);
      r.add(b, loop.capture(k), sum);
    }
    for (size_t k : written)
      r.add(b, loop.sequence(k), scan->getResult(next++));
    for (size_t k : walked)
      r.add(b, loop.sequence(k), scan->getResult(next++));
    for (ProductOfTrips &product : products) {
      Value lhs = scan->getResult(next++), rhs = scan->getResult(next++);
      r.add(b, product.capture, product.sum(outside, lhs, rhs));
    }
  }

  Reverse &r;
  LoopView loop;
  Location loc;
  OpBuilder &b;
  StepBuilder outside;
  Block &forward;
  BackwardLoop backward;
  OpBuilder inner;
  StepBuilder inside;
  llvm::BitVector live;
  std::unique_ptr<TripSizes> sizes;
  bool changesSizes = false, recomputes = false, keepsSnapshots = false;
  /// What the backward loop yields: carries, then slices.
  SmallVector<Value> yields, sliced;
  /// Numbers of captures, and of sequences whose cotangents are carried or stacked.
  SmallVector<size_t> summed, written, walked;
  SmallVector<ProductOfTrips> products;
  DenseMap<Value, size_t> stackOf;
};

LogicalResult Reverse::reverseLoop(LoopView loop, OpBuilder &b) { return LoopReversal(*this, loop, b).run(); }
