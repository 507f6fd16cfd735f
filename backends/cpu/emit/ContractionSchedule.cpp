// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of a matrix product: lanes, register tile, chunk and packing, as the cost model chooses them and as
// others may be forced.

#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/General.h"
#include "backends/cpu/emit/KernelElements.h"
#include "backends/cpu/emit/MicroKernel.h"
#include "backends/cpu/emit/Packing.h"
#include "backends/cpu/emit/Plan.h"
#include "backends/cpu/emit/Tiles.h"
#include "ir/AxisOrder.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

ResultAxes::ResultAxes(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan)
    : sizes(spec.sizes->dims(dot.getResult())) {
  columnAxes = freeAxes(plan.rhs.sizes.size(), plan.rhsBatch, dot.getRhsContract()).size();
  rowAxes = static_cast<int64_t>(sizes.size()) - plan.batches.size() - columnAxes;
  SmallVector<bool> merges = mergeableAxes(spec, sizes, dot);
  auto mergesAll = [&](int64_t begin, int64_t count) {
    for (int64_t k = begin; k + 1 < begin + count; ++k)
      if (!merges[k])
        return false;
    return true;
  };
  int64_t rowBegin = plan.batches.size();
  mergesColumns = mergesAll(rowBegin + rowAxes, columnAxes);
  walksAxes = !mergesAll(rowBegin, rowAxes);
}

/// The right operand's input, if it is packed at compile time unless a schedule says otherwise.
static SmallVector<int64_t> packedInputs(KernelSpec &spec, DotGeneralOp dot) {
  auto argument = dyn_cast<BlockArgument>(rightOperand(dot));
  if (argument && packsContraction(spec, argument.getArgNumber()))
    return {static_cast<int64_t>(argument.getArgNumber())};
  return {};
}

Plan sinter::cpu::planContraction(KernelSpec &spec, ScheduleAttr given) {
  auto dot = dyn_cast_or_null<DotGeneralOp>(findShapedRoot(spec));
  if (!dot || spec.target().vectorBytes < 16)
    return Plan::refuse("its root is no product, its results have several shapes, or the target no vectors");
  Plan plan;
  plan.packing = packedInputs(spec, dot);
  std::string refusal;
  std::optional<ContractionPlan> product =
      ContractionPlan::of(spec, dot, given ? given.getPacking() : ArrayRef<int64_t>(plan.packing), refusal);
  if (!product)
    return Plan::refuse(refusal);
  if (!canBuildAfter(spec, dot))
    return Plan::refuse("what follows the product cannot be built element by element");
  // Lanes run along the last result axis; several column axes would need lanes across axes unless all merge.
  ResultAxes axes(spec, dot, *product);
  if (!axes.mergesColumns || axes.columnAxes == 0 ||
      (axes.columnAxes > 1 && axes.sizes.back() == spec.dims.constant(1)))
    return Plan::refuse("its columns are none, or several axes that cannot be walked as one");
  const ProductForm &form = product->form;
  int64_t width = widthOf(form.sum), most = spec.target().lanes(width);
  // One column has nothing to vectorize: lanes along the sum, or scalar loops, are as good.
  int64_t columns = constantOr(spec.dims, product->columns, ShapedType::kDynamic);
  if ((columns == 0 || (columns == 1 && most > 2)) && form.step == ProductForm::Step::fused)
    return Plan::refuse("it has one column, or none");
  while (columns != ShapedType::kDynamic && most > form.leastLanes() && columns <= most / 2)
    most /= 2;
  plan.setLanes(most, form.leastLanes());

  int64_t lanes = lanesOr(given, most), panel = spec.target().panelBytes / width, vectorsPerPanel = panel / lanes;
  int64_t vectors = columns == ShapedType::kDynamic ? vectorsPerPanel : llvm::divideCeil(columns, lanes);
  if (product->hasStrips() && form.isTiled())
    vectors = std::min(vectors, vectorsPerPanel);
  int64_t rowStride = constantOr(spec.dims, product->lhsRows.stride, 1);
  bool conflicting = !product->copiesRows && rowStride * widthOf(form.a) % 4096 == 0 && rowStride != 0;
  int64_t rows = constantOr(spec.dims, product->rows, ShapedType::kDynamic);
  // Of long panels, a block of k of one and of the next stay in the cache, but not of two and two.
  bool hasBlocks = product->blockSteps(spec) > 0;
  bool masked = !product->packed && (columns == ShapedType::kDynamic || columns % lanes != 0);
  TileLimits limits = limitsOf(form, vectors);
  limits.conflicting = conflicting;
  limits.staysNarrow = hasBlocks;
  limits.mayBeLower = true;
  limits.readsColumns = !masked && canReadColumns(spec.target(), form);
  RegisterTile tile =
      form.isTiled() ? chooseTileOfTiles(rows, vectors) : chooseTile(spec.target(), rows, vectors, limits);
  if (int64_t widest = product->widest(spec, lanes))
    tile = widenTile(spec.target(), tile, rows, std::min(vectors, widest), vectors, limits,
                     product->packed ? kMostTileVectors : 0);
  int64_t mostRows = form.isTiled() ? 2 * kTileRows : kMostTileRows,
          mostVectors = form.isTiled() ? 2 : kMostTileVectors;
  // The last tile overlaps the one before it: no tile is higher than the result.
  int64_t highest = rows == ShapedType::kDynamic ? mostRows : std::clamp<int64_t>(rows, 1, mostRows);
  plan.addTile(tile.rows, std::max(tile.rows, highest));
  plan.addTile(tile.vectors, std::max(tile.vectors, std::min(vectors, mostVectors)), product->packed ? mostVectors : 0);
  plan.setChunk(product->chunk(spec, tile.vectors * lanes));
  if (std::optional<ArrayRef<int64_t>> zeros = spec.kernel.getZeros();
      zeros && form.step == ProductForm::Step::fused && !product->copiesRows)
    plan.zeros.assign(zeros->begin(), zeros->end());
  return plan;
}
