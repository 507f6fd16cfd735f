// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/gradient/Term.h"
#include "ir/Elementwise.h"
#include "ir/Reduction.h"
#include "ir/Shape.h"

using namespace mlir;

namespace sinter::gradient {

Term Term::sum(ArrayRef<int64_t> axes) const {
  if (!value || axes.empty())
    return *this;
  return {*composer, composer->reduce(value, axes, Combiner::add)};
}

Term Term::spread(Value like, ArrayRef<int64_t> axes) const {
  return value ? Term{*composer, composer->spread(value, like, axes)} : *this;
}

Term operator+(Term a, Term b) { return !a ? b : !b ? a : a.then<AddOp>(b.v()); }
Term operator-(Term a, Term b) { return !b ? a : !a ? -b : a.then<SubOp>(b.v()); }
Term operator*(Term a, Term b) { return !a ? a : !b ? b : a.then<MulOp>(b.v()); }
Term operator/(Term a, Term b) { return !a ? a : a.then<DivOp>(b.v()); }
Term operator-(Term a) { return !a ? a : a.then<NegOp>(); }
Term operator+(Term a, double k) { return a + a.fill(k); }
Term operator-(Term a, double k) { return a - a.fill(k); }
Term operator-(double k, Term a) { return a.fill(k) - a; }
Term operator*(double k, Term a) { return !a ? a : a * a.fill(k); }
Term operator/(double k, Term a) { return a.fill(k) / a; }

Term exp(Term a) { return a.then<ExpOp>(); }
Term log(Term a) { return a.then<LogOp>(); }
Term rsqrt(Term a) { return a.then<RsqrtOp>(); }

Term compare(Term a, CompareKind kind, Term b) { return a.then<CompareOp>(b.v(), kind); }
Term compare(Term a, CompareKind kind, double k) { return compare(a, kind, a.fill(k)); }
Term both(Term a, Term b) { return a.then<AndOp>(b.v()); }

Term select(Term mask, Term a, Term b) {
  if (!a && !b)
    return a;
  if (!a)
    a = b.fill(0);
  if (!b)
    b = a.fill(0);
  return mask.then<SelectOp>(a.v(), b.v());
}

} // namespace sinter::gradient
