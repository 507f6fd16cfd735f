// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transform of a size that is known, N = A B, is taken apart (Cooley and Tukey): with places j = j1 B + j2 and
// results k = k1 + A k2,
//
//   X[k1 + A k2] = sum over j2 of w_B^(j2 k2) w_N^(j2 k1) (sum over j1 of w_A^(j1 k1) x[j1 B + j2])
//
// which is a product with a small matrix, a factor for each element, and B's transform of A times as many signals. What
// has no small factor, as a prime, becomes a convolution (Bluestein): with 2 j k = j^2 + k^2 - (k - j)^2
//
//   X[k] = w_2N^(k^2) sum over j of (x[j] w_2N^(j^2)) w_2N^(-(k - j)^2)
//
// of a power of two's length. Short transforms, and sizes that only running tells, are one product with the whole
// matrix. Angles are reduced as integers first so that long transforms keep their precision.

#include "compiler/onnx/Fourier.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace sinter::onnx {

static constexpr double kTwoPi = 6.283185307179586476925286766559;
/// Up to here one product is as fast as steps: it runs near the peak, and steps copy.
static constexpr int64_t kWholeMatrix = 64;
/// The longest matrix of a step.
static constexpr int64_t kStep = 32;

Value countUp(OpImport &n, Value size, Type type) {
  if (n.failed())
    return {};
  std::optional<double> known = n.knownScalar(size);
  Size length{known ? std::max<int64_t>(int64_t(*known), 0) : ShapedType::kDynamic, {}};
  if (!known)
    length.tensor = n.reshape(size, {1});
  return n.make<IotaOp>(length.tensor, int64_t(0), RankedTensorType::get({length.known}, type));
}

/// `scale` times cosine and sine of 2 pi m / size (-2 pi m / size unless `inverse`) as `type`, for whole numbers m.
static Complex circle(OpImport &n, Value m, Value size, Type type, bool inverse, Value scale = {}) {
  Type wide = n.b.getF64Type();
  SmallVector<Value, 2> operands = {m, size};
  if (!n.broadcastTogether(operands))
    return {};
  Value reduced = n.convert(n.make<RemOp>(operands[0], operands[1]), wide);
  Value angle = n.div(n.mul(reduced, inverse ? kTwoPi : -kTwoPi), n.convert(size, wide));
  Complex out = {n.make<CosOp>(angle), n.make<SinOp>(angle)};
  for (Value *part : {&out.real, &out.imaginary}) {
    if (scale)
      *part = n.mul(*part, scale);
    *part = n.convert(*part, type);
  }
  return out;
}

/// j k for the places of a `rows` x `columns` matrix.
static Value placeProducts(OpImport &n, Value rows, Value columns) {
  Type i64 = n.b.getI64Type();
  return n.mul(n.unsqueeze(countUp(n, rows, i64), {1}), n.unsqueeze(countUp(n, columns, i64), {0}));
}

/// The whole matrix at once.
static Complex byMatrix(OpImport &n, Complex signal, Value size, Value kept, bool inverse) {
  Type type = n.elem(signal.real);
  Value scale = inverse ? n.div(1, n.convert(size, n.b.getF64Type())) : Value();
  Complex w = circle(n, placeProducts(n, size, kept), size, type, inverse, scale);
  if (n.failed())
    return {};
  Complex out = {n.matmul(signal.real, w.real, type), n.matmul(signal.real, w.imaginary, type)};
  if (signal.imaginary) {
    out.real = n.sub(out.real, n.matmul(signal.imaginary, w.imaginary, type));
    out.imaginary = n.add(out.imaginary, n.matmul(signal.imaginary, w.real, type));
  }
  return out;
}

namespace {

/// Transforms of known sizes, of signals [count, parts, size]: parts are 1 (real) or 2 (real, imaginary). Results have
/// both.
class Steps {
public:
  Steps(OpImport &n, Type type, bool inverse) : n(n), type(type), inverse(inverse) {}

  Value transform(Value x, int64_t size, double scale) {
    if (n.failed())
      return {};
    int64_t step = size <= kStep ? 1 : stepOf(size);
    if (step > 1)
      return divide(x, size, step, scale);
    return size <= kWholeMatrix ? last(x, size, scale) : convolve(x, size, scale);
  }

