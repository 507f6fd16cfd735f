// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites over rows, by rules that use their results instead of what their decompositions hold in between. f16 and
// bf16 are computed in f32 and rounded, as the composites are. Group norm has no rule: its decomposition is a layer
// norm.

#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"
#include "ir/gradient/Moves.h"
#include "ir/gradient/Rules.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

/// A term in the type that composites compute in.
static Term wide(Composer &c, Value value) {
  Term term(c, value);
  return value && term.element().getIntOrFloatBitWidth() < 32 ? term.as(c.getF32Type()) : term;
}
/// Rounded to the element type of `like`.
static Value narrow(Term term, Value like) { return term.as(elementTypeOf(like)); }

namespace {

// softmax: dx = y dy - y sum(y dy); its logarithm: dx = dy - e^y sum(dy). The product y dy is read twice and is zero
// where y is, whatever dy would have been.
struct SoftmaxRule : Rule<SoftmaxRule, SoftmaxOp> {
  static Term along(Term value, int64_t axis) {
    Term total = value.sum(axis);
    return total.spread(value, otherAxes(value.rank(), axis));
  }
  LogicalResult vjp(SoftmaxOp op, VjpBuilder &g) const {
    if (!g.cotangent() || !g.wants(0))
      return success();
    Term y = wide(g, g.result()), dy = wide(g, g.cotangent());
    Term product = op.getLogarithm() ? dy : y * dy;
    Term dx = product - (op.getLogarithm() ? exp(y) : y) * along(product, op.getAxis());
    g.give(0, narrow(dx, g.operand(0)));
    return success();
  }
  // ty = y (tx - sum(y tx)); of the logarithm, ty = tx - sum(e^y tx)
  LogicalResult jvp(SoftmaxOp op, JvpBuilder &t) const {
    if (!t.tangent())
      return success();
    Term y = wide(t, t.result()), tx = wide(t, t.tangent());
    Term ty = op.getLogarithm() ? tx - along(exp(y) * tx, op.getAxis()) : y * (tx - along(y * tx, op.getAxis()));
    t.set(0, narrow(ty, t.result()));
    return success();
  }
};

// layer_norm, z = (x - mean) r with r = 1 / sqrt(variance + epsilon) and y = z scale + bias:
//   dz = dy scale, dx = r (dz - avg(dz) - z avg(dz z)), d scale = sum(dy z), d bias = sum(dy)
//   d mean adds d mean / n, d r adds -d r r^2 z / n. Without centering mean is 0 and avg(dz) is left out.
struct LayerNormRule : Rule<LayerNormRule, LayerNormOp> {
  struct Form {
    GradientBuilder &b;
    mutable LayerNormOp op; // accessors of ops are not const
    SmallVector<int64_t> inner, outer;
    Term x, r, z;
    Value count;

    Form(LayerNormOp op, GradientBuilder &b)
        : b(b), op(op), inner(axisRange(op.getAxis(), tensorTypeOf(op.getOperand()).getRank())),
          outer(axisRange(0, op.getAxis())), x(wide(b, b.operand(0))), r(spreadStatistic(b.result(2))), z(b, Value()) {
      z = (op.getCenter() ? x - spreadStatistic(b.result(1)) : x) * r;
      count = b.count(x, inner);
    }
    /// A statistic [outer..., 1...] in the shape of x.
    Term spreadStatistic(Value value) const {
      return wide(b, value).spread(x, axisRange(0, tensorTypeOf(value).getRank()));
    }
    /// The average over the normalized axes, spread back.
    Term average(Term value) const {
      Term total = value.sum(inner);
      return (total / Term(b, b.spread(count, total, {}))).spread(x, outer);
    }
    Term perElement(Term value) const { return value / Term(b, b.spread(count, value, {})); }
    Term scale() const { return op.getScale() ? wide(b, b.operand(1)).spread(x, inner) : Term(b, Value()); }
    /// Index of the bias among the operands.
    unsigned biasIndex() const { return op.getScale() ? 2 : 1; }
  };

  LogicalResult vjp(LayerNormOp op, VjpBuilder &g) const {
    Form form(op, g);
    Term dx(g, Value());
    if (g.cotangent(0)) {
      Term dy = wide(g, g.cotangent(0));
      if (op.getScale() && g.wants(1))
        g.give(1, narrow((dy * form.z).sum(form.outer), g.operand(1)));
      if (op.getBias() && g.wants(form.biasIndex()))
        g.give(form.biasIndex(), narrow(dy.sum(form.outer), g.operand(form.biasIndex())));
      if (g.wants(0)) {
        Term dz = op.getScale() ? dy * form.scale() : dy;
        Term rest = form.z * form.average(dz * form.z);
        dx = form.r * (op.getCenter() ? dz - form.average(dz) - rest : dz - rest);
      }
    }
    if (!g.wants(0))
      return success();
    if (g.cotangent(1) && op.getCenter())
      dx = dx + form.perElement(form.spreadStatistic(g.cotangent(1)));
    if (g.cotangent(2))
      dx = dx - form.perElement(form.spreadStatistic(g.cotangent(2)) * form.r * form.r * form.z);
    if (dx)
      g.give(0, narrow(dx, g.operand(0)));
    return success();
  }

