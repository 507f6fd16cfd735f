// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/ByteProducts.h"
#include "ir/Composer.h"
#include "ir/Shape.h"
#include "passes/Devices.h"

using namespace mlir;
using namespace sinter;

bool sinter::multipliesBytesOnDevices(DotGeneralOp dot) {
  return elementTypeOf(dot.getLhs()).isInteger(8) && elementTypeOf(dot.getRhs()).isInteger(8) &&
         elementTypeOf(dot.getResult()).isInteger(32) && hasDevices(dot);
}

/// Whether the axes are the last ones, in their order.
static bool areLast(ArrayRef<int64_t> axes, int64_t rank) {
  int64_t next = rank - static_cast<int64_t>(axes.size());
  return llvm::all_of(axes, [&](int64_t axis) { return axis == next++; });
}

/// The operand with batch axes first and summed ones last; `batch` and `contract` become the axes of what is given
/// back.
static Value turned(Composer &c, Value operand, SmallVector<int64_t> &batch, SmallVector<int64_t> &contract) {
  int64_t rank = tensorTypeOf(operand).getRank();
  if (areLast(contract, rank))
    return operand;
  SmallVector<int64_t> taken(batch), order(batch);
  llvm::append_range(taken, contract);
  llvm::append_range(order, otherAxes(rank, taken));
  llvm::append_range(order, contract);
  auto numBatch = static_cast<int64_t>(batch.size()), first = rank - static_cast<int64_t>(contract.size());
  batch = llvm::to_vector(llvm::seq<int64_t>(0, numBatch));
  contract = llvm::to_vector(llvm::seq<int64_t>(first, rank));
  return c.make<TransposeOp>(operand, order);
}

static void form(DotGeneralOp dot) {
  OpBuilder at(dot);
  Composer c(dot.getLoc(), at);
  SmallVector<int64_t> batchA(dot.getLhsBatch()), sumsA(dot.getLhsContract()), batchB(dot.getRhsBatch()),
      sumsB(dot.getRhsContract());
  dot->setOperand(0, turned(c, dot.getLhs(), batchA, sumsA));
  dot->setOperand(1, turned(c, dot.getRhs(), batchB, sumsB));
  dot.setLhsBatch(batchA);
  dot.setRhsBatch(batchB);
  dot.setLhsContract(sumsA);
  dot.setRhsContract(sumsB);
}

void sinter::formByteProducts(func::FuncOp function) {
  SmallVector<DotGeneralOp> products;
  function.walk([&](DotGeneralOp dot) {
    if (multipliesBytesOnDevices(dot))
      products.push_back(dot);
  });
  llvm::for_each(products, form);
}
