// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Blocks.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Limits.h"
#include "ir/Shape.h"
#include "ir/reference/Loops.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Blocks.cpp.inc"

static constexpr int64_t kLeastBlock = 16, kUsualZero = 8;

static RankedTensorType ranked(Type type) { return cast<RankedTensorType>(type); }

//===- shape ---------------------------------------------------------------------------------===//

LogicalResult BlockDotOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, BlockDotOp::Adaptor adaptor,
                                           SmallVectorImpl<Type> &inferred) {
  RankedTensorType x = ranked(adaptor.getX().getType()), codes = ranked(adaptor.getCodes().getType()),
                   scales = ranked(adaptor.getScales().getType());
  bool areBlocks = codes.getRank() == 3 && codes.hasStaticShape() && 2 * codes.getDimSize(2) >= kLeastBlock &&
                   llvm::isPowerOf2_64(static_cast<uint64_t>(codes.getDimSize(2)));
  if (!areBlocks) // C1
    return emitOptionalError(loc, "block_dot requires codes [n, blocks, block / 2], block a power of two from ",
                             kLeastBlock, " on, got ", printShape(codes.getShape()));
  ArrayRef<int64_t> places = codes.getShape().drop_back();
  for (Value numbers : {adaptor.getScales(), adaptor.getZeros()})
    if (numbers && ranked(numbers.getType()).getShape() != places) // C1
      return emitOptionalError(loc, "block_dot requires a scale and a zero for each block, ", printShape(places),
                               ", got ", printShape(ranked(numbers.getType()).getShape()));
  int64_t block = 2 * codes.getDimSize(2), k = x.getRank() ? x.getShape().back() : 0;
  if (k <= (places[1] - 1) * block || k > places[1] * block) // C2; `?` is below 0
    return emitOptionalError(loc, "block_dot requires x [..., k] with a k that ends in block ", places[1], " of ",
                             block, ", got ", printShape(x.getShape()));
  if (x.getElementType() != scales.getElementType()) // C3
    return emitOptionalError(loc, "block_dot requires x and scales of one element type, got ", x.getElementType(),
                             " and ", scales.getElementType());
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = places[0];
  inferred.push_back(x.clone(shape));
  return success();
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> BlockDotOp::resultDims(ShapeQuery &shapes) {
  Dims dims = shapes.dims(getX());
  dims.back() = shapes.context().constant(getCodes().getType().getDimSize(0));
  return {dims};
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> BlockDotOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  const HostTensor &x = operands[0], &codes = operands[1];
  int64_t k = x.shape().back(), n = codes.size(0), blocks = codes.size(1), block = 2 * codes.size(2);
  int64_t rows = k ? x.numElements() / k : 0;
  SmallVector<int64_t> shape(x.shape());
  shape.back() = n;
  if (failed(requireRoom(*this, evaluator, Float64Type::get(getContext()), shape))) // as computed
    return failure();
  if (!evaluator.spend(rows * n * k / 4))
    return outOfSteps(*this);
  std::vector<double> values = x.toFloats(), scales = operands[2].toFloats(), result(rows * n, 0), weights(k);
  std::vector<int64_t> bytes = codes.toInts(), zeros;
  if (operands.size() > 3)
    zeros = operands[3].toInts();
  for (int64_t c = 0; c < n; ++c) {
    for (int64_t i = 0; i < k; ++i) {
      int64_t place = c * blocks + i / block, code = bytes[(c * blocks * block + i) / 2] >> (i % 2 * 4) & 15;
      weights[i] = static_cast<double>(code - (zeros.empty() ? kUsualZero : zeros[place])) * scales[place];
    }
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < k; ++i)
        result[row * n + c] += values[row * k + i] * weights[i];
  }
  return SmallVector<HostTensor>{tensorOf(x.elementType(), shape, result)};
}

//===- decompose -----------------------------------------------------------------------------===//

FailureOr<SmallVector<Value>> BlockDotOp::decompose(OpBuilder &builder) {
  Composer c(getLoc(), builder);
  RankedTensorType type = getCodes().getType();
  Type element = elementTypeOf(getX());
  int64_t n = type.getDimSize(0), blocks = type.getDimSize(1), half = type.getDimSize(2), block = 2 * half;
  auto shaped = [&](Value value, ArrayRef<int64_t> shape) {
    return c.reshape(value, RankedTensorType::get(shape, elementTypeOf(value)));
  };
  Value low = c.make<AndOp>(getCodes(), c.fill(15, getCodes())),
        high = c.make<DivOp>(getCodes(), c.fill(16, getCodes()));
  SmallVector<int64_t> apart = {n, blocks, half, 1};
  Value codes = c.make<ConcatenateOp>(ValueRange{shaped(low, apart), shaped(high, apart)}, 3);
  codes = c.convert(shaped(codes, {n, blocks, block}), element);
  Value zeros = getZeros() ? c.spread(c.convert(getZeros(), element), codes, {0, 1}) : c.fill(kUsualZero, codes);
  Value weights = c.make<MulOp>(c.make<SubOp>(codes, zeros), c.spread(getScales(), codes, {0, 1}));
  int64_t last = getX().getType().getRank() - 1, k = getX().getType().getDimSize(last);
  weights = shaped(weights, {n, blocks * block});
  if (k != blocks * block)
    weights = c.slice(weights, 1, 0, k);
  Value result = c.make<DotGeneralOp>(getX(), weights, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                                      ArrayRef<int64_t>{last}, ArrayRef<int64_t>{1}, element);
  return SmallVector<Value>{c.retype(result, getType())};
}
