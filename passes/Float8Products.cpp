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
  SmallVector<int64_t> from;     // the axis of `bytes` that an axis of the operand is
  Value scale;                   // what it was multiplied with, a number (rank 0) or a list; null: nothing
  std::optional<int64_t> scaled; // the operand's axis that the list runs along
  bool isNarrow = false;         // products of 16 bits, or conversions to these, are among what it is made of
};
} // namespace

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
    } else if (auto convert = dyn_cast<ConvertOp>(op); convert && elementTypeOf(convert.getOperand()).isF32()) {
      found.isNarrow = true;
      value = convert.getOperand();
    } else if (auto product = dyn_cast<MulOp>(op); product && !found.scale && isa<FloatType>(elementTypeOf(value))) {
      found.isNarrow |= !elementTypeOf(value).isF32();
      BroadcastOp right = spreadOf(product.getRhs()), spread = right ? right : spreadOf(product.getLhs());
      if (!spread)
        return std::nullopt;
      found.scale = spread.getOperand();
      if (!spread.getAxes().empty())
        found.scaled = llvm::find(found.from, spread.getAxes()[0]) - found.from.begin();
      value = right ? product.getLhs() : product.getRhs();
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

/// Whether each axis is the one behind the one before.
static bool areTogether(ArrayRef<int64_t> axes) {
  return llvm::all_of(llvm::seq<size_t>(1, std::max<size_t>(axes.size(), 1)),
                      [&](size_t i) { return axes[i] == axes[i - 1] + 1; });
}

/// The operand's numbers where the last axis of its bytes is summed (or, by `anyInner`, where free axes and summed ones
/// are together): as they lie, or else with batch
/// axes first and summed ones last. `batch` and `contract` become the axes of what is given back.
static Value numbersOf(Composer &c, const Encoded &operand, Type element, SmallVector<int64_t> &batch,
                       SmallVector<int64_t> &contract, bool anyInner = false) {
  auto rank = static_cast<int64_t>(operand.from.size());
  SmallVector<int64_t> taken(batch);
  llvm::append_range(taken, contract);
  SmallVector<int64_t> free = otherAxes(rank, taken);
  for (SmallVector<int64_t> *axes : {&batch, &free, &contract})
    for (int64_t &axis : *axes)
      axis = operand.from[axis];
  Value bytes = operand.bytes;
  bool mayStay = anyInner ? areTogether(free) && areTogether(contract)
                          : llvm::is_sorted(free) && llvm::is_contained(contract, rank - 1);
  if (!mayStay) {
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

/// The axis of the product that an operand's axis becomes, whose free axes begin at `firstFree`; nothing where it is
/// summed.
static std::optional<int64_t> placeOf(const Encoded &operand, int64_t axis, ArrayRef<int64_t> batch,
                                      ArrayRef<int64_t> contract, int64_t firstFree) {
  if (const auto *found = llvm::find(batch, axis); found != batch.end())
    return found - batch.begin();
  SmallVector<int64_t> taken(batch);
  llvm::append_range(taken, contract);
  SmallVector<int64_t> free = otherAxes(static_cast<int64_t>(operand.from.size()), taken);
  const auto *found = llvm::find(free, axis);
  return found == free.end() ? std::nullopt : std::optional(firstFree + (found - free.begin()));
}

/// A product of 16-bit numbers by those of 8-bit floats (operand `side`), or of f32 that become such: their scale
/// behind the sums, which are f32. A scale for each number that is summed stays where it is.
static void formWeights(DotGeneralOp dot, unsigned side) {
  std::optional<Encoded> weights = encodedOf(dot->getOperand(side));
  if (!weights)
    return;
  SmallVector<int64_t> batch[] = {SmallVector<int64_t>(dot.getLhsBatch()), SmallVector<int64_t>(dot.getRhsBatch())};
  SmallVector<int64_t> sums[] = {SmallVector<int64_t>(dot.getLhsContract()),
                                 SmallVector<int64_t>(dot.getRhsContract())};
  auto freeOfA = tensorTypeOf(dot.getLhs()).getRank() - static_cast<int64_t>(sums[0].size());
  SmallVector<int64_t> axes;
  if (weights->scaled) {
    std::optional<int64_t> place = placeOf(*weights, *weights->scaled, batch[side], sums[side],
                                           side ? freeOfA : static_cast<int64_t>(batch[0].size()));
    if (!place)
      return;
    axes.push_back(*place);
  }
  OpBuilder at(dot);
  Composer c(dot.getLoc(), at);
  Value numbers = numbersOf(c, *weights, elementTypeOf(dot->getOperand(side)), batch[side], sums[side],
                            /*anyInner=*/true);
  Value x = side ? dot.getLhs() : numbers, y = side ? numbers : dot.getRhs();
  Type result = elementTypeOf(dot.getResult()), wide = c.getF32Type();
  Value product = c.make<DotGeneralOp>(x, y, batch[0], batch[1], sums[0], sums[1], weights->scale ? wide : result);
  if (weights->scale) {
    product = c.make<MulOp>(product, c.spread(c.convert(weights->scale, wide), product, axes));
    product = c.convert(product, result);
  }
  dot.getResult().replaceAllUsesWith(c.retype(product, dot.getType()));
  dot.erase();
}

static void form(DotGeneralOp dot) {
  if (multipliesFloat8Weights(dot))
    return formWeights(dot, decodedNumbers(dot.getRhs()) ? 1 : 0);
  std::optional<Encoded> a = encodedOf(dot.getLhs()), b = a ? encodedOf(dot.getRhs()) : std::nullopt;
  Type result = elementTypeOf(dot.getResult());
  if (!b || a->isNarrow || b->isNarrow || !(result.isF32() || result.isF16() || result.isBF16()) ||
      ((a->scale || b->scale) && !result.isF32()))
    return;
  SmallVector<int64_t> batchA(dot.getLhsBatch()), sumsA(dot.getLhsContract()), batchB(dot.getRhsBatch()),
      sumsB(dot.getRhsContract());
  auto freeOfA = static_cast<int64_t>(a->from.size() - sumsA.size()), numBatch = static_cast<int64_t>(batchA.size());
  SmallVector<std::pair<Value, SmallVector<int64_t>>> scales;
  auto addScale = [&](const Encoded &operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract, int64_t firstFree) {
    SmallVector<int64_t> axes;
    if (operand.scaled) {
      std::optional<int64_t> place = placeOf(operand, *operand.scaled, batch, contract, firstFree);
      if (!place)
        return false;
      axes.push_back(*place);
    }
    if (operand.scale)
      scales.emplace_back(operand.scale, axes);
    return true;
  };
  if (!addScale(*a, batchA, sumsA, numBatch) || !addScale(*b, batchB, sumsB, freeOfA))
    return;
  OpBuilder at(dot);
  Composer c(dot.getLoc(), at);
  Value x = numbersOf(c, *a, elementTypeOf(dot.getLhs()), batchA, sumsA);
  Value y = numbersOf(c, *b, elementTypeOf(dot.getRhs()), batchB, sumsB);
  Value sums = c.make<DotGeneralOp>(x, y, batchA, batchB, sumsA, sumsB, result);
  for (auto &[scale, axes] : scales)
    sums = c.make<MulOp>(sums, c.spread(scale, sums, axes));
  dot.getResult().replaceAllUsesWith(c.retype(sums, dot.getType()));
  dot.erase();
}

void sinter::formFloat8Products(func::FuncOp function) {
  SmallVector<DotGeneralOp> products;
  function.walk([&](DotGeneralOp dot) { products.push_back(dot); });
  llvm::for_each(products, form);
}
