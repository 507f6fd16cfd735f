// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling, and where a pool found its greatest elements, with lanes along an innermost axis that the window does not
// move over (channels last). The taps that fall into padding are left out by the loop bounds: nothing is padded, and no
// lane reads outside.
//
//   chunk     a run of result rows (all axes but the innermost)

#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/TakenForms.h"
#include "ir/Composer.h"
#include "ir/Reduction.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

namespace {
/// Combines the elements that one window reads.
struct Combination {
  Combination(KernelFunction &fn, ReduceWindowOp op)
      : fn(fn), op(op), type(elementTypeOf(op.getOperand())), accumulator(accumulatorType(type)) {}

  static bool accepts(ReduceWindowOp) { return true; }
  SmallVector<Value> start(int64_t lanes) {
    Value identity = identityOf(fn, op.getCombiner(), type);
    if (lanes > 1)
      identity = vector::BroadcastOp::create(fn.b, VectorType::get({lanes}, accumulator), identity);
    return {identity};
  }
  SmallVector<Value> step(ValueRange carried, Value value, Value) {
    value = widen(fn.b, fn.b.getLoc(), value, accumulator, isUnsigned(type));
    return {combine(fn.b, fn.b.getLoc(), op.getCombiner(), type, carried[0], value)};
  }
  Value join(Value x, Value y) { return combine(fn.b, fn.b.getLoc(), op.getCombiner(), type, x, y); }
  int64_t block() { return blockOf(op.getCombiner(), type); }
  Value finish(ValueRange carried) { return narrow(fn.b, fn.b.getLoc(), carried[0], type); }

  KernelFunction &fn;
  ReduceWindowOp op;
  Type type, accumulator;
};

/// The position of the greatest element that one window reads: the first one, NaN above all; 0 where there is none.
struct Position {
  Position(KernelFunction &fn, ArgReduceWindowOp op) : fn(fn), b(fn.b), type(elementTypeOf(op.getOperand())) {}

  static bool accepts(ArgReduceWindowOp op) { return isa<FloatType>(elementTypeOf(op.getOperand())); }
  Value constant(TypedAttr value, int64_t lanes) {
    Value scalar = arith::ConstantOp::create(b, value);
    return lanes > 1 ? vector::BroadcastOp::create(b, VectorType::get({lanes}, value.getType()), scalar).getResult()
                     : scalar;
  }
  SmallVector<Value> start(int64_t lanes) {
    return {constant(b.getI64IntegerAttr(-1), lanes), constant(b.getZeroAttr(type), lanes)};
  }
  SmallVector<Value> step(ValueRange carried, Value value, Value flat) {
    Value at = arith::IndexCastOp::create(b, b.getI64Type(), flat), best = carried[1];
    auto vectorType = dyn_cast<VectorType>(value.getType());
    int64_t lanes = vectorType ? vectorType.getNumElements() : 1;
    if (vectorType) {
      auto lane = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
      Value iota = arith::ConstantOp::create(b, b.getI64VectorAttr(lane));
      at = arith::AddIOp::create(b, vector::BroadcastOp::create(b, iota.getType(), at), iota);
    }
    Value zero = constant(b.getI64IntegerAttr(0), lanes);
    Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, carried[0], zero);
    Value above = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, value, best);
    Value number = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, best, best);
    Value take = arith::OrIOp::create(b, first, arith::AndIOp::create(b, above, number));
    return {arith::SelectOp::create(b, take, at, carried[0]), arith::SelectOp::create(b, take, value, best)};
  }
  Value join(Value, Value) { llvm_unreachable("a position is no sum"); }
  int64_t block() { return kNoBlocks; }
  Value finish(ValueRange carried) {
    auto vectorType = dyn_cast<VectorType>(carried[0].getType());
    Value zero = constant(b.getI64IntegerAttr(0), vectorType ? vectorType.getNumElements() : 1);
    return arith::MaxSIOp::create(b, carried[0], zero);
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  Type type;
};
} // namespace

