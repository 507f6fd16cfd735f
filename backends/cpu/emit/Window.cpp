// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling with lanes along an innermost axis that the window does not move over (channels last). The taps that fall
// into padding are left out by the loop bounds: nothing is padded, and no lane reads outside.
//
//   chunk     a run of result rows (all axes but the innermost)

#include "backends/cpu/emit/General.h"
#include "ir/Reduction.h"
#include "ir/Shapes.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Operand elements that a chunk combines.
constexpr int64_t kChunkTaps = 1 << 16;

std::optional<EmittedKernel> sinter::cpu::emitWindow(KernelSpec &spec, ModuleOp module, StringRef name) {
  bool several = false;
  auto op = dyn_cast_or_null<ReduceWindowOp>(findRoot(spec, several));
  if (!op || several || op.getWindow().empty())
    return std::nullopt;
  int64_t rank = op.getWindow().size(), inner = rank - 1;
  if (op.getWindow()[inner] != 1 || op.getStrides()[inner] != 1 || op.getLow()[inner] != 0 || op.getHigh()[inner] != 0)
    return std::nullopt;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(op.getResult(), spec.yielded(i)))
      return std::nullopt;

  Type elementType = cast<RankedTensorType>(op.getType()).getElementType(), accumulator = accumulatorType(elementType);
  int64_t width = std::max(byteWidth(elementType), byteWidth(accumulator));
  for (Operation &inside : spec.body().without_terminator())
    for (Type type : inside.getResultTypes())
      width = std::max(width, byteWidth(cast<RankedTensorType>(type).getElementType()));
  int64_t lanes = spec.target().lanes(width);
  DimContext &dims = spec.dims;
  Dims sizes = spec.sizes->dims(op.getResult()), operandSizes = spec.sizes->dims(op.getOperand());
  if (int64_t channels = dims.resolve(sizes[inner]).staticSize(); channels != ShapedType::kDynamic)
    while (lanes > channels && lanes > 1)
      lanes /= 2;

  KernelFunction fn(spec, module, name, {});
  {
    KernelElements probe(fn, lanes);
    probe.install(op.getResult(), nullptr);
    bool complete = probe.canBuild(op.getOperand());
    for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
      complete &= probe.canBuild(spec.yielded(i));
    if (!complete) {
      fn.function.erase();
      return std::nullopt;
    }
  }
  ImplicitLocOpBuilder &b = fn.b;
  Dims outerSizes(sizes.begin(), sizes.end() - 1);
  DimExpr rows = dims.product(outerSizes), one = dims.constant(1);
  int64_t taps = 1;
  for (int64_t size : op.getWindow())
    taps *= size;
  DimExpr rowsPerChunk =
      dims.max(one, dims.floorDiv(dims.constant(std::max<int64_t>(1, kChunkTaps / taps)), dims.max(sizes[inner], one)));

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
      auto vector = [&](Value channel, int64_t lanesHere, Value mask) {
        LaneIndex channelIndex{channel, lanesHere > 1 ? 1 : 0, nullptr};
        Value identity = identityOf(fn, op.getCombiner(), elementType);
        if (lanesHere > 1)
          identity = vector::BroadcastOp::create(b, VectorType::get({lanesHere}, accumulator), identity);
        SmallVector<Value> position;
        std::function<Value(Value)> nest = [&](Value sum) -> Value {
          int64_t k = position.size();
          if (k == inner) {
            KernelElements elements(fn, lanesHere);
            elements.mask = mask;
            SmallVector<LaneIndex> index;
            for (Value at : position)
              index.push_back(elements.uniform(at));
            index.push_back(channelIndex);
            Value value = elements.load(op.getOperand(), index);
            if (lanesHere > 1 && !isa<VectorType>(value.getType()))
              value = elements.splat(value);
            value = widen(b, b.getLoc(), value, accumulator, isUnsigned(elementType));
            return combine(b, b.getLoc(), op.getCombiner(), elementType, sum, value);
          }
          if (op.getWindow()[k] == 1 && op.getLow()[k] == 0) {
            position.push_back(starts[k]);
            Value result = nest(sum);
            position.pop_back();
            return result;
          }
          return fn
              .loop(firsts[k], ends[k], 1, ValueRange{sum},
                    [&](Value i, ValueRange carried) -> SmallVector<Value> {
                      Value offset = arith::MulIOp::create(b, i, fn.index(op.getDilations()[k]));
                      position.push_back(arith::AddIOp::create(b, starts[k], offset));
                      Value result = nest(carried.front());
                      position.pop_back();
                      return {result};
                    })
              .front();
        };
        Value sum = narrow(b, b.getLoc(), nest(identity), elementType);
        KernelElements elements(fn, lanesHere);
        elements.mask = mask;
        elements.install(op.getResult(), [&](ArrayRef<LaneIndex>) { return sum; });
        SmallVector<LaneIndex> index;
        for (Value at : outer)
          index.push_back(elements.uniform(at));
        index.push_back(channelIndex);
        for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
          elements.storeResult(i, elements.load(spec.yielded(i), index), index);
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
    emitted.estimatedNs = static_cast<double>(work.constant()) / 8;
  return emitted;
}
