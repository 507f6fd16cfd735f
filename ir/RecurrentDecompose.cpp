// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recurrent cells as a scan: the input's product with w is one contraction before the loop, the body adds the state's
// product with r. f16 and bf16 are computed in f32 and rounded once.

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Recurrent.h"
#include "ir/Regions.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

static Value activate(Composer &c, Activation activation, Value x) {
  switch (activation) {
  case Activation::sigmoid:
    return c.make<LogisticOp>(x);
  case Activation::tanh:
    return c.make<TanhOp>(x);
  case Activation::relu:
    return c.make<ClampOp>(c.fill(0, x), x, c.fill(std::numeric_limits<double>::infinity(), x)); // slope 0 at 0
  }
  llvm_unreachable("all activations handled");
}

static Value clip(Composer &c, Value x, double limit) {
  return limit > 0 ? c.make<ClampOp>(c.fill(-limit, x), x, c.fill(limit, x)) : x;
}

/// x r^T for the matrices x [batch, k] and r [n, k]; with a third axis in front of x, for each of its slices.
static Value product(Composer &c, Value x, Value r) {
  return c.make<DotGeneralOp>(x, r, ArrayRef<int64_t>(), ArrayRef<int64_t>(), tensorTypeOf(x).getRank() - 1, int64_t(1),
                              elementTypeOf(x));
}

/// Adds a vector along the last axis, if there is one.
static Value addVector(Composer &c, Value x, Value vector) {
  return vector ? c.make<AddOp>(x, c.spread(vector, x, tensorTypeOf(x).getRank() - 1)) : x;
}

/// Gates of `units` rows each in the order in which they lie in memory: gate g of the op is block `place[g]` of
/// `source`.
namespace {
struct GateOrder {
  Value source;
  SmallVector<int64_t> place;
};
} // namespace

/// What `value` is a concatenation of, when that brings the gates of one tensor into another order, as exporters do for
/// frameworks that keep them differently. The product then reads that tensor where it lies, and its gradient is made in
/// that order.
static std::optional<GateOrder> findGateOrder(Value value, int64_t gates, int64_t units) {
  auto concatenate = value ? value.getDefiningOp<ConcatenateOp>() : ConcatenateOp();
  if (!concatenate || concatenate.getAxis() != 0)
    return std::nullopt;
  GateOrder order;
  for (Value part : concatenate.getOperands()) {
    auto slice = part.getDefiningOp<SliceOp>();
    if (!slice || (order.source && slice.getOperand() != order.source))
      return std::nullopt;
    order.source = slice.getOperand();
    RankedTensorType type = tensorTypeOf(order.source);
    int64_t start = slice.getStarts()[0], limit = slice.getLimits()[0];
    bool isWhole = type.hasStaticShape() && type.getDimSize(0) == gates * units && start % units == 0 &&
                   limit % units == 0 && llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
    for (int64_t axis = 1; axis < type.getRank(); ++axis)
      isWhole &= slice.getStarts()[axis] == 0 && slice.getLimits()[axis] == type.getDimSize(axis);
    if (!isWhole)
      return std::nullopt;
    for (int64_t block = start / units; block < limit / units; ++block)
      order.place.push_back(block);
  }
  SmallVector<int64_t> sorted(order.place);
  llvm::sort(sorted);
  return llvm::equal(sorted, llvm::seq<int64_t>(0, gates)) ? std::optional(order) : std::nullopt;
}

/// Words of a vocabulary that is smaller than the text are multiplied once each, not once for each time they occur.
constexpr int64_t kTextPart = 4, kVocabularyPart = 3; // at most 3 words for 4 positions

namespace {
/// A sequence that is read from a table: rows of `table` at `positions` [steps, batch].
struct TableSequence {
  Value table, positions;
};
} // namespace

static std::optional<TableSequence> findTable(Composer &c, Value x) {
  auto transpose = x.getDefiningOp<TransposeOp>();
  bool swapped = transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0, 2};
  auto gather = (swapped ? transpose.getOperand() : x).getDefiningOp<GatherOp>();
  if (!gather || gather.getAxis() != 0)
    return std::nullopt;
  RankedTensorType table = tensorTypeOf(gather.getOperand()), positions = tensorTypeOf(gather.getPositions());
  if (!table.hasStaticShape() || !positions.hasStaticShape() || table.getRank() != 2 || positions.getRank() != 2 ||
      table.getDimSize(0) * kTextPart > positions.getNumElements() * kVocabularyPart)
    return std::nullopt;
  Value at = gather.getPositions();
  if (swapped)
    at = c.make<TransposeOp>(at, ArrayRef<int64_t>{1, 0});
  return TableSequence{gather.getOperand(), at};
}

