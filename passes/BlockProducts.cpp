// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/BlockProducts.h"
#include "ir/Blocks.h"
#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/Storage.h"
#include "ir/reference/Evaluator.h"
#include "passes/Quantized.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sinter;

/// Codes that share a scale in a block_dot: at least so many, and no more than these, so that few are added to fill up
/// the last block.
static constexpr int64_t kLeastBlock = 16, kMostBlock = 256;
/// What is added to signed codes; zero points move along.
static constexpr int64_t kSignedShift = 8;

namespace {
/// The right operand of a product, as it is written.
struct Dequantized {
  ConvertOp codes; // of a constant of i4 or ui4
  Value zeros;     // integers in its shape; null: none
  Value scales;    // f32 in its shape
  int64_t sumAxis; // of both
  int64_t k, n;
};

/// Numbers of [k, n], column by column.
template <typename T> std::vector<T> columnsOf(const HostTensor &tensor, int64_t sumAxis) {
  const T *from = reinterpret_cast<const T *>(tensor.data());
  int64_t k = tensor.size(sumAxis), n = tensor.size(1 - sumAxis);
  std::vector<T> columns(k * n);
  for (int64_t c = 0; c < n; ++c)
    for (int64_t i = 0; i < k; ++i)
      columns[c * k + i] = from[sumAxis == 0 ? i * n + c : c * k + i];
  return columns;
}
} // namespace

/// What constants make of a value; nothing where something else has a part in it.
static std::optional<HostTensor> constantOf(Value value, Evaluator &evaluator) {
  if (matchPattern(value, m_Constant()))
    return constantTensor(value);
  Operation *op = value.getDefiningOp();
  if (!op || !isa<Evaluable>(op) || op->getNumRegions() != 0 || !isPure(op))
    return std::nullopt;
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands()) {
    std::optional<HostTensor> tensor = constantOf(operand, evaluator);
    if (!tensor)
      return std::nullopt;
    operands.push_back(std::move(*tensor));
  }
  FailureOr<SmallVector<HostTensor>> results = evaluator.run(op, operands);
  if (failed(results))
    return std::nullopt;
  return (*results)[cast<OpResult>(value).getResultNumber()];
}

static std::optional<Dequantized> dequantized(DotGeneralOp dot) {
  Value weights = dot.getRhs();
  RankedTensorType x = tensorTypeOf(dot.getLhs());
  bool isPlain = x.getElementType().isF32() && elementTypeOf(weights).isF32() && dot.getElementType().isF32() &&
                 dot.getLhsBatch().empty() && dot.getLhsContract() == ArrayRef(x.getRank() - 1) &&
                 dot.getRhsContract().size() == 1;
  if (!isPlain || tensorTypeOf(weights).getRank() != 2 || !tensorTypeOf(weights).hasStaticShape() ||
      x.isDynamicDim(x.getRank() - 1))
    return std::nullopt;
  Dequantized found;
  found.sumAxis = dot.getRhsContract()[0];
  if (auto transpose = weights.getDefiningOp<TransposeOp>();
      transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0}) {
    weights = transpose.getOperand();
    found.sumAxis = 1 - found.sumAxis;
  }
  auto product = weights.getDefiningOp<MulOp>();
  auto number = product ? product.getLhs().getDefiningOp<ConvertOp>() : ConvertOp();
  if (!number)
    return std::nullopt;
  found.scales = product.getRhs();
  found.codes = number;
  auto difference = number.getOperand().getDefiningOp<SubOp>();
  if (difference && elementTypeOf(difference).isSignlessInteger(32)) {
    found.zeros = difference.getRhs();
    found.codes = difference.getLhs().getDefiningOp<ConvertOp>();
  } else if (auto inner = number.getOperand().getDefiningOp<ConvertOp>()) {
    found.codes = inner;
  }
  if (!found.codes || !isPacked(elementTypeOf(found.codes.getOperand())) ||
      !matchPattern(found.codes.getOperand(), m_Constant()))
    return std::nullopt;
  Type integer = elementTypeOf(found.codes);
  if (found.codes != number && !holdsAll(integer, elementTypeOf(found.codes.getOperand())))
    return std::nullopt;
  found.k = tensorTypeOf(weights).getDimSize(found.sumAxis);
  found.n = tensorTypeOf(weights).getDimSize(1 - found.sumAxis);
  return found;
}

/// The largest block of which all share one number of `columns` [n][k].
template <typename T> static int64_t blockOf(ArrayRef<T> columns, int64_t k, int64_t block) {
  for (int64_t i = 1; i < static_cast<int64_t>(columns.size()) && block >= kLeastBlock; ++i)
    while (i % k % block != 0 && std::memcmp(&columns[i], &columns[i - 1], sizeof(T)) != 0)
      block /= 2;
  return block;
}

