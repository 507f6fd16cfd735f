// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules and sizes. Values are in ResamplingEvaluate.cpp, elements in ResamplingElements.cpp.

#include "ir/Resampling.h"
#include "ir/Constants.h"
#include "ir/Kernel.h"
#include "ir/Lists.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Resampling.cpp.inc"

void SinterDialect::registerResampling() {
  addOperations<
#define GET_OP_LIST
#include "ir/Resampling.cpp.inc"
      >();
}

//===- shape -------------------------------------------------------------------------------------------------===//

/// The fraction with the least denominator in [low, high], 0 < low < high (Stern-Brocot, by continued fractions).
static std::pair<int64_t, int64_t> simplestFraction(double low, double high) {
  double whole = std::floor(low);
  if (whole == low)
    return {static_cast<int64_t>(whole), 1};
  if (whole + 1 <= high)
    return {static_cast<int64_t>(whole) + 1, 1};
  auto [p, q] = simplestFraction(1 / (high - whole), 1 / (low - whole));
  return {static_cast<int64_t>(whole) * p + q, p};
}

std::pair<int64_t, int64_t> sinter::scaleAsFraction(double scale) {
  constexpr double ulp = 0x1p-24;
  return simplestFraction(scale * (1 - ulp), scale * (1 + ulp));
}

bool sinter::isScale(double scale) { return scale >= 0x1p-24 && scale <= 0x1p24; }

/// One element per axis of `operand`, times `factor`.
static LogicalResult checkLength(std::optional<Location> location, StringRef what, Value list, int64_t wanted) {
  if (!list || isListOf(cast<RankedTensorType>(list.getType()), wanted))
    return success();
  return emitOptionalError(location, "resize requires ", wanted, " ", what, ", got ",
                           printShape(cast<RankedTensorType>(list.getType()).getShape()));
}

bool sinter::areResizeScales(OpOperand &use) {
  auto resize = dyn_cast<ResizeOp>(use.getOwner());
  return resize && use.get() == resize.getScales();
}

LogicalResult ResizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  int64_t rank = operand.getRank();
  if (!adaptor.getScales() && !adaptor.getSizes()) // C1
    return emitOptionalError(location, "resize requires scales or sizes, got neither");
  if (failed(checkLength(location, "scales", adaptor.getScales(), rank)) || // C2
      failed(checkLength(location, "sizes", adaptor.getSizes(), rank)))
    return failure();
  if (adaptor.getCoordinates() == CoordinateMode::tf_crop_and_resize) { // C3
    if (!adaptor.getRoi())
      return emitOptionalError(location, "resize requires roi for tf_crop_and_resize, got none");
    if (cast<RankedTensorType>(adaptor.getRoi().getType()).getRank() != 1)
      return emitOptionalError(location, "resize requires roi of rank 1, got ", adaptor.getRoi().getType());
    if (failed(checkLength(location, "elements of roi", adaptor.getRoi(), 2 * rank)))
      return failure();
  }
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  if (std::optional<SmallVector<double>> scales = constantFloats(adaptor.getScales())) {
    for (auto [axis, scale] : llvm::enumerate(*scales)) {
      if (!isScale(scale)) // C4
        return emitOptionalError(location, "resize requires scales above 0, got ", scale, " for axis ", axis);
      auto [p, q] = scaleAsFraction(scale);
      if (!adaptor.getSizes() && !operand.isDynamicDim(axis))
        shape[axis] = operand.getDimSize(axis) * p / q;
    }
  }
  if (std::optional<SmallVector<int64_t>> sizes = constantInts(adaptor.getSizes())) {
    for (auto [axis, size] : llvm::enumerate(*sizes))
      if (size < 0) // C4
        return emitOptionalError(location, "resize requires sizes of at least 0, got ", size, " for axis ", axis);
    shape = *sizes;
  }
  bool hasElements = llvm::all_of(shape, [](int64_t size) { return size > 0; });
  if (const int64_t *none = llvm::find(operand.getShape(), 0); hasElements && none != operand.getShape().end()) // C5
    return emitOptionalError(location, "resize requires a size of at least 1 to take elements from on axis ",
                             none - operand.getShape().begin(), ", got 0");
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

