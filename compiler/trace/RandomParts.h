// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What random numbers are made with, for tests of its accuracy.

#ifndef SINTER_TRACE_RANDOMPARTS_H
#define SINTER_TRACE_RANDOMPARTS_H

#include "Build.h"

namespace sinter::inline SINTER_HOST::detail {

/// log(x) for normal x above 0: exponent times log 2, and the series of the inverse hyperbolic tangent.
Tensor portableLog(Build &b, const Tensor &x);
/// The value below which a normal number lies with probability 1/2 + q; `tail` is 1/2 - |q|, above 0.
Tensor normalQuantile(Build &b, const Tensor &q, const Tensor &tail);

} // namespace sinter::inline SINTER_HOST::detail

#endif
