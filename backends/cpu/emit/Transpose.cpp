// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes, and axes read from their ends (filters for input gradients). Axes that stay together are one. Then the
// operand is [outer][a][r]: a becomes the last axis of the result, r is all that lies behind it, one contiguous run. A
// block is `lanes` rows of a by `lanes` of r, or all of a short r: as many loads, turned in registers, as many stores.
// Lanes one by one, as any other kernel would move them, take about six times as long.
//
// Bytes and 16-bit numbers are turned in vectors of 16 bytes.
//
// Pairs of f32 that stay side by side, as where pixels of 2 x 2 are taken apart, are moved as one element of f64.
//
// Zeros may follow the rows of a transposed matrix, as where it is copied into rows that fill whole cache lines.
//
//   chunk     a few (outer, block of a), all of r

#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Moves.h"
#include "ir/Shape.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// How many zeros are put at the end of a matrix's rows, if that is all that happens.
static std::optional<int64_t> zerosAtEnd(PadOp pad) {
  ArrayRef<int64_t> low = pad.getLow(), high = pad.getHigh(), interior = pad.getInterior();
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (pad.getMode() != PadMode::constant || high.size() != 2 || high[0] != 0 || high[1] <= 0 ||
      !llvm::all_of(low, isZero) || !llvm::all_of(interior, isZero) || !matchPattern(pad.getValue(), m_PosZeroFloat()))
    return std::nullopt;
  return high[1];
}

std::optional<Moves> sinter::cpu::findMoves(KernelSpec &spec) {
  Value moved = spec.yielded(0);
  Moves moves;
  if (auto pad = moved.getDefiningOp<PadOp>()) {
    std::optional<int64_t> zeros = zerosAtEnd(pad);
    if (!zeros)
      return std::nullopt;
    moves.padding = *zeros;
    moved = pad.getOperand();
  }
  moves.axes = llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(moved.getType()).getRank()));
  moves.reversed.assign(moves.axes.size(), false);
  while (Operation *op = moved.getDefiningOp()) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<int64_t> from(moves.axes);
      SmallVector<bool> was(moves.reversed);
      for (auto [k, axis] : llvm::enumerate(transpose.getPermutation())) {
        moves.axes[axis] = from[k];
        moves.reversed[axis] = was[k];
      }
    } else if (auto reverse = dyn_cast<ReverseOp>(op)) {
      for (int64_t axis : reverse.getAxes())
        moves.reversed[axis] = !moves.reversed[axis];
    } else {
      return std::nullopt;
    }
    moved = op->getOperand(0);
  }
  moves.operand = cast<BlockArgument>(moved);
  if (moves.padding && llvm::is_contained(moves.reversed, true))
    return std::nullopt;
  return moves;
}

namespace {
/// The same with axes that stay together as one, seen as [outer][rows][run].
struct Turn {
  Dims sizes, strides; // of merged axes; strides are those of the result, in units
  SmallVector<bool> fromEnd;
  int64_t unit = 1;   // elements that are moved as one
  int64_t turned = 0; // the axis that becomes the last
  int64_t rows = 0, run = 0, filledRows = 0;
};
} // namespace

/// Nothing where no block can be turned in registers.
static std::optional<Turn> planTurn(KernelSpec &spec, const Moves &moves, int64_t lanes) {
  DimContext &dims = spec.dims;
  Turn turn;
  SmallVector<int64_t> where; // of merged axes
  for (auto [axis, size] : llvm::enumerate(spec.sizes->dims(moves.operand))) {
    if (axis > 0 && moves.axes[axis] == moves.axes[axis - 1] + 1 && moves.reversed[axis] == moves.reversed[axis - 1]) {
      turn.sizes.back() = dims.mul(turn.sizes.back(), dims.resolve(size));
      where.back() = moves.axes[axis];
      continue;
    }
    turn.sizes.push_back(dims.resolve(size));
    where.push_back(moves.axes[axis]);
    turn.fromEnd.push_back(moves.reversed[axis]);
  }
  bool staysLast = turn.sizes.size() > 2 && llvm::max_element(where) == where.end() - 1 && !turn.fromEnd.back();
  if (staysLast && getElementTypeOrSelf(moves.operand).isF32() && !moves.padding && turn.sizes.back().isConstant() &&
      turn.sizes.back().constant() == 2) {
    turn.unit = 2;
    turn.sizes.pop_back();
    turn.fromEnd.pop_back();
    where.pop_back();
    lanes /= 2;
  }
  auto rank = static_cast<int64_t>(turn.sizes.size());
  for (int64_t k = 0; k < rank; ++k)
    if (where[k] > where[turn.turned])
      turn.turned = k;
  if (rank < 2 || turn.turned == rank - 1 || turn.fromEnd[turn.turned])
    return std::nullopt;
  DimExpr rows = turn.sizes[turn.turned];
  DimExpr run = dims.product(Dims(turn.sizes.begin() + turn.turned + 1, turn.sizes.end()));
  if (!rows.isConstant() || !run.isConstant() || rows.constant() < lanes || run.constant() < 2)
    return std::nullopt;
  if (run.constant() < lanes && !spec.target().hasMaskedMemory)
    return std::nullopt;
  turn.rows = rows.constant();
  turn.run = run.constant();
  turn.filledRows = turn.rows + moves.padding;
  for (int64_t k = 0; k < rank; ++k) {
    DimExpr stride = dims.constant(1);
    for (int64_t other = 0; other < rank; ++other)
      if (where[other] > where[k])
        stride = dims.mul(stride, other == turn.turned ? dims.constant(turn.filledRows) : turn.sizes[other]);
    turn.strides.push_back(stride);
  }
  return turn;
}

