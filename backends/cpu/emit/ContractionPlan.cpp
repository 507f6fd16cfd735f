// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ContractionPlan.h"
#include "backends/cpu/emit/BlockSums.h"
#include "backends/cpu/emit/Packing.h"
#include "ir/AxisOrder.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/reference/HostTensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

Value sinter::cpu::rightOperand(DotGeneralOp dot) {
  auto convert = dot.getRhs().getDefiningOp<ConvertOp>();
  bool isByte = convert && getElementTypeOrSelf(convert.getOperand()).isInteger(8);
  return isByte && isa<FloatType>(getElementTypeOrSelf(convert.getResult())) ? convert.getOperand() : dot.getRhs();
}

/// The product of sizes of axes; dynamic where one is not known.
static int64_t countOf(KernelSpec &spec, Value value, ArrayRef<int64_t> axes) {
  Dims sizes;
  for (int64_t axis : axes)
    sizes.push_back(spec.sizes->dims(value)[axis]);
  DimExpr count = spec.dims.resolve(spec.dims.product(sizes));
  return count.isConstant() ? count.constant() : ShapedType::kDynamic;
}

static std::optional<ProductForm> formWithPairs(KernelSpec &spec, DotGeneralOp dot, std::optional<BytePairs> pairs,
                                                std::string &refusal) {
  return productFormOf(spec.target(), getElementTypeOrSelf(dot.getLhs()), getElementTypeOrSelf(rightOperand(dot)),
                       getElementTypeOrSelf(dot.getResult()), refusal, pairs);
}

std::optional<ProductForm> sinter::cpu::productFormOf(KernelSpec &spec, DotGeneralOp dot, std::string &refusal) {
  std::optional<ProductForm> form = formWithPairs(spec, dot, pairsOf(dot), refusal);
  std::optional<ProductForm> tiled = form ? tiledFormOf(spec.target(), *form) : std::nullopt;
  if (!tiled || !mayBeTiled(spec.kernel.getScheduleAttr(), 1))
    return form;
  // One row fills no tile, and few columns or steps little of one.
  constexpr int64_t fewest = 4;
  int64_t rank = spec.sizes->dims(dot.getLhs()).size();
  int64_t rows = countOf(spec, dot.getLhs(), freeAxes(rank, dot.getLhsBatch(), dot.getLhsContract()));
  int64_t rhsRank = spec.sizes->dims(dot.getRhs()).size();
  int64_t columns = countOf(spec, dot.getRhs(), freeAxes(rhsRank, dot.getRhsBatch(), dot.getRhsContract()));
  int64_t k = countOf(spec, dot.getLhs(), dot.getLhsContract());
  auto isFew = [&](int64_t count, int64_t least) { return count != ShapedType::kDynamic && count < least; };
  if (isFew(rows, 2) || isFew(columns, fewest) || isFew(k, fewest))
    return form;
  // Nor do few products pay for the shapes of tiles, which each call sets.
  constexpr int64_t leastMacs = 1 << 13;
  int64_t batches = countOf(spec, dot.getLhs(), dot.getLhsBatch());
  if (batches != ShapedType::kDynamic && rows != ShapedType::kDynamic && columns != ShapedType::kDynamic &&
      k != ShapedType::kDynamic && batches * rows * columns * k < leastMacs)
    return form;
  if (k != ShapedType::kDynamic)
    tiled->kStep = std::min<int64_t>(tiled->kStep, llvm::alignTo(k, tiled->kPack));
  return tiled;
}

//===- packed constants ----------------------------------------------------------------------------------===//

static DotGeneralOp dotOf(KernelSpec &spec) {
  for (Operation &op : spec.body().without_terminator())
    if (auto dot = dyn_cast<DotGeneralOp>(op))
      return dot;
  return nullptr;
}

namespace {
/// The axes of a right operand that is packed: [batch..., k..., n...] in any order.
struct RightAxes {
  SmallVector<int64_t> batch, contract, free;

  explicit RightAxes(DotGeneralOp dot)
      : batch(dot.getRhsBatch()), contract(dot.getRhsContract()),
        free(freeAxes(cast<RankedTensorType>(dot.getRhs().getType()).getRank(), batch, contract)) {}

  std::string text() const;
  /// Of a row-major constant of type `source`.
  Panels panels(RankedTensorType source, const ProductForm &form, int64_t columns) const;
};
} // namespace

