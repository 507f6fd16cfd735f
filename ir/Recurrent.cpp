// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Recurrent.h"
#include "ir/Axes.h"
#include "ir/reference/Loops.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Recurrent.cpp.inc"

void SinterDialect::registerRecurrent() {
  addOperations<
#define GET_OP_LIST
#include "ir/Recurrent.cpp.inc"
      >();
}

static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }

//===- shape ---------------------------------------------------------------------------------===//

/// Sizes of a cell, met over all operands that mention them.
namespace {
struct CellShape {
  std::optional<Location> loc;
  StringRef op;
  Type element;
  int64_t gates;
  int64_t steps = ShapedType::kDynamic, batch = ShapedType::kDynamic, inputs = ShapedType::kDynamic,
          units = ShapedType::kDynamic;

  LogicalResult mismatch(StringRef name, StringRef wanted, Type type) const {
    return emitOptionalError(loc, op, " requires ", name, " of shape ", wanted, " and element type ", element, ", got ",
                             type);
  }
  /// One axis of an operand is `factor` times the size, which becomes more precise by it.
  static bool meet(int64_t &size, int64_t axis, int64_t factor = 1) {
    if (ShapedType::isDynamic(axis))
      return true;
    std::optional<int64_t> met = axis % factor == 0 ? meetSize(size, axis / factor) : std::nullopt;
    size = met.value_or(size);
    return met.has_value();
  }
  bool isOf(RankedTensorType type, int64_t rank) const {
    return type.getRank() == rank && type.getElementType() == element;
  }
  LogicalResult checkSequence(Value x) {
    RankedTensorType type = ranked(x.getType());
    if (!isOf(type, 3) || !meet(steps, type.getDimSize(0)) || !meet(batch, type.getDimSize(1)) ||
        !meet(inputs, type.getDimSize(2)))
      return mismatch("x", "[steps, batch, inputs]", type);
    return success();
  }
  LogicalResult checkWeights(StringRef name, Value w, int64_t &columns, StringRef wanted) {
    RankedTensorType type = ranked(w.getType());
    if (!isOf(type, 2) || !meet(units, type.getDimSize(0), gates) || !meet(columns, type.getDimSize(1)))
      return mismatch(name, wanted, type);
    return success();
  }
  /// A sequence of gate inputs.
  LogicalResult checkProjected(Value x) {
    if (!meet(units, inputs, gates))
      return mismatch("x without w", "[steps, batch, gates * units]", x.getType());
    return success();
  }
  LogicalResult checkVector(StringRef name, Value value, int64_t factor) {
    if (!value)
      return success();
    RankedTensorType type = ranked(value.getType());
    if (!isOf(type, 1) || !meet(units, type.getDimSize(0), factor))
      return mismatch(name, "[" + std::to_string(factor) + " * units]", type);
    return success();
  }
  LogicalResult checkState(StringRef name, Value value) {
    RankedTensorType type = ranked(value.getType());
    if (!isOf(type, 2) || !meet(batch, type.getDimSize(0)) || !meet(units, type.getDimSize(1)))
      return mismatch(name, "[batch, units]", type);
    return success();
  }
  LogicalResult checkLengths(Value lengths) {
    RankedTensorType type = lengths ? ranked(lengths.getType()) : RankedTensorType();
    if (!type || (type.getRank() == 1 && meet(batch, type.getDimSize(0))))
      return success();
    return emitOptionalError(loc, op, " requires one length per batch row, got ", lengths.getType(), " for ", batch,
                             " rows");
  }
  RankedTensorType state() const { return RankedTensorType::get({batch, units}, element); }
  RankedTensorType sequence() const { return RankedTensorType::get({steps, batch, units}, element); }
};
} // namespace

template <typename Adaptor> static LogicalResult checkCell(CellShape &cell, Adaptor adaptor) {
  if (failed(cell.checkSequence(adaptor.getX())) || // C1
      (adaptor.getW() && failed(cell.checkWeights("w", adaptor.getW(), cell.inputs, "[gates * units, inputs]"))) ||
      failed(cell.checkWeights("r", adaptor.getR(), cell.units, "[gates * units, units]")) ||
      (!adaptor.getW() && failed(cell.checkProjected(adaptor.getX()))) ||
      failed(cell.checkState("h0", adaptor.getH0())) || failed(cell.checkLengths(adaptor.getLengths())))
    return failure();
  return success();
}

template <typename Adaptor>
static CellShape cellOf(std::optional<Location> loc, StringRef op, int64_t gates, Adaptor adaptor) {
  return {loc, op, ranked(adaptor.getX().getType()).getElementType(), gates};
}

