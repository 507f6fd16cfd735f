// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposes, and axes read from their ends (filters for input gradients). Axes that stay together are one. Then the
// operand is [outer][a][r]: a becomes the last axis of the result, r is all that lies behind it, one contiguous run. A
// block is `lanes` rows of a by `lanes` of r, or all of a short r: as many loads, turned in registers, as many stores.
// Lanes one by one, as any other kernel would move them, take about six times as long.
//
// Zeros may follow the rows of a transposed matrix, as where it is copied into rows that fill whole cache lines.
//
//   chunk     a few (outer, block of a), all of r

#include "backends/cpu/emit/Transpose.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "ir/Shape.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// About how many elements a chunk moves.
constexpr int64_t kChunkElements = 16384;

/// How many zeros are put at the end of a matrix's rows, if that is all that happens.
static std::optional<int64_t> zerosAtEnd(PadOp pad) {
  ArrayRef<int64_t> low = pad.getLow(), high = pad.getHigh(), interior = pad.getInterior();
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (pad.getMode() != PadMode::constant || high.size() != 2 || high[0] != 0 || high[1] <= 0 ||
      !llvm::all_of(low, isZero) || !llvm::all_of(interior, isZero) || !matchPattern(pad.getValue(), m_PosZeroFloat()))
    return std::nullopt;
  return high[1];
}