template <typename Kind, typename Op> static bool isWindowOf(KernelSpec &spec, Op op) {
  if (op.getWindow().empty() || !Kind::accepts(op))
    return false;
  int64_t inner = static_cast<int64_t>(op.getWindow().size()) - 1;
  if (op.getWindow()[inner] != 1 || op.getStrides()[inner] != 1 || op.getLow()[inner] != 0 || op.getHigh()[inner] != 0)
    return false;
  auto isGiven = [&](Value value) { return value == op.getResult(); };
  return canBuild(op.getOperand(), isGiven) && llvm::all_of(llvm::seq(spec.kernel.getNumResults()), [&](unsigned i) {
           return canBuild(spec.yielded(i), isGiven) && spec.sizes->sameShape(op.getResult(), spec.yielded(i));
         });
}

/// Lanes of the widest element, or as many fewer as take the fewest steps for the channels.
template <typename Op> static int64_t lanesOfWindow(KernelSpec &spec, Op op) {
  Type elementType = elementTypeOf(op.getOperand()), accumulator = accumulatorType(elementType);
  int64_t width = std::max(byteWidth(elementType), byteWidth(accumulator));
  for (Operation &inside : spec.body().without_terminator())
    for (Type type : inside.getResultTypes())
      width = std::max(width, byteWidth(cast<RankedTensorType>(type).getElementType()));
  int64_t most = spec.target().lanes(width), best = most;
  DimExpr channels = spec.dims.resolve(spec.sizes->dims(op.getResult()).back());
  if (!channels.isConstant())
    return most;
  // What is left behind whole vectors goes one by one.
  auto steps = [&](int64_t lanes) { return channels.constant() / lanes + channels.constant() % lanes; };
  for (int64_t lanes = most; lanes > 0; lanes /= 2)
    if (steps(lanes) < steps(best))
      best = lanes;
  return best;
}

