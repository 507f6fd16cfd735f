// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LSTM and GRU over sequences that hold the gates' inputs (the product with w is a matrix product of its own, over all
// steps). The recurrent weights are packed so that the gates of the same units lie side by side: [units /
// lanes][k][gate][lanes]. A tile is a few rows of the batch by all gates of one vector of units; the nonlinearities
// happen on the accumulators.
//
// Steps depend on each other. Of a small cell one chunk is a block of batch rows and walks all steps. Of a cell whose
// steps are worth several threads, a chunk is one vector of units of a block of rows, and the launch repeats all chunks
// once for each step (KernelTraits::steps). The state h of a step is read from where the step before wrote it: the
// result y.

#include "ir/Recurrent.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/RecurrentForm.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Batch rows of the highest tile; those below it have half as many each.
constexpr int64_t kTileRows = 4, kMostTileRowsOfCell = 8;

template <typename Cell> static bool hasCommonForm(Cell op) {
  Type type = getElementTypeOrSelf(op.getX());
  auto r = cast<RankedTensorType>(op.getR().getType());
  return (type.isF32() || type.isF64()) && !op.getW() && !op.getLengths() && r.hasStaticShape();
}

bool sinter::cpu::hasRecurrentTemplate(Operation *op) {
  if (auto lstm = dyn_cast<LstmOp>(op))
    return hasCommonForm(lstm) && !lstm.getPeephole() && !lstm.getBias() && !lstm.getCoupleForget();
  // The reset gate after the product (the form that torch exports) needs one pass over h; before it, two.
  if (auto gru = dyn_cast<GruOp>(op))
    return hasCommonForm(gru) && !gru.getInputBias() && gru.getLinearBeforeReset();
  return false;
}

static Operation *cellOf(KernelSpec &spec) {
  for (Operation &op : spec.body().without_terminator())
    if (isa<LstmOp, GruOp>(op))
      return &op;
  return nullptr;
}
static Value recurrenceOf(Operation *cell) {
  return isa<LstmOp>(cell) ? cast<LstmOp>(cell).getR() : cast<GruOp>(cell).getR();
}
static int64_t gatesOf(Operation *cell) { return isa<LstmOp>(cell) ? 4 : 3; }

/// [gates * H, H] becomes [H / lanes][H (k)][gate][lanes], zero beyond H.
static PackedForm packRecurrence(RankedTensorType source, int64_t gates, int64_t lanes) {
  int64_t units = source.getDimSize(1), blocks = llvm::divideCeil(units, lanes);
  int64_t width = byteWidth(source.getElementType());
  return {blocks * units * gates * lanes * width, [=](const char *from, char *to) {
            for (int64_t block = 0; block < blocks; ++block)
              for (int64_t k = 0; k < units; ++k)
                for (int64_t gate = 0; gate < gates; ++gate)
                  for (int64_t lane = 0; lane < lanes; ++lane, to += width)
                    if (int64_t unit = block * lanes + lane; unit < units)
                      std::memcpy(to, from + ((gate * units + unit) * units + k) * width, width);
          }};
}

Packing sinter::cpu::packRecurrent(KernelSpec &spec, unsigned input) {
  int64_t gates = gatesOf(cellOf(spec)), lanes = spec.schedule().getLanes();
  return {input, "recurrence;" + std::to_string(gates) + ";" + std::to_string(lanes),
          [gates, lanes](RankedTensorType source) { return packRecurrence(source, gates, lanes); }};
}

/// Whether a step is long enough for several threads. Depends on the cell's size alone, not on the rows.
static bool splitsUnits(KernelSpec &spec, Operation *cell) {
  int64_t units = cast<RankedTensorType>(recurrenceOf(cell).getType()).getDimSize(1);
  const CostModel &costs = spec.costs();
  return static_cast<double>(gatesOf(cell) * units * units) / costs.streamedMacsPerNs >= 2 * costs.inlineNs;
}

