// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes, and pointwise kernels of transposed operands. What is read along another axis than the results' last one
// goes through shared memory: a block has a tile of 32 x 32 elements, reads it along the operand's last axis and writes
// it along the results', so that the lanes of a warp are neighbours in both.
//
//               columns: along the results' last axes
//            ┌───────────────────┐
//     rows   │ 32 x 32           │   warp w reads columns w, w + 8, ... of a tile, its lanes along rows;
//     along  │ elements,         │   behind a barrier it has rows w, w + 8, ..., its lanes along columns.
//     the    │ 33 apart          │   Rows are 33 elements apart, so that lanes are in different banks either way.
//     operand└───────────────────┘
//
// Axes that stay together in all transposes are one, as the rows and columns of an image whose channels become last.

#include "backends/cuda/TransposeForm.h"
#include "backends/cpu/emit/General.h"
#include "backends/cuda/BlockForms.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kSide = 32, kPitch = kSide + 1;
constexpr int64_t kThreads = 256, kLines = kThreads / kSide;
/// Fewer elements, and shorter axes, have a thread for each element.
constexpr int64_t kManyElements = 1 << 14, kLeastSide = 8;
constexpr int64_t kSharedBytes = 48 << 10;

namespace {
/// What is read through shared memory, and along which axes.
struct Turn {
  SmallVector<TransposeOp> transposes;
  Dims sizes; // of the results
  /// Axes of the results that tiles' rows and columns run along: [first, last].
  std::pair<int64_t, int64_t> rowAxes, columnAxes;
};
} // namespace

/// Ops whose elements are read at the position of a result's element, through pointwise ops alone.
static llvm::SmallSetVector<Operation *, 8> readInPlace(cuda::KernelSpec &spec) {
  llvm::SmallSetVector<Value, 16> seen;
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    seen.insert(spec.yielded(i));
  llvm::SmallSetVector<Operation *, 8> ends;
  for (size_t i = 0; i < seen.size(); ++i)
    if (Operation *op = seen[i].getDefiningOp()) {
      if (isa<Pointwise>(op))
        seen.insert_range(op->getOperands());
      else
        ends.insert(op);
    }
  return ends;
}

/// Whether one of the transposes is read elsewhere than at the position of a result's element, too.
static bool areReadElsewhere(ArrayRef<TransposeOp> transposes, ArrayRef<Operation *> ends) {
  llvm::SmallSetVector<Value, 16> seen;
  for (Operation *op : ends)
    seen.insert_range(op->getOperands());
  for (size_t i = 0; i < seen.size(); ++i)
    if (Operation *op = seen[i].getDefiningOp())
      seen.insert_range(op->getOperands());
  return llvm::any_of(transposes, [&](TransposeOp op) { return seen.contains(op.getResult()); });
}

/// Nothing where no operand is turned, several are by different axes, or one is read at other positions as well.
static std::optional<Turn> findTurn(cuda::KernelSpec &spec) {
  Turn turn;
  turn.sizes = spec.sizes->dims(spec.yielded(0));
  auto rank = static_cast<int64_t>(turn.sizes.size());
  int64_t rows = -1; // the axis of the results that is the operands' last
  llvm::SmallSetVector<Operation *, 8> ends = readInPlace(spec);
  for (Operation *op : ends) {
    auto transpose = dyn_cast<TransposeOp>(op);
    if (!transpose || transpose.getPermutation().back() == rank - 1)
      continue;
    int64_t axis = llvm::find(transpose.getPermutation(), rank - 1) - transpose.getPermutation().begin();
    if (rows >= 0 && rows != axis)
      return std::nullopt;
    rows = axis;
    turn.transposes.push_back(transpose);
  }
  if (turn.transposes.empty() || areReadElsewhere(turn.transposes, ends.getArrayRef()))
    return std::nullopt;
  auto firstOf = [&](int64_t last) {
    int64_t first = last;
    while (first > 0 && llvm::all_of(turn.transposes, [&](TransposeOp op) {
             return op.getPermutation()[first - 1] + 1 == op.getPermutation()[first];
           }))
      --first;
    return first;
  };
  turn.rowAxes = {firstOf(rows), rows};
  turn.columnAxes = {firstOf(rank - 1), rank - 1};
  return turn;
}

