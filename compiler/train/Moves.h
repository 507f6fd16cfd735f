// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of optimizers: from a weight and its gradient the weight's next value. They are written once, over a
// type of numbers N, and serve training steps (TermNumber), the training operators of ONNX (NodeNumber) and programs in
// C++ (TensorNumber). An N of rank 0 meets others as if it were repeated. Beside + - * / with each other and with
// doubles, N has, found by its type:
//
//   squareRoot(a) power(a, b) least(a, b) greatest(a, b) signOf(a)
//   choose(mask, a, b)   a where the mask, of rank 0 or like them, holds
//   isAbove(a, k)        a mask
//   total(a)             the sum of all elements, of rank 0
//   totalAlong(a, axis)  the sum along an axis, which disappears
//   along(a, like, axes) `a`, whose axis k is axis axes[k] of `like`, in the shape of that
//   inTypeOf(a, like)    `a` with the element type of `like`
//   wide(a)              `a` in f64
//   fill(like, k), rankOf(a), sizeOf(a, axis), product(a, b), transposed(a)   of matrices
//
//   placesOf(a)          of a list: 0, 1, ..., in i64
//
// and for moments in fewer bits (Codes.h)
//
//   bitsOf(a)            of its element type
//   inBlocks(a, n)       the elements in row-major order as [blocks, n], filled up with zeros
//   fromBlocks(a, like)  back to the shape of `like`
//   greatestAlong(a, axis)
//   upperHalf(a, up)     `a` in bf16: to zero, or away from it where at least 1 - up of a step is left (`up` in f64)
//   asByte(a)            in i8
//
// They are torch's (torch.optim), You et al. 2020 for lamb, Chen et al. 2023 for lion and McMahan et al. 2013 for ftrl.
// Numbers that all weights share are f64: `1 - 0.999^t` loses four digits in f32.

#ifndef SINTER_COMPILER_TRAIN_MOVES_H
#define SINTER_COMPILER_TRAIN_MOVES_H

#include "compiler/trace/settings.hpp"
#include <cmath>
#include <optional>