namespace {
/// One step of a cell: from the states, the step's share of the input's product and the captures to the next states,
/// the first of which is h.
using Step = llvm::function_ref<SmallVector<Value>(Composer &, ValueRange states, Value input, ValueRange captures)>;

/// The operands of a cell in the type that it is computed in.
struct Cell {
  Composer c;
  Type element;
  Operation *op;
  int64_t units;

  template <typename CellOp>
  Cell(CellOp op, OpBuilder &builder)
      : c(op.getLoc(), builder), element(elementTypeOf(op.getX())), op(op),
        units(tensorTypeOf(op.getR()).getDimSize(1)) {
    if (element.getIntOrFloatBitWidth() < 32)
      element = builder.getF32Type();
  }
  /// x w^T for all steps; without w the sequence holds it already.
  Value gateInputs(Value x, Value w) {
    if (!w)
      return widen(x);
    if (std::optional<TableSequence> words = findTable(c, x))
      return c.make<GatherOp>(product(c, widen(words->table), widen(w)), words->positions, int64_t(0));
    return product(c, widen(x), widen(w));
  }
  Value widen(Value value) { return value ? c.convert(value, element) : value; }

  /// Replaces w and r by tensors that they are reordered from alike, and brings `biases` into that order. Returns the
  /// place of each gate; that of `fixed` does not change.
  SmallVector<int64_t> readInPlace(Value &w, Value &r, ArrayRef<Value *> biases, int64_t gates, int64_t fixed = -1) {
    SmallVector<int64_t> place = llvm::to_vector(llvm::seq<int64_t>(0, gates));
    std::optional<GateOrder> ofW = findGateOrder(w, gates, units), ofR = findGateOrder(r, gates, units);
    if (!ofW || !ofR || ofW->place != ofR->place || (fixed >= 0 && ofW->place[fixed] != fixed))
      return place;
    place = ofW->place;
    w = ofW->source;
    r = ofR->source;
    for (Value *bias : biases) {
      if (!*bias)
        continue;
      SmallVector<Value> blocks(gates);
      for (int64_t gate = 0; gate < gates; ++gate)
        blocks[place[gate]] = c.slice(*bias, 0, gate * units, (gate + 1) * units);
      *bias = c.make<ConcatenateOp>(blocks, int64_t(0));
    }
    return place;
  }

  /// Results of the op: all h, then the last states.
  SmallVector<Value> scan(ValueRange init, Value inputs, SmallVector<Value> captures, Value lengths,
                          Direction direction, Step step) {
    SmallVector<Value> sequences{inputs};
    if (lengths) {
      // The step's number, to compare with each row's length.
      int64_t steps = tensorTypeOf(inputs).getDimSize(0);
      Value shape;
      if (ShapedType::isDynamic(steps))
        shape = c.reshape(c.size(inputs, 0), RankedTensorType::get({1}, c.getI64Type()));
      sequences.push_back(c.make<IotaOp>(shape, 0, RankedTensorType::get({steps}, c.getI32Type())));
      captures.push_back(lengths);
    }
    SmallVector<int64_t> axes(sequences.size(), 0);
    SmallVector<bool> reverse(sequences.size(), direction == Direction::reverse);
    auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
      Composer inner(loc, b);
      ValueRange states = args.take_front(init.size()), rest = args.drop_front(init.size());
      ValueRange captured = rest.drop_front(sequences.size());
      SmallVector<Value> next = step(inner, states, rest[0], lengths ? captured.drop_back() : captured);
      Value y = next[0];
      if (lengths) {
        Value rows = captured.back();
        Value running = inner.make<CompareOp>(inner.spread(rest[1], rows, {}), rows, CompareKind::lt);
        Value mask = inner.spread(running, y, int64_t(0));
        y = inner.make<SelectOp>(mask, y, inner.fill(0, y));
        for (auto [state, before] : llvm::zip(next, states))
          state = inner.make<SelectOp>(mask, state, before);
      }
      next.push_back(y);
      return next;
    };
    ScanOp loop = buildScan(c, c.getLoc(), init, sequences, captures, axes, reverse, /*outAxes=*/{0},
                            /*outReverse=*/{direction == Direction::reverse}, body);
    SmallVector<Value> results{loop.getStacks()[0]};
    llvm::append_range(results, loop.getCarries());
    for (auto [value, result] : llvm::zip(results, op->getResults()))
      value = c.retype(c.convert(value, elementTypeOf(result)), result.getType());
    return results;
  }

  LogicalResult check() const {
    if (!ShapedType::isDynamic(units))
      return success();
    return op->emitRemark("is not decomposed: its number of units is not static"), failure();
  }
};
} // namespace

