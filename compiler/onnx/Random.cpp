// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random numbers. ONNX leaves the generator open; ours is counter-based, so a node gives the same numbers each time:
// its key is the `seed` attribute, or without one the node's place in the import, which keeps two nodes apart.

#include "compiler/onnx/OpImport.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace sinter::onnx {

/// Uniform in [0, 1), f32, of the given sizes. `stream` keeps several draws of one node apart.
static Value uniform(OpImport &n, ArrayRef<Size> sizes, uint32_t stream) {
  if (n.failed())
    return {};
  Type u32 = IntegerType::get(n.b.getContext(), 32, IntegerType::Unsigned);
  uint32_t seed = 0, place = 0;
  if (n.attribute("seed"))
    seed = llvm::bit_cast<uint32_t>(float(n.floatAttr("seed", 0)));
  else
    place = uint32_t(llvm::xxh3_64bits(n.node.output_size() ? StringRef(n.node.output(0)) : StringRef()) & 0x7fffffff);
  Value key = n.constant(HostTensor::ofInts(u32, {int64_t(seed), int64_t(place), int64_t(stream), 0}));
  SmallVector<int64_t> dims;
  for (Size size : sizes)
    dims.push_back(size.known);
  auto type = RankedTensorType::get(dims, u32);
  Value bits = n.make<RandomBitsOp>(key, type.hasStaticShape() ? Value() : n.shapeTensor(sizes), type);
  // the upper 24 bits are exact in f32
  Value shift = n.full(bits, 8);
  return n.mul(n.convert(n.make<ShiftRightOp>(bits, shift), n.b.getF32Type()), 1.0 / 16777216);
}

/// Standard normal by Box and Muller.
static Value normal(OpImport &n, ArrayRef<Size> sizes) {
  Value u = uniform(n, sizes, 0), v = uniform(n, sizes, 1);
  Value radius = n.make<SqrtOp>(n.mul(n.make<LogOp>(n.sub(1, u)), -2));
  return n.mul(radius, n.make<CosOp>(n.mul(v, 6.283185307179586)));
}

static SmallVector<Size> sizesLike(OpImport &n, Value x) {
  SmallVector<Size> sizes;
  for (int64_t axis = 0; axis < n.rank(x); ++axis)
    sizes.push_back(n.sizeOf(x, axis));
  return sizes;
}

template <bool isNormal, bool isLike> static LogicalResult importRandom(OpImport &n) {
  SmallVector<Size> sizes;
  Type type;
  if (isLike) {
    sizes = sizesLike(n, n.in(0));
    type = n.attribute("dtype") ? n.elementType(n.intAttr("dtype", 0)) : n.elem(n.in(0));
  } else {
    for (int64_t size : n.intsAttr("shape").value_or(SmallVector<int64_t>())) {
      if (size < 0)
        return n.error("requires sizes of at least 0, found " + Twine(size));
      sizes.push_back(n.fixed(size));
    }
    type = n.elementType(n.intAttr("dtype", onnxfile::FLOAT));
  }
  if (!type)
    return failure();
  Value result;
  if (isNormal) {
    result = n.add(n.mul(normal(n, sizes), n.floatAttr("scale", 1)), n.floatAttr("mean", 0));
  } else {
    double low = n.floatAttr("low", 0), high = n.floatAttr("high", 1);
    result = n.add(n.mul(uniform(n, sizes, 0), high - low), low);
  }
  return n.out(n.convert(result, type));
}

static LogicalResult importBernoulli(OpImport &n) {
  Value x = n.in(0);
  Type type = n.attribute("dtype") ? n.elementType(n.intAttr("dtype", 0)) : n.elem(x);
  if (!type)
    return failure();
  Value drawn = n.compare(CompareKind::lt, uniform(n, sizesLike(n, x), 0), n.convert(x, n.b.getF32Type()));
  return n.out(n.convert(drawn, type));
}

static LogicalResult importMultinomial(OpImport &n) {
  Value x = n.in(0);
  Type type = n.elementType(n.intAttr("dtype", onnxfile::INT32));
  int64_t samples = n.intAttr("sample_size", 1);
  if (!type)
    return failure();
  if (n.rank(x) != 2 || samples < 1)
    return n.error("requires rank 2 and a positive sample_size, found " + printShape(n.dims(x)) + " and " +
                   Twine(samples));
  // the number of classes whose running probability lies below the draw
  Value sums = n.make<CumulativeOp>(n.make<SoftmaxOp>(n.convert(x, n.b.getF32Type()), int64_t(1), false), int64_t(1),
                                    Combiner::add, false, false);
  Value draws = uniform(n, {n.sizeOf(x, 0), n.fixed(samples)}, 0);
  Value below = n.compare(CompareKind::le, n.unsqueeze(sums, {1}), n.unsqueeze(draws, {2}));
  Value index = n.reduce(Combiner::add, n.convert(below, n.b.getI64Type()), {2}, false);
  Value last = n.sub(n.dim(x, 1), 1);
  return n.out(n.convert(n.min(index, last), type));
}

static LogicalResult importDropout(OpImport &n) {
  Value x = n.in(0);
  Type i1 = n.b.getI1Type();
  Value training = n.version >= 12 ? n.in(2) : Value();
  if (n.version < 7 && !n.intAttr("is_test", 0))
    return n.unsupported("training before operator set 12");
  auto all = [&] {
    Value mask = n.broadcastLike(n.scalar(i1, 1), x);
    return n.version < 10 ? n.convert(mask, n.elem(x)) : mask;
  };
  std::optional<double> isTraining = training && !n.forInference() ? n.knownScalar(training) : std::optional<double>(0);
  std::optional<double> known = n.in(1) ? n.knownScalar(n.in(1)) : std::nullopt;
  if ((isTraining && *isTraining == 0) || (known && *known == 0)) { // a ratio of 0 keeps all, times 1
    (void)n.out(x);
    return n.wants(1) ? n.out(all()) : success();
  }
  Type f32 = n.b.getF32Type();
  Value ratio = n.in(1) ? n.reshape(n.convert(n.in(1), f32), {}) : n.scalar(f32, 0.5);
  Value kept = n.compare(CompareKind::ge, uniform(n, sizesLike(n, x), 0), ratio);
  // With a ratio of 1 nothing is kept, and a gradient of 0 times an infinite scale would be no number.
  Value share = n.sub(1, ratio);
  Value scale = n.convert(n.select(n.compare(CompareKind::gt, share, 0), n.div(1, share), 0), n.elem(x));
  Value dropped = n.select(kept, n.mul(x, scale), 0);
  if (isTraining) {
    (void)n.out(dropped);
    return n.out(kept);
  }
  Value flag = n.reshape(training, {});
  (void)n.out(n.select(flag, dropped, x));
  return n.out(n.select(flag, kept, n.scalar(i1, 1)));
}

void registerRandom(Registry &r) {
  r.add("RandomNormal", 1, 0, importRandom<true, false>);
  r.add("RandomNormalLike", 1, 1, importRandom<true, true>);
  r.add("RandomUniform", 1, 0, importRandom<false, false>);
  r.add("RandomUniformLike", 1, 1, importRandom<false, true>);
  r.add("Bernoulli", 15, 1, importBernoulli);
  r.add("Multinomial", 7, 1, importMultinomial);
  r.add("Dropout", 1, 1, importDropout);
}

} // namespace sinter::onnx
