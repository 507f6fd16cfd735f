// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes at positions, and resampling, out to ONNX. Positions outside are errors there and clamped or skipped
// here.

#include "compiler/onnx/OpExport.h"

using namespace mlir;

namespace sinter::onnx {

static LogicalResult writeGather(GatherOp op, OpExport &n) {
  return n.out("Gather", {n.in(0), n.in(1)}, {{"axis", int64_t(op.getAxis())}});
}

static LogicalResult writeGatherElements(GatherElementsOp op, OpExport &n) {
  return n.out("GatherElements", {n.in(0), n.in(1)}, {{"axis", int64_t(op.getAxis())}});
}

static LogicalResult writeGatherNd(GatherNdOp op, OpExport &n) {
  std::string positions = n.cast(n.in(1), IntegerType::get(op.getContext(), 64));
  return n.out("GatherND", {n.in(0), positions}, {{"batch_dims", int64_t(op.getBatchAxes())}});
}

/// Null for combiners that ONNX's scatters lack.
static const char *reductionOf(Combiner combiner) {
  switch (combiner) {
  case Combiner::set:
    return "none";
  case Combiner::add:
    return "add";
  case Combiner::mul:
    return "mul";
  case Combiner::max:
    return "max";
  case Combiner::min:
    return "min";
  default:
    return nullptr;
  }
}

static LogicalResult writeScatterElements(ScatterElementsOp op, OpExport &n) {
  const char *reduction = reductionOf(op.getCombiner());
  if (!reduction)
    return n.reject("ScatterElements does not combine by " + stringifyCombiner(op.getCombiner()));
  return n.out("ScatterElements", {n.in(0), n.in(1), n.in(2)},
               {{"axis", int64_t(op.getAxis())}, {"reduction", reduction}});
}

static LogicalResult writeScatterNd(ScatterNdOp op, OpExport &n) {
  const char *reduction = reductionOf(op.getCombiner());
  if (!reduction)
    return n.reject("ScatterND does not combine by " + stringifyCombiner(op.getCombiner()));
  std::string positions = n.cast(n.in(1), IntegerType::get(op.getContext(), 64));
  return n.out("ScatterND", {n.in(0), positions, n.in(2)}, {{"reduction", reduction}});
}

static LogicalResult writeCompress(CompressOp op, OpExport &n) {
  return n.out("Compress", {n.in(0), n.in(1)}, {{"axis", int64_t(op.getAxis())}});
}

static LogicalResult writeUnique(UniqueOp op, OpExport &n) {
  return n.out("Unique", {n.in(0)}, {{"axis", int64_t(op.getAxis())}, {"sorted", op.getSorted()}});
}

static LogicalResult writeSuppression(NonMaxSuppressionOp op, OpExport &n) {
  SmallVector<std::string> inputs = {n.in(0), n.in(1)};
  for (unsigned i = 2; i < 5; ++i)
    inputs.push_back(n.unsqueeze(n.in(i), {0}));
  return n.out("NonMaxSuppression", inputs, {{"center_point_box", op.getCenterPointBox()}});
}

static LogicalResult writeResize(ResizeOp op, OpExport &n) {
  if (op.getScales() && op.getSizes())
    return n.reject("Resize takes scales or sizes, not both");
  if (op.getCoordinates() == CoordinateMode::tf_half_pixel_for_nn)
    return n.reject("Resize has no tf_half_pixel_for_nn since operator set 13");
  std::string mode = stringifyResizeMode(op.getMode()).str(),
              coordinates = stringifyCoordinateMode(op.getCoordinates()).str(),
              nearest = stringifyNearestMode(op.getNearest()).str();
  return n.out("Resize", {n.of(op.getOperand()), n.of(op.getRoi()), n.of(op.getScales()), n.of(op.getSizes())},
               {{"mode", mode.c_str()},
                {"coordinate_transformation_mode", coordinates.c_str()},
                {"nearest_mode", nearest.c_str()},
                {"cubic_coeff_a", op.getCubicCoefficient().convertToDouble()},
                {"exclude_outside", op.getExcludeOutside()},
                {"extrapolation_value", op.getExtrapolation().convertToDouble()}});
}

static LogicalResult writeGridSample(GridSampleOp op, OpExport &n) {
  if (op.getLayout() != ConvLayout::channels_first)
    return n.reject("GridSample has its channels first");
  const char *padding = op.getPadding() == PadMode::constant ? "zeros"
                        : op.getPadding() == PadMode::edge   ? "border"
                                                             : "reflection";
  std::string mode = stringifyResizeMode(op.getMode()).str();
  return n.out("GridSample", {n.in(0), n.in(1)},
               {{"mode", mode.c_str()}, {"padding_mode", padding}, {"align_corners", op.getAlignCorners()}});
}

void exportIndexing(ExportTable &t) {
  t.add<GatherOp>(writeGather);
  t.add<GatherElementsOp>(writeGatherElements);
  t.add<GatherNdOp>(writeGatherNd);
  t.add<ScatterElementsOp>(writeScatterElements);
  t.add<ScatterNdOp>(writeScatterNd);
  t.addNode<NonzeroOp>("NonZero");
  t.add<CompressOp>(writeCompress);
  t.add<UniqueOp>(writeUnique);
  t.add<NonMaxSuppressionOp>(writeSuppression);
  t.add<ResizeOp>(writeResize);
  t.add<GridSampleOp>(writeGridSample);
}

} // namespace sinter::onnx
