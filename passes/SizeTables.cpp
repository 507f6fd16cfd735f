// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/SizeTables.h"
#include "ir/Constants.h"
#include "ir/Shape.h"
#include "ir/SizeArithmetic.h"

using namespace mlir;
using namespace sinter;

OpFoldResult sinter::entryOf(OpBuilder &b, Value table, int64_t axis) {
  auto type = cast<RankedTensorType>(table.getType());
  Type element = type.getElementType();
  if (std::optional<HostTensor> known = constantTensor(table))
    return known->isFloat() ? Attribute(b.getFloatAttr(element, known->getFloat(axis)))
                            : Attribute(b.getIntegerAttr(element, known->getInt(axis)));
  return SliceOp::create(b, table.getLoc(), type.clone({int64_t(1)}), table, ArrayRef{axis}, ArrayRef{axis + 1},
                         ArrayRef{int64_t(1)})
      .getResult();
}

OpFoldResult sinter::sizeEntry(OpBuilder &b, Value value, int64_t axis) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.isDynamicDim(axis))
    return b.getI64IntegerAttr(type.getDimSize(axis));
  Value size = DimOp::create(b, value.getLoc(), value, axis);
  return ReshapeOp::create(b, value.getLoc(), size, Value(), RankedTensorType::get({1}, b.getI64Type())).getResult();
}

Value sinter::tableOf(OpBuilder &b, Location loc, Type element, ArrayRef<OpFoldResult> entries) {
  auto constantOf = [&](ArrayRef<Attribute> known) -> Value {
    auto type = RankedTensorType::get({static_cast<int64_t>(known.size())}, element);
    return ConstantOp::create(b, loc, type, DenseElementsAttr::get(type, known));
  };
  SmallVector<Value> parts;
  SmallVector<Attribute> run;
  for (OpFoldResult entry : entries) {
    if (auto known = dyn_cast<Attribute>(entry)) {
      run.push_back(known);
      continue;
    }
    if (!run.empty())
      parts.push_back(constantOf(run));
    run.clear();
    parts.push_back(cast<Value>(entry));
  }
  if (!run.empty() || parts.empty())
    parts.push_back(constantOf(run));
  return parts.size() == 1 ? parts.front() : ConcatenateOp::create(b, loc, parts, 0).getResult();
}

static double typicalElements(DimContext &dims, ArrayRef<DimExpr> sizes) {
  constexpr int64_t typical = 256;
  double elements = 1;
  for (DimExpr size : sizes)
    elements *= static_cast<double>(evaluateSize(dims, size, [](DimExpr) { return typical; }));
  return elements;
}

bool sinter::typicallyGrows(DimContext &dims, ArrayRef<DimExpr> from, ArrayRef<DimExpr> to, int64_t times) {
  double after = typicalElements(dims, to);
  return after > 0 && after >= static_cast<double>(times) * typicalElements(dims, from);
}