static DimExpr sizeOf(cuda::KernelSpec &spec, const Turn &turn, std::pair<int64_t, int64_t> axes) {
  return spec.dims.resolve(spec.dims.product(ArrayRef(turn.sizes).slice(axes.first, axes.second + 1 - axes.first)));
}

static bool isBelow(DimExpr size, int64_t bound) { return size.isConstant() && size.constant() < bound; }

std::string cuda::planBlockTranspose(cuda::KernelSpec &spec, StringRef name, ScheduleAttr &schedule) {
  bool several = false;
  if (cpu::findRoot(spec, several))
    return "it does more than compute elements one by one";
  for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
    if (!spec.sizes->sameShape(spec.yielded(0), spec.yielded(i)) ||
        !cpu::canBuild(spec.yielded(i), [](Value) { return false; }))
      return "its ops have no scalar form, or its results several shapes";
  std::optional<Turn> turn = findTurn(spec);
  if (!turn)
    return "it has no transpose that moves the last axis, or several that move others there";
  int64_t bytes = 0;
  for (TransposeOp op : turn->transposes)
    bytes += kSide * kPitch * byteWidth(getElementTypeOrSelf(op));
  if (bytes > kSharedBytes)
    return "tiles of its operands do not fit into shared memory";
  if (!schedule && (isBelow(sizeOf(spec, *turn, turn->rowAxes), kLeastSide) ||
                    isBelow(sizeOf(spec, *turn, turn->columnAxes), kLeastSide) ||
                    isBelow(spec.dims.resolve(spec.dims.product(turn->sizes)), kManyElements)))
    return "its axes are short, or it has few elements";
  return takeOnly(spec, name, kThreads, schedule);
}

namespace {
class TransposeEmitter {
public:
  TransposeEmitter(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol)
      : spec(spec), fn(spec, module, symbol, {}), b(fn.b), turn(*findTurn(spec)),
        rows(sizeOf(spec, turn, turn.rowAxes)), columns(sizeOf(spec, turn, turn.columnAxes)) {
    for (TransposeOp op : turn.transposes)
      tiles.push_back(sharedArray(fn, cpu::storageType(getElementTypeOrSelf(op)), kSide * kPitch));
    for (auto [axis, size] : llvm::enumerate(turn.sizes))
      if (!isIn(turn.rowAxes, axis) && !isIn(turn.columnAxes, axis))
        others.push_back(size);
  }
  cpu::EmittedKernel emit();

private:
  static bool isIn(std::pair<int64_t, int64_t> axes, size_t axis) {
    return static_cast<int64_t>(axis) >= axes.first && static_cast<int64_t>(axis) <= axes.second;
  }
  /// The position of a result's element.
  SmallVector<Value> at(ArrayRef<Value> outer, Value row, Value column);
  void readTile(ArrayRef<Value> outer, Value firstRow, Value firstColumn);
  void writeTile(ArrayRef<Value> outer, Value firstRow, Value firstColumn);
  /// This thread's elements of a tile: those of `across` and `along` that are there, a line of lanes after the other.
  void forEach(Value firstAcross, DimExpr across, Value firstAlong, DimExpr along,
               function_ref<void(Value line, Value i, Value j)> body);

  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value mul(Value x, int64_t factor) { return arith::MulIOp::create(b, x, fn.index(factor)); }

  cuda::KernelSpec &spec;
  cpu::KernelFunction fn;
  ImplicitLocOpBuilder &b;
  Turn turn;
  DimExpr rows, columns;
  Dims others; // axes that no tile runs along
  SmallVector<Value> tiles;
  Value lane, line;
};
} // namespace