LogicalResult LstmOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, LstmOp::Adaptor adaptor,
                                       SmallVectorImpl<Type> &inferred) {
  CellShape cell = cellOf(loc, "lstm", 4, adaptor);
  if (failed(checkCell(cell, adaptor)) || failed(cell.checkVector("bias", adaptor.getBias(), 4)) ||
      failed(cell.checkState("c0", adaptor.getC0())) || failed(cell.checkVector("peephole", adaptor.getPeephole(), 3)))
    return failure();
  inferred.append({cell.sequence(), cell.state(), cell.state()});
  return success();
}

LogicalResult GruOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, GruOp::Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  CellShape cell = cellOf(loc, "gru", 3, adaptor);
  if (failed(checkCell(cell, adaptor)) || failed(cell.checkVector("input_bias", adaptor.getInputBias(), 3)) ||
      failed(cell.checkVector("hidden_bias", adaptor.getHiddenBias(), 3)))
    return failure();
  inferred.append({cell.sequence(), cell.state()});
  return success();
}

LogicalResult RnnOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, RnnOp::Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  CellShape cell = cellOf(loc, "rnn", 1, adaptor);
  if (failed(checkCell(cell, adaptor)) || failed(cell.checkVector("bias", adaptor.getBias(), 1)))
    return failure();
  inferred.append({cell.sequence(), cell.state()});
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

template <typename Cell> static SmallVector<Dims> cellDims(Cell op, ShapeQuery &shapes) {
  Dims sequence = shapes.dims(op.getX()), state = shapes.dims(op.getH0());
  if (!state[0].isConstant())
    state[0] = sequence[1];
  SmallVector<Dims> results(op->getNumResults(), state);
  results[0] = {sequence[0], state[0], state[1]};
  return results;
}
SmallVector<Dims> LstmOp::resultDims(ShapeQuery &shapes) { return cellDims(*this, shapes); }
SmallVector<Dims> GruOp::resultDims(ShapeQuery &shapes) { return cellDims(*this, shapes); }
SmallVector<Dims> RnnOp::resultDims(ShapeQuery &shapes) { return cellDims(*this, shapes); }

//===- evaluate ------------------------------------------------------------------------------===//

static double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::tanh:
    return std::tanh(x);
  case Activation::relu:
    return x < 0 ? 0 : x;
  }
  llvm_unreachable("all activations handled");
}

/// The operands of a cell by name, and the walk over steps and rows that all cells share.
namespace {
struct CellData {
  int64_t steps, batch, inputs, units;
  std::vector<double> x, w, r, h;
  std::vector<int64_t> lengths;
  Type element;

  template <typename Cell> CellData(Cell op, ArrayRef<HostTensor> operands) {
    const HostTensor &sequence = operands[0];
    steps = sequence.size(0), batch = sequence.size(1), inputs = sequence.size(2);
    const HostTensor &recurrence = operands[position(op, op.getR())];
    x = sequence.toFloats(), w = optional(op, op.getW(), operands), r = recurrence.toFloats();
    units = recurrence.size(1);
    element = sequence.elementType();
    h = optional(op, op.getH0(), operands);
    if (op.getLengths())
      lengths = operands[position(op, op.getLengths())].toInts();
  }
  static size_t position(Operation *op, Value operand) {
    for (OpOperand &use : op->getOpOperands())
      if (use.get() == operand)
        return use.getOperandNumber();
    llvm_unreachable("an operand of the op");
  }
  static std::vector<double> optional(Operation *op, Value operand, ArrayRef<HostTensor> operands) {
    return operand ? operands[position(op, operand)].toFloats() : std::vector<double>();
  }
  /// x[t, row, :] . w[gate, :], or what the sequence already holds.
  double input(int64_t t, int64_t row, int64_t gate) const {
    if (w.empty())
      return x[(t * batch + row) * inputs + gate];
    double sum = 0;
    for (int64_t i = 0; i < inputs; ++i)
      sum += x[(t * batch + row) * inputs + i] * w[gate * inputs + i];
    return sum;
  }
  /// state . r[gate, :]
  double recurrent(ArrayRef<double> state, int64_t gate) const {
    double sum = 0;
    for (int64_t i = 0; i < units; ++i)
      sum += state[i] * r[gate * units + i];
    return sum;
  }
  /// All h, from `step(t, row)`, which updates the row's state; rows past their length stay and give zero. Nothing when
  /// the steps do not suffice.
  std::optional<std::vector<double>> walk(Direction direction, Evaluator &evaluator,
                                          llvm::function_ref<void(int64_t, int64_t)> step) {
    std::vector<double> y(steps * batch * units, 0);
    for (int64_t k = 0; k < steps; ++k) {
      int64_t t = direction == Direction::reverse ? steps - 1 - k : k;
      for (int64_t row = 0; row < batch; ++row) {
        if (!evaluator.spend(units * (units + inputs)))
          return std::nullopt;
        if (!lengths.empty() && t >= lengths[row])
          continue;
        step(t, row);
        std::copy_n(h.begin() + row * units, units, y.begin() + (t * batch + row) * units);
      }
    }
    return y;
  }
  HostTensor sequence(const std::vector<double> &values) const {
    return tensorOf(element, {steps, batch, units}, values);
  }
  HostTensor state(const std::vector<double> &values) const { return tensorOf(element, {batch, units}, values); }
};
} // namespace

