// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing at positions.

#include "compiler/onnx/OpImport.h"

using namespace mlir;

namespace sinter::onnx {

static LogicalResult importGather(OpImport &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(n.in(0)));
  return axis < 0 ? failure() : n.out(n.gather(n.in(0), n.checked(n.in(1), n.in(0), axis), axis));
}

static LogicalResult importGatherElements(OpImport &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(n.in(0)));
  return axis < 0 ? failure() : n.out(n.make<GatherElementsOp>(n.in(0), n.checked(n.in(1), n.in(0), axis), axis));
}

/// Tuples of positions that index the axes of the first input from `first` on.
static Value checkedTuples(OpImport &n, int64_t first) {
  int64_t rank = n.rank(n.in(1)), length = n.size(n.in(1), rank - 1);
  if (ShapedType::isDynamic(length) || length < 1 || first < 0 || length > n.rank(n.in(0)) - first)
    return n.in(1); // the op that reads them says so
  return n.checked(n.in(1), n.in(0), llvm::to_vector(llvm::seq<int64_t>(first, first + length)), /*tuples=*/true);
}

static LogicalResult importGatherNd(OpImport &n) {
  int64_t batch = n.intAttr("batch_dims", 0);
  return n.out(n.make<GatherNdOp>(n.in(0), checkedTuples(n, batch), batch));
}

static std::optional<Combiner> scatterCombiner(OpImport &n) {
  StringRef name = n.stringAttr("reduction", "none");
  auto combiner = llvm::StringSwitch<std::optional<Combiner>>(name)
                      .Case("none", Combiner::set)
                      .Case("add", Combiner::add)
                      .Case("mul", Combiner::mul)
                      .Case("max", Combiner::max)
                      .Case("min", Combiner::min)
                      .Default(std::nullopt);
  if (!combiner)
    (void)n.unsupported("reduction '" + name + "'");
  return combiner;
}

static LogicalResult importScatterElements(OpImport &n) {
  int64_t axis = n.axisAttr("axis", 0, n.rank(n.in(0)));
  std::optional<Combiner> combiner = scatterCombiner(n);
  if (axis < 0 || !combiner)
    return failure();
  return n.out(n.make<ScatterElementsOp>(n.in(0), n.checked(n.in(1), n.in(0), axis), n.in(2), axis, *combiner));
}

static LogicalResult importScatterNd(OpImport &n) {
  std::optional<Combiner> combiner = scatterCombiner(n);
  if (!combiner)
    return failure();
  return n.out(n.make<ScatterNdOp>(n.in(0), checkedTuples(n, 0), n.in(2), *combiner));
}

/// The first input and `axis`; without that attribute all elements in a row, and 0. The axis is -1 after an error.
static std::pair<Value, int64_t> alongAxisOrFlat(OpImport &n) {
  if (n.attribute("axis"))
    return {n.in(0), n.axisAttr("axis", 0, n.rank(n.in(0)))};
  return {n.reshape(n.in(0), {-1}), 0};
}

static LogicalResult importCompress(OpImport &n) {
  auto [x, axis] = alongAxisOrFlat(n);
  return axis < 0 ? failure() : n.out(n.make<CompressOp>(x, n.in(1), axis));
}

static LogicalResult importUnique(OpImport &n) {
  auto [x, axis] = alongAxisOrFlat(n);
  if (axis < 0)
    return failure();
  for (Value result : n.makeAll<UniqueOp>(4, x, axis, n.intAttr("sorted", 1) != 0))
    if (failed(n.out(result)))
      return failure();
  return success();
}

static LogicalResult importNonMaxSuppression(OpImport &n) {
  Type f32 = n.b.getF32Type();
  Value most = n.in(2) ? n.reshape(n.in(2), {}) : n.scalarInt(0);
  Value overlap = n.in(3) ? n.reshape(n.in(3), {}) : n.scalar(f32, 0);
  Value score = n.in(4) ? n.reshape(n.in(4), {}) : n.scalar(f32, -std::numeric_limits<double>::infinity());
  return n.out(
      n.make<NonMaxSuppressionOp>(n.in(0), n.in(1), most, overlap, score, n.intAttr("center_point_box", 0) != 0));
}