SmallVector<Value> TransposeEmitter::at(ArrayRef<Value> outer, Value row, Value column) {
  auto part = [&](Value flat, std::pair<int64_t, int64_t> axes) {
    return fn.delinearize(flat, ArrayRef(turn.sizes).slice(axes.first, axes.second + 1 - axes.first));
  };
  SmallVector<Value> ofRows = part(row, turn.rowAxes), ofColumns = part(column, turn.columnAxes), index;
  size_t next = 0;
  for (size_t axis = 0; axis < turn.sizes.size(); ++axis)
    index.push_back(isIn(turn.rowAxes, axis)      ? ofRows[axis - static_cast<size_t>(turn.rowAxes.first)]
                    : isIn(turn.columnAxes, axis) ? ofColumns[axis - static_cast<size_t>(turn.columnAxes.first)]
                                                  : outer[next++]);
  return index;
}

void TransposeEmitter::forEach(Value firstAcross, DimExpr across, Value firstAlong, DimExpr along,
                               function_ref<void(Value, Value, Value)> body) {
  Value j = add(firstAlong, lane);
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, j, fn.materialize(along));
  Value end = fn.materialize(across);
  for (int64_t step = 0; step < kSide; step += kLines) {
    Value here = step ? add(line, fn.index(step)) : line, i = add(firstAcross, here);
    Value isInside = arith::AndIOp::create(b, isThere, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, i, end));
    fn.ifThen(isInside, [&] { body(here, i, j); });
  }
}

/// Lanes run along rows, which are the operands' last axis.
void TransposeEmitter::readTile(ArrayRef<Value> outer, Value firstRow, Value firstColumn) {
  forEach(firstColumn, columns, firstRow, rows, [&](Value here, Value column, Value row) {
    cpu::KernelElements elements(fn, 1);
    SmallVector<Value> position = at(outer, row, column);
    for (auto [op, tile] : llvm::zip(turn.transposes, tiles)) {
      SmallVector<LaneIndex> index(position.size());
      for (auto [k, axis] : llvm::enumerate(op.getPermutation()))
        index[axis] = elements.uniform(position[k]);
      fn.store(elements.load(op.getOperand(), index), tile, add(mul(here, kPitch), lane));
    }
  });
}

void TransposeEmitter::writeTile(ArrayRef<Value> outer, Value firstRow, Value firstColumn) {
  forEach(firstRow, rows, firstColumn, columns, [&](Value here, Value row, Value column) {
    cpu::KernelElements elements(fn, 1);
    Value place = add(mul(lane, kPitch), here);
    for (auto [op, tile] : llvm::zip(turn.transposes, tiles))
      elements.install(op.getResult(), [&, tile = tile, type = getElementTypeOrSelf(op)](ArrayRef<LaneIndex>) {
        return fn.load(tile, place, type);
      });
    elements.storeResults(elements.uniform(at(outer, row, column)));
  });
}

cpu::EmittedKernel TransposeEmitter::emit() {
  DimContext &dims = spec.dims;
  auto tilesOf = [&](DimExpr size) { return dims.resolve(dims.ceilDiv(size, dims.constant(kSide))); };
  DimExpr rowTiles = tilesOf(rows), columnTiles = tilesOf(columns), outerSize = dims.resolve(dims.product(others));
  Value thread = threadNumber(fn);
  lane = arith::RemUIOp::create(b, thread, fn.index(kSide));
  line = arith::DivUIOp::create(b, thread, fn.index(kSide));
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    SmallVector<Value> at = fn.delinearize(chunk, {outerSize, rowTiles, columnTiles});
    SmallVector<Value> outer = fn.delinearize(at[0], others);
    Value firstRow = mul(at[1], kSide), firstColumn = mul(at[2], kSide);
    readTile(outer, firstRow, firstColumn);
    NVVM::Barrier0Op::create(b);
    writeTile(outer, firstRow, firstColumn);
    NVVM::Barrier0Op::create(b); // before the next tile
  });
  fn.finish();
  cpu::EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.mul(dims.mul(outerSize, rowTiles), columnTiles);
  return emitted;
}

cpu::EmittedKernel cuda::emitBlockTranspose(cuda::KernelSpec &spec, ModuleOp module, StringRef symbol) {
  return TransposeEmitter(spec, module, symbol).emit();
}
