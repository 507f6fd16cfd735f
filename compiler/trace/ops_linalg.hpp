// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear systems and factorizations, of matrices in the last two axes. Triangular systems and Cholesky's factor are ops
// of the graph. Elimination with pivots (solve, inv) is a loop over columns with whole-matrix updates: right for small
// matrices and inside of larger programs, no rival of LAPACK for large ones; for positive definite systems
// cho_solve(cholesky(a), y) is one.

#ifndef SINTER_TRACE_OPS_LINALG_HPP
#define SINTER_TRACE_OPS_LINALG_HPP

#include "loops.hpp"
#include "ops_nn.hpp"

namespace sinter::inline SINTER_HOST {

/// Lower triangular L with L L^T = x, for symmetric positive definite x (of which the lower half is read); or the upper
/// one U with U^T U = x. A matrix that is not positive definite gives NaN from the first bad pivot on.
Tensor cholesky(const Operand &x, bool upper = false);

/// x with a x = y (or a^T x = y), where `a` is lower (or upper) triangular; its other half is not read.
Tensor triangular_solve(const Operand &a, const Tensor &y, bool lower = true, bool unit_diagonal = false,
                        bool transpose = false);

/// x with a x = y, from the factor cholesky(a) (lower, or upper).
Tensor cho_solve(const Operand &factor, const Tensor &y, bool upper = false);

/// x with a x = y, by elimination with partial pivoting. A singular matrix gives infinities or NaN.
Tensor solve(const Operand &a, const Tensor &y);
/// The inverse of square matrices.
Tensor inv(const Operand &x);
/// The determinant of square matrices.
Tensor det(const Operand &x);

} // namespace sinter::inline SINTER_HOST

#endif