namespace sinter::formulas {

/// keep * old + (1 - keep) * seen
template <class N> N averaged(double keep, const N &old, const N &seen) { return keep * old + (1 - keep) * seen; }

template <class N> N decayed(const N &gradient, double decay, const N &x) { return gradient + decay * x; }

/// g / (sqrt(s) + eps)
template <class N> N scaledByRoot(const N &g, const N &s, double eps) { return g / (squareRoot(s) + eps); }

template <class N> N norm(const N &x) { return squareRoot(total(x * x)); }

template <class N> double countOf(const N &x) {
  double count = 1;
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    count *= static_cast<double>(sizeOf(x, axis));
  return count;
}

/// The nearest matrix whose singular values are all about 1, by Newton and Schulz's iteration (Jordan 2024).
template <class N> N orthogonalized(const N &g) {
  bool isTall = sizeOf(g, 0) > sizeOf(g, 1);
  N x = isTall ? transposed(g) : g;
  N size = norm(x);
  x = x / greatest(size, fill(size, 1e-7));
  for (int trip = 0; trip < 5; ++trip) {
    N gram = product(x, transposed(x));
    x = 3.4445 * x + product(-4.775 * gram + 2.0315 * product(gram, gram), x);
  }
  return isTall ? transposed(x) : x;
}

/// What all weights of a group share in a step.
template <class N> struct Pace {
  N rate;   // f64, of rank 0
  N before; // the number of steps done before
  std::optional<N> firstCorrection, secondCorrection;
};

/// Whether moments that began with zeros are corrected.
inline bool correctsMoments(const MoveSettings &s) {
  using Kind = MoveSettings::Kind;
  return s.kind == Kind::adam || s.kind == Kind::adamw || s.kind == Kind::lamb || s.kind == Kind::muon;
}

template <class N> Pace<N> paceOf(const MoveSettings &s, const N &rate, const N &before) {
  Pace<N> pace{rate, before, {}, {}};
  N now = before + 1.0;
  if (correctsMoments(s)) {
    pace.firstCorrection = 1.0 - power(fill(now, s.beta1), now);
    pace.secondCorrection = squareRoot(1.0 - power(fill(now, s.beta2), now));
  }
  if (s.kind == MoveSettings::Kind::adagrad)
    pace.rate = rate / (s.lr_decay * before + 1.0);
  return pace;
}

/// Moves one weight. `Moments` keeps its moments: `get(kind, like)` is one, first zeros like `like`, and
/// `put(kind, value)` replaces it and gives what to go on with.
template <class N, class Moments> class Move {
public:
  /// `isOfRows`: the weight is some rows of a table.
  Move(const MoveSettings &s, const Pace<N> &pace, Moments &moments, bool isOfRows = false)
      : s(s), pace(pace), moments(moments), isOfRows(isOfRows) {}

  N operator()(N x, N g) {
    using Kind = MoveSettings::Kind;
    switch (s.kind) {
    case Kind::sgd:
      return x - shared(pace.rate, x) * sgdDirection(x, coupled(x, g));
    case Kind::adagrad: {
      g = coupled(x, g);
      N sum = moments.put("sum", moments.get("sum", g) + g * g);
      return x - shared(pace.rate, x) * scaledByRoot(g, sum, s.eps);
    }
    case Kind::rmsprop: {
      g = coupled(x, g);
      N direction = scaledByRoot(g, average("square", s.alpha, g * g), s.eps);
      if (s.momentum > 0)
        direction = moments.put("momentum", s.momentum * moments.get("momentum", g) + direction);
      return x - shared(pace.rate, x) * direction;
    }
    case Kind::adadelta: {
      g = coupled(x, g);
      N square = average("square", s.alpha, g * g), old = moments.get("delta", g);
      N direction = squareRoot(old + s.eps) / squareRoot(square + s.eps) * g;
      moments.put("delta", averaged(s.alpha, old, direction * direction));
      return x - shared(pace.rate, x) * direction;
    }
    case Kind::adam:
      return adam(x, coupled(x, g));
    case Kind::adamw:
      return adam(shrunk(x), g);
    case Kind::lamb:
      return lamb(x, g);
    case Kind::lion: {
      N old = moments.get("mean", g);
      moments.put("mean", averaged(s.beta2, old, g));
      return shrunk(x) - shared(pace.rate, x) * signOf(averaged(s.beta1, old, g));
    }
    case Kind::adafactor:
      return adafactor(x, g);
    case Kind::muon:
      return rankOf(x) == 2 ? muon(x, g) : adam(shrunk(x), g);
    case Kind::ftrl:
      return ftrl(x, coupled(x, g));
    }
    return x;
  }

private:
  /// A number that all weights share, in the type of a weight.
  static N shared(const N &number, const N &like) { return inTypeOf(number, like); }
  N coupled(const N &x, const N &g) { return s.weight_decay > 0 ? decayed(g, s.weight_decay, x) : g; }
  N shrunk(const N &x) { return s.weight_decay > 0 ? x * shared(1.0 - s.weight_decay * pace.rate, x) : x; }
  N average(const char *kind, double keep, const N &seen) {
    return moments.put(kind, averaged(keep, moments.get(kind, seen), seen));
  }

  N sgdDirection(const N &x, const N &g) {
    if (s.momentum == 0)
      return g;
    N old = moments.get("momentum", x), next = s.momentum * old + (1 - s.dampening) * g;
    if (s.dampening > 0) // the first gradient counts whole
      next = choose(isAbove(pace.before, 0), next, g);
    next = moments.put("momentum", next);
    return s.nesterov ? g + s.momentum * next : next;
  }

  /// m / (sqrt(v) / sqrt(1 - beta2^t) + eps); of rows, where t counts all steps, m / (sqrt(v) + eps) sqrt(1 - beta2^t)
  /// (torch's SparseAdam)
  N adamDirection(const N &g) {
    N mean = average("mean", s.beta1, g), square = average("square", s.beta2, g * g);
    if (isOfRows)
      return scaledByRoot(mean, square, s.eps) * shared(*pace.secondCorrection, g);
    return mean / (squareRoot(square) * shared(1.0 / *pace.secondCorrection, g) + s.eps);
  }
  N adam(const N &x, const N &g) { return x - shared(pace.rate / *pace.firstCorrection, x) * adamDirection(g); }

  /// r = m' / (sqrt(v') + eps) + decay x; x -= rate |x| / |r| r, the ratio 1 where a norm is 0
  N lamb(const N &x, const N &g) {
    N direction = shared(1.0 / *pace.firstCorrection, x) * adamDirection(g) + s.weight_decay * x;
    N own = norm(x), other = norm(direction), one = fill(other, 1);
    N isDefined = both(isAbove(own, 0), isAbove(other, 0));
    N ratio = choose(isDefined, own / choose(isDefined, other, one), one);
    return x - shared(pace.rate, x) * ratio * direction;
  }

  /// Shazeer & Stern 2018, with moments of rows and columns for tensors of rank 2 and more.
  N adafactor(N x, const N &g) {
    N now = pace.before + 1.0, one = fill(now, 1);
    N fresh = shared(power(now, fill(now, s.beta2_decay)), g);
    N rate = least(pace.rate, one / squareRoot(now));
    N size = norm(x) / std::sqrt(countOf(x));
    N step = shared(rate, x) * greatest(size, fill(size, s.eps_weight));
    x = shrunk(x);
    auto follow = [&](const char *kind, const N &seen) {
      N old = moments.get(kind, seen);
      return moments.put(kind, old + fresh * (seen - old));
    };
    int64_t rank = rankOf(x);
    std::optional<N> variance;
    if (rank > 1) {
      std::vector<int64_t> withoutLast, withoutOther;
      for (int64_t axis = 0; axis < rank; ++axis) {
        if (axis != rank - 1)
          withoutLast.push_back(axis);
        if (axis != rank - 2)
          withoutOther.push_back(axis);
      }
      double last = static_cast<double>(sizeOf(x, rank - 1)), other = static_cast<double>(sizeOf(x, rank - 2));
      N rows = follow("rows", totalAlong(g * g, rank - 1) / last);
      N columns = follow("columns", totalAlong(g * g, rank - 2) / other);
      N mean = totalAlong(rows, rank - 2) / other;
      std::vector<int64_t> front(withoutLast.begin(), withoutLast.end() - 1);
      variance = along(rows, g, withoutLast) * along(columns, g, withoutOther) /
                 along(greatest(mean, fill(mean, s.eps)), g, front);
    } else {
      variance = follow("square", g * g);
    }
    N update = g / squareRoot(greatest(*variance, fill(*variance, s.eps * s.eps)));
    N length = norm(update) / (std::sqrt(countOf(update)) * s.greatest);
    return x - step / greatest(length, fill(length, 1)) * update;
  }

  /// n' = n + g^2, z += g - (sqrt(n') - sqrt(n)) / rate x; x = 0 where |z| <= l1, else
  /// (sign(z) l1 - z) / ((beta + sqrt(n')) / rate + l2). At a rate of 0 all stays as it is.
  N ftrl(const N &x, const N &g) {
    N moves = isAbove(pace.rate, 0), rate = shared(choose(moves, pace.rate, fill(pace.rate, 1)), x);
    N old = moments.get("square", g), before = moments.get("sum", g);
    N square = moments.put("square", choose(moves, old + g * g, old)), root = squareRoot(square);
    N sum = moments.put("sum", choose(moves, before + g - (root - squareRoot(old)) / rate * x, before));
    N side = signOf(sum);
    N moved = (s.l1 * side - sum) / ((root + s.beta) / rate + s.l2);
    return choose(moves, choose(isAbove(side * sum, s.l1), moved, fill(moved, 0)), x);
  }

  N muon(const N &x, const N &g) {
    N next = moments.put("momentum", averaged(s.momentum, moments.get("momentum", g), g));
    N direction = orthogonalized(s.nesterov ? averaged(s.momentum, next, g) : next);
    double rows = static_cast<double>(sizeOf(x, 0)), columns = static_cast<double>(sizeOf(x, 1));
    return shrunk(x) - std::sqrt(std::max(1.0, rows / columns)) * shared(pace.rate, x) * direction;
  }

  const MoveSettings &s;
  const Pace<N> &pace;
  Moments &moments;
  bool isOfRows;
};

} // namespace sinter::formulas

#endif