FailureOr<SmallVector<Value>> LstmOp::decompose(OpBuilder &builder) {
  Cell cell(*this, builder);
  if (failed(cell.check()))
    return failure();
  int64_t units = cell.units;
  double limit = getClip().convertToDouble();
  Value w = getW(), r = getR(), bias = getBias();
  SmallVector<int64_t> place = cell.readInPlace(w, r, {&bias}, 4);
  Value inputs = addVector(cell.c, cell.gateInputs(getX(), w), cell.widen(bias));
  SmallVector<Value> captures{cell.widen(r)};
  if (getPeephole())
    captures.push_back(cell.widen(getPeephole()));
  auto step = [&](Composer &c, ValueRange states, Value input, ValueRange captured) -> SmallVector<Value> {
    Value sums = c.make<AddOp>(input, product(c, states[0], captured[0])), memory = states[1];
    // Gate `which` (i, o, f, c) with the peephole from `source`.
    auto gate = [&](int64_t which, Activation activation, Value source) {
      Value sum = c.slice(sums, 1, place[which] * units, (place[which] + 1) * units);
      if (source && captured.size() > 1) {
        Value peephole = c.slice(captured[1], 0, which * units, (which + 1) * units);
        sum = c.make<AddOp>(sum, c.make<MulOp>(c.spread(peephole, source, int64_t(1)), source));
      }
      return activate(c, activation, clip(c, sum, limit));
    };
    Value in = gate(0, getGate(), memory);
    Value forget = getCoupleForget() ? c.make<SubOp>(c.fill(1, in), in) : gate(2, getGate(), memory);
    Value fresh = gate(3, getCell(), nullptr);
    Value next = c.make<AddOp>(c.make<MulOp>(forget, memory), c.make<MulOp>(in, fresh));
    Value out = gate(1, getGate(), next);
    return {c.make<MulOp>(out, activate(c, getHidden(), next)), next};
  };
  return cell.scan({cell.widen(getH0()), cell.widen(getC0())}, inputs, captures, getLengths(), getDirection(), step);
}

FailureOr<SmallVector<Value>> GruOp::decompose(OpBuilder &builder) {
  Cell cell(*this, builder);
  if (failed(cell.check()))
    return failure();
  int64_t units = cell.units;
  double limit = getClip().convertToDouble();
  Value w = getW(), r = getR(), inputBias = getInputBias(), hiddenBias = getHiddenBias();
  SmallVector<int64_t> place = cell.readInPlace(w, r, {&inputBias, &hiddenBias}, 3, /*fixed=*/2);
  Value inputs = addVector(cell.c, cell.gateInputs(getX(), w), cell.widen(inputBias));
  r = cell.widen(r), hiddenBias = cell.widen(hiddenBias);
  SmallVector<Value> captures{cell.c.slice(r, 0, 0, 2 * units), cell.c.slice(r, 0, 2 * units, 3 * units)};
  if (hiddenBias) {
    captures.push_back(cell.c.slice(hiddenBias, 0, 0, 2 * units));
    captures.push_back(cell.c.slice(hiddenBias, 0, 2 * units, 3 * units));
  }
  auto step = [&](Composer &c, ValueRange states, Value input, ValueRange captured) -> SmallVector<Value> {
    Value h = states[0];
    auto bias = [&](int64_t k) { return captured.size() > 2 ? captured[2 + k] : Value(); };
    Value sums = addVector(c, product(c, h, captured[0]), bias(0));
    sums = c.make<AddOp>(c.slice(input, 1, 0, 2 * units), sums);
    Value gates = activate(c, getGate(), clip(c, sums, limit));
    auto gate = [&](int64_t which) { return c.slice(gates, 1, place[which] * units, (place[which] + 1) * units); };
    Value update = gate(0), reset = gate(1);
    Value hidden = getLinearBeforeReset() ? c.make<MulOp>(reset, addVector(c, product(c, h, captured[1]), bias(1)))
                                          : addVector(c, product(c, c.make<MulOp>(reset, h), captured[1]), bias(1));
    Value fresh =
        activate(c, getHidden(), clip(c, c.make<AddOp>(c.slice(input, 1, 2 * units, 3 * units), hidden), limit));
    Value kept = c.make<MulOp>(update, h);
    return {c.make<AddOp>(c.make<MulOp>(c.make<SubOp>(c.fill(1, update), update), fresh), kept)};
  };
  return cell.scan({cell.widen(getH0())}, inputs, captures, getLengths(), getDirection(), step);
}

FailureOr<SmallVector<Value>> RnnOp::decompose(OpBuilder &builder) {
  Cell cell(*this, builder);
  if (failed(cell.check()))
    return failure();
  double limit = getClip().convertToDouble();
  Value inputs = addVector(cell.c, cell.gateInputs(getX(), getW()), cell.widen(getBias()));
  auto step = [&](Composer &c, ValueRange states, Value input, ValueRange captured) -> SmallVector<Value> {
    Value sum = c.make<AddOp>(input, product(c, states[0], captured[0]));
    return {activate(c, getActivation(), clip(c, sum, limit))};
  };
  return cell.scan({cell.widen(getH0())}, inputs, {cell.widen(getR())}, getLengths(), getDirection(), step);
}