std::optional<EmittedKernel> sinter::cpu::emitTranspose(KernelSpec &spec, ModuleOp module, StringRef name) {
  if (spec.kernel.getNumResults() != 1 || spec.target().vectorBytes < 16)
    return std::nullopt;
  auto type = cast<RankedTensorType>(spec.yielded(0).getType());
  Type element = type.getElementType();
  if (!element.isF32() && !element.isF64())
    return std::nullopt;
  // The result's axis that each axis of `moved` became, and whether it is read from its end.
  Value moved = spec.yielded(0);
  int64_t padding = 0;
  if (auto pad = moved.getDefiningOp<PadOp>()) {
    std::optional<int64_t> zeros = zerosAtEnd(pad);
    if (!zeros)
      return std::nullopt;
    padding = *zeros;
    moved = pad.getOperand();
  }
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  SmallVector<bool> reversed(axes.size(), false);
  while (Operation *op = moved.getDefiningOp()) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      SmallVector<int64_t> from(axes);
      SmallVector<bool> was(reversed);
      for (auto [k, axis] : llvm::enumerate(transpose.getPermutation())) {
        axes[axis] = from[k];
        reversed[axis] = was[k];
      }
    } else if (auto reverse = dyn_cast<ReverseOp>(op)) {
      for (int64_t axis : reverse.getAxes())
        reversed[axis] = !reversed[axis];
    } else {
      return std::nullopt;
    }
    moved = op->getOperand(0);
  }
  auto operand = cast<BlockArgument>(moved);
  if (padding && llvm::is_contained(reversed, true))
    return std::nullopt;

  // Sizes and result places of merged axes.
  DimContext &dims = spec.dims;
  Dims all = spec.sizes->dims(operand), sizes;
  SmallVector<int64_t> where;
  SmallVector<bool> fromEnd;
  for (auto [axis, size] : llvm::enumerate(all)) {
    if (axis > 0 && axes[axis] == axes[axis - 1] + 1 && reversed[axis] == reversed[axis - 1]) {
      sizes.back() = dims.mul(sizes.back(), dims.resolve(size));
      where.back() = axes[axis];
      continue;
    }
    sizes.push_back(dims.resolve(size));
    where.push_back(axes[axis]);
    fromEnd.push_back(reversed[axis]);
  }
  auto rank = static_cast<int64_t>(sizes.size());
  int64_t turned = 0; // the axis that becomes the last
  for (int64_t k = 0; k < rank; ++k)
    if (where[k] > where[turned])
      turned = k;
  if (rank < 2 || turned == rank - 1 || fromEnd[turned])
    return std::nullopt;
  DimExpr rows = sizes[turned], run = dims.product(Dims(sizes.begin() + turned + 1, sizes.end()));
  int64_t lanes = spec.target().lanes(byteWidth(element));
  if (!rows.isConstant() || !run.isConstant() || rows.constant() < lanes || run.constant() < 2)
    return std::nullopt;
  int64_t rowCount = rows.constant(), runLength = run.constant(), filledRows = rowCount + padding;
  bool isShort = runLength < lanes;
  if (isShort && !spec.target().hasMaskedMemory)
    return std::nullopt;
  // Elements from one index to the next, in the result.
  Dims strides(rank);
  for (int64_t k = 0; k < rank; ++k) {
    strides[k] = dims.constant(1);
    for (int64_t other = 0; other < rank; ++other)
      if (where[other] > where[k])
        strides[k] = dims.mul(strides[k], other == turned ? dims.constant(filledRows) : sizes[other]);
  }

  KernelFunction fn(spec, module, name, {});
  ImplicitLocOpBuilder &b = fn.b;
  VectorType vectorType = VectorType::get({lanes}, element);
  auto add = [&](Value x, Value y) { return arith::AddIOp::create(b, x, y).getResult(); };
  auto mul = [&](Value x, Value y) { return arith::MulIOp::create(b, x, y).getResult(); };
  Value source = fn.input(operand.getArgNumber()), target = fn.result(0);
  /// Where the axes [from, from + count) at the row-major position `flat` are in the result.
  auto offset = [&](Value flat, int64_t from, int64_t count) {
    Value sum = fn.index(0);
    Dims part(sizes.begin() + from, sizes.begin() + from + count);
    for (auto [k, position] : llvm::enumerate(fn.delinearize(flat, part))) {
      int64_t axis = from + static_cast<int64_t>(k);
      Value place = position;
      if (fromEnd[axis])
        place = arith::SubIOp::create(b, fn.materialize(dims.sub(sizes[axis], dims.constant(1))), position);
      sum = add(sum, mul(place, fn.materialize(strides[axis])));
    }
    return sum;
  };

  int64_t blocks = llvm::divideCeil(filledRows, lanes);
  int64_t unitsPerChunk = std::max<int64_t>(1, kChunkElements / (lanes * runLength));
  DimExpr units = dims.mul(dims.product(Dims(sizes.begin(), sizes.begin() + turned)), dims.constant(blocks));
  Value unitCount = fn.materialize(units);
  fn.loop(fn.begin(), fn.end(), 1, [&](Value chunk) {
    Value low = mul(chunk, fn.index(unitsPerChunk));
    Value high = arith::MinSIOp::create(b, add(low, fn.index(unitsPerChunk)), unitCount);
    fn.loop(low, high, 1, [&](Value unit) {
      Value outer = arith::DivUIOp::create(b, unit, fn.index(blocks));
      Value block = arith::SubIOp::create(b, unit, mul(outer, fn.index(blocks)));
      // The last block overlaps the one before it.
      Value row = arith::MinSIOp::create(b, mul(block, fn.index(lanes)), fn.index(filledRows - lanes));
      Value from = mul(mul(outer, fn.index(rowCount)), fn.index(runLength));
      Value to = add(row, turned == 0 ? fn.index(0) : offset(outer, 0, turned));
      fn.loop(fn.index(0), fn.index(runLength), lanes, [&](Value step) {
        Value first = step, mask, zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
        if (isShort)
          mask =
              vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()), ValueRange{fn.index(runLength)});
        else
          first = arith::MinSIOp::create(b, step, fn.index(runLength - lanes));
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < lanes; ++i) {
          Value number = add(row, fn.index(i)), inside = number;
          if (padding)
            inside = arith::MinSIOp::create(b, number, fn.index(rowCount - 1));
          Value at = add(from, add(first, mul(inside, fn.index(runLength)))), loaded;
          if (isShort)
            loaded = vector::MaskedLoadOp::create(b, vectorType, source, ValueRange{at}, mask, zero);
          else
            loaded = vector::LoadOp::create(b, vectorType, source, ValueRange{at});
          if (padding) {
            Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, fn.index(rowCount));
            loaded = arith::SelectOp::create(b, exists, loaded, zero);
          }
          vectors.push_back(loaded);
        }
        SmallVector<Value> turnedVectors = transposeVectors(b, vectors);
        for (auto [i, value] : llvm::enumerate(ArrayRef(turnedVectors).take_front(runLength))) {
          Value at = add(first, fn.index(static_cast<int64_t>(i)));
          vector::StoreOp::create(b, value, target, ValueRange{add(to, offset(at, turned + 1, rank - turned - 1))});
        }
      });
    });
  });
  fn.finish();

  EmittedKernel emitted;
  emitted.function = fn.function;
  emitted.chunks = dims.ceilDiv(units, dims.constant(unitsPerChunk));
  if (units.isConstant())
    emitted.estimatedNs = 0.5 * static_cast<double>(units.constant() * lanes * runLength);
  return emitted;
}