  /// A real signal of even length, whose elements in pairs are a complex one of half the length, Z:
  ///   X[k] = (Z[k] + conj Z[-k]) / 2 + w_size^k (Z[k] - conj Z[-k]) / 2i
  /// and the first `kept` of these. Not for the inverse.
  Value transformReal(Value x, int64_t size, int64_t kept) {
    int64_t half = size / 2, places = std::min(kept, half + 1);
    Size count = n.sizeOf(x, 0);
    Value z = transform(n.transpose(n.reshapeSizes(x, {count, n.fixed(half), n.fixed(2)}), {0, 2, 1}), half, 1);
    Complex w = circle(n, countUp(n, known(half + 1), n.b.getI64Type()), known(size), type, false);
    if (n.failed())
      return {};
    Value around = n.concat({z, n.slice(z, 2, 0, 1)}, 2); // Z[0 .. half]
    Value back = n.make<ReverseOp>(around, ArrayRef<int64_t>{2});
    auto part = [&](Value of, int64_t index) { return n.mul(n.slice(of, 1, index, index + 1), 0.5); };
    Value re = part(around, 0), im = part(around, 1), backRe = part(back, 0), backIm = part(back, 1);
    Value evenRe = n.add(re, backRe), evenIm = n.sub(im, backIm), oddRe = n.add(im, backIm), oddIm = n.sub(backRe, re);
    Value real = n.add(evenRe, n.sub(n.mul(oddRe, w.real), n.mul(oddIm, w.imaginary)));
    Value imaginary = n.add(evenIm, n.add(n.mul(oddRe, w.imaginary), n.mul(oddIm, w.real)));
    Value first = n.slice(n.concat({real, imaginary}, 1), 2, 0, places);
    if (kept == places)
      return first;
    // X[size - k] = conj X[k]
    auto mirrored = [&](Value of) {
      return n.make<ReverseOp>(n.slice(of, 2, size - kept + 1, half), ArrayRef<int64_t>{2});
    };
    return n.concat({first, n.concat({mirrored(real), n.sub(0, mirrored(imaginary))}, 1)}, 2);
  }

private:
  /// The divisor that leads to steps of equal lengths, none over kStep where the size has such divisors; 1 where it has
  /// none.
  static int64_t stepOf(int64_t size) {
    double levels = std::ceil(std::log2(double(size)) / std::log2(double(kStep)) - 1e-9);
    double wanted = std::log2(double(size)) / levels;
    int64_t best = 1;
    for (int64_t step = 2; step <= std::min(kStep, size - 1); ++step)
      if (size % step == 0 &&
          (best == 1 || std::abs(std::log2(double(step)) - wanted) <= std::abs(std::log2(double(best)) - wanted)))
        best = step;
    return best;
  }

  int64_t partsOf(Value x) { return n.size(x, 1); }
  Value known(int64_t size) { return n.scalarInt(size); }

  /// The matrix M with (real, imaginary) = M (real, imaginary) for the places of `w`; [2 * rows, parts * columns].
  Value matrixOf(Complex w, int64_t parts) {
    Value upper = w.real, lower = w.imaginary;
    if (parts == 2) {
      upper = n.concat({w.real, n.sub(0, w.imaginary)}, 1);
      lower = n.concat({w.imaginary, w.real}, 1);
    }
    return n.concat({upper, lower}, 0);
  }

  Value last(Value x, int64_t size, double scale) {
    Complex w = circle(n, placeProducts(n, known(size), known(size)), known(size), type, inverse,
                       n.scalar(n.b.getF64Type(), scale));
    if (n.failed())
      return {};
    int64_t parts = partsOf(x);
    Size count = n.sizeOf(x, 0);
    Value rows = n.reshapeSizes(x, {count, n.fixed(parts * size)});
    Value out = n.matmul(rows, n.transpose(matrixOf(w, parts), {1, 0}), type);
    return n.reshapeSizes(out, {count, n.fixed(2), n.fixed(size)});
  }

  Value divide(Value x, int64_t size, int64_t a, double scale) {
    int64_t b = size / a, parts = partsOf(x);
    Complex w = circle(n, placeProducts(n, known(a), known(a)), known(a), type, inverse);
    Complex turn = circle(n, placeProducts(n, known(a), known(b)), known(size), type, inverse);
    if (n.failed())
      return {};
    Size count = n.sizeOf(x, 0);
    Value columns = n.reshapeSizes(x, {count, n.fixed(parts * a), n.fixed(b)});
    Value sums = n.matmul(matrixOf(w, parts), columns, type);
    sums = n.reshapeSizes(sums, {count, n.fixed(2), n.fixed(a), n.fixed(b)});
    Value real = n.slice(sums, 1, 0, 1), imaginary = n.slice(sums, 1, 1, 2); // [count, 1, a, b]
    Value turned = n.concat({n.sub(n.mul(real, turn.real), n.mul(imaginary, turn.imaginary)),
                             n.add(n.mul(real, turn.imaginary), n.mul(imaginary, turn.real))},
                            1);
    Size more = n.times(count, n.fixed(a));
    turned = n.reshapeSizes(n.transpose(turned, {0, 2, 1, 3}), {more, n.fixed(2), n.fixed(b)});
    Value out = transform(turned, b, scale);
    out = n.reshapeSizes(out, {count, n.fixed(a), n.fixed(2), n.fixed(b)});
    return n.reshapeSizes(n.transpose(out, {0, 2, 3, 1}), {count, n.fixed(2), n.fixed(size)});
  }

