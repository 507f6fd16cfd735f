// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that multiplies a matrix with a vector in each trip streams the matrix as often as it has trips. How the
// matrix lies in memory is the caller's choice, and often the worse of two: sums along contiguous rows end in sums
// across lanes, and rows of 240 bytes have most of their vectors straddle cache lines. One copy before the loop puts
// the axis that is not summed last and fills its rows up to whole cache lines:
//
//   for { y = dot(A [60 x 60], x) }    becomes    P = pad(transpose(A)) [60 x 64]
//                                                 for { y = dot(x, P[:, :60]) }

#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Control.h"
#include "ir/ControlFlow.h"
#include "ir/Schedules.h"
#include "ir/Shape.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_ALIGNMATRICES
#include "passes/Passes.h.inc"
} // namespace sinter

/// Cache lines in a row from which on a sum along it does as well as one over rows does after a transpose: with 128
/// numbers of f32, 15 trips repay the copy.
constexpr int64_t kLongRow = 4;
/// A cache line where the module has no target.
constexpr int64_t kLineBytes = 64;

namespace {

/// A product of a matrix and a vector as it should be read.
struct Product {
  BlockArgument matrix;
  Value vector;
  int64_t vectorAxis; // that is summed
  bool isTransposed;  // the matrix's last axis is summed
};

class AlignMatrices : public sinter::impl::AlignMatricesBase<AlignMatrices> {
  using AlignMatricesBase::AlignMatricesBase;

  std::optional<Product> productOf(DotGeneralOp dot) const;
  Value copyBefore(Operation *loop, Value matrix, bool transposed);
  Value findCopy(BlockArgument matrix, bool transposed);
  void rewrite(DotGeneralOp dot);

  void runOnOperation() override {
    TargetAttr target = targetOf(getOperation());
    rowBytes = target ? target.getLineBytes() : kLineBytes;
    SmallVector<DotGeneralOp> dots;
    getOperation()->walk([&](DotGeneralOp dot) { dots.push_back(dot); });
    for (DotGeneralOp dot : dots)
      rewrite(dot);
    copies.clear();
  }

  /// By the matrix, as an argument or before the loop, and whether its axes change places.
  DenseMap<std::pair<Value, Block *>, std::array<Value, 2>> copies;
  int64_t rowBytes = kLineBytes; // what rows are a multiple of
};

} // namespace

std::optional<Product> AlignMatrices::productOf(DotGeneralOp dot) const {
  if (!dot.getLhsBatch().empty() || dot.getLhsContract().size() != 1)
    return std::nullopt;
  for (unsigned k : {0u, 1u}) {
    auto matrix = dyn_cast<BlockArgument>(dot->getOperand(k));
    Value vector = dot->getOperand(1 - k);
    RankedTensorType type = matrix ? tensorTypeOf(matrix) : RankedTensorType();
    if (!matrix || type.getRank() != 2 || !type.hasStaticShape() ||
        !(type.getElementType().isF32() || type.getElementType().isF64()) ||
        dot.getType().getElementType() != type.getElementType())
      continue;
    int64_t axes[] = {dot.getLhsContract().front(), dot.getRhsContract().front()};
    bool isTransposed = axes[k] == 1;
    // A row of one vector goes first as it is; a vector of one axis may change its place.
    RankedTensorType vectorType = tensorTypeOf(vector);
    if (!vectorType.hasStaticShape() || vectorType.getRank() > (k == 1 ? 2 : 1) ||
        vectorType.getNumElements() != type.getDimSize(isTransposed ? 1 : 0))
      continue;
    int64_t width = type.getElementTypeBitWidth() / 8, kept = type.getDimSize(isTransposed ? 0 : 1);
    if (kept * width < rowBytes || type.getNumElements() * width > maxBytes)
      continue;
    // As it lies already; or sums along rows of whole cache lines, long enough that those across lanes matter little.
    int64_t row = type.getDimSize(1) * width;
    if (row % rowBytes == 0 && (!isTransposed || row > kLongRow * rowBytes))
      continue;
    return Product{matrix, vector, axes[1 - k], isTransposed};
  }
  return std::nullopt;
}

Value AlignMatrices::copyBefore(Operation *loop, Value matrix, bool transposed) {
  Value &known = copies[{matrix, loop->getBlock()}][transposed];
  if (known)
    return known;
  OpBuilder b(loop);
  Location loc = matrix.getLoc();
  RankedTensorType type = tensorTypeOf(matrix);
  SmallVector<int64_t> sizes(type.getShape());
  Value copy = matrix;
  if (transposed) {
    std::swap(sizes[0], sizes[1]);
    copy =
        TransposeOp::create(b, loc, RankedTensorType::get(sizes, type.getElementType()), copy, ArrayRef<int64_t>{1, 0});
  }
  int64_t perRow = rowBytes * 8 / type.getElementTypeBitWidth();
  if (int64_t missing = llvm::alignTo(sizes[1], perRow) - sizes[1]) {
    auto scalar = RankedTensorType::get({}, type.getElementType());
    Value zero =
        ConstantOp::create(b, loc, scalar, DenseElementsAttr::get(scalar, b.getZeroAttr(type.getElementType())));
    sizes[1] += missing;
    copy = PadOp::create(b, loc, RankedTensorType::get(sizes, type.getElementType()), copy, zero,
                         ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{0, missing}, ArrayRef<int64_t>{0, 0});
  }
  return known = copy;
}

/// The copy as an argument of the region that `matrix` is an argument of: made before the outermost loop that captures
/// the matrix. Null when it is no capture of a loop.
Value AlignMatrices::findCopy(BlockArgument matrix, bool transposed) {
  if (Value known = copies[{matrix, nullptr}][transposed])
    return known;
  Operation *op = matrix.getOwner()->getParentOp();
  std::optional<Control> control = controlOf(op);
  if (!control || matrix.getArgNumber() < control->firstCapture)
    return {};
  Value outside = control->captures[matrix.getArgNumber() - control->firstCapture], copy;
  if (auto argument = dyn_cast<BlockArgument>(outside))
    copy = findCopy(argument, transposed);
  if (!copy) {
    if (!isLoop(op) || matchPattern(outside, m_Constant()))
      return {};
    copy = copyBefore(op, outside, transposed);
  }
  Value inside = addCapture(op, copy)[matrix.getParentRegion()->getRegionNumber()];
  return copies[{matrix, nullptr}][transposed] = inside;
}

void AlignMatrices::rewrite(DotGeneralOp dot) {
  std::optional<Product> product = productOf(dot);
  if (!product)
    return;
  Value copy = findCopy(product->matrix, product->isTransposed);
  if (!copy)
    return;
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  RankedTensorType type = tensorTypeOf(product->matrix);
  SmallVector<int64_t> sizes(type.getShape());
  if (product->isTransposed)
    std::swap(sizes[0], sizes[1]);
  Value rows = copy;
  if (tensorTypeOf(copy).getShape() != ArrayRef(sizes))
    rows = SliceOp::create(b, loc, RankedTensorType::get(sizes, type.getElementType()), copy, ArrayRef<int64_t>{0, 0},
                           ArrayRef<int64_t>(sizes), ArrayRef<int64_t>{1, 1});
  Value result =
      DotGeneralOp::create(b, loc, dot.getType(), product->vector, rows, ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                           ArrayRef<int64_t>{product->vectorAxis}, ArrayRef<int64_t>{0}, dot.getElementType());
  dot.replaceAllUsesWith(result);
  dot.erase();
}
