// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Window functions, and the operators of Fourier transforms.

#include "compiler/onnx/Fourier.h"

using namespace mlir;

namespace sinter::onnx {

static constexpr double kTwoPi = 6.283185307179586476925286766559;

/// first - second cos(2 pi k / N) + third cos(4 pi k / N)
static LogicalResult importWindow(OpImport &n, double first, double second, double third) {
  Type type = n.elementType(n.intAttr("output_datatype", onnxfile::FLOAT)), wide = n.b.getF64Type();
  if (!type)
    return failure();
  Value size = n.reshape(n.convert(n.in(0), n.b.getI64Type()), {});
  Value period = n.intAttr("periodic", 1) ? size : n.sub(size, 1);
  Value angle = n.div(n.mul(countUp(n, size, wide), kTwoPi), n.convert(period, wide));
  Value window = n.sub(first, n.mul(n.make<CosOp>(angle), second));
  if (third != 0)
    window = n.add(window, n.mul(n.make<CosOp>(n.mul(angle, 2)), third));
  return n.out(n.convert(window, type));
}

/// The last axis (1 or 2 places) of a tensor as parts.
static FailureOr<Complex> splitComplex(OpImport &n, Value x) {
  int64_t last = n.rank(x) - 1, parts = n.size(x, last);
  if (n.failed() || last < 1 || (parts != 1 && parts != 2))
    return n.error("requires a last axis of size 1 or 2, found " + printShape(n.dims(x)));
  Complex out;
  out.real = n.squeeze(n.slice(x, last, 0, 1), {last});
  if (parts == 2)
    out.imaginary = n.squeeze(n.slice(x, last, 1, 2), {last});
  return out;
}

static Value joinComplex(OpImport &n, Complex x) {
  int64_t rank = n.rank(x.real);
  return n.concat({n.unsqueeze(x.real, {rank}), n.unsqueeze(x.imaginary, {rank})}, rank);
}

/// `axis` exchanged with the last one.
static Value exchangeWithLast(OpImport &n, Value x, int64_t axis) {
  SmallVector<int64_t> permutation = n.allAxes(x);
  if (axis < int64_t(permutation.size()))
    std::swap(permutation[axis], permutation.back());
  return n.transpose(x, permutation);
}

static LogicalResult importDft(OpImport &n) {
  Value x = n.in(0);
  int64_t rank = n.rank(x), axis;
  if (n.version >= 20 && n.in(2)) {
    std::optional<SmallVector<int64_t>> given = n.knownInts(n.in(2));
    if (!given || given->size() != 1)
      return n.unsupported("an axis that is known only at run time");
    axis = given->front();
  } else {
    axis = n.version >= 20 ? -2 : n.intAttr("axis", 1);
  }
  if (failed(n.normalizeAxes(axis, rank)))
    return failure();
  if (axis == rank - 1)
    return n.error("requires an axis of the signal, found " + Twine(axis));
  bool oneSided = n.intAttr("onesided", 0) != 0, inverse = n.intAttr("inverse", 0) != 0;
  FailureOr<Complex> signal = splitComplex(n, x);
  if (failed(signal))
    return failure();
  if (oneSided && inverse)
    return n.unsupported("a one-sided inverse transform");
  Value size = n.dim(x, axis);
  for (Value *part : {&signal->real, &signal->imaginary})
    if (*part)
      *part = exchangeWithLast(n, *part, axis);
  if (n.in(1)) {
    // shorter signals are continued by zeros, longer ones cut
    Value wanted = n.reshape(n.convert(n.in(1), n.b.getI64Type()), {});
    Value difference = n.sub(wanted, size);
    SmallVector<int64_t> zeros(size_t(rank - 2), 0);
    Value low = n.ints(SmallVector<int64_t>(size_t(rank - 1), 0));
    Value high = n.concat({n.ints(zeros), n.reshape(difference, {1})}, 0);
    std::optional<SmallVector<int64_t>> known = n.knownInts(high);
    for (Value *part : {&signal->real, &signal->imaginary}) {
      if (!*part)
        continue;
      Value zero = n.scalar(n.elem(*part), 0);
      *part = known ? n.pad(*part, zero, SmallVector<int64_t>(size_t(rank - 1), 0), *known)
                    : n.make<DynamicPadOp>(*part, zero, low, high, PadMode::constant);
    }
    size = wanted;
  }
  Value kept = oneSided ? n.add(n.div(size, 2), 1) : size;
  Complex result = fourierTransform(n, *signal, size, kept, inverse);
  if (n.failed())
    return failure();
  result.real = exchangeWithLast(n, result.real, axis);
  result.imaginary = exchangeWithLast(n, result.imaginary, axis);
  return n.out(joinComplex(n, result));
}

static LogicalResult importStft(OpImport &n) {
  Value x = n.in(0), window = n.in(2);
  Type i64 = n.b.getI64Type();
  if (n.rank(x) == 2)
    x = n.unsqueeze(x, {2});
  if (n.rank(x) != 3)
    return n.error("requires a signal of rank 3, found " + printShape(n.dims(x)));
  if (!window && !n.in(3))
    return n.error("requires a window or a frame length, found none");
  Value step = n.reshape(n.convert(n.in(1), i64), {});
  Value length = n.in(3) ? n.reshape(n.convert(n.in(3), i64), {}) : n.dim(window, 0);
  FailureOr<Complex> signal = splitComplex(n, x);
  if (failed(signal))
    return failure();
  // frame f holds places f * step + k
  Value frames = n.add(n.div(n.sub(n.dim(x, 1), length), step), 1);
  Value places =
      n.add(n.mul(n.unsqueeze(countUp(n, frames, i64), {1}), step), n.unsqueeze(countUp(n, length, i64), {0}));
  for (Value *part : {&signal->real, &signal->imaginary}) {
    if (!*part)
      continue;
    *part = n.gather(*part, places, 1); // [batch, frames, length]
    if (window)
      *part = n.mul(*part, window);
  }
  Value kept = n.intAttr("onesided", 1) ? n.add(n.div(length, 2), 1) : length;
  Complex result = fourierTransform(n, *signal, length, kept, false);
  return n.failed() ? failure() : n.out(joinComplex(n, result));
}

static LogicalResult importMelWeightMatrix(OpImport &n) {
  Type type = n.elementType(n.intAttr("output_datatype", onnxfile::FLOAT)), f64 = n.b.getF64Type(),
       i64 = n.b.getI64Type();
  if (!type)
    return failure();
  Value bins = n.reshape(n.convert(n.in(0), i64), {}), length = n.reshape(n.convert(n.in(1), i64), {});
  Value rate = n.reshape(n.convert(n.in(2), f64), {});
  auto mel = [&](Value frequency) {
    Value x = n.add(n.div(n.convert(n.reshape(frequency, {}), f64), 700), 1);
    return n.mul(n.div(n.make<LogOp>(x), 2.302585092994045684), 2595);
  };
  Value low = mel(n.in(3)), high = mel(n.in(4));
  // edges of the triangles: bins + 2 points, even in mels, as numbers of spectrogram bins
  Value points = n.add(bins, 2);
  Value step = n.div(n.sub(high, low), n.convert(points, f64));
  Value mels = n.add(n.mul(countUp(n, points, f64), step), low);
  Value hertz = n.mul(n.sub(n.binary<PowOp>(n.scalar(f64, 10), n.div(mels, 2595)), 1), 700);
  Value edges = n.make<FloorOp>(n.div(n.mul(hertz, n.convert(n.add(length, 1), f64)), rate));
  Value index = countUp(n, bins, i64);
  auto edge = [&](int offset) { return n.unsqueeze(n.gather(edges, n.add(index, offset), 0), {0}); };
  Value left = edge(0), centre = edge(1), right = edge(2);
  Value at = n.unsqueeze(countUp(n, n.add(n.div(length, 2), 1), f64), {1});
  // rising from left to centre inclusive (1 at the centre if both coincide), falling to right exclusive
  Value width = n.sub(centre, left);
  Value rising = n.div(n.sub(at, left), width);
  Value falling = n.div(n.sub(right, at), n.sub(right, centre));
  Value zero = n.scalar(f64, 0);
  Value inRise = n.binary<AndOp>(n.compare(CompareKind::ge, at, left), n.compare(CompareKind::le, at, centre));
  Value inFall = n.binary<AndOp>(n.compare(CompareKind::ge, at, centre), n.compare(CompareKind::lt, at, right));
  Value flat = n.binary<AndOp>(n.compare(CompareKind::eq, width, 0), n.compare(CompareKind::eq, at, centre));
  Value result =
      n.select(inFall, falling, n.select(inRise, n.select(n.compare(CompareKind::eq, width, 0), zero, rising), zero));
  result = n.select(flat, n.scalar(f64, 1), result);
  return n.out(n.convert(result, type));
}

void registerSignal(Registry &r) {
  r.add("HannWindow", 17, 1, [](OpImport &n) { return importWindow(n, 0.5, 0.5, 0); });
  r.add("HammingWindow", 17, 1, [](OpImport &n) { return importWindow(n, 25.0 / 46, 21.0 / 46, 0); });
  r.add("BlackmanWindow", 17, 1, [](OpImport &n) { return importWindow(n, 0.42, 0.5, 0.08); });
  r.add("DFT", 17, 1, importDft);
  r.add("STFT", 17, 2, importStft);
  r.add("MelWeightMatrix", 17, 5, importMelWeightMatrix);
}

} // namespace sinter::onnx