namespace {
class RecurrentEmitter {
public:
  RecurrentEmitter(KernelFunction &fn, Operation *cell) : fn(fn), b(fn.b), dims(fn.spec.dims) {
    lstm = dyn_cast<LstmOp>(cell);
    gru = dyn_cast<GruOp>(cell);
    gates = gatesOf(cell);
    x = cast<BlockArgument>(cell->getOperand(0));
    r = cast<BlockArgument>(recurrenceOf(cell));
    h0 = cast<BlockArgument>(lstm ? lstm.getH0() : gru.getH0());
    Type type = getElementTypeOrSelf(x);
    width = byteWidth(type);
    lanes = fn.spec.schedule().getLanes();
    chunkRows = fn.spec.schedule().getChunk();
    vectorType = VectorType::get({lanes}, type);
    units = cast<RankedTensorType>(r.getType()).getDimSize(1);
    wholeBlocks = units / lanes;
    blocks = llvm::divideCeil(units, lanes);
    isStepped = splitsUnits(fn.spec, cell);
    // Weights that a cache does not hold: each other step walks them backwards, so that it begins with those that the
    // step before used last and the cache still has.
    turnsAround = units * units * gates * width > fn.spec.target().l2Bytes / 4 * 3;
    reverse = (lstm ? lstm.getDirection() : gru.getDirection()) == Direction::reverse;
    clip = (lstm ? lstm.getClip() : gru.getClip()).convertToDouble();
  }
  EmittedKernel emit();

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value load(Value buffer, Value at, Value mask) {
    if (!mask)
      return vector::LoadOp::create(b, vectorType, buffer, ValueRange{at});
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    return vector::MaskedLoadOp::create(b, vectorType, buffer, ValueRange{at}, mask, zero);
  }
  void store(Value value, Value buffer, Value at, Value mask) {
    if (mask)
      vector::MaskedStoreOp::create(b, buffer, ValueRange{at}, mask, value);
    else
      vector::StoreOp::create(b, value, buffer, ValueRange{at});
  }
  Value splat(double value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorType, b.getFloatAttr(vectorType.getElementType(), value).getValue()));
  }
  Value activate(Activation kind, Value value) {
    switch (kind) {
    case Activation::tanh:
      return math::TanhOp::create(b, value);
    case Activation::relu:
      return arith::MaximumFOp::create(b, value, splat(0));
    case Activation::sigmoid: {
      Value exponential = math::ExpOp::create(b, arith::NegFOp::create(b, value));
      return arith::DivFOp::create(b, splat(1), arith::AddFOp::create(b, splat(1), exponential));
    }
    }
    llvm_unreachable("all activations handled");
  }
  Value clamp(Value value) {
    if (clip <= 0)
      return value;
    return arith::MaximumFOp::create(b, arith::MinimumFOp::create(b, value, splat(clip)), splat(-clip));
  }
  Value fused(Value x, Value y, Value z) { return vector::FMAOp::create(b, x, y, z); }

  /// One step for rows [row, row + rows) and the units of `block`.
  void emitTile(int64_t rows, Value step, Value row, Value block, Value mask, Value previous, Value previousBase);
  /// The same for rows [low, high).
  void emitRows(Value step, Value low, Value high, Value block, Value mask, Value previous, Value previousBase);
  /// The position in the sequence of the k-th step.
  Value placeOf(Value k);
  /// Where h of the step before the k-th begins in the result.
  Value beforeOf(Value k);
  /// The lanes of the last block, if not all of its units exist.
  Value lastMask();
  /// Sets units [begin, end) of rows [low, high) of the states to what the sequence starts with.
  void copyInitial(Value low, Value high, Value begin, Value end);
  void emitSequences();
  void emitStep();
  Value turned(Value chunk, Value count);

  /// The buffer of the cell's result `i`: the kernel's, or scratch memory when nobody reads that result.
  void placeResults();

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  DimContext &dims;
  Value all, lastH, lastC; // y; h may be null; c is null for a GRU
  DimExpr scratchElements, batchSize;
  LstmOp lstm;
  GruOp gru;
  BlockArgument x, r, h0;
  int64_t gates, width, lanes, units, chunkRows, wholeBlocks, blocks;
  bool isStepped, turnsAround;
  VectorType vectorType;
  bool reverse;
  double clip;
  Value batch, stepCount;
};
} // namespace

