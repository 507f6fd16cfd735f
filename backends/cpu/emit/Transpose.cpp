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
// Where sizes are known at run time only, and then are less than a block, elements are moved one by one.
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
  DimExpr rows, run, filledRows;
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
  if ((rows.isConstant() && rows.constant() < lanes) || (moves.padding && !rows.isConstant()))
    return std::nullopt;
  if (run.isConstant() && (run.constant() < 2 || (run.constant() < lanes && !spec.target().hasMaskedMemory)))
    return std::nullopt;
  turn.rows = rows;
  turn.run = run;
  turn.filledRows = dims.add(rows, dims.constant(moves.padding));
  for (int64_t k = 0; k < rank; ++k) {
    DimExpr stride = dims.constant(1);
    for (int64_t other = 0; other < rank; ++other)
      if (where[other] > where[k])
        stride = dims.mul(stride, other == turn.turned ? turn.filledRows : turn.sizes[other]);
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
    DimExpr blocks = dims.ceilDiv(turn.filledRows, dims.constant(lanes)), one = dims.constant(1);
    DimExpr perChunk =
        dims.floorDiv(dims.constant(fn.spec.schedule().getChunk() / (lanes * turn.unit)), dims.max(turn.run, one));
    perChunk = dims.max(perChunk, one);
    DimExpr units = dims.mul(dims.product(Dims(turn.sizes.begin(), turn.sizes.begin() + turn.turned)), blocks);
    rows = fn.materialize(turn.rows);
    run = fn.materialize(turn.run);
    filledRows = fn.materialize(turn.filledRows);
    Value unitCount = fn.materialize(units), blockCount = fn.materialize(blocks),
          unitsPerChunk = fn.materialize(perChunk);
    fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
      Value low = mul(chunk, unitsPerChunk);
      Value high = arith::MinSIOp::create(b, add(low, unitsPerChunk), unitCount);
      auto walk = [&](auto emitUnit) { fn.loop(low, high, 1, [&](Value unit) { emitUnit(unit, blockCount); }); };
      auto turned = [&] { walk([&](Value unit, Value blocks) { this->emitUnit(unit, blocks); }); };
      Value isLarge = holdsBlocks();
      if (!isLarge)
        return turned();
      fn.branch(isLarge, turned, [&] { walk([&](Value unit, Value blocks) { moveUnit(unit, blocks); }); });
    });
    fn.finish();

    EmittedKernel emitted;
    emitted.function = fn.function;
    emitted.chunks = dims.ceilDiv(units, perChunk);
    emitted.estimate(fn.spec, dims.mul(units, dims.mul(turn.run, dims.constant(lanes * turn.unit))),
                     fn.spec.costs().turnedNs);
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

  /// Whether there are as many rows, and as long ones, as a block has; null where that is known.
  Value holdsBlocks() {
    Value holds;
    for (auto [size, value] : {std::pair(turn.filledRows, filledRows), std::pair(turn.run, run)}) {
      if (size.isConstant())
        continue;
      Value isEnough = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, value, fn.index(lanes));
      holds = holds ? arith::AndIOp::create(b, holds, isEnough).getResult() : isEnough;
    }
    return holds;
  }

  /// The outer position of a unit, and its first row, which with `overlaps` may be one of the block before it.
  std::pair<Value, Value> placeOf(Value unit, Value blocks, bool overlaps) {
    Value outer = arith::DivUIOp::create(b, unit, blocks);
    Value block = arith::SubIOp::create(b, unit, mul(outer, blocks)), row = mul(block, fn.index(lanes));
    Value last = arith::SubIOp::create(b, filledRows, fn.index(lanes));
    return {outer, overlaps ? arith::MinSIOp::create(b, row, last).getResult() : row};
  }

  /// Where the rows of `outer` begin, in the operand and in the result.
  std::pair<Value, Value> beginOf(Value outer) {
    return {mul(mul(outer, rows), run), turn.turned == 0 ? fn.index(0) : offset(outer, 0, turn.turned)};
  }

  /// Where element `at` of a run is in the result, the row left out.
  Value behind(Value at) {
    return offset(at, turn.turned + 1, static_cast<int64_t>(turn.sizes.size()) - turn.turned - 1);
  }

  /// One block of rows, all of the run.
  void emitUnit(Value unit, Value blocks) {
    auto [outer, row] = placeOf(unit, blocks, /*overlaps=*/true);
    auto [from, begin] = beginOf(outer);
    Value to = add(row, begin);
    bool isShort = turn.run.isConstant() && turn.run.constant() < lanes;
    fn.loop(fn.index(0), run, lanes, [&, row = row, from = from](Value step) {
      Value first = step, mask, zero = arith::ConstantOp::create(b, b.getZeroAttr(memoryType));
      if (isShort)
        mask = vector::CreateMaskOp::create(b, VectorType::get(memoryType.getShape(), b.getI1Type()),
                                            ValueRange{mul(run, fn.index(turn.unit))});
      else
        first = arith::MinSIOp::create(b, step, arith::SubIOp::create(b, run, fn.index(lanes)));
      SmallVector<Value> vectors;
      for (int64_t i = 0; i < lanes; ++i)
        vectors.push_back(loadRow(add(row, fn.index(i)), from, first, mask, zero));
      SmallVector<Value> turnedVectors = transposeVectors(b, vectors);
      int64_t count = isShort ? turn.run.constant() : lanes;
      for (auto [i, value] : llvm::enumerate(ArrayRef(turnedVectors).take_front(count))) {
        Value at = add(first, fn.index(static_cast<int64_t>(i)));
        Value place = mul(add(to, behind(at)), fn.index(turn.unit));
        vector::StoreOp::create(b, vector::BitCastOp::create(b, memoryType, value), target, ValueRange{place});
      }
    });
  }

  /// The same element by element, where a vector does not fit.
  void moveUnit(Value unit, Value blocks) {
    auto [outer, row] = placeOf(unit, blocks, /*overlaps=*/false);
    auto [from, to] = beginOf(outer);
    Value end = arith::MinSIOp::create(b, add(row, fn.index(lanes)), filledRows), bound = rows;
    fn.loop(row, end, 1, [&, from = from, to = to](Value number) {
      Value inside = arith::MinSIOp::create(b, number, arith::SubIOp::create(b, bound, fn.index(1)));
      Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, bound);
      fn.loop(fn.index(0), run, 1, [&](Value at) {
        Value source = mul(add(from, add(at, mul(inside, run))), fn.index(turn.unit));
        Value place = mul(add(add(to, number), behind(at)), fn.index(turn.unit));
        for (int64_t i = 0; i < turn.unit; ++i) {
          Value value = memref::LoadOp::create(b, this->source, ValueRange{add(source, fn.index(i))});
          Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
          if (turn.filledRows != turn.rows)
            value = arith::SelectOp::create(b, exists, value, zero);
          memref::StoreOp::create(b, value, target, ValueRange{add(place, fn.index(i))});
        }
      });
    });
  }

  /// Elements of row `number` from `first` on; zeros for a row of the padding.
  Value loadRow(Value number, Value from, Value first, Value mask, Value zero) {
    bool isPadded = turn.filledRows != turn.rows;
    Value inside = number;
    if (isPadded)
      inside = arith::MinSIOp::create(b, number, arith::SubIOp::create(b, rows, fn.index(1)));
    Value at = mul(add(from, add(first, mul(inside, run))), fn.index(turn.unit)), loaded;
    if (mask)
      loaded = vector::MaskedLoadOp::create(b, memoryType, source, ValueRange{at}, mask, zero);
    else
      loaded = vector::LoadOp::create(b, memoryType, source, ValueRange{at});
    if (!isPadded)
      return vector::BitCastOp::create(b, vectorType, loaded);
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, rows);
    return vector::BitCastOp::create(b, vectorType, arith::SelectOp::create(b, exists, loaded, zero));
  }

  KernelFunction &fn;
  ImplicitLocOpBuilder &b;
  const Turn &turn;
  VectorType memoryType, vectorType; // as memory holds them, as they are turned
  int64_t lanes;
  Value source, target;
  Value rows, run, filledRows;
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
    return Plan::refuse("its axes are shorter than a vector, or the last one stays");
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