  // tz = r (tx - avg(tx) - z avg(z tx)), ty = tz scale + z t scale + t bias, t mean = avg(tx), t r = -r^2 avg(z tx)
  LogicalResult jvp(LayerNormOp op, JvpBuilder &t) const {
    Form form(op, t);
    Term ty(t, Value());
    if (Term tx = wide(t, t.tangent(0)); tx) {
      Term common = form.average(form.z * tx), tz = tx - form.z * common;
      if (op.getCenter())
        tz = tz - form.average(tx);
      tz = form.r * tz;
      ty = op.getScale() ? tz * form.scale() : tz;
      auto statistic = [&](Term value, unsigned result) {
        Value kept = value.sum(form.inner);
        RankedTensorType type = tensorTypeOf(t.result(result));
        RankedTensorType wideType = RankedTensorType::get(type.getShape(), elementTypeOf(kept));
        Value spread = t.make<BroadcastOp>(kept, Value(), ValueRange(), form.outer, wideType);
        t.set(result, narrow(Term(t, spread), t.result(result)));
      };
      if (op.getCenter())
        statistic(form.perElement(tx), 1);
      statistic(-form.perElement(form.r * form.r * form.z * tx), 2);
    }
    if (op.getScale() && t.tangent(1))
      ty = ty + form.z * wide(t, t.tangent(1)).spread(form.x, form.inner);
    if (op.getBias() && t.tangent(form.biasIndex()))
      ty = ty + wide(t, t.tangent(form.biasIndex())).spread(form.x, form.inner);
    if (ty)
      t.set(0, narrow(ty, t.result(0)));
    return success();
  }
};

// batch_norm, z = (x - mean) r, r = 1 / sqrt(variance + epsilon), y = z scale + bias, sums over all but the channels:
//   dx = dy scale r, d scale = sum(dy z), d bias = sum(dy), d mean = -scale r sum(dy), d variance = -scale r^2 sum(dy
//   z) / 2
struct BatchNormRule : Rule<BatchNormRule, BatchNormOp> {
  struct Form {
    GradientBuilder &b;
    int64_t axis;
    SmallVector<int64_t> others;
    Term x, scale, r;
    Form(BatchNormOp op, GradientBuilder &b)
        : b(b), axis(op.getAxis()), others(otherAxes(tensorTypeOf(op.getOperand()).getRank(), axis)),
          x(wide(b, b.operand(0))), scale(wide(b, b.operand(1))),
          r(rsqrt(wide(b, b.operand(4)) + op.getEpsilon().convertToDouble())) {}
    Term spread(Term value) const { return value.spread(x, axis); }
    Term z() const { return (x - spread(wide(b, b.operand(3)))) * spread(r); }
  };
  LogicalResult vjp(BatchNormOp op, VjpBuilder &g) const {
    if (!g.cotangent())
      return success();
    Form form(op, g);
    Term dy = wide(g, g.cotangent());
    auto give = [&](unsigned i, Term value) { g.give(i, narrow(value, g.operand(i))); };
    if (g.wants(0))
      give(0, dy * form.spread(form.scale * form.r));
    if (g.wants(1) || g.wants(4)) {
      Term dyz = (dy * form.z()).sum(form.others);
      if (g.wants(1))
        give(1, dyz);
      if (g.wants(4))
        give(4, -0.5 * (form.scale * form.r * form.r * dyz));
    }
    if (g.wants(2) || g.wants(3)) {
      Term total = dy.sum(form.others);
      if (g.wants(2))
        give(2, total);
      if (g.wants(3))
        give(3, -(form.scale * form.r * total));
    }
    return success();
  }
  LogicalResult jvp(BatchNormOp op, JvpBuilder &t) const {
    Form form(op, t);
    Term tx = wide(t, t.tangent(0)), tScale = wide(t, t.tangent(1)), tBias = wide(t, t.tangent(2)),
         tMean = wide(t, t.tangent(3)), tVariance = wide(t, t.tangent(4)), ty(t, Value());
    Term factor = form.scale * form.r;
    if (tx)
      ty = tx * form.spread(factor);
    // What multiplies z, and what does not: one value per channel.
    Term ofZ = tScale, constant = tBias;
    if (tVariance)
      ofZ = ofZ - 0.5 * (factor * form.r * tVariance);
    if (tMean)
      constant = constant - factor * tMean;
    if (ofZ)
      ty = ty + form.z() * form.spread(ofZ);
    if (constant)
      ty = ty + form.spread(constant);
    if (ty)
      t.set(0, narrow(ty, t.result()));
    return success();
  }
};

// attention, s = scale q k^T + bias, p = softmax(s), y = p v, with p computed again instead of kept:
//   dv = p^T dy, dp = dy v^T, ds = p (dp - sum(dy y)) since sum(p dp) = sum(dy y), dq = scale ds k, dk = scale ds^T q,
//   d bias = ds
struct AttentionRule : Rule<AttentionRule, AttentionOp> {
  struct Form {
    GradientBuilder &b;
    mutable AttentionOp op; // accessors of ops are not const
    Term q, k, v, p;
    int64_t rank;
    SmallVector<int64_t> batch;

