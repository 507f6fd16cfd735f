// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensors: the cotangent of one factor is the contraction of dy with the other.

#include "ir/AxisOrder.h"
#include "ir/Blocks.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Indexing.h"
#include "ir/Shape.h"
#include "ir/gradient/LinearRule.h"
#include "ir/gradient/Moves.h"
#include "ir/gradient/Through.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {

// dot_general: d lhs[b, i, k] = sum_j dy[b, i, j] rhs[b, k, j], d rhs[b, k, j] = sum_i lhs[b, i, k] dy[b, i, j]
struct DotGeneralRule : Rule<DotGeneralRule, DotGeneralOp> {
  /// Entries of `axes` in the order in which `keys` increase.
  static SmallVector<int64_t> sortedBy(ArrayRef<int64_t> axes, ArrayRef<int64_t> keys) {
    SmallVector<int64_t> order = axisRange(0, axes.size());
    llvm::sort(order, [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
    return llvm::map_to_vector(order, [&](int64_t k) { return axes[k]; });
  }

  LogicalResult vjp(DotGeneralOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy)
      return success();
    Value lhs = g.operand(0), rhs = g.operand(1);
    ArrayRef<int64_t> lhsBatch = op.getLhsBatch(), rhsBatch = op.getRhsBatch();
    ArrayRef<int64_t> lhsContract = op.getLhsContract(), rhsContract = op.getRhsContract();
    SmallVector<int64_t> lhsFree = freeAxes(tensorTypeOf(lhs).getRank(), lhsBatch, lhsContract);
    SmallVector<int64_t> rhsFree = freeAxes(tensorTypeOf(rhs).getRank(), rhsBatch, rhsContract);
    // Axes of dy: batch, free of lhs, free of rhs.
    auto batch = static_cast<int64_t>(lhsBatch.size()), split = batch + static_cast<int64_t>(lhsFree.size());
    SmallVector<int64_t> dyBatch = axisRange(0, batch), dyLhs = axisRange(batch, split),
                         dyRhs = axisRange(split, tensorTypeOf(dy).getRank());
    if (g.wants(0)) {
      Value product = g.make<DotGeneralOp>(dy, rhs, dyBatch, rhsBatch, dyRhs, rhsFree, elementTypeOf(lhs));
      SmallVector<int64_t> axes(lhsBatch); // of lhs, in the order of the product's
      llvm::append_range(axes, lhsFree);
      llvm::append_range(axes, sortedBy(lhsContract, rhsContract));
      g.give(0, gradient::transpose(g, product, inversePermutation(axes)));
    }
    if (g.wants(1)) {
      Value product = g.make<DotGeneralOp>(lhs, dy, lhsBatch, dyBatch, lhsFree, dyLhs, elementTypeOf(rhs));
      SmallVector<int64_t> axes(rhsBatch);
      llvm::append_range(axes, sortedBy(rhsContract, lhsContract));
      llvm::append_range(axes, rhsFree);
      g.give(1, gradient::transpose(g, product, inversePermutation(axes)));
    }
    return success();
  }
  LogicalResult jvp(DotGeneralOp op, JvpBuilder &t) const {
    pushProduct(t);
    return success();
  }
};

// det: d x_ij = dy * cofactor_ij, (-1)^(i + j) times the determinant without row i and column j: right for singular
// matrices, too
struct DetRule : Rule<DetRule, DetOp> {
  static FailureOr<Value> cofactors(DetOp op, GradientBuilder &b) {
    Value x = b.operand(0);
    RankedTensorType type = tensorTypeOf(x);
    int64_t rank = type.getRank(), n = std::max(type.getDimSize(rank - 1), type.getDimSize(rank - 2));
    if (ShapedType::isDynamic(n))
      return op->emitOpError("requires matrices of static size for its gradient, got ") << type, failure();
    if (n <= 1)
      return b.fill(1, x);
    // Row i: all numbers but i.
    HostTensor table(b.getI64Type(), {n, n - 1}), signs(type.getElementType(), {n, n});
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        if (j + 1 < n)
          table.setInt(i * (n - 1) + j, j < i ? j : j + 1);
        signs.setFloat(i * n + j, (i + j) % 2 ? -1 : 1);
      }
    Value others = b.make<ConstantOp>(table.toAttr());
    Value rows = b.make<GatherOp>(x, others, rank - 2);  // [..., i, row, column]
    Value minors = b.make<GatherOp>(rows, others, rank); // [..., i, row, j, column]
    SmallVector<int64_t> order = axisRange(0, rank + 2);
    std::swap(order[rank - 1], order[rank]);
    Value determinants = b.make<DetOp>(gradient::transpose(b, minors, order)); // [..., i, j]
    Value sign = b.spread(b.make<ConstantOp>(signs.toAttr()), determinants, {rank - 2, rank - 1});
    return Value(Term(b, determinants) * Term(b, sign));
  }
  LogicalResult vjp(DetOp op, VjpBuilder &g) const {
    Value dy = g.cotangent();
    if (!dy || !g.wants(0))
      return success();
    FailureOr<Value> factors = cofactors(op, g);
    if (failed(factors))
      return failure();
    int64_t rank = tensorTypeOf(*factors).getRank();
    g.give(0, Term(g, dy).spread(*factors, axisRange(0, rank - 2)) * Term(g, *factors));
    return success();
  }
  LogicalResult jvp(DetOp op, JvpBuilder &t) const {
    Value tx = t.tangent();
    if (!tx)
      return success();
    FailureOr<Value> factors = cofactors(op, t);
    if (failed(factors))
      return failure();
    int64_t rank = tensorTypeOf(tx).getRank();
    t.set(0, t.reduce(Term(t, tx) * Term(t, *factors), {rank - 2, rank - 1}, Combiner::add));
    return success();
  }
};

// block_dot, by its product: dx = dy w, and scales are factors of w.
struct BlockDotRule : Rule<BlockDotRule, BlockDotOp> {
  static SmallVector<Value> restate(Composer &c, ValueRange operands) {
    auto copy =
        BlockDotOp::create(c, operands[0], operands[1], operands[2], operands.size() > 3 ? operands[3] : Value(),
                           /*byte_rows=*/false);
    FailureOr<SmallVector<Value>> results = copy.decompose(c);
    copy.erase();
    return *results;
  }
  LogicalResult vjp(BlockDotOp, VjpBuilder &g) const { return vjpThrough(g, restate); }
  LogicalResult jvp(BlockDotOp, JvpBuilder &t) const { return jvpThrough(t, restate); }
};

} // namespace

void sinter::attachContractionGradients(MLIRContext &context) {
  attach<DotGeneralRule, DetRule, BlockDotRule>(context);
  attachConvolutionGradient(context);
  attachTriangularGradients(context);
}