void RecurrentEmitter::emitTile(int64_t rows, Value step, Value row, Value block, Value mask, Value previous,
                                Value previousBase) {
  Value unit = mul(block, fn.index(lanes));
  // Gate inputs of the rows, x[step, row, gate * units + unit].
  SmallVector<Value> inputs;
  for (int64_t i = 0; i < rows; ++i) {
    Value flat = add(mul(step, batch), add(row, fn.index(i)));
    Value base = add(mul(flat, fn.index(gates * units)), unit);
    for (int64_t gate = 0; gate < gates; ++gate)
      inputs.push_back(load(fn.input(x.getArgNumber()), add(base, fn.index(gate * units)), mask));
  }
  MicroOperands operands(ProductForm::fusedOf(vectorType.getElementType().isF64() ? Number::f64 : Number::f32));
  operands.a = previous;
  operands.b = fn.input(r.getArgNumber());
  operands.bStride = fn.index(gates * lanes);
  for (int64_t i = 0; i < rows; ++i)
    operands.aRows.push_back(add(previousBase, mul(add(row, fn.index(i)), fn.index(units))));
  Value weights = mul(block, fn.index(units * gates * lanes));
  for (int64_t gate = 0; gate < gates; ++gate)
    operands.bVectors.push_back(add(weights, fn.index(gate * lanes)));
  SmallVector<Value> sums =
      emitBlockedMicroKernel(fn, operands, vectorType, fn.index(0), fn.index(units), dims.constant(units));

  for (int64_t i = 0; i < rows; ++i) {
    Value state = add(mul(add(row, fn.index(i)), fn.index(units)), unit);
    Value y = add(mul(mul(step, batch), fn.index(units)), state);
    auto input = [&](int64_t gate) { return inputs[i * gates + gate]; };
    auto product = [&](int64_t gate) { return sums[i * gates + gate]; };
    auto sum = [&](int64_t gate) { return clamp(arith::AddFOp::create(b, input(gate), product(gate))); };
    auto storeH = [&](Value h) {
      store(h, all, y, mask);
      if (lastH)
        store(h, lastH, state, mask);
    };
    if (lstm) {
      Value c = lastC;
      Value in = activate(lstm.getGate(), sum(0)), out = activate(lstm.getGate(), sum(1));
      Value forget = activate(lstm.getGate(), sum(2)), fresh = activate(lstm.getCell(), sum(3));
      Value next = fused(forget, load(c, state, mask), arith::MulFOp::create(b, in, fresh));
      store(next, c, state, mask);
      storeH(arith::MulFOp::create(b, out, activate(lstm.getHidden(), next)));
      continue;
    }
    // GRU: z, r, h; the hidden bias is inside the product.
    auto bias = [&](int64_t gate) -> Value {
      if (!gru.getHiddenBias())
        return splat(0);
      return load(fn.input(cast<BlockArgument>(gru.getHiddenBias()).getArgNumber()), add(unit, fn.index(gate * units)),
                  mask);
    };
    auto biased = [&](int64_t gate) { return arith::AddFOp::create(b, product(gate), bias(gate)); };
    Value update = activate(gru.getGate(), clamp(arith::AddFOp::create(b, input(0), biased(0))));
    Value reset = activate(gru.getGate(), clamp(arith::AddFOp::create(b, input(1), biased(1))));
    Value fresh = activate(gru.getHidden(), clamp(fused(reset, biased(2), input(2))));
    Value before = load(previous, add(previousBase, state), mask);
    // (1 - z) n + z h = n + z (h - n)
    storeH(fused(update, arith::SubFOp::create(b, before, fresh), fresh));
  }
}

void RecurrentEmitter::placeResults() {
  SmallVector<Value> buffers(lstm ? 3 : 2);
  for (unsigned i = 0; i < fn.spec.kernel.getNumResults(); ++i)
    buffers[cast<OpResult>(fn.spec.yielded(i)).getResultNumber()] = fn.result(i);
  Dims sizes = fn.spec.sizes->dims(x);
  DimExpr state = dims.mul(sizes[1], dims.constant(units)), sequence = dims.mul(sizes[0], state);
  scratchElements = dims.constant(0);
  auto scratch = [&](DimExpr elements) -> Value {
    Value begin = fn.materialize(dims.mul(scratchElements, dims.constant(width)));
    scratchElements = dims.add(scratchElements, elements);
    auto type = MemRefType::get({kHuge}, vectorType.getElementType());
    return memref::ViewOp::create(b, type, fn.workspace(), begin, ValueRange{});
  };
  all = buffers[0] ? buffers[0] : scratch(sequence);
  lastH = buffers[1];
  if (lstm)
    lastC = buffers[2] ? buffers[2] : scratch(state);
}