    Form(AttentionOp op, GradientBuilder &b)
        : b(b), op(op), q(wide(b, b.operand(0))), k(wide(b, b.operand(1))), v(wide(b, b.operand(2))), p(b, Value()),
          rank(q.rank()), batch(axisRange(0, rank - 2)) {
      Term s = scaled(product(q, rank - 1, k, rank - 1));
      if (op.getBias())
        s = s + wide(b, b.operand(3)).spread(s, axisRange(0, rank));
      p = {b, b.make<SoftmaxOp>(s, rank - 1)};
    }
    /// The batched product that sums over the two axes; the axes left over are those of `a`, then of `c`.
    Term product(Term a, int64_t aAxis, Term c, int64_t cAxis) const {
      return {b, b.make<DotGeneralOp>(a, c, batch, batch, aAxis, cAxis, a.element())};
    }
    Term scaled(Term s) const { return op.getScale().convertToDouble() * s; }
  };

  LogicalResult vjp(AttentionOp op, VjpBuilder &g) const {
    if (!g.cotangent())
      return success();
    Form form(op, g);
    int64_t last = form.rank - 1, rows = form.rank - 2;
    Term dy = wide(g, g.cotangent()), y = wide(g, g.result());
    if (g.wants(2))
      g.give(2, narrow(form.product(form.p, rows, dy, rows), g.operand(2)));
    bool wantsBias = op.getBias() && g.wants(3);
    if (!g.wants(0) && !g.wants(1) && !wantsBias)
      return success();
    Term dp = form.product(dy, last, form.v, last);
    Term total = (dy * y).sum(last).spread(dp, axisRange(0, last));
    Term ds = form.p * (dp - total);
    if (wantsBias)
      g.give(3, narrow({g, sumTo(g, ds, g.operand(3))}, g.operand(3)));
    if (!g.wants(0) && !g.wants(1))
      return success();
    ds = form.scaled(ds);
    if (g.wants(0))
      g.give(0, narrow(form.product(ds, last, form.k, rows), g.operand(0)));
    if (g.wants(1))
      g.give(1, narrow(form.product(ds, rows, form.q, rows), g.operand(1)));
    return success();
  }

  // ts = scale (tq k^T + q tk^T) + t bias, tp = p (ts - sum(p ts)), ty = tp v + p tv
  LogicalResult jvp(AttentionOp op, JvpBuilder &t) const {
    Form form(op, t);
    int64_t last = form.rank - 1, rows = form.rank - 2;
    Term tq = wide(t, t.tangent(0)), tk = wide(t, t.tangent(1)), tv = wide(t, t.tangent(2)), ts(t, Value()),
         ty(t, Value());
    if (tq)
      ts = ts + form.scaled(form.product(tq, last, form.k, last));
    if (tk)
      ts = ts + form.scaled(form.product(form.q, last, tk, last));
    if (op.getBias() && t.tangent(3))
      ts = ts + wide(t, t.tangent(3)).spread(form.p, axisRange(0, form.rank));
    if (ts) {
      Term total = (form.p * ts).sum(last).spread(ts, axisRange(0, last));
      ty = form.product(form.p * (ts - total), last, form.v, rows);
    }
    if (tv)
      ty = ty + form.product(form.p, last, tv, rows);
    if (ty)
      t.set(0, narrow(ty, t.result()));
    return success();
  }
};

} // namespace

void sinter::attachNormalizationGradients(MLIRContext &context) {
  attach<SoftmaxRule, LayerNormRule, BatchNormRule, AttentionRule>(context);
}
