// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of formulas (Moves.h) as values of a graph that is being built.

#ifndef SINTER_COMPILER_TRAIN_TERMNUMBER_H
#define SINTER_COMPILER_TRAIN_TERMNUMBER_H

#include "ir/gradient/Term.h"

namespace sinter::formulas {

struct TermNumber {
  gradient::Term term;
  TermNumber(gradient::Term term) : term(term) {}
};

TermNumber operator+(const TermNumber &a, const TermNumber &b);
TermNumber operator-(const TermNumber &a, const TermNumber &b);
TermNumber operator*(const TermNumber &a, const TermNumber &b);
TermNumber operator/(const TermNumber &a, const TermNumber &b);
TermNumber operator+(const TermNumber &a, double k);
TermNumber operator-(const TermNumber &a, double k);
TermNumber operator-(double k, const TermNumber &a);
TermNumber operator*(double k, const TermNumber &a);
TermNumber operator*(const TermNumber &a, double k);
TermNumber operator/(double k, const TermNumber &a);
TermNumber operator/(const TermNumber &a, double k);
TermNumber squareRoot(const TermNumber &a);
TermNumber power(const TermNumber &a, const TermNumber &b);
TermNumber least(const TermNumber &a, const TermNumber &b);
TermNumber greatest(const TermNumber &a, const TermNumber &b);
TermNumber signOf(const TermNumber &a);
TermNumber exponential(const TermNumber &a);
TermNumber logarithm(const TermNumber &a);
TermNumber logarithm1p(const TermNumber &a);
TermNumber magnitude(const TermNumber &a);
TermNumber cosine(const TermNumber &a);
TermNumber floorOf(const TermNumber &a);
TermNumber isAbove(const TermNumber &a, double k);
TermNumber isBelow(const TermNumber &a, double k);
TermNumber both(const TermNumber &a, const TermNumber &b);
TermNumber either(const TermNumber &a, const TermNumber &b);
TermNumber choose(const TermNumber &mask, const TermNumber &a, const TermNumber &b);
TermNumber total(const TermNumber &a);
TermNumber totalAlong(const TermNumber &a, int64_t axis);
TermNumber along(const TermNumber &a, const TermNumber &like, llvm::ArrayRef<int64_t> axes);
TermNumber inTypeOf(const TermNumber &a, const TermNumber &like);
TermNumber wide(const TermNumber &a);
TermNumber fill(const TermNumber &like, double k);
TermNumber oneMore(const TermNumber &count);
int64_t rankOf(const TermNumber &a);
int64_t sizeOf(const TermNumber &a, int64_t axis);
TermNumber placesOf(const TermNumber &a);
TermNumber product(const TermNumber &a, const TermNumber &b);
TermNumber transposed(const TermNumber &a);
int64_t bitsOf(const TermNumber &a);
TermNumber inBlocks(const TermNumber &a, int64_t size);
TermNumber fromBlocks(const TermNumber &a, const TermNumber &like);
TermNumber greatestAlong(const TermNumber &a, int64_t axis);
TermNumber upperHalf(const TermNumber &a, const TermNumber &up);
TermNumber asByte(const TermNumber &a);

} // namespace sinter::formulas

#endif