void RecurrentEmitter::emitRows(Value step, Value low, Value high, Value block, Value mask, Value previous,
                                Value previousBase) {
  Value row = low;
  for (int64_t rows = fn.spec.schedule().getTile().front(); rows > 0; rows /= 2) {
    Value left = arith::SubIOp::create(b, high, row);
    Value end = add(row, mul(arith::DivUIOp::create(b, left, fn.index(rows)), fn.index(rows)));
    fn.loop(row, end, rows, [&](Value at) { emitTile(rows, step, at, block, mask, previous, previousBase); });
    row = end;
  }
}

Value RecurrentEmitter::lastMask() {
  auto maskType = VectorType::get({lanes}, b.getI1Type());
  return vector::CreateMaskOp::create(b, maskType, ValueRange{fn.index(units % lanes)});
}

void RecurrentEmitter::copyInitial(Value low, Value high, Value begin, Value end) {
  auto copy = [&](Value from, Value to) {
    if (!to)
      return;
    fn.loop(low, high, 1, [&](Value row) {
      fn.loop(begin, end, 1, [&](Value unit) {
        Value at = add(mul(row, fn.index(units)), unit);
        memref::StoreOp::create(b, memref::LoadOp::create(b, from, ValueRange{at}), to, ValueRange{at});
      });
    });
  };
  if (lstm)
    copy(fn.input(cast<BlockArgument>(lstm.getC0()).getArgNumber()), lastC);
  copy(fn.input(h0.getArgNumber()), lastH);
}

Value RecurrentEmitter::placeOf(Value k) {
  return reverse ? arith::SubIOp::create(b, arith::SubIOp::create(b, stepCount, fn.index(1)), k).getResult() : k;
}

Value RecurrentEmitter::beforeOf(Value k) {
  Value before = placeOf(arith::SubIOp::create(b, k, fn.index(1)));
  return mul(before, mul(batch, fn.index(units)));
}

/// A chunk is a block of rows and walks all steps.
void RecurrentEmitter::emitSequences() {
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = mul(chunk, fn.index(chunkRows));
    Value high = arith::MinSIOp::create(b, add(low, fn.index(chunkRows)), batch);
    copyInitial(low, high, fn.index(0), fn.index(units));
    auto overBlocks = [&](Value step, Value previous, Value previousBase) {
      if (wholeBlocks)
        fn.loop(fn.index(0), fn.index(wholeBlocks), 1,
                [&](Value block) { emitRows(step, low, high, block, nullptr, previous, previousBase); });
      if (blocks != wholeBlocks)
        emitRows(step, low, high, fn.index(wholeBlocks), lastMask(), previous, previousBase);
    };
    Value first = arith::MinSIOp::create(b, stepCount, fn.index(1));
    fn.loop(fn.index(0), first, 1, [&](Value k) { overBlocks(placeOf(k), fn.input(h0.getArgNumber()), fn.index(0)); });
    fn.loop(first, stepCount, 1, [&](Value k) { overBlocks(placeOf(k), all, beforeOf(k)); });
  });
}

/// On odd steps the chunks come in another order, if that is better for caches: backwards where one thread walks them
/// all, and where several do, who begin at either end, from the middle to the ends.
Value RecurrentEmitter::turned(Value chunk, Value count) {
  if (!turnsAround)
    return chunk;
  auto less = [&](Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y).getResult(); };
  auto minus = [&](Value x, Value y) { return arith::SubIOp::create(b, x, y).getResult(); };
  Value last = minus(count, fn.index(1)), half = arith::DivUIOp::create(b, count, fn.index(2));
  Value fromMiddle = arith::SelectOp::create(b, less(chunk, half), minus(minus(half, fn.index(1)), chunk),
                                             minus(add(last, half), chunk));
  Value isAlone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, minus(fn.end(), fn.begin()), count);
  Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), arith::IndexCastOp::create(b, b.getI64Type(), fn.step()));
  Value other = arith::SelectOp::create(b, isAlone, minus(last, chunk), fromMiddle);
  return arith::SelectOp::create(b, isOdd, other, chunk);
}

