// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

SmallVector<int64_t> sinter::cpu::freeAxes(int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  SmallVector<int64_t> axes;
  for (int64_t k = 0; k < rank; ++k)
    if (!llvm::is_contained(batch, k) && !llvm::is_contained(contract, k))
      axes.push_back(k);
  return axes;
}

bool sinter::cpu::hasMicroKernel(DotGeneralOp dot) {
  Type type = getElementTypeOrSelf(dot.getResult());
  return (type.isF32() || type.isF64()) && getElementTypeOrSelf(dot.getLhs()) == type &&
         getElementTypeOrSelf(dot.getRhs()) == type;
}

//===- packed constants ----------------------------------------------------------------------------------===//

static DotGeneralOp dotOf(KernelSpec &spec) {
  for (Operation &op : spec.body().without_terminator())
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      return dot;
  return nullptr;
}

/// [batch..., k..., n...] of a row-major constant becomes [batch][panel][k][columns], zero beyond n.
static HostTensor packPanels(const HostTensor &source, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract,
                             ArrayRef<int64_t> free, int64_t panelBytes) {
  SmallVector<int64_t> strides = source.strides();
  auto offsets = [&](ArrayRef<int64_t> axes) {
    SmallVector<int64_t> sizes, axisStrides, result;
    for (int64_t axis : axes) {
      sizes.push_back(source.size(axis));
      axisStrides.push_back(strides[axis]);
    }
    forEachIndex(sizes, [&](ArrayRef<int64_t> index) { result.push_back(linearIndex(index, axisStrides)); });
    return result;
  };
  SmallVector<int64_t> batches = offsets(batch), ks = offsets(contract), columns = offsets(free);
  int64_t width = byteWidth(source.elementType()), panel = panelBytes / width;
  int64_t panels = llvm::divideCeil(columns.size(), panel);
  HostTensor packed(source.elementType(),
                    {static_cast<int64_t>(batches.size()), panels, static_cast<int64_t>(ks.size()), panel});
  const char *from = source.data();
  char *to = packed.data();
  for (int64_t batchOffset : batches)
    for (int64_t p = 0; p < panels; ++p)
      for (int64_t k : ks)
        for (int64_t lane = 0; lane < panel; ++lane, to += width)
          if (int64_t n = p * panel + lane; n < static_cast<int64_t>(columns.size()))
            std::memcpy(to, from + (batchOffset + k + columns[n]) * width, width);
  return packed;
}

bool sinter::cpu::packsContraction(KernelSpec &spec, unsigned input) {
  DotGeneralOp dot = dotOf(spec);
  if (!dot || !hasMicroKernel(dot))
    return false;
  auto argument = dyn_cast<BlockArgument>(dot.getRhs());
  return argument && argument.getArgNumber() == input && canBePacked(spec, argument);
}

Packing sinter::cpu::packContraction(KernelSpec &spec, unsigned input) {
  DotGeneralOp dot = dotOf(spec);
  auto argument = cast<BlockArgument>(dot.getRhs());
  int64_t panelBytes = spec.target().panelBytes;
  SmallVector<int64_t> batch(dot.getRhsBatch()), contract(dot.getRhsContract());
  SmallVector<int64_t> free = freeAxes(cast<RankedTensorType>(argument.getType()).getRank(), batch, contract);
  std::string tag = "panels;" + std::to_string(panelBytes);
  for (ArrayRef<int64_t> axes : {ArrayRef(batch), ArrayRef(contract), ArrayRef(free)}) {
    tag += ';';
    for (int64_t axis : axes)
      tag += std::to_string(axis) + ',';
  }
  return {input, tag, [batch, contract, free, panelBytes](const HostTensor &source) {
            return packPanels(source, batch, contract, free, panelBytes);
          }};
}

//===- the plan --------------------------------------------------------------------------------------------===//