template <typename Kind, typename Op>
static EmittedKernel emitWindows(KernelSpec &spec, ModuleOp module, StringRef name, Op op) {
  int64_t rank = op.getWindow().size(), inner = rank - 1, lanes = spec.schedule().getLanes();
  DimContext &dims = spec.dims;
  Dims sizes = spec.sizes->dims(op.getResult()), operandSizes = spec.sizes->dims(op.getOperand());
  KernelFunction fn(spec, module, name, {});
  ImplicitLocOpBuilder &b = fn.b;
  Dims outerSizes(sizes.begin(), sizes.end() - 1);
  DimExpr rows = dims.product(outerSizes), one = dims.constant(1);
  int64_t taps = 1;
  for (int64_t size : op.getWindow())
    taps *= size;
  DimExpr rowsPerChunk =
      dims.max(one, dims.floorDiv(dims.constant(std::max<int64_t>(1, spec.schedule().getChunk() / taps)),
                                  dims.max(sizes[inner], one)));

  Value rowCount = fn.materialize(rows), channels = fn.materialize(sizes[inner]), step = fn.materialize(rowsPerChunk);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = arith::MulIOp::create(b, chunk, step);
    Value high = arith::MinSIOp::create(b, arith::AddIOp::create(b, low, step), rowCount);
    fn.loop(low, high, 1, [&](Value row) {
      SmallVector<Value> outer = fn.delinearize(row, outerSizes);
      // Axis k reads positions start + i * dilation for i in [first, end).
      SmallVector<Value> starts, firsts, ends;
      for (int64_t k = 0; k < inner; ++k) {
        Value start = arith::SubIOp::create(b, arith::MulIOp::create(b, outer[k], fn.index(op.getStrides()[k])),
                                            fn.index(op.getLow()[k]));
        Value dilation = fn.index(op.getDilations()[k]);
        Value below = arith::SubIOp::create(b, fn.index(op.getDilations()[k] - 1), start);
        Value left = arith::SubIOp::create(b, fn.materialize(operandSizes[k]), start);
        left = arith::AddIOp::create(b, left, fn.index(op.getDilations()[k] - 1));
        starts.push_back(start);
        firsts.push_back(arith::MaxSIOp::create(b, fn.index(0), arith::DivSIOp::create(b, below, dilation)));
        ends.push_back(
            arith::MinSIOp::create(b, fn.index(op.getWindow()[k]), arith::DivSIOp::create(b, left, dilation)));
      }
      // An axis of one tap that is never outside is no loop.
      auto isWalked = [&](int64_t k) { return op.getWindow()[k] != 1 || op.getLow()[k] != 0 || op.getHigh()[k] != 0; };
      auto vector = [&](Value channel, int64_t lanesHere, Value mask) {
        LaneIndex channelIndex{channel, lanesHere > 1 ? 1 : 0, nullptr};
        Kind kind(fn, op);
        auto step = [&](ArrayRef<Value> taps, ValueRange carried) -> SmallVector<Value> {
          SmallVector<Value> position;
          for (int64_t k = 0; k < inner; ++k) {
            if (!isWalked(k)) {
              position.push_back(starts[k]);
              continue;
            }
            Value offset = arith::MulIOp::create(b, taps.consume_front(), fn.index(op.getDilations()[k]));
            position.push_back(arith::AddIOp::create(b, starts[k], offset));
          }
          KernelElements elements(fn, lanesHere);
          elements.mask = mask;
          SmallVector<LaneIndex> index = elements.uniform(position);
          index.push_back(channelIndex);
          Value value = elements.load(op.getOperand(), index);
          if (lanesHere > 1 && !isa<VectorType>(value.getType()))
            value = elements.splat(value);
          Value flat = fn.index(0);
          for (auto [axis, at] : llvm::enumerate(position))
            flat = arith::AddIOp::create(b, arith::MulIOp::create(b, flat, fn.materialize(operandSizes[axis])), at);
          flat = arith::AddIOp::create(b, arith::MulIOp::create(b, flat, channels), channel);
          return kind.step(carried, value, flat);
        };
        SmallVector<SummedAxis> axes;
        for (int64_t k = 0; k < inner; ++k)
          if (isWalked(k))
            axes.push_back({firsts[k], ends[k], op.getWindow()[k]});
        auto join = [&](Value x, Value y) { return kind.join(x, y); };
        SmallVector<Value> totals = sumNest(fn, axes, 1, kind.block(), kind.start(lanesHere), join, step);
        Value sum = kind.finish(totals);
        KernelElements elements(fn, lanesHere);
        elements.mask = mask;
        elements.install(op.getResult(), [&](ArrayRef<LaneIndex>) { return sum; });
        SmallVector<LaneIndex> index = elements.uniform(outer);
        index.push_back(channelIndex);
        elements.storeResults(index);
      };
      Value tail = arith::RemUIOp::create(b, channels, fn.index(lanes));
      Value whole = arith::SubIOp::create(b, channels, tail);
      fn.loop(fn.index(0), whole, lanes, [&](Value channel) { vector(channel, lanes, nullptr); });
      if (lanes > 1)
        fn.loop(whole, channels, 1, [&](Value channel) { vector(channel, 1, nullptr); });
    });
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(rows, rowsPerChunk);
  DimExpr work = dims.resolve(dims.mul(dims.product(sizes), dims.constant(taps)));
  if (work.isConstant())
    emitted.estimatedNs = static_cast<double>(work.constant()) / spec.costs().windowTapsPerNs;
  return emitted;
}

bool sinter::cpu::isWindow(KernelSpec &spec) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (!root || several)
    return false;
  if (auto op = dyn_cast<ReduceWindowOp>(root))
    return isWindowOf<Combination>(spec, op);
  auto op = dyn_cast<ArgReduceWindowOp>(root);
  return op && isWindowOf<Position>(spec, op);
}

Plan sinter::cpu::planWindow(KernelSpec &spec, ScheduleAttr) {
  if (!isWindow(spec))
    return Plan::refuse("its root is no window that stays along the last axis");
  bool several = false;
  Operation *root = findRoot(spec, several);
  Plan plan;
  if (auto op = dyn_cast<ReduceWindowOp>(root))
    plan.setLanes(lanesOfWindow(spec, op));
  else
    plan.setLanes(lanesOfWindow(spec, cast<ArgReduceWindowOp>(root)));
  plan.setChunk(spec.costs().windowTaps);
  return plan;
}

EmittedKernel sinter::cpu::emitWindow(KernelSpec &spec, ModuleOp module, StringRef name) {
  bool several = false;
  Operation *root = findRoot(spec, several);
  if (auto op = dyn_cast<ReduceWindowOp>(root))
    return emitWindows<Combination>(spec, module, name, op);
  return emitWindows<Position>(spec, module, name, cast<ArgReduceWindowOp>(root));
}
