// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/KernelNumbers.h"
#include "ir/Indexing.h"
#include "ir/Kernel.h"
#include "ir/Shape.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sinter;

/// Kernels that differ in numbers alone are compiled one by one up to here. A number in the code may fold into what
/// reads it, and few kernels are compiled fast.
constexpr size_t kMostAlike = 64;

namespace {
/// Kernels that are equal but for their numbers, and the numbers of each, in the order of its ops.
struct Alike {
  SmallVector<KernelOp> kernels;
  SmallVector<SmallVector<ConstantOp, 2>> numbers;
};
} // namespace

/// A float that pointwise ops read. What a root or a position is made of stays known.
static bool isNumber(Operation &op) {
  auto constant = dyn_cast<ConstantOp>(op);
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  return dense && dense.isSplat() && isa<FloatType>(dense.getElementType()) &&
         llvm::all_of(op.getUsers(), [](Operation *user) { return isa<Pointwise>(user); });
}

/// A digest of all but the numbers, which are appended to `numbers`: values count by their places. Kernels with one
/// digest that differ all the same gain nothing by operands and lose nothing.
static size_t digestOf(KernelOp kernel, SmallVectorImpl<ConstantOp> &numbers) {
  DenseMap<Value, size_t> places;
  auto placeOf = [&](Value value) { return places.try_emplace(value, places.size()).first->second; };
  llvm::hash_code digest = llvm::hash_value(static_cast<int>(kernel.getKernelTemplate()));
  for (BlockArgument argument : kernel.getBody().getArguments())
    digest = llvm::hash_combine(digest, placeOf(argument), argument.getType());
  for (Operation &op : kernel.getBody().front()) {
    digest = llvm::hash_combine(digest, op.getName());
    if (isNumber(op))
      numbers.push_back(cast<ConstantOp>(op));
    else
      digest = llvm::hash_combine(digest, op.hashProperties());
    for (Value operand : op.getOperands())
      digest = llvm::hash_combine(digest, placeOf(operand));
    for (Value result : op.getResults())
      digest = llvm::hash_combine(digest, placeOf(result), result.getType());
  }
  return digest;
}

/// Replaces a number of the kernel's body by an operand.
static void passNumber(KernelOp kernel, ConstantOp number) {
  auto dense = cast<DenseElementsAttr>(number.getValue());
  auto scalar = RankedTensorType::get({}, dense.getElementType());
  OpBuilder b(kernel);
  Value given = ConstantOp::create(b, number.getLoc(), TypeRange(scalar), dense.resizeSplat(scalar))->getResult(0);
  kernel.getInputsMutable().append(given);
  Value inside = kernel.getBody().front().addArgument(scalar, number.getLoc());
  b.setInsertionPoint(number);
  if (number->getResult(0).getType() != scalar)
    inside = BroadcastOp::create(b, number.getLoc(), inside, Value(), ValueRange(), ArrayRef<int64_t>{},
                                 cast<RankedTensorType>(dense.getType()))
                 .getResult();
  number->getResult(0).replaceAllUsesWith(inside);
  number.erase();
}

void sinter::passNumbers(func::FuncOp function) {
  llvm::MapVector<size_t, Alike> groups;
  function.walk([&](KernelOp kernel) {
    KernelTemplate form = kernel.getKernelTemplate();
    if (form != KernelTemplate::map && form != KernelTemplate::reduce)
      return;
    SmallVector<ConstantOp, 2> numbers;
    size_t digest = digestOf(kernel, numbers);
    Alike &alike = groups[digest];
    if (!alike.numbers.empty() && alike.numbers.front().size() != numbers.size())
      return;
    alike.kernels.push_back(kernel);
    alike.numbers.push_back(std::move(numbers));
  });
  for (auto &[digest, alike] : groups) {
    for (size_t k = 0; k < alike.numbers.front().size(); ++k) {
      DenseSet<Attribute> values;
      for (auto &numbers : alike.numbers)
        values.insert(numbers[k].getValue());
      if (values.size() <= kMostAlike)
        continue;
      for (auto [kernel, numbers] : llvm::zip(alike.kernels, alike.numbers))
        passNumber(kernel, numbers[k]);
    }
  }
}
