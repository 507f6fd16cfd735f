// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Regions.h"
#include "ir/Axes.h"
#include "ir/Elementwise.h"
#include "ir/Leaves.h"

using namespace mlir;

namespace sinter {

/// The least type that both agree with; `a` when they cannot agree, for the verifier to report.
static Type joinTypes(Type a, Type b) {
  auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
  std::optional<SmallVector<int64_t>> shape = x && y ? joinShapes(x.getShape(), y.getShape()) : std::nullopt;
  return shape ? RankedTensorType::get(*shape, x.getElementType()) : a;
}

static SmallVector<Type> joinTypes(ArrayRef<Type> a, TypeRange b) {
  SmallVector<Type> joined(a);
  for (auto [type, other] : llvm::zip(joined, b))
    type = joinTypes(type, other);
  return joined;
}

/// One block of arguments of `types` that ends in a yield of what `build` returns.
static void fillRegion(OpBuilder &builder, Location loc, Region &region, TypeRange types, RegionBuilder build) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(types.size(), loc);
  region.getBlocks().clear();
  Block *block = builder.createBlock(&region, {}, types, locations);
  SmallVector<Value> yielded = build(builder, loc, block->getArguments());
  builder.setInsertionPointToEnd(block);
  YieldOp::create(builder, loc, yielded);
}

CondOp buildCond(OpBuilder &builder, Location loc, Value pred, ValueRange captures, RegionBuilder thenBuilder,
                 RegionBuilder elseBuilder) {
  Region thenRegion, elseRegion;
  fillRegion(builder, loc, thenRegion, captures.getTypes(), thenBuilder);
  fillRegion(builder, loc, elseRegion, captures.getTypes(), elseBuilder);
  SmallVector<Type> types = joinTypes(llvm::to_vector(yieldedTypes(thenRegion)), yieldedTypes(elseRegion));
  CondOp op = CondOp::create(builder, loc, types, pred, captures);
  op.getThenRegion().takeBody(thenRegion);
  op.getElseRegion().takeBody(elseRegion);
  return op;
}

/// Builds `body` with carries as wide as its own yields need them; returns the carries' types.
static SmallVector<Type> fillBody(OpBuilder &builder, Location loc, Region &body, TypeRange before, TypeRange init,
                                  TypeRange after, RegionBuilder build) {
  SmallVector<Type> carries(init);
  while (true) {
    SmallVector<Type> types(before);
    llvm::append_range(types, carries);
    llvm::append_range(types, after);
    fillRegion(builder, loc, body, types, build);
    SmallVector<Type> wider = joinTypes(carries, yieldedTypes(body).take_front(carries.size()));
    if (wider == carries)
      return carries;
    carries = wider;
  }
}

/// Carries, then the stacks of the body's further yields.
static SmallVector<Type> loopResults(ArrayRef<Type> carries, Region &body, int64_t trips,
                                     ArrayRef<int64_t> outAxes = {}) {
  SmallVector<Type> types(carries);
  for (auto [k, type] : llvm::enumerate(yieldedTypes(body).drop_front(carries.size()))) {
    auto slice = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(slice.getShape());
    shape.insert(shape.begin() + (outAxes.empty() ? 0 : outAxes[k]), trips);
    types.push_back(RankedTensorType::get(shape, slice.getElementType()));
  }
  return types;
}

WhileOp buildWhile(OpBuilder &builder, Location loc, ValueRange init, ValueRange captures, RegionBuilder cond,
                   RegionBuilder body, std::optional<int64_t> maxTrip, LimitPolicy onLimit) {
  Region condRegion, bodyRegion;
  SmallVector<Type> carries = fillBody(builder, loc, bodyRegion, {}, init.getTypes(), captures.getTypes(), body);
  fillRegion(builder, loc, condRegion, bodyRegion.getArgumentTypes(), cond);
  IntegerAttr limit = maxTrip ? builder.getI64IntegerAttr(*maxTrip) : IntegerAttr();
  WhileOp op = WhileOp::create(builder, loc, RankedTensorType::get({}, builder.getI64Type()),
                               loopResults(carries, bodyRegion, ShapedType::kDynamic), init, captures, limit, onLimit);
  op.getCondRegion().takeBody(condRegion);
  op.getBodyRegion().takeBody(bodyRegion);
  return op;
}

Value buildRequire(OpBuilder &builder, Location loc, Value holds, Value value, const Twine &message) {
  WhileOp op = buildWhile(
      builder, loc, value, holds,
      [](OpBuilder &b, Location at, ValueRange a) -> SmallVector<Value> { return {NotOp::create(b, at, a[1])}; },
      [](OpBuilder &, Location, ValueRange a) -> SmallVector<Value> { return {a[0]}; }, 0, LimitPolicy::trap);
  op->setAttr(kLimitMessage, builder.getStringAttr(message));
  return op.getCarries().front();
}

ForOp buildFor(OpBuilder &builder, Location loc, Value lower, Value upper, Value step, ValueRange init,
               ValueRange captures, RegionBuilder body) {
  Region region;
  SmallVector<Type> carries =
      fillBody(builder, loc, region, lower.getType(), init.getTypes(), captures.getTypes(), body);
  ForOp op = ForOp::create(builder, loc, loopResults(carries, region, ShapedType::kDynamic), lower, upper, step, init,
                           captures);
  op.getBodyRegion().takeBody(region);
  return op;
}

ScanOp buildScan(OpBuilder &builder, Location loc, ValueRange init, ValueRange sequences, ValueRange captures,
                 ArrayRef<int64_t> axes, ArrayRef<bool> reverse, ArrayRef<int64_t> outAxes, ArrayRef<bool> outReverse,
                 RegionBuilder body) {
  int64_t trips = ShapedType::kDynamic;
  SmallVector<Type> after;
  for (auto [sequence, axis] : llvm::zip(sequences, axes)) {
    auto type = cast<RankedTensorType>(sequence.getType());
    trips = meetSize(trips, type.getDimSize(axis)).value_or(trips);
    after.push_back(
        RankedTensorType::get(dropAxes(SmallVector<int64_t>(type.getShape()), axis), type.getElementType()));
  }
  llvm::append_range(after, captures.getTypes());
  Region region;
  SmallVector<Type> carries = fillBody(builder, loc, region, {}, init.getTypes(), after, body);
  ScanOp op = ScanOp::create(builder, loc, loopResults(carries, region, trips, outAxes), init, sequences, captures,
                             axes, reverse, outAxes, outReverse);
  op.getBodyRegion().takeBody(region);
  return op;
}

} // namespace sinter