std::string RightAxes::text() const {
  std::string text;
  for (ArrayRef<int64_t> axes : {ArrayRef(batch), ArrayRef(contract), ArrayRef(free)}) {
    text += ';';
    for (int64_t axis : axes)
      text += std::to_string(axis) + ',';
  }
  return text;
}

Panels RightAxes::panels(RankedTensorType source, const ProductForm &form, int64_t columns) const {
  SmallVector<int64_t> strides = mlir::computeStrides(source.getShape());
  auto offsets = [&](ArrayRef<int64_t> axes) {
    SmallVector<int64_t> sizes, axisStrides;
    std::vector<int64_t> result;
    for (int64_t axis : axes) {
      sizes.push_back(source.getDimSize(axis));
      axisStrides.push_back(strides[axis]);
    }
    forEachIndex(sizes, [&](ArrayRef<int64_t> index) { result.push_back(linearIndex(index, axisStrides)); });
    return result;
  };
  return {form, columns, byteWidth(source.getElementType()), offsets(batch), offsets(contract), offsets(free)};
}

Panels sinter::cpu::panelsOf(KernelSpec &spec, DotGeneralOp dot, RankedTensorType source, const ProductForm &form) {
  return RightAxes(dot).panels(source, form, spec.target().panelBytes / widthOf(form.sum));
}

bool sinter::cpu::packsContraction(KernelSpec &spec, unsigned input) {
  DotGeneralOp dot = dotOf(spec);
  std::string refusal;
  if (!dot || !productFormOf(spec, dot, refusal))
    return false;
  auto argument = dyn_cast<BlockArgument>(rightOperand(dot));
  return argument && argument.getArgNumber() == input && canBePacked(spec, argument);
}