static LogicalResult importOneHot(OpImport &n) {
  Type i64 = n.b.getI64Type();
  Value indices = n.convert(n.in(0), i64), values = n.in(2);
  int64_t rank = n.rank(indices) + 1, axis = n.axisAttr("axis", -1, rank);
  if (axis < 0)
    return failure();
  std::optional<double> known = n.knownScalar(n.in(1));
  Value depth = n.reshape(n.convert(n.in(1), i64), {1});
  Size size{known ? int64_t(*known) : ShapedType::kDynamic, known ? Value() : depth};
  if (known && (*known < 0 || *known > 1e12))
    return n.error("requires a depth of at least 0, found another");
  if (n.failed())
    return failure();
  indices = n.select(n.compare(CompareKind::lt, indices, 0), n.add(indices, n.reshape(depth, {})), indices);
  Value classes = n.make<IotaOp>(size.tensor, int64_t(0), RankedTensorType::get({size.known}, i64));
  SmallVector<int64_t> trailing = llvm::to_vector(llvm::seq<int64_t>(1, rank - axis));
  Value hit = n.compare(CompareKind::eq, n.unsqueeze(indices, {axis}), n.unsqueeze(classes, trailing));
  return n.out(n.select(hit, n.element(values, 1), n.element(values, 0)));
}

static LogicalResult importTensorScatter(OpImport &n) {
  Value cache = n.in(0), update = n.in(1), first = n.in(2);
  int64_t rank = n.rank(cache), axis = n.axisAttr("axis", -2, rank);
  StringRef mode = n.stringAttr("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return n.error("requires mode linear or circular, found '" + mode + "'");
  if (axis < 1 || n.rank(update) != rank)
    return n.error("requires an update of rank " + Twine(rank) + " and an axis behind the first, found rank " +
                   Twine(n.rank(update)) + " and axis " + Twine(axis));
  Value at = n.positions(update, axis);
  if (first)
    at = n.add(at, n.broadcastLike(n.convert(first, n.b.getI64Type()), at, {0}));
  if (mode == "circular" && !n.failed())
    at = n.binary<RemOp>(at, n.dim(cache, axis));
  return n.out(n.make<ScatterElementsOp>(cache, n.checked(at, cache, axis), update, axis, Combiner::set));
}

static LogicalResult importReverseSequence(OpImport &n) {
  Value x = n.in(0), lengths = n.convert(n.in(1), n.b.getI64Type());
  int64_t time = n.axisAttr("time_axis", 0, n.rank(x)), batch = n.axisAttr("batch_axis", 1, n.rank(x));
  if (time < 0 || batch < 0)
    return failure();
  Value at = n.positions(x, time), length = n.broadcastLike(lengths, x, {batch});
  Value mirrored = n.sub(n.sub(length, at), 1);
  return n.out(n.make<GatherElementsOp>(x, n.select(n.compare(CompareKind::lt, at, length), mirrored, at), time));
}

static LogicalResult importTopK(OpImport &n) {
  Value x = n.in(0);
  int64_t axis = n.axisAttr("axis", -1, n.rank(x));
  if (axis < 0)
    return failure();
  Value k;
  if (n.version < 10)
    k = n.scalarInt(n.intAttr("k", 1));
  else if (n.in(1))
    k = n.reshape(n.convert(n.in(1), n.b.getI64Type()), {});
  else
    return n.error("requires k, found none");
  for (Value result : n.makeAll<TopKOp>(2, x, k, axis, n.intAttr("largest", 1) != 0))
    if (failed(n.out(result)))
      return failure();
  return success();
}

void registerIndexing(Registry &r) {
  r.add("Gather", 1, 2, importGather);
  r.add("GatherElements", 11, 2, importGatherElements);
  r.add("GatherND", 11, 2, importGatherNd);
  r.addContrib("GatherND", 2, importGatherNd, 11);
  r.add("Scatter", 9, 3, importScatterElements);
  r.add("ScatterElements", 11, 3, importScatterElements);
  r.add("ScatterND", 11, 3, importScatterNd);
  r.add("NonZero", 9, 1, [](OpImport &n) { return n.out(n.make<NonzeroOp>(n.in(0))); });
  r.add("Compress", 9, 2, importCompress);
  r.add("Unique", 11, 1, importUnique);
  r.add("NonMaxSuppression", 10, 2, importNonMaxSuppression);
  r.add("OneHot", 9, 3, importOneHot);
  r.add("ReverseSequence", 10, 2, importReverseSequence);
  r.add("TopK", 1, 1, importTopK);
  r.add("TensorScatter", 24, 2, importTensorScatter);
}

} // namespace sinter::onnx
