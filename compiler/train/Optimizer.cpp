// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/Optimizer.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include <numbers>

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;

namespace {
class Optimizer {
public:
  Optimizer(Composer &c, const OptimizerSpec &spec, States &states) : c(c), spec(spec), states(states) {}

  void run(MutableArrayRef<Weight> weights) {
    countSteps();
    if (spec.clip > 0)
      clip(weights);
    for (Weight &weight : weights)
      states.replace(weight.name, move(weight));
    states.replace("optimizer.step", c.make<AddOp>(step, c.make<ConstantOp>(one())));
  }

private:
  using Kind = OptimizerSpec::Kind;

  DenseElementsAttr one() { return DenseElementsAttr::get(RankedTensorType::get({}, c.getI64Type()), int64_t(1)); }
  Term number(double value) { return {c, c.scalar(c.getF64Type(), value)}; }
  Term power(double base, Term exponent) { return number(base).then<PowOp>(exponent.v()); }
  Term least(Term a, Term b) { return a.then<MinOp>(b.v()); }

  /// The number of steps done before, the rate of this one, and what corrects moments that began with zeros.
  void countSteps() {
    Type f64 = c.getF64Type();
    step = states.find("optimizer.step");
    if (!step)
      step = states.add("optimizer.step", RankedTensorType::get({}, c.getI64Type()));
    Term before{c, c.convert(step, f64)}, now = before + 1.0;
    Term given = spec.rateIsInput
                     ? Term{c, c.convert(states.addInput("lr", RankedTensorType::get({}, c.getF32Type())), f64)}
                     : number(spec.rate);
    rate = scheduled(given, before, now);
    bool moments = spec.kind == Kind::Adam || spec.kind == Kind::AdamW || spec.kind == Kind::Lamb;
    if (moments) {
      firstCorrection = 1.0 - power(spec.beta1, now);
      secondCorrection = (1.0 - power(spec.beta2, now)).then<SqrtOp>();
    }
    if (spec.kind == Kind::Adagrad)
      rate = *rate / (spec.rateDecay * before + 1.0);
  }

  Term scheduled(Term given, Term before, Term now) {
    Term result = given;
    Term after = spec.warmup > 0 ? (before - spec.warmup).then<MaxOp>(c.scalar(c.getF64Type(), 0)) : before;
    if (spec.warmup > 0)
      result = result * least(1.0 / spec.warmup * now, number(1));
    if (spec.schedule == OptimizerSpec::Schedule::Cosine) {
      Term done = least(1.0 / spec.steps * after, number(1));
      Term wave = (std::numbers::pi * done).then<CosOp>();
      result = result * (0.5 * (1 - spec.final) * (wave + 1.0) + spec.final);
    } else if (spec.schedule == OptimizerSpec::Schedule::Step) {
      result = result * power(spec.factor, (1.0 / spec.every * after).then<FloorOp>());
    }
    return result;
  }

  /// A number that all weights share, in the shape and type of a weight.
  Term spread(Term shared, Value like) { return {c, c.spread(c.convert(shared, elementTypeOf(like)), like, {})}; }

  Term sumOfSquares(Term x) {
    SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
    Term squares = x * x;
    return axes.empty() ? squares : squares.sum(axes);
  }

  /// g *= min(1, clip / (|all g| + 1e-6))
  void clip(MutableArrayRef<Weight> weights) {
    std::optional<Term> total;
    for (Weight &weight : weights) {
      Term part = sumOfSquares({c, weight.gradient}).as(c.getF64Type());
      total = total ? *total + part : part;
    }
    Term factor = least(number(spec.clip) / (total->then<SqrtOp>() + 1e-6), number(1));
    for (Weight &weight : weights)
      weight.gradient = Term{c, weight.gradient} * spread(factor, weight.gradient);
  }

