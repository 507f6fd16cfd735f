// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Float8Products.h"
#include "ir/Composer.h"
#include "ir/Float8.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;

namespace {
/// What an operand of a product is made of.
struct Encoded {
  Value bytes;
  Type format;
  SmallVector<int64_t> from; // the axis of `bytes` that an axis of the operand is
  Value scale;               // one number (rank 0) that it was multiplied with; null: none
};
} // namespace

/// The number (rank 0) that is in all places of `value`; null for another value.
static Value numberOf(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast && tensorTypeOf(broadcast.getOperand()).getRank() == 0 ? broadcast.getOperand() : Value();
}

static std::optional<Encoded> encodedOf(Value value) {
  Encoded found;
  found.from = llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(value).getRank()));
  while (Operation *op = value.getDefiningOp()) {
    if (auto decode = dyn_cast<DecodeFloat8Op>(op)) {
      found.bytes = decode.getOperand();
      found.format = decode.getFormat();
      return found;
    }
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      for (int64_t &axis : found.from)
        axis = transpose.getPermutation()[axis];
      value = transpose.getOperand();
    } else if (auto product = dyn_cast<MulOp>(op); product && !found.scale && elementTypeOf(value).isF32()) {
      Value right = numberOf(product.getRhs());
      found.scale = right ? right : numberOf(product.getLhs());
      if (!found.scale)
        return std::nullopt;
      value = right ? product.getLhs() : product.getRhs();
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// The operand's numbers where the last axis of its bytes is summed: as they lie, or else with batch axes first and
/// summed ones last. `batch` and `contract` become the axes of what is given back.
static Value numbersOf(Composer &c, const Encoded &operand, Type element, SmallVector<int64_t> &batch,
                       SmallVector<int64_t> &contract) {
  auto rank = static_cast<int64_t>(operand.from.size());
  SmallVector<int64_t> taken(batch);
  llvm::append_range(taken, contract);
  SmallVector<int64_t> free = otherAxes(rank, taken);
  for (SmallVector<int64_t> *axes : {&batch, &free, &contract})
    for (int64_t &axis : *axes)
      axis = operand.from[axis];
  Value bytes = operand.bytes;
  if (!llvm::is_sorted(free) || !llvm::is_contained(contract, rank - 1)) {
    SmallVector<int64_t> order(batch);
    llvm::append_range(order, free);
    llvm::append_range(order, contract);
    bytes = c.make<TransposeOp>(bytes, order);
    auto first = static_cast<int64_t>(batch.size()), last = rank - static_cast<int64_t>(contract.size());
    batch = llvm::to_vector(llvm::seq<int64_t>(0, first));
    contract = llvm::to_vector(llvm::seq<int64_t>(last, rank));
  }
  return c.make<DecodeFloat8Op>(bytes, operand.format, element);
}

static void form(DotGeneralOp dot) {
  std::optional<Encoded> a = encodedOf(dot.getLhs()), b = a ? encodedOf(dot.getRhs()) : std::nullopt;
  Type result = elementTypeOf(dot.getResult());
  if (!b || !(result.isF32() || result.isF16() || result.isBF16()))
    return;
  bool isScaled = a->scale || b->scale;
  if (isScaled && !result.isF32())
    return;
  OpBuilder at(dot);
  Composer c(dot.getLoc(), at);
  SmallVector<int64_t> batchA(dot.getLhsBatch()), sumsA(dot.getLhsContract()), batchB(dot.getRhsBatch()),
      sumsB(dot.getRhsContract());
  Value x = numbersOf(c, *a, elementTypeOf(dot.getLhs()), batchA, sumsA);
  Value y = numbersOf(c, *b, elementTypeOf(dot.getRhs()), batchB, sumsB);
  Value sums = c.make<DotGeneralOp>(x, y, batchA, batchB, sumsA, sumsB, result);
  for (Value scale : {a->scale, b->scale})
    if (scale)
      sums = c.make<MulOp>(sums, c.spread(scale, sums, {}));
  dot.getResult().replaceAllUsesWith(c.retype(sums, dot.getType()));
  dot.erase();
}

void sinter::formFloat8Products(func::FuncOp function) {
  SmallVector<DotGeneralOp> products;
  function.walk([&](DotGeneralOp dot) { products.push_back(dot); });
  llvm::for_each(products, form);
}