namespace {
class TransposeEmitter {
public:
  TransposeEmitter(KernelFunction &fn, const Moves &moves, const Turn &turn, VectorType vectorType)
      : fn(fn), b(fn.b), turn(turn), memoryType(vectorType),
        vectorType(VectorType::get({vectorType.getNumElements() / turn.unit}, turnedType(fn.b, vectorType, turn.unit))),
        lanes(this->vectorType.getNumElements()), source(fn.input(moves.operand.getArgNumber())), target(fn.result(0)) {
  }

  EmittedKernel emit() {
    DimContext &dims = fn.spec.dims;
    int64_t blocks = llvm::divideCeil(turn.filledRows, lanes);
    int64_t unitsPerChunk = std::max<int64_t>(1, fn.spec.schedule().getChunk() / (lanes * turn.run * turn.unit));
    DimExpr units =
        dims.mul(dims.product(Dims(turn.sizes.begin(), turn.sizes.begin() + turn.turned)), dims.constant(blocks));
    Value unitCount = fn.materialize(units);
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      Value low = mul(chunk, fn.index(unitsPerChunk));
      Value high = arith::MinSIOp::create(b, add(low, fn.index(unitsPerChunk)), unitCount);
      fn.loop(low, high, 1, [&](Value unit) { emitUnit(unit, blocks); });
    });
    fn.finish();

    EmittedKernel emitted;
    emitted.function = fn.function;
    emitted.chunks = dims.ceilDiv(units, dims.constant(unitsPerChunk));
    if (units.isConstant())
      emitted.estimatedNs =
          fn.spec.costs().turnedNs * static_cast<double>(units.constant() * lanes * turn.run * turn.unit);
    return emitted;
  }

