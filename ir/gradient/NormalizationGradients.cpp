// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Composites over rows, by rules that use their results instead of what their decompositions hold in between. f16 and
// bf16 are computed in f32 and rounded, as the composites are. Group norm has no rule: its decomposition is a layer
// norm.

#include "ir/Attention.h"
#include "ir/Elementwise.h"
#include "ir/Normalization.h"
#include "ir/Shape.h"
#include "ir/gradient/Moves.h"
#include "ir/gradient/Rules.h"
#include "ir/gradient/Through.h"

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
//   dv = p^T dy, dp = dy v^T, ds = p (dp - sum(dy y) + d sums) since sum(p dp) = sum(dy y) and d sums / ds = p,
//   dq = scale ds k, dk = scale ds^T q, d bias = ds
// One op does that where the bias is not asked for. Log-sums that the attention does not give are those of a twin,
// which takes its place (AttentionOp's canonical form).
struct AttentionRule : Rule<AttentionRule, AttentionOp> {
  struct Form : AttentionSteps {
    GradientBuilder &b;
    Term p;
    SmallVector<int64_t> outer; // all axes but the last

    Form(AttentionOp op, GradientBuilder &b)
        : AttentionSteps(b, op), b(b), p(b, shares()), outer(axisRange(0, rank - 1)) {}
    Term times(Term x, Term y) const { return {b, timesKeys(x, y)}; }
    /// x [..., m, n] times y [..., n, d] of fewer heads.
    Term over(Term x, Term y) const { return {b, unfold(product(fold(x), rank - 1, y, rank - 2))}; }
    /// x [..., m, n] and y [..., m, d], summed over rows: [..., n, d].
    Term overRows(Term x, Term y) const { return {b, product(fold(x), rank - 2, fold(y), rank - 2)}; }
    Term scaled(Term s) const { return scale * s; }
  };

  LogicalResult vjp(AttentionOp op, VjpBuilder &g) const {
    Value dSums = op.getSums() ? g.cotangent(1) : Value();
    if (!g.cotangent() && !dSums)
      return success();
    bool wantsBias = op.getBias() && g.wants(3);
    Term y = wide(g, g.result()), dy = g.cotangent() ? wide(g, g.cotangent()) : y.fill(0);
    int64_t last = y.rank() - 1;
    Term rowSums = (dy * y).sum(last) - wide(g, dSums);
    if (!wantsBias) {
      Value sums = op.getSums();
      if (!sums)
        sums = AttentionOp::create(g, op.getQuery(), op.getKey(), op.getValue(), op.getBias(), op.getScale(),
                                   op.getBeforeAttr(), op.getAfterAttr(), /*log_sums=*/true)
                   .getSums();
      auto gradient = AttentionGradientOp::create(g, g.operand(0), g.operand(1), g.operand(2), narrow(dy, g.result()),
                                                  sums, narrow(rowSums, sums), op.getBias(), op.getScaleAttr(),
                                                  op.getBeforeAttr(), op.getAfterAttr());
      for (unsigned i = 0; i < 3; ++i)
        if (g.wants(i))
          g.give(i, gradient.getResult(i));
      return success();
    }
    Form form(op, g);
    if (g.wants(2))
      g.give(2, narrow(form.overRows(form.p, dy), g.operand(2)));
    if (!g.wants(0) && !g.wants(1) && !wantsBias)
      return success();
    Term dp = form.times(dy, {g, form.value});
    Term ds = form.p * (dp - rowSums.spread(dp, form.outer));
    if (wantsBias)
      g.give(3, narrow({g, sumTo(g, ds, g.operand(3))}, g.operand(3)));
    if (!g.wants(0) && !g.wants(1))
      return success();
    ds = form.scaled(ds);
    if (g.wants(0))
      g.give(0, narrow(form.over(ds, {g, form.key}), g.operand(0)));
    if (g.wants(1))
      g.give(1, narrow(form.overRows(ds, {g, form.query}), g.operand(1)));
    return success();
  }

  // ts = scale (tq k^T + q tk^T) + t bias, t sums = sum(p ts), tp = p (ts - t sums), ty = tp v + p tv
  LogicalResult jvp(AttentionOp op, JvpBuilder &t) const {
    Form form(op, t);
    int64_t last = form.rank - 1;
    Term tq = wide(t, t.tangent(0)), tk = wide(t, t.tangent(1)), tv = wide(t, t.tangent(2)), ts(t, Value()),
         ty(t, Value());
    if (tq)
      ts = ts + form.scaled(form.times(tq, {t, form.key}));
    if (tk)
      ts = ts + form.scaled(form.times({t, form.query}, tk));
    if (op.getBias() && t.tangent(3))
      ts = ts + wide(t, t.tangent(3)).spread(form.p, axisRange(0, form.rank));
    if (ts) {
      Term total = (form.p * ts).sum(last);
      if (op.getSums())
        t.set(1, narrow(total, t.result(1)));
      ty = form.over(form.p * (ts - total.spread(ts, form.outer)), {t, form.value});
    }
    if (tv)
      ty = ty + form.over(form.p, tv);
    if (ty)
      t.set(0, narrow(ty, t.result()));
    return success();
  }
};

// attention_gradient, by its steps. log_sums count as what the other operands make of them, as in the steps.
struct AttentionGradientRule : Rule<AttentionGradientRule, AttentionGradientOp> {
  static SmallVector<Value> restate(AttentionGradientOp op, Composer &c, ValueRange operands) {
    auto copy = AttentionGradientOp::create(c, operands[0], operands[1], operands[2], operands[3], operands[4],
                                            operands[5], operands.size() > 6 ? operands[6] : Value(), op.getScaleAttr(),
                                            op.getBeforeAttr(), op.getAfterAttr());
    FailureOr<SmallVector<Value>> results = copy.decompose(c);
    copy.erase();
    return *results;
  }
  LogicalResult vjp(AttentionGradientOp op, VjpBuilder &g) const {
    return vjpThrough(g, [&](Composer &c, ValueRange operands) { return restate(op, c, operands); });
  }
  LogicalResult jvp(AttentionGradientOp op, JvpBuilder &t) const {
    return jvpThrough(t, [&](Composer &c, ValueRange operands) { return restate(op, c, operands); });
  }
};

} // namespace

void sinter::attachNormalizationGradients(MLIRContext &context) {
  attach<SoftmaxRule, LayerNormRule, BatchNormRule, AttentionRule, AttentionGradientRule>(context);
}