/// The first number of each block of `columns` [n][k].
template <typename T> static std::vector<T> firstOf(ArrayRef<T> columns, int64_t k, int64_t block) {
  std::vector<T> firsts;
  for (int64_t column = 0; column < static_cast<int64_t>(columns.size()); column += k)
    for (int64_t i = 0; i < k; i += block)
      firsts.push_back(columns[column + i]);
  return firsts;
}

/// Two codes a byte, [n][blocks][block / 2]; those beyond k are 0.
static HostTensor packed(ArrayRef<char> columns, int64_t k, int64_t block, bool isSigned, MLIRContext *context) {
  int64_t n = static_cast<int64_t>(columns.size()) / k, blocks = llvm::divideCeil(k, block);
  HostTensor bytes(IntegerType::get(context, 8, IntegerType::Unsigned), {n, blocks, block / 2});
  char *to = bytes.data();
  for (int64_t c = 0; c < n; ++c)
    for (int64_t i = 0; i < k; ++i) {
      int code = columns[c * k + i] & 15;
      if (isSigned) // two's complement, of 4 bits
        code ^= 8;
      char &byte = to[(c * blocks * block + i) / 2];
      byte = static_cast<char>(byte | code << (i % 2 * 4));
    }
  return bytes;
}

static Value blockProduct(DotGeneralOp dot, Dequantized found, Evaluator &evaluator) {
  int64_t k = found.k, n = found.n;
  if (k == 0 || n == 0)
    return {};
  std::optional<HostTensor> scales = constantOf(found.scales, evaluator);
  std::optional<HostTensor> codes = scales ? constantOf(found.codes.getOperand(), evaluator) : std::nullopt;
  if (!codes)
    return {};
  OpBuilder at(dot);
  Composer c(dot.getLoc(), at);
  auto block =
      std::clamp<int64_t>(static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(k))), kLeastBlock, kMostBlock);
  std::vector<float> steps = columnsOf<float>(*scales, found.sumAxis);
  scales.reset();
  block = blockOf(ArrayRef(steps), k, block);
  bool isSigned = !isUnsigned(codes->elementType());
  std::vector<int32_t> centres(1, 0);
  if (found.zeros) {
    std::optional<HostTensor> zeros = constantOf(found.zeros, evaluator);
    if (!zeros || !zeros->elementType().isSignlessInteger(32))
      return {};
    centres = columnsOf<int32_t>(*zeros, found.sumAxis);
    block = blockOf(ArrayRef(centres), k, block);
  } else {
    centres.assign(k * n, 0);
  }
  if (block < kLeastBlock)
    return {};
  int64_t blocks = llvm::divideCeil(k, block), shift = isSigned ? kSignedShift : 0;
  HostTensor scaleNumbers(c.getF32Type(), {n, blocks});
  std::vector<float> firsts = firstOf(ArrayRef(steps), k, block);
  std::memcpy(scaleNumbers.data(), firsts.data(), firsts.size() * sizeof(float));
  HostTensor zeroBytes(c.getIntegerType(8, /*isSigned=*/false), {n, blocks});
  bool areUsual = true;
  for (auto [i, centre] : llvm::enumerate(firstOf(ArrayRef(centres), k, block))) {
    if (centre + shift < 0 || centre + shift > 255)
      return {};
    zeroBytes.data()[i] = static_cast<char>(centre + shift);
    areUsual &= centre + shift == kSignedShift;
  }
  auto constant = [&](const HostTensor &tensor, StringRef name) {
    return c.make<ConstantOp>(tensor.tensorType(), tensor.toAttr(name));
  };
  std::vector<char> columns = columnsOf<char>(*codes, found.sumAxis);
  Value bytes = constant(packed(columns, k, block, isSigned, dot.getContext()), "codes");
  return c.make<BlockDotOp>(dot.getLhs(), bytes, constant(scaleNumbers, "scales"),
                            areUsual ? Value() : constant(zeroBytes, "zeros"), false);
}

void sinter::formBlockProducts(func::FuncOp function) {
  SmallVector<DotGeneralOp> products;
  function.walk([&](DotGeneralOp dot) { products.push_back(dot); });
  // An op that refuses these values stays, and says so when it runs.
  ScopedDiagnosticHandler quiet(function.getContext(), [](Diagnostic &) { return success(); });
  Evaluator evaluator;
  for (DotGeneralOp dot : products) {
    std::optional<Dequantized> found = dequantized(dot);
    Value result = found ? blockProduct(dot, *found, evaluator) : Value();
    if (!result)
      continue;
    dot.getResult().replaceAllUsesWith(result);
    dot.erase();
  }
}
