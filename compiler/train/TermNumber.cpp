// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/train/TermNumber.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"
#include "ir/gradient/Moves.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::gradient;
using namespace sinter::formulas;

/// `a` in the shape of `b` where it is a single number and `b` is not.
static Term like(Term a, Term b) { return a.rank() == 0 && b.rank() > 0 ? a.spread(b, {}) : a; }

TermNumber formulas::operator+(const TermNumber &a, const TermNumber &b) {
  return like(a.term, b.term) + like(b.term, a.term);
}
TermNumber formulas::operator-(const TermNumber &a, const TermNumber &b) {
  return like(a.term, b.term) - like(b.term, a.term);
}
TermNumber formulas::operator*(const TermNumber &a, const TermNumber &b) {
  return like(a.term, b.term) * like(b.term, a.term);
}
TermNumber formulas::operator/(const TermNumber &a, const TermNumber &b) {
  return like(a.term, b.term) / like(b.term, a.term);
}
TermNumber formulas::operator+(const TermNumber &a, double k) { return a.term + k; }
TermNumber formulas::operator-(const TermNumber &a, double k) { return a.term - k; }
TermNumber formulas::operator-(double k, const TermNumber &a) { return k - a.term; }
TermNumber formulas::operator*(double k, const TermNumber &a) { return k * a.term; }
TermNumber formulas::operator*(const TermNumber &a, double k) { return k * a.term; }
TermNumber formulas::operator/(double k, const TermNumber &a) { return k / a.term; }
TermNumber formulas::operator/(const TermNumber &a, double k) { return a.term / a.term.fill(k); }
TermNumber formulas::squareRoot(const TermNumber &a) { return a.term.then<SqrtOp>(); }
TermNumber formulas::power(const TermNumber &a, const TermNumber &b) { return a.term.then<PowOp>(b.term.v()); }
TermNumber formulas::least(const TermNumber &a, const TermNumber &b) { return a.term.then<MinOp>(b.term.v()); }
TermNumber formulas::greatest(const TermNumber &a, const TermNumber &b) { return a.term.then<MaxOp>(b.term.v()); }
TermNumber formulas::signOf(const TermNumber &a) { return a.term.then<SignOp>(); }
TermNumber formulas::exponential(const TermNumber &a) { return a.term.then<ExpOp>(); }
TermNumber formulas::logarithm(const TermNumber &a) { return a.term.then<LogOp>(); }
TermNumber formulas::logarithm1p(const TermNumber &a) { return a.term.then<Log1pOp>(); }
TermNumber formulas::magnitude(const TermNumber &a) { return a.term.then<AbsOp>(); }
TermNumber formulas::cosine(const TermNumber &a) { return a.term.then<CosOp>(); }
TermNumber formulas::floorOf(const TermNumber &a) { return a.term.then<FloorOp>(); }
TermNumber formulas::isAbove(const TermNumber &a, double k) { return compare(a.term, CompareKind::gt, k); }
TermNumber formulas::isBelow(const TermNumber &a, double k) { return compare(a.term, CompareKind::lt, k); }
TermNumber formulas::both(const TermNumber &a, const TermNumber &b) { return gradient::both(a.term, b.term); }
TermNumber formulas::either(const TermNumber &a, const TermNumber &b) { return a.term.then<OrOp>(b.term.v()); }
TermNumber formulas::choose(const TermNumber &mask, const TermNumber &a, const TermNumber &b) {
  return select(like(mask.term, a.term), a.term, b.term);
}
TermNumber formulas::total(const TermNumber &a) {
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, a.term.rank()));
  return axes.empty() ? a.term : a.term.sum(axes);
}
TermNumber formulas::totalAlong(const TermNumber &a, int64_t axis) { return a.term.sum({axis}); }
TermNumber formulas::along(const TermNumber &a, const TermNumber &like, ArrayRef<int64_t> axes) {
  return a.term.spread(like.term, axes);
}
TermNumber formulas::inTypeOf(const TermNumber &a, const TermNumber &like) { return a.term.as(like.term.element()); }
TermNumber formulas::wide(const TermNumber &a) { return a.term.as(a.term.c().getF64Type()); }
TermNumber formulas::fill(const TermNumber &like, double k) { return like.term.fill(k); }
TermNumber formulas::oneMore(const TermNumber &count) {
  Composer &c = count.term.c();
  auto type = RankedTensorType::get({}, c.getI64Type());
  return Term{c, c.make<AddOp>(count.term, c.make<ConstantOp>(DenseElementsAttr::get(type, int64_t(1))))};
}
int64_t formulas::rankOf(const TermNumber &a) { return a.term.rank(); }
int64_t formulas::sizeOf(const TermNumber &a, int64_t axis) { return tensorTypeOf(a.term).getDimSize(axis); }
TermNumber formulas::placesOf(const TermNumber &a) {
  Composer &c = a.term.c();
  return Term{c, gradient::iotaLike(c, a.term, 0)};
}
TermNumber formulas::product(const TermNumber &a, const TermNumber &b) {
  ArrayRef<int64_t> none;
  Composer &c = a.term.c();
  return Term{c, c.make<DotGeneralOp>(a.term, b.term, none, none, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{0},
                                      a.term.element())};
}
TermNumber formulas::transposed(const TermNumber &a) {
  return Term{a.term.c(), a.term.c().make<TransposeOp>(a.term, ArrayRef<int64_t>{1, 0})};
}
int64_t formulas::bitsOf(const TermNumber &a) { return a.term.element().getIntOrFloatBitWidth(); }
TermNumber formulas::inBlocks(const TermNumber &a, int64_t size) {
  Composer &c = a.term.c();
  RankedTensorType type = tensorTypeOf(a.term);
  int64_t count = type.getNumElements(), blocks = (count + size - 1) / size;
  Value flat = c.reshape(a.term, type.clone({count}));
  if (int64_t missing = blocks * size - count) {
    int64_t none = 0;
    flat = c.make<PadOp>(flat, c.scalar(type.getElementType(), 0), none, missing, none);
  }
  return Term{c, c.reshape(flat, type.clone({blocks, size}))};
}
TermNumber formulas::fromBlocks(const TermNumber &a, const TermNumber &like) {
  Composer &c = a.term.c();
  RankedTensorType type = tensorTypeOf(a.term), wanted = type.clone(tensorTypeOf(like.term).getShape());
  Value flat = c.reshape(a.term, type.clone({type.getNumElements()}));
  if (type.getNumElements() != wanted.getNumElements())
    flat = c.slice(flat, 0, 0, wanted.getNumElements());
  return Term{c, c.reshape(flat, wanted)};
}
TermNumber formulas::greatestAlong(const TermNumber &a, int64_t axis) {
  return Term{a.term.c(), a.term.c().reduce(a.term, {axis}, Combiner::max)};
}
TermNumber formulas::upperHalf(const TermNumber &a, const TermNumber &up) {
  Composer &c = a.term.c();
  Type f32 = c.getF32Type(), i32 = c.getI32Type();
  Term bits{c, c.make<BitcastOp>(a.term.as(f32), i32)};
  Term raised = bits + like((0x1p16 * up.term).as(i32), bits);
  Term cut = raised.then<AndOp>(raised.fill(-0x1p16).v());
  return Term{c, c.make<BitcastOp>(cut, f32)}.as(c.getBF16Type());
}
TermNumber formulas::asByte(const TermNumber &a) { return a.term.as(a.term.c().getI8Type()); }
