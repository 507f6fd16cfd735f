// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A softmax of scores to which a mask adds large negative numbers is zero where the mask is, in blocks as a rule: above
// the diagonal, or where rows of different lengths end. How large the scores are is not known, so nothing is proved
// here. Only masks that are constants or selected count, as others often hide nothing.

#include "passes/ZeroBlocks.h"
#include "ir/Constants.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

/// What is added to hide a score is at most this; exp of it is zero.
constexpr double kHidden = -1000;
/// Ops that are looked at between a value and a mask.
constexpr int64_t kMaxDepth = 8;

/// True when at least a quarter of a constant's elements hide.
static bool hides(Value value, int64_t depth) {
  if (std::optional<double> number = uniformValue(value))
    return *number <= kHidden;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<BroadcastOp, ReshapeOp, ConvertOp, SliceOp>(op))
    return hides(op->getOperand(0), depth - 1);
  if (auto select = dyn_cast<SelectOp>(op))
    return hides(select.getOnTrue(), depth - 1) || hides(select.getOnFalse(), depth - 1);
  std::optional<SmallVector<double>> elements = constantFloats(value);
  if (!elements)
    return false;
  int64_t hidden = llvm::count_if(*elements, [](double element) { return element <= kHidden; });
  return 4 * hidden >= static_cast<int64_t>(elements->size());
}

static bool isMasked(Value scores, int64_t depth) {
  Operation *op = scores.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<AddOp>(op))
    return llvm::any_of(op->getOperands(), [&](Value operand) { return hides(operand, depth); });
  if (isa<SelectOp>(op))
    return hides(scores, depth);
  return isa<ReshapeOp, ConvertOp>(op) && isMasked(op->getOperand(0), depth - 1);
}

static bool mayHoldZeros(Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto holds = [&](Value operand) { return mayHoldZeros(operand, depth - 1); };
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return !softmax.getLogarithm() && isMasked(softmax.getOperand(), kMaxDepth);
  if (isa<MulOp>(op))
    return llvm::any_of(op->getOperands(), holds);
  if (isa<AddOp, SubOp>(op))
    return llvm::all_of(op->getOperands(), holds);
  return isa<NegOp, ConvertOp, ReshapeOp>(op) && holds(op->getOperand(0));
}

bool sinter::mayHoldZeroBlocks(Value value) { return mayHoldZeros(value, kMaxDepth); }