  /// The state optimizer.KIND.WEIGHT.
  Term moment(StringRef kind, const Weight &weight) {
    return {c, states.add(nameOf(kind, weight), tensorTypeOf(weight.value))};
  }
  void setMoment(StringRef kind, const Weight &weight, Term value) { states.replace(nameOf(kind, weight), value); }
  static std::string nameOf(StringRef kind, const Weight &weight) {
    return ("optimizer." + kind + "." + weight.name).str();
  }

  /// keep * old + (1 - keep) * seen, which also replaces the state.
  Term average(StringRef kind, const Weight &weight, double keep, Term seen) {
    Term next = keep * moment(kind, weight) + (1 - keep) * seen;
    setMoment(kind, weight, next);
    return next;
  }

  Value move(const Weight &weight) {
    Term x{c, weight.value}, g{c, weight.gradient};
    bool decoupled = spec.kind == Kind::AdamW || spec.kind == Kind::Lamb;
    if (spec.decay > 0 && !decoupled)
      g = g + spec.decay * x;
    switch (spec.kind) {
    case Kind::Sgd:
      return x - spread(*rate, x) * sgdDirection(weight, g);
    case Kind::Adagrad: {
      Term sum = moment("sum", weight) + g * g;
      setMoment("sum", weight, sum);
      return x - spread(*rate, x) * (g / (sum.then<SqrtOp>() + spec.epsilon));
    }
    case Kind::RmsProp: {
      Term direction = g / (average("square", weight, spec.alpha, g * g).then<SqrtOp>() + spec.epsilon);
      if (spec.momentum > 0) {
        direction = spec.momentum * moment("momentum", weight) + direction;
        setMoment("momentum", weight, direction);
      }
      return x - spread(*rate, x) * direction;
    }
    case Kind::Adam:
    case Kind::AdamW: {
      if (decoupled && spec.decay > 0)
        x = x * spread(1.0 - spec.decay * *rate, x);
      return x - spread(*rate / *firstCorrection, x) * adamDirection(weight, g);
    }
    case Kind::Lamb: {
      // r = m' / (sqrt(v') + eps) + decay x; x -= rate |x| / |r| r, the ratio 1 where a norm is 0
      Term direction = spread(1.0 / *firstCorrection, x) * adamDirection(weight, g) + spec.decay * x;
      Term xNorm = sumOfSquares(x).then<SqrtOp>(), norm = sumOfSquares(direction).then<SqrtOp>();
      Term defined = both(compare(xNorm, CompareKind::gt, 0.0), compare(norm, CompareKind::gt, 0.0));
      Term ratio = select(defined, xNorm / select(defined, norm, norm.fill(1)), norm.fill(1));
      return x - spread(rate->as(x.element()) * ratio, x) * direction;
    }
    }
    llvm_unreachable("all optimizers handled");
  }

  Term sgdDirection(const Weight &weight, Term g) {
    if (spec.momentum == 0)
      return g;
    Term old = moment("momentum", weight), next = spec.momentum * old + (1 - spec.dampening) * g;
    if (spec.dampening > 0) // the first gradient counts whole
      next = select(Term{c, c.spread(compare(Term{c, step}, CompareKind::eq, 0.0), old, {})}, g, next);
    setMoment("momentum", weight, next);
    return spec.nesterov ? g + spec.momentum * next : next;
  }

  /// m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
  Term adamDirection(const Weight &weight, Term g) {
    Term mean = average("mean", weight, spec.beta1, g), square = average("square", weight, spec.beta2, g * g);
    return mean / (square.then<SqrtOp>() * spread(1.0 / *secondCorrection, g) + spec.epsilon);
  }

  Composer &c;
  const OptimizerSpec &spec;
  States &states;
  Value step;
  std::optional<Term> rate, firstCorrection, secondCorrection;
};
} // namespace

void sinter::addOptimizer(Composer &composer, const OptimizerSpec &spec, States &states, ArrayRef<Weight> weights) {
  SmallVector<Weight> moved(weights);
  Optimizer(composer, spec, states).run(moved);
}