/// The input that holds the right operand in panels, [panel][k][columns] as a packed constant does: the operand is
/// [columns, k...], made from it by a transpose and a reshape.
static BlockArgument findPanels(DotGeneralOp dot, int64_t panelBytes) {
  auto reshape = dot.getRhs().getDefiningOp<ReshapeOp>();
  auto transpose = reshape ? reshape.getOperand().getDefiningOp<TransposeOp>() : TransposeOp();
  auto panels = transpose ? dyn_cast<BlockArgument>(transpose.getOperand()) : BlockArgument();
  if (!panels || transpose.getPermutation() != ArrayRef<int64_t>{0, 2, 1} || !dot.getRhsBatch().empty() ||
      !llvm::equal(dot.getRhsContract(), llvm::seq<int64_t>(1, reshape.getType().getRank())))
    return {};
  auto type = cast<RankedTensorType>(panels.getType());
  bool isWhole = type.hasStaticShape() && type.getDimSize(0) * type.getDimSize(2) == reshape.getType().getDimSize(0);
  return isWhole && type.getDimSize(2) * byteWidth(type.getElementType()) == panelBytes ? panels : BlockArgument();
}

std::optional<ContractionPlan> ContractionPlan::of(KernelSpec &spec, DotGeneralOp dot, ArrayRef<int64_t> packing) {
  DimContext &dims = spec.dims;
  std::optional<StridedView> lhs = viewOf(spec, dot.getLhs()), rhs = viewOf(spec, dot.getRhs());
  BlockArgument panels = findPanels(dot, spec.target().panelBytes);
  if (panels)
    rhs = StridedView{panels.getArgNumber(), spec.sizes->dims(dot.getRhs()), {}};
  if (!lhs || !rhs)
    return std::nullopt;
  ContractionPlan plan;
  plan.lhs = *lhs;
  plan.rhs = *rhs;
  plan.lhsBatch.assign(dot.getLhsBatch().begin(), dot.getLhsBatch().end());
  plan.rhsBatch.assign(dot.getRhsBatch().begin(), dot.getRhsBatch().end());
  for (int64_t axis : plan.lhsBatch)
    plan.batches.push_back(dims.resolve(lhs->sizes[axis]));
  plan.packed = panels || llvm::is_contained(packing, static_cast<int64_t>(rhs->input));

  SmallVector<int64_t> lhsFree = freeAxes(lhs->sizes.size(), plan.lhsBatch, dot.getLhsContract());
  SmallVector<int64_t> rhsFree = freeAxes(rhs->sizes.size(), plan.rhsBatch, dot.getRhsContract());
  std::optional<MergedAxes> rows = mergeAxes(spec, *lhs, lhsFree), lhsK = mergeAxes(spec, *lhs, dot.getLhsContract());
  if (!rows || !lhsK)
    return std::nullopt;
  plan.lhsRows = *rows;
  plan.lhsK = *lhsK;
  plan.rows = rows->size;
  plan.k = lhsK->size;
  if (plan.packed) {
    Dims sizes;
    for (int64_t axis : rhsFree)
      sizes.push_back(rhs->sizes[axis]);
    plan.columns = dims.product(sizes);
    return plan;
  }
  std::optional<MergedAxes> columns = mergeAxes(spec, *rhs, rhsFree),
                            rhsK = mergeAxes(spec, *rhs, dot.getRhsContract());
  if (!columns || !rhsK)
    return std::nullopt;
  plan.rhsColumns = *columns;
  plan.rhsK = *rhsK;
  plan.columns = columns->size;
  auto isUnit = [&](DimExpr stride) { return stride.isConstant() && stride.constant() == 1; };
  if (isUnit(columns->stride)) {
    DimExpr rows = dims.resolve(plan.rows), step = dims.resolve(rhsK->stride);
    plan.copied = rows.isConstant() && rows.constant() >= spec.costs().copiedForRows && step.isConstant() &&
                  step.constant() * byteWidth(getElementTypeOrSelf(dot.getRhs())) >= spec.costs().farBytes;
    return plan;
  }
  if (!isUnit(rhsK->stride))
    return std::nullopt;
  plan.transposed = true;
  return plan;
}