  /// [1, 1, size] each.
  std::pair<Value, Value> chirp(int64_t size, bool inverse) {
    Value j = countUp(n, known(size), n.b.getI64Type());
    Complex w = circle(n, n.mul(j, j), known(2 * size), type, inverse);
    return {n.unsqueeze(w.real, {0, 1}), n.unsqueeze(w.imaginary, {0, 1})};
  }

  Value times(Value x, Value real, Value imaginary) {
    Value re = n.slice(x, 1, 0, 1);
    if (partsOf(x) == 1)
      return n.concat({n.mul(re, real), n.mul(re, imaginary)}, 1);
    Value im = n.slice(x, 1, 1, 2);
    return n.concat({n.sub(n.mul(re, real), n.mul(im, imaginary)), n.add(n.mul(re, imaginary), n.mul(im, real))}, 1);
  }

  Value convolve(Value x, int64_t size, double scale) {
    int64_t length = int64_t(llvm::PowerOf2Ceil(uint64_t(2 * size - 1)));
    auto [real, imaginary] = chirp(size, inverse);
    auto [oppositeReal, oppositeImaginary] = chirp(size, !inverse);
    if (n.failed())
      return {};
    Value zero = n.scalar(type, 0);
    // The other chirp is even: its places -j are length - j.
    Value opposite = n.concat({oppositeReal, oppositeImaginary}, 1); // [1, 2, size]
    Value before = n.make<ReverseOp>(n.slice(opposite, 2, 1, size), ArrayRef<int64_t>{2});
    Value kernel = n.concat({n.pad(opposite, zero, {0, 0, 0}, {0, 0, length - 2 * size + 1}), before}, 2);
    Value signal = n.pad(times(x, real, imaginary), zero, {0, 0, 0}, {0, 0, length - size});
    Steps forward(n, type, false), back(n, type, true);
    Value spectrum = forward.transform(kernel, length, 1);
    Value product = times(forward.transform(signal, length, 1), n.slice(spectrum, 1, 0, 1), n.slice(spectrum, 1, 1, 2));
    Value out = n.slice(back.transform(product, length, scale / double(length)), 2, 0, size);
    return times(out, real, imaginary);
  }

  OpImport &n;
  Type type;
  bool inverse;
};

} // namespace

Complex fourierTransform(OpImport &n, Complex signal, Value size, Value kept, bool inverse) {
  if (n.failed())
    return {};
  std::optional<double> knownSize = n.knownScalar(size), knownKept = n.knownScalar(kept);
  // Products of places, and the length of convolutions, have to stay far from the end of i64.
  if (!knownSize || !knownKept || *knownSize <= kWholeMatrix || *knownSize > double(1 << 30))
    return byMatrix(n, signal, size, kept, inverse);
  int64_t length = int64_t(*knownSize), rank = n.rank(signal.real);
  Type given = n.elem(signal.real), type = given.getIntOrFloatBitWidth() < 32 ? n.b.getF32Type() : given;
  SmallVector<Size> sizes;
  Size count = n.fixed(1);
  for (int64_t axis = 0; axis + 1 < rank; ++axis) {
    sizes.push_back(n.sizeOf(signal.real, axis));
    count = n.times(count, sizes.back());
  }
  SmallVector<Value> parts;
  for (Value part : {signal.real, signal.imaginary})
    if (part)
      parts.push_back(n.reshapeSizes(n.convert(part, type), {count, n.fixed(1), n.fixed(length)}));
  Value x = parts.size() == 1 ? parts.front() : n.concat(parts, 1);
  Steps steps(n, type, inverse);
  int64_t results = int64_t(*knownKept);
  Value out = !signal.imaginary && !inverse && length % 2 == 0
                  ? steps.transformReal(x, length, results)
                  : steps.transform(x, length, inverse ? 1 / double(length) : 1);
  if (n.failed())
    return {};
  out = n.convert(n.slice(out, 2, 0, results), given);
  sizes.push_back(n.fixed(results));
  auto part = [&](int64_t index) { return n.reshapeSizes(n.slice(out, 1, index, index + 1), sizes); };
  return {part(0), part(1)};
}

} // namespace sinter::onnx
