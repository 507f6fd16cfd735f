// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradient rules as formulas: a Term is a value with the composer that it is built by, and its operators build ops.

#ifndef SINTER_IR_GRADIENT_TERM_H
#define SINTER_IR_GRADIENT_TERM_H

#include "ir/Composer.h"

namespace sinter::gradient {

/// A value in a formula. Null stands for zero: a product with it is null, a sum is the other term.
class Term {
public:
  Term(Composer &c, mlir::Value value) : composer(&c), value(value) {}

  Composer &c() const { return *composer; }
  mlir::Value v() const { return value; }
  operator mlir::Value() const { return value; }
  explicit operator bool() const { return static_cast<bool>(value); }
  int64_t rank() const { return tensorTypeOf(value).getRank(); }
  mlir::Type element() const { return elementTypeOf(value); }

  /// `Op` of this term and further operands.
  template <typename Op, typename... Args> Term then(Args &&...args) const {
    return {*composer, composer->make<Op>(value, std::forward<Args>(args)...)};
  }
  /// `k` in all places of a tensor like this one.
  Term fill(double k) const { return {*composer, composer->fill(k, value)}; }
  /// The same in another element type.
  Term as(mlir::Type element) const { return value ? Term{*composer, composer->convert(value, element)} : *this; }
  /// Summed over `axes`, which disappear.
  Term sum(llvm::ArrayRef<int64_t> axes) const;
  /// Spread to the shape of `like`, where axis k becomes axis axes[k].
  Term spread(mlir::Value like, llvm::ArrayRef<int64_t> axes) const;

private:
  Composer *composer;
  mlir::Value value;
};

Term operator+(Term a, Term b);
Term operator-(Term a, Term b);
Term operator*(Term a, Term b);
Term operator/(Term a, Term b);
Term operator-(Term a);
Term operator+(Term a, double k);
Term operator-(Term a, double k);
Term operator-(double k, Term a);
Term operator*(double k, Term a);
Term operator/(double k, Term a);

Term exp(Term a);
Term log(Term a);
Term rsqrt(Term a);
/// a KIND b, one boolean an element.
Term compare(Term a, CompareKind kind, Term b);
Term compare(Term a, CompareKind kind, double k);
Term both(Term a, Term b);
/// `a` where `mask` holds, else `b`; a null term stands for zeros.
Term select(Term mask, Term a, Term b);

} // namespace sinter::gradient

#endif
