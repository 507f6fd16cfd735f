// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes that stay together are one. Then the operand is [outer][a][r]: a becomes the last axis of the result, r is all
// that lies behind it, one contiguous run. A block is `lanes` rows of a by `lanes` of r: as many loads, turned in
// registers, as many stores. Lanes one by one, as any other kernel would move them, take about six times as long.
//
//   chunk     a few (outer, block of a), all of r

#include "backends/cpu/emit/Transpose.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// About how many elements a chunk moves.
constexpr int64_t kChunkElements = 16384;

std::optional<EmittedKernel> sinter::cpu::emitTranspose(KernelSpec &spec, ModuleOp module, StringRef name) {
  auto op = spec.yielded(0).getDefiningOp<TransposeOp>();
  auto operand = op ? dyn_cast<BlockArgument>(op.getOperand()) : BlockArgument();
  if (!operand || spec.kernel.getNumResults() != 1 || spec.target().vectorBytes < 16 ||
      std::distance(spec.body().begin(), spec.body().end()) != 2)
    return std::nullopt;
  Type element = op.getType().getElementType();
  if (!element.isF32() && !element.isF64())
    return std::nullopt;

  // Sizes and result places of merged axes.
  DimContext &dims = spec.dims;
  Dims all = spec.sizes->dims(operand), sizes;
  SmallVector<int64_t> place(all.size()), where;
  for (auto [k, axis] : llvm::enumerate(op.getPermutation()))
    place[axis] = static_cast<int64_t>(k);
  for (auto [axis, size] : llvm::enumerate(all)) {
    if (axis > 0 && place[axis] == place[axis - 1] + 1) {
      sizes.back() = dims.mul(sizes.back(), dims.resolve(size));
      where.back() = place[axis];
      continue;
    }
    sizes.push_back(dims.resolve(size));
    where.push_back(place[axis]);
  }
  auto rank = static_cast<int64_t>(sizes.size());
  int64_t turned = 0; // the axis that becomes the last
  for (int64_t k = 0; k < rank; ++k)
    if (where[k] > where[turned])
      turned = k;
  if (rank < 2 || turned == rank - 1)
    return std::nullopt;
  DimExpr rows = sizes[turned], run = dims.product(Dims(sizes.begin() + turned + 1, sizes.end()));
  int64_t lanes = spec.target().lanes(byteWidth(element));
  if (!rows.isConstant() || !run.isConstant() || rows.constant() < lanes || run.constant() < lanes)
    return std::nullopt;
  int64_t rowCount = rows.constant(), runLength = run.constant();
  // Elements from one index to the next, in the result.
  Dims strides(rank);
  for (int64_t k = 0; k < rank; ++k) {
    strides[k] = dims.constant(1);
    for (int64_t other = 0; other < rank; ++other)
      if (where[other] > where[k])
        strides[k] = dims.mul(strides[k], sizes[other]);
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
    for (auto [k, position] : llvm::enumerate(fn.delinearize(flat, part)))
      sum = add(sum, mul(position, fn.materialize(strides[from + static_cast<int64_t>(k)])));
    return sum;
  };

  int64_t blocks = llvm::divideCeil(rowCount, lanes);
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
      Value row = arith::MinSIOp::create(b, mul(block, fn.index(lanes)), fn.index(rowCount - lanes));
      Value from = mul(add(mul(outer, fn.index(rowCount)), row), fn.index(runLength));
      Value to = add(row, turned == 0 ? fn.index(0) : offset(outer, 0, turned));
      fn.loop(fn.index(0), fn.index(runLength), lanes, [&](Value step) {
        Value first = arith::MinSIOp::create(b, step, fn.index(runLength - lanes));
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < lanes; ++i)
          vectors.push_back(vector::LoadOp::create(b, vectorType, source,
                                                   ValueRange{add(from, add(first, fn.index(i * runLength)))}));
        for (auto [i, value] : llvm::enumerate(transposeVectors(b, vectors))) {
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