Packing sinter::cpu::packContraction(KernelSpec &spec, unsigned input) {
  DotGeneralOp dot = dotOf(spec);
  std::string refusal;
  ProductForm form = *productFormOf(spec, dot, refusal);
  RightAxes axes(dot);
  int64_t columns = spec.target().panelBytes / widthOf(form.sum);
  std::string tag = "panels;" + std::to_string(columns) + ";" + form.packingTag() + axes.text();
  return dropDenormals(
      {input, tag, [=](RankedTensorType source) { return axes.panels(source, form, columns).packed(); }});
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

/// True where each step of k has lines of its own of lhs, which lie far apart, and nothing foresees them.
static bool lieApart(KernelSpec &spec, const ContractionPlan &plan) {
  DimExpr rowStride = spec.dims.resolve(plan.lhsRows.stride), step = spec.dims.resolve(plan.lhsK.stride);
  return plan.form.step == ProductForm::Step::fused && rowStride.isConstant() && rowStride.constant() == 1 &&
         step.isConstant() && step.constant() * widthOf(plan.form.a) >= spec.costs().farBytes;
}

/// True where so many columns read rows, and rows columns unless these are packed, that copies of both take little
/// beside the product.
static bool paysCopies(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan) {
  DimExpr rows = spec.dims.resolve(plan.rows);
  int64_t columns = countOf(spec, dot.getRhs(), freeAxes(plan.rhs.sizes.size(), plan.rhsBatch, dot.getRhsContract()));
  if (!rows.isConstant() || columns == ShapedType::kDynamic || spec.kernel.getZeros())
    return false;
  int64_t copied = rows.constant() + (plan.packed ? 0 : columns);
  return rows.constant() * columns >= 4 * spec.costs().copiedForRows * copied;
}

/// True where the copies of both operands of one product, of known sizes, are not too large to be made at once.
static bool fitsCopies(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan) {
  auto elements = [&](Value operand) {
    DimExpr count = spec.dims.resolve(spec.dims.product(spec.sizes->dims(operand)));
    return count.isConstant() ? count.constant() : ShapedType::kDynamic;
  };
  int64_t lhs = elements(dot.getLhs()), rhs = elements(dot.getRhs());
  return plan.batches.empty() && lhs != ShapedType::kDynamic && rhs != ShapedType::kDynamic &&
         (lhs + rhs) * widthOf(plan.form.a) <= spec.costs().copiedBytes;
}

/// Rows of lhs, at most, that stay in a quarter of the second-level cache while all columns pass.
static int64_t stayingRows(KernelSpec &spec, const ContractionPlan &plan) {
  int64_t rowBytes = constantOr(spec.dims, plan.k, 0) * widthOf(plan.form.a);
  return spec.target().l2Bytes / 4 / std::max<int64_t>(rowBytes, 1);
}

/// True where all strips are made before the product: lhs does not stay in the cache while one strip after the other
/// reads all its rows, but blocks of so many rows do that strips are read often enough.
static bool makesStripsFirst(KernelSpec &spec, DotGeneralOp dot, const ContractionPlan &plan) {
  constexpr int64_t fewest = 64; // rows of a block
  int64_t rows = constantOr(spec.dims, plan.rows, 0), staying = stayingRows(spec, plan);
  bool areLines = constantOr(spec.dims, plan.lhsK.stride, 0) == 1;
  return plan.hasStrips() && plan.form.step == ProductForm::Step::fused && areLines && !plan.copiesRows &&
         staying >= fewest && rows > 2 * staying && fitsCopies(spec, dot, plan);
}

std::optional<ContractionPlan> ContractionPlan::of(KernelSpec &spec, DotGeneralOp dot, ArrayRef<int64_t> packing,
                                                   std::string &refusal) {
  DimContext &dims = spec.dims;
  std::optional<ProductForm> form = productFormOf(spec, dot, refusal);
  if (!form)
    return std::nullopt;
  std::optional<StridedView> lhs = viewOf(spec, dot.getLhs()), rhs = viewOf(spec, rightOperand(dot));
  BlockArgument panels = form->readsColumns() ? findPanels(dot, spec.target().panelBytes)
                                              : BlockArgument(); // as PackInvariants makes them
  if (panels)
    rhs = StridedView{panels.getArgNumber(), spec.sizes->dims(dot.getRhs()), {}};
  refusal = "an operand is computed";
  if (!lhs || !rhs)
    return std::nullopt;
  ContractionPlan plan;
  plan.form = *form;
  plan.lhs = *lhs;
  plan.rhs = *rhs;
  plan.lhsBatch.assign(dot.getLhsBatch().begin(), dot.getLhsBatch().end());
  plan.rhsBatch.assign(dot.getRhsBatch().begin(), dot.getRhsBatch().end());
  for (int64_t axis : plan.lhsBatch)
    plan.batches.push_back(dims.resolve(lhs->sizes[axis]));
  plan.packed = panels || llvm::is_contained(packing, static_cast<int64_t>(rhs->input));
  if (!plan.packed && form->group) // only panels have orders
    form = formWithPairs(spec, dot, std::nullopt, refusal);
  if (!plan.packed)
    plan.form = form->throughStrips();

  SmallVector<int64_t> lhsFree = freeAxes(lhs->sizes.size(), plan.lhsBatch, dot.getLhsContract());
  SmallVector<int64_t> rhsFree = freeAxes(rhs->sizes.size(), plan.rhsBatch, dot.getRhsContract());
  std::optional<MergedAxes> rows = mergeAxes(spec, *lhs, lhsFree), lhsK = mergeAxes(spec, *lhs, dot.getLhsContract());
  refusal = "rows, columns or the sum are several axes that cannot be walked as one";
  if (!rows || !lhsK)
    return std::nullopt;
  plan.lhsRows = *rows;
  plan.lhsK = *lhsK;
  plan.rows = rows->size;
  plan.k = lhsK->size;
  if (plan.packed && !panels) { // a constant, which has known sizes where those of lhs are open
    Dims summed;
    for (int64_t axis : dot.getRhsContract())
      summed.push_back(rhs->sizes[axis]);
    plan.k = dims.product(summed);
  }
  auto isUnit = [&](DimExpr stride) { return stride.isConstant() && stride.constant() == 1; };
  DimExpr k = dims.resolve(plan.k);
  bool fillsSteps = k.isConstant() && k.constant() % plan.form.kStep == 0 && isUnit(dims.resolve(lhsK->stride));
  if (plan.form.isTiled()) {
    // Rows of tiles that lie across two lines of the cache are read five times slower.
    DimExpr pitch = dims.resolve(rows->stride);
    int64_t run = llvm::PowerOf2Ceil(plan.form.kStep * widthOf(plan.form.row));
    fillsSteps &= pitch.isConstant() && pitch.constant() * widthOf(plan.form.row) % run == 0;
  }
  bool isTurned = lieApart(spec, plan) && paysCopies(spec, dot, plan);
  plan.copiesRows = form->copiesRows() || (plan.form.kPack > 1 && !fillsSteps) || isTurned;
  plan.copiesOnce = isTurned && fitsCopies(spec, dot, plan);
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
  if (isUnit(columns->stride)) {
    DimExpr rows = dims.resolve(plan.rows), step = dims.resolve(rhsK->stride);
    plan.copied =
        !form->readsColumns() || (rows.isConstant() && rows.constant() >= spec.costs().copiedForRows &&
                                  step.isConstant() && step.constant() * widthOf(form->b) >= spec.costs().farBytes);
  } else {
    refusal = "neither its columns nor the sum are contiguous";
    if (!isUnit(rhsK->stride))
      return std::nullopt;
    plan.transposed = true;
  }
  plan.copiesOnce |= makesStripsFirst(spec, dot, plan);
  return plan;
}

int64_t ContractionPlan::blockSteps(KernelSpec &spec) const {
  constexpr int64_t fewest = 32; // of few rows panels are read few times
  bool walksBlocks = packed && !copiesRows && !form.isTiled() && !form.flips && form.sumsByBlocks() &&
                     !spec.kernel.getZeros() && constantOr(spec.dims, rows, 0) > fewest;
  int64_t steps = constantOr(spec.dims, form.words(spec.dims, k), 0), chain = form.stepsOfBlock(kProductBlock);
  int64_t stepBytes = spec.target().panelBytes / widthOf(form.sum) * form.kPack * widthOf(form.b);
  int64_t fast = spec.target().l2Bytes;
  if (!walksBlocks || steps * stepBytes < fast / 8)
    return 0;
  // Whole chains of additions, and few blocks, as each adds a rounding.
  constexpr int64_t mostBlocks = 16;
  int64_t least = llvm::divideCeil(llvm::divideCeil(steps, mostBlocks), chain);
  int64_t block = std::max({least, fast / 16 / stepBytes / chain, int64_t(1)}) * chain;
  return block < steps ? block : 0;
}

int64_t ContractionPlan::widest(KernelSpec &spec, int64_t lanes) const {
  DimExpr steps = spec.dims.resolve(form.words(spec.dims, k));
  bool isPlain = (packed || hasStrips()) && steps.isConstant() && form.step == ProductForm::Step::fused;
  constexpr int64_t fewRegisters = 16; // hold tiles of two vectors that are higher than wide
  constexpr int64_t fewRows = 256;     // wait for packed panels more than for loads
  if (spec.target().vectorRegisters <= fewRegisters)
    return 0;
  if (packed && constantOr(spec.dims, rows, 0) < fewRows)
    return 0;
  if (!isPlain || (lieApart(spec, *this) && !copiesRows)) // a high tile asks for few of the lines that lie apart
    return 0;
  return spec.target().l2Bytes / 4 / (std::max<int64_t>(steps.constant(), 1) * lanes * widthOf(form.column));
}

int64_t ContractionPlan::chunk(KernelSpec &spec, int64_t tileColumns) const {
  const CostModel &costs = spec.costs();
  if (copiesRows && !copiesOnce)
    return costs.contractionMacs;
  DimContext &dims = spec.dims;
  // The right operand comes once for each block of rows, mostly from beyond the second-level cache, and the block's
  // rows of lhs come once for each group of columns. So a block fills half of that cache, whatever k is, and rows that
  // nearly fit are one block.
  int64_t width = widthOf(form.a), fast = spec.target().l2Bytes, most = fast / 2 / width * tileColumns;
  int64_t lhsElements = constantOr(dims, dims.mul(rows, k), 0), ofAllRows = lhsElements * tileColumns;
  if (copiesOnce && !copiesRows)
    most = stayingRows(spec, *this) * constantOr(dims, k, 0) * tileColumns;
  else if (lhsElements * width <= fast / 4 * 3)
    most = std::max(most, ofAllRows);
  if (int64_t steps = blockSteps(spec)) {
    // What stays is a block of steps of these rows, their sums, and two panels' blocks.
    int64_t stepBytes = form.kPack * width,
            sumBytes = std::min(constantOr(dims, columns, 0), kBlockColumns) * widthOf(form.sum);
    int64_t left = fast / 4 * 3 - 2 * steps * tileColumns * form.kPack * widthOf(form.b);
    most = std::max<int64_t>(left, 0) / (steps * stepBytes + sumBytes) * constantOr(dims, k, 0) * tileColumns;
  }
  DimExpr groups = dims.mul(dims.product(batches), dims.ceilDiv(columns, dims.constant(tileColumns)));
  int64_t blocks = llvm::divideCeil(costs.parallelChunks, std::max<int64_t>(constantOr(dims, groups, 1), 1));
  int64_t least = std::clamp(most, costs.fewestContractionMacs, costs.contractionMacs);
  return std::max(least, std::min(most, (lhsElements ? ofAllRows : most) / blocks));
}
