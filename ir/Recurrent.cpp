// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Recurrent.h"
#include "ir/Axes.h"

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
    if (!lengths || meet(batch, ranked(lengths.getType()).getDimSize(0)))
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
      failed(cell.checkWeights("w", adaptor.getW(), cell.inputs, "[gates * units, inputs]")) ||
      failed(cell.checkWeights("r", adaptor.getR(), cell.units, "[gates * units, units]")) ||
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