/// A chunk is a block of units of a block of rows, at the step that the launch is at.
void RecurrentEmitter::emitStep() {
  Value k = fn.step(), rowBlocks = fn.materialize(dims.ceilDiv(batchSize, dims.constant(chunkRows)));
  Value count = mul(rowBlocks, fn.index(blocks));
  auto isBelow = [&](Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y).getResult();
  };
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value place = turned(chunk, count), rows = arith::DivUIOp::create(b, place, fn.index(blocks));
    Value block = arith::RemUIOp::create(b, place, fn.index(blocks));
    Value low = mul(rows, fn.index(chunkRows));
    Value high = arith::MinSIOp::create(b, add(low, fn.index(chunkRows)), batch);
    auto overRows = [&](Value previous, Value previousBase) {
      auto emit = [&](Value mask) { emitRows(placeOf(k), low, high, block, mask, previous, previousBase); };
      if (blocks == wholeBlocks)
        return emit(nullptr);
      fn.branch(isBelow(block, fn.index(wholeBlocks)), [&] { emit(nullptr); }, [&] { emit(lastMask()); });
    };
    auto start = [&] {
      Value unit = mul(block, fn.index(lanes));
      copyInitial(low, high, unit, arith::MinSIOp::create(b, add(unit, fn.index(lanes)), fn.index(units)));
      // An empty sequence has one step, too, which leaves the initial states.
      fn.branch(isBelow(k, stepCount), [&] { overRows(fn.input(h0.getArgNumber()), fn.index(0)); }, [] {});
    };
    fn.branch(isBelow(k, fn.index(1)), start, [&] { overRows(all, beforeOf(k)); });
  });
}

EmittedKernel RecurrentEmitter::emit() {
  placeResults();
  Dims sizes = fn.spec.sizes->dims(x);
  batchSize = sizes[1];
  batch = fn.materialize(batchSize);
  stepCount = fn.materialize(sizes[0]);
  isStepped ? emitStep() : emitSequences();
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(batchSize, dims.constant(chunkRows));
  if (isStepped) {
    emitted.chunks = dims.mul(emitted.chunks, dims.constant(blocks));
    emitted.steps = dims.max(sizes[0], dims.constant(1));
  }
  emitted.workspaceBytes = dims.mul(scratchElements, dims.constant(width));
  emitted.estimate(fn.spec, dims.mul(dims.mul(sizes[0], sizes[1]), dims.constant(gates * units * units)),
                   1 / fn.spec.costs().streamedMacsPerNs);
  return emitted;
}

Plan sinter::cpu::planRecurrent(KernelSpec &spec, ScheduleAttr) {
  Operation *cell = cellOf(spec);
  if (!cell || !hasRecurrentTemplate(cell) || !llvm::all_of(cell->getOperands(), llvm::IsaPred<BlockArgument>))
    return Plan::refuse("it is no cell of the common form whose operands are inputs");
  auto r = cast<BlockArgument>(recurrenceOf(cell));
  if (!canBePacked(spec, r))
    return Plan::refuse("the recurrent weights are no constant");
  // The kernel yields results of the cell and nothing else.
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (spec.yielded(i).getDefiningOp() != cell)
      return Plan::refuse("ops follow the cell");
  Plan plan;
  plan.packing = {static_cast<int64_t>(r.getArgNumber())};
  plan.needsPacking = true;
  int64_t width = byteWidth(getElementTypeOrSelf(r));
  plan.setLanes(spec.target().lanes(width), 16 / width);
  plan.addTile(kTileRows, kMostTileRowsOfCell, kMostTileRowsOfCell);
  plan.setChunk(spec.costs().recurrentRows);
  return plan;
}

EmittedKernel sinter::cpu::emitRecurrent(KernelSpec &spec, ModuleOp module, StringRef name) {
  Operation *cell = cellOf(spec);
  KernelFunction fn(spec, module, name, {.workspace = true, .step = splitsUnits(spec, cell)});
  return RecurrentEmitter(fn, cell).emit();
}