static double at(const std::vector<double> &values, int64_t i) { return values.empty() ? 0 : values[i]; }
static double clip(double value, double limit) { return limit > 0 ? std::clamp(value, -limit, limit) : value; }

FailureOr<SmallVector<HostTensor>> LstmOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  CellData cell(*this, operands);
  int64_t units = cell.units;
  std::vector<double> c = CellData::optional(*this, getC0(), operands);
  std::vector<double> bias = CellData::optional(*this, getBias(), operands);
  std::vector<double> peephole = CellData::optional(*this, getPeephole(), operands);
  double limit = getClip().convertToDouble();
  std::vector<double> next(units);
  auto y = cell.walk(getDirection(), evaluator, [&](int64_t t, int64_t row) {
    double *state = c.data() + row * units;
    ArrayRef<double> before(cell.h.data() + row * units, units);
    // The gates' inputs without peepholes.
    auto gate = [&](int64_t which, int64_t u) {
      int64_t g = which * units + u;
      return cell.input(t, row, g) + cell.recurrent(before, g) + at(bias, g);
    };
    for (int64_t u = 0; u < units; ++u) {
      double in = activate(getGate(), clip(gate(0, u) + at(peephole, u) * state[u], limit));
      double forget = getCoupleForget()
                          ? 1 - in
                          : activate(getGate(), clip(gate(2, u) + at(peephole, 2 * units + u) * state[u], limit));
      double fresh = activate(getCell(), clip(gate(3, u), limit));
      state[u] = forget * state[u] + in * fresh;
      double out = activate(getGate(), clip(gate(1, u) + at(peephole, units + u) * state[u], limit));
      next[u] = out * activate(getHidden(), state[u]);
    }
    std::copy(next.begin(), next.end(), cell.h.begin() + row * units);
  });
  if (!y)
    return outOfSteps(*this);
  return SmallVector<HostTensor>{cell.sequence(*y), cell.state(cell.h), cell.state(c)};
}

FailureOr<SmallVector<HostTensor>> GruOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  CellData cell(*this, operands);
  int64_t units = cell.units;
  std::vector<double> inputBias = CellData::optional(*this, getInputBias(), operands);
  std::vector<double> hiddenBias = CellData::optional(*this, getHiddenBias(), operands);
  double limit = getClip().convertToDouble();
  std::vector<double> update(units), reset(units), gated(units);
  auto y = cell.walk(getDirection(), evaluator, [&](int64_t t, int64_t row) {
    double *state = cell.h.data() + row * units;
    ArrayRef<double> before(state, units);
    for (int64_t u = 0; u < 2 * units; ++u) {
      double sum = cell.input(t, row, u) + cell.recurrent(before, u) + at(inputBias, u) + at(hiddenBias, u);
      (u < units ? update[u] : reset[u - units]) = activate(getGate(), clip(sum, limit));
    }
    for (int64_t u = 0; u < units; ++u)
      gated[u] = reset[u] * state[u];
    std::vector<double> fresh(units);
    for (int64_t u = 0; u < units; ++u) {
      int64_t g = 2 * units + u;
      double hidden = getLinearBeforeReset() ? reset[u] * (cell.recurrent(before, g) + at(hiddenBias, g))
                                             : cell.recurrent(gated, g) + at(hiddenBias, g);
      fresh[u] = activate(getHidden(), clip(cell.input(t, row, g) + at(inputBias, g) + hidden, limit));
    }
    for (int64_t u = 0; u < units; ++u)
      state[u] = (1 - update[u]) * fresh[u] + update[u] * state[u];
  });
  if (!y)
    return outOfSteps(*this);
  return SmallVector<HostTensor>{cell.sequence(*y), cell.state(cell.h)};
}

FailureOr<SmallVector<HostTensor>> RnnOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  CellData cell(*this, operands);
  std::vector<double> bias = CellData::optional(*this, getBias(), operands), next(cell.units);
  double limit = getClip().convertToDouble();
  auto y = cell.walk(getDirection(), evaluator, [&](int64_t t, int64_t row) {
    ArrayRef<double> before(cell.h.data() + row * cell.units, cell.units);
    for (int64_t u = 0; u < cell.units; ++u)
      next[u] = activate(getActivation(), clip(cell.input(t, row, u) + cell.recurrent(before, u) + at(bias, u), limit));
    std::copy(next.begin(), next.end(), cell.h.begin() + row * cell.units);
  });
  if (!y)
    return outOfSteps(*this);
  return SmallVector<HostTensor>{cell.sequence(*y), cell.state(cell.h)};
}