LogicalResult GridSampleOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  auto grid = cast<RankedTensorType>(adaptor.getGrid().getType());
  int64_t rank = operand.getRank();
  if (rank < 3 || grid.getRank() != rank) // C1
    return emitOptionalError(location,
                             "grid_sample requires an operand of rank 3 at least and a grid of its rank, got ", rank,
                             " and ", grid.getRank());
  if (!meetSize(grid.getShape().back(), rank - 2)) // C2
    return emitOptionalError(location, "grid_sample requires a grid whose last size is ", rank - 2, ", got ",
                             grid.getShape().back());
  std::optional<int64_t> batch = meetSize(operand.getDimSize(0), grid.getDimSize(0));
  if (!batch) // C3
    return emitOptionalError(location, "grid_sample requires dim(operand, 0) = dim(grid, 0), got ",
                             operand.getDimSize(0), " and ", grid.getDimSize(0));
  if (operand.getElementType() != grid.getElementType()) // C4
    return emitOptionalError(location, "grid_sample requires operands of one element type, got ",
                             operand.getElementType(), " and ", grid.getElementType());
  if (adaptor.getPadding() == PadMode::wrap) // C5
    return emitOptionalError(location, "grid_sample requires padding constant, edge or reflect, got wrap");
  SmallVector<int64_t> shape{*batch};
  llvm::append_range(shape, grid.getShape().drop_front().drop_back());
  bool isLast = adaptor.getLayout() == ConvLayout::channels_last;
  shape.insert(isLast ? shape.end() : shape.begin() + 1, operand.getDimSize(isLast ? rank - 1 : 1));
  if (llvm::is_contained(operand.getShape(), 0) && llvm::all_of(shape, [](int64_t size) { return size > 0; })) // C6
    return emitOptionalError(location, "grid_sample requires an operand with elements where the result has some, got ",
                             operand);
  types.push_back(RankedTensorType::get(shape, operand.getElementType()));
  return success();
}

int64_t GridSampleOp::channelAxis() {
  return getLayout() == ConvLayout::channels_first ? 1 : cast<RankedTensorType>(getOperand().getType()).getRank() - 1;
}

int64_t GridSampleOp::firstSpatialAxis() { return getLayout() == ConvLayout::channels_first ? 2 : 1; }

bool sinter::samplesChannels(Operation *op) {
  auto sample = dyn_cast<GridSampleOp>(op);
  return sample && sample.getLayout() == ConvLayout::channels_last;
}

//===- sizes -------------------------------------------------------------------------------------------------===//

/// `value`, or what a kernel around passes in for it.
static Value outsideOfKernel(Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  auto kernel = argument ? dyn_cast_or_null<KernelOp>(argument.getOwner()->getParentOp()) : KernelOp();
  return kernel ? kernel.getInputs()[argument.getArgNumber()] : value;
}

SmallVector<Dims> ResizeOp::resultDims(ShapeQuery &shapes) {
  DimContext &context = shapes.context();
  auto type = cast<RankedTensorType>(getResult().getType());
  std::optional<Dims> sizes;
  if (getSizes() && !type.hasStaticShape())
    sizes = shapes.contents(getSizes());
  std::optional<SmallVector<double>> scales = constantFloats(outsideOfKernel(getScales()));
  Dims dims, operand = shapes.dims(getOperand());
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (!type.isDynamicDim(axis)) {
      dims.push_back(context.constant(type.getDimSize(axis)));
    } else if (sizes) {
      dims.push_back((*sizes)[axis]);
    } else if (scales && !getSizes()) {
      auto [p, q] = scaleAsFraction((*scales)[axis]);
      dims.push_back(context.floorDiv(context.mul(operand[axis], context.constant(p)), context.constant(q)));
    } else {
      dims.push_back(context.symbol({SymbolSource::Kind::Size, getResult(), axis}));
    }
  }
  return {dims};
}

SmallVector<Dims> GridSampleOp::resultDims(ShapeQuery &shapes) {
  Dims operand = shapes.dims(getOperand()), grid = shapes.dims(getGrid());
  Dims dims{operand[0]};
  dims.append(grid.begin() + 1, grid.end() - 1);
  dims.insert(dims.begin() + channelAxis(), operand[channelAxis()]);
  return {dims};
}