private:
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }

  /// Short floats are turned as integers, for which every target has shuffles.
  static Type turnedType(OpBuilder &b, VectorType memoryType, int64_t unit) {
    Type element = memoryType.getElementType();
    if (unit > 1)
      return b.getF64Type();
    return isa<FloatType>(element) && byteWidth(element) < 4 ? b.getIntegerType(element.getIntOrFloatBitWidth())
                                                             : element;
  }

  /// Where the axes [from, from + count) at the row-major position `flat` are in the result.
  Value offset(Value flat, int64_t from, int64_t count) {
    DimContext &dims = fn.spec.dims;
    Value sum = fn.index(0);
    Dims part(turn.sizes.begin() + from, turn.sizes.begin() + from + count);
    for (auto [k, position] : llvm::enumerate(fn.delinearize(flat, part))) {
      int64_t axis = from + static_cast<int64_t>(k);
      Value place = position;
      if (turn.fromEnd[axis])
        place = arith::SubIOp::create(b, fn.materialize(dims.sub(turn.sizes[axis], dims.constant(1))), position);
      sum = add(sum, mul(place, fn.materialize(turn.strides[axis])));
    }
    return sum;
  }

  /// One block of rows, all of the run.
  void emitUnit(Value unit, int64_t blocks) {
    Value outer = arith::DivUIOp::create(b, unit, fn.index(blocks));
    Value block = arith::SubIOp::create(b, unit, mul(outer, fn.index(blocks)));
    // The last block overlaps the one before it.
    Value row = arith::MinSIOp::create(b, mul(block, fn.index(lanes)), fn.index(turn.filledRows - lanes));
    Value from = mul(mul(outer, fn.index(turn.rows)), fn.index(turn.run));
    Value to = add(row, turn.turned == 0 ? fn.index(0) : offset(outer, 0, turn.turned));
    int64_t behind = static_cast<int64_t>(turn.sizes.size()) - turn.turned - 1;
    fn.loop(fn.index(0), fn.index(turn.run), lanes, [&](Value step) {
      Value first = step, mask, zero = arith::ConstantOp::create(b, b.getZeroAttr(memoryType));
      if (turn.run < lanes)
        mask = vector::CreateMaskOp::create(b, VectorType::get(memoryType.getShape(), b.getI1Type()),
                                            ValueRange{fn.index(turn.run * turn.unit)});
      else
        first = arith::MinSIOp::create(b, step, fn.index(turn.run - lanes));
      SmallVector<Value> vectors;
      for (int64_t i = 0; i < lanes; ++i)
        vectors.push_back(loadRow(add(row, fn.index(i)), from, first, mask, zero));
      SmallVector<Value> turnedVectors = transposeVectors(b, vectors);
      for (auto [i, value] : llvm::enumerate(ArrayRef(turnedVectors).take_front(turn.run))) {
        Value at = add(first, fn.index(static_cast<int64_t>(i)));
        Value place = mul(add(to, offset(at, turn.turned + 1, behind)), fn.index(turn.unit));
        vector::StoreOp::create(b, vector::BitCastOp::create(b, memoryType, value), target, ValueRange{place});
      }
    });
  }

  /// Elements of row `number` from `first` on; zeros for a row of the padding.
  Value loadRow(Value number, Value from, Value first, Value mask, Value zero) {
    bool isPadded = turn.filledRows > turn.rows;
    Value inside = number;
    if (isPadded)
      inside = arith::MinSIOp::create(b, number, fn.index(turn.rows - 1));
    Value at = mul(add(from, add(first, mul(inside, fn.index(turn.run)))), fn.index(turn.unit)), loaded;
    if (mask)
      loaded = vector::MaskedLoadOp::create(b, memoryType, source, ValueRange{at}, mask, zero);
    else
      loaded = vector::LoadOp::create(b, memoryType, source, ValueRange{at});
    if (!isPadded)
      return vector::BitCastOp::create(b, vectorType, loaded);
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, fn.index(turn.rows));
    return vector::BitCastOp::create(b, vectorType, arith::SelectOp::create(b, exists, loaded, zero));
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  const Turn &turn;
  VectorType memoryType, vectorType; // as memory holds them, as they are turned
  int64_t lanes;
  Value source, target;
};
} // namespace

/// Shuffles of bytes and pairs of bytes across more than 16 of them are several instructions.
static int64_t turnedLanes(const Target &target, int64_t width) { return width < 4 ? 16 / width : target.lanes(width); }

Plan sinter::cpu::planTranspose(KernelSpec &spec, ScheduleAttr given) {
  if (spec.kernel.getNumResults() != 1 || spec.target().vectorBytes < 16)
    return Plan::refuse("it has several results, or the target no vectors");
  Type element = getElementTypeOrSelf(spec.yielded(0));
  if (!element.isIntOrFloat() || element.isInteger(1))
    return Plan::refuse("bits are not turned in registers");
  std::optional<Moves> moves = findMoves(spec);
  if (!moves)
    return Plan::refuse("it does more than move axes");
  int64_t width = byteWidth(element), lanes = turnedLanes(spec.target(), width);
  if (!planTurn(spec, *moves, lanesOr(given, lanes)))
    return Plan::refuse("its axes are shorter than a vector or of unknown size, or the last one stays");
  Plan plan;
  plan.setLanes(lanes, 16 / width);
  plan.setChunk(spec.costs().transposedElements);
  return plan;
}

EmittedKernel sinter::cpu::emitTranspose(KernelSpec &spec, ModuleOp module, StringRef name) {
  Moves moves = *findMoves(spec);
  int64_t lanes = spec.schedule().getLanes();
  Turn turn = *planTurn(spec, moves, lanes);
  KernelFunction fn(spec, module, name, {});
  return TransposeEmitter(fn, moves, turn, VectorType::get({lanes}, signless(getElementTypeOrSelf(spec.yielded(0)))))
      .emit();
}
